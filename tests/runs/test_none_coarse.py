"""What many logs say at once: which numbers may be coarse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perflog.evidence.witness import decimals_of
from perflog.runs.corroborate_many import none_coarse
from perflog.stats.centre import median
from tests.support import examples

PRINTED = st.one_of(
    st.builds(lambda number, digits: float(f"{number:.{digits}f}"), st.floats(0.0001, 1e6), st.integers(0, 8)),
    st.floats(1e-9, 1e18),
    st.integers(1, 10**15).map(float),
)


@settings(max_examples=examples(250), deadline=None)
@given(st.lists(PRINTED, min_size=1, max_size=16), st.sampled_from([0.002, 0.5]))
@pytest.mark.long
def test_numbers_that_are_not_coarse_by_their_decimals(numbers: list[float], share: float) -> None:
    if none_coarse(np.array([numbers, numbers[::-1]]), 4, share).any():
        decimals = decimals_of(numbers, 4)
        assert decimals is None or 0.5 * 10.0**-decimals / median(numbers) <= share


def test_by_their_digits() -> None:
    columns = [[820.73, 819.2], [1.5, 2.5], [12.0, 15.0], [0.28160, 0.28161], [0.0, 1.0], [float("nan"), 5.5555]]
    assert none_coarse(np.array(columns), 4, 0.002).tolist() == [True, False, False, True, False, False]
