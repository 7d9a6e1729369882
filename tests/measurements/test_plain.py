"""Plain logs for a whole batch at once: the same, to the last bit, as log by log; and what is not plain is left alone."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from perflog.formats.parser import Pattern
from perflog.measurements.plain import plain_batches, take_of_batch
from perflog.measurements.rows import Rows
from perflog.measurements.segment import Segment, Taken
from perflog.measurements.window import take
from perflog.settings.options import Amount, Window
from tests.measurements.support import (
    ELAPSED,
    MEAN_RATE,
    MEAN_TIME,
    NAN,
    RATE,
    STEP_TIME,
    TOKENS,
    column,
    pattern,
    segment_of,
    stored,
)
from tests.support import examples

STAMP = {"group": "timestamp", "quantity": "timestamp", "unit": "s"}
INTERVAL_TIME = {"group": "block", "quantity": "interval_time", "unit": "s"}
DATA = {"group": "data", "quantity": "metric", "metric": "data_time"}
PLAIN_WINDOW = Window(Amount(0))
#: Every way in which a line's numbers are measured; ``n`` lines of one step each are plain under all of them.
PATTERNS: Mapping[str, Pattern] = {
    "rate": pattern("step ips"),
    "rate of epochs": pattern("epoch step ips", step_per="epoch"),
    "rate from step 0": pattern("step ips", step_base=0),
    "last of several": pattern("step ips ms", RATE, {**STEP_TIME, "span": "last"}),
    "window": pattern("step ips", {**RATE, "span": "window", "window": 4}),
    "tokens by time": pattern("step tps ms", TOKENS, STEP_TIME),
    "batch on the line": pattern("step ms global_batch_size loss", STEP_TIME),
    "mean rate": pattern("epoch step ips", {**MEAN_RATE, "since": "epoch"}, step_per="epoch"),
    "mean time, some left out": pattern("step ms", {**MEAN_TIME, "offset": 2}),
    "mean with a batch": pattern("step ms global_batch_size", MEAN_TIME),
    "clock": pattern("step clock", ELAPSED),
    "a part of the time": pattern("step ms data", {**STEP_TIME, "unit": "s"}, DATA),
    "time between lines": pattern("step block", INTERVAL_TIME),
}


def columns_of(made: Pattern, texts: Sequence[Sequence[Mapping[str, float]]]) -> dict[str, np.ndarray]:
    return {
        group: np.array([row.get(group, NAN) for rows in texts for row in rows], dtype=np.float64)
        for group in made.groups
    }


def plain(
    made: Pattern,
    texts: Sequence[Sequence[Mapping[str, float]]],
    as_printed: bool = False,
    window: Window | None = None,
) -> dict[int, Segment]:
    """The segments of the texts that are plain; each is a sequence of lines, and a line's numbers stand by group."""
    text = np.repeat(np.arange(len(texts)), [len(rows) for rows in texts])
    lines = np.concatenate([np.arange(1, len(rows) + 1) for rows in texts]).astype(np.int64)
    segments: dict[int, Segment] = {}
    for batch in plain_batches(
        made, text, lines, columns_of(made, texts), as_printed, np.zeros(len(texts), dtype=bool)
    ):
        if window is not None:
            take_of_batch(batch, window, "total", doubts=True)
        segments |= dict(zip(batch.texts.number.tolist(), batch.segments, strict=True))
    return segments


def general(made: Pattern, rows: Sequence[Mapping[str, float]], as_printed: bool = False) -> Segment:
    lines = np.arange(1, len(rows) + 1, dtype=np.int64)
    return segment_of(made, Rows(lines, columns_of(made, [rows])), as_printed=as_printed)


def bits(values: Iterable[float]) -> list[bytes]:
    return [struct.pack("<d", value) for value in values]


def seen(segment: Segment) -> tuple[Any, ...]:
    """All that counts of a segment, floats as their bits."""
    last = {name: (struct.pack("<d", value), line) for name, (value, line) in segment.last.items()}
    bounds = segment.first_line, segment.last_line, segment.refused
    return bits(stored(segment).ravel()), bounds, last, segment.basis, segment.tally, segment.count


def seen_of(result: Taken) -> tuple[Any, ...]:
    e = result.estimate
    metrics = tuple(mean._replace(value=0.0) for mean in result.metrics)
    rest = result._replace(estimate=e._replace(value=0.0, covers=0.0, time=0.0, work=0.0), metrics=metrics)
    return rest, bits((e.value, e.covers, e.time, e.work, *(mean.value for mean in result.metrics)))


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, float]]:
    """A log's lines: mostly regular, sometimes with what makes it another path's."""
    interval = draw(st.sampled_from([1, 1, 1, 5]))
    step = draw(st.sampled_from([0, 0, 0, interval, 1 - interval % 2, 500]))
    epoch, clock = 1, draw(st.sampled_from([0.0, 3.5]))
    number = st.floats(0.5, 2000, allow_nan=False) if draw(st.booleans()) else st.sampled_from([1.0, 1.1, 3.0])
    odd = draw(st.sampled_from(["", "", "", "", "gap", "epoch", "twice", "back", "number"]))
    lacking = draw(st.sampled_from(["", "", "", "ips", "ms"]))
    count = draw(st.integers(1, 32))
    strange = draw(st.integers(0, count - 1))
    rows = []
    for place in range(count):
        step += interval
        if place == strange and odd in ("gap", "epoch", "back"):
            epoch, step = (
                (epoch + 1, interval)
                if odd == "epoch"
                else (epoch, step + {"gap": interval, "back": -2 * interval}[odd])
            )
        clock += draw(number)
        row = {
            "epoch": epoch,
            "step": step,
            "clock": clock,
            "global_batch_size": draw(st.sampled_from([32.0, 32.0, 33.0])),
        }
        row |= {group: draw(number) for group in ("ips", "tps", "ms", "block")}
        row["data"] = draw(st.sampled_from([0.0, 0.25, NAN, -1.0]))
        if place % 3:
            row["loss"] = draw(number)
        row.pop(lacking, None)
        if place == strange and odd == "number":
            group = draw(st.sampled_from(["ips", "ms", "tps", "clock", "step", "epoch", "global_batch_size"]))
            row[group] = draw(st.sampled_from([NAN, 0.0, -1.0, float("inf")]))
        rows.append(row)
        if place == strange and odd == "twice":
            rows.append(dict(row))
    return rows


WINDOWS = st.builds(
    lambda unit, warmup, steps: Window(Amount(warmup, unit), None if steps is None else Amount(steps, unit)),
    st.sampled_from(["steps", "records"]),
    st.sampled_from([0, 1, 3, 5, 7, 20]),
    st.sampled_from([None, None, 1, 5, 10, 24]),
)


@pytest.mark.parametrize("name", PATTERNS)
@settings(max_examples=examples(10), deadline=None)
@given(texts=st.lists(logs(), min_size=1, max_size=5), as_printed=st.booleans(), window=WINDOWS)
@pytest.mark.long
def test_plain_is_the_same_as_log_by_log(
    name: str, texts: list[list[dict[str, float]]], as_printed: bool, window: Window
) -> None:
    made = PATTERNS[name]
    segments = plain(made, texts, as_printed, window)
    event(f"{bool(segments)} plain")
    for text, segment in segments.items():
        other = general(made, texts[text], as_printed)
        assert seen(segment) == seen(other)
        if segment.taken is not None:
            assert seen_of(segment.taken) == seen_of(take(other, window, "total", 1.0))
        else:
            assert take(other, window, "total", 1.0).reason


def lines(*steps: float, **columns: Sequence[float]) -> list[dict[str, float]]:
    """One line a step; groups that are not named print 1, 2, 3 …"""
    return [
        {group: float(place + 1) for group in ("ips", "ms", "tps", "clock", "block", "global_batch_size")}
        | {"epoch": 1.0, "step": step}
        | {group: numbers[place] for group, numbers in columns.items()}
        for place, step in enumerate(steps)
    ]


@pytest.mark.parametrize("name", PATTERNS)
def test_what_is_plain_is_taken(name: str) -> None:
    first = 1 - PATTERNS[name].step_base
    steps = [step - first for step in range(1 + 2, 9)] if name == "mean time, some left out" else range(1 - first, 9)
    if name == "mean time, some left out":
        steps = range(1, 9)  # the mean of no step is unknown: the general path
        assert plain(PATTERNS[name], [lines(*steps)]) == {}
        steps = range(5, 45, 5)
    assert list(plain(PATTERNS[name], [lines(*steps), lines(*steps)], window=PLAIN_WINDOW)) == [0, 1]


def test_the_measurements_of_plain_logs() -> None:
    segments = plain(PATTERNS["rate"], [lines(10, 20, 30), lines(1, 2), lines(10, 20)], window=Window(Amount(10)))
    assert sorted(segments) == [0, 1, 2]
    first = segments[0]
    assert column(first, "time") == [10, 5, 10 / 3]
    assert (column(first, "end"), column(first, "start"), column(first, "line")) == (
        [10, 20, 30],
        [0, 10, 20],
        [1, 2, 3],
    )
    assert first.taken is not None
    assert (first.taken.estimate.value, first.taken.excluded) == (20 / (5 + 10 / 3), {"warm-up": 1})
    assert segments[1].taken is None  # two steps, ten of warm-up
    assert column(segments[2], "time") == [10, 5]


IRREGULAR: Mapping[str, list[dict[str, float]]] = {
    "one line": lines(1),
    "a gap": lines(1, 2, 4),
    "a step twice": lines(1, 2, 2),
    "steps that go back": lines(3, 2, 1),
    "a new epoch": lines(1, 2, 1, epoch=[1, 1, 2]),
    "no step": lines(1, NAN, 3),
    "no epoch": lines(1, 2, 3, epoch=[1, NAN, 1]),
    "no epoch at all": lines(1, 2, 3, epoch=[NAN] * 3),
    "a number that lacks once": lines(1, 2, 3, ips=[1, NAN, 3]),
    "a number that lacks everywhere": lines(1, 2, 3, ips=[NAN] * 3),
    "no rate": lines(1, 2, 3, ips=[1, 0, 3]),
    "a negative rate": lines(1, 2, 3, ips=[1, -1, 3]),
    "an infinite rate": lines(1, 2, 3, ips=[1, float("inf"), 3]),
    "a step before the first": lines(0, 1, 2),
}


@pytest.mark.parametrize("why", IRREGULAR)
def test_what_is_not_plain_is_never_taken(why: str) -> None:
    made = PATTERNS["rate of epochs"]
    texts = [lines(1, 2, 3), IRREGULAR[why], lines(1, 2, 3, 4)]
    assert list(plain(made, texts)) == [0, 2]
    assert plain(made, [IRREGULAR[why]]) == {}


@pytest.mark.parametrize("name", ["mean rate", "mean time, some left out", "mean with a batch", "clock"])
def test_running_values_of_resumed_runs_are_not_plain(name: str) -> None:
    assert plain(PATTERNS[name], [lines(1010, 1020, 1030)]) == {}
    assert list(plain(PATTERNS["rate"], [lines(1010, 1020, 1030)])) == [0]


@pytest.mark.parametrize(
    "made",
    [
        pattern("step rank ips"),
        pattern("ips"),
        pattern("step covers ips"),
        pattern("first_step step ips"),
        pattern("step ips", step_repeats=True),
        replace(pattern("step ips"), position="p"),
        replace(pattern("step ips"), position_once=True),
        replace(pattern("step ips"), role="position"),
        pattern("step timestamp", STAMP),
    ],
)
def test_patterns_of_which_no_log_is_plain(made: Pattern) -> None:
    rows = [
        {"step": n, "ips": 5.0, "rank": 0.0, "covers": 1.0, "first_step": n - 1, "timestamp": n}
        for n in (1.0, 2.0, 3.0)
    ]
    assert plain(made, [rows]) == {}


def test_no_rows_and_no_value_to_measure() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert (
        list(
            plain_batches(
                PATTERNS["rate"],
                nothing,
                nothing,
                {"step": np.empty(0), "ips": np.empty(0)},
                False,
                np.zeros(0, dtype=bool),
            )
        )
        == []
    )
    assert plain(PATTERNS["rate"], [lines(1, 2, ips=[NAN, NAN])]) == {}


def test_clocks_as_printed_take_the_general_path() -> None:
    assert list(plain(PATTERNS["clock"], [lines(1, 2, 3)])) == [0]
    assert plain(PATTERNS["clock"], [lines(1, 2, 3)], as_printed=True) == {}


def test_logs_of_one_pattern_may_differ_in_what_they_measure() -> None:
    both, time_only = lines(1, 2, 3), lines(1, 2, 3, ips=[NAN] * 3)
    segments = plain(PATTERNS["last of several"], [both, time_only, lines(5, 10)])
    groups = {text: segment.basis.value.group for text, segment in segments.items() if segment.basis}
    assert groups == {0: "ms", 1: "ms", 2: "ips"}


@pytest.mark.parametrize(
    ("window", "estimator"),
    [
        (PLAIN_WINDOW, "mean"),
        (Window(last=Amount(2)), "total"),
        (Window(Amount(0, "s")), "total"),
        (Window(Amount(0, "epochs")), "total"),
        (Window(Amount(0, "auto")), "total"),
        (Window(Amount(10, "%")), "total"),
        (Window(Amount(0), Amount(2, "records")), "total"),
    ],
)
def test_windows_that_are_not_taken_for_a_batch(window: Window, estimator: str) -> None:
    made, texts = PATTERNS["rate"], [lines(1, 2, 3)]
    text, number = np.zeros(3, dtype=np.int64), np.arange(1, 4)
    (batch,) = plain_batches(made, text, number, columns_of(made, texts), False, np.zeros(len(texts), dtype=bool))
    take_of_batch(batch, window, estimator, doubts=True)
    assert [segment.taken for segment in batch.segments] == [None]


def test_a_batch_without_plain_logs_is_left_alone() -> None:
    made = PATTERNS["rate"]
    text, number = np.zeros(3, dtype=np.int64), np.arange(1, 4)
    for batch in plain_batches(
        made, text, number, columns_of(made, [lines(1, 2, 3, ips=[1, 0, 3])]), False, np.zeros(1, dtype=bool)
    ):
        take_of_batch(batch, PLAIN_WINDOW, "total", doubts=True)
        assert batch.segments == []


@pytest.mark.parametrize("last", [0.0, 10.0])
def test_plain_logs_whose_measured_time_is_none_are_left_to_the_general_path(last: float) -> None:
    made, rows = PATTERNS["mean with a batch"], lines(10, 20, ms=[1000, last * 50])
    window = Window(Amount(10))  # running means: 10 s in all, then none or 10 s in all again
    (segment,) = plain(made, [rows], window=window).values()
    assert segment.taken is None
    assert take(segment, window, "total", 1.0).reason == "the measured time is zero or negative"


def test_a_doubt_is_said_of_plain_logs_too() -> None:
    made = PATTERNS["rate"]
    slow = lines(*range(1, 41), ips=[1] * 5 + [3] * 35)
    steady = lines(*range(1, 41), ips=[3] * 40)
    taken = [segment.taken for segment in plain(made, [slow, steady], window=PLAIN_WINDOW).values()]
    assert [bool(part and part.doubt) for part in taken] == [True, False]
