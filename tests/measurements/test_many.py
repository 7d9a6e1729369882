"""Arithmetic on many logs at once: by hand, and the compiled library against numpy, to the last bit."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perflog.matching import library
from perflog.measurements import plain as many

NAN, INF = math.nan, math.inf


@pytest.fixture(params=["library", "numpy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "numpy":
        monkeypatch.setattr(many, "available", lambda: "it is not here")
    elif library.available():
        pytest.skip(library.available())
    yield request.param


def places(*counts: int) -> tuple[np.ndarray, np.ndarray]:
    count = np.array(counts, dtype=np.int64)
    return np.cumsum(count) - count, count


@pytest.mark.usefixtures("way")
def test_which_logs_are_regular() -> None:
    logs = {
        (1.0, 2.0, 3.0): (1, True),
        (10.0, 20.0): (10, True),
        (5.0,): (0, False),
        (1.0, 2.0, 4.0): (1, False),
        (3.0, 2.0, 1.0): (-1, False),
        (1.0, NAN, 3.0): (NAN, False),
        (INF, INF): (NAN, False),
        (-INF, 1.0): (INF, False),
        (2.0, 2.0): (0, False),
    }
    first, count = places(*(len(steps) for steps in logs))
    step = np.array([number for steps in logs for number in steps])
    interval, finite = many.regular(first, count, step, None, [])
    np.testing.assert_array_equal(interval, [between for between, _ in logs.values()])
    assert finite.tolist() == [0 if good else -1 for _, good in logs.values()]


@pytest.mark.usefixtures("way")
def test_an_epoch_and_the_columns_of_a_regular_log() -> None:
    first, count = places(2, 2, 2, 2)
    step = np.array([1.0, 2.0] * 4)
    full, none, half = np.ones(8), np.full(8, NAN), np.array([1.0] * 7 + [INF])
    epoch = np.array([0.0, 0, 1, 2, NAN, NAN, 3, 3])
    assert many.regular(first, count, step, epoch, [])[1].tolist() == [0, -1, -1, 0]
    assert many.regular(first, count, step, None, [full, none, half])[1].tolist() == [5, 5, 5, -1]


def bits(values: list[float]) -> list[bytes]:
    return [struct.pack("<d", value) for value in values]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("count", [*range(20), 127, 128, 129, 136, 255, 256, 257, 1000, 5003])
def test_sums_are_numpys(count: int) -> None:
    values = np.random.default_rng(count).lognormal(0, 9, count + 2)
    low, high = np.array([1, 0, 2]), np.array([count + 1, count, count + 2])
    expected = [float(values[begin:end].sum()) for begin, end in zip(low, high, strict=True)]
    assert bits(many.sums(values, low, high)) == bits(expected)


@pytest.mark.usefixtures("way")
def test_the_smallest_and_the_largest_rate_to_the_end() -> None:
    first, count = places(3, 1, 4)
    work, time = np.array([1.0, 3, 2, 5, 1, 1, 1, 1]), np.array([1.0, 1, 2, 2, 4, 2, 1, 1])
    smallest, largest = many.rates_to_end(first, count, work, time)
    assert smallest.tolist() == [6 / 4, 5 / 2, 4 / 8]  # of the first rows and the middle one
    assert largest.tolist() == [5 / 3, 5 / 2, 2 / 2]


NUMBERS = st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0, 10.0, -1.0, 1e300, NAN, INF, -INF])


@settings(max_examples=200)
@given(st.lists(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=6), min_size=1, max_size=4))
def test_the_library_decides_as_numpy_does(logs: list[list[tuple[float, float, float]]]) -> None:
    if library.available():
        pytest.skip(library.available())
    first, count = places(*(len(log) for log in logs))
    step, epoch, other = (np.array([row[place] for log in logs for row in log]) for place in range(3))
    interval, finite = many.regular(first, count, step, epoch, [other, epoch])
    expected_interval, expected = many._regular_by_numpy(first, count, step, epoch, [other, epoch])
    assert finite.tolist() == expected.tolist()
    np.testing.assert_array_equal(interval[finite >= 0], expected_interval[finite >= 0])
