"""Other numbers on the measured lines, with rows whose truth is known: 32 samples in a step of 0.25 s."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pytest

from perflog.evidence.line import Job, Jobs, Lines, line_witnesses
from perflog.evidence.survey import ManyMarks, Marks
from perflog.evidence.witness import FACTORS, Witness
from perflog.formats.parser import Value

RATE = Value("ips", "rate", "samples/s")
TIME = Value("ms", "step_time", "ms")
INTERVAL = Value("took", "interval_time", "s")
CLOCK = Value("elapsed", "elapsed", "s", span="cumulative")
#: Five lines of ten steps.
LINES, COVERS, STEP = 5, 10.0, 0.25


class Base(NamedTuple):
    """The value that the measurements stand on, and how many times its stored time is a second (NaN: unknown)."""

    value: Value
    scale: float


def marks(seconds: float) -> Marks:
    """``seconds``: what the measurements say of one step; in the store's unit."""
    own = np.array([[COVERS] * LINES, [seconds * COVERS] * LINES, [COVERS] * LINES])
    sums = own.cumsum(axis=1)
    return Marks(np.arange(1, LINES + 1), sums[0], sums[0], sums[1], sums[2], own)


def job(batch: float | None = 32, devices: float | None = None, **more: float | None) -> Job:
    multipliers = {} if devices is None else {"device": devices, "rank": devices}
    return Job(batch, more.get("tokens"), multipliers, FACTORS if devices is None else (*FACTORS, devices))


def heard(
    base: Base, others: Sequence[Value], columns: Mapping[str, float | Sequence[float]], known: Job | None = None,
    rounding: Mapping[str, float] | None = None,
) -> Witness | None:  # fmt: skip
    full = {name: np.broadcast_to(np.array(numbers, dtype=np.float64), (1, LINES)) for name, numbers in columns.items()}
    seconds, jobs = STEP if base.scale == 1 else STEP / 32, Jobs.of([known or job()])
    of_one = ManyMarks.of_one(marks(seconds))
    found = line_witnesses(Lines(base.value, np.array([base.scale]), of_one, full, [rounding or {}], jobs), others)
    return next(iter(found[0]), None)


BY_TIME, BY_RATE = Base(TIME, 1.0), Base(RATE, 32.0)


def test_rate_times_time_is_the_batch() -> None:
    """128 samples/s × 0.25 s, whichever of both is measured."""
    columns = {"ms": 250.0, "ips": 128.0}
    expected = Witness("ms times ips on the lines", "work per step", "samples", 32, 32, "agrees", (1, 5))
    assert heard(BY_TIME, [TIME, RATE], columns) == expected
    assert heard(BY_RATE, [TIME, RATE], columns) == expected


@pytest.mark.parametrize(("batch", "told"), [(64, 32), (16, 32), (8, 32)])
def test_another_batch_size_contradicts(batch: float, told: float) -> None:
    for base in (BY_TIME, BY_RATE):
        witness = heard(base, [TIME, RATE], {"ms": 250.0, "ips": 128.0}, job(batch))
        assert witness is not None
        assert (witness.measured, witness.agreement) == (batch, "contradicts")
        assert witness.told == pytest.approx(told)


def test_a_batch_size_that_is_a_little_off_is_a_doubt() -> None:
    for batch, agreement in ((33.0, "doubts"), (32.5, "agrees"), (40.0, "doubts")):
        witness = heard(BY_TIME, [TIME, RATE], {"ms": 250.0, "ips": 128.0}, job(batch))
        assert witness is not None
        assert witness.agreement == agreement, batch


def test_digits_that_were_cut_widen_the_agreement() -> None:
    """0.3 s printed for 0.25: half a digit is 17 %."""
    columns = {"ms": 300.0, "ips": 128.0}
    for rounding, agreement in (({}, "doubts"), ({"ms": 1 / 6}, "agrees")):
        witness = heard(BY_RATE, [TIME, RATE], columns, rounding=rounding)
        assert witness is not None
        assert witness.agreement == agreement


def test_a_rate_of_one_device_is_multiplied() -> None:
    rate = Value("ips", "rate", "samples/s", scope="device")
    for devices, agreement in ((4.0, "agrees"), (8.0, "contradicts"), (1.0, "contradicts")):
        witness = heard(BY_TIME, [TIME, rate], {"ms": 250.0, "ips": 32.0}, job(32, devices))
        assert witness is not None
        assert witness.agreement == agreement, devices


def test_without_a_batch_size_one_whole_number_on_all_lines_agrees() -> None:
    witness = heard(BY_TIME, [TIME, RATE], {"ms": 250.0, "ips": [128.0, 128.4, 127.7, 128.2, 127.9]}, job(None))
    assert witness == Witness("ms times ips on the lines", "work per step", "samples", 32.0, 32.0, "agrees", (1, 5))


@pytest.mark.parametrize(
    ("ips", "expected"),
    [
        ([128.0, 100.0, 128.0, 140.0, 128.0], "silent"),  # words of sentences vary
        (0.128, "contradicts"),  # a thirtieth of a sample in every step
        (6.0, "doubts"),  # one sample and a half
        (126.8, "agrees"),  # 31.7 within rounding
    ],
)
def test_products_that_are_no_whole_number(ips: float | Sequence[float], expected: str) -> None:
    witness = heard(BY_TIME, [TIME, RATE], {"ms": 250.0, "ips": ips}, job(None))
    assert witness is not None
    assert witness.agreement == expected


def test_tokens_per_second_are_held_against_the_tokens_of_a_step() -> None:
    rate = Value("tps", "rate", "Ktokens/s")
    for tokens, agreement in ((4096.0, "agrees"), (4.096, "contradicts")):
        witness = heard(BY_TIME, [TIME, rate], {"ms": 250.0, "tps": 16.384}, job(None, tokens=tokens))
        assert witness is not None
        assert (witness.unit, witness.agreement) == ("tokens", agreement)


def test_two_times_of_one_span() -> None:
    for took, agreement in ((2.5, "agrees"), (2.7, "doubts"), (0.25, "contradicts"), (5.0, "contradicts")):
        witness = heard(BY_TIME, [TIME, INTERVAL], {"ms": 250.0, "took": took})
        assert witness is not None
        assert (witness.name, witness.about, witness.agreement) == ("took on the lines", "time per step", agreement)


def test_means_over_other_steps_tell_factors_alone() -> None:
    last = Value("now", "step_time", "s", span="last")
    for now, agreement in ((0.3, "agrees"), (0.35, "silent"), (0.5, "contradicts"), (0.7, "contradicts")):
        witness = heard(BY_TIME, [TIME, last], {"ms": 250.0, "now": now})
        assert witness is not None
        assert witness.agreement == agreement, now


def test_a_mean_since_the_beginning_is_not_held_against_records() -> None:
    mean = Value("mean", "step_time", "s", span="cumulative")
    assert heard(BY_TIME, [TIME, mean], {"ms": 250.0, "mean": 9.0}) is None


def test_a_clock_since_the_start_by_its_differences() -> None:
    for per_line, agreement in (
        (2.5, "agrees"),
        (3.0, "slower"),
        (4.6, "doubts"),
        (2.2, "doubts"),
        (5.0, "contradicts"),
    ):
        clock = [100 + per_line * line for line in range(LINES)]
        witness = heard(BY_TIME, [TIME, CLOCK], {"ms": 250.0, "elapsed": clock})
        assert witness is not None
        assert (witness.about, witness.agreement) == ("time per step", agreement), per_line
        assert witness.told == pytest.approx(per_line / COVERS)


def test_a_clock_says_nothing_of_a_rate_without_a_batch_size() -> None:
    clock = [2.5 * line for line in range(LINES)]
    assert heard(Base(RATE, math.nan), [RATE, CLOCK], {"ips": 128.0, "elapsed": clock}, job(None)) is None


def test_numbers_that_are_none_say_nothing() -> None:
    assert heard(BY_TIME, [TIME, RATE], {"ms": 250.0, "ips": float("nan")}) is None
    assert heard(BY_TIME, [TIME, RATE], {"ms": 250.0}) is None
