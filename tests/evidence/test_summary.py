"""The program's own account of the whole run against all its measurements."""

from __future__ import annotations

import pytest

from perflog.evidence.line import Account, Whole, summary_witnesses
from perflog.evidence.witness import FACTORS, Witness

#: The window at 100 samples/s, all lines with the warm-up at 80; 0.4 and 0.5 s a step; 250 s of measured steps.
WHOLE = Whole((100.0, 80.0), "samples/s", (0.4, 0.5), 250.0)


def heard(quantity: str, value: float, unit: str = "samples/s", whole: Whole = WHOLE) -> Witness | None:
    return next(iter(summary_witnesses([Account("its own", quantity, value, unit, 99)], whole, FACTORS)), None)


def agreement(quantity: str, value: float, whole: Whole = WHOLE) -> str | None:
    witness = heard(quantity, value, whole=whole)
    return witness.agreement if witness is not None else None


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (100, "agrees"), (80, "agrees"), (90, "agrees"), (104, "agrees"), (77, "agrees"),
        (108, "silent"), (115, "doubts"), (130, "doubts"), (200, "contradicts"), (800, "contradicts"),
        (60, "slower"), (50, "doubts"), (40, "contradicts"), (10, "contradicts"), (0.08, "contradicts"),
    ],
)  # fmt: skip
def test_a_rate_between_window_and_whole_agrees(told: float, expected: str) -> None:
    assert agreement("throughput", told) == expected


def test_what_took_no_time_is_no_measurement_to_hold_an_account_against() -> None:
    """Two logs woven into one: the steps of all lines took 0 s."""
    nothing = Whole((100.0, 0.0), "samples/s", (0.4, 0.0), 250.0)
    assert agreement("throughput", 100, whole=nothing) is None
    assert agreement("time per step", 0.4, whole=nothing) is None


def test_what_both_say_is_told_with_the_line() -> None:
    witness = heard("throughput", 40)
    assert witness == Witness("its own", "throughput", "samples/s", 80, 40, "contradicts", (99, 99))


@pytest.mark.parametrize(
    ("told", "expected"),
    [(0.45, "agrees"), (0.5, "agrees"), (0.7, "slower"), (0.8, "doubts"), (1.0, "contradicts"), (0.2, "contradicts"),
     (0.35, "doubts"), (500.0, "contradicts"), (400.0, "doubts")],
)  # fmt: skip
def test_a_time_per_step(told: float, expected: str) -> None:
    assert agreement("time per step", told) == expected


@pytest.mark.parametrize(
    ("told", "expected"),
    [(250, "agrees"), (260, "agrees"), (400, "slower"), (500, "doubts"), (235, "agrees"), (200, "contradicts")],
)
def test_a_run_may_take_longer_than_its_steps_never_shorter(told: float, expected: str) -> None:
    assert agreement("run time", told) == expected


def test_another_unit_is_not_compared() -> None:
    assert heard("throughput", 100, unit="tokens/s") is None
    assert heard("time per step", 0.4, whole=Whole((1.0, 1.0), "samples/s", None, None)) is None
    assert heard("run time", 250, whole=Whole((1.0, 1.0), "samples/s", None, None)) is None
    assert heard("throughput", 100, whole=Whole(None, "samples/s", None, None)) is None
    assert heard("throughput", 0) is None
    assert heard("run time", 0) is None


def test_a_resumed_program_may_count_the_steps_before() -> None:
    """It made the second half of the steps alone, and divides all of them by its time."""
    resumed = Whole((100.0, 80.0), "samples/s", None, None, made=0.5)
    witness = heard("throughput", 190, whole=resumed)
    assert witness is not None
    assert (witness.agreement, witness.told) == ("agrees", 95)
    assert agreement("throughput", 90, whole=resumed) == "agrees"
    assert agreement("throughput", 400, whole=resumed) == "contradicts"
