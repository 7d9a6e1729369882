"""Starts that failed before the real one, in one log: what they said and measured is no part of the run."""

from __future__ import annotations

import pytest

from perflog.formats.catalog import Catalog
from perflog.formats.load import load_parser
from perflog.notes import texts
from perflog.resources import folder
from tests.measurements.support import STEP_TIME, parser, table
from tests.reading.support import BEGIN, catalog, fact
from tests.runs.support import run, runs

FAILED = load_parser(folder("parsers") / "failed_starts.toml")
TIMES = table("step ms", STEP_TIME, sample=[{"line": "row step=1 ms=5"}])
FACTS = [fact(key) for key in ("batch_size", "devices", "model")]
MADE: Catalog = catalog(parser(TIMES, *FACTS), FAILED)
WITH_BEGIN: Catalog = catalog(parser(TIMES, BEGIN, *FACTS), FAILED)
ENDS = (
    'Traceback (most recent call last):\n  File "train.py", line 3\nMemoryError\n',
    "Killed\n",
    "run.sh: line 12: 40213 Killed                  python train.py\n",
    "Segmentation fault (core dumped)\n",
    "slurmstepd: error: *** JOB 12345 ON node07 CANCELLED AT 2024-05-04T10:11:12 DUE TO TIME LIMIT ***\n",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=12345.batch.\n",
)


def timed(*numbers: int, ms: int = 100) -> str:
    return "".join(f"row step={number} ms={ms}\n" for number in numbers)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("made", [MADE, WITH_BEGIN])
def test_the_settings_behind_the_last_failure_count(made: Catalog, end: str) -> None:
    """Two failed starts with 64 and 32 samples, then 8 samples a step in 0.1 s."""
    text = "set batch_size=64\nset devices=4\n" + end + "set batch_size=32\nset devices=4\n" + end
    found = run(made, text + "set batch_size=8\nset devices=4\n" + timed(1, 2))
    assert found.throughput.value == 8 * 4 / 0.1
    assert not [note for note in texts(found.notes) if "two values" in note]


def test_a_start_line_between_the_failure_and_the_settings_changes_nothing() -> None:
    text = "set batch_size=64\nset devices=4\n" + ENDS[0] + "begin\nset batch_size=8\nset devices=4\n" + timed(1, 2)
    assert run(WITH_BEGIN, text).throughput.value == 8 * 4 / 0.1


def test_settings_that_the_last_start_does_not_say_again_are_those_of_the_start_before() -> None:
    text = "set devices=4\nset batch_size=64\n" + ENDS[0] + "set batch_size=8\n" + timed(1, 2)
    assert run(MADE, text).throughput.value == 8 * 4 / 0.1


def test_a_traceback_that_a_program_survives_separates_nothing() -> None:
    """Two batch sizes behind it are a contradiction still, and none before it is forgotten."""
    text = "set devices=4\n" + ENDS[0] + "set batch_size=64\nset batch_size=8\n" + timed(1, 2)
    assert "two values for batch_size" in run(MADE, text).throughput.reason
    assert run(MADE, "set devices=4\nset batch_size=8\n" + ENDS[0] + timed(1, 2)).throughput.value == 8 * 4 / 0.1


def test_steps_that_begin_again_behind_a_failure_are_another_run() -> None:
    """The first start took 0.25 s a step and ran out of memory, the second took 0.1 s with half the batch."""
    settings = "set devices=1\nset batch_size={}\n"
    text = settings.format(16) + timed(1, 2, 3, ms=250) + ENDS[0] + settings.format(8) + timed(1, 2, 3, 4)
    first, second = runs(MADE, text)
    assert [found.throughput.value for found in (first, second)] == [pytest.approx(16 / 0.25), pytest.approx(8 / 0.1)]
    (refused,) = runs(MADE, text.replace(ENDS[0], ""))
    assert refused.throughput.value is None


def test_a_traceback_within_a_run_does_not_part_it() -> None:
    text = "set devices=1\nset batch_size=8\n" + timed(1, 2) + ENDS[0] + timed(3, 4)
    assert run(MADE, text).throughput.used == 4
