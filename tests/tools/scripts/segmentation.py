"""Scripts that train on what is where in images: segmentation, detection, bodies, finer pictures."""

from __future__ import annotations

from tests.tools.scripts.loop import Bar, Holds, Loop, script, whole


@script(
    "meetps/pytorch-semseg train.py, ptsemseg/utils.py",
    "every 50th iteration with a stamp, the mean time of an image since the line before, loading left out",
    Holds.TWO,
    "the stamps; the time of an image has a constant ratio to them, the batch",
    computing=True,
)
def pytorch_semseg(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.stamp} INFO {text}")

    say("Let the games begin")
    say("Using loss cross_entropy with {'size_average': True} params")
    times: list[float] = []
    for number in range(1, 2001):
        times.append(loop.step(0.3, samples=4).computing)
        if number % 50 == 0:
            mean = sum(times) / len(times) / 4
            say(f"Iter [{number}/300000]  Loss: {loop.loss():.4f}  Time/Image: {mean:.4f}")
            times = []
        if number % 1000 == 0:
            loop.pause(40.0)
            say(f"Iter {number} Loss: {loop.loss():.4f}")
            say("Overall Acc: \t: 0.812\nMean IoU : \t: 0.412")


@script(
    "xuebinqin/DIS IS-Net/train_valid_inference_main.py",
    "every iteration with the seconds since the line before, and its reading of data; a validation in one of many",
    Holds.ONE,
    "each iteration is printed with its own time",
)
def isnet(loop: Loop) -> None:
    loop.print("building model...\nbatch size:  8")
    validated = 0.0
    for number in range(1, 1001):
        took = loop.step(0.62, loading=0.05, samples=8)
        loop.print(
            f">>>isnet - [epoch:   1/1000000, batch: {number * 8:5d}/10000, ite: {number}] train loss: {loop.loss():3f}, "
            f"tar: {loop.loss(1):3f}, time-per-iter: {took.total + validated:3f} s, time_read: {took.loading:3f}"
        )
        validated = 0.0
        if number % 500 == 0:
            validated = loop.pause(30.0)
            loop.print("Max F-measure:  0.781\nMAE:  0.061")


@script(
    "wolny/pytorch-3dunet pytorch3dunet/unet3d/trainer.py",
    "every iteration with a stamp",
    Holds.ONE,
    "the stamps of every iteration; a validation is announced",
)
def pytorch_3dunet(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.stamp} [MainThread] INFO UNet3DTrainer - {text}")

    for number in range(801):
        say(f"Training iteration [{number}/150000]. Epoch [{number // 240}/999]")
        loop.step(0.55, samples=1)
        if number and number % 100 == 0:
            say(f"Training stats. Loss: {loop.loss(1)}. Evaluation score: {loop.about(0.6)}")
        if number and number % 400 == 0:
            say("Validating...")
            for batch in range(10):
                say(f"Validation iteration {batch}")
                loop.pause(0.6)
            say(f"Validation finished. Loss: {loop.loss(1)}. Evaluation score: {loop.about(0.6)}")
            say("Saving checkpoint to '/checkpoints/last_checkpoint.pytorch'")


@script(
    "qfgaohao/pytorch-ssd train_ssd.py",
    "every 50th step with a stamp",
    Holds.ONE,
    "the stamps; a validation is announced by its line alone",
)
def pytorch_ssd(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.stamp} - root - INFO - {text}")

    say("Train dataset size: 16551")
    say("Start training from epoch 0.")
    for epoch in range(2):
        for step in range(518):
            loop.step(0.31, samples=32)
            if step and step % 50 == 0:
                say(
                    f"Epoch: {epoch}, Step: {step}, Average Loss: {loop.loss(9):.4f}, Average Regression Loss "
                    f"{loop.loss(3):.4f}, Average Classification Loss: {loop.loss(6):.4f}"
                )
        loop.pause(40.0)
        say(
            f"Epoch: {epoch}, Validation Loss: {loop.loss(9):.4f}, Validation Regression Loss 1.2, Validation Classification Loss: 2.1"
        )
        say(f"Saved model models/vgg16-ssd-Epoch-{epoch}-Loss-3.2.pth")


@script(
    "yjn870/SRCNN-pytorch train.py",
    "a bar of samples for each epoch, which says its default unit, it",
    Holds.OPTION,
    "a tick of the bar is a sample, which nothing on it says",
    unit="samples",
)
def srcnn(loop: Loop) -> None:
    for epoch in range(4):
        bar = Bar(loop, 21872, desc=f"epoch: {epoch}/399")
        for _ in range(1367):
            loop.step(0.012, samples=16)
            bar.postfix(f"loss={loop.loss(0.01):.6f}")
            bar.update(16)
        bar.close()
        loop.pause(1.0)
        loop.print(f"eval psnr: {loop.about(32, 0.01):.2f}")


@script(
    "microsoft/MeshTransformer metro/tools/run_metro_bodymesh.py",
    "every 100th iteration with a stamp: the mean time since the start; a rendering behind each line",
    Holds.OPTION,
    "each interval holds the rendering that the line before it began",
    untold=True,
)
def mesh_transformer(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.stamp} METRO INFO: {text}")

    say("Using 1 GPUs\n2024-03-11 09:00:01,123 METRO INFO: Training parameters: Namespace(per_gpu_train_batch_size=30)")
    total, began = 62400, loop.now
    for number in range(1, 1501):
        loop.step(0.5, samples=30)
        if number % 100 == 0:
            mean = (loop.now - began) / number
            left = whole(mean * (total - number))
            say(
                f"eta: {left} epoch: 0 iter: {number} max mem : 21034  loss: {loop.loss():.4f}, 2d joint loss: 0.0123, "
                f"3d joint loss: 0.0210, vertex loss: 0.0512, compute: {mean:.4f}, data: 0.0051, lr: 0.000100"
            )
            loop.pause(4.0)
