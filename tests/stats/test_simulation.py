"""A small share of ``tests.tools.simulate_compare``: the figures of tests/found/compare.md stay what they are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import ROOT
from tests.tools.simulate_compare import NOISES, SIMULATION, coverage, false_alarms


@pytest.mark.parametrize("run_spread", [0.005, 0.01, 0.02])
def test_identical_versions_raise_few_alarms(run_spread: float) -> None:
    """Exactly 3.2 % by the test: 700 comparisons give 5 % (35) or more with a probability below one in a hundred."""
    got = false_alarms(np.random.default_rng(12), run_spread, rho=0.3, repeats=700)
    assert got["runs"] <= 0.05
    assert got["rounded"] <= 0.05
    assert got["verdict"] <= 0.01
    assert got["steps"] > 0.4  # steps taken as if they were independent


@pytest.mark.parametrize("noise", sorted(NOISES))
@pytest.mark.parametrize(("n", "level"), [(5, 0.9683), (6, 0.9589), (8, 0.9501), (10, 0.9567)])
def test_intervals_hold_the_true_ratio(noise: str, n: int, level: float) -> None:
    """The standard error of 50,000 intervals is 0.1 points."""
    assert coverage(np.random.default_rng(13), NOISES[noise], n, 50_000) == pytest.approx(level, abs=0.004)


def test_the_page_has_the_tables_of_the_simulation() -> None:
    text = (ROOT / SIMULATION.page).read_text(encoding="utf-8")
    tables = text.partition(SIMULATION.start)[2].partition(SIMULATION.end)[0]
    for heading in ("False alarms", "Coverage", "Warm-up", "Notes"):
        assert f"### {heading}" in tables
