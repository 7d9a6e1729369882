"""Which logs of many are plain, by hand."""

from __future__ import annotations

import math

import numpy as np

from perflog.measurements import plain

NAN, INF = math.nan, math.inf


def places(*counts: int) -> tuple[np.ndarray, np.ndarray]:
    count = np.array(counts, dtype=np.int64)
    return np.cumsum(count) - count, count


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
    interval, finite = plain._regular(first, count, step, None, [])
    np.testing.assert_array_equal(interval, [between for between, _ in logs.values()])
    assert finite.tolist() == [0 if good else -1 for _, good in logs.values()]


def test_an_epoch_and_the_columns_of_a_regular_log() -> None:
    first, count = places(2, 2, 2, 2)
    step = np.array([1.0, 2.0] * 4)
    full, none, half = np.ones(8), np.full(8, NAN), np.array([1.0] * 7 + [INF])
    epoch = np.array([0.0, 0, 1, 2, NAN, NAN, 3, 3])
    assert plain._regular(first, count, step, epoch, [])[1].tolist() == [0, -1, -1, 0]
    assert plain._regular(first, count, step, None, [full, none, half])[1].tolist() == [5, 5, 5, -1]
