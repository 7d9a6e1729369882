"""What is asked of all measurements of a log is asked block by block: a log may have millions of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.evidence.survey import middle_rate
from perflog.runs.reported import _lines_between

LINES = st.lists(st.integers(1, 60), max_size=30).map(sorted)


@given(LINES, st.lists(st.integers(1, 60), max_size=5).map(sorted), st.integers(0, 5), st.integers(1, 7))
def test_measurements_between_the_lines_of_epochs(lines: list[int], facts: list[int], begin: int, size: int) -> None:
    blocks = [np.zeros((7, len(lines[at : at + size]))) for at in range(0, len(lines), size)]
    for number, block in enumerate(blocks):
        block[5] = lines[number * size : (number + 1) * size]
    segment = SimpleNamespace(store=SimpleNamespace(blocks=lambda: iter(blocks)))
    found = _lines_between(segment, begin, [SimpleNamespace(line=line) for line in facts])  # type: ignore[arg-type,misc]
    before = [begin, *facts][: len(facts)]
    assert found == [sum(low < line < high for line in lines) for low, high in zip(before, facts, strict=True)]


@given(st.lists(st.sampled_from([1.0, 2.0, 3.5, -1.0, 0.0, np.inf, np.nan]), max_size=12))
def test_the_median_of_usable_rates(rates: list[float]) -> None:
    usable = [rate for rate in rates if np.isfinite(rate) and rate > 0]
    expected = float(np.median(usable)) if len(usable) >= 5 else np.nan
    assert middle_rate(np.array(rates)) == pytest.approx(expected, nan_ok=True, rel=1e-15)
