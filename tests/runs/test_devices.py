"""The number of devices by a mesh, by batch sizes, and by two numbers of different scope on one line."""

from __future__ import annotations

from typing import Any

import pytest

from perflog.formats.vocabulary import Fact
from perflog.notes import texts
from perflog.runs.build import RunBuilder
from perflog.runs.factor import global_batch
from perflog.runs.metadata import facts_of_mesh, merge, model_parallel
from perflog.runs.run import Run
from tests.measurements.support import STEP_TIME, table
from tests.reading.support import fact, formats, read
from tests.runs.support import known, options, run

JOB = {"group": "tps", "quantity": "rate", "unit": "tokens/s"}
DEVICE = {"group": "own", "quantity": "rate", "unit": "tokens/s", "scope": "device"}
WORK = {"group": "tokens", "quantity": "samples", "unit": "tokens"}
KTOKENS = {**DEVICE, "unit": "Ktokens/s"}


def made(*values: dict[str, Any], text: str, **given: Any) -> Run:
    """The run of lines that print the given values."""
    groups = " ".join(["step", *(value["group"] for value in values)])
    sample = "row" + "".join(f" {group}=1" for group in groups.split())
    catalog = formats(table(groups, *values, sample=[{"line": sample}]), fact("devices"))
    return run(catalog, text, **given)


@pytest.mark.parametrize(
    ("mesh", "axes", "facts"),
    [
        ("8", "'dp_shard'", {"devices": "8"}),
        ("2, 4, 4", "'pp', 'dp_shard', 'tp'", {"devices": "32", "pipeline_parallel": "2", "tensor_parallel": "4"}),
        ("pp=1, dp_replicate=4, dp_shard=2, cp=2, tp=1", "", {"devices": "16", "context_parallel": "2"}),
        ("2, 4", "", {"devices": "8"}),  # nothing says which axis is which
        ("2, 4", "'tp'", {"devices": "8"}),
        ("dp_shard=0, tp=2", "", {}),
        ("none", "", {}),
    ],
)
def test_a_mesh_is_the_product_of_its_sizes(mesh: str, axes: str, facts: dict[str, str]) -> None:
    assert facts_of_mesh(mesh, axes) == facts


def test_a_mesh_on_a_line_is_a_fact() -> None:
    pattern = {
        "name": "mesh", "role": "metadata", "literal": "mesh of ",
        "regex": "mesh of \\[(?P<mesh_axes>[^\\]]*)\\], \\[(?P<device_mesh>[0-9, ]+)\\]",
        "sample": [{"line": "mesh of ['dp', 'tp'], [4, 2]"}],
    }  # fmt: skip
    catalog = formats(table("step own", DEVICE, sample=[{"line": "row step=1 own=1"}]), pattern)
    told = run(catalog, "mesh of ['dp', 'tp'], [4, 2]\nrow step=1 own=50.00\nrow step=2 own=50.00\n")
    assert (told.values, told.throughput.value) == ({"devices": 8, "tensor_parallel": "2"}, 400)


@pytest.mark.parametrize(
    ("lines", "devices"),
    [
        (["batch=16, total=2,048"], 128),
        (["batch=16", "total=128"], 8),
        (["total=128", "batch=16"], 8),
        (["batch=16"], None),
        (["batch=3, total=64"], None),  # no whole number
    ],
)
def test_a_devices_batch_and_that_of_all_tell_the_devices(lines: list[str], devices: int | None) -> None:
    patterns = [
        {
            "name": "batch", "role": "metadata", "literal": "batch=",
            "regex": "batch=(?P<device_batch_size>{I})(?:, total=(?P<global_batch_size>[0-9,]+))?",
            "sample": [{"line": "batch=16"}],
        },
        {
            "name": "total", "role": "metadata", "literal": "total=",
            "regex": "^total=(?P<global_batch_size>{I})", "sample": [{"line": "total=16"}],
        },
    ]  # fmt: skip
    catalog = formats(table("step own", DEVICE, sample=[{"line": "row step=1 own=1"}]), *patterns)
    found = run(catalog, "\n".join([*lines, "row step=1 own=50.00", "row step=2 own=50.00", ""]))
    assert (found.values.get("devices"), found.throughput.value) == (
        devices,
        50 * (devices or 1),
    )  # of one device where their number is unknown
    assert "device_batch_size" not in found.values


def test_devices_that_share_a_model_share_its_batch() -> None:
    facts: dict[str, str | int] = {"devices": 64, "global_batch_size": 512, "tensor_parallel": "4"}
    facts["pipeline_parallel"] = "2"
    merged = merge(Fact(key, value, "log") for key, value in facts.items())
    assert (model_parallel(merged.values), merged.integer("batch_size")) == (8, None)
    assert merge(Fact(key, facts[key], "log") for key in ("devices", "global_batch_size")).integer("batch_size") == 8
    assert global_batch(known(devices=64, batch_size=4, tensor_parallel="8")) == 32
    assert global_batch(known(devices=64, batch_size=4, tensor_parallel="7")) is None
    given = [Fact(key, value, "log") for key, value in facts.items()] + [Fact("batch_size", 64, "command line")]
    assert merge(given).doubts == []  # 64 × 64 / 8 = 512
    given[-1] = Fact("batch_size", 8, "command line")
    assert merge(given).doubts == [
        "batch size 8 × 64 devices / 8 that share a replica of the model is not the log's global batch size 512"
    ]


def test_rates_of_the_job_and_of_a_device_tell_the_devices() -> None:
    lines = "row step=1 tps=2050000 own=256000\nrow step=2 tps=2040000 own=255000\n"  # 2.05M and 256K
    told = made(JOB, DEVICE, text=lines)
    assert (told.values["devices"], told.metadata.sources["devices"]) == (8, "log")


def test_work_and_time_beside_a_devices_rate_tell_the_devices() -> None:
    lines = "row step=1 tokens=1048576 ms=64012.5 own=2047.6\nrow step=2 tokens=1000000 ms=62000 own=2016.129\n"
    assert made(WORK, STEP_TIME, DEVICE, text=lines).values["devices"] == 8
    mean = {"span": "cumulative"}
    assert made(WORK, {**STEP_TIME, **mean}, {**DEVICE, **mean}, text=lines).values["devices"] == 8
    of_epoch = made(WORK, {**STEP_TIME, **mean, "since": "epoch"}, {**DEVICE, **mean}, text=lines)
    assert "devices" not in of_epoch.values


def test_thousands_are_counted() -> None:
    lines = "row step=1 tps=40123.5 own=10.030875\nrow step=2 tps=40201.25 own=10.0503125\n"
    assert made(JOB, KTOKENS, text=lines).values["devices"] == 4


@pytest.mark.parametrize(
    "lines",
    [
        "row step=1 tps=812.5 own=100.3\nrow step=2 tps=822.5 own=101.4\n",  # 8.1
        "row step=1 tps=800.5 own=100.06\nrow step=2 tps=700.5 own=100.07\n",  # 8 and 7
        "row step=1 tps=2050000 own=256000\n",  # one coarse line: 7.9 to 8.1
        "row step=1 tps=9000 own=1000\nrow step=2 tps=9000 own=1000\n",  # 4 to infinity by their digits
        "row step=1 tps=50.25 own=201.12\nrow step=2 tps=50.25 own=201.12\n",  # a quarter
        "row step=1 tps=50.25 own=0\nrow step=2 tps=50.25 own=nan\n",
    ],
)
def test_what_is_no_whole_number_for_certain_tells_nothing(lines: str) -> None:
    assert "devices" not in made(JOB, DEVICE, text=lines).values


def test_one_fine_line_is_enough() -> None:
    assert made(JOB, DEVICE, text="row step=1 tps=2050123.25 own=256265.40625\n").values["devices"] == 8


def test_rates_over_different_steps_are_not_compared() -> None:
    lines = "row step=1 tps=800.25 own=100.03125\nrow step=2 tps=800.25 own=100.03125\n"
    assert "devices" not in made({**JOB, "span": "last"}, DEVICE, text=lines).values
    ten: dict[str, Any] = {"span": "window", "window": 10}
    twenty: dict[str, Any] = {"span": "window", "window": 20}
    assert made({**JOB, **ten}, {**DEVICE, **ten}, text=lines).values["devices"] == 8
    assert "devices" not in made({**JOB, **ten}, {**DEVICE, **twenty}, text=lines).values
    assert "devices" not in made({**JOB, "unit": "samples/s"}, DEVICE, text=lines).values


def test_what_the_rates_tell_is_held_against_what_the_log_says() -> None:
    lines = "row step=1 tps=800.25 own=100.03125\nrow step=2 tps=800.25 own=100.03125\n"
    told = made(JOB, DEVICE, text="set devices=16\n" + lines)
    assert told.values["devices"] == 16
    doubt = "the log gives two values for devices: 16 and 8 (the rates on lines 2 to 3)"
    assert doubt in texts(told.notes)
    assert "tokens_per_second_per_device" not in told.metrics  # of which number nothing tells
    given = made(JOB, DEVICE, text=lines, set={"devices": "4"})
    assert "devices is 4 by the command line, 8 by the log" in texts(given.notes)


def test_each_log_has_its_own_devices() -> None:
    catalog = formats(table("step tps own", JOB, DEVICE, sample=[{"line": "row step=1 tps=1 own=1"}]))
    builder = RunBuilder(catalog, options())
    texts = ("row step=1 tps=800.25 own=100.03125\n", "row step=1 tps=800.25 own=200.0625\n")
    outcomes = [builder.build(read(catalog, text)) for text in texts]  # of one path, so that what it says is known
    assert [made.values["devices"] for outcome in outcomes if isinstance(outcome, list) for made in outcome] == [8, 4]
