"""What a program reports itself: summaries, times to train, and which of several counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from perflog.formats.catalog import Catalog
from perflog.notes import texts
from perflog.reading.reading import Reading
from perflog.runs.metadata import Metadata
from perflog.runs.reported import summary_metrics
from perflog.runs.run import Metric
from tests.measurements.support import RATE
from tests.reading.support import STEPS, fact, formats, read, summary
from tests.runs.support import known, run, steps

RUN = {**RATE, "span": "run"}


def metrics(
    formats: Catalog, text: str, metadata: Metadata | None = None, span: tuple[int, int] | None = None
) -> tuple[dict[str, Metric], list[str]]:
    reading: Reading = read(formats, text)
    found, notes = summary_metrics(reading, metadata or Metadata(), span or (1, reading.lines))
    return found, texts(notes)


def one(value: Mapping[str, Any], printed: str, metadata: Metadata | None = None, **more: Any) -> Metric | None:
    """The metric that one summary line gives."""
    found, notes = metrics(formats(summary(value, **more)), f"sum {value['group']}={printed}\n", metadata)
    assert notes == []
    assert len(found) < 2
    return next(iter(found.values()), None)


def test_a_rate_is_the_reported_one() -> None:
    metric = one(RUN, "1,250.5")
    assert metric == Metric("reported", 1250.5, "samples/s", "last", 1, {}, 1, 1, parser="made")


@pytest.mark.parametrize(
    ("value", "facts", "expected"),
    [
        ({"unit": "Ktokens/s"}, {}, ("reported", 5000, "tokens/s", "")),
        ({"scope": "device"}, {"devices": 8}, ("reported", 40, "samples/s", "")),
        (
            {"scope": "device"},
            {},
            (
                "reported",
                None,
                "samples/s",
                "the printed rate is one device's and the number of devices is unknown: give --set devices=N",
            ),
        ),
        ({"unit": "it/s"}, {"batch_size": 4, "devices": 2}, ("reported", 40, "samples/s", "")),
        ({"metric": "peak"}, {}, ("peak", 5, "samples/s", "")),
    ],
)
def test_rates(value: dict[str, Any], facts: dict[str, int], expected: tuple[Any, ...]) -> None:
    metric = one({**RUN, **value}, "5", known(**facts))
    assert metric is not None
    assert (metric.name, metric.value, metric.unit, metric.reason) == expected


def test_steps_per_second_without_a_batch_are_no_metric() -> None:
    assert one({**RUN, "unit": "it/s"}, "5") is None


@pytest.mark.parametrize("printed", ["nan", "inf", "none"])
def test_what_is_no_number_is_no_metric(printed: str) -> None:
    assert one(RUN, printed) is None


@pytest.mark.parametrize(
    ("quantity", "unit", "printed", "name", "seconds"),
    [
        ("time_to_train", "s", "90", "time_to_train", 90),
        ("time_to_train", "min", "1.5", "time_to_train", 90),
        ("time_to_train", "s", "0:01:30", "time_to_train", 90),
        ("time_to_train", "s", "1:01:01.5", "time_to_train", 3661.5),
        ("time_to_train", "s", "1 day, 0:01:30", "time_to_train", 86490),
        ("time_to_train", "s", "2 days, 0:00:01", "time_to_train", 172801),
        ("step_time", "ms", "250", "reported_step_time", 0.25),
        ("elapsed", "s", "9", "reported_elapsed", 9),
    ],
)
def test_times_are_seconds(quantity: str, unit: str, printed: str, name: str, seconds: float) -> None:
    metric = one({"group": "took", "quantity": quantity, "unit": unit}, printed)
    assert metric is not None
    assert (metric.name, metric.value, metric.unit) == (name, seconds, "s")


@pytest.mark.parametrize("printed", ["soon", "1 day, soon", "day"])
def test_what_is_no_time_is_no_metric(printed: str) -> None:
    assert one({"group": "took", "quantity": "time_to_train", "unit": "s"}, printed) is None


@pytest.mark.parametrize(
    ("unit", "printed", "expected"),
    [("", "76.1", "%"), ("", "0.761", "fraction"), ("%", "0.9", "%"), ("", "1", "fraction")],
)
def test_accuracies(unit: str, printed: str, expected: str) -> None:
    metric = one({"group": "top1", "quantity": "accuracy", "unit": unit}, printed)
    assert metric is not None
    assert (metric.name, metric.value, metric.unit) == ("accuracy", float(printed), expected)


def test_other_metrics_have_their_names() -> None:
    metric = one({"group": "psnr", "quantity": "metric", "metric": "psnr", "unit": "dB"}, "31.5")
    assert metric is not None
    assert (metric.name, metric.value, metric.unit) == ("psnr", 31.5, "dB")


@pytest.mark.parametrize(("pick", "value", "line"), [("last", 2, 3), ("first", 3, 1), ("max", 4, 2), ("min", 2, 3)])
def test_which_of_several_counts(pick: str, value: float, line: int) -> None:
    top = {"group": "top1", "quantity": "accuracy", "unit": "%", "pick": pick}
    found, _ = metrics(formats(summary(top)), "sum top1=3\nsum top1=4\nsum top1=2\n")
    assert (found["accuracy"].value, found["accuracy"].first_line) == (value, line)


def test_several_rates_are_said() -> None:
    found, notes = metrics(formats(summary(RUN)), "sum ips=3\nsum ips=4\nsum ips=4\n")
    assert found["reported"].value == 4
    assert notes == ["the program printed 2 different rates of its own, 3 to 4; the last is taken"]
    assert metrics(formats(summary(RUN)), "sum ips=4\nsum ips=4\n")[1] == []


def test_the_rates_of_one_line_are_no_different_rates() -> None:
    best = {**RUN, "group": "best", "metric": "best"}
    found, notes = metrics(formats(summary(RUN, best)), "sum ips=3 best=5\n")
    assert notes == []
    assert found["best"].value == 5


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"devices": 8}, 80),
        ({"devices": 4}, 40),
        ({"devices": 2}, None),
        ({}, None),
        ({"devices": 8, "batch_size": 3}, 80),
    ],
)
def test_a_row_that_names_a_configuration_counts_for_it_alone(facts: dict[str, int], expected: float | None) -> None:
    table = formats(summary(RUN, keys="devices"))
    text = "sum devices=4 ips=40\nsum devices=8 ips=80\n"
    found, _ = metrics(table, text, known(**facts))
    assert (found["reported"].value if found else None) == expected
    outside, _ = metrics(table, text, known(**facts), (5, 9))  # wherever it stands
    assert (outside["reported"].value if outside else None) == expected


def test_a_row_that_names_a_batch_counts_where_none_is_known() -> None:
    table = formats(summary(RUN, keys="batch_size"))
    assert metrics(table, "sum batch_size=32 ips=40\n", known(batch_size=64))[0] == {}
    assert metrics(table, "sum batch_size=32 ips=40\n", known())[0]["reported"].value == 40


def test_summaries_outside_a_run_that_name_nothing_are_not_of_it() -> None:
    assert metrics(formats(summary(RUN)), "sum ips=40\n\n\n", span=(2, 3))[0] == {}


def test_the_unit_that_the_summary_prints_counts() -> None:
    regex = "sum (?P<ips>{N}) (?P<unit>[a-z/]+)"
    made = formats(
        {
            "name": "sum",
            "role": "summary",
            "literal": "sum",
            "regex": regex,
            "value": [{"group": "ips", "quantity": "rate"}],
        }
    )
    assert metrics(made, "sum 5 img/s\n")[0]["reported"].unit == "images/s"
    assert metrics(made, "sum 5 furlongs/s\n")[0] == {}


def event(name: str) -> dict[str, Any]:
    literal = name.partition("_")[2]
    value = {"group": "timestamp", "quantity": "timestamp", "unit": "ms"}
    return {
        "name": name, "role": "event", "event": name, "literal": literal, "regex": literal + " (?P<timestamp>{I})",
        "value": [value], "sample": [{"line": f"{literal} 5"}],
    }  # fmt: skip


EVENTS = formats(STEPS, *(event(name) for name in ("run_start", "run_stop", "run_failed")))


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        ("start 1000\nstop 4500\n", 3.5, ""),
        ("start 1000\nstop 2000\nstop 4500\n", 3.5, ""),
        ("start 1000\nstart 2000\nstop 4500\n", 3.5, ""),
        ("start 1000\n", None, "run_start without run_stop: the log ends before the run does"),
        ("start 1000\nfailed 4500\n", None, "the run did not reach its target (line 2)"),
        ("start 4500\nstop 1000\n", None, "run_start and run_stop have no usable times"),
        ("start 4500\nstop 4500\n", None, "run_start and run_stop have no usable times"),
        ("start 4500\nstop " + "9" * 400 + "\n", None, "run_start and run_stop have no usable times"),
    ],
)
def test_time_to_train_from_events(text: str, value: float | None, reason: str) -> None:
    metric = metrics(EVENTS, text)[0]["time_to_train"]
    assert (metric.value, metric.reason, metric.unit, metric.first_line) == (value, reason, "s", 1)


def test_without_a_start_there_is_no_time_to_train() -> None:
    assert metrics(EVENTS, "stop 4500\n")[0] == {}
    assert metrics(EVENTS, "start 1000\nstop 4500\n", span=(2, 2))[0] == {}


def test_a_log_of_events_alone_has_a_run_without_throughput() -> None:
    made = run(EVENTS, "start 1000\nstop 4500\n")
    assert made.metrics["time_to_train"].value == 3.5
    assert (made.throughput.value, made.throughput.reason) == (None, "no measurement of steps in the log")
    assert (made.first_line, made.last_line) == (1, 2)


REPORTING = formats(STEPS, summary(RUN))


def test_a_log_of_summaries_alone() -> None:
    made = run(REPORTING, "hello\nsum ips=40\n")
    reason = "the log holds only the program's own summary: --estimator reported takes it"
    assert (made.throughput.value, made.throughput.reason, made.throughput.unit) == (None, reason, "samples/s")
    assert made.metrics["reported"].value == 40
    reported = run(REPORTING, "hello\nsum ips=40\n", estimator="reported")
    assert (reported.throughput.value, reported.throughput.name, reported.throughput.first_line) == (
        40,
        "throughput",
        2,
    )


def test_the_programs_own_rate_in_place_of_the_measured_one() -> None:
    text = steps(1, 2, 3, ips=4) + "sum ips=3.9\n"
    assert (run(REPORTING, text).throughput.value, run(REPORTING, text).metrics["reported"].value) == (4, 3.9)
    assert run(REPORTING, text, estimator="reported").throughput.value == 3.9
    without = run(REPORTING, steps(1, 2, 3), estimator="reported")
    assert (without.throughput.value, without.throughput.reason) == (None, "the program printed no summary of its own")


@pytest.mark.parametrize("estimator", ["total", "median", "reported"])
def test_a_rate_of_the_programs_own_ten_times_as_high_and_the_measured_one_refuse_each_other(estimator: str) -> None:
    text = steps(1, 2, 3, ips=4) + "sum ips=40\n"
    made = run(REPORTING, text, estimator=estimator)
    assert (made.throughput.value, made.metrics["reported"].value) == (None, None)
    assert (
        made.throughput.reason
        == made.metrics["reported"].reason
        == (
            "the log contradicts itself: throughput is 4 samples/s by the measurements and 40 samples/s by the program's "
            "own summary (line 4)"
        )
    )


def test_a_doubtful_rate_of_the_programs_own_is_given_with_both_numbers() -> None:
    made = run(REPORTING, steps(1, 2, 3, ips=4) + "sum ips=5.2\n", estimator="reported")
    assert made.throughput.value == 5.2
    (note,) = (note for note in made.notes if "two numbers of the log are apart (30%): " in note.text)
    assert "4 samples/s by the measurements and 5.2 samples/s by the program's own summary (line 4)" in note.text
    assert note.label == "by the measurements" and note.other == pytest.approx(4)


def test_two_rates_that_differ_by_a_factor_are_two_quantities() -> None:
    text = steps(1, 2, 3, ips=3354) + "sum ips=3353.67\nsum ips=765.95\n"
    for estimator in ("total", "reported"):
        made = run(REPORTING, text, estimator=estimator)
        reported = made.metrics["reported"]
        assert (reported.value, reported.reason) == (
            None,
            "the program prints rates of its own that differ by a factor, 765.95 (line 5) and 3353.67 (line 4) "
            "samples/s: nothing says which is the training's",
        )
        assert made.throughput.value == (None if estimator == "reported" else pytest.approx(3354))


def test_a_rate_that_rises_from_summary_to_summary_is_one_quantity() -> None:
    """A program that prints its rate since the start again and again: the last is of all its time."""
    rates = [100 * (1 - 0.9**number) for number in range(1, 40)]
    found, notes = metrics(formats(summary(RUN)), "".join(f"sum ips={rate:.3f}\n" for rate in rates))
    assert found["reported"].value == pytest.approx(rates[-1], abs=0.001)
    assert notes == ["the program printed 39 different rates of its own, 10 to 98.358; the last is taken"]


@pytest.mark.parametrize(
    ("pick", "said"), [("last", "last"), ("first", "first"), ("max", "highest"), ("min", "lowest")]
)
def test_which_rate_is_taken_is_true(pick: str, said: str) -> None:
    found, notes = metrics(formats(summary({**RUN, "pick": pick})), "sum ips=4\nsum ips=5\nsum ips=3.9\n")
    assert found["reported"].value == {"last": 3.9, "first": 4, "max": 5, "min": 3.9}[pick]
    assert notes == [f"the program printed 3 different rates of its own, 3.9 to 5; the {said} is taken"]


EVALUATING = formats(STEPS, summary(RUN, never_with=["evaluated"]), fact("evaluated", evaluates=True))


@pytest.mark.parametrize("estimator", ["total", "reported"])
def test_a_heading_decides_whose_a_summary_is(estimator: str) -> None:
    """An evaluation in the midst, one at the end, each rate twice: they are 30 per cent apart from the training's."""
    text = steps(1, 2, 3) + "set evaluated=1\nsum ips=6.5\nsum ips=6.5\n" + steps(4, 5) + "sum ips=5.01\n"
    made = run(EVALUATING, text + "set evaluated=2\nsum ips=6.5\nsum ips=6.5\n", estimator=estimator)
    assert made.metrics["reported"].value == 5.01
    assert made.throughput.value == (5.01 if estimator == "reported" else 5)
    assert made.notes == []


def test_a_summary_of_the_slowest_is_kept_where_one_value_has_no_factor() -> None:
    made = formats(summary({**RUN, "scope": "node", "pick": "max"}))
    found, _ = metrics(made, "sum ips=3\nsum ips=4\n")
    assert (found["reported"].value, found["reported"].reason[:24]) == (None, "the printed rate is one ")


def test_a_rate_of_more_than_this_run_is_not_given() -> None:
    """Trained to step 400, 200 of them before a restart: the program counts all 400 over the time of 200.

    The line counts for the summary behind it alone: a further training in the same log began from nothing.
    """
    made = formats(summary(RUN, never_with=["resumed"]), fact("resumed"))
    group = RUN["group"]
    metric = metrics(made, f"set resumed=200\nsum {group}=85.3\n")[0]["reported"]
    reason = "line 1 (resumed) says that the program's own rate counts more than this run"
    assert (metric.value, metric.unit, metric.reason) == (None, "samples/s", reason)
    for text in (
        f"sum {group}=85.3\n",
        f"sum {group}=85.3\nset resumed=200\n",
        f"set resumed=7\nsum {group}=9\nsum {group}=85.3\n",
    ):
        assert metrics(made, text)[0]["reported"].value == 85.3
