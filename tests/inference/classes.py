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


def bar(moments: list[Moment], text: str, total: int = 300, name: str = "") -> str:
    """States of a bar, each drawn over the last one; ``text``: what stands behind its clock."""
    return "".join(
        f"\r{name}{100 * m.step / total:3.0f}%|{'#' * (10 * m.step // total):<10}| {m.step}/{total} "
        f"[{_clock(m.total)}<{_clock(420 - m.total)}, {text.format(rate=1 / m.seconds, seconds=m.seconds, loss=m.loss)}]"
        for m in moments
    )


def buffered_bar() -> tuple[str, float]:
    """A trainer's bar first, its loss lines all behind it: standard output was buffered."""
    moments = list(steps(1, 300, seconds=1.4))
    losses = "".join(
        f"{{'loss': {m.loss:.4f}, 'learning_rate': 1e-05, 'epoch': {m.step / 100}}}\n" for m in moments[9::10]
    )
    return f"{bar(moments, '{seconds:.2f}s/it')}\n{losses}", per_step(moments)


def only_bar() -> tuple[str, float]:
    moments = list(steps(1, 300, seconds=1.4))
    return f"training on cuda\n{bar(moments, '{seconds:.2f}s/it, loss={loss:.3f}')}\ndone\n", per_step(moments)


def step_per_second_bar() -> tuple[str, float]:
    moments = list(steps(1, 300, seconds=1.4))
    return f"{bar(moments, '{rate:.2f}step/s, loss={loss:.3f}', name='Training: ')}\n", per_step(moments)


def _clock(seconds: float) -> str:
    seconds = max(seconds, 0)
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def elapsed_time() -> tuple[str, float]:
    return lines(50, lambda m: f"iteration {m.step} | train loss {m.loss:.4f} | elapsed {m.total:.1f}s")


def wps() -> tuple[str, float]:
    return lines(10, lambda m: f"Step: {m.step:>5} | Loss: {m.loss:.4f} | {TOKENS / m.mean / 1e3:.2f}K wps | MFU 31.0%")


def per_batch() -> tuple[str, float]:
    return lines(1, lambda m: f"train step {m.step}: loss {m.loss:.3f} ({m.seconds:.3f} sec/batch)")


def joined_unit() -> tuple[str, float]:
    moments = list(steps(1, 300, seconds=1.4))
    return f"training\n{bar(moments, '{rate:.2f}step/s')}\n", per_step(moments)


def excerpt() -> tuple[str, float]:
    return "Epoch 0:   1%|          | 795/77225 [9:07:58<878:01:48, 41.36s/it]\n", (9 * 3600 + 7 * 60 + 58) / 795


def bar_of_epochs() -> tuple[str, float]:
    moments = [m._replace(step=m.step // 10) for m in steps(10, 300)]
    return f"{bar(moments, '30.36s/epoch', 30, 'Training: ')}\n", 30.36


def padded_nan() -> tuple[str, float]:
    return lines(1, lambda m: f"step {m.step:5d} loss {'     nan' if m.step % 7 == 0 else f'{m.loss:8.4f}'} "
                 f"| {m.seconds * 1e3:.2f} ms/step")  # fmt: skip


def two_rates_of_one_line() -> tuple[str, float]:
    """A line of another program's form among those that measure."""
    return lines(20, lambda m: f"I0319 04:48:50.573053   364 solver.cpp:218] Iteration {m.step} ({1 / m.mean:.5f} iter/s, "
                 f"{20 * m.mean:.5f}s/20 iters), loss = {m.loss:.4f}\nspeed: {m.mean:.3f}s / iter")  # fmt: skip


def time_alone() -> tuple[str, float]:
    text = "".join(f"epoch {epoch}: 0:04:1{3 * epoch % 7}.419558\n" for epoch in range(1, 12))
    return f"train with 500 batches\n{text}", 255.0


def parts_without_unit() -> tuple[str, float]:
    return lines(100, lambda m: f"Epoch 0 Update {m.step} Cost {m.loss:.3f} PD {m.seconds / 3:.2f} UD {m.seconds:.2f}")


def key_value_rows() -> tuple[str, float]:
    rule = "-" * 35 + "\n"
    moments = list(steps(1, 120))
    text = "".join(
        f"{rule}| time/             |             |\n"
        + "".join(f"| {f'   {key}':<17} | {value:<11} |\n" for key, value in
                  (("iterations", m.step), ("time_elapsed", f"{m.total:.2f}"), ("total_timesteps", 2048 * m.step)))
        + f"| train/            |             |\n| {'   loss':<17} | {m.loss:<11.4f} |\n{rule}"
        for m in moments
    )  # fmt: skip
    return text, per_step(moments)


def one_in_ten() -> tuple[str, float]:
    moments = list(steps(1))
    text = "".join(f"step {m.step}: loss {m.loss:.4f}, time {m.seconds * 1e3:.2f} ms\n" for m in moments[9::10])
    return text, per_step(moments)


class Class(NamedTuple):
    """A class of logs: what makes one and tells the seconds of a step, the work of a step, and its unit; where a log
    leaves open what its numbers mean, the option that its reason names in place of a number.
    """

    make: Callable[[], tuple[str, float]]
    work: float = 1
    unit: str = "steps/s"
    option: str = ""


#: As the reference has them, in its order.
CLASSES: dict[str, Class] = {
    "a rate of samples, no stamp": Class(speed, BATCH, "samples/s"),
    "the same beside stamps and settings": Class(speed_stamped, BATCH, "samples/s"),
    "JSON lines": Class(json_lines),
    "CSV": Class(csv_rows, TOKENS, "tokens/s"),
    "a W&B history": Class(wandb_history, TOKENS / 8, "tokens/s/device"),
    "rate times time": Class(nanogpt_like, TOKENS, "tokens/s"),
    "rate times time at every step": Class(llama_like, TOKENS, "tokens/s"),
    "batches of epochs beside stamps": Class(batch_of_epoch),
    "times of intervals beside epochs": Class(timed_epochs),
    "a second form's line among others": Class(two_rates_of_one_line, option="--warmup 5records"),
    "It/sec, Tokens/sec, Trained Tokens": Class(mlx_like, 86.2, "tokens/s"),
    "the time of epochs alone": Class(time_alone, option="--set epoch_steps="),
    "times without a unit": Class(parts_without_unit, option="--as "),
    "one state of a bar": Class(excerpt, option="--estimator since_start"),
    "a bar before its loss lines": Class(buffered_bar),
    "the log's only bar, without a name": Class(only_bar),
    "a bar of epochs": Class(bar_of_epochs, option="--as bar="),
    "`step/s` on a bar": Class(step_per_second_bar),
    "`0.71step/s`": Class(joined_unit),
    "a loss of `nan`, padded": Class(padded_nan),
    "rows of `key | value`": Class(key_value_rows, 2048, "env_steps/s"),
    "one of ten steps with its own time": Class(one_in_ten, option="--as "),
    "elapsed time": Class(elapsed_time),
    "thousands of words": Class(wps, TOKENS, "words/s"),
    "a time of each step": Class(per_batch),
}
