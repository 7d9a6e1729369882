"""Scripts that train on images as a whole: classification, faces, images with words."""

from __future__ import annotations

from tests.tools.scripts.loop import EPOCHS, Holds, Loop, script


@script(
    "ronghuaiyang/arcface-pytorch train.py",
    "every 100th iteration, iterations a second since the line before, with all digits, and the date in C's form",
    Holds.TWO,
    "the stamps and the rate",
)
def arcface(loop: Loop) -> None:
    batches, since = 830, loop.now
    loop.print("830 train iters per epoch:")
    for epoch in range(3):
        for number in range(batches):
            loop.step(0.21, samples=16)
            if (epoch * batches + number) % 100 == 0:
                rate = 100 / (loop.now - since)
                loop.print(
                    f"{loop.time:%a %b %e %H:%M:%S %Y} train epoch {epoch} iter {number} {rate} iters/s loss "
                    f"{loop.loss(18)} acc {loop.about(0.1)}"
                )
                since = loop.now
        loop.pause(25.0)
        loop.print(f"lfw face verification accuracy:  {loop.about(0.9, 0.01):.4f} threshold:  0.23")


@script(
    "davidsandberg/facenet src/train_softmax.py",
    "every batch with the time of its step",
    Holds.ONE,
    "each batch is printed with its own time",
    computing=True,
)
def facenet(loop: Loop) -> None:
    loop.print("Running training")
    for epoch in (1, 2):
        for batch in range(1, 501):
            took = loop.step(0.25, samples=90)
            loop.print(
                f"Epoch: [{epoch}][{batch}/500]\tTime {took.computing:.3f}\tLoss {loop.loss(7):2.3f}\tXent "
                f"{loop.loss(6):2.3f}\tRegLoss {loop.about(0.5):2.3f}\tAccuracy {loop.about(0.3):2.3f}\tLr 0.05000\tCl 2.350"
            )
        loop.print("Running forward pass on validation set")
        took_all = loop.pause(20.0)
        loop.print(f"Validation Epoch: {epoch}\tTime {took_all:.3f}\tLoss 4.210\tXent 3.800\tAccuracy 0.410")
        loop.print("Saving variables")
        loop.print(f"Variables saved in {loop.pause(1.0):.2f} seconds")


@script(
    "ml-explore/mlx-examples cifar/main.py",
    "every 10th batch, the mean of the batches' rates since the epoch began, images a second of all processes",
    Holds.ONE,
    "a rate with its unit, and a counter",
    unit="samples",
    computing=True,
)
def mlx_cifar(loop: Loop) -> None:
    loop.print("Number of params: 0.2697 M")
    for epoch in range(3):
        rates: list[float] = []
        for batch in range(196):
            took = loop.step(0.08, samples=256)
            rates.append(256 / took.computing)
            if batch % 10 == 0:
                loop.print(
                    f"Epoch {epoch:02d} [{batch:03d}] | Train loss {loop.loss():.3f} | Train acc {loop.about(0.5):.3f} | "
                    f"Throughput: {sum(rates) / len(rates):.2f} images/second"
                )
        loop.print(
            f"Epoch: {epoch} | avg. Train loss {loop.loss():.3f} | avg. Train acc 0.612 | Throughput: "
            f"{sum(rates) / len(rates):.2f} images/sec"
        )
        loop.pause(3.0)
        loop.print(f"Epoch: {epoch} | Test acc {loop.about(0.5):.3f}")


@script(
    "ml-explore/mlx-examples mnist/main.py",
    "every epoch's time, the evaluation in it",
    Holds.OPTION,
    EPOCHS,
)
def mlx_mnist(loop: Loop) -> None:
    for epoch in range(10):
        began = loop.now
        for _ in range(234):
            loop.step(0.002, samples=256)
        loop.pause(0.02)
        loop.print(f"Epoch {epoch}: Test accuracy {loop.about(0.95, 0.01):.3f}, Time {loop.now - began:.3f} (s)")


@script(
    "google-research/vision_transformer vit_jax/train.py",
    "every 10th step, images a second of one core since the line before, and hours left; absl's stamps",
    Holds.TWO,
    "the stamps and the rate; the rate is of one core",
    unit="samples",
)
def vision_transformer(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"I{loop.time:%m%d %H:%M:%S}.{loop.time.microsecond:06d} 140251 train.py:206] {text}")

    total, cores = 700, 8
    say("Will start/continue training at initial_step=1")
    say("Starting training loop; initial compile can take a while...")
    loop.step(0.8)
    say(f"First step took {loop.elapsed:.1f} seconds.")
    began = since = loop.now
    before = 1
    for step in range(2, total + 1):
        loop.step(0.8, samples=512 / cores)
        if step % 10 == 0:
            rate, done = 512 * (step - before) / (loop.now - since) / cores, step / total
            left = (loop.now - began) / done * (1 - done) / 3600
            since, before = loop.now, step
            say(f"Step: {step}/{total} {100 * done:.1f}%, img/sec/core: {rate:.1f}, ETA: {left:.2f}h")
        if step % 100 == 0:
            loop.pause(12.0)
            say(
                f"Step: {step} Learning rate: 0.0299999, Test accuracy: 0.98120, img/sec/core: {loop.about(820, 0.02):.1f}"
            )


@script(
    "weiaicunzai/pytorch-cifar100 train.py",
    "every batch with the samples seen of the epoch; the seconds of the epoch's training behind them",
    Holds.ONE,
    "the time of the epoch, all of whose batches are printed",
    unit="samples",
)
def pytorch_cifar100(loop: Loop) -> None:
    for epoch in (1, 2, 3):
        began = loop.now
        for batch in range(391):
            here = 128 if batch < 390 else 80
            loop.step(0.06, samples=here)
            loop.print(
                f"Training Epoch: {epoch} [{batch * 128 + here}/50000]\tLoss: {loop.loss():0.4f}\tLR: {0.1 * epoch / 3:0.6f}"
            )
        loop.print(f"epoch {epoch} training time consumed: {loop.now - began:.2f}s")
        took = loop.pause(5.0)
        loop.print("Evaluating Network.....")
        loop.print(
            f"Test set: Epoch: {epoch}, Average loss: {loop.loss(0.03):.4f}, Accuracy: 0.4123, Time consumed:{took:.2f}s\n"
        )


@script(
    "meliketoy/wide-resnet.pytorch main.py",
    "every batch written over the last one; the time since the start behind each epoch, with its test",
    Holds.OPTION,
    "the elapsed time holds a test at each epoch",
)
def wide_resnet(loop: Loop) -> None:
    loop.print("\n[Phase 1] : Data Preparation\n| Preparing CIFAR-10 dataset...")
    loop.print(
        "\n[Phase 3] : Training model\n| Training Epochs = 200\n| Initial Learning Rate = 0.1\n| Optimizer = SGD"
    )
    began = loop.now
    for epoch in (1, 2, 3):
        loop.print(f"\n=> Training Epoch #{epoch}, LR=0.1000")
        for batch in range(1, 392):
            loop.step(0.14, samples=128)
            loop.print(
                f"\r| Epoch [{epoch:3d}/200] Iter[{batch:3d}/391]\t\tLoss: {loop.loss():.4f} Acc@1: {loop.about(50):.3f}%",
                end="",
            )
        loop.pause(6.0)
        loop.print(f"\n| Validation Epoch #{epoch}\t\t\tLoss: {loop.loss():.4f} Acc@1: {loop.about(50):.2f}%")
        minutes, seconds = divmod(int(loop.now - began), 60)
        loop.print(f"| Elapsed time : 0:{minutes:02d}:{seconds:02d}")


@script(
    "timesler/facenet-pytorch models/utils/training.py",
    "every batch written over the last one: the mean since the epoch began of the batches' rates, called fps",
    Holds.OPTION,
    "fps says neither batches nor images",
    unit="samples",
)
def facenet_pytorch(loop: Loop) -> None:
    loop.print("Running on device: cuda:0")
    for epoch in range(3):
        loop.print(f"\nEpoch {epoch + 1}/8\n----------")
        for mode, batches in (("Train", 220), ("Valid", 55)):
            rates = 0.0
            for batch in range(1, batches + 1):
                took = loop.step(0.2, samples=32).total if mode == "Train" else loop.pause(0.08)
                rates += 32 / took
                loop.print(
                    f"\r{mode} | {batch:5d}/{batches:<5d}| loss: {loop.loss():9.4f} | fps: {rates / batch:9.4f} | "
                    f"acc: {loop.about(0.8):9.4f}   ",
                    end="",
                )
            loop.print()


@script(
    "hysts/pytorch_image_classification train.py, utils/logger.py",
    "every 100th step with a stamp, the seconds of each part of an epoch behind it",
    Holds.TWO,
    "the stamps, and the time of an epoch of known steps",
)
def hysts_image_classification(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"[{loop.time:%Y-%m-%d %H:%M:%S}] __main__ INFO: {text}")

    def accuracies() -> str:
        return f"acc@1 0.4500 ({loop.about(0.4):.4f}) acc@5 0.8800 ({loop.about(0.8):.4f})"

    say("MACs   : 41.01M\n[2024-03-11 09:00:00] __main__ INFO: #params: 269.72K")
    for epoch in (1, 2, 3):
        say(f"Train {epoch} {390 * (epoch - 1)}")
        began = loop.now
        for step in range(1, 391):
            loop.step(0.11, samples=128)
            if step % 100 == 0 or step == 390:
                loss = loop.loss()
                say(f"Epoch {epoch} Step {step}/390 lr 0.100000 loss {loss:.4f} ({loss:.4f}) {accuracies()}")
        say(f"Elapsed {loop.now - began:.2f}")
        say(f"Val {epoch}")
        took = loop.pause(4.0)
        say(f"Epoch {epoch} loss {loop.loss():.4f} acc@1 0.5412 acc@5 0.9512")
        say(f"Elapsed {took:.2f}")


@script(
    "apple/corenet corenet/metrics/stats.py, corenet/utils/logger.py",
    "every 50th iteration with a coloured stamp: the time since the epoch began, and the mean time of loading",
    Holds.TWO,
    "the stamps and the elapsed time",
)
def corenet(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.time:%Y-%m-%d %H:%M:%S} - \033[34m\033[1mLOGS   \033[0m - {text}")

    iteration = 0
    for epoch in range(3):
        began, loading = loop.now, 0.0
        for batch in range(1, 301):
            loading += loop.step(0.33, loading=0.04, samples=128).loading
            iteration += 1
            if batch % 50 == 0:
                say(
                    f"Epoch: {epoch:3d} [{iteration:8d}/  300000], loss: {loop.loss():.4f}, LR: [0.1, 0.1], "
                    f"Avg. batch load time: {loading / batch:1.3f}, Elapsed time: {loop.now - began:5.2f}"
                )
        say(f"*** Training summary for epoch {epoch}")
        loop.print(f"\t loss={loop.loss():.4f}")
        loop.pause(15.0)
        say(f"*** Validation summary for epoch {epoch}")
        loop.print(f"\t loss={loop.loss():.4f} || top1=41.2000 || top5=67.1000")


@script(
    "tysam-code/hlb-CIFAR10 main.py",
    "every epoch, the seconds since the start, of training alone",
    Holds.OPTION,
    EPOCHS,
)
def hlb_cifar10(loop: Loop) -> None:
    columns = ["epoch", "train_loss", "val_loss", "train_acc", "val_acc", "ema_val_acc", "total_time_seconds"]
    head = "".join(f"|  {column}  " for column in columns) + "|"
    loop.print("-" * len(head) + "\n" + head + "\n" + "-" * len(head))
    trained = 0.0
    for epoch in range(12):
        for _ in range(48):
            trained += loop.step(0.03, samples=1024).total
        loop.pause(0.3)
        values = [str(epoch), f"{loop.loss():.4f}", f"{loop.loss():.4f}", "0.7021", "0.7101", "", f"{trained:.4f}"]
        loop.print("".join(f"|  {value.rjust(len(c))}  " for value, c in zip(values, columns, strict=True)) + "|")
    loop.print("-" * len(head))


@script(
    "davidcpage/cifar10-fast core.py, torch_backend.py",
    "every epoch in a table: its seconds of training and of testing, and the total of training",
    Holds.OPTION,
    EPOCHS,
)
def cifar10_fast(loop: Loop) -> None:
    heads = (
        "epoch",
        "lr",
        "train time",
        "train loss",
        "train acc",
        "valid time",
        "valid loss",
        "valid acc",
        "total time",
    )
    loop.print(
        "Warming up cudnn on random inputs\nStarting timer\nPreprocessing training data\nFinished in 4.2 seconds"
    )
    loop.print(" ".join(f"{head:>12s}" for head in heads))
    total = 0.0
    for epoch in range(1, 25):
        took = sum(loop.step(0.035, samples=512).total for _ in range(97))
        tested = loop.pause(0.4)
        total += took
        values = (0.4 * epoch / 24, took, loop.loss(1), 0.71, tested, loop.loss(1), 0.72, total)
        loop.print(" ".join([f"{epoch:12}", *(f"{value:12.4f}" for value in values)]))


@script(
    "jackroos/VL-BERT common/callbacks/batch_end_callbacks/speedometer.py",
    "every 100th batch, samples a second since the line before, the time that remains in minutes, and its parts",
    Holds.ONE,
    "a rate with its unit, and a counter",
    unit="samples",
)
def vl_bert(loop: Loop) -> None:
    loop.print("PARAMETERS: 123456\nEpoch[0] Batch [0]\tSpeed: - samples/sec ETA: - d - h - m\tTrain-MLMLoss=9.1,")
    batches, size = 5000, 64
    loop.step(0.4, samples=size)
    since = loop.now
    for batch in range(1, 2001):
        loop.step(0.4, samples=size)
        if batch % 100 == 0:
            speed = 100 * size / (loop.now - since)
            left = int((9 * batches + batches - batch) * size / speed / 60)
            loop.print(
                f"Epoch[0] Batch [{batch}]\tSpeed: {speed:.2f} samples/s ETA: {left // 1440} d {left // 60 % 24:2d} h "
                f"{left % 60:2d} m\tData: 0.004 Tran: 0.003 F: 0.120 B: 0.210 O: 0.050 M: 0.002\tTrain-MLMLoss={loop.loss():f},\t"
            )
            since = loop.now


@script(
    "google-research/big_vision big_vision/utils.py, train.py",
    "every 50th step with absl's stamp: images a second of one core, and notes of steps and time without evaluation",
    Holds.TWO,
    "the stamps, the rate and the notes; the rate is of one core",
    unit="samples",
)
def big_vision(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"I{loop.time:%m%d %H:%M:%S}.{loop.time.microsecond:06d} 139872 utils.py:1277] {text}")

    def hms(seconds: float) -> str:
        return f"{int(seconds) // 60}m{int(seconds) % 60}s" if seconds >= 60 else f"{int(seconds)}s"

    total, cores, size = 900, 8, 1024
    say("\033[33mNOTE\033[0m: First step compilations...")
    loop.step(0.7)
    started = since = loop.now
    paused = all_paused = 0.0
    for step in range(2, total + 1):
        loop.step(0.7, samples=size / cores)
        if step % 50 == 1:
            took = loop.now - since - paused
            say(f"\033[35m[{step}]\033[0m img/sec/core = {size * 50 / took / cores}")
            say(f"\033[35m[{step}]\033[0m training_loss = {loop.loss(8)}")
            run = loop.now - started
            say(
                f"\033[33mNOTE\033[0m: Steps:{step}/{total} [{step / total:.1%}]\nWalltime:{hms(loop.elapsed)} "
                f"({hms(all_paused)} eval)\nETA:{hms(run / (step - 1) * (total - step))}\nTotal train time:{hms(run / (step - 1) * total)}"
            )
            since, paused = loop.now, 0.0
        if step % 300 == 0:
            paused = loop.pause(25.0)
            all_paused += paused
            say(f"\033[35m[{step}]\033[0m val/acc = {loop.about(0.5)}")


@script(
    "tensorflow/models tutorials/image/mnist/convolutional.py",
    "every 100th step, the mean since the line before in ms, an evaluation in it; the rest on lines of their own",
    Holds.OPTION,
    "each interval holds the evaluation that the line before it began",
)
def tf_mnist_convolutional(loop: Loop) -> None:
    loop.print("Extracting data/train-images-idx3-ubyte.gz\nInitialized!")
    since = loop.now
    for step in range(3001):
        loop.step(0.008, samples=64)
        if step % 100 == 0:
            took, since = loop.now - since, loop.now
            loop.print(f"Step {step} (epoch {step * 64 / 55000:.2f}), {10 * took:.1f} ms")
            loop.print(
                f"Minibatch loss: {loop.loss():.3f}, learning rate: 0.010000\nMinibatch error: {loop.about(3):.1f}%"
            )
            loop.pause(0.25)
            loop.print(f"Validation error: {loop.about(2):.1f}%")
