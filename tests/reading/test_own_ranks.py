"""Ranks that a program itself puts before its lines (NVIDIA's GNMT: ``0: TRAIN [0][10/282]``), from known times."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import extracted

RATE, SECONDS = 25_000, 0.4
TAGS: dict[str, Callable[[int], str]] = {
    "console": "{}: ".format, "file": "2021-05-26 07:21:37 - INFO - {} - ".format, "padded": "{:>2}: ".format,
}  # fmt: skip


def log(path: Path, ranks: int, others: float, tag: Callable[[int], str], steps: int = 200) -> Path:
    """All ranks' lines in a random order within a step, and for each so many lines of something else, untagged."""
    rng = random.Random(ranks)
    lines = []
    for step in range(steps):
        for rank in rng.sample(range(ranks), ranks):
            lines.append(
                f"{tag(rank)}TRAIN [0][{step}/282]\tTime {SECONDS * (1 + 0.01 * rank):.3f} ({SECONDS:.3f})\t"
                f"Data 2.12e-04 (3.47e-04)\tTok/s {RATE / (1 + 0.01 * rank):.0f} ({RATE})\tLoss/tok 4.1287 (4.4120)\t"
                f"LR 2.000e-03"
            )
            lines += [f":::MLPv0.5.0 gnmt {step} something else"] * (rng.random() < others)
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("others", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_no_share_of_lines_decides_whose_a_line_is(tmp_path: Path, ranks: int, others: float, tag: str) -> None:
    (made,) = extracted(log(tmp_path / "train.log", ranks, others, TAGS[tag]), set={"devices": str(ranks)}).runs
    assert made.throughput.value == pytest.approx(ranks * RATE / (1 + 0.01 * (ranks - 1)), rel=0.001)


def test_a_rank_that_prints_among_several_is_one(tmp_path: Path) -> None:
    (made,) = extracted(log(tmp_path / "train.log", 1, 1.0, TAGS["console"]), set={"devices": "8"}).runs
    assert made.throughput.value == pytest.approx(8 * RATE, rel=0.001)


def test_eight_ranks_tell_their_number(tmp_path: Path) -> None:
    (made,) = extracted(log(tmp_path / "train.log", 8, 1.0, TAGS["console"])).runs
    assert made.values["devices"] == 8
    assert made.throughput.value == pytest.approx(8 * RATE / 1.07, rel=0.001)
