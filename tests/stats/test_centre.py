"""Centres and intervals, against hand-computed cases and scipy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perflog.stats.centre import CENTRES, mean, median, olympic, olympic_of_set, order_interval, relative_range

floats = st.floats(1e-3, 1e6)


@pytest.mark.parametrize(
    ("n", "ranks", "level"),
    [(2, (1, 2), 50.0), (3, (1, 3), 75.0), (5, (1, 5), 93.75), (6, (1, 6), 96.875), (7, (1, 7), 98.4375), (8, (1, 8), 99.21875), (9, (2, 8), 96.09375),
     (10, (2, 9), 97.8515625), (12, (3, 10), 96.142578125), (15, (4, 12), 96.484375), (20, (6, 15), 95.861053466796875)],
)  # fmt: skip
def test_order_interval_ranks_and_true_level(n: int, ranks: tuple[int, int], level: float) -> None:
    """Symmetric ranks; Le Boudec, table A.1, n = 9 to 20."""
    assert order_interval([float(i) for i in range(1, n + 1)]) == (
        *(float(r) for r in ranks),
        pytest.approx(level / 100),
    )


def test_no_interval_for_one_run() -> None:
    assert order_interval([3.0]) is None


@given(st.lists(floats, min_size=6, max_size=40))
def test_level_is_the_binomial_probability(values: list[float]) -> None:
    interval = order_interval(values)
    assert interval is not None
    low, high, level = interval
    ordered, n = sorted(values), len(values)
    assert low <= median(values) <= high
    for at in range(n // 2):
        if ordered[at] == low and ordered[n - 1 - at] == high:
            wanted = stats.binom.cdf(n - 1 - at, n, 0.5) - stats.binom.cdf(at, n, 0.5)
            if level == pytest.approx(wanted):
                break
    else:
        pytest.fail("no symmetric pair of ranks has this level")
    assert level >= 0.95


@given(st.lists(floats, min_size=1, max_size=30))
def test_median_lies_between(values: list[float]) -> None:
    assert min(values) <= median(values) <= max(values)
    assert sum(v < median(values) for v in values) <= len(values) / 2


def test_olympic_drops_the_fastest_and_the_slowest() -> None:
    assert olympic([9.0, 1.0, 2.0, 3.0, 100.0]) == pytest.approx(14 / 3)
    assert olympic([float(i) for i in range(20)]) == 9.5
    with pytest.raises(ValueError, match="needs 3 runs"):
        olympic([1.0, 2.0])


def test_mean_and_spread() -> None:
    assert mean([0.1] * 10) == 0.1
    assert relative_range([90.0, 100.0, 110.0]) == pytest.approx(0.2)
    assert relative_range([1.0]) is None
    for centre in (mean, median):
        with pytest.raises(ValueError, match="no values"):
            centre([])


@pytest.mark.parametrize(
    ("values", "by_median", "by_mean", "by_olympic"),
    [
        ([3.0, 1.0, 2.0], 2.0, 2.0, 2.0),
        ([1.0, 2.0, 4.0, 100.0], 3.0, 26.75, 3.0),
        ([10.0, 1.0, 2.0, 3.0, 4.0], 3.0, 4.0, 3.0),
        ([float(i**2) for i in range(20)], 90.5, 123.5, (2470 - 0 - 1 - 324 - 361) / 16),
    ],
)
def test_every_centre_by_hand(values: list[float], by_median: float, by_mean: float, by_olympic: float) -> None:
    found = {name: centre(values) for name, centre in CENTRES.items()}
    assert found == {"median": by_median, "mean": by_mean, "olympic": by_olympic}


def test_the_relative_range_by_hand() -> None:
    assert relative_range([2.0, 1.0, 4.0]) == 1.5
    assert relative_range([2.0, 2.0]) == 0
    assert relative_range([-1.0, 0.0, 1.0]) is None, "a share of a median of 0 is none"


@pytest.mark.parametrize("n", [7, 50, 1023, 1024, 3000])
def test_the_interval_of_many_runs_has_the_level_of_the_binomial_distribution(n: int) -> None:
    from scipy.stats import binom

    interval = order_interval([float(value) for value in range(n)])
    assert interval is not None
    low, high, level = interval
    assert low + high == n - 1
    assert level == pytest.approx(1 - 2 * float(binom.cdf(low, n, 0.5)), abs=1e-12)
    assert level >= 0.95 > 1 - 2 * float(binom.cdf(low + 1, n, 0.5))


@pytest.mark.parametrize(
    ("times", "failed", "drop", "score"),
    [
        ([5.0, 1.0, 2.0, 3.0, 4.0], 0, 1, 3.0),
        ([4.0, 1.0, 2.0, 3.0], 1, 1, 3.0),  # 2, 3, 4: the one that failed is the slowest
        ([1.0, 2.0], 1, 1, 2.0),
        ([float(i) for i in range(1, 39)], 2, 4, 20.5),  # 5 … 36
    ],
)
def test_a_set_with_failed_runs(times: list[float], failed: int, drop: int, score: float) -> None:
    assert olympic_of_set(times, failed, drop) == score


@pytest.mark.parametrize(("times", "failed", "drop"), [([1.0, 2.0, 3.0], 2, 1), ([1.0, 2.0], 0, 1), ([1.0], 1, 1)])
def test_a_set_without_a_score(times: list[float], failed: int, drop: int) -> None:
    with pytest.raises(ValueError, match=r"failed|none is left"):
        olympic_of_set(times, failed, drop)
