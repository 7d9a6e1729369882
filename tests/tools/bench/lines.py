"""The lines the benchmark logs are made of: records of two formats, and the other lines between them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import count

#: A text that occurs once in every record line and in no other line.
RECORD_MARKS = {"paddle": "batch_cost: ", "ngc": "train.total_ips : "}

OTHER_LINES = (
    "W0802 20:45:39.231544 17493 gpu_resources.cc:61] Please NOTE: device: 0, GPU Compute Capability: 7.0\n",
    "/usr/local/lib/python3.7/site-packages/paddle/nn/layer/norm.py:712: UserWarning: When training, we now always track global mean and variance.\n",
    "v100-07:17493:17611 [0] NCCL INFO Channel 00/02 :    0   1   2   3   4   5   6   7\n",
    "[2023-08-02 20:45:40,118] [ WARNING] topology.py:276 - the sampler was not given a seed for this worker\n",
    "Corrupt JPEG data: 12 extraneous bytes before marker 0xd9\n",
    "  warnings.warn('The `size` argument is deprecated and will be removed, use `resize_short` instead')\n",
    "libpng warning: iCCP: known incorrect sRGB profile\n",
)


def paddle_records(rng: random.Random, batch_size: int) -> Iterator[str]:
    """PaddleClas training lines of one epoch; ``batch_cost`` is the mean since the epoch began, as it prints."""
    pool, days, clock = _pool(), _days(), _clock()
    shift = rng.randrange(1_000_000)
    total = 10 * 0.5  # the first ten steps are slow, as they are on a real machine
    for n in count():
        step = 10 * (n + 1)
        mean = total / step
        day, second = divmod(int(total) + 74_746, 86_400)
        yield (
            f"[{days[day]} {clock[second]}] ppcls INFO: epoch:0   train step:{step}   "
            f"{pool.metrics[(n + shift) % 1021]} batch_cost: {mean:.5f} s, "
            f"{pool.readers[(n + shift) % 509]}, ips: {batch_size / mean:.5f} samples/sec.\n"
        )
        total += 10 * pool.step_times[(n + shift) % 4093]


def ngc_records(rng: random.Random, global_batch_size: int) -> Iterator[str]:
    """NGC PyTorch DLLogger lines, one per iteration, with the rate of that iteration over all devices."""
    pool, clock = _pool(), _clock()
    shift = rng.randrange(1_000_000)
    elapsed = 23_863.0
    for n in count():
        step_time = pool.step_times[(n + shift) % 4093]
        elapsed += step_time
        second = int(elapsed)
        yield (
            f"DLL 2021-03-29 {clock[second]}.{int((elapsed - second) * 1e6):06} - Epoch: 0 Iteration: {n + 1}"
            f"  train.loss : {pool.losses[(n + shift) % 1021]}"
            f"  train.total_ips : {global_batch_size / step_time:.2f} img/s\n"
        )


def mixed(records: Iterator[str], matching: int, out_of: int, others: Sequence[str] = OTHER_LINES) -> Iterator[str]:
    """``matching`` records, then ``out_of - matching`` other lines, without end."""
    kinds = len(others)
    for n in count():
        yield next(records) if n % out_of < matching else others[(n // 10 + n) % kinds]


@dataclass(frozen=True, slots=True)
class Pool:
    """Texts and times drawn once and used in turn: drawing them for every line would take most of the time."""

    step_times: list[float]
    metrics: list[str]
    readers: list[str]
    losses: list[str]


@cache
def _pool() -> Pool:
    """Step times have a narrow spread and a slow tail. The lengths are prime, so the texts seldom meet again."""
    rng = random.Random("perflog")
    return Pool(
        [0.28 * rng.lognormvariate(0, 0.02) * (1.5 if rng.random() < 0.01 else 1) for _ in range(4093)],
        [
            f"lr: 0.100000, loss: {rng.uniform(5, 9):7.4f} top1: {rng.uniform(0, 0.9):7.4f} top5: {rng.uniform(-0.01, 1):7.4f}"
            for _ in range(1021)
        ],
        [f"reader_cost: {rng.uniform(0.0004, 0.009):.5f} s" for _ in range(509)],
        [f"{rng.uniform(5, 8):.5f}" for _ in range(1021)],
    )


@cache
def _days() -> list[str]:
    """Enough dates for a log of fifty gigabytes, whose run lasts some 8,500 days."""
    return [f"{date(2023, 8, 2) + timedelta(days=n):%Y/%m/%d}" for n in range(10_000)]


@cache
def _clock() -> list[str]:
    """Every second of a day as HH:MM:SS: looking one up is faster than formatting it."""
    return [f"{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}" for n in range(86_400)]
