"""Scripts that train on text for something: translation, classification, reading, retrieval."""

from __future__ import annotations

from datetime import timedelta

from tests.tools.scripts.loop import Bar, Holds, Loop, script


@script(
    "facebookresearch/InferSent train_nli.py",
    "every 100th batch, sentences and words a second since the line before; the counter is of sentences",
    Holds.ONE,
    "a rate with its unit, and a counter",
    unit="samples",
)
def infersent(loop: Loop) -> None:
    loop.print("\ntogrep : ['--word_emb_path', 'GloVe/glove.840B.300d.txt']\n")
    loop.print("Namespace(batch_size=64, decay=0.99, dpout_fc=0.0, enc_lstm_dim=2048, gpu_id=0, n_epochs=20)")
    for epoch in (1, 2):
        loop.print(f"\nTRAINING : Epoch {epoch}")
        loop.print("Learning rate : 0.1")
        since, words = loop.now, 0
        for batch in range(2000):
            seen = int(loop.about(64 * 25, 0.05))
            loop.step(0.06, samples=64, words=seen)
            words += seen
            if batch % 100 == 99:
                took = loop.now - since
                loop.print(
                    f"{batch * 64} ; loss {loop.loss():.2f} ; sentence/s {int(6400 / took)} ; words/s "
                    f"{int(words / took)} ; accuracy train : {loop.about(70, 0.02):.2f}"
                )
                since, words = loop.now, 0
        loop.print(f"results : epoch {epoch} ; mean accuracy train : {loop.about(75, 0.02):.2f}")
        loop.print(f"\nVALIDATION : Epoch {epoch}")
        loop.pause(20.0)
        loop.print(f"togrep : results : epoch {epoch} ; mean accuracy valid : {loop.about(78, 0.02):.2f}")
        loop.print(f"saving model at epoch {epoch}")


@script(
    "facebookresearch/MUSE unsupervised.py, src/logger.py",
    "every 4000 of its counter, samples a second since the line before; the line's stamp and time since the start",
    Holds.OPTION,
    "the counter counts a batch once and the rate twice (source and target): the two disagree, the rate has its unit",
    unit="samples",
)
def muse(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"INFO - {loop.time:%m/%d/%y %H:%M:%S} - {timedelta(seconds=round(loop.elapsed))} - {text}")

    say("============ Initialized logger ============")
    say("batch_size: 32")
    say("----> ADVERSARIAL TRAINING <----\n\n\n")
    for epoch in range(2):
        say(f"Starting adversarial training epoch {epoch}...")
        since, words = loop.now, 0
        for number in range(0, 200_000, 32):
            loop.step(0.011, samples=64)
            words += 64
            if number % 500 == 0:
                rate = int(words / (loop.now - since))
                say(f"{number:06d} - Discriminator loss: {loop.loss(0.5):.4f} - {rate} samples/s")
                since, words = loop.now, 0
        loop.pause(30.0)
        say(f"Monolingual source word similarity score average: {loop.about(0.6):.5f}")


@script(
    "facebookresearch/DrQA scripts/reader/train.py",
    "every 25th iteration, the seconds since the start beside the line's stamp",
    Holds.TWO,
    "the elapsed time and the stamps",
)
def drqa(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.time:%m/%d/%Y %I:%M:%S %p}: [ {text} ]")

    say("COMMAND: scripts/reader/train.py --embedding-file glove.840B.300d.txt")
    say("-" * 100)
    say("Starting training...")
    began, batches = loop.now, 620
    for epoch in range(2):
        epoch_began = loop.now
        for number in range(batches):
            loop.step(0.31, samples=32)
            if number % 25 == 0:
                say(
                    f"train: Epoch = {epoch} | iter = {number}/{batches} | loss = {loop.loss(9):.2f} | "
                    f"elapsed time = {loop.now - began:.2f} (s)"
                )
        say(f"train: Epoch {epoch} done. Time for epoch = {loop.now - epoch_began:.2f} (s)")
        took = loop.pause(20.0)
        say(
            f"train valid unofficial: Epoch = {epoch} | start = 62.34 | end = 66.10 | exact = 54.01 | examples = 10000 | "
            f"valid time = {took:.2f} (s)"
        )


@script(
    "649453932/Chinese-Text-Classification-Pytorch train_eval.py, utils.py",
    "every 100th batch, whole seconds since the start, an evaluation before each line",
    Holds.OPTION,
    "each interval holds an evaluation, of which no line tells the time",
)
def chinese_text_classification(loop: Loop) -> None:
    loop.print("Loading data...")
    loop.print(f"Time usage: {timedelta(seconds=9)}")
    began, total = loop.now, 0
    for epoch in range(3):
        loop.print(f"Epoch [{epoch + 1}/20]")
        for _ in range(1407):
            loop.step(0.016, samples=128)
            if total % 100 == 0:
                loop.pause(0.6)
                best = "*" if loop.random.random() < 0.6 else ""
                loop.print(
                    f"Iter: {total:>6},  Train Loss: {loop.loss(2):>5.2},  Train Acc: {loop.about(0.8):>6.2%},  "
                    f"Val Loss: {loop.loss(2):>5.2},  Val Acc: {loop.about(0.8):>6.2%},  "
                    f"Time: {timedelta(seconds=round(loop.now - began))} {best}"
                )
            total += 1


@script(
    "namisan/mt-dnn train.py, data_utils/log_wrapper.py",
    "every 500th update, the time that remains, beside a stamp of twelve hours",
    Holds.TWO,
    "the stamps and the falling of what remains",
)
def mt_dnn(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.time:%m/%d/%Y %I:%M:%S} {text}")

    say("0")
    say("Launching the MT-DNN training")
    updates, batches = 0, 6000
    for epoch in range(2):
        say(f"At epoch {epoch}")
        began = loop.now
        for batch in range(batches):
            loop.step(0.14, samples=8)
            updates += 1
            if updates % 500 == 0 or updates == 1:
                left = timedelta(seconds=(loop.now - began) / (batch + 1) * (batches - batch - 1))
                say(f"Task [ 0] updates[{updates:6}] train loss[{loop.loss(1):.5f}] remaining[{left}]")
        loop.pause(60.0)
        say(f"Task mnli_matched -- epoch {epoch} -- Dev ACC: {loop.about(83, 0.01):.3f}")


@script(
    "microsoft/DeBERTa DeBERTa/training/trainer.py, DeBERTa/utils/logger_util.py",
    "every 100th step, the seconds since the line before, the hours that remain (negative), samples seen; a stamp",
    Holds.TWO,
    "the stamps and the seconds",
)
def deberta(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.time:%m/%d/%Y %H:%M:%S}|INFO|MNLI|00| {text}")

    total, since = 3000, loop.now
    say("Total corpus examples: 392702")
    say(f"Total training steps: {total}")
    for step in range(1, total + 1):
        loop.step(0.26, samples=64)
        if step % 100 == 0:
            took = loop.now - since
            left = -(total - step) * took / (100 * 3600)
            say(
                f"[MNLI][{100 * step / total:0.1f}%][{left:0.2f}h] Steps={step}, loss={loop.loss(1)}, "
                f"examples={step * 64}, loss_scale=65536.0, {took:0.1f}s"
            )
            since = loop.now
        if step % 1000 == 0:
            loop.pause(45.0)
            say(f"***** Eval results-dev-{step:06d}-1000000 *****")
            say("accuracy = 0.8912")


@script(
    "harvardnlp/seq2seq-attn train.lua",
    "every 50th batch, tokens a second since the epoch began: in all, of the source, of the target",
    Holds.OPTION,
    "three rates in one word, which the words behind them tell apart",
    unit="tokens",
)
def seq2seq_attn(loop: Loop) -> None:
    loop.print("using CUDA on GPU 1...")
    loop.print("Source vocab size: 50004, Target vocab size: 50004")
    batches = 700
    for epoch in (1, 2):
        began, source, target = loop.now, 0, 0
        for batch in range(1, batches + 1):
            here, there = int(loop.about(1280, 0.2)), int(loop.about(1400, 0.2))
            loop.step(0.34, tokens=here + there)
            source, target = source + here, target + there
            if batch % 50 == 0:
                took = loop.now - began
                loop.print(
                    f"Epoch: {epoch}, Batch: {batch}/{batches}, Batch size: 64, LR: 1.0000, PPL: {loop.about(200):.2f}, "
                    f"|Param|: {loop.about(2500, 0.01):.2f}, |GParam|: {loop.about(4):.2f}, Training: "
                    f"{int((source + target) / took)}/{int(source / took)}/{int(target / took)} total/source/target "
                    "tokens/sec"
                )
        loop.print(f"Train\t{loop.about(90):.4f}")
        loop.pause(25.0)
        loop.print(f"Valid\t{loop.about(110):.4f}")


@script(
    "facebookresearch/DPR train_dense_encoder.py",
    "every 100th step with Hydra's stamp",
    Holds.ONE,
    "the stamps; an evaluation falls between two lines that name it",
)
def dpr(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"[{loop.stamp}][root][INFO] - {text}")

    say("Initialized host gpu-7 as d.rank -1 on device=cuda, n_gpu=1, world size=1")
    say("Total iterations per epoch=1200")
    for epoch in range(2):
        say(f"***** Epoch {epoch} *****")
        for step in range(1200):
            loop.step(0.24, samples=16)
            if step % 100 == 0:
                say(f"Epoch: {epoch}: Step: {step + 1}/1200, loss={loop.loss():f}, lr={loop.about(1e-5):f}")
            if (step + 1) % 400 == 0:
                say(f"Train batch {step + 1}")
                say(f"Avg. loss per last 400 batches: {loop.loss():f}")
        say(f"Validation: Epoch: {epoch} Step: 1200/1200")
        say("NLL validation ...")
        loop.pause(30.0)
        say(f"NLL Validation: loss = {loop.loss():f}. correct prediction ratio  4921/6515 ~  0.755334")
        say("Saved checkpoint at /checkpoints/dpr_biencoder." + str(epoch))
        say(f"Av Loss per epoch={loop.loss():f}")


@script(
    "stanford-futuredata/ColBERT colbert/training/training.py, colbert/utils/utils.py",
    "every batch with a stamp of whole seconds without a year, its number and its loss without a word",
    Holds.ONE,
    "the stamps of every batch",
)
def colbert(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"[{loop.time:%b %d, %H:%M:%S}] {text}")

    say("#> Will use 32 examples per process; accumsteps = 1")
    for batch in range(1200):
        loop.step(0.41, samples=32)
        say(f"{batch} {loop.loss()}")
    say("#> Done with all triples!")


@script(
    "dennybritz/cnn-text-classification-tf train.py",
    "every step with a stamp of microseconds; an evaluation prints the same line",
    Holds.ONE,
    "the stamps of every step; the evaluation's line repeats the number of its step",
)
def cnn_text_classification(loop: Loop) -> None:
    loop.print("Loading data...\nVocabulary Size: 18758\nTrain/Dev split: 9596/1066")
    for step in range(1, 801):
        loop.step(0.04, samples=64)
        line = f": step {step}, loss {loop.loss(2):g}, acc {loop.about(0.6):g}"
        loop.print(loop.time.isoformat() + line)
        if step % 100 == 0:
            loop.print("\nEvaluation:")
            loop.pause(1.2)
            loop.print(f"{loop.time.isoformat()}: step {step}, loss {loop.loss(2):g}, acc {loop.about(0.6):g}\n")
            loop.print(f"Saved model checkpoint to /runs/1460000000/checkpoints/model-{step}\n")


@script(
    "nyu-dl/dl4mt-tutorial session2/nmt.py",
    "every 100th update, UD: its own time, without a unit",
    Holds.OPTION,
    "one update of a hundred is timed, in a word that says no unit",
)
def dl4mt(loop: Loop) -> None:
    loop.print("Building f_cost... Done\nComputing gradient... Done\nBuilding optimizers... Done\nOptimization")
    for update in range(1, 3001):
        took = loop.step(0.35, samples=32)
        if update % 100 == 0:
            loop.print(f"Epoch  0 Update  {update} Cost  {loop.loss(90)} UD  {took.computing}")
        if update % 1000 == 0:
            loop.print("Saving the best model... Done")
            loop.print("Source  0 :  The house is small .\nTruth  0  :  Das Haus ist klein .\nSample  0 :  das ist")


@script(
    "jadore801120/attention-is-all-you-need-pytorch train.py",
    "a bar for training and one for validation, drawn every two seconds, and the minutes of each",
    Holds.TWO,
    "the bar's counts and clock, and the minutes of its epoch",
)
def attention_is_all_you_need(loop: Loop) -> None:
    loop.print("[Info] Training performance will be written to file: train.log and valid.log")
    for epoch in range(2):
        loop.print(f"[ Epoch {epoch} ]")
        began = loop.now
        bar = Bar(loop, 907, desc="  - (Training)   ", leave=False, interval=2.0)
        for _ in range(907):
            loop.step(0.09, samples=128)
            bar.update()
        bar.close()
        minutes = (loop.now - began) / 60
        loop.print(
            f"  - (Training)   ppl: {loop.about(90): 8.5f}, accuracy: 31.120 %, lr:  0.00012, elapse: {minutes:3.3f} min"
        )
        began = loop.now
        bar = Bar(loop, 8, desc="  - (Validation) ", leave=False, interval=2.0)
        for _ in range(8):
            loop.pause(0.05)
            bar.update()
        bar.close()
        minutes = (loop.now - began) / 60
        loop.print(
            f"  - (Validation) ppl: {loop.about(90): 8.5f}, accuracy: 33.210 %, lr:  0.00012, elapse: {minutes:3.3f} min"
        )
        loop.print("    - [Info] The checkpoint file has been updated.")


@script(
    "bentrevett/pytorch-seq2seq legacy notebooks",
    "every epoch's minutes and seconds, the evaluation in them",
    Holds.OPTION,
    "only whole seconds an epoch, with an evaluation, of an unknown number of steps",
)
def bentrevett_seq2seq(loop: Loop) -> None:
    loop.print("The model has 13,898,501 trainable parameters")
    for epoch in range(1, 11):
        began = loop.now
        for _ in range(227):
            loop.step(0.12, samples=128)
        loop.pause(0.5)
        minutes, seconds = divmod(int(loop.now - began), 60)
        loop.print(f"Epoch: {epoch:02} | Time: {minutes}m {seconds}s")
        loop.print(f"\tTrain Loss: {loop.loss():.3f} | Train PPL: {loop.about(40):7.3f}")
        loop.print(f"\t Val. Loss: {loop.loss():.3f} |  Val. PPL: {loop.about(60):7.3f}")


@script(
    "spro/practical-pytorch char-rnn-generation/train.py",
    "every 100th iteration, minutes and seconds since the start, and the share in per cent; a sample behind it",
    Holds.ONE,
    "the time since the start, and a counter",
)
def practical_pytorch(loop: Loop) -> None:
    loop.print("Training for 4000 epochs...")
    for number in range(1, 4001):
        loop.step(0.09)
        if number % 100 == 0:
            minutes, seconds = divmod(int(loop.elapsed), 60)
            loop.print(f"[{minutes}m {seconds}s ({number} {number // 40}%) {loop.loss(2):.4f}]")
            loop.pause(0.05)
            loop.print("Whe the sore and be thy hand\nThat thou art fair in the love \n")
    loop.print("Saving...")


@script(
    "tensorflow/models tutorials/rnn/translate/translate.py",
    "every 200th step, the mean of the steps since the line before, evaluation left out, no unit",
    Holds.OPTION,
    "a bare step-time of an unknown span",
)
def tf_translate(loop: Loop) -> None:
    loop.print("Preparing WMT data in /data\nCreating 3 layers of 1024 units.")
    mean = 0.0
    for step in range(1, 4001):
        mean += loop.step(0.39, samples=64).total / 200
        if step % 200 == 0:
            loop.print(f"global step {step} learning rate 0.5000 step-time {mean:.2f} perplexity {loop.about(500):.2f}")
            mean = 0.0
            loop.pause(3.0)
            for bucket in range(4):
                loop.print(f"  eval: bucket {bucket} perplexity {loop.about(300):.2f}")


@script(
    "ChenRocks/UNITER train_vqa.py, utils/logger.py",
    "every 100th step with a stamp: all examples of all ranks, and their whole number a second since the start",
    Holds.TWO,
    "the stamps; the examples and their rate, a mean since the start with validations in it",
)
def uniter(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.time:%m/%d/%Y %H:%M:%S} - INFO - __main__ -   {text}")

    say("device: cuda n_gpu: 4, rank: 0, 16-bits training: True")
    say("***** Running training with 4 GPUs *****")
    say("  Num examples = 658111\n  Batch size = 10240\n  Accumulate steps = 5")
    began, seen = loop.now, 0
    for step in range(1, 1501):
        here = int(loop.about(1250, 0.05))
        loop.step(0.9, samples=here)
        seen += here
        if step % 100 == 0:
            say(f"============Step {step}=============")
            say(f"{seen} examples trained at {int(seen / (loop.now - began))} ex/s")
            say("===========================================")
        if step % 500 == 0:
            say("start running validation...")
            took = loop.pause(40.0)
            say(f"validation finished in {int(took)} seconds, score: {loop.about(68, 0.02):.2f}")


@script(
    "MILVLG/mcan-vqa core/exec.py",
    "every step written over the last one, and whole seconds of the epoch's training",
    Holds.ONE,
    "the time of the epoch, all of whose steps are printed",
)
def mcan_vqa(loop: Loop) -> None:
    loop.print("Loading training set ........")
    loop.print("Loading validation set for per-epoch evaluation ........")
    for epoch in (1, 2, 3):
        began = loop.now
        for step in range(694):
            loop.step(0.16, samples=64)
            loop.print(
                f"\r[version small][epoch {epoch:2d}][step {step:4d}/ 693][train->val] loss: {loop.loss():.4f}, "
                f"lr: {loop.about(1e-4):.2e}          ",
                end="",
            )
        loop.print(f"Finished in {int(loop.now - began)}s")
        loop.pause(30.0)
        loop.print("Evaluation: [step  693/ 693]\nOverall Accuracy is: 60.12")
