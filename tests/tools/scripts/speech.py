"""Scripts that train on sound: recognition, separation, voices."""

from __future__ import annotations

from tests.tools.scripts.loop import Bar, Holds, Loop, script


@script(
    "descriptinc/melgan-neurips scripts/train.py",
    "every 100th step, the mean since the line before in ms, samples and checkpoints in it",
    Holds.OPTION,
    "no second witness: the mean of the interval, or of the last batch",
)
def melgan(loop: Loop) -> None:
    since = loop.now
    steps, batches = 0, 813
    for epoch in (1, 2, 3):
        for number in range(batches):
            loop.step(0.23, samples=16)
            steps += 1
            if steps % 1000 == 0:
                took = loop.pause(4.0)
                loop.print(f"Took {took:5.4f}s to generate samples")
                loop.print("-" * 100)
            if steps % 100 == 0:
                losses = " ".join(f"{loop.loss():.8f}" for _ in range(4))
                loop.print(
                    f"Epoch {epoch} | Iters {number} / {batches} | ms/batch {10 * (loop.now - since):5.2f} | loss [{losses}]"
                )
                since = loop.now


@script(
    "kaituoxu/Conv-TasNet src/solver.py",
    "every 10th batch, the mean since the epoch began in ms; the time of the epoch behind it",
    Holds.TWO,
    "the mean times the counter is the epoch's time",
)
def conv_tasnet(loop: Loop) -> None:
    batches = 301
    for epoch in (1, 2, 3):
        loop.print("Training...")
        began = loop.now
        for batch in range(batches):
            loop.step(0.4, samples=3)
            if batch % 10 == 0:
                loop.print(
                    f"Epoch {epoch} | Iter {batch + 1} | Average Loss {-loop.loss(9):.3f} | Current Loss {-loop.loss(9):.6f} | "
                    f"{1000 * (loop.now - began) / (batch + 1):.1f} ms/batch"
                )
        loop.print("-" * 85)
        loop.print(
            f"Train Summary | End of Epoch {epoch} | Time {loop.now - began:.2f}s | Train Loss {-loop.loss(9):.3f}"
        )
        loop.print("-" * 85)
        loop.print("Cross validation...")
        validation = loop.now
        for batch in range(81):
            loop.pause(0.15)
            if batch % 10 == 0:
                loop.print(
                    f"Epoch {epoch} | Iter {batch + 1} | Average Loss -8.112 | Current Loss -8.345678 | "
                    f"{1000 * (loop.now - validation) / (batch + 1):.1f} ms/batch"
                )
        loop.print("-" * 85)
        # the time of validation counts from the start of training
        loop.print(
            f"Valid Summary | End of Epoch {epoch} | Time {loop.now - began:.2f}s | Valid Loss {-loop.loss(9):.3f}"
        )
        loop.print("-" * 85)


@script(
    "fatchord/WaveRNN train_wavernn.py, utils/display.py",
    "every step written over the last one, steps a second since the epoch began, one decimal",
    Holds.ONE,
    "a rate with its unit, and a counter",
)
def wavernn(loop: Loop) -> None:
    loop.print("+----------------+------------+--------+")
    loop.print("| Remaining Steps | Batch Size | LR     |")
    loop.print("|      1000k      |     32     | 0.0001 |")
    total, steps = 400, 12_000
    for epoch in (1, 2, 3):
        began = loop.now
        for number in range(1, total + 1):
            loop.step(0.06, samples=32)
            steps += 1
            rate = number / (loop.now - began)
            loop.print(
                f"\r| Epoch: {epoch}/2500 ({number}/{total}) | Loss: {loop.loss(6):.4f} | {rate:.1f} steps/s | "
                f"Step: {steps // 1000}k | ",
                end="",
            )
        loop.pause(4.0)
        loop.print(" ")


@script(
    "xcmyz/FastSpeech train.py",
    "every 5th step, the seconds since the start and what remains, on a line of their own below the step's",
    Holds.TWO,
    "the time used and the time that remains",
)
def fastspeech(loop: Loop) -> None:
    loop.print(
        "Use FastSpeech\nModel Has Been Defined\nNumber of TTS Parameters: 28188993\n\n---Start New Training---\n"
    )
    total, began, spent = 400_000, loop.now, 0.0
    for step in range(1, 1001):
        spent += loop.step(0.13, samples=32).total
        if step % 5 == 0:
            mean = spent / step
            loop.print(f"\nEpoch [{step // 400 + 1}/2000], Step [{step}/{total}]:")
            loop.print(
                f"Mel Loss: {loop.loss():.4f}, Mel PostNet Loss: {loop.loss():.4f}, Duration Loss: {loop.loss():.4f};"
            )
            loop.print(f"Current Learning Rate is {0.0001 * step / 1000:.6f}.")
            loop.print(f"Time Used: {loop.now - began:.3f}s, Estimated Time Remaining: {(total - step) * mean:.3f}s.")


@script(
    "santi-pdp/segan_pytorch segan/models/model.py",
    "every 100th batch: its own time, and the mean of all batches since the start, in seconds",
    Holds.OPTION,
    "one batch of a hundred is timed; the mean has no witness but that",
)
def segan(loop: Loop) -> None:
    loop.print("Num batches:  1100\nLoading training data\nStarting training")
    times: list[float] = []
    for epoch in (1, 2):
        for batch in range(1, 1101):
            times.append(loop.step(0.21, samples=100).total)
            if batch % 100 == 0:
                loop.print(
                    f"(Iter {len(times)}) Batch {batch}/1100 (Epoch {epoch}) d_real:{loop.loss(1):.4f}, d_fake:{loop.loss(1):.4f}, "
                    f"g_adv:{loop.loss(1):.4f}, g_l1:{loop.loss(1):.4f} l1_w: 100.00, btime: {times[-1]:.4f} s, "
                    f"mbtime: {sum(times) / len(times):.4f} s"
                )


@script(
    "clovaai/voxceleb_trainer SpeakerNet.py",
    "an unnamed bar of batches for each epoch; named bars of the evaluation",
    Holds.TWO,
    "the only unnamed bar counts batches; its counts and its clock",
)
def voxceleb_trainer(loop: Loop) -> None:
    loop.print("Embedding size is 512, encoder SAP.\nInitialised AngleProto")
    for epoch in (1, 2):
        bar, total = Bar(loop, 510, unit="batch"), 0.0
        for batch in range(1, 511):
            loop.step(0.3, samples=200)
            total += loop.loss()
            bar.postfix(f"loss={total / batch:.3g}")
            bar.update()
        bar.close()
        loop.print(f"{loop.time:%Y-%m-%d %H:%M:%S} Epoch {epoch}, LR 0.001000, TEER/TAcc 21.31, TLOSS {loop.loss():f}")
        for desc, unit, count in (("Extracting", "utt", 400), ("Scoring", "trial", 2000)):
            bar = Bar(loop, count, desc=desc, unit=unit)
            for _ in range(count):
                loop.pause(0.01)
                bar.update()
            bar.close()
        loop.print(f"{loop.time:%Y-%m-%d %H:%M:%S} Epoch {epoch}, VEER 6.2112, MinDCF 0.41231")


@script(
    "TaoRuijie/ECAPA-TDNN ECAPAModel.py",
    "every batch written over the last one: a stamp of whole seconds and the share of the epoch in per cent",
    Holds.OPTION,
    "a share of an epoch of an unknown number of batches",
)
def ecapa_tdnn(loop: Loop) -> None:
    loop.print(f"{loop.time:%m-%d %H:%M:%S} Model para number = 14.73")
    for epoch in (1, 2):
        for batch in range(1, 901):
            loop.step(0.2, samples=400)
            loop.print(
                f"{loop.time:%m-%d %H:%M:%S} [{epoch:2d}] Lr: 0.001000, Training: {batch / 9:.2f}%,  Loss: {loop.loss(9):.5f}, "
                f"ACC: {loop.about(20):2.2f}% \r",
                end="",
            )
        loop.print()
        loop.pause(30.0)


@script(
    "qiuqiangkong/audioset_tagging_cnn pytorch/main.py",
    "every 200th iteration (2000 in the program) with a stamp: the seconds of training, and those of validating behind it",
    Holds.TWO,
    "the seconds of training and of validating together are the stamps'",
)
def audioset_tagging(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.time:%a, %d %b %Y %H:%M:%S} main.py[line:254] INFO {text}")

    say("Parameters num: 80753615")
    since = loop.now
    for number in range(2001):
        if number % 200 == 0:
            trained = loop.now - since
            validated = loop.pause(20.0)
            say(
                f"Validate bal mAP: {loop.about(0.3):.3f}\n{loop.time:%a, %d %b %Y %H:%M:%S} main.py[line:235] INFO Validate test mAP: 0.211"
            )
            say(f"iteration: {number}, train time: {trained:.3f} s, validate time: {validated:.3f} s")
            say("------------------------------------")
            since = loop.now
        loop.step(0.24, samples=32)


@script(
    "ml-explore/mlx-examples speechcommands/main.py",
    "every 25th batch, the samples a second of that batch",
    Holds.ONE,
    "a rate with its unit, and a counter",
    unit="samples",
    computing=True,
)
def mlx_speechcommands(loop: Loop) -> None:
    loop.print("Number of params: 0.6079 M")
    for epoch in range(3):
        for batch in range(332):
            took = loop.step(0.15, samples=256)
            if batch % 25 == 0:
                loop.print(
                    f"Epoch {epoch:02d} [{batch:03d}] | Train loss {loop.loss():.3f} | Train acc {loop.about(0.5):.3f} | "
                    f"Throughput: {256 / took.computing:.2f} samples/second"
                )
        loop.print(
            f"Epoch: {epoch} | avg. Train loss {loop.loss():.3f} | avg. Train acc 0.612 | avg. Throughput: {loop.about(1650, 0.01):.2f} samples/sec"
        )
        loop.pause(4.0)
        loop.print(
            f"Epoch: {epoch} | Val acc {loop.about(0.8):.3f} | Throughput: {loop.about(5000, 0.02):.2f} samples/sec"
        )
