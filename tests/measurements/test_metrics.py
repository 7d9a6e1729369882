"""Printed metrics: their mean over the throughput's window, weighted by the time of each measurement."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from perflog.formats.parser import Pattern
from perflog.measurements import rows as store
from perflog.measurements.estimate import Mean
from perflog.measurements.rows import FIELDS
from perflog.measurements.segment import Taken
from perflog.measurements.window import take
from perflog.settings.options import Amount, Window
from tests.measurements.support import NAN, STEP_TIME, pattern, rows, segment_of, stored

TFLOPS = {"group": "tf", "quantity": "metric", "metric": "tflops_per_device", "unit": "TFLOP/s"}
MFU = {"group": "mfu", "quantity": "metric", "metric": "mfu", "unit": "%"}
MADE = pattern("step ms tf mfu", STEP_TIME, TFLOPS, MFU)
GROUPS = "step ms tf mfu"
#: The first step is slow. Behind it 100, 300 and 100 ms at 30, 10 and 50 TFLOP/s: (3 + 3 + 5) / 0.5 s = 22.
LINES = [(1, 900, 2, 1), (2, 100, 30, 40), (3, 300, 10, NAN), (4, 100, 50, 20)]


def taken(made: Pattern, *blocks: Sequence[tuple[float, ...]], groups: str = GROUPS, warmup: int = 1) -> Taken:
    line, parts = 1, []
    for block in blocks:
        parts.append(rows(groups, *block, line=line))
        line += len(block)
    return take(segment_of(made, *parts), Window(warmup=Amount(warmup)), "total", 1.0)


def test_a_mean_is_weighted_by_time_and_taken_over_the_window_alone() -> None:
    tflops, mfu = taken(MADE, LINES).metrics
    assert tflops == pytest.approx((22, 3, 0, 2, 4), rel=1e-12)
    assert mfu == pytest.approx((30, 2, 1, 2, 4), rel=1e-12)  # (40 × 0.1 + 20 × 0.1) / 0.2, the NaN left out


def test_an_estimator_of_rates_changes_no_metric() -> None:
    segment = segment_of(MADE, rows(GROUPS, *LINES))
    assert take(segment, Window(warmup=Amount(1)), "median", 1.0).metrics[0].value == pytest.approx(22, rel=1e-12)


@pytest.mark.parametrize("cuts", [(1,), (2,), (3,), (1, 2, 3)])
def test_blocks_of_any_size_give_the_same(cuts: tuple[int, ...]) -> None:
    bounds = [0, *cuts, len(LINES)]
    blocks = [LINES[low:high] for low, high in pairwise(bounds)]
    for part, whole in zip(taken(MADE, *blocks).metrics, taken(MADE, LINES).metrics, strict=True):
        assert part == pytest.approx(whole, rel=1e-12)


def test_what_left_memory_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = taken(MADE, LINES[:2], LINES[2:])
    monkeypatch.setattr(store, "IN_MEMORY", 0)
    assert taken(MADE, LINES[:2], LINES[2:]) == whole


@pytest.mark.parametrize("unknown", [-100.0, 0.0, float("inf"), NAN])
def test_what_is_no_positive_number_is_left_out(unknown: float) -> None:
    lines = [(1, 100, 30, unknown), (2, 100, 30, 40)]
    assert taken(MADE, lines, warmup=0).metrics[1] == pytest.approx((40, 1, 1, 2, 2))


def test_where_no_line_has_a_number_there_is_no_mean() -> None:
    tflops, mfu = taken(MADE, [(1, 100, 30, NAN), (2, 100, 30, NAN)], warmup=0).metrics
    assert (mfu.used, mfu.unusable, mfu.value != mfu.value, tflops.used) == (0, 2, True, 2)


def test_a_group_that_a_log_never_prints_has_no_mean() -> None:
    (tflops, mfu) = taken(MADE, [(1, 100, 30), (2, 100, 30)], groups="step ms tf", warmup=0).metrics
    assert (tflops.used, mfu.used) == (2, 0)


def test_lines_that_are_no_measurement_have_no_weight() -> None:
    tflops, _ = taken(MADE, [(1, 100, 30, 1), (2, NAN, 1000, 1), (3, 100, 50, 1)], warmup=0).metrics
    assert tflops == pytest.approx((40, 2, 0, 1, 3))


def test_the_measurements_are_as_without_metrics() -> None:
    plain = segment_of(pattern("step ms", STEP_TIME), rows("step ms", *(line[:2] for line in LINES)))
    segment = segment_of(MADE, rows(GROUPS, *LINES))
    (table,) = segment.store.blocks()
    assert table[: len(FIELDS)].tolist() == stored(plain).tolist()
    assert table.shape == (len(FIELDS) + 2, 4)


def test_a_short_log_has_no_mean() -> None:
    assert taken(MADE, LINES, warmup=4).metrics == ()


@pytest.mark.parametrize(
    ("more", "counts"),
    [
        ({"unit": "TFLOP/s"}, True),
        ({"unit": "%"}, True),
        ({"unit": "fraction"}, True),
        ({"unit": "tokens/s"}, True),
        ({"unit": "s"}, False),  # a time: its mean weighted by time is none
        ({}, False),  # nothing says what it is
        ({"unit": "tokens/s", "span": "cumulative"}, False),  # a mean of running means is none
    ],
)
def test_a_mean_over_time_is_taken_of_shares_and_rates_alone(more: dict[str, str], counts: bool) -> None:
    made = pattern("step ms x", STEP_TIME, {"group": "x", "quantity": "metric", "metric": "x_of_y", **more})
    assert (len(made.printed_means) == 1) is counts
    assert made.plain is not counts  # many logs at once are measured without metrics


def test_a_part_of_a_steps_time_is_kept_as_its_share_with_every_zero() -> None:
    """Steps of 1 s and 0.1 s with 0.5 s and nothing of it: half a second in 1.1, whatever their weights."""
    part = {"group": "data", "quantity": "metric", "metric": "data_time", "unit": "s"}
    step = {"group": "s", "quantity": "step_time", "unit": "s"}
    made = pattern("step s data", step, part)
    (share,) = taken(made, [(1, 1.0, 0.5), (2, 0.1, 0.0)], groups="step s data", warmup=0).metrics
    assert share == pytest.approx((0.5 / 1.1, 2, 0, 1, 2), rel=1e-12)
    (lacking,) = taken(made, [(1, 1.0, 0.5), (2, 0.1, NAN), (3, 1.0, -1.0)], groups="step s data", warmup=0).metrics
    assert lacking == pytest.approx((0.5, 1, 2, 1, 1), rel=1e-12)


def test_a_mean_of_nothing_is_no_number() -> None:
    assert Mean().value != Mean().value
