"""Logs of progress bars and dictionaries, as tqdm, Keras, Ultralytics and the Trainer of transformers write them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count

BLOCKS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class Family:
    """Who writes the log's pieces, and the lean script's regex for the rate or the time in them."""

    pieces: Callable[[random.Random], Iterator[str]]
    regex: str
    warmup: str = "100"


def bar(done: int, total: int, elapsed: float, rate: float, postfix: str = "") -> str:
    """A bar as tqdm's ``format_meter`` draws it into a file: ten characters wide."""
    eighths = int(80 * done / total)
    drawn = ("█" * (eighths // 8) + (BLOCKS[eighths % 8] if eighths % 8 else "")).ljust(10)
    speed = f"{rate:5.2f}it/s" if rate >= 1 else f"{1 / rate:5.2f}s/it"
    left = f"{_interval(elapsed)}<{_interval((total - done) / rate)}"
    return f"{100 * done / total:3.0f}%|{drawn}| {done}/{total} [{left}, {speed}{postfix}]"


def _interval(seconds: float) -> str:
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes:02}:{left:02}"


def _times(rng: random.Random) -> Iterator[float]:
    """The time at the end of each step: about four a second."""
    elapsed = 0.0
    while True:
        elapsed += 0.25 * rng.lognormvariate(0, 0.03)
        yield elapsed


def tqdm_pieces(rng: random.Random) -> Iterator[str]:
    """One bar that is drawn at every step, with a loss behind it."""
    for step, elapsed in enumerate(_times(rng), 1):
        postfix = f", loss={rng.uniform(1, 3):.3f}"
        yield "\rTraining: " + bar(step, 100_000, elapsed, step / elapsed, postfix)


def keras_pieces(rng: random.Random) -> Iterator[str]:
    """Epochs of 300 steps as ``fit`` prints them into a file: a line a refresh, and one of the whole epoch."""
    steps = 300
    for epoch in count(1):
        yield f"Epoch {epoch}/1000\n"
        for step in range(1, steps + 1, 5):
            filled = max(1, 30 * step // steps)
            drawn = "=" * (filled - 1) + ">" + "." * (30 - filled)
            loss = f"loss: {rng.uniform(1, 3):.4f} - accuracy: {rng.uniform(0, 1):.4f}"
            yield f"{step:3}/{steps} [{drawn}] - ETA: {(steps - step) // 40}s - {loss}\n"
        time = rng.uniform(24, 26)
        yield f"{steps}/{steps} [{'=' * 30}] - {steps * time / 1e3:.0f}s {time:.0f}ms/step - {loss}\n"


def ultralytics_pieces(rng: random.Random) -> Iterator[str]:
    """Epochs of 60 batches with a bar each, and the bar of the validation."""
    for epoch in count(1):
        yield "\n      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
        times = _times(rng)
        for batch in range(1, 61):
            losses = "".join(f"{rng.uniform(1, 3):11.4g}" for _ in range(3))
            elapsed = next(times)
            drawn = bar(batch, 60, elapsed, batch / elapsed)
            yield f"\r{f'{epoch}/1000':>11}{'4.78G':>11}{losses}{rng.randrange(20, 99):11}{640:11}: {drawn}"
        yield f"\n{'Class     Images  Instances      Box(P          R      mAP50  mAP50-95)':>90}: {bar(4, 4, 0.8, 5.1)}\n"


def trainer_pieces(rng: random.Random) -> Iterator[str]:
    """A bar of all steps, and a dictionary each ten of them."""
    total = 20_000
    yield "***** Running training *****\n  Total train batch size (w. parallel, distributed & accumulation) = 64\n"
    for step, elapsed in enumerate(_times(rng), 1):
        yield "\r" + bar(step, total, elapsed, step / elapsed)
        if step % 10 == 0:
            yield f"\n{{'loss': {rng.uniform(1, 3):.4f}, 'grad_norm': {rng.uniform(0, 9):.6f}, "
            yield f"'learning_rate': {5e-5 * (1 - step / total)!r}, 'epoch': {step / 2000:.2f}}}\n"


#: By the name of their folders.
FAMILIES: Mapping[str, Family] = {
    "tqdm": Family(tqdm_pieces, r"([0-9.]+)it/s"),
    "keras": Family(keras_pieces, r"([0-9]+)ms/step", "1records"),
    "ultralytics": Family(ultralytics_pieces, r"([0-9.]+)it/s", "1records"),
    "trainer": Family(trainer_pieces, r"([0-9.]+)it/s"),
}
