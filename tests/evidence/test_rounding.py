"""How far the printed digits bound a number, a mean of numbers, and a total."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from perflog.evidence.witness import bounds, clock_share, decimals_of, mean_share, number_share, total_share
from perflog.formats.printed import half_digit
from perflog.notes import texts
from tests.support import extracted


@pytest.mark.parametrize(
    ("printed", "half"),
    [
        ("1", 0.5), ("1.", 0.5), ("0.52", 0.005), ("-0.520", 0.0005), ("1,234", 0.5), ("1.2e-03", 5e-5), ("3e2", 50),
        ("04:00", 1), ("00:04.5", 0.1), ("4s", 1), ("1h 4.25s", 0.01), ("17ms", 0.001), ("1.20k", 5), (" 7 ", 0.5), ("5M", 5e5),
    ],
)  # fmt: skip
def test_half_of_the_last_digit(printed: str, half: float) -> None:
    """A clock is cut and not rounded, so that a whole digit may be missing."""
    assert half_digit(printed) == pytest.approx(half, rel=1e-12)


@pytest.mark.parametrize("printed", ["nan", "", "fast", "1.2.3"])
def test_what_is_no_number_has_no_digits(printed: str) -> None:
    assert half_digit(printed) is None


def test_equal_numbers_may_all_be_rounded_one_way() -> None:
    assert mean_share(0.25, [2.0] * 5, used=1000) == 0.25
    assert mean_share(0.25, [2.0, 3.0], used=1000) == 0.25  # of two nobody knows whether they vary


def test_one_slow_step_takes_no_rounding_from_the_others() -> None:
    """Steps of 13.8 ms, printed as 0.014 s, behind a slow first one: all are rounded one way, and the bound says so."""
    printed = [0.034, *[0.014] * 18, 0.021]
    share = mean_share(0.0005 / 0.014, printed, used=18)
    low, high = bounds(1 / 0.014, share)
    assert low < 1 / 0.0138 < high
    assert mean_share(0.0005 / 0.014, [0.011, 0.012, 0.014, 0.016, 0.019], used=18) < share


def test_a_log_of_equal_times_behind_a_slow_first_one_is_bounded_by_its_digit(tmp_path: Path) -> None:
    """It was said that the digits of 0.014 s allow ±1 %, where each step may have been off by 3.6 % the same way."""
    times = ["0.034", *["0.014"] * 59]
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {step} | loss {60 / step:.3f} | {time} s\n" for step, time in enumerate(times, 1)))
    (run,) = extracted(log).runs
    assert run.throughput.value == pytest.approx(1 / 0.014)
    assert run.throughput.rounding == pytest.approx((1 / 0.0145, 1 / 0.0135))
    assert any("the printed digits allow 68.97 to 74.07 steps/s" in text for text in texts(run.notes))


def test_numbers_that_vary_lose_their_rounding_in_a_mean() -> None:
    share = mean_share(0.05, [8.0, 10.0, 12.0], used=300)
    assert share == pytest.approx(0.05 * 2 / math.sqrt(900))
    assert mean_share(0.05, [8.0, 10.0, 12.0], used=1) == 0.05  # never more than one number's own


def test_the_bound_of_a_mean_holds_its_rounding() -> None:
    """19 of 20 means of 50 numbers, rounded to one digit, lie within the bound that their digits allow."""
    rng = random.Random(7)
    within = 0
    for _ in range(400):
        exact = [rng.uniform(5, 15) for _ in range(50)]
        rounded = [float(round(number)) for number in exact]
        share = mean_share(number_share([f"{number:.0f}" for number in rounded], rounded), rounded, used=50)
        within += abs(sum(rounded) / sum(exact) - 1) <= share
    assert within / 400 >= 0.93


def test_numbers_without_digits_bound_nothing() -> None:
    assert number_share(["nan", "fast"], [float("nan"), 1.0]) == 0.0
    assert number_share([], []) == 0.0
    assert mean_share(0.0, [], used=5) == 0.0
    assert total_share([], []) == 0.0


@pytest.mark.parametrize(
    ("numbers", "most", "decimals"),
    [([12.0, 3.0], 4, 0), ([0.5, 0.125], 4, 3), ([0.125, 0.5], 4, 3), ([0.1, 0.12345], 4, None), ([0.1, 0.12345], 5, 5),
     ([1e300, 0.25], 4, 2), ([-0.25], 4, 2), ([], 4, 0)],
)  # fmt: skip
def test_the_decimals_that_all_numbers_need(numbers: list[float], most: int, decimals: int | None) -> None:
    assert decimals_of(numbers, most) == decimals


def test_of_a_total_the_last_counts() -> None:
    assert total_share(["1", "200"], [1.0, 200.0]) == 0.0025


@pytest.mark.parametrize(
    ("digit", "bars", "stretches", "share"),
    [(1.0, 1, 1, 0.01), (0.1, 1, 1, 0.001), (1.0, 4, 4, 0.04), (1.0, 1, 7, 0.03), (1.0, 2, 8, 0.04)],
)
def test_each_stretch_of_a_clock_is_cut_at_both_ends(digit: float, bars: int, stretches: int, share: float) -> None:
    """100 s: bars are cut alike, so that a digit of each counts; six further pieces add two digits, as 2·√(6/6) is."""
    assert clock_share(digit, 100.0, bars, stretches) == pytest.approx(share)


def test_the_bound_of_pieces_of_a_clock_holds_their_rounding() -> None:
    """19 of 20 sums of nine pieces of a clock in whole seconds lie within the bound."""
    rng = random.Random(11)
    within = 0
    for _ in range(400):
        ends = [(begin, begin + rng.uniform(5, 25)) for begin in (rng.uniform(0, 1000) for _ in range(9))]
        exact = sum(end - begin for begin, end in ends)
        told = sum(math.floor(end) - math.floor(begin) for begin, end in ends)
        within += abs(told - exact) / told <= clock_share(1.0, told, 1, 9)
    assert within / 400 >= 0.95


def test_bounds_of_a_rate_whose_times_were_rounded() -> None:
    assert bounds(10.0, 0.25) == (8.0, 10 / 0.75)
    assert bounds(10.0, 1.0) == (5.0, math.inf)  # 0.5 to 1 of a digit: nothing bounds it from above
