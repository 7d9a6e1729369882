"""Scripts that train by acting: the steps that they print are those of an environment."""

from __future__ import annotations

from tests.tools.scripts.loop import Holds, Loop, script


@script(
    "facebookresearch/torchbeast torchbeast/monobeast.py",
    "every five seconds, steps of the environment a second since the line before, beside a stamp",
    Holds.TWO,
    "the counter over the stamps is the rate",
    unit="samples",
)
def torchbeast(loop: Loop) -> None:
    def say(text: str, line: int = 485) -> None:
        loop.print(f"[INFO:4183 monobeast:{line} {loop.stamp}] {text}")

    say("Using CUDA.", 348)
    seen, before, since = 0, 0, loop.now
    while seen < 3_000_000:
        loop.step(0.16, samples=80 * 8, steps=80 * 8)
        seen += 80 * 8
        if loop.now - since >= 5:
            rate = (seen - before) / (loop.now - since)
            before, since = seen, loop.now
            loss = loop.loss(40)
            say(
                f"Steps {seen} @ {rate:.1f} SPS. Loss {loss:.6f}. Stats:\n{{'baseline_loss': {loss / 2},\n "
                f"'entropy_loss': -10.9,\n 'episode_returns': (),\n 'pg_loss': {loss / 3},\n 'step': {seen},\n "
                f"'total_loss': {loss}}}"
            )
    say(f"Learning finished after {seen} steps.", 502)


@script(
    "alex-petrenko/sample-factory sample_factory/algo/runners/runner.py",
    "every five seconds, frames a second over three windows, and all frames, beside a stamp",
    Holds.TWO,
    "the counter over the stamps is the rate of the longest window",
    unit="samples",
)
def sample_factory(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"[{loop.stamp}][02141] {text}")

    def rate(ago: int) -> float:
        (then, before), (now, frames) = reported[max(0, len(reported) - 1 - ago)], reported[-1]
        return (frames - before) / (now - then)

    say("Starting all processes...")
    frames, reported = 0, [(loop.now, 0)]
    while frames < 8_000_000:
        loop.step(0.17, samples=4096, steps=4096)
        frames += 4096
        if loop.now - reported[-1][0] >= 5:
            reported.append((loop.now, frames))
            windows = ", ".join(f"{seconds} sec: {rate(seconds // 5):.1f}" for seconds in (10, 60, 300))
            say(
                f"Fps is ({windows}). Total num frames: {frames}. Throughput: 0: {rate(2) / 4:.1f}. Samples: {frames // 4}. "
                "Policy #0 lag: (min: 0.0, avg: 1.8, max: 4.0)"
            )
            say(f"Avg episode reward: [(0, '{loop.about(21):.3f}')]")


@script(
    "ShangtongZhang/DeepRL deep_rl/utils/misc.py, deep_rl/utils/logger.py",
    "every 1000th step of the environment, steps a second since the line before, beside a stamp; episodes between",
    Holds.TWO,
    "the stamps and the rate",
)
def deep_rl(loop: Loop) -> None:
    def say(text: str) -> None:
        loop.print(f"{loop.stamp} - root - INFO: {text}")

    since = loop.now
    for step in range(30_001):
        if step % 1000 == 0:
            say(f"steps {step}, {1000 / max(loop.now - since, 1e-5):.2f} steps/s")
            since = loop.now
        if step % 227 == 0:
            say(f"steps {step}, episodic_return_train {loop.about(180)}")
        loop.step(0.004)


@script(
    "Kaixhin/Rainbow main.py",
    "every 10,000th step (100,000 in the program) with a stamp, a test before it",
    Holds.OPTION,
    "each interval holds a test, of which no line tells the time",
)
def rainbow(loop: Loop) -> None:
    loop.print(" " * 26 + "Options\n" + " " * 26 + "batch_size: 32\n" + " " * 26 + "T_max: 50000000")
    for step in range(1, 60_001):
        loop.step(0.012)
        if step % 10_000 == 0:
            loop.pause(30.0)
            loop.print(
                f"[{loop.time:%Y-%m-%dT%H:%M:%S}] T = {step} / 50000000 | Avg. reward: {loop.about(300)} | Avg. Q: {loop.about(2)}"
            )


@script(
    "google-deepmind/acme acme/utils/loggers/terminal.py, acme/utils/counting.py",
    "about every second, the learner's steps and the seconds that they took since the start",
    Holds.ONE,
    "the time of the learner's steps since the start, and their counter",
)
def acme(loop: Loop) -> None:
    spent, printed, step = 0.0, loop.now, 0
    while loop.elapsed < 300:
        spent += loop.step(0.021, samples=256).total
        step += 1
        if loop.now - printed >= 1:
            printed = loop.now
            loop.print(
                f"[Learner] Critic Loss = {loop.loss(1):0.3f} | Learner Steps = {step} | Learner Walltime = {spent:0.3f} | Steps = {step} | Walltime = {spent:0.3f}"
            )
        if step % 400 == 0:
            rate = loop.about(940, 0.02)
            loop.print(
                f"[Actor] Actor Episodes = {step // 400} | Actor Steps = {step * 20} | Episode Length = 1000 | Episode Return = 312.400 | Steps Per Second = {rate:0.3f}"
            )


@script(
    "nikhilbarhate99/PPO-PyTorch train.py",
    "every 10,000th step of the environment without a time; the whole seconds since the start at each save, and in all",
    Holds.OPTION,
    "the time of a save is of no printed step",
)
def ppo_pytorch(loop: Loop) -> None:
    loop.print("=" * 92 + "\ntraining environment name : CartPole-v1\nmax training timesteps :  100000")
    began = loop.time.replace(microsecond=0)
    loop.print(f"Started training at (GMT) :  {began}\n" + "=" * 92)
    for step in range(1, 100_001):
        loop.step(0.0009)
        if step % 10_000 == 0:
            loop.print(f"Episode : {step // 90} \t\t Timestep : {step} \t\t Average Reward : {loop.about(180):.2f}")
        if step % 20_000 == 0:
            loop.print("-" * 92 + "\nsaving model at : PPO_preTrained/CartPole-v1/PPO_CartPole-v1_0_0.pth\nmodel saved")
            loop.print(f"Elapsed Time  :  {loop.time.replace(microsecond=0) - began}\n" + "-" * 92)
    ended = loop.time.replace(microsecond=0)
    loop.print(
        "=" * 92
        + f"\nStarted training at (GMT) :  {began}\nFinished training at (GMT) :  {ended}\nTotal training time  :  {ended - began}"
    )
