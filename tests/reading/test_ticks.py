"""Bars whose ticks may be samples: their counts are all multiples of one number."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from perflog.reading.reading import Reading
from tests.measurements.support import ELAPSED, table
from tests.reading.support import fact, formats, read


def bars(counts: Iterable[int], total: int) -> str:
    """Lines of a bar with these counts, one a second."""
    return "".join(f"row step={n} run_steps={total} clock={k}\n" for k, n in enumerate(counts))


def reading(*texts: str) -> Reading:
    step = table("step run_steps clock", ELAPSED, ticks_told_by=["header"], redrawn=True, irregular=True)
    step["sample"] = [{"line": "row step=1 run_steps=8 clock=5", "expect": {"step": 1}}]
    return read(formats(step, fact("header")), *texts)


@pytest.mark.parametrize(
    ("counts", "total"),
    [(range(32, 3216, 32), 3215), (range(32, 3201, 32), 3200), ([32, 96, 128, 224, 256], 3200), (range(2, 100, 2), 99)],
)
def test_counts_that_are_all_multiples_of_one_number_may_be_samples(counts: Iterable[int], total: int) -> None:
    text = bars(counts, total)
    assert not reading(text).measures
    assert "all counts of its bars are multiples of" in reading(text).undecided
    assert not reading(*text.splitlines(keepends=True)).measures  # as one block for each line
    assert reading("set header=1\n" + text).measures


@pytest.mark.parametrize(
    ("counts", "total"),
    [
        ([1, *range(32, 3201, 32)], 3200),  # a count of one is a step
        (range(1, 100), 100),
        ([64, 96], 500),  # two of many numbers are multiples of 32 by chance once in a thousand
        ([2, 4, 8, 10, 14], 500),
        ([500] * 20, 500),  # full bars say nothing
    ],
)
def test_other_counts_are_steps(counts: Iterable[int], total: int) -> None:
    assert reading(bars(counts, total)).measures


def test_bars_of_another_length_beside_them_tell_nothing() -> None:
    """An evaluation's bar shows each batch, the training's counts samples."""
    assert not reading(bars(range(32, 3216, 32), 3215) + bars(range(1, 50), 50)).measures


def epochs(*bars_of_each: tuple[int, ...]) -> str:
    """Bars of these lengths, an epoch each, one count a second."""
    return "".join(
        f"row epoch={epoch} step={n} run_steps={total} clock={n}\n"
        for epoch, totals in enumerate(bars_of_each)
        for total in totals
        for n in range(1, total + 1)
    )


def reading_of_epochs(text: str, *, by_lines: bool) -> Reading:
    step = table("epoch step run_steps clock", ELAPSED, ticks_told_by=["header"], redrawn=True, restarts=True)
    step["sample"] = [{"line": "row epoch=1 step=1 run_steps=8 clock=5", "expect": {"step": 1}}]
    made = formats(step, fact("header"))
    return read(made, *text.splitlines(keepends=True)) if by_lines else read(made, text)


@pytest.mark.parametrize("by_lines", [False, True])
@pytest.mark.parametrize("bars_of_each", [((40, 10),) * 4, ((40, 40),) * 4, ((10, 40),) * 4, ((40, 10), (40,)) * 3])
def test_epochs_with_two_bars_of_one_name_may_hold_evaluations(
    bars_of_each: tuple[tuple[int, ...], ...], by_lines: bool
) -> None:
    made = reading_of_epochs(epochs(*bars_of_each), by_lines=by_lines)
    assert not made.measures
    assert "its epochs have two bars of one name each" in made.undecided


@pytest.mark.parametrize("by_lines", [False, True])
@pytest.mark.parametrize("bars_of_each", [((40,),) * 4, ((40,), (40, 40), (40,), (40,)), ((40,) * 6,)])
def test_a_restart_within_an_epoch_and_many_bars_of_one_epoch_are_none(
    bars_of_each: tuple[tuple[int, ...], ...], by_lines: bool
) -> None:
    """A training that failed begins its epoch again; each iteration of reinforcement learning draws its bar."""
    assert reading_of_epochs(epochs(*bars_of_each), by_lines=by_lines).measures


def test_counts_beyond_all_bars_tell_nothing() -> None:
    """``1e308`` where a count stood: no whole number holds it."""
    assert reading("row step=1e308 run_steps=90 clock=1\n", bars(range(1, 90), 90)).undecided == ""
