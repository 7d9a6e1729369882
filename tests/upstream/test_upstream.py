"""Logs of real programs of today against a clock of our own: within one per cent of it, or a true refusal.

The logs were made by `make upstream` (`run.py`); nothing is trained here.
"""

from __future__ import annotations

import pytest

from tests.upstream.judge import LOGS, Expected, Figures, expectations, judge
from tests.upstream.run import LARGEST_LOG, programs, read_environment

EXPECTATIONS = expectations()
WITHIN = 0.01
#: Bounds that whole seconds leave are as near to each other.
MOST_ROUNDED = 1.05
NUMBERS = [name for name, expected in EXPECTATIONS.items() if expected.refuses is None]
REFUSALS = [name for name, expected in EXPECTATIONS.items() if expected.refuses is not None]


def test_every_program_has_a_log_the_clocks_figures_and_an_expectation() -> None:
    assert sorted(EXPECTATIONS) == programs()
    assert sorted(path.stem for path in LOGS.glob("*.log")) == programs()
    assert sorted(path.stem for path in LOGS.glob("*.json")) == programs()
    assert len(programs()) >= 15


@pytest.mark.parametrize("name", programs())
def test_logs_are_small_and_programs_say_what_they_require(name: str) -> None:
    assert (LOGS / f"{name}.log").stat().st_size <= LARGEST_LOG
    assert read_environment(name).requires


@pytest.mark.parametrize("name", NUMBERS)
def test_the_throughput_is_within_one_per_cent_of_the_clock(name: str) -> None:
    judgement = judge(name, EXPECTATIONS[name])
    assert judgement.value is not None, judgement.reason
    assert judgement.unit.removesuffix("/device").removesuffix("/rank") == EXPECTATIONS[name].unit
    if EXPECTATIONS[name].rounded:
        assert judgement.bounds is not None
        assert judgement.bounds[0] <= judgement.clock_value <= judgement.bounds[1] <= MOST_ROUNDED * judgement.bounds[0]
    else:
        assert judgement.value == pytest.approx(judgement.clock_value, rel=WITHIN)
    assert sum(last - first for first, last in judgement.stretches) >= 40


@pytest.mark.parametrize("name", NUMBERS)
def test_the_time_per_step_is_within_one_per_cent_of_the_clock(name: str) -> None:
    judgement = judge(name, EXPECTATIONS[name])
    if judgement.step_time is not None and not EXPECTATIONS[name].rounded:
        assert judgement.step_time == pytest.approx(judgement.clock_step_time, rel=WITHIN)


@pytest.mark.parametrize("name", [name for name in NUMBERS if EXPECTATIONS[name].includes])
def test_a_number_that_holds_an_evaluation_says_so(name: str) -> None:
    expected = EXPECTATIONS[name]
    assert expected.says
    assert any(expected.says in note for note in judge(name, expected).notes)


@pytest.mark.parametrize("name", REFUSALS)
def test_where_there_is_no_number_the_reason_is_the_true_one(name: str) -> None:
    expected = EXPECTATIONS[name]
    judgement = judge(name, expected)
    assert judgement.value is None
    assert expected.because
    assert expected.refuses
    assert expected.refuses in (judgement.reason or "")


def test_the_clock_leaves_pauses_out_unless_they_are_included() -> None:
    clock = Figures(8, None, [1.0, 2.0, 5.0, 6.0], [("evaluation", 2.0, 4.0, 2)])
    training, through = Expected(), Expected(includes=["evaluation"])
    epoch = Expected(includes=["evaluation"], ending=True)
    assert [clock.seconds(0, 2, training), clock.seconds(1, 4, training), clock.seconds(2, 4, training)] == [2, 3, 2]
    assert [clock.seconds(0, 2, through), clock.seconds(1, 4, through), clock.seconds(2, 4, through)] == [2, 5, 4]
    assert [clock.seconds(0, 2, epoch), clock.seconds(1, 4, epoch), clock.seconds(2, 4, epoch)] == [4, 5, 2]
    assert clock.step_time([(0, 2), (2, 4)], training) == 1.0
    assert clock.work(training) == 8
