"""Runs into cases: what tells configurations apart, their centres, and speedups against a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from perflog.cases.build import build_cases, summary_of
from perflog.cases.case import Case, Summary, name_of, short_labels
from perflog.cases.versions import compared
from perflog.errors import UsageError
from perflog.logs.find import LogFile
from perflog.notes import Note, texts
from perflog.runs.metadata import Metadata
from perflog.runs.run import Metric, Run
from perflog.settings.options import Options
from tests.support import extracted

DEFAULTS = {"framework": "PyTorch", "model": "bert", "batch_size": 32, "nodes": 1, "devices": 1}


def made(
    value: float | None = 100, label: str = "", name: str = "x.log", parser: str = "made", unit: str = "samples/s",
    reason: str = "", notes: tuple[str, ...] = (), line: int = 1, **facts: Any,
) -> Run:  # fmt: skip
    """A run; facts that are None are unknown."""
    values = {key: fact for key, fact in {**DEFAULTS, **facts}.items() if fact is not None}
    throughput = Metric("throughput", value, unit, "total", reason=reason)
    return Run(
        LogFile(name, 1),
        parser,
        "",
        Metadata(values, {}),
        label,
        {"throughput": throughput},
        list(map(Note, notes)),
        "all",
        line,
        9,
        9,
    )


def cases(*runs: Run, **given: Any) -> list[Case]:
    return build_cases(runs, Options(**given))


def test_runs_of_one_configuration_are_repeats() -> None:
    (case,) = cases(made(100, repeat=2), made(104, repeat=1), made(99, repeat=3))
    assert [run.throughput.value for run in case.runs] == [104, 100, 99]
    assert (case.throughput.value, case.throughput.n) == (100, 3)
    assert (case.key, case.name, case.window, case.estimator) == (
        DEFAULTS,
        "PyTorch bert bs32 1 device",
        "all",
        "total",
    )


@pytest.mark.parametrize(
    "other",
    [
        {"model": "gpt"}, {"devices": 8}, {"precision": "fp16"}, {"nodes": 2}, {"label": "b"},
        {"parser": "other"}, {"optimizer": "lamb"}, {"framework_version": "2.1"}, {"batch_size": 64}, {"accelerator": "V100"},
    ],
)  # fmt: skip
def test_what_separates_cases(other: dict[str, Any]) -> None:
    assert len(cases(made(), made(**other))) == 2


@pytest.mark.parametrize("other", [{"repeat": 2}, {"global_batch_size": 256}, {"name": "y.log"}, {"value": 3}])
def test_what_does_not_separate_cases(other: dict[str, Any]) -> None:
    (case,) = cases(made(repeat=1), made(**other))
    assert len(case.runs) == 2
    assert "global_batch_size" not in case.key


def test_runs_are_in_the_order_of_repeats_names_and_lines() -> None:
    runs = [made(name="10.log"), made(name="2.log", line=5), made(name="2.log"), made(name="x.log", repeat=0)]
    (case,) = cases(*runs)
    assert [(run.log.name, run.first_line) for run in case.runs] == [
        ("2.log", 1),
        ("2.log", 5),
        ("10.log", 1),
        ("x.log", 1),
    ]


def test_cases_are_in_the_order_of_their_configurations() -> None:
    runs = [made(model="gpt"), made(devices=16, nodes=2), made(devices=8), made(devices=8, label="10"), made(devices=8, label="9"),
            made(batch_size=4), made(framework="Megatron"), made(devices=None, nodes=None)]  # fmt: skip
    order = [
        (case.key["framework"], case.key["model"], case.key["batch_size"], case.key.get("devices"), case.label)
        for case in cases(*runs)
    ]
    assert order == [
        ("Megatron", "bert", 32, 1, ""), ("PyTorch", "bert", 4, 1, ""), ("PyTorch", "bert", 32, None, ""),
        ("PyTorch", "bert", 32, 8, ""), ("PyTorch", "bert", 32, 8, "9"), ("PyTorch", "bert", 32, 8, "10"),
        ("PyTorch", "bert", 32, 16, ""), ("PyTorch", "gpt", 32, 1, ""),
    ]  # fmt: skip


def failed(**facts: Any) -> Run:
    return made(**{"value": None, "parser": "perflog_run", "reason": "OOM: line 3", "unit": "", "nodes": None, **facts})


def test_a_failure_joins_the_one_case_that_its_path_tells() -> None:
    (case,) = cases(made(), failed())
    assert [run.parser for run in case.runs] == ["made", "perflog_run"]
    assert (case.throughput.value, case.throughput.unit, case.throughput.n) == (100, "samples/s", 1)
    assert texts(case.notes) == ["1 of 2 runs has no value: OOM: line 3"]
    assert case.key["nodes"] == 1
    (case,) = cases(failed(repeat=1), made(repeat=2))  # whatever comes first
    assert case.key["nodes"] == 1


def test_a_format_of_no_framework_may_be_a_failures() -> None:
    (case,) = cases(made(framework=None), failed())
    assert len(case.runs) == 2


@pytest.mark.parametrize(
    ("run", "failure"),
    [({}, {"model": "gpt"}), ({}, {"label": "b"}), ({"framework": "Paddle"}, {}), ({}, {"precision": "fp16"})],
)
def test_a_failure_of_another_configuration_stands_alone(run: dict[str, Any], failure: dict[str, Any]) -> None:
    assert len(cases(made(**run), failed(**failure))) == 2


def test_a_failure_that_may_be_of_two_cases_stands_alone() -> None:
    found = cases(made(nodes=1), made(nodes=2), failed())
    assert [[run.parser for run in case.runs] for case in found] == [["made"], ["perflog_run"], ["made"]]
    assert (found[1].throughput.value, found[1].throughput.reason, texts(found[1].notes)[0]) == (
        None,
        "OOM: line 3",
        "OOM: line 3",
    )


def test_a_case_whose_nodes_are_unknown_stands_among_those_of_one_node() -> None:
    found = cases(made(devices=2), made(devices=1, nodes=1), made(devices=16, nodes=2), made(devices=8))
    assert [case.key["devices"] for case in found] == [1, 2, 8, 16]


def test_two_failures_of_one_configuration_are_one_case() -> None:
    (case,) = cases(failed(repeat=1), failed(repeat=2))
    assert len(case.runs) == 2


def test_notes_are_said_once() -> None:
    (case,) = cases(made(notes=("a", "b")), made(notes=("b", "c")))
    assert texts(case.notes) == ["a", "b", "c"]


def summed(aggregate: str, *values: float | None) -> Summary:
    return summary_of(
        "throughput",
        [Metric("throughput", value, "samples/s", "total", reason="" if value else "short") for value in values],
        aggregate,
    )


@pytest.mark.parametrize(
    ("aggregate", "values", "value"),
    [
        ("median", (1, 2, 9), 2), ("median", (1, 2, 3, 9), 2.5), ("median", (5,), 5), ("mean", (1, 2, 9), 4),
        ("olympic", (1, 2, 9), 2), ("olympic", (1, 2, 4, 9), 3), ("median", (1, None, 3), 2),
    ],
)  # fmt: skip
def test_aggregates(aggregate: str, values: tuple[float | None, ...], value: float) -> None:
    result = summed(aggregate, *values)
    assert (result.value, result.n, result.aggregate, result.reason) == (
        value,
        len([v for v in values if v]),
        aggregate,
        "",
    )


def test_too_few_runs_for_an_aggregate() -> None:
    result = summed("olympic", 1, 2)
    assert (result.value, result.n, result.reason) == (None, 2, "olympic mean needs 3 runs, there are 2")


def test_no_value_at_all_keeps_the_reason_and_the_unit() -> None:
    result = summed("median", None, None)
    assert (result.value, result.n, result.reason, result.unit, result.spread) == (None, 0, "short", "samples/s", None)


def test_runs_that_count_different_things_have_no_centre() -> None:
    metrics = [Metric("throughput", 5, "samples/s", "total"), Metric("throughput", 6, "images/s", "total")]
    result = summary_of("throughput", metrics, "median")
    assert (result.value, result.unit, result.n) == (None, "", 2)
    assert result.reason == "runs count different things: images/s, samples/s"
    lacking = summary_of("throughput", [replace_value(metrics[0]), metrics[1]], "median")
    assert (lacking.value, lacking.unit) == (6, "images/s")


def test_runs_that_define_a_metric_differently_have_no_centre() -> None:
    metrics = [Metric("mfu", value, "%", "printed", definition=text) for value, text in ((40, "6N"), (42, "12LHQT"))]
    result = summary_of("mfu", metrics, "median")
    assert (result.value, result.n) == (None, 2)
    assert result.reason == "runs count different things: 12LHQT, 6N"
    assert summary_of("mfu", metrics[:1] * 2, "median").value == 40


def replace_value(metric: Metric) -> Metric:
    return Metric(metric.name, None, metric.unit, metric.estimator, reason="none")


def test_intervals_of_medians() -> None:
    result = summed("median", 10, 11, 12, 13, 14)
    assert (result.low, result.high, result.level, result.spread) == (10, 14, 0.9375, 4 / 12)
    assert summed("median", 10).low is None
    mean = summed("mean", 10, 11, 12)
    assert (mean.low, mean.spread) == (None, 2 / 11)


# Speedup and efficiency.


def speedups(*runs: Run, **given: Any) -> dict[Any, tuple[float | None, float | None]]:
    return {case.key.get("devices"): (case.speedup, case.efficiency) for case in cases(*runs, **given)}


def test_speedup_against_one_device() -> None:
    assert speedups(made(100), made(180, devices=2), made(600, devices=8)) == {1: (1, 1), 2: (1.8, 0.9), 8: (6, 0.75)}
    base, case = cases(made(100), made(180, devices=2))
    assert (case.baseline, case.base is base, base.base is base) == (base.name, True, True)


@pytest.mark.parametrize(
    "other",
    [
        {"model": "gpt"},
        {"batch_size": 64},
        {"label": "b"},
        {"unit": "tokens/s"},
        {"precision": "fp16"},
    ],
)
def test_a_case_that_differs_in_more_is_no_baseline(other: dict[str, Any]) -> None:
    found = next(case for case in cases(made(100, **other), made(180, devices=2)) if case.key["devices"] == 2)
    assert (found.speedup, texts(found.notes)) == (
        None,
        ["no speedup: the baseline (one device) is not among the logs"],
    )


@pytest.mark.parametrize(
    ("one", "two", "difference"),
    [
        ({"optimizer": "lamb"}, {}, "optimizer (lamb there, none here)"),
        ({"optimizer": "lamb", "data": "a"}, {"data": "b"}, "data (a there, b here) and optimizer (lamb there, none here)"),
        (
            {"gradient_accumulation_steps": "66"}, {"gradient_accumulation_steps": "88"},
            "gradient_accumulation_steps (66 there, 88 here)",
        ),
        (  # 704 micro-batches are the job's step of one device, 176 that of two
            {"gradient_accumulation_steps": "704"}, {"gradient_accumulation_steps": "88"},
            "gradient_accumulation_steps (704 there, 88 here)",
        ),
        ({"tokens_per_step": 1024}, {"tokens_per_step": 1024}, "tokens_per_step of a device (1024 there, 512 here)"),
    ],
)  # fmt: skip
def test_what_keeps_a_baseline_away_is_named(one: dict[str, Any], two: dict[str, Any], difference: str) -> None:
    """Tables do not show these keys: a reader sees two rows that differ in their devices alone."""
    found = cases(made(100, **one), made(180, devices=2, **two), made(90, label="x", **two))
    (case,) = (case for case in found if case.key["devices"] == 2)
    assert (case.speedup, texts(case.notes)) == (
        None,
        [f"no speedup: the baseline (one device) differs in {difference}"],
    )


@pytest.mark.parametrize(
    ("one", "eight", "speedup"),
    [
        # the job's batch is constant, and the micro-batches of a device follow from it
        ({"gradient_accumulation_steps": "704"}, {"gradient_accumulation_steps": "88"}, 6),
        (
            {"micro_batch_size": "4", "gradient_accumulation_steps": "16", "batch_size": 64, "global_batch_size": 64},
            {"micro_batch_size": "4", "gradient_accumulation_steps": "2", "batch_size": 8, "global_batch_size": 64}, 6,
        ),
        # a device's batch is constant
        (
            {"micro_batch_size": "4", "gradient_accumulation_steps": "2", "batch_size": 8, "global_batch_size": 8},
            {"micro_batch_size": "4", "gradient_accumulation_steps": "2", "batch_size": 8, "global_batch_size": 64}, 6,
        ),
        # another batch of the job, or micro-batches whose product with the devices is not the batch
        (
            {"micro_batch_size": "4", "gradient_accumulation_steps": "16", "batch_size": 64, "global_batch_size": 64},
            {"micro_batch_size": "4", "gradient_accumulation_steps": "4", "batch_size": 16, "global_batch_size": 128}, None,
        ),
        (
            {"micro_batch_size": "4", "gradient_accumulation_steps": "16", "batch_size": 64, "global_batch_size": 72},
            {"micro_batch_size": "4", "gradient_accumulation_steps": "2", "batch_size": 8, "global_batch_size": 72}, None,
        ),
    ],
)  # fmt: skip
def test_accumulation_that_follows_from_the_batch_parts_no_baseline(
    one: dict[str, Any], eight: dict[str, Any], speedup: float | None
) -> None:
    assert speedups(made(100, **one), made(600, devices=8, **eight))[8][0] == speedup


@pytest.mark.parametrize("other", [{"unit": "images/s"}, {"model": "BERT"}, {"threads": 4}])
def test_what_baselines_may_differ_in(other: dict[str, Any]) -> None:
    found = next(case for case in cases(made(100, **other), made(180, devices=2)) if case.key["devices"] == 2)
    assert found.speedup == 1.8


def test_baselines_that_cannot_be_used() -> None:
    def note(*runs: Run, **given: Any) -> list[str]:
        return next(
            texts(case.notes) for case in cases(*runs, made(180, devices=2), **given) if case.key["devices"] == 2
        )

    assert note(made(None, reason="short")) == ["no speedup: the baseline (one device) has no value"]
    assert note(made(1, threads=1), made(2, threads=2)) == [
        "no speedup: the baseline (one device) is ambiguous (2 cases)"
    ]
    given = {"baseline": {"devices": "4"}}
    assert note(made(1), **given) == ["no speedup: the baseline (devices=4) is not among the logs"]
    assert texts(cases(made(180, devices=None))[0].notes) == []  # nothing says that it has one


def test_a_case_without_a_value_has_no_speedup_and_says_why_alone() -> None:
    case = cases(made(100), made(None, devices=2, reason="short"))[1]
    assert (case.speedup, texts(case.notes)) == (None, ["short"])


def test_a_baseline_that_is_asked_for() -> None:
    runs = made(100), made(180, devices=2), made(150, framework="Paddle"), made(30, model="gpt", unit="tokens/s")
    found = {
        case.name: (case.speedup, case.efficiency)
        for case in cases(*runs, baseline={"framework": "pytorch", "devices": "1", "model": "bert"})
    }
    assert found == {
        "PyTorch bert bs32 1 device": (1, 1),
        "PyTorch bert bs32 2 devices": (1.8, 0.9),
        "Paddle bert bs32 1 device": (1.5, 1.5),
        "PyTorch gpt bs32 1 device": (None, None),  # tokens are no samples
    }
    assert texts(cases(made(100), made(180, devices=2), baseline={"precision": "float16"})[0].notes) == [
        "no speedup: the baseline (precision=float16) is not among the logs"
    ]


@pytest.mark.parametrize("unit", ["steps/s", "tokens/s/device", "images/s/rank"])
def test_what_does_not_count_the_whole_jobs_work_has_no_speedup(unit: str) -> None:
    """Eight devices may do eight times the work in a step, and one device's rate says nothing of the other seven."""
    one, eight = cases(made(10, unit=unit), made(9, devices=8, unit=unit))
    note = f"no speedup: {unit} does not count the work of the whole job"
    assert (one.speedup, eight.speedup, eight.efficiency, eight.baseline) == (None, None, None, "")
    assert (texts(one.notes), texts(eight.notes)) == ([note], [note])
    (alone,) = cases(made(9, devices=None, unit=unit))
    assert texts(alone.notes) == []  # nobody looks for a speedup where the devices are unknown
    asked = cases(made(10, unit=unit), made(9, precision="fp16", unit=unit), baseline={"precision": "fp16"})
    assert [(case.speedup, texts(case.notes)) for case in asked] == [(None, [note])] * 2


def test_efficiency_against_several_devices() -> None:
    assert speedups(made(200, devices=2), made(600, devices=8), baseline={"devices": "2"}) == {2: (1, 1), 8: (3, 0.75)}


def of_runs(values: Sequence[float | None], **facts: Any) -> list[Run]:
    return [made(value, repeat=nth, **facts) for nth, value in enumerate(values, 1)]


def test_a_speedup_carries_the_noise_of_the_case_and_of_its_baseline() -> None:
    """By hand: the critical value of Welch and Aspin is 2.51493 standard errors (Student's alone would be 2.54962)."""
    slow, fast = [100.0, 102, 104, 106], [780.0, 790, 800, 810]
    base, case = cases(*of_runs(slow), *of_runs(fast, devices=8))
    interval, efficiency = case.speedup_interval, case.efficiency_interval
    assert case.speedup == 795 / 103 and interval is not None and efficiency is not None
    assert [interval.low, interval.high, interval.level] == pytest.approx([7.43488194, 8.01501954, 0.95])
    assert [efficiency.low, efficiency.high] == pytest.approx([interval.low / 8, interval.high / 8])
    assert case.no_interval == ""
    assert (base.speedup, base.speedup_interval, base.efficiency_interval) == (1.0, None, None)
    assert base.no_interval == "the speedup of the baseline itself is 1 by definition, without an interval"


@pytest.mark.parametrize(
    ("slow", "fast", "given", "why"),
    [
        ([100, 102, 104], [780, 790, 800, 810], {}, "it needs 4 runs of the case and of its baseline"),
        ([100, 102, 104, None], [780, 790, 800, 810], {}, "it needs 4 runs of the case and of its baseline"),
        ([100, 102, 104, 105], [780], {}, "it needs 4 runs of the case and of its baseline"),
        ([100, 102, 104, 105], [780] * 4, {}, "do not differ at all (copies of one log, or too coarse a print)"),
        ([100, 102, 104, 105], [780, 790, 800, 810], {"aggregate": "mean"}, "given with --aggregate median alone"),
    ],
)
def test_a_speedup_without_an_interval_says_why(
    slow: list[float | None], fast: list[float | None], given: dict[str, Any], why: str
) -> None:
    case = cases(*of_runs(slow), *of_runs(fast, devices=8), **given)[1]
    assert case.speedup is not None and case.speedup_interval is None and case.efficiency_interval is None
    assert case.no_interval.startswith("no interval of the speedup: ") and case.no_interval.endswith(why)


def test_without_a_speedup_nothing_is_said_of_its_interval() -> None:
    (case,) = cases(*of_runs([780, 790, 800, 810], devices=8))
    assert (case.speedup, case.speedup_interval, case.no_interval) == (None, None, "")


def test_without_devices_there_is_no_efficiency() -> None:
    case = next(
        case
        for case in cases(made(50, model="x", devices=None), made(100), baseline={"model": "x"})
        if case.key["model"] == "bert"
    )
    assert (case.speedup, case.efficiency) == (2, None)


def test_names() -> None:
    assert name_of({"model": "bert", "devices": 8}) == "bert 8 devices"
    assert (
        cases(made(label="a/b", framework=None, model=None, batch_size=None, nodes=None, devices=None))[0].name == "a/b"
    )
    assert cases(made(framework=None, model=None, batch_size=None, nodes=None, devices=None))[0].name == "unnamed"


@pytest.mark.parametrize(
    ("labels", "short"),
    [
        (["a/b/c", "a/b/d"], ["c", "d"]), (["a/b", "a/b"], ["b", "b"]), (["a/b/c", "a/x/c"], ["b/c", "x/c"]),
        (["a/b/c"], ["c"]), (["", "a"], ["", "a"]), ([], []), (["a", "a/b"], ["a", "a/b"]),
    ],
)  # fmt: skip
def test_labels_without_what_all_share(labels: list[str], short: list[str]) -> None:
    found = [Case({}, label, [], {}, "total", "all") for label in labels]
    assert short_labels(found) == short


# Framework versions side by side.


def test_versions_of_one_configuration() -> None:
    runs = [made(value, framework_version=version, devices=devices)
            for version, devices, value in (("1.10", 1, 3), ("1.9", 1, 2), ("1.9", 8, 9), ("1.8", 8, 7), ("1.10", 4, 5))]  # fmt: skip
    found = [{version: case.throughput.value for version, case in group.items()} for group in compared(cases(*runs))]
    assert found == [{"1.9": 2, "1.10": 3}, {"1.8": 7, "1.9": 9}]
    assert [list(group) for group in compared(cases(*runs))] == [["1.9", "1.10"], ["1.8", "1.9"]]


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([made()], "two framework versions are compared and there is none among the cases: name the logs of both"),
        (
            [made(framework_version="1.9"), made(None, framework_version="2.0")],
            "two framework versions are compared and 1.9 is the only one among the cases: name the logs of both",
        ),
        (
            [made(framework_version="1.9"), made(framework_version="2.0", devices=8)],
            "no case is there in two of 1.9, 2.0: PyTorch bert bs32 8 devices of 2.0: "
            "nearest: devices is 8 and 1, which is other work",
        ),
    ],
)
def test_versions_that_cannot_be_compared(runs: list[Run], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        compared(cases(*runs))
    assert str(caught.value) == message


def test_the_tokens_of_a_step_grow_with_the_devices(tmp_path: Path) -> None:
    """32,768 tokens a device and step: twice the devices do twice the tokens, and have one device as their baseline."""

    def nanogpt(tokens: int, milliseconds: float) -> str:
        steps = "".join(f"iter {n}: loss 6.9, time {milliseconds:.2f}ms, mfu 17.89%\n" for n in range(60))
        return f"tokens per iteration will be: {tokens:,}\nnumber of parameters: 123.59M\n{steps}"

    for devices, tokens, time in ((1, 32768, 200), (2, 65536, 250), (4, 65536, 125)):
        folder = tmp_path / f"1n{devices}g"
        folder.mkdir()
        (folder / "gpt2_bf16.log").write_text(nanogpt(tokens, time))
    cases = {case.key["devices"]: case for case in extracted(tmp_path).cases}
    assert cases[2].speedup == pytest.approx(1.6)
    assert cases[2].efficiency == pytest.approx(0.8)
    assert cases[4].speedup is None
