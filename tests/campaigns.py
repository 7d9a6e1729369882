"""Campaigns of synthetic logs with known throughput, drift and noise, in the form NVIDIA's DLLogger prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np


def samples_of_a_step(log: Path) -> int:
    """Images that all devices train on in one step, as a log's path tells: 1n8g/rn50_b128_fp32_3.log → 1,024."""
    devices = re.search(r"(?:\d+n|gpu)(\d+)", str(log.relative_to(log.parents[1])))
    batch = re.search(r"_bs?(\d+)", log.name)
    assert devices and batch, log
    return int(devices[1]) * int(batch[1])


def write_run(log: Path, rates: Sequence[float], decimals: int = 2, hour: int = 0) -> None:
    """A log that prints these rates (images/s of the whole job), one a step, each at the moment its step is done.

    ``hour``: of its beginning, from the first of all on.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    line = "DLL {:%Y-%m-%d %H:%M:%S.%f} - Epoch: 0 Iteration: {}  train.loss : 7.1  train.total_ips : {:.{}f} images/s"
    done = datetime(2026, 11, 21, 10) + timedelta(hours=hour)
    samples, lines = samples_of_a_step(log), []
    for step, rate in enumerate(rates):
        done += timedelta(seconds=samples / rate)
        lines.append(line.format(done, step, rate, decimals))
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_campaign(
    folder: Path, cases: dict[str, float], runs: int = 5, spread: float = 0.002, seed: int = 0, steps: int = 120, decimals: int = 2, turn: int | None = None,
    shape: Callable[[np.ndarray[tuple[int], np.dtype[np.float64]]], np.ndarray[tuple[int], np.dtype[np.float64]]] = lambda rates: rates,
) -> Path:  # fmt: skip
    """Logs ``folder/1n8g/rn50_b128_fp32_3.log`` of each case (``1n8g/rn50_b128_fp32``: its rate); runs differ by ``spread``.

    ``turn``: 0 and 1 are the sides of a measurement in turn, a run an hour; without it all runs begin at one time.
    """
    random = np.random.default_rng(seed)
    for name, rate in cases.items():
        for run in range(1, runs + 1):
            level = rate * np.exp(spread * random.standard_normal())
            write_run(
                folder / f"{name}_{run}.log",
                shape(level * np.exp(0.01 * random.standard_normal(steps))).tolist(),
                decimals,
                hour=0 if turn is None else 2 * run + turn,
            )
    return folder
