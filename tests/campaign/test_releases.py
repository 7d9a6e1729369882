"""Two releases of PyTorch, and one against itself: real logs of the runner, five runs each, interleaved (docs/campaigns.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from perflog import cli
from tests.support import FIXTURES, extracted
from tests.tools.agreement import TOLERANCE, compared

RELEASES = FIXTURES / "campaign" / "releases"
VERSIONS = {"2.12.1": "2.12.1", "2.13.0": "2.13.0+cpu", "2.13.0-again": "2.13.0+cpu"}


def row(old: str, new: str) -> dict[str, Any]:
    done = CliRunner().invoke(cli.app, ["compare", str(RELEASES / old), str(RELEASES / new), "-w", "60", "-f", "json"])
    assert done.exit_code == 0, done.output
    (comparison,) = json.loads(done.output)["comparisons"]
    (found,) = comparison["rows"]
    assert comparison["not_compared"] == []
    return dict(found)


@pytest.mark.parametrize("side", VERSIONS)
def test_each_side_is_five_runs_of_one_release(side: str) -> None:
    extraction = extracted(RELEASES / side)
    (case,) = extraction.cases
    assert extraction.skipped == []
    assert (case.key["framework"], case.key["framework_version"]) == ("PyTorch", VERSIONS[side])
    assert case.throughput.n == 5
    found = [value / wall - 1 for _, value, wall in compared(RELEASES / side)]
    assert len(found) == 5
    assert max(map(abs, found)) <= TOLERANCE


def test_the_sides_ran_on_one_machine() -> None:
    facts = [json.loads((RELEASES / side / "machine.json").read_text()) for side in VERSIONS]
    for key in ("cpu", "cpus", "memory_gib", "kernel", "environment"):
        assert facts[0][key] == facts[1][key] == facts[2][key], key
    assert {path.name for path in Path(RELEASES).iterdir()} == set(VERSIONS)


def test_two_releases_are_compared() -> None:
    found = row("2.12.1", "2.13.0")
    assert (found["old"]["version"], found["new"]["version"]) == ("2.12.1", "2.13.0+cpu")
    assert (found["old"]["n"], found["new"]["n"]) == (5, 5)
    assert (round(found["ratio"], 4), found["verdict"]) == (1.0039, "inconclusive")


def test_a_release_against_itself_gives_no_finding() -> None:
    assert row("2.13.0", "2.13.0-again")["verdict"] in ("same", "inconclusive")
