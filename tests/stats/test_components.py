"""Steps or runs: components of variance by hand, and of simulated runs that differ or do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from perflog.stats.components import components
from tests.tools.simulate_compare import step_times


def test_components_by_hand() -> None:
    """Runs of four steps in two batches: (1, 1, 3, 3) and (5, 5, 7, 7) have means 2 and 6, each with variance 1."""
    parts = components([[1.0, 1, 3, 3], [5.0, 5, 7, 7]])
    assert parts is not None
    assert parts.step_share == pytest.approx(1 / 8)
    assert parts.run_variation == pytest.approx(math.sqrt(7) / 4)
    assert parts.step_variation == pytest.approx(1 / 4)
    assert parts.advice == "steps account for 12 % of the variance between runs: more runs help, more steps do not"


def shares(random: np.random.Generator, run_spread: float) -> NDArray[np.float64]:
    made = (components(list(step_times(random, 5, 200, run_spread))) for _ in range(60))
    return np.array([parts.step_share for parts in made if parts])


def test_runs_that_differ_or_not_are_told_apart() -> None:
    random = np.random.default_rng(7)
    assert np.median(shares(random, 0.0)) > 0.5
    assert np.median(shares(random, 0.01)) < 0.1


def test_components_of_odd_runs() -> None:
    assert components([]) is None
    assert components([[1.0] * 10]) is None
    assert components([[1.0] * 10, [1.0] * 3]) is None
    assert components([[1.0] * 10, [math.nan] * 10]) is None
    assert components([[0.0] * 10, [0.0] * 10]) is None
    same = components([[1.0] * 10, [1.0] * 10])
    assert same is not None and (same.step_share, same.run_variation) == (0, 0)
    alike = components([[1.0, 2.0] * 2 + [2.0, 3.0] * 2] * 2)
    assert alike is not None and alike.step_share == 1
    assert "more steps per run help" in alike.advice


def test_an_incomplete_batch_is_left_out_at_the_start() -> None:
    """Of five steps two batches of two are the last four; the mean is of all five."""
    parts = components([[9.0, 1, 1, 3, 3], [9.0, 1, 1, 3, 3]])
    assert parts is not None
    assert parts.runs == 2
    assert parts.step_variation == pytest.approx(1 / 3.4)
