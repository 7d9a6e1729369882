"""Scripts that train on scenes: fields of light, surfaces, depth, relations of things."""

from __future__ import annotations

from tests.tools.scripts.loop import Bar, Holds, Loop, script


@script(
    "bmild/nerf run_nerf.py",
    "the first ten iterations, then every 100th: its numbers without words, and its own time in seconds below them",
    Holds.OPTION,
    "one iteration of a hundred is timed",
)
def nerf(loop: Loop) -> None:
    loop.print("Begin\nTRAIN views are [0 1 2 3]\nTEST views are [4]\nVAL views are [5]")
    for number in range(2001):
        took = loop.step(0.18)
        if number % 100 == 0 or number < 10:
            loop.print(f"blender_paper_lego {number} {loop.about(22, 0.02)} {loop.loss(0.05)} {number}")
            loop.print(f"iter time {took.total:.05f}")
        if number % 1000 == 0 and number:
            loop.pause(5.0)
            loop.print("saved weights at ./logs/lego/model_%06d.npy" % number)  # noqa: UP031 (its own form)


@script(
    "Kai-46/nerfplusplus ddp_train_nerf.py",
    "the first nine steps, then every 100th: its own time in seconds, beside a stamp; two renderings now and then",
    Holds.TWO,
    "the stamps, and the time of the step that is printed",
)
def nerfplusplus(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.stamp} [INFO] root: {text}")

    say("gpu_mem: 24576")
    for step in range(1, 3001):
        took = loop.step(0.35)
        if step % 100 == 0 or step < 10:
            say(
                f"tat_training_Truck step: {step}  resolution_level: 1.000000 level_0/loss: {loop.loss(0.05):.6f} "
                f"level_0/pnsr: 18.1 level_1/loss: {loop.loss(0.05):.6f} level_1/pnsr: 19.2 iter_time: {took.total:.6f}"
            )
        if step % 1000 == 0 or step == 1:
            say(f"Logged a random validation view in {loop.pause(15.0)} seconds")
            say(f"Logged a random training view in {loop.pause(15.0)} seconds")


@script(
    "sunset1995/DirectVoxGO run.py",
    "an unnamed bar, and every 500th iteration above it the time since the start in whole seconds",
    Holds.TWO,
    "the bar, and the time since the start",
)
def directvoxgo(loop: Loop) -> None:
    loop.print("train: start\nscene_rep_reconstruction (coarse): train from scratch")
    total, began = 5000, loop.now
    bar = Bar(loop, total)
    for step in range(1, total + 1):
        loop.step(0.012)
        bar.update()
        if step % 500 == 0:
            seconds = loop.now - began
            clock = f"{seconds // 3600:02.0f}:{seconds // 60 % 60:02.0f}:{seconds % 60:02.0f}"
            bar.write(
                f"scene_rep_reconstruction (coarse): iter {step:6d} / Loss: {loop.loss(0.01):.9f} / PSNR: "
                f"{loop.about(27, 0.02):5.2f} / Eps: {clock}"
            )
    bar.close()
    loop.print("scene_rep_reconstruction (coarse): saved checkpoints at logs/coarse_last.tar")


@script(
    "autonomousvision/convolutional_occupancy_networks train.py",
    "every 100th iteration, the seconds since the program began, and the hour and minute",
    Holds.TWO,
    "the time since the start, and the clock's minutes",
)
def convolutional_occupancy(loop: Loop) -> None:
    loop.print("Total number of parameters: 1977601\noutput path:  out/pointcloud/shapenet_3plane")
    loop.now += 8.0
    for number in range(1, 3001):
        loop.step(0.16, samples=32)
        if number % 100 == 0:
            loop.print(
                f"[Epoch {number // 960:02d}] it={number:03d}, loss={loop.loss(300):.4f}, time: {loop.elapsed:.2f}s, "
                f"{loop.time.hour:02d}:{loop.time.minute:02d}"
            )
        if number % 1000 == 0:
            loop.print("Saving checkpoint")
            loop.pause(20.0)
            loop.print(f"Validation metric (iou): {loop.about(0.6):.4f}")


@script(
    "Totoro97/NeuS exp_runner.py",
    "an unnamed bar, and every 100th iteration its number; a rendering now and then",
    Holds.TWO,
    "the bar's counts and clock, and the iterations that are printed",
)
def neus(loop: Loop) -> None:
    loop.print("Hello Wooden\nLoad data: Begin\nLoad data: End")
    bar = Bar(loop, 300_000)
    for number in range(1, 5001):
        loop.step(0.06)
        if number % 100 == 0:
            loop.print("./exp/thin_structure/wmask")
            loop.print(f"iter:{number} loss = {loop.loss(0.1)} lr={5e-4 * number / 5000}")
        if number % 2500 == 0:
            loop.print(f"Validate: iter: {number}, camera: 12")
            loop.pause(20.0)
        bar.update()
    bar.close()


@script(
    "rowanz/neural-motifs models/train_rels.py",
    "every 100th batch, seconds a batch since the line before, and minutes an epoch; the losses on lines of their own",
    Holds.TWO,
    "seconds a batch × the batches of an epoch are the minutes of an epoch",
)
def neural_motifs(loop: Loop) -> None:
    loop.print("Training starts now!")
    batches = 1900
    for epoch in range(2):
        since = loop.now
        for batch in range(batches):
            loop.step(0.34, samples=6)
            if batch % 100 == 0 and batch >= 100:
                took = (loop.now - since) / 100
                loop.print(f"\ne{epoch:2d}b{batch:5d}/{batches:5d} {took:.3f}s/batch, {batches * took / 60:.1f}m/epoch")
                loop.print(
                    f"class_loss    {loop.loss(1):.6f}\nrel_loss      {loop.loss(1):.6f}\ntotal         {loop.loss(2):.6f}\ndtype: float64"
                )
                loop.print("-----------")
                since = loop.now
        loop.print(f"overall{epoch:2d}: ({loop.loss(2):.3f})\nclass_loss    0.912\nrel_loss      0.512")
        loop.pause(60.0)
        loop.print("======================sgcls============================\nR@20: 0.312\nR@50: 0.351\nR@100: 0.360")


@script(
    "xy-guo/GwcNet main.py",
    "every iteration with the time of its step, loading left out; lines of the test alike",
    Holds.ONE,
    "each iteration is printed with its own time",
    computing=True,
)
def gwcnet(loop: Loop) -> None:
    loop.print("creating new summary file")
    loop.print("start at epoch 0")
    batches, tests = 400, 60
    for epoch in range(2):
        for number in range(batches):
            took = loop.step(0.7, loading=0.05, samples=4)
            loop.print(
                f"Epoch {epoch}/16, Iter {number}/{batches}, train loss = {loop.loss(9):.3f}, time = {took.computing:.3f}"
            )
        loop.pause(3.0)
        for number in range(tests):
            loop.print(f"Epoch {epoch}/16, Iter {number}/{tests}, test loss = 1.203, time = {loop.pause(0.3):3f}")
        loop.print("avg_test_scalars {'loss': 1.213, 'EPE': [1.01], 'D1': [0.04]}")
