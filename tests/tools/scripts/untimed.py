"""Scripts that print no time at all: nothing may be read from them."""

from __future__ import annotations

from tests.tools.scripts.loop import Holds, Loop, script

NO_TIME = "no time"


@script("pytorch/examples mnist/main.py", NO_TIME, Holds.NONE)
def pytorch_mnist(loop: Loop) -> None:
    for epoch in (1, 2):
        for batch in range(938):
            loop.step(0.01, samples=64)
            if batch % 10 == 0:
                done = 100.0 * batch / 938
                loop.print(f"Train Epoch: {epoch} [{batch * 64}/60000 ({done:.0f}%)]\tLoss: {loop.loss(2):.6f}")
        loop.pause(2.0)
        loop.print(f"\nTest set: Average loss: {loop.loss(0.1):.4f}, Accuracy: 9840/10000 (98%)\n")


@script("pytorch/examples dcgan/main.py", NO_TIME, Holds.NONE)
def pytorch_dcgan(loop: Loop) -> None:
    loop.print("Random Seed:  4242")
    for epoch in range(2):
        for batch in range(600):
            loop.step(0.1, samples=64)
            loop.print(
                f"[{epoch}/25][{batch}/600] Loss_D: {loop.loss(1):.4f} Loss_G: {loop.loss(6):.4f} D(x): 0.8123 "
                f"D(G(z)): {loop.about(0.2):.4f} / {loop.about(0.05):.4f}"
            )


@script("eriklindernoren/PyTorch-GAN implementations/dcgan/dcgan.py", NO_TIME, Holds.NONE)
def pytorch_gan(loop: Loop) -> None:
    for epoch in range(2):
        for batch in range(400):
            loop.step(0.02, samples=64)
            loop.print(f"[Epoch {epoch}/200] [Batch {batch}/400] [D loss: {loop.loss(1):f}] [G loss: {loop.loss(1):f}]")


@script("seungeunrho/minimalRL ppo.py", NO_TIME, Holds.NONE)
def minimal_rl(loop: Loop) -> None:
    for episode in range(2001):
        loop.step(0.02)
        if episode % 20 == 0 and episode:
            loop.print(f"# of episode :{episode}, avg score : {loop.about(100):.1f}")


@script("sfujim/TD3 main.py", NO_TIME, Holds.NONE)
def td3(loop: Loop) -> None:
    loop.print(
        "---------------------------------------\nPolicy: TD3, Env: HalfCheetah-v2, Seed: 0\n---------------------------------------"
    )
    for episode in range(1, 101):
        for _ in range(10):
            loop.step(0.5)
        loop.print(f"Total T: {episode * 1000} Episode Num: {episode} Episode T: 1000 Reward: {loop.about(3000):.3f}")
        if episode % 5 == 0:
            loop.print(
                "---------------------------------------\nEvaluation over 10 episodes: 3312.412\n---------------------------------------"
            )


@script(
    "openai/guided-diffusion guided_diffusion/logger.py, guided_diffusion/train_util.py",
    "no time, in the tables of a program that prints time elsewhere",
    Holds.NONE,
)
def guided_diffusion(loop: Loop) -> None:
    loop.print("Logging to /tmp/openai-2024-03-11-09-00-00-123456\ncreating model and diffusion...\ntraining...")
    for step in range(0, 3000, 10):
        for _ in range(10):
            loop.step(0.4, samples=128)
        rows = {
            "grad_norm": loop.about(0.5),
            "loss": loop.loss(0.1),
            "loss_q0": loop.loss(0.1),
            "loss_q1": loop.loss(0.1),
        }
        rows |= {
            "mse": loop.loss(0.1),
            "param_norm": loop.about(200, 0.01),
            "samples": (step + 1) * 128,
            "step": step,
            "vb": 0.001,
        }
        texts = {name: f"{value:<8.3g}" for name, value in rows.items()}
        loop.print("-" * 26)
        loop.print("\n".join(f"| {name:<10} | {text} |" for name, text in texts.items()))
        loop.print("-" * 26)


@script("yhenon/pytorch-retinanet train.py", NO_TIME, Holds.NONE)
def pytorch_retinanet(loop: Loop) -> None:
    loop.print(
        "CUDA available: True\nloading annotations into memory...\nDone (t=15.31s)\ncreating index...\nindex created!"
    )
    loop.print("Num training images: 117266")
    for number in range(800):
        loop.step(0.4, samples=2)
        loop.print(
            f"Epoch: 0 | Iteration: {number} | Classification loss: {loop.loss(1):1.5f} | Regression loss: {loop.loss(1):1.5f} | "
            f"Running loss: {loop.loss(2):1.5f}"
        )


@script("VainF/DeepLabV3Plus-Pytorch main.py", NO_TIME, Holds.NONE)
def deeplabv3plus(loop: Loop) -> None:
    loop.print("Device: cuda\nDataset: voc, Train set: 10582, Val set: 1449")
    for number in range(10, 4001, 10):
        for _ in range(10):
            loop.step(0.3, samples=16)
        loop.print(f"Epoch {number // 662 + 1}, Itrs {number}/30000, Loss={loop.loss(1):f}")
        if number % 1000 == 0:
            loop.print("validation...\n\nOverall Acc: 0.921\nMean Acc: 0.812\nFreqW Acc: 0.861\nMean IoU: 0.712")


@script("xuebinqin/U-2-Net u2net_train.py", NO_TIME, Holds.NONE)
def u2net(loop: Loop) -> None:
    loop.print("---\ntrain images:  10553\ntrain labels:  10553\n---\n---define optimizer...\n---start training...")
    for number in range(1, 401):
        loop.step(0.5, samples=12)
        loop.print(", ".join(f"l{part}: {loop.loss(0.3):3f}" for part in range(7)) + "\n")
        loop.print(
            f"[epoch:   1/100000, batch: {number * 12:5d}/10553, ite: {number}] train loss: {loop.loss(2):3f}, tar: {loop.loss(0.3):3f} "
        )


@script("princeton-vl/RAFT train.py", NO_TIME, Holds.NONE)
def raft(loop: Loop) -> None:
    loop.print("Parameter Count: 5257536\nTraining with 22232 image pairs")
    for step in range(100, 6001, 100):
        for _ in range(100):
            loop.step(0.3, samples=10)
        loop.print(
            f"[{step:6d}, {0.0004 * step / 6000:10.7f}] {0.6:10.4f}, {0.8:10.4f}, {0.9:10.4f}, {loop.loss(12):10.4f}, "
        )


@script("feihuzhang/GANet train.py", NO_TIME, Holds.NONE)
def ganet(loop: Loop) -> None:
    loop.print("===> Loading datasets\n===> Building model")
    for number in range(600):
        loop.step(1.4, samples=8)
        loop.print(
            f"===> Epoch[1]({number}/4432): Loss: {loop.loss(2):.4f}, Error: ({loop.loss(3):.4f} {loop.loss(2):.4f} {loop.loss(2):.4f})"
        )


@script("lioryariv/volsdf code/training/volsdf_train.py", NO_TIME, Holds.NONE)
def volsdf(loop: Loop) -> None:
    loop.print(
        "shell command : training/exp_runner.py --conf ./confs/dtu.conf\nLoading data ...\nFinish loading data. Data-set size: 49"
    )
    for epoch in range(10):
        for index in range(49):
            loop.step(0.3)
            loop.print(
                f"dtu_65_2024_03_11_09_00_00 [{epoch}] ({index}/49): loss = {loop.loss(0.2)}, rgb_loss = {loop.loss(0.1)}, "
                f"eikonal_loss = {loop.loss(0.1)}, psnr = {loop.about(18)}"
            )


@script("LMescheder/GAN_stability train.py", NO_TIME, Holds.NONE)
def gan_stability(loop: Loop) -> None:
    loop.print("Start training...\nStart epoch 0...")
    for number in range(600):
        loop.step(0.5, samples=64)
        loop.print(
            f"[epoch 0, it {number:4d}] g_loss = {loop.loss(1):.4f}, d_loss = {loop.loss(1):.4f}, reg={loop.loss(0.1):.4f}"
        )


@script("haofeixu/gmflow main.py, utils/logger.py", NO_TIME, Holds.NONE)
def gmflow(loop: Loop) -> None:
    loop.print("pytorch version: 1.9.0\nNumber of params: 4680288\nNumber of training images: 22232\nStart training")
    for step in range(100, 8001, 100):
        for _ in range(100):
            loop.step(0.25, samples=16)
        loop.print(f"step: {step:06d} \t epe: {loop.loss(20):.3f}")


@script("pfnet/pfrl pfrl/experiments/train_agent.py", NO_TIME, Holds.NONE)
def pfrl(loop: Loop) -> None:
    loop.print("Output files are saved in results/20240311T090000.123456")
    for episode in range(1, 201):
        for _ in range(20):
            loop.step(0.04)
        loop.print(
            f"INFO:pfrl.experiments.train_agent:outdir:results/20240311T090000.123456 step:{episode * 200} episode:{episode} R:{loop.about(-300)}"
        )
        loop.print(
            f"INFO:pfrl.experiments.train_agent:statistics:[('average_q', {loop.about(9)}), ('average_loss', {loop.loss(1)}), ('n_updates', {episode * 200})]"
        )


@script(
    "facebookresearch/votenet train.py",
    "a date at each epoch's head",
    Holds.OPTION,
    "the date of an epoch, of steps that are printed",
)
def votenet(loop: Loop) -> None:
    loop.print("1201 312\n151 39")
    for epoch in range(3):
        loop.print(
            f"**** EPOCH {epoch:03d} ****\nCurrent learning rate: 0.001000\nCurrent BN decay momentum: 0.500000\n{loop.time}"
        )
        for batch in range(1, 152):
            loop.step(0.3, samples=8)
            if batch % 10 == 0:
                loop.print(
                    f" ---- batch: {batch:03d} ----\nmean box_loss: {loop.loss(1):f}\nmean loss: {loop.loss(9):f}\nmean vote_loss: {loop.loss(1):f}"
                )
        loop.pause(20.0)
        loop.print("eval mean box_loss: 0.512\neval mAP: 0.412")


@script(
    "PaddlePaddle/PARL examples/DQN/train.py",
    "a stamp at each test, by episodes",
    Holds.NONE,
    "it counts episodes alone",
)
def parl_dqn(loop: Loop) -> None:
    for episode in range(50, 2001, 50):
        for _ in range(50):
            loop.step(0.05)
        loop.pause(0.5)
        loop.print(
            f"\033[32m[{loop.time:%m-%d %H:%M:%S} MainThread @train.py:117]\033[0m episode:{episode}    e_greed:{0.1 - episode / 1e5}   Test reward:{loop.about(180)}"
        )


@script("google/flax examples/mnist/train.py", "absl's stamp at each epoch", Holds.NONE, "it counts epochs alone")
def flax_mnist(loop: Loop) -> None:
    for epoch in range(1, 11):
        for _ in range(468):
            loop.step(0.003, samples=128)
        loop.pause(0.3)
        loop.print(
            f"I{loop.time:%m%d %H:%M:%S}.{loop.time.microsecond:06d} 139862012 train.py:172] epoch:{epoch: 3d}, train_loss: {loop.loss(1):.4f}, "
            f"train_accuracy: 97.21, test_loss: {loop.loss(1):.4f}, test_accuracy: 97.91"
        )
