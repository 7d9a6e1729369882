"""The variance between few campaigns: by hand, its degrees of freedom, and what it does to the rows of a table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from perflog.stats.contrast import RowSamples
from perflog.stats.family import family
from perflog.stats.memory import Memory, Remembered, memory_of, memory_of_few, with_memory_of_campaigns

#: Four campaigns of one version, of five runs.
FEW = Memory(4, 0, 0.00001, 0.0, 16, 0.0004, 3, 0.2)


def logs(*values: float) -> list[float]:
    """Positive values with these logarithms."""
    return [math.exp(value) for value in values]


def test_one_version_by_hand() -> None:
    """Means 1, 2 and 6 about 3: squares 4 + 1 + 9 = 14 over 2; within, each campaign has squares 2 · 0.01."""
    campaigns = [logs(centre - 0.1, centre + 0.1) for centre in (1, 2, 6)]
    level = memory_of_few([campaigns])
    assert level is not None
    assert (level.campaigns, level.freedom, level.known_freedom, level.knows_runs) == (3, 2, 3, False)
    assert level.variance == pytest.approx(7)
    assert level.run_variance == pytest.approx(0.02)
    assert level.inverse_runs == 0.5
    assert level.campaign_spread == pytest.approx(math.sqrt(7 - 0.01))
    assert level.run_spread == pytest.approx(math.sqrt(0.02))


def test_versions_are_pooled_and_a_lone_campaign_of_one_says_nothing() -> None:
    level = memory_of_few([[logs(1.0), logs(3.0)], [logs(10.0), logs(14.0)], [logs(100.0)]])
    assert level is not None
    assert (level.campaigns, level.freedom, level.known_freedom, level.run_variance) == (4, 2, 0, 0.0)
    assert level.variance == pytest.approx((2 + 8) / 2), "the versions themselves differ, which does not count"


@pytest.mark.parametrize("versions", [[], [[logs(1.0, 2.0)]], [[logs(1.0)], [logs(2.0)]], [[logs(1.0), logs(1.0)]]])
def test_nothing_is_known_without_two_campaigns_that_differ(versions: list[list[list[float]]]) -> None:
    assert memory_of_few(versions) is None


def test_many_campaigns_are_no_few() -> None:
    """What two functions say of the same campaigns of one version is the same of what these differ by."""
    random = np.random.default_rng(2)
    runs = np.exp(0.02 * random.standard_normal((8, 1)) + 0.003 * random.standard_normal((8, 5))).tolist()
    many, few = memory_of([runs]), memory_of_few([runs])
    assert isinstance(many, Memory)
    assert few is not None
    assert few.freedom == many.freedom
    assert few.variance == pytest.approx(many.variance)


def test_the_difference_of_two_campaigns_has_twice_the_variance() -> None:
    """Runs that are no noisier than those of the campaigns add nothing; noisier or fewer ones add what is more."""
    of_runs = 2 * 0.00001 / 5
    error, freedom = with_memory_of_campaigns(np.sqrt(np.array(of_runs)), np.array(8.0), FEW)
    assert [float(error) ** 2, float(freedom)] == pytest.approx([0.0008, 3.0])
    error, freedom = with_memory_of_campaigns(np.sqrt(np.array(of_runs / 10)), np.array(8.0), FEW)
    assert [float(error) ** 2, float(freedom)] == pytest.approx([0.0008, 3.0]), "more runs are trusted no more"
    error, freedom = with_memory_of_campaigns(np.sqrt(np.array(of_runs + 0.001)), np.array(8.0), FEW)
    assert error**2 == pytest.approx(0.0018)
    assert freedom == 8, "no more than the runs themselves have, which may be all that there is"


def test_the_interval_of_a_row_is_that_of_its_campaigns_where_these_differ_more() -> None:
    old, new = logs(-0.001, 0, 0.001, 0.002, -0.002), logs(0.1, 0.101, 0.102, 0.099, 0.098)
    (alone,) = family([RowSamples(tuple(old), tuple(new))], 0.02, 0.95)
    (known,) = family([RowSamples(tuple(old), tuple(new))], 0.02, 0.95, [Remembered(FEW, True)])
    half = stats.t.ppf(0.975, 3) * math.sqrt(2 * 0.0004)
    assert known.ratio.low == pytest.approx(math.exp(0.1 - half))
    assert known.ratio.high == pytest.approx(math.exp(0.1 + half))
    assert known.ratio.value == alone.ratio.value
    assert known.ratio.level == pytest.approx(0.95)
    assert alone.ratio.low is not None
    assert alone.ratio.low > 1.09
    assert known.ratio.p == pytest.approx(2 * stats.t.sf(0.1 / math.sqrt(2 * 0.0004), 3))


def test_a_row_of_which_nothing_is_known_stays_as_it_is() -> None:
    random = np.random.default_rng(1)
    rows = [RowSamples(tuple(random.normal(100, 1, 6)), tuple(random.normal(100, 1, 6))) for _ in range(5)]
    level = Remembered(Memory(4, 0, 1e-13, 0.0, 16, 1e-12, 3, 0.2), True)
    alone = family(rows, 0.02, 0.95)
    assert family(rows, 0.02, 0.95, [None] * 5) == alone
    with_one = family(rows, 0.02, 0.95, [level, None, None, None, None])
    assert [result.ratio for result in with_one[1:]] == [result.ratio for result in alone[1:]]
    assert alone[0].ratio.low is not None
    assert with_one[0].ratio.low is not None
    assert with_one[0].ratio.low <= alone[0].ratio.low, "campaigns never make an interval shorter"


@pytest.mark.parametrize("campaigns", [3, 10])
def test_the_interval_covers_the_truth_as_often_as_it_says(campaigns: int) -> None:
    """One row, an effect of 3 % of each campaign: 600 tables, within three standard errors (2.7 points) of 95 %."""
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(600):
        effects = 0.03 * random.standard_normal((campaigns + 2, 1))
        runs = np.exp(effects + 0.003 * random.standard_normal((campaigns + 2, 5)))
        level = memory_of_few([runs[2:].tolist()])
        assert level is not None
        (result,) = family([RowSamples(tuple(runs[0]), tuple(runs[1]))], 0.02, 0.95, [Remembered(level, True)])
        assert result.ratio.low is not None
        assert result.ratio.high is not None
        covered += result.ratio.low <= 1 <= result.ratio.high
    assert 0.923 <= covered / 600 <= 0.977
