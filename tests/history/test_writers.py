"""Several processes on one history: two writers lose nothing, and one that is killed leaves nothing half saved."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter

import pytest

from perflog.history.saving import campaigns, load, save
from tests.extractions import campaign
from tests.history.test_history import rows
from tests.support import CAMPAIGN, ROOT

KILLS = 40 if CAMPAIGN else 10
#: Where a test of PostgreSQL is a long one.
BOTH = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True
)
#: So many cases that saving takes long enough to be killed in.
CASES = 60


class Writer:
    """A process that has its campaigns ready and waits for the word."""

    def __init__(self, database: str, cases: int, *wanted: str) -> None:
        command = [sys.executable, "-m", "tests.history.writer", database, str(cases), *wanted]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if wanted:
            assert self.line() == "ready"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def tell(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def said(self) -> list[str]:
        """All it says until its end."""
        out, _ = self.process.communicate(timeout=120)
        assert self.process.returncode == 0
        return out.splitlines()


def together(*writers: Writer) -> list[list[str]]:
    for writer in writers:
        writer.tell("go")
    return [writer.said() for writer in writers]


@pytest.mark.long
def test_two_writers_lose_nothing(database: str) -> None:
    """They begin the history together, too."""
    names = [[f"{who}{n}" for n in range(5)] for who in "ab"]
    said = together(*(Writer(database, 10, *(f"{name}:{name}" for name in mine)) for mine in names))
    assert said == [["saved"] * 5] * 2
    assert sorted([c.label for c in campaigns(database)]) == sorted(names[0] + names[1])
    for name in names[0] + names[1]:
        assert load(database, name).extraction == campaign(10, seed=name)


@BOTH
@pytest.mark.long
def test_two_writers_of_one_campaign_save_it_once(database: str) -> None:
    said = together(*(Writer(database, 10, *(f"v{n}:{n}" for n in range(5))) for _ in range(2)))
    assert [Counter(pair) for pair in zip(*said, strict=True)] == [Counter(["saved", "already saved"])] * 5
    assert rows(database)["perflog_run"] == 5 * 10 * 5


@pytest.mark.long
def test_of_two_campaigns_with_one_label_one_is_told_of_the_other(database: str) -> None:
    said = together(*(Writer(database, 10, *(f"v{n}:{who}{n}" for n in range(5))) for who in "ab"))
    for n, pair in enumerate(zip(*said, strict=True)):
        won = pair.index("saved")
        assert pair[1 - won].startswith(f"error: 'v{n}' was saved on ")
        assert load(database, f"v{n}").extraction == campaign(10, seed=f"{'ab'[won]}{n}")


@pytest.mark.long
@BOTH
@pytest.mark.parametrize("begun", [True, False], ids=["begun", "new"])
def test_a_writer_that_is_killed_leaves_all_or_nothing(database: str, begun: bool) -> None:
    """Killed at random times within its save, with the history there or being made in the same moment."""
    rng = random.Random(f"kill {begun}")
    count = KILLS if begun else KILLS // 4
    writer = Writer(database, CASES)
    limit = saving(writer, "timed", 60) * 1.2 if begun else 0.5
    whole = []
    for number in range(count):
        lived = saving(writer, f"k{number}", rng.uniform(0, limit))
        if f"k{number}" in [c.label for c in campaigns(database)]:
            whole.append(f"k{number}")
            limit = min(limit, lived)  # the machine may have been busy when the first one was timed
            assert load(database, f"k{number}").extraction == campaign(CASES, seed=f"k{number}")
    assert writer.said() == []
    whole += ["timed"] * begun
    assert len(whole) < count or not begun
    assert sorted([c.label for c in campaigns(database)]) == sorted(whole)
    if rows(database):
        assert rows(database)["perflog_run"] == len(whole) * CASES * 5
        assert rows(database)["perflog_metric"] == 3 * rows(database)["perflog_run"]
    assert save(database, campaign(2, seed="after"), "after").done == "saved"


def saving(writer: Writer, label: str, seconds: float) -> float:
    """Let a copy of the writer save a campaign, and kill it after so many seconds; how long it lived."""
    writer.tell(f"{label}:{seconds}")
    return float(writer.line())
