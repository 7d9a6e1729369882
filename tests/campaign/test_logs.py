"""Real logs of the four runners, made by ``make campaign-short``: read by their parsers, agreeing with the runners' own clocks."""

from __future__ import annotations

import json
import re
from functools import lru_cache

import pytest

from perflog.extraction import Extraction
from tests.support import FIXTURES, extracted
from tests.tools.agreement import TOLERANCE, compared

SHORT, MEMORY = FIXTURES / "campaign" / "short", FIXTURES / "campaign" / "memory"
PARSERS = {
    "PyTorch": "averagemeter",
    "PaddlePaddle": "paddle_hapi",
    "MXNet": "mxnet_speedometer",
    "MindSpore": "mindspore",
}
VERSIONS = {"PyTorch": "2.13.0+cpu", "PaddlePaddle": "3.3.1", "MXNet": "1.9.1", "MindSpore": "2.10.0"}


@lru_cache(maxsize=1)
def short() -> Extraction:
    return extracted(SHORT)


def test_there_are_three_runs_of_every_configuration() -> None:
    cases = {(str(c.key["framework"]), c.key["devices"]): c for c in short().cases}
    assert set(cases) == {(framework, devices) for framework in PARSERS for devices in (1, 2)}
    for (framework, devices), case in cases.items():
        assert [run.parser for run in case.runs] == [PARSERS[framework]] * 3
        assert case.key["framework_version"] == VERSIONS[framework]
        assert (case.key["model"], case.key["precision"], case.key["batch_size"]) == ("cnn", "fp32", 16)
        assert case.throughput.unit == "samples/s"
        assert case.throughput.n == 3
        assert (case.speedup is None) == (devices == 0)
    assert short().skipped == []


def test_each_log_agrees_with_its_runners_own_clock() -> None:
    """perflog's throughput and the wall clock over the same steps: 24 trainings, four loggers, one and two processes."""
    found = {run.log.path: value / wall - 1 for run, value, wall in compared(SHORT)}
    assert len(found) == 24
    assert {path: round(off, 4) for path, off in found.items() if abs(off) > TOLERANCE} == {}


def test_every_step_was_logged() -> None:
    for run in short().runs:
        assert run.throughput.last_step is not None
        assert run.throughput.last_step >= 90
        assert run.throughput.used >= 7


def test_the_machine_is_on_record_and_no_secret_is() -> None:
    facts = json.loads((SHORT / "machine.json").read_text())
    assert set(facts["frameworks"]) == {"mindspore", "mxnet", "paddle", "pytorch"}
    assert set(facts["clocks"]) == {"before", "after"}
    for key in ("system", "kernel", "cpu", "cpus", "memory_gib", "git", "topology", "driver", "gpus"):
        assert key in facts
    for path in SHORT.rglob("*.*"):
        assert not re.search(
            r"(?i)(?:token|secret|passw|api_?key)[A-Z_]*['\"]?\s*[=:]", path.read_text(errors="replace")
        ), path
        assert "LD_LIBRARY_PATH" not in path.read_text(errors="replace"), path


@pytest.mark.parametrize("framework", ["PyTorch", "MXNet"])
def test_a_batch_that_memory_does_not_hold_is_a_case_without_a_value(framework: str) -> None:
    cases = {c.key["batch_size"]: c for c in extracted(MEMORY).cases if c.key["framework"] == framework}
    assert cases[16].throughput.value
    assert cases[100_000_000].throughput.value is None
    assert cases[100_000_000].throughput.reason.startswith("OOM: ")
    assert cases[100_000_000].key["framework_version"] == VERSIONS[framework]
