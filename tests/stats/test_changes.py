"""Change points of a history."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perflog.stats.changes import _WEIGHTS, RHOS, Change, Changes, _best_border, change_points

values = st.lists(st.floats(1, 100), min_size=8, max_size=30)


def test_a_step_is_found_where_it_is() -> None:
    found = change_points([100.0, 101, 99, 100.5, 99.5, 100.2, 110, 111, 109, 110.5, 109.5, 110.2]).points
    assert len(found) == 1
    assert found[0].index == 6
    assert [found[0].before, found[0].after] == pytest.approx([100.1, 110.1])
    assert found[0].ratio == pytest.approx(110.1 / 100.1)


def test_two_steps() -> None:
    random = np.random.default_rng(8)
    level = np.repeat([100.0, 110.0, 90.0], 15)
    assert [c.index for c in change_points((level + random.standard_normal(45)).tolist()).points] == [15, 30]


def test_the_last_three_points_can_be_a_change_and_the_last_two_cannot() -> None:
    noise = np.random.default_rng(9).standard_normal(20)
    for last, wanted in ((3, [17]), (2, [])):
        level = np.where(np.arange(20) >= 20 - last, 120.0, 100.0)
        assert [c.index for c in change_points((level + noise).tolist()).points] == wanted


def test_a_change_is_where_the_values_say_and_not_where_ranks_happen_to_fall() -> None:
    """Ranks alone put the border two points late: the second level's highest values come first."""
    series = [2771.9, 2781.0, 2772.7, 2767.7, 2677.5, 2676.6, 2661.0, 2655.4, 2669.8, 2666.5, 2663.5, 2670.6, 2674.7]
    assert [c.index for c in change_points(series).points] == [4]


def test_a_spike_is_no_change() -> None:
    noise = np.random.default_rng(10).standard_normal(20)
    noise[[7, 15]] += 50
    assert change_points((100 + noise).tolist()).points == ()


def test_histories_without_an_answer() -> None:
    assert change_points([1.0] * 9).reason == "9 points, change points need 10"
    assert change_points([1.0] * 10 + [math.nan]).reason == "a point is not a finite number"
    assert change_points([1.0] * 20).points == ()
    assert change_points([-1.0] * 10 + [1.0] * 10).points[0].ratio is None


@given(values)
@settings(max_examples=50)
def test_changes_do_not_depend_on_the_unit_or_on_a_monotone_scale(series: list[float]) -> None:
    found = [c.index for c in change_points(series).points]
    assert [c.index for c in change_points([v * 4 for v in series]).points] == found
    edges = [0, *found, len(series)]
    assert all(b - a >= 3 for a, b in itertools.pairwise(edges) if len(series) >= 10)


@pytest.mark.long
def test_steady_histories_of_600_points_show_few_changes() -> None:
    """The threshold grows with the length."""
    random = np.random.default_rng(11)
    assert sum(bool(change_points(random.standard_normal(600).tolist()).points) for _ in range(40)) <= 8


def test_a_border_between_two_others_by_hand() -> None:
    """Levels 1, 5 and 1: medians, borders and ratios of three segments of fifteen, each seen from its third value."""
    low, high = [1.0, 1.1, 0.9, 1.05, 0.95], [5.0, 5.1, 4.9, 5.05, 4.95]
    found = change_points([*low * 3, *high * 3, *low * 3])
    assert found == Changes((Change(15, 17, 1.0, 5.0, 5.0), Change(30, 32, 5.0, 1.0, 0.2)))


def test_the_likelihood_ratio_is_that_of_a_fit_by_hand() -> None:
    """Against a fit by least squares for each ρ and border, without the sums that the function makes of it."""
    level = np.random.default_rng(3).standard_normal(14) + 2.0 * (np.arange(14) >= 7)
    earlier = np.random.default_rng(4).standard_normal(9)
    for before in (np.zeros(0), earlier):
        y = np.concatenate([before, level - np.median(level)])
        y = np.clip(y / (1.4826 * np.median(np.abs(y))), -3, 3)
        ones = np.concatenate([np.zeros(len(before)), np.ones(14)])
        one: list[float] = []
        two: dict[int, list[float]] = {}
        for rho in RHOS:
            whiten = np.eye(len(y)) - rho * np.eye(len(y), k=-1)
            whiten[0, 0] = math.sqrt(1 - rho**2)
            cost = -math.log(1 - rho**2)

            def residual(*columns: np.ndarray, whiten: np.ndarray = whiten, y: np.ndarray = y) -> float:
                design = whiten @ np.column_stack(columns)
                rest = whiten @ y - design @ np.linalg.lstsq(design, whiten @ y, rcond=None)[0]
                return float(len(y) * math.log(rest @ rest))

            one.append(residual(ones) + cost)
            for border in range(3, 12):
                step = ones * (np.arange(len(y)) >= len(before) + border)
                two.setdefault(border, []).append(residual(ones, step) + cost + 4 * rho)
        average = -2 * math.log(sum(weight * math.exp(-of / 2) for weight, of in zip(_WEIGHTS, one, strict=True)))
        wanted = {border: average - min(costs) for border, costs in two.items()}
        best = max(wanted, key=wanted.__getitem__)
        ratio, border = _best_border(level, before)
        assert ratio == pytest.approx(wanted[best]) and border == best


@given(st.lists(st.floats(1, 100), min_size=10, max_size=40))
@settings(max_examples=50)
def test_more_values_never_take_a_change_away(series: list[float]) -> None:
    seen = [change.found for change in change_points(series).points]
    for end in range(10, len(series)):
        assert [change.found for change in change_points(series[:end]).points] == [at for at in seen if at < end]


def test_a_fall_that_was_made_good_stays_listed() -> None:
    """A search of the finished history took the recovery out first, and then found the fall too small."""
    series = 100 + np.random.default_rng(16).standard_normal(60)
    series[30:36] -= 5
    assert [change.index for change in change_points(series.tolist()).points] == [30, 36]


def test_a_level_that_is_young_is_judged_by_the_noise_of_those_before_it() -> None:
    """Six values low and five up again: the eleven alone do not know their noise."""
    random = np.random.default_rng(17)
    found = 0
    for _ in range(20):
        series = 100 + random.standard_normal(41)
        series[30:36] -= 6
        found += [change.index for change in change_points(series.tolist()).points][1:] == [36]
    assert found >= 15


def test_two_slow_campaigns_and_an_ordinary_one_are_no_level() -> None:
    noise = np.random.default_rng(24).standard_normal(60)
    noise[30:33] = [20, 20, 1.7]
    assert change_points((100 + noise).tolist()).points == ()
    noise[30:36] += 20
    assert [change.index for change in change_points((100 + noise[:36]).tolist()).points] == [30], "six are one"


@pytest.mark.parametrize("seed", [33, 82, 83, 84])
def test_two_slow_campaigns_and_several_ordinary_ones_are_no_level(seed: int) -> None:
    """With a rule for three values alone these were one."""
    noise = np.random.default_rng(seed).standard_normal(70)
    noise[50:52] = 20
    assert change_points((100 + noise).tolist()).points == ()


@pytest.mark.parametrize(("rho", "n"), [(0.3, 52), (0.5, 52), (0.6, 20), (0.6, 52)])
@pytest.mark.long
def test_a_machine_that_wanders_is_no_change_in_all_looks_of_a_year(rho: float, n: int) -> None:
    """600 steady AR(1) histories: 11 to 36 % of them had a change in some look before; 5 % is 30 of them."""
    from tests.tools.simulate_compare import wandering

    series = 100 + wandering(np.random.default_rng(11), 600, n, rho)
    found = sum(bool(change_points(line.tolist()).points) for line in series)
    assert found <= 30 + 2 * math.sqrt(0.05 * 0.95 * 600)


@pytest.mark.long
def test_a_fall_of_two_and_a_half_deviations_is_found_five_campaigns_later_after_a_year() -> None:
    """5 % at 2 % noise; with the ratio of the two best fits (and the threshold that this needs) 64 % were found."""
    from tests.tools.simulate_compare import fall_share

    assert fall_share(np.random.default_rng(13), 500, 0.0, 2.5, 52, 5, 0) >= 0.80 - 1.7 * math.sqrt(0.8 * 0.2 / 500)


def test_a_step_in_a_history_that_wanders_is_found() -> None:
    from tests.tools.simulate_compare import wandering

    series = 100 + wandering(np.random.default_rng(12), 50, 40, 0.3) + 5.0 * (np.arange(40) >= 20)
    assert sum(bool(change_points(line.tolist()).points) for line in series) >= 48
