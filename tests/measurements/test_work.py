"""Each quantity and unit to work and time, and which value of a line is taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from perflog.measurements.basis import Basis, choose_basis, running_totals, work_and_time
from tests.measurements.support import (
    ELAPSED,
    MEAN_RATE,
    NAN,
    RATE,
    STEP_TIME,
    TOKENS,
    column,
    pattern,
    rows,
    segment_of,
)

COVERS = np.array([10.0, 20.0])
STEPS_RATE = {"group": "sps", "quantity": "rate", "unit": "it/s"}
INTERVAL_TIME = {"group": "block", "quantity": "interval_time", "unit": "s"}
SAMPLES = {"group": "n", "quantity": "samples", "unit": "tokens"}
WINDOW = {**RATE, "span": "window", "window": 20}
LAST = {**RATE, "span": "last"}


def basis_of(
    *values: dict[str, Any], every_step: bool = True, as_printed: bool = False, **columns: float
) -> Basis | None:
    groups = " ".join(value["group"] for value in values)
    made = pattern(f"step {groups}", *values)
    numbers = {
        name: np.array([number]) for name, number in ({value["group"]: 1.0 for value in values} | columns).items()
    }
    return choose_basis(made, numbers, every_step, 1.0 if every_step else 10.0, as_printed)


def worked(basis: Basis | None, **columns: float) -> list[list[float]]:
    assert basis is not None
    return [
        list(np.broadcast_to(part, 2))
        for part in work_and_time(basis, {k: np.full(2, v) for k, v in columns.items()}, COVERS)
    ]


@pytest.mark.parametrize(
    ("value", "printed", "work", "time"),
    [
        (RATE, 5, [10, 20], [2, 4]),  # for one sample a step: ten steps at five a second
        ({**RATE, "unit": "Ktokens/s"}, 5, [10, 20], [0.002, 0.004]),
        ({**RATE, "unit": "samples/min"}, 300, [10, 20], [2, 4]),
        ({**RATE, "unit": ""}, 5, [10, 20], [2, 4]),  # the line says its unit
        ({**RATE, "unit": "it/s"}, 5, [10, 20], [2, 4]),
        ({"group": "ips", "quantity": "step_time", "unit": "ms"}, 500, [10, 20], [5, 10]),
        ({"group": "ips", "quantity": "step_time", "unit": "min"}, 0.5, [10, 20], [300, 600]),
        ({"group": "ips", "quantity": "step_time"}, 3, [10, 20], [30, 60]),
        ({"group": "ips", "quantity": "interval_time", "unit": "s"}, 7, [10, 20], [7, 7]),
        ({"group": "ips", "quantity": "interval_time", "unit": "h"}, 2, [10, 20], [7200, 7200]),
    ],
)
def test_work_and_time(value: dict[str, Any], printed: float, work: list[float], time: list[float]) -> None:
    made = pattern("step ips unit", value)
    assert worked(Basis(made.values[0]), ips=printed) == [work, time]


def test_tokens_are_weighed_by_the_time_of_the_same_steps() -> None:
    # 1000 tokens/s over ten steps of 0.5 s: 5000 tokens in 5 s
    assert worked(basis_of(TOKENS, STEP_TIME), tps=1000, ms=500) == [[5000, 10000], [5, 10]]
    assert worked(basis_of(TOKENS, INTERVAL_TIME), tps=1000, block=7) == [[7000, 7000], [7, 7]]
    assert worked(basis_of(TOKENS, STEPS_RATE), tps=1000, sps=2) == [[5000, 10000], [5, 10]]


def test_work_on_the_line_says_the_time() -> None:
    # 4000 tokens a step at 1000 tokens/s: 4 s a step
    assert worked(basis_of(TOKENS, SAMPLES), tps=1000, n=4000) == [[40000, 80000], [40, 80]]
    assert worked(basis_of(RATE, SAMPLES), ips=100, n=50) == [[500, 1000], [5, 10]]


def test_a_batch_on_the_line_is_the_work_of_a_step() -> None:
    assert worked(basis_of(STEP_TIME, global_batch_size=32), ms=500, global_batch_size=32) == [[320, 640], [5, 10]]
    assert worked(basis_of(INTERVAL_TIME, global_batch_size=32), block=9, global_batch_size=32) == [[320, 640], [9, 9]]
    assert worked(basis_of(RATE, global_batch_size=32), ips=5, global_batch_size=32) == [[10, 20], [2, 4]]


def test_clocks_have_no_work_of_their_own() -> None:
    with pytest.raises(ValueError, match="elapsed is cumulative"):
        worked(basis_of(ELAPSED), clock=5)


@pytest.mark.parametrize(
    ("value", "totals"),
    [
        (MEAN_RATE, [2, 4]),
        ({**MEAN_RATE, "unit": "Ktokens/s"}, [0.002, 0.004]),
        ({**MEAN_RATE, "quantity": "step_time", "unit": "ms"}, [0.05, 0.1]),
        ({**MEAN_RATE, "quantity": "elapsed", "unit": "min"}, [300, 300]),
    ],
)
def test_running_totals(value: dict[str, Any], totals: list[float]) -> None:
    made = pattern("step ips", value)
    assert running_totals(Basis(made.values[0]), {"ips": np.full(2, 5.0)}, COVERS).tolist() == totals


def chosen(*values: dict[str, Any], **more: Any) -> str:
    basis = basis_of(*values, **more)
    assert basis is not None
    return basis.value.group


@pytest.mark.parametrize(
    ("first", "every_step", "group"),
    [
        ({"span": "last"}, True, "ms"),  # of every step: nothing says more
        ({"span": "last"}, False, "ips"),
        ({"span": "cumulative"}, True, "ips"),
        ({"span": "window", "window": 5}, True, "ips"),
        ({"span": "interval"}, True, "ips"),  # a rate before a time of the same steps
    ],
)
def test_the_value_that_says_most_is_chosen(first: dict[str, Any], every_step: bool, group: str) -> None:
    assert chosen({**STEP_TIME, **first}, RATE, every_step=every_step) == group
    assert chosen(RATE, {**STEP_TIME, **first}, every_step=every_step) == group


def test_spans_from_the_best_to_the_worst() -> None:
    last = {"group": "d", "quantity": "rate", "unit": "samples/s", "span": "last"}
    window = {"group": "c", "quantity": "rate", "unit": "samples/s", "span": "window", "window": 5}
    mean = {"group": "b", "quantity": "rate", "unit": "samples/s", "span": "cumulative"}
    assert chosen(last, window, mean, RATE, every_step=False) == "ips"
    assert chosen(last, window, mean, every_step=False) == "b"
    assert chosen(last, window, every_step=False) == "c"
    assert chosen(last, every_step=False) == "d"


def test_clocks_come_last_among_equal_spans() -> None:
    clock = {"group": "clock", "quantity": "elapsed", "unit": "s"}
    assert chosen(clock, STEP_TIME) == "ms"
    assert chosen({"group": "timestamp", "quantity": "timestamp"}, clock) == "clock"
    assert chosen(clock, INTERVAL_TIME) == "block"


def test_a_value_that_no_line_prints_is_not_chosen() -> None:
    assert chosen(RATE, STEP_TIME, ips=NAN) == "ms"
    assert basis_of(RATE, ips=NAN) is None
    made = pattern("step ips", RATE)
    assert choose_basis(made, {"ips": np.empty(0)}, True, 1, False) is None


def test_as_printed_the_rate_is_taken_whatever_it_covers() -> None:
    assert chosen(STEP_TIME, LAST, every_step=False, as_printed=True) == "ips"
    basis = basis_of(STEP_TIME, TOKENS, SAMPLES, as_printed=True, every_step=False)
    assert basis is not None
    assert (basis.weight, basis.work, basis.note) == (None, None, "")


@pytest.mark.parametrize(
    ("value", "note"),
    [
        (LAST, "each line tells of its last step only: 1 of 10 steps measured"),
        (WINDOW, "each line is a mean over the last 20 steps, printed every 10"),
        (RATE, ""),
        (MEAN_RATE, ""),
    ],
)
def test_what_is_said_of_lines_that_do_not_tell_of_all_steps(value: dict[str, Any], note: str) -> None:
    basis = basis_of(value, every_step=False)
    assert basis is not None
    assert basis.note == note


@pytest.mark.parametrize(
    ("values", "weight"),
    [
        ((TOKENS, STEP_TIME), "ms"),
        (({**TOKENS, "unit": "samples/s"}, STEP_TIME), None),  # samples are as many in every step
        ((TOKENS, {**STEP_TIME, "span": "window", "window": 9}), None),  # of other steps
        (({**TOKENS, "span": "cumulative"}, {**STEP_TIME, "span": "cumulative"}), None),
        (({**TOKENS, "span": "last"}, {**STEP_TIME, "span": "last"}), "ms"),
        (({**TOKENS, "unit": "words/s"}, STEPS_RATE), "sps"),
        ((TOKENS, {**STEPS_RATE, "unit": "it/min"}), None),  # its numbers are not of seconds
        ((TOKENS, RATE), None),
    ],
)
def test_which_time_tokens_are_weighed_by(values: tuple[dict[str, Any], ...], weight: str | None) -> None:
    basis = basis_of(*values)
    assert basis is not None
    assert basis.value.group == "tps"
    assert (basis.weight.group if basis.weight else None) == weight


def test_which_bases_measure_seconds() -> None:
    cases = [
        basis_of(STEP_TIME),
        basis_of(RATE),
        basis_of(TOKENS, STEP_TIME),
        basis_of(RATE, SAMPLES),
        basis_of(ELAPSED),
    ]
    assert [basis.real_time for basis in cases if basis] == [True, False, True, True, True]
    assert [basis.is_rate for basis in cases if basis] == [False, True, True, True, False]
    assert [basis.unit for basis in cases if basis] == [None, "samples/s", "tokens/s", "samples/s", None]


@pytest.mark.parametrize(
    ("value", "numbers", "covers", "starts"),
    [
        (LAST, ((1, 5), (2, 5)), [1, 1], [0, 1]),
        (RATE, ((10, 5), (20, 5), (40, 5)), [10, 10, 10], [0, 10, 30]),  # over a gap a line tells of its own steps only
        (WINDOW, ((30, 5), (60, 5)), [20, 20], [10, 40]),
        (WINDOW, ((10, 5), (20, 5), (30, 5)), [10, 10, 10], [0, 0, 10]),  # a mean looks further back than its line
    ],
)
def test_the_steps_that_a_value_covers(
    value: dict[str, Any], numbers: tuple[tuple[float, float], ...], covers: list[float], starts: list[float]
) -> None:
    segment = segment_of(pattern("step ips", value), rows("step ips", *numbers))
    assert (column(segment, "covers"), column(segment, "start")) == (covers, starts)


def test_the_last_step_of_ten_is_taken_for_one() -> None:
    segment = segment_of(pattern("step ips", LAST), rows("step ips", (10, 5), (20, 5)))
    assert (column(segment, "covers"), column(segment, "start"), column(segment, "time")) == (
        [1, 1],
        [9, 19],
        [0.2, 0.2],
    )


def test_as_printed_each_line_stands_for_all_its_steps() -> None:
    made = rows("step ips", (10, 5), (20, 5), (60, 5))
    assert column(segment_of(pattern("step ips", WINDOW), made, as_printed=True), "covers") == [10, 10, 40]
    assert column(segment_of(pattern("step ips", RATE), made, as_printed=True), "covers") == [10, 10, 40]
    assert column(segment_of(pattern("step ips", LAST), made, as_printed=True), "covers") == [1, 1, 1]


@pytest.mark.parametrize("number", [0, -5, NAN, float("inf")])
def test_a_number_that_is_no_rate_is_counted_and_left_out(number: float) -> None:
    segment = segment_of(pattern("step ips"), rows("step ips", (1, 5), (2, number), (3, 5), line=7))
    assert (column(segment, "line"), segment.tally.unusable, segment.tally.unusable_line) == ([7, 9], 1, 8)


def test_the_last_loss_and_memory_are_kept_with_their_lines() -> None:
    made = pattern("step ips loss memory")
    first = rows("step ips loss memory", (1, 5, 0.9, 100), (2, 5, 0.8, NAN))
    second = rows("step ips loss memory", (3, 5, 0.7, NAN), (4, 5, NAN, NAN), line=3)
    assert segment_of(made, first, second).last == {"loss": (0.7, 3), "memory": (100, 1)}


def test_positions_are_not_measured() -> None:
    made = pattern("step ips")
    position = replace(made, role="position")
    segment = segment_of(position, rows("step ips", (1, 5), (2, 5)))
    assert (segment.store.count, segment.tally.printed) == (0, 2)
