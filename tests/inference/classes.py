"""Logs of the classes that `reference/any-log.md` lists as failed, made with a known clock."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

BATCH, STEPS, TOKENS = 128, 600, 32_768


class Moment(NamedTuple):
    """A step as its loop knows it: ``seconds`` of it, ``mean`` of the steps since the last print, ``total`` so far."""

    step: int
    seconds: float
    mean: float
    total: float
    now: datetime
    loss: float


def steps(every: int = 1, count: int = STEPS, seed: int = 3, seconds: float = 0.2) -> Iterator[Moment]:
    """The printed steps of a training: 3 % of noise, a slow beginning."""
    rng = random.Random(seed)
    now, total, since = datetime(2026, 5, 4, 10, 0, 0), 0.0, 0.0
    for step in range(1, count + 1):
        took = seconds * rng.gauss(1, 0.03) * (3 if step <= 3 else 1)
        now, total, since = now + timedelta(seconds=took), total + took, since + took
        if step % every == 0:
            yield Moment(step, took, since / every, total, now, 6 / step**0.5)
            since = 0.0


def per_step(moments: list[Moment], skip: int = 20) -> float:
    """Seconds a step behind the first ``skip`` steps."""
    first = next(m for m in moments if m.step >= skip)
    return (moments[-1].total - first.total) / (moments[-1].step - first.step)


def lines(every: int, text: Callable[[Moment], str], **options: float) -> tuple[str, float]:
    """(a log, the seconds of a step)."""
    moments = list(steps(every, **options))  # type: ignore[arg-type]
    return "".join(text(m) + "\n" for m in moments), per_step(moments)


def speed() -> tuple[str, float]:
    return lines(
        10, lambda m: f"Epoch 1 Step {m.step}/600 loss {m.loss:.3f} lr 0.1 speed {BATCH / m.mean:.1f} samples/s"
    )


def speed_stamped() -> tuple[str, float]:
    text, took = lines(10, lambda m: f"{m.now:%Y-%m-%d %H:%M:%S},{m.now.microsecond // 1000:03d} INFO Epoch 1 Step {m.step}/600 "
                       f"loss {m.loss:.3f} lr 0.1 speed {BATCH / m.mean:.1f} samples/s")  # fmt: skip
    return "batch_size=32 num_gpus=4\n" + text, took


def json_lines() -> tuple[str, float]:
    return lines(1, lambda m: f'{{"step": {m.step}, "loss": {m.loss:.3f}, "throughput": {BATCH / m.seconds:.1f}, '
                 f'"step_time": {m.seconds:.4f}}}')  # fmt: skip


def csv_rows() -> tuple[str, float]:
    text, took = lines(10, lambda m: f"{m.step},{m.loss:.4f},{TOKENS / m.mean:.1f}")
    return "step,loss,tokens_per_sec\n" + text, took


def wandb_history() -> tuple[str, float]:
    return lines(1, lambda m: f'{{"_step": {m.step}, "_runtime": {m.total:.6f}, "train/loss": {m.loss:.4f}, '
                 f'"perf/tokens_per_second_per_gpu": {TOKENS / 8 / m.seconds:.2f}}}')  # fmt: skip


def nanogpt_like() -> tuple[str, float]:
    return lines(20, lambda m: f"step {m.step}: loss={m.loss:.2f} time={m.seconds * 1e3:.1f}ms "
                 f"tok/s={TOKENS / m.seconds:.0f} mfu=41.2%")  # fmt: skip


def llama_like() -> tuple[str, float]:
    return lines(1, lambda m: f"Step {m.step}/10100 | Loss {m.loss:.5f} | Norm 1.0312 | LR 3.0e-04 | "
                 f"Total Step Time: {m.seconds * 1e3:.2f}ms | Tokens/sec: {TOKENS / m.seconds:.2f}")  # fmt: skip


def batch_of_epoch() -> tuple[str, float]:
    def text(m: Moment) -> str:
        batch, epoch = (m.step - 1) % 152 + 1, (m.step - 1) // 152 + 1
        return f"{m.now:%Y-%m-%d %H:%M:%S} [batch {batch}/152, epoch {epoch}/15]: loss {m.loss:.4f}"

    text_, took = lines(1, text)
    return text_, took


def timed_epochs() -> tuple[str, float]:
    """Bars beside lines of another loop."""
    parts, moments = [], list(steps(20))
    for m in moments:
        step, epoch = (m.step - 1) % 200 + 1, (m.step - 1) // 200 + 1
        parts.append(
            f"\titers: {step}, epoch: {epoch} | loss: {m.loss:.7f}\n\tspeed: {m.mean:.4f}s/iter; left time: {99.0:.4f}s\n"
        )
        if step == 200:
            parts.append(f"Epoch: {epoch} cost time: {m.mean * 200}\n")
    return "".join(parts), per_step(moments)


def mlx_like() -> tuple[str, float]:
    moments = list(steps(10))
    tokens, parts = 0, []
    for m in moments:
        tokens += 862
        parts.append(f"Iter {m.step}: Train loss {m.loss:.3f}, Learning Rate 1.000e-05, It/sec {1 / m.mean:.3f}, "
                     f"Tokens/sec {86.2 / m.mean:.3f}, Trained Tokens {tokens}, Peak mem 5.2 GB\n")  # fmt: skip
    return "".join(parts), per_step(moments)


def buffered_bar() -> tuple[str, float]:
    """A trainer's bar first, its loss lines all behind it: standard output was buffered."""
    moments = list(steps(1, 300, seconds=1.4))
    bar = "".join(f"\r{m.step / 3:3.0f}%|{'#' * (m.step // 30):<10}| {m.step}/300 [{_clock(m.total)}<{_clock(420 - m.total)}, "
                  f"{m.seconds:.2f}s/it]" for m in moments)  # fmt: skip
    losses = "".join(
        f"{{'loss': {m.loss:.4f}, 'learning_rate': 1e-05, 'epoch': {m.step / 100}}}\n" for m in moments[9::10]
    )
    return f"{bar}\n{losses}", per_step(moments)


def only_bar() -> tuple[str, float]:
    moments = list(steps(1, 300, seconds=1.4))
    bar = "".join(f"\r{m.step / 3:3.0f}%|{'#' * (m.step // 30):<10}| {m.step}/300 [{_clock(m.total)}<{_clock(420 - m.total)}, "
                  f"{m.seconds:.2f}s/it, loss={m.loss:.3f}]" for m in moments)  # fmt: skip
    return f"training on cuda\n{bar}\ndone\n", per_step(moments)


def step_per_second_bar() -> tuple[str, float]:
    moments = list(steps(1, 300, seconds=1.4))
    bar = "".join(f"\rTraining: {m.step / 3:3.0f}%|{'#' * (m.step // 30):<10}| {m.step}/300 [{_clock(m.total)}<{_clock(420 - m.total)}, "
                  f"{1 / m.seconds:.2f}step/s, loss={m.loss:.3f}]" for m in moments)  # fmt: skip
    return f"{bar}\n", per_step(moments)


def _clock(seconds: float) -> str:
    seconds = max(seconds, 0)
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def elapsed_time() -> tuple[str, float]:
    return lines(50, lambda m: f"iteration {m.step} | train loss {m.loss:.4f} | elapsed {m.total:.1f}s")


def wps() -> tuple[str, float]:
    return lines(10, lambda m: f"Step: {m.step:>5} | Loss: {m.loss:.4f} | {TOKENS / m.mean / 1e3:.2f}K wps | MFU 31.0%")


def per_batch() -> tuple[str, float]:
    return lines(1, lambda m: f"train step {m.step}: loss {m.loss:.3f} ({m.seconds:.3f} sec/batch)")


READ: dict[str, tuple[Callable[[], tuple[str, float]], float, str]] = {
    "speed without a stamp": (speed, BATCH, "samples/s"),
    "speed beside stamps": (speed_stamped, BATCH, "samples/s"),
    "JSON lines": (json_lines, 1, "steps/s"),
    "CSV": (csv_rows, TOKENS, "tokens/s"),
    "a W&B history": (wandb_history, TOKENS / 8, "tokens/s/device"),
    "rate times time": (nanogpt_like, TOKENS, "tokens/s"),
    "rate times time, every step": (llama_like, TOKENS, "tokens/s"),
    "batches of epochs beside stamps": (batch_of_epoch, 1, "steps/s"),
    "It/sec and Tokens/sec": (mlx_like, 86.2, "tokens/s"),
    "a bar before its loss lines": (buffered_bar, 1, "steps/s"),
    "the only bar": (only_bar, 1, "steps/s"),
    "step/s on a bar": (step_per_second_bar, 1, "steps/s"),
    "elapsed time": (elapsed_time, 1, "steps/s"),
    "thousands of words": (wps, TOKENS, "words/s"),
    "a time of each step": (per_batch, 1, "steps/s"),
}
