"""Two programs of one format whose lines are woven into one log: no number has one's rate and the other's batch."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

from perflog.runs.run import Run
from tests.support import FIXTURES, extracted

#: Of each format, logs with lines of different shapes; not all say their batch.
SHAPES = {
    "deepspeed": ("domino", "every10", "pipe", "pipeline"),
    "mindspore_fps": ("cspdarknet53", "face_recognition", "yolov5"),
    "east": ("pytorch", "tensorflow"),
    "torchvision_metriclogger": ("classification", "dinov2", "mae"),
}
PAIRS = [(name, *pair) for name, logs in SHAPES.items() for pair in permutations(logs, 2)]
#: A number of a part of a log, from its first step on, is that of the whole within so much.
WITHIN = 0.35


def in_the_middle(inner: str, outer: str) -> str:
    """One log in the middle of another."""
    lines = outer.splitlines(keepends=True)
    half = len(lines) // 2
    return "".join([*lines[:half], inner, *lines[half:]])


def in_blocks(one: str, other: str, block: int = 4096) -> str:
    """Blocks of both in turn, as two processes write them that share a file."""
    longest = max(len(one), len(other))
    return "".join(text[at : at + block] for at in range(0, longest, block) for text in (one, other))


def runs_of(log: Path) -> list[Run]:
    return [run for case in extracted(log, warmup=0).cases for run in case.runs]


@cache
def truths_of(log: Path) -> list[tuple[str, float | None]]:
    return [(run.throughput.unit, run.throughput.value) for run in runs_of(log)]


@pytest.mark.parametrize("join", [in_the_middle, in_blocks])
@pytest.mark.parametrize(("name", "inner", "outer"), PAIRS)
def test_no_number_has_the_rate_of_one_and_the_batch_of_another(
    name: str, inner: str, outer: str, join: object, tmp_path: Path
) -> None:
    logs = [FIXTURES / "parsers" / name / f"{log}.log" for log in (inner, outer)]
    truths = [truth for log in logs for truth in truths_of(log)]
    (mixed := tmp_path / "mixed.log").write_text(join(*(log.read_text() for log in logs)))  # type: ignore[operator]
    for run in runs_of(mixed):
        unit, value = run.throughput.unit, run.throughput.value
        near = [truth for of, truth in truths if truth and of == unit and value and abs(value / truth - 1) < WITHIN]
        assert value is None or near, (value, unit, truths)
