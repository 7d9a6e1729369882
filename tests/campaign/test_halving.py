"""The commit that made a case slower: found by measuring commits in turn, and never named by a guess."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from perflog.campaign.halving import Answer, Search, halve
from perflog.campaign.versus import Budget
from perflog.errors import PerflogError, UsageError
from tests.campaign.test_versus import campaign
from tests.history.test_commits import git
from tests.history.test_ledger import keep
from tests.test_hostile_text import perflog

STEADY, SLOW = "8=100", "8=88"


def repository(folder: Path, rates: Sequence[str], spread: float = 0.003) -> tuple[Path, list[str]]:
    """A repository with a commit for each rate that its campaign file names, and their names."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    names = []
    for number, rate in enumerate(rates):
        campaign(folder, "bench", rate, batches=(8,), SPREAD=str(spread))
        git(folder, "add", "bench.toml")
        git(folder, "commit", "--quiet", "--allow-empty", "-m", f"step {number}")
        names.append(git(folder, "rev-parse", "HEAD"))
    return folder, names


@pytest.mark.long
def test_the_commit_is_found_and_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the history to the commit by the command line; the same command again measures nothing."""
    folder, commits = repository(tmp_path / "repository", [STEADY] * 4 + [SLOW] * 4)
    database = str(tmp_path / "history.sqlite")
    keep(database, range(12), 1.0, commit=commits[0])
    keep(database, range(12, 19), 0.88, commit=commits[7])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made").mkdir()
    words = [
        "history", "bisect", "d12", "--case", "model=rn50", "--run", str(folder / "bench.toml"), "--max-runs", "12",
        "--prepare", f"git rev-parse HEAD >> {tmp_path}/made/log", "--database", database,
    ]  # fmt: skip
    status, out, first = perflog(words)
    lines = [line.strip() for line in out.splitlines()]
    assert status == 0 and lines[-1] == f"first bad: {commits[4][:12]} step 4"
    told = {line.split()[1]: line.split(":")[0] for line in lines if line.startswith(("good:", "bad:"))}
    assert 3 <= len(told) <= 4, "the bad end, and seven commits halved"
    for commit, word in told.items():
        place = next(at for at, name in enumerate(commits) if name.startswith(commit))
        assert word == ("bad" if place >= 4 else "good")
    trees = tmp_path / "bisect" / "trees"
    assert (
        not [path for path in trees.iterdir() if path.suffix != ".log"]
        and git(folder, "worktree", "list").count("\n") == 0
    )
    made = (tmp_path / "made" / "log").read_text().split()
    assert sorted(made) == sorted([commits[0], *(c for c in commits if c[:12] in told)]), "each was made ready once"
    status, again, again_told = perflog(words)
    assert status == 0 and again == out and "round 1" in first and "round 1" not in again_told


@pytest.mark.long
def test_what_is_the_same_today_is_not_searched(tmp_path: Path) -> None:
    folder, commits = repository(tmp_path / "repository", [STEADY] * 4)
    halved = halve(Search(folder, commits[0], commits[3], folder / "bench.toml", tmp_path / "logs", budget=Budget(12)))
    assert halved.first_bad is None and halved.left == 3
    assert [made.answer for made in halved.measurements] == [Answer.GOOD]


def test_what_cannot_be_measured_is_said_and_leaves_what_is_there(tmp_path: Path) -> None:
    folder, commits = repository(tmp_path / "repository", [STEADY] * 2)
    outside = campaign(tmp_path, "outside", STEADY, batches=(8,))
    ends = (folder, commits[0], commits[1])
    with pytest.raises(UsageError, match="expected a campaign file in the repository"):
        halve(Search(*ends, outside, tmp_path / "logs"))
    with pytest.raises(UsageError, match="git rev-parse"):
        halve(Search(folder, commits[0], "f" * 40, folder / "bench.toml", tmp_path / "logs"))
    with pytest.raises(PerflogError, match=r"--prepare 'echo no; exit 3' ended with status 3; .* has what it printed"):
        halve(Search(*ends, folder / "bench.toml", tmp_path / "logs", prepare="echo no; exit 3"))
    assert [log.read_text() for log in (tmp_path / "logs" / "trees").glob("*.log")] == ["no\n"]
    assert git(folder, "status", "--porcelain") == ""


def test_a_commit_that_cannot_be_decided_ends_the_search(tmp_path: Path) -> None:
    """Four runs a side that spread by 5 % do not decide whether two commits are the same within 0.1 %."""
    folder, commits = repository(tmp_path / "repository", [STEADY] * 3, spread=0.05)
    ends = (folder, commits[0], commits[2], folder / "bench.toml", tmp_path / "logs")
    halved = halve(Search(*ends, budget=Budget(4), margin=0.001))
    assert halved.first_bad is None and halved.left == 2
    assert [made.answer for made in halved.measurements] == [Answer.UNDECIDED]
