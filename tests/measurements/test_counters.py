"""Steps from counters of samples and from counters in whole thousands; records of fewer steps than the others."""

from __future__ import annotations

import numpy as np
import pytest

from perflog.measurements.segment import (
    NO_WORKS,
    NOTHING_COUNTED,
    steps_from_counter,
    unrounded,
    whole_records,
)

NAN = float("nan")


def numbers(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_what_is_known_of_a_step_divides_the_counter() -> None:
    steps, work = steps_from_counter(numbers(1280, 1920, NAN), None, 64.0)
    assert steps is not None
    np.testing.assert_array_equal(steps, [20, 30, NAN])
    assert work == 64


def test_the_first_row_of_an_epoch_is_one_step_where_no_distance_is_smaller() -> None:
    epochs = numbers(0, 0, 1, 1)
    steps, work = steps_from_counter(numbers(64, 704, 64, 704), epochs, None)
    assert (steps is not None and steps.tolist(), work) == ([1, 11, 1, 11], 64)
    for counter in ((704, 1344), (64, 700), (64,)):  # cut, no multiple, and one row that nothing is compared with
        assert steps_from_counter(numbers(*counter), None, None) == (None, 0.0)
    assert steps_from_counter(numbers(64, 704), None, 60.0)[1] == 64  # what is said fits no row


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_rounded_counter_is_the_same_in_blocks(cut: int) -> None:
    printed = numbers(400, 800, 1000, 2000, 2000, 2000, 3000, 3000, 4000, 4000, 4000, 5000)
    first, state, wrong = unrounded(printed[:cut], NOTHING_COUNTED, 400.0)
    rest, state, also_wrong = unrounded(printed[cut:], state, 400.0)
    assert [*first.tolist(), *rest.tolist()] == [400.0 * n for n in range(1, 13)]
    assert (wrong, also_wrong, state.step, state.interval) == (-1, -1, 4800, 400)


@pytest.mark.parametrize("cut", [5, 30, 31, 32, 40])
@pytest.mark.parametrize("lost", [25, 30, 50])
def test_a_lost_line_moves_a_rounded_counter_on(lost: int, cut: int) -> None:
    """Where it stood shows a few lines later, when its thousand does not fit any more."""
    true = [400.0 * n for n in range(1, 80) if n != lost]
    printed = numbers(*(step if step < 1000 else 1000 * round(step / 1000) for step in true))
    first, state, wrong = unrounded(printed[:cut], NOTHING_COUNTED, 400.0)
    rest, state, also_wrong = unrounded(printed[cut:], state, 400.0)
    steps = np.array([*first, *rest])
    assert (wrong, also_wrong, state.lost) == (-1, -1, 1)
    assert (steps[: lost - 1] == true[: lost - 1]).all() and (steps[lost + 3 :] == true[lost + 3 :]).all()


def test_a_rounded_counter_is_held_against_what_is_printed() -> None:
    assert unrounded(numbers(400, 800, 2000), NOTHING_COUNTED, None)[2] == 2  # 1200 is printed as 1K
    assert unrounded(numbers(1000, 2000), NOTHING_COUNTED, None)[2] == 0  # nothing says the interval
    assert unrounded(numbers(999_600, 1_000_000, 1_000_000), NOTHING_COUNTED, 400.0)[2] == -1


@pytest.mark.parametrize("cut", range(1, 8))
def test_partial_records_are_known_in_blocks_too(cut: int) -> None:
    work = numbers(64, 64, 6.4, 64, NAN, 64, 12.8, 64)
    first, state = whole_records(work[:cut], NO_WORKS)
    rest, _ = whole_records(work[cut:], state)
    assert [*first.tolist(), *rest.tolist()] == [True, True, False, True, True, True, False, True]


def test_work_that_varies_is_not_called_partial() -> None:
    work = numbers(60.3, 64.1, 58.2, 63.9, 61.0, 66.2, 59.9)
    assert whole_records(work, NO_WORKS)[0].all()
