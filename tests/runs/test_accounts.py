"""The program's own account of its run, held against the steps that it can tell of."""

from __future__ import annotations

import pytest

from tests.measurements.support import STEP_TIME, table
from tests.reading.support import formats, summary
from tests.runs.support import run

TIMES = table("step ms", STEP_TIME, sample=[{"line": "row step=1 ms=5"}])
TIMED = formats(TIMES, summary({"group": "total", "quantity": "time_to_train", "unit": "s", "span": "run"}))
MEAN = formats(TIMES, summary({"group": "each", "quantity": "step_time", "unit": "ms", "span": "run"}))


def timed(first: int, last: int, ms: float = 1000) -> str:
    return "".join(f"row step={number} ms={ms:.3f}\n" for number in range(first, last + 1))


@pytest.mark.parametrize("printed", ["60", "62"])
def test_an_account_in_the_middle_of_a_run_tells_of_the_steps_before_it(printed: str) -> None:
    """60 of 100 steps of 1 s stand before it: the time of all would be 40 per cent too long."""
    found = run(TIMED, timed(1, 60) + f"sum total={printed}\n" + timed(61, 100))
    assert found.throughput.value == 1.0
    assert found.evidence is not None
    (witness,) = found.evidence.witnesses
    assert (witness.measured, witness.told, witness.agreement) == (60, float(printed), "agrees")


def test_an_account_at_the_end_that_the_steps_do_not_fit_in_contradicts() -> None:
    found = run(TIMED, timed(1, 100) + "sum total=60\n")
    assert "time of the run is 100 s by the measurements and 60 s" in found.throughput.reason


def test_a_mean_in_the_middle_is_that_of_the_steps_before_it() -> None:
    """40 steps of 1 s, then 160 of 5 s: the mean so far is 1 s, which the steps behind it say nothing of."""
    found = run(MEAN, timed(1, 40) + "sum each=1000\n" + timed(41, 200, 5000))
    assert found.evidence is not None
    assert [witness.agreement for witness in found.evidence.witnesses] == ["agrees"]


def test_an_account_before_the_first_step_tells_nothing() -> None:
    found = run(TIMED, "sum total=3\n" + timed(1, 100))
    assert found.evidence is not None
    assert (found.throughput.value, found.evidence.witnesses) == (1.0, ())
