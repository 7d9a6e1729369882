"""What turns work and time as printed into throughput: every scope and unit, with and without what it needs."""

from __future__ import annotations

from typing import Any

import pytest

from perflog.measurements.basis import Basis
from perflog.runs.factor import Factor, factor_of, global_batch, scope_multiplier, seconds_scale
from perflog.runs.metadata import Metadata
from tests.measurements.support import RATE, STEP_TIME, TOKENS, pattern
from tests.runs.support import known, reading_of_units

STEPS_RATE = {**RATE, "unit": "it/s"}
UNITLESS = {"group": "ips", "quantity": "rate"}


def factor(value: dict[str, Any], metadata: Metadata | None = None, *units: str, **basis: Any) -> Factor:
    made = pattern(f"step {value['group']} unit", value)
    return factor_of(reading_of_units(*units), made, Basis(made.values[0], **basis), metadata or Metadata())


@pytest.mark.parametrize(
    ("scope", "facts", "expected"),
    [
        ("job", {}, Factor(1, "samples/s")),
        ("device", {"devices": 8}, Factor(8, "samples/s")),
        ("rank", {"devices": 8}, Factor(8, "samples/s")),
        ("node", {"nodes": 2, "devices": 8}, Factor(2, "samples/s")),
        (
            "rank",
            {},
            Factor(
                1,
                "samples/s/rank",
                "",
                "the printed rate is one rank's and the number of devices is unknown: give --set devices=N",
            ),
        ),
        (
            "device",
            {"nodes": 2},
            Factor(
                1,
                "samples/s/device",
                "",
                "the printed rate is one device's and the number of devices is unknown: give --set devices=N",
            ),
        ),
        (
            "node",
            {"devices": 8},
            Factor(
                0, "samples/s", "the printed rate is one node's and the number of nodes is unknown: give --set nodes=N"
            ),
        ),
        (
            "device",
            {"devices": "eight"},
            Factor(
                1,
                "samples/s/device",
                "",
                "the printed rate is one device's and the number of devices is unknown: give --set devices=N",
            ),
        ),
    ],
)
def test_scopes_of_rates(scope: str, facts: dict[str, Any], expected: Factor) -> None:
    assert factor({**RATE, "scope": scope}, known(**facts)) == expected


def test_steps_per_second_need_the_batch() -> None:
    assert factor(STEPS_RATE, known(batch_size=32, devices=8)) == Factor(256, "samples/s")
    assert factor(STEPS_RATE, known(batch_size=32)) == Factor(
        1, "steps/s", "", "devices is unknown, so that steps are counted: for samples/s give --set devices=N"
    )


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"batch_size": 32, "devices": 8}, Factor(256, "samples/s")),
        ({"global_batch_size": 512, "devices": 8}, Factor(512, "samples/s")),
        (
            {"batch_size": 32},
            Factor(
                1, "steps/s", "", "devices is unknown, so that steps are counted: for samples/s give --set devices=N"
            ),
        ),
        (
            {"devices": 8},
            Factor(
                1,
                "steps/s",
                "",
                "batch_size is unknown, so that steps are counted: for samples/s give --set batch_size=N",
            ),
        ),
        (
            {},
            Factor(
                1,
                "steps/s",
                "",
                "batch_size and devices are unknown, so that steps are counted: for samples/s give --set batch_size=N --set devices=N",
            ),
        ),
        ({"gradient_accumulation_steps": "1", "batch_size": 32, "devices": 2}, Factor(64, "samples/s")),
        ({"gradient_accumulation_steps": "4", "global_batch_size": 256}, Factor(256, "samples/s")),
        (
            {"gradient_accumulation_steps": "4", "batch_size": 32, "devices": 2},
            Factor(
                1,
                "steps/s",
                "",
                "each step accumulates 4 micro-batches of unknown size together, so that steps are counted: for samples/s give --set global_batch_size=N",
            ),
        ),
    ],
)
def test_times_need_the_batch(facts: dict[str, Any], expected: Factor) -> None:
    assert factor(STEP_TIME, known(**facts)) == expected


def test_a_batch_on_the_line_is_enough() -> None:
    assert factor(STEP_TIME, known(gradient_accumulation_steps="4"), batch_on_line=True) == Factor(1, "samples/s")


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        (("img/s",), Factor(1, "images/s")),
        (("img/s", "images/sec"), Factor(1, "images/s")),
        (("img/s", "None"), Factor(1, "images/s")),
        ((), Factor(0, "", "the log does not say what the rate counts")),
        (("None",), Factor(0, "", "the log does not say what the rate counts")),
        (("img/s", "tokens/s"), Factor(0, "", "the rate's unit is not one that is known: img/s, tokens/s")),
        (("kimg/s",), Factor(0, "", "the rate's unit is not one that is known: kimg/s")),
        (("furlongs/s",), Factor(0, "", "the rate's unit is not one that is known: furlongs/s")),
    ],
)
def test_units_that_the_lines_print(units: tuple[str, ...], expected: Factor) -> None:
    assert factor(UNITLESS, known(), *units) == expected


def test_a_declared_unit_counts_before_a_printed_one() -> None:
    assert factor({**RATE, "unit": "Ktokens/s"}, known(), "img/s") == Factor(1, "tokens/s")


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
        ({**RATE, "scope": "rank"}, {"batch_size": 32}, {}, 32),
        ({**RATE, "scope": "device"}, {"global_batch_size": 32}, {}, None),
        ({**RATE, "scope": "device"}, {"batch_size": 32, "tensor_parallel": "2"}, {}, None),
        ({**RATE, "scope": "device"}, {"batch_size": 32, "gradient_accumulation_steps": "4"}, {}, None),
        ({**RATE, "scope": "node"}, {"batch_size": 32}, {}, None),
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
