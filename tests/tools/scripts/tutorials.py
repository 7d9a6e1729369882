"""Scripts that teach: examples of frameworks, courses and books."""

from __future__ import annotations

from datetime import timedelta

from tests.tools.scripts.loop import EPOCHS, Bar, Holds, Loop, script


@script(
    "jax-ml/jax examples/spmd_mnist_classifier_fromscratch.py",
    "every batch by number, and the seconds of the epoch behind them",
    Holds.ONE,
    "the time of the epoch, all of whose batches are printed",
)
def jax_spmd_mnist(loop: Loop) -> None:
    loop.print("Using 8 devices")
    for epoch in range(10):
        began = loop.now
        for batch in range(468):
            loop.print(f"Batch no {batch + 1} of 469")
            loop.step(0.006, samples=128)
        took = loop.now - began
        loop.pause(1.0)
        loop.print(f"Epoch {epoch} in {took:0.2f} sec\nTraining set accuracy 0.91\nTest set accuracy 0.92")
        loop.print("Batch no 0 of 469")
        loop.step(0.006, samples=128)  # outside the epoch's time


@script("jax-ml/jax examples/mnist_classifier.py", "every epoch's seconds of training", Holds.OPTION, EPOCHS)
def jax_mnist(loop: Loop) -> None:
    loop.print("\nStarting training...")
    for epoch in range(10):
        took = sum(loop.step(0.004, samples=128).total for _ in range(469))
        loop.pause(0.5)
        loop.print(
            f"Epoch {epoch} in {took:0.2f} sec\nTraining set accuracy {loop.about(0.9, 0.01)}\nTest set accuracy {loop.about(0.9, 0.01)}"
        )


@script(
    "tensorflow/docs site/en/guide/migrate/early_stopping.ipynb",
    "every 200th step a loss and the samples seen; the seconds of the epoch, a validation in them",
    Holds.OPTION,
    "the time of an epoch holds its validation, and its steps are known to two hundred",
)
def tf_custom_loop(loop: Loop) -> None:
    for epoch in range(4):
        loop.print(f"\nStart of epoch {epoch}")
        began = loop.now
        for step in range(469):
            loop.step(0.01, samples=128)
            if step % 200 == 0:
                loop.print(f"Training loss at step {step}: {loop.loss(2):.4f}\nSeen so far: {(step + 1) * 128} samples")
        loop.print(f"Training acc over epoch: {loop.about(0.9, 0.01):.4f}")
        loop.pause(0.7)
        loop.print(f"Validation acc: {loop.about(0.9, 0.01):.4f}\nTime taken: {loop.now - began:.2f}s")


@script(
    "d2l-ai/d2l-en d2l/torch.py (train_ch13)",
    "one line at the end: examples a second of all epochs, loading and testing left out",
    Holds.OPTION,
    "a single rate at the end, and nothing else",
    unit="samples",
    computing=True,
)
def d2l(loop: Loop) -> None:
    spent = 0.0
    for _ in range(10):
        spent += sum(loop.step(0.05, samples=256).computing for _ in range(235))
        loop.pause(2.0)
    loop.print(
        f"loss {loop.loss(0.3):.3f}, train acc 0.921, test acc 0.891\n{10 * 235 * 256 / spent:.1f} examples/sec on [device(type='cuda', index=0)]"
    )


@script(
    "openai/pixel-cnn train.py",
    "every epoch, called an iteration: its whole seconds, a test in them",
    Holds.NONE,
    "an iteration of this log is an epoch of an unknown number of steps, with a test",
)
def pixel_cnn(loop: Loop) -> None:
    loop.print('input args:\n {\n    "batch_size":16,\n    "nr_gpu":8\n}\nstarting training')
    for epoch in range(12):
        began = loop.now
        for _ in range(390):
            loop.step(0.9, samples=128)
        loop.pause(25.0)
        loop.print(
            f"Iteration {epoch}, time = {int(loop.now - began)}s, train bits_per_dim = {loop.loss():.4f}, test bits_per_dim = {loop.loss():.4f}"
        )


@script(
    "chainer/chainer examples/ptb/train_ptb.py (1.5)",
    "every 10,000th iteration, iterations a second since the line before, evaluation left out",
    Holds.ONE,
    "a rate with its unit, and a counter",
)
def chainer_ptb(loop: Loop) -> None:
    loop.print("#vocab = 10000\ngoing to train 1812681 iterations")
    since = loop.now
    for number in range(1, 120_001):
        loop.step(0.002)
        if number % 10_000 == 0:
            loop.print(
                f"iter {number} training perplexity: {loop.about(300):.2f} ({10_000 / (loop.now - since):.2f} iters/sec)"
            )
            since = loop.now
        if number % 46_000 == 0:
            loop.print("evaluate")
            since += loop.pause(20.0)
            loop.print(f"epoch {number // 46_000} validation perplexity: {loop.about(250):.2f}")


@script(
    "apache/mxnet example/gluon/image_classification.py",
    "every 50th batch, the samples a second of that batch; the seconds of the epoch behind them",
    Holds.ONE,
    "a rate with its unit, and a counter",
    unit="samples",
)
def mxnet_gluon_images(loop: Loop) -> None:
    loop.print(
        "INFO:root:Starting new image-classification task:, Namespace(batch_size=32, model='resnet18_v1', num_gpus=1)"
    )
    for epoch in range(3):
        began = loop.now
        for batch in range(400):
            took = loop.step(0.09, samples=32).total
            if (batch + 1) % 50 == 0:
                loop.print(
                    f"INFO:root:Epoch[{epoch}] Batch [{batch}]\tSpeed: {32 / took:f} samples/sec\taccuracy={loop.about(0.4):f}, top_k_accuracy_5=0.812"
                )
        loop.print(f"INFO:root:[Epoch {epoch}] training: accuracy={loop.about(0.4):f}, top_k_accuracy_5=0.812")
        loop.print(f"INFO:root:[Epoch {epoch}] time cost: {loop.now - began:f}")
        loop.pause(5.0)
        loop.print(f"INFO:root:[Epoch {epoch}] validation: accuracy=0.41, top_k_accuracy_5=0.82")


@script(
    "apache/mxnet example/distributed_training-horovod/gluon_mnist.py",
    "every 100th batch without a time; the epoch's samples a second of all ranks, and its seconds",
    Holds.TWO,
    "the rate × the seconds is the samples of an epoch, the same at each",
    unit="samples",
)
def mxnet_horovod_mnist(loop: Loop) -> None:
    loop.print("INFO:root:Namespace(batch_size=64, dtype='float32', epochs=5, lr=0.01, momentum=0.9)")
    for epoch in range(5):
        began = loop.now
        for batch in range(1, 469):
            loop.step(0.008, samples=128)
            if batch % 100 == 0:
                loop.print(f"INFO:root:[Epoch {epoch} Batch {batch}] Training: accuracy={loop.about(0.9, 0.01)}")
        took = loop.now - began
        loop.print(f"INFO:root:Epoch[{epoch}]\tSpeed={468 * 128 / took:.2f} samples/s\tTime cost={took:f}")
        loop.pause(1.0)
        loop.print(f"INFO:root:Epoch[{epoch}]\tTrain: accuracy=0.971\tValidation: accuracy=0.973")


@script("Lasagne/Lasagne examples/mnist.py", "every epoch's seconds, a validation in them", Holds.OPTION, EPOCHS)
def lasagne(loop: Loop) -> None:
    loop.print("Loading data...\nBuilding model and compiling functions...\nStarting training...")
    for epoch in range(1, 31):
        began = loop.now
        for _ in range(100):
            loop.step(0.012, samples=500)
        loop.pause(0.1)
        loop.print(f"Epoch {epoch} of 500 took {loop.now - began:.3f}s\n  training loss:\t\t{loop.loss(1):f}")
        loop.print(f"  validation loss:\t\t{loop.loss(1):f}\n  validation accuracy:\t\t{loop.about(95, 0.01):.2f} %")


@script(
    "lisa-lab/DeepLearningTutorials code/logistic_sgd.py",
    "every epoch's validation by its minibatch; epochs a second and the seconds of the program at the end",
    Holds.OPTION,
    "epochs a second, with all validations in them",
)
def theano_tutorials(loop: Loop) -> None:
    loop.print("... loading data\n... building the model\n... training the model")
    began = loop.now
    for epoch in range(1, 41):
        for _ in range(83):
            loop.step(0.006, samples=600)
        loop.pause(0.1)
        loop.print(f"epoch {epoch}, minibatch 83/83, validation error {loop.about(8):f} %")
    took = loop.now - began
    loop.print("Optimization complete with best validation score of 7.500000 %,with test performance 7.489583 %")
    loop.print(
        f"The code run for 40 epochs, with {40 / took:f} epochs/sec\nThe code for file logistic_sgd.py ran for {took:.1f}s"
    )


@script(
    "tflearn/tflearn tflearn/callbacks.py",
    "every step on two lines that are written over: the seconds of steps since the epoch began, and the samples seen",
    Holds.ONE,
    "the time since the epoch began, and two counters",
)
def tflearn(loop: Loop) -> None:
    loop.print("---------------------------------\nTraining samples: 55000\nValidation samples: 10000\n--")
    step = 0
    for epoch in (1, 2):
        spent = 0.0
        for seen in range(64, 55_001, 64):
            spent += loop.step(0.012, samples=64).total
            step += 1
            loop.print(
                f"Training Step: {step}  | total loss: \033[1m\033[32m{loop.loss(1):.5f}\033[0m\033[0m | time: {spent:.3f}s\n"
                f"\x1b[2K\r| SGD | epoch: {epoch:03d} | loss: {loop.loss(1):.5f} - acc: {loop.about(0.8):.4f} -- iter: {seen:05d}/55000\n"
                "\033[A\033[A",
                end="",
            )
        loop.pause(1.0)


@script(
    "PaddlePaddle/PaddleHub paddlehub/finetune/trainer.py, paddlehub/utils/utils.py",
    "every 10th step with a stamp, steps a second since the line before; ETA is the time of the whole training",
    Holds.TWO,
    "the stamps and the rate",
)
def paddlehub(loop: Loop) -> None:
    def say(level: str, text: str) -> None:
        loop.print(f"\033[36m[{loop.stamp}] [{level:>8}]\033[0m - {text}")

    say("WARNING", "PaddleHub model checkpoint not found, start from scratch...")
    since, began, total = loop.now, loop.now, 900
    for step in range(1, total + 1):
        loop.step(0.27, samples=32)
        if step % 10 == 0:
            left = timedelta(seconds=int((loop.now - began) * total / step))
            say(
                "TRAIN",
                f"Epoch={(step - 1) // 300 + 1}/3, Step={(step - 1) % 300 + 1}/300 loss={loop.loss(1):.4f} acc={loop.about(0.8):.4f} lr=0.000050 step/sec={10 / (loop.now - since):.2f} | ETA 0{left}",
            )
            since = loop.now
        if step % 300 == 0:
            loop.pause(15.0)
            say(
                "EVAL",
                f"[Evaluation result] avg_acc={loop.about(0.9, 0.01):.4f}",
            )
            say("INFO", f"Saving model checkpoint to checkpoint/epoch_{step // 300}")


@script(
    "skorch-dev/skorch skorch/callbacks/logging.py",
    "every epoch in a table, its seconds, a validation in them",
    Holds.OPTION,
    EPOCHS,
)
def skorch(loop: Loop) -> None:
    loop.print(
        "  epoch    train_loss    valid_acc    valid_loss     dur\n-------  ------------  -----------  ------------  ------"
    )
    for epoch in range(1, 21):
        began = loop.now
        for _ in range(7):
            loop.step(0.01, samples=128)
        loop.pause(0.01)
        best = "\033[36m", "\033[32m", "\033[35m"
        values = (loop.loss(0.7), loop.about(0.7), loop.loss(0.7))
        cells = "  ".join(
            f"{color}{value:{width}.4f}\033[0m" for color, value, width in zip(best, values, (12, 11, 12), strict=True)
        )
        loop.print(f"{epoch:7d}  {cells}  {loop.now - began:6.4f}")


@script(
    "GRAAL-Research/poutyne poutyne/framework/callbacks/color_formatting.py",
    "every step written over the last one with what remains; every epoch's steps and seconds, a validation in them",
    Holds.OPTION,
    "the seconds of an epoch hold the steps of its validation",
)
def poutyne(loop: Loop) -> None:
    for epoch in range(1, 6):
        began, steps = loop.now, 300
        for step in range(1, steps + 1):
            loop.step(0.05, samples=32)
            mean = (loop.now - began) / step
            loop.print(
                f"\rEpoch: {epoch}/5 Step: {step:3d}/{steps} {step / 3:6.2f}% |{'█' * (step // 15):<20}|ETA: {(steps - step) * mean:.2f}s loss: {loop.loss(1):f} acc: {loop.about(80):f}",
                end="",
            )
        loop.pause(2.0)
        loop.print(
            f"\rEpoch: {epoch}/5 Train steps: {steps} Val steps: 75 {loop.now - began:.2f}s loss: {loop.loss(1):f} acc: 81.2 val_loss: 0.61 val_acc: 82.3".ljust(
                150
            )
        )


@script(
    "patrick-kidger/diffrax docs/examples/neural_ode.ipynb",
    "every 100th step with its own time, all digits and no unit",
    Holds.OPTION,
    "one step of a hundred is timed",
)
def diffrax(loop: Loop) -> None:
    for step in range(2001):
        took = loop.step(0.037, samples=32)
        if step % 100 == 0:
            loop.print(f"Step: {step}, Loss: {loop.loss(0.1)}, Computation time: {took.computing}")


@script(
    "lucidrains/x-transformers train_enwik8.py",
    "a named bar drawn every ten seconds, and a loss for each step on a line; a text is generated now and then",
    Holds.TWO,
    "the bar's counts and clock, and a line for each step",
)
def x_transformers(loop: Loop) -> None:
    bar = Bar(loop, 100_000, desc="training", interval=10.0)
    for number in range(2000):
        loop.step(0.3, samples=16)
        loop.print(f"training loss: {loop.loss(3)}")
        if number % 100 == 0:
            loop.pause(0.05)
            loop.print(f"validation loss: {loop.loss(3)}")
        if number % 500 == 0:
            loop.print("%s \n\n " + "*" * 100)
            loop.pause(8.0)
            loop.print("the cat of the river was in the [[house]] of the people")
        bar.update()
    bar.close()
