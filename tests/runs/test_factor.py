"""What turns work and time as printed into throughput: every scope and unit, with and without what it needs."""

from __future__ import annotations

from typing import Any

import pytest

from perflog.measurements.basis import Basis
from perflog.runs.factor import factor_of, global_batch, scope_multiplier, seconds_scale
from perflog.runs.metadata import Metadata
from tests.measurements.support import RATE, STEP_TIME, TOKENS, pattern
from tests.runs.support import known, reading_of_units

STEPS_RATE = {**RATE, "unit": "it/s"}
UNITLESS = {"group": "ips", "quantity": "rate"}


def factor(
    value: dict[str, Any], metadata: Metadata | None = None, *units: str, **basis: Any
) -> tuple[float, str, str]:
    made = pattern(f"step {value['group']} unit", value)
    return factor_of(reading_of_units(*units), made, Basis(made.values[0], **basis), metadata or Metadata())


@pytest.mark.parametrize(
    ("scope", "facts", "expected"),
    [
        ("job", {}, (1, "samples/s", "")),
        ("device", {"devices": 8}, (8, "samples/s", "")),
        ("rank", {"devices": 8}, (8, "samples/s", "")),
        ("node", {"nodes": 2, "devices": 8}, (2, "samples/s", "")),
        (
            "rank",
            {},
            (
                0,
                "samples/s",
                "the printed rate is one rank's and the number of devices is unknown: give --set devices=N",
            ),
        ),
        (
            "device",
            {"nodes": 2},
            (
                0,
                "samples/s",
                "the printed rate is one device's and the number of devices is unknown: give --set devices=N",
            ),
        ),
        (
            "node",
            {"devices": 8},
            (0, "samples/s", "the printed rate is one node's and the number of nodes is unknown: give --set nodes=N"),
        ),
        (
            "device",
            {"devices": "eight"},
            (
                0,
                "samples/s",
                "the printed rate is one device's and the number of devices is unknown: give --set devices=N",
            ),
        ),
    ],
)
def test_scopes_of_rates(scope: str, facts: dict[str, Any], expected: tuple[float, str, str]) -> None:
    assert factor({**RATE, "scope": scope}, known(**facts)) == expected


def test_steps_per_second_need_the_batch() -> None:
    assert factor(STEPS_RATE, known(batch_size=32, devices=8)) == (256, "samples/s", "")
    assert factor(STEPS_RATE, known(batch_size=32)) == (
        0, "steps/s", "the log prints steps per second; for samples per second give --set batch_size=N (per device) and devices=N"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"batch_size": 32, "devices": 8}, (256, "samples/s", "")),
        ({"global_batch_size": 512, "devices": 8}, (512, "samples/s", "")),
        ({"batch_size": 32}, (0, "samples/s", "the log prints times only, and devices unknown: give --set devices=N")),
        (
            {"devices": 8},
            (0, "samples/s", "the log prints times only, and batch_size unknown: give --set batch_size=N"),
        ),
        (
            {},
            (
                0,
                "samples/s",
                "the log prints times only, and batch_size and devices unknown: give --set batch_size=N --set devices=N",
            ),
        ),
        ({"gradient_accumulation_steps": "1", "batch_size": 32, "devices": 2}, (64, "samples/s", "")),
        ({"gradient_accumulation_steps": "4", "global_batch_size": 256}, (256, "samples/s", "")),
        (
            {"gradient_accumulation_steps": "4", "batch_size": 32, "devices": 2},
            (
                0,
                "samples/s",
                "each step accumulates 4 micro-batches and the log prints times only: give --set global_batch_size=N",
            ),
        ),
    ],
)
def test_times_need_the_batch(facts: dict[str, Any], expected: tuple[float, str, str]) -> None:
    assert factor(STEP_TIME, known(**facts)) == expected


def test_a_batch_on_the_line_is_enough() -> None:
    assert factor(STEP_TIME, known(gradient_accumulation_steps="4"), batch_on_line=True) == (1, "samples/s", "")


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        (("img/s",), (1, "images/s", "")),
        (("img/s", "images/sec"), (1, "images/s", "")),
        (("img/s", "None"), (1, "images/s", "")),
        ((), (0, "", "the log does not say what the rate counts")),
        (("None",), (0, "", "the log does not say what the rate counts")),
        (("img/s", "tokens/s"), (0, "", "the rate's unit is not one that is known: img/s, tokens/s")),
        (("kimg/s",), (0, "", "the rate's unit is not one that is known: kimg/s")),
        (("furlongs/s",), (0, "", "the rate's unit is not one that is known: furlongs/s")),
    ],
)
def test_units_that_the_lines_print(units: tuple[str, ...], expected: tuple[float, str, str]) -> None:
    assert factor(UNITLESS, known(), *units) == expected


def test_a_declared_unit_counts_before_a_printed_one() -> None:
    assert factor({**RATE, "unit": "Ktokens/s"}, known(), "img/s") == (1, "tokens/s", "")


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"global_batch_size": (100, "log"), "batch_size": (32, "log"), "devices": (8, "log")}, 100),
        ({"global_batch_size": (100, "path"), "batch_size": (32, "log"), "devices": (8, "log")}, 256),
        ({"global_batch_size": (100, "path"), "batch_size": (32, "log")}, 100),
        ({"global_batch_size": (100, "log")}, 100),
        ({"batch_size": (32, "log"), "devices": (8, "path")}, 256),
        ({"devices": (8, "path")}, None),
    ],
)
def test_the_batch_of_the_job(sources: dict[str, tuple[int, str]], expected: int | None) -> None:
    facts = Metadata(
        {key: value for key, (value, _) in sources.items()}, {key: source for key, (_, source) in sources.items()}
    )
    assert global_batch(facts) == expected


def test_scopes_multiply() -> None:
    assert scope_multiplier("job", Metadata()) == (1, "")
    assert scope_multiplier("node", known(nodes=3)) == (3, "")


@pytest.mark.parametrize(
    ("value", "facts", "more", "scale"),
    [
        (STEP_TIME, {}, {}, 1),
        (STEPS_RATE, {}, {}, 1),
        (RATE, {"batch_size": 32, "devices": 8}, {}, 256),
        ({**RATE, "scope": "device"}, {"batch_size": 32, "devices": 8}, {}, 32),
        ({**RATE, "scope": "node"}, {"batch_size": 32, "devices": 8}, {}, None),
        (RATE, {}, {}, None),
        (TOKENS, {"batch_size": 32, "devices": 8}, {}, None),
        (UNITLESS, {"batch_size": 32, "devices": 8}, {}, None),
    ],
)
def test_what_turns_the_time_of_a_step_into_seconds(
    value: dict[str, Any], facts: dict[str, Any], more: dict[str, Any], scale: float | None
) -> None:
    made = pattern(f"step {value['group']} unit", value)
    assert seconds_scale(reading_of_units(), made, Basis(made.values[0], **more), known(**facts)) == scale
