"""What a run was is found out once for repeats of one configuration, and is the same as for each alone."""

from __future__ import annotations

import pytest

from perflog.formats.catalog import Catalog
from perflog.formats.paths import PathPatterns, _path_pattern, _PatternTable
from perflog.runs.build import RunBuilder
from perflog.runs.run import Run
from tests.measurements.support import RATE, STEP_TIME, table
from tests.reading.support import STEPS, fact, formats, read, steps
from tests.runs.support import options

PATHS = PathPatterns(
    tuple(
        _path_pattern(_PatternTable(regex=regex), "t") for regex in ("bs(?P<batch_size>[0-9]+)", "r(?P<repeat>[0-9]+)")
    )
)
MADE = Catalog(formats(STEPS, fact("model")).parsers, PATHS)


def built(builder: RunBuilder, path: str, text: str = "") -> Run:
    outcome = builder.build(read(MADE, text + steps(1, 2), path=path))
    assert isinstance(outcome, list)
    return outcome[0]


@pytest.mark.parametrize("given", [{}, {"set": {"repeat": "7"}}, {"config_set": {"batch_size": "64"}}])
def test_one_builder_and_one_each_tell_the_same(given: dict[str, dict[str, str]]) -> None:
    shared = RunBuilder(MADE, options(**given))
    paths = [
        "a/bs32_r1.log",
        "a/bs32_r2.log",
        "a/bs32_r2_x.log",
        "a/bs8_r1.log",
        "b/bs32_r1.log",
        "a/bs32.log",
        "r5/bs32.log",
        "r5/bs32_r1.log",
    ]
    for path in paths * 2:
        assert built(shared, f"/logs/{path}") == built(RunBuilder(MADE, options(**given)), f"/logs/{path}")


def test_repeats_and_what_else_a_path_says() -> None:
    builder = RunBuilder(MADE, options())
    found = [
        built(builder, f"/logs/{path}").values for path in ("bs32_r1.log", "bs32_r2.log", "bs8_r2.log", "r5/bs32.log")
    ]
    assert found == [
        {"batch_size": 32, "repeat": 1},
        {"batch_size": 32, "repeat": 2},
        {"batch_size": 8, "repeat": 2},
        {"batch_size": 32, "repeat": 5},
    ]


def test_what_a_log_says_itself_is_its_own() -> None:
    builder = RunBuilder(MADE, options())
    models = [
        built(builder, "/logs/bs32_r1.log", text).values.get("model")
        for text in ("", "set model=a\n", "set model=b\n", "")
    ]
    assert models == [None, "a", "b", None]


def test_the_batch_on_the_lines_of_a_repeat_is_its_own() -> None:
    """Samples a second times seconds a step: 8 samples in the first repeat, 16 in the second."""
    sample = {"line": "row step=1 ips=4 ms=2000", "expect": {"step": 1, "ips": 4, "ms": 2000}}
    made = Catalog(formats(table("step ips ms", RATE, STEP_TIME, sample=[sample])).parsers, PATHS)
    builder = RunBuilder(made, options())
    batches = []
    for repeat, rate in ((1, 3.999), (2, 7.998), (3, 3.999)):
        text = "".join(f"row step={step} ips={rate} ms=2000.5\n" for step in range(1, 9))
        outcome = builder.build(read(made, text, path=f"/logs/x_r{repeat}.log"))
        assert isinstance(outcome, list)
        batches.append((outcome[0].values.get("repeat"), outcome[0].values.get("global_batch_size")))
    assert batches == [(1, 8), (2, 16), (3, 8)]
