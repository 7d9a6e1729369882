"""Scripts that train what makes images: diffusion, adversarial nets, flows."""

from __future__ import annotations

from datetime import timedelta

from tests.tools.scripts.loop import Holds, Loop, script


@script(
    "ermongroup/ddim runners/diffusion.py, main.py",
    "every step with a stamp and the mean time of loading data, which is no time of a step",
    Holds.ONE,
    "the stamps of every step; the printed time is of loading alone",
)
def ddim(loop: Loop) -> None:
    def say(text: str, file: str = "diffusion.py") -> None:
        loop.print(f"INFO - {file} - {loop.stamp} - {text}")

    say("Using device: cuda", "main.py")
    step = 0
    for _ in range(2):
        loop.pause(2.0)
        waited = 0.0
        for number in range(390):
            took = loop.step(0.31, loading=0.06, samples=128)
            waited += took.loading
            step += 1
            say(f"step: {step}, loss: {loop.loss(90)}, data time: {waited / (number + 1)}")


@script(
    "igul222/improved_wgan_training gan_mnist.py, tflib/plot.py",
    "the first five iterations, then every 100th: the mean time of the iterations since the line before, no unit",
    Holds.OPTION,
    "a bare time of an unknown span",
)
def improved_wgan(loop: Loop) -> None:
    loop.print("Uppercase local vars:\n\tBATCH_SIZE: 50\n\tCRITIC_ITERS: 5")
    times: list[float] = []
    for number in range(3000):
        times.append(loop.step(0.07, samples=50).total)
        extra = ""
        if number % 100 == 99:
            loop.pause(1.0)
            extra = f"dev disc cost\t{-loop.loss()}\t"
        if number < 5 or number % 100 == 99:
            loop.print(f"iter {number}\t{extra}train disc cost\t{-loop.loss()}\ttime\t{sum(times) / len(times)}")
            times = []


@script(
    "NVlabs/MUNIT train.py, utils.py",
    "every iteration, the seconds of its update, loading left out; every 10th its number",
    Holds.ONE,
    "each update is printed with its own time, and the counter says how many there were",
    computing=True,
)
def munit(loop: Loop) -> None:
    for number in range(1, 1001):
        took = loop.step(0.42, loading=0.03, samples=1)
        loop.print(f"Elapsed time in update: {took.computing:f}")
        if number % 10 == 0:
            loop.print(f"Iteration: {number:08d}/01000000")


@script(
    "akanimax/pro_gan_pytorch pro_gan_pytorch/gan.py",
    "ten times an epoch, the time since the start; the time of the epoch behind it",
    Holds.TWO,
    "the elapsed time, and the time of an epoch of known batches",
)
def pro_gan(loop: Loop) -> None:
    loop.print("Loaded the dataset with: 30000 images ...\nStarting the training process ... ")
    loop.print("\n\nCurrently working on Depth: 2\nCurrent resolution: 4 x 4")
    began, batches = loop.now, 938
    for epoch in (1, 2, 3):
        loop.print(f"\nEpoch: {epoch}")
        started = loop.now
        for batch in range(1, batches + 1):
            loop.step(0.12, samples=32)
            if batch % (batches // 10) == 0 or batch in (1, batches):
                elapsed = timedelta(seconds=loop.now - began)
                loop.print(f"Elapsed: [{elapsed}]  batch: {batch}  d_loss: {loop.loss():f}  g_loss: {loop.loss():f}")
                loop.pause(0.05)
        loop.print(f"Time taken for epoch: {loop.now - started:.3f} secs")


@script(
    "JiahuiYu/neuralgym neuralgym/train/trainer.py, neuralgym/utils/logger.py",
    "a bar every 10th iteration: seconds since the start and what remains, batches a second since the epoch began",
    Holds.TWO,
    "the bar's seconds and the rate",
)
def neuralgym(loop: Loop) -> None:
    loop.print("-" * 26 + " Context Of Primary Trainer " + "-" * 26 + "\nspe: 4000\nlog_progress: True\n" + "-" * 80)
    steps, restarted, last = 2000, loop.now, loop.now
    for epoch in (1, 2):
        loop.step(0.09, samples=16)
        began = loop.now
        for number in range(2, steps + 1):
            loop.step(0.09, samples=16)
            if number % 10 == 0:
                rate, share = number / (loop.now - began), number / steps
                text = f"train epoch {epoch}, iter {number}/{steps}, loss {loop.loss():.6f}, {rate:.2f} batches/sec."
                blocks = round(20 * share)
                left = (1 - share) / (10 / steps / (loop.now - last))
                last = loop.now
                if share == 1:
                    loop.print(text)
                    restarted = loop.now
                else:
                    drawn = "#" * blocks + "-" * (20 - blocks)
                    loop.print(
                        f"\x1b[2K\r|{drawn}| {share * 100:.2f}%, {loop.now - restarted:.0f}/{left:.0f} sec. {text}",
                        end="",
                    )


@script(
    "openai/glow train.py",
    "a row an epoch under one row of names: images a second, and the seconds of training, testing, sampling and all",
    Holds.TWO,
    "ips × dtrain is the growth of n_images",
    unit="samples",
)
def glow(loop: Loop) -> None:
    loop.print("Rank 0 Batch sizes Train 64 Test 50 Init 256\nStarting training. Logging to logs")
    loop.print("epoch n_processed n_images ips dtrain dtest dsample dtot train_results test_results msg")
    done = 0
    for epoch in range(1, 16):
        began = loop.now
        for _ in range(98):
            loop.step(0.4, samples=512)
        trained = loop.now - began
        done += 98 * 512
        tested = loop.pause(12.0) if epoch % 5 == 0 else 0.0
        sampled = loop.pause(4.0) if epoch in (1, 10) else 0.0
        results = "[" + " ".join(f"{loop.loss():.8f}" for _ in range(4)) + "]"
        loop.print(
            f"{epoch} {done} {done} {98 * 512 / trained:.1f} {trained:.1f} {tested:.1f} {sampled:.1f} "
            f"{loop.now - began:.1f} {results} [] {' *' if tested else ''}"
        )


@script(
    "eriklindernoren/PyTorch-GAN implementations/cyclegan/cyclegan.py",
    "every batch written over the last one: what remains, by the time of the last batch alone",
    Holds.OPTION,
    "what remains is the batches that are left × the last batch's time, pictures in one of a hundred",
)
def cyclegan(loop: Loop) -> None:
    batches, epochs, since = 400, 200, loop.now
    for epoch in range(3):
        for batch in range(batches):
            loop.step(0.25, samples=1)
            done = epoch * batches + batch
            left = timedelta(seconds=(epochs * batches - done) * (loop.now - since))
            since = loop.now
            loop.print(
                f"\r[Epoch {epoch}/{epochs}] [Batch {batch}/{batches}] [D loss: {loop.loss(1):f}] [G loss: {loop.loss(9):f}, adv: "
                f"{loop.loss(1):f}, cycle: {loop.loss(1):f}, identity: {loop.loss(1):f}] ETA: {left}",
                end="",
            )
            if done % 100 == 0:
                loop.pause(1.0)
    loop.print()


@script(
    "tensorflow/docs site/en/tutorials/generative/pix2pix.ipynb",
    "every 1000th step, the seconds of a thousand steps, and the step in thousands; dots between",
    Holds.ONE,
    "the line says of how many steps its time is",
)
def tf_pix2pix(loop: Loop) -> None:
    since = loop.now
    for step in range(10_000):
        if step % 1000 == 0:
            if step:
                loop.print(f"Time taken for 1000 steps: {loop.now - since:.2f} sec\n")
            since = loop.now
            loop.pause(0.5)
            loop.print(f"Step: {step // 1000}k")
        loop.step(0.09, samples=1)
        if (step + 1) % 10 == 0:
            loop.print(".", end="")


@script(
    "microsoft/VQ-Diffusion image_synthesis/engine/solver.py",
    "every 100th iteration: its own time and the mean since the start with one decimal, the times spent and left",
    Holds.TWO,
    "the time spent and the time left",
)
def vq_diffusion(loop: Loop) -> None:
    def clock(seconds: float) -> str:
        hours, minutes, rest = int(seconds) // 3600, int(seconds) // 60 % 60, int(seconds) % 60
        parts = [f"{hours:02d}h"] * bool(hours) + [f"{minutes:02d}m"] * bool(hours or minutes) + [f"{rest:02d}s"]
        return ":".join(parts)

    loop.print("coco_pretrain: global rank 0: start training...")
    began, steps = loop.now, 1500
    for number in range(1, 3001):
        if number % steps == 1:
            started = loop.now
        took = loop.step(0.6, loading=0.02, samples=16)
        if number % 100 == 0:
            spent = loop.now - began
            mean = spent / (number + 1)
            loop.print(
                f"coco_pretrain: train: Epoch {number // steps}/100 iter {number % steps}/{steps} || loss | loss: {loop.loss():.4f} || "
                f"lr: 3e-06 || data_time: {round(took.loading, 1)}s | fbward_time: {round(took.computing, 1)}s | iter_time: "
                f"{round(took.total, 1)}s | iter_avg_time: {round(mean, 1)}s | epoch_time: {clock(loop.now - started)} | "
                f"spend_time: {clock(spent)} | left_time: {clock(mean * 100 * steps - spent)}"
            )


@script(
    "ml-explore/mlx-examples flux/dreambooth.py",
    "every 10th iteration, iterations a second since the line before, pictures and checkpoints left out",
    Holds.ONE,
    "a rate with its unit, and a counter",
)
def mlx_flux(loop: Loop) -> None:
    loop.print("Training 34,471,936 parameters")
    since = loop.now
    for number in range(1, 601):
        loop.step(3.1, samples=1)
        if number % 10 == 0:
            rate = 10 / (loop.now - since)
            loop.print(f"Iter: {number} Loss: {loop.loss(1):.3f} It/s: {rate:.3f} Peak mem: 41.213 GB")
            if number % 50 == 0:
                loop.pause(60.0)
            since = loop.now
    loop.print("Training successful.")


@script(
    "ml-explore/mlx-examples cvae/main.py",
    "every 10th batch written over the last one, the mean of the batches' rates since the epoch began, im/s; the epoch's time",
    Holds.TWO,
    "the rate, and the time of an epoch",
    unit="samples",
    computing=True,
)
def mlx_cvae(loop: Loop) -> None:
    loop.print("Options: \n  Device: GPU\nNumber of trainable params: 0.1493 M")
    for epoch in range(1, 6):
        began, rates = loop.now, 0.0
        for batch in range(469):
            rates += 128 / loop.step(0.02, samples=128).computing
            if batch and batch % 10 == 0:
                loop.print(
                    f"Epoch {epoch:4d} | Loss {loop.loss(40):10.2f} | Throughput {rates / batch:8.2f} im/s | Batch {batch:5d}",
                    end="\r",
                )
        loop.print(
            f"Epoch {epoch:4d} | Loss {loop.loss(40):10.2f} | Throughput {rates / 468:8.2f} im/s | Time {loop.now - began:8.1f} (s)"
        )
        loop.pause(1.0)
