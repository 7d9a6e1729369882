"""What step lines tell of the steps and the work of an epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from perflog.matching.matches import Samples
from perflog.reading.tracks import work_of_a_step
from tests.measurements.support import RATE, STEP_TIME, pattern

OF_TEN: dict[str, Any] = {"span": "window", "window": 10}


@pytest.mark.parametrize(
    ("rate", "time", "work"),
    [
        ({}, {}, 64),
        (OF_TEN, OF_TEN, 64),
        (OF_TEN, {"span": "window", "window": 50}, None),
        ({"span": "cumulative"}, {"span": "cumulative", "since": "epoch"}, None),
    ],
)
def test_the_work_of_a_step_is_rate_times_time_over_the_same_steps(
    rate: dict[str, Any], time: dict[str, Any], work: float | None
) -> None:
    """32 samples/s and 2,000 ms on each of four lines; of means over other steps the product tells nothing."""
    made = pattern("step ips ms", {**RATE, **rate}, {**STEP_TIME, **time})
    columns = {"ips": np.full(4, 32.0), "ms": np.full(4, 2000.0)}
    samples = Samples(np.arange(1, 5), (b"",) * 4, (0,) * 4, columns)
    assert work_of_a_step([made], {made.key: [samples]}) == work
