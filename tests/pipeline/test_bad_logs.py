"""Ten thousand generated bad logs: never a traceback, never a wrong number."""

from __future__ import annotations

import math
import os
import random
import re
import tempfile
from functools import cache, lru_cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perflog.runs.run import Run
from tests.support import FIXTURES, arguments, extracted, parser_fixtures

#: How many logs each property tries: eight properties times 1,250 are the 10,000 of `make fuzz`.
EXAMPLES = int(os.environ.get("PERFLOG_BAD_LOGS", "400"))
EACH = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)

Log = tuple[str, bytes, tuple[tuple[str, str], ...]]
SEED_LOGS: dict[str, tuple[tuple[str, str], ...]] = {
    "seed000/pytorch_gpu1_amp_bs2.txt": (),
    "seed001/GPUx8_time2train_ips-bs8.log": (),
    "seed002/mxnet_gpu1_gpu8_fp32_bs128.txt": (),
    "seed004/logs_fp32/mindspore/resnet50/bz128/1n1g/rn50_b128_fp32_1.log": (("--set", "devices=1"),),
}


@lru_cache(maxsize=1)
def logs() -> list[Log]:
    """(name, bytes, options) of every fixture that has a throughput."""
    found: list[Log] = [(name, (FIXTURES / name).read_bytes(), options) for name, options in SEED_LOGS.items()]
    for name, log, side in parser_fixtures():
        if "throughput" in side["expect"] and log.suffix not in (".gz", ".zip", ".zst"):
            texts = side.get("options", [])
            found.append((f"{name}/{log.name}", log.read_bytes(), tuple(zip(texts[::2], texts[1::2], strict=True))))
    return found


@cache
def original(name: str) -> tuple[float, ...]:
    log = next(entry for entry in logs() if entry[0] == name)
    return tuple(run.throughput.value for run in read(log, log[1]) if run.throughput.value is not None)


def read(log: Log, data: bytes) -> list[Run]:
    """Extract from ``data`` as if it were the fixture; what the log's own values need is given as options."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / Path(log[0]).name
        file.write_bytes(data)
        extraction = extracted(file, **arguments([text for pair in log[2] for text in pair]))
    for run in extraction.runs:
        metric = run.throughput
        assert (metric.value is None) == bool(metric.reason), metric
        assert metric.value is None or (math.isfinite(metric.value) and metric.value > 0)
    return extraction.runs


def same_or_refused(log: Log, runs: list[Run]) -> None:
    for run in runs:
        value = run.throughput.value
        assert value is None or any(value == pytest.approx(wanted, rel=1e-9) for wanted in original(log[0])), (
            log[0],
            value,
            original(log[0]),
            run.notes,
        )


class Case(tuple[str, bytes, tuple[tuple[str, str], ...]]):
    """A log that a failing test shows by its name alone."""

    def __repr__(self) -> str:
        return str(self[0])


picked = st.deferred(lambda: st.sampled_from([Case(log) for log in logs()]))
rngs = st.integers(0, 2**32).map(random.Random)


@EACH
@given(log=picked, share=st.floats(0, 1))
def test_cut_anywhere(log: Log, share: float) -> None:
    """A cut log has the numbers of whole lines: a half number in the last line is not taken for a number."""
    at = int(len(log[1]) * share)
    whole = log[1][: log[1].rfind(b"\n", 0, at) + 1]
    cut, clean = read(log, log[1][:at]), read(log, whole)
    for run, same in zip(cut, clean, strict=False):
        mine, theirs = run.throughput.value, same.throughput.value
        if mine is not None and theirs is not None and run.throughput.used == same.throughput.used:
            assert mine == pytest.approx(theirs, rel=1e-9)


@EACH
@given(log=picked, rng=rngs, count=st.integers(1, 200))
def test_bytes_flipped(log: Log, rng: random.Random, count: int) -> None:
    data = bytearray(log[1])
    for _ in range(count):
        data[rng.randrange(len(data))] = rng.randrange(256)
    read(log, bytes(data))


@EACH
@given(log=picked, rng=rngs)
def test_lines_shuffled(log: Log, rng: random.Random) -> None:
    lines = log[1].splitlines(keepends=True)
    rng.shuffle(lines)
    read(log, b"".join(lines))


@EACH
@given(log=picked, rng=rngs, share=st.floats(0.02, 0.5))
def test_lines_dropped(log: Log, rng: random.Random, share: float) -> None:
    lines = log[1].splitlines(keepends=True)
    read(log, b"".join(line for line in lines if rng.random() > share))


@EACH
@given(log=picked, rng=rngs, every=st.booleans())
def test_doubled_events_change_no_number(log: Log, rng: random.Random, every: bool) -> None:
    lines = log[1].splitlines(keepends=True)
    same_or_refused(log, read(log, b"".join(line * (2 if every or rng.random() < 0.3 else 1) for line in lines)))


@EACH
@given(log=picked, other=picked, share=st.floats(0.05, 1))
def test_two_logs_joined(log: Log, other: Log, share: float) -> None:
    """A log with (a part of) another, or of itself, behind it: each run's own number, or none."""
    second = other[1][: other[1].rfind(b"\n", 0, int(len(other[1]) * share)) + 1]
    runs = read(log, log[1] + second)
    if log[0] == other[0] and share == 1 and not any("no step numbers" in note for run in runs for note in run.notes):
        same_or_refused(log, runs)


_NUMBER = re.compile(rb"[0-9]+\.[0-9]+")


@EACH
@given(log=picked, rng=rngs)
def test_an_interleaved_rank_changes_no_number(log: Log, rng: random.Random) -> None:
    """Untagged lines of a second rank, with other times, between those of the first."""

    def other_rank(line: bytes) -> bytes:
        return _NUMBER.sub(lambda m: b"%.*f" % (len(m[0].split(b".")[1]), float(m[0]) * 1.03 + 0.01), line)

    lines = log[1].splitlines(keepends=True)
    mixed = [part for line in lines for part in rng.sample([line, other_rank(line)], 2)]
    for run in read(log, b"".join(mixed)):
        value = run.throughput.value
        assert (
            value is None or any(value == pytest.approx(wanted, rel=1e-9) for wanted in original(log[0])) or run.notes
        ), (
            log[0],
            value,
            original(log[0]),
        )


@EACH
@given(log=picked, rng=rngs)
def test_tagged_ranks_interleaved_change_no_number(log: Log, rng: random.Random) -> None:
    """Two ranks' equal lines under mpirun's tags, in any interleaving that keeps each rank's order."""
    if b"]<std" in log[1] or b"]:" in log[1]:
        return
    first, second = (iter(log[1].splitlines(keepends=True)) for _ in range(2))
    out: list[bytes] = []
    turns = [0, 1] * len(log[1].splitlines())
    rng.shuffle(turns)
    for turn in turns:
        out.append(b"[1,%d]<stdout>:" % turn + next(second if turn else first))
    same_or_refused(log, read(log, b"".join(out)))


@pytest.mark.parametrize(
    "name",
    ["seed001/GPUx8_time2train_ips-bs8.log", "seed004/logs_fp32/mindspore/resnet50/bz128/1n1g/rn50_b128_fp32_1.log"],
)
def test_missing_lines_leave_a_note(name: str) -> None:
    log = next(entry for entry in logs() if entry[0] == name)
    lines = log[1].splitlines(keepends=True)
    (run,) = read(log, b"".join(lines[:24] + lines[30:]))
    assert any("missing" in note for note in run.notes)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "seed004/logs_fp32/mindspore/resnet50/bz128/1n1g/rn50_b128_fp32_1.log",
            "seed004/logs_fp32/mindspore/resnet50/bz128/1n1g/rn50_b128_fp32_2.log",
        ),
        ("seed001/GPUx8_time2train_ips-bs8.log", "seed001/GPUx1-bs8.log"),
    ],
)
def test_two_runs_appended_are_refused_with_the_reason(first: str, second: str) -> None:
    data = (FIXTURES / first).read_bytes() + (FIXTURES / second).read_bytes()
    (run,) = read((first, data, SEED_LOGS.get(first, ())), data)
    assert run.throughput.value is None
    assert "two runs appended" in run.throughput.reason
