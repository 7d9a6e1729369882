"""Which commit and branch a campaign measured: as told, from git, from the CI; and the campaigns of one branch."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from perflog.cases.build import build_cases
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.history import acknowledge, bisect, campaigns, look, regressions, save, series
from perflog.history.commits import CI_VARIABLES, Code, code_of
from tests.extractions import campaign
from tests.history.test_ledger import keep
from tests.history.test_level_changes import BEGIN
from tests.test_hostile_text import perflog


def git(folder: Path, *words: str) -> str:
    named = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch", "fast-path")
    (tmp_path / "train.py").write_text("1\n")
    git(tmp_path, "add", "train.py")
    git(tmp_path, "commit", "--quiet", "-m", "one")
    return tmp_path


def test_what_is_checked_out(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    assert code_of("git", None, repository) == Code(head, "fast-path")
    assert code_of("git", "other", repository) == Code(head, "other")
    git(repository, "checkout", "--quiet", "--detach")
    assert code_of("git", None, repository) == Code(head, None)
    (repository / "new.log").write_text("a log that is in no commit is no change of the code\n")
    assert code_of("git", None, repository).commit == head


def test_a_work_tree_with_changes_is_no_commit(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (repository / "train.py").write_text("2\n")
    with pytest.raises(
        UsageError, match=r"--commit git: the work tree has changes that are in no commit \(M train.py\)"
    ):
        code_of("git", None, repository)
    with pytest.raises(UsageError, match="--commit git: git rev-parse HEAD: "):
        code_of("git", None, tmp_path_factory.mktemp("elsewhere"))


@pytest.mark.parametrize("service", CI_VARIABLES)
def test_what_the_ci_says(service: str) -> None:
    commit, branches = CI_VARIABLES[service]
    assert code_of("ci", None, environment={commit: "1f3a", branches[-1]: "main"}) == Code("1f3a", "main")
    assert code_of("ci", None, environment={commit: "1f3a"}) == Code("1f3a", None)


def test_nothing_is_guessed() -> None:
    assert code_of(None, None) == Code(None, None)
    with pytest.raises(UsageError, match=r"--commit ci: none of the CI's variables is set \(GITHUB_SHA, "):
        code_of("ci", None, environment={"HOME": "/root"})
    for text in ("", " x", "-x", "a\nb"):
        with pytest.raises(UsageError, match="--commit"):
            code_of(text, None)


def test_the_campaigns_of_one_branch(database: str) -> None:
    for day in range(24):
        branch = "main" if day % 2 else "slow"
        save(database, campaign(1, 3, day, "2.0"), f"d{day}", BEGIN + timedelta(days=day), code=Code(f"c{day}", branch))
    (line,) = series(database, {"model": "rn50"}, branch="main")
    assert [point.campaign for point in line.points] == [f"d{day}" for day in range(1, 24, 2)]
    assert {point.code.branch for point in line.points} == {"main"}
    assert len(series(database, {"model": "rn50"})[0].points) == 24
    assert regressions(database, branch="slow").followed[0].points[0].code == Code("c0", "slow")
    with pytest.raises(UsageError, match="--branch fast: no campaign is of that branch; there are main, slow"):
        series(database, {}, branch="fast")


def test_what_was_found_on_one_branch_is_not_gone_from_another(tmp_path: Path) -> None:
    """It was not found in the other's campaigns, so nothing is missing there; each branch has its own event."""
    database = str(tmp_path / "h.sqlite")
    for day in range(38):
        branch = ("main", "quick")[day % 2]
        slow = branch == "main" and day >= 24
        made = campaign(1, 5, day, "2.0")
        for run in made.runs:
            rate = run.metrics["throughput"]
            assert rate.value is not None
            run.metrics["throughput"] = replace(rate, value=rate.value * (0.95 if slow else 1.0))
        cases = Extraction(build_cases(made.runs, made.options), [], made.options)
        save(database, cases, f"d{day}", BEGIN + timedelta(days=day), code=Code(f"c{day}", branch))
    assert [change.shift.point.campaign for change in look(database, branch="main").changes] == ["d24"]
    other = look(database, branch="quick")
    assert not other.changes and not other.gone
    assert acknowledge(database, "d24", "known", "Ada", branch="main")
    assert not look(database, branch="main").worse


def test_another_commit_is_another_campaign_unless_it_is_replaced(database: str) -> None:
    same = campaign(1, 3)
    assert save(database, same, "v1", code=Code("a")).done == "saved"
    assert save(database, same, "v1").done == "already saved", "nothing is said of the commit"
    assert save(database, same, "v1", code=Code("a")).done == "already saved"
    with pytest.raises(UsageError, match=r"with the date .*, the commit a, the branch unknown: --replace"):
        save(database, same, "v1", code=Code("b"))
    assert save(database, same, "v1", replace=True, code=Code("b", "main")).done == "replaced"
    assert campaigns(database)[0].code == Code("b", "main")


def test_bisect_names_the_commits_and_the_one_between(database: str, repository: Path) -> None:
    commits = [git(repository, "rev-parse", "HEAD")]
    for number in range(9):
        git(repository, "commit", "--quiet", "--allow-empty", "-m", f"step {number}")
        commits.append(git(repository, "rev-parse", "HEAD"))
    keep(database, range(12), 1.0, commit=commits[0])
    keep(database, range(12, 19), 0.95, commit=commits[8])
    (found,) = bisect(database, "d12", repository, wanted={"model": "rn50"})
    assert (found.good.campaign, found.bad.campaign, found.commits) == ("d11", "d12", 8)
    assert found.good.code.commit == commits[0] and found.bad.code.commit == commits[8]
    short, _, subject = found.next.partition(" ")
    place = [commit.startswith(short) for commit in commits].index(True)
    assert 3 <= place <= 5 and subject == f"step {place - 1}", "about as many lie on each side"
    status, out, _ = perflog(["history", "bisect", "d12", "--repository", str(repository), "--database", database])
    assert status == 0 and f"good {commits[0]} (d11), bad {commits[8]} (d12), 8 commits behind the first" in out
    assert f"next: {found.next}" in out
    (without,) = bisect(database, "d12")
    assert without.commits is None and not without.next
    with pytest.raises(UsageError, match="no case got worse at 'd3'"):
        bisect(database, "d3")


def test_what_cannot_be_bisected_is_said(tmp_path: Path) -> None:
    same, unknown = (str(tmp_path / name) for name in ("same.sqlite", "unknown.sqlite"))
    keep(same, range(12), 1.0, commit="a1")
    keep(same, range(12, 19), 0.95, commit="a1")
    with pytest.raises(UsageError, match="d11 and d12 measured the same commit, a1: what changed is not in the code"):
        bisect(same, "d12")
    keep(unknown, range(12), 1.0)
    keep(unknown, range(12, 19), 0.95, commit="a1")
    with pytest.raises(UsageError, match="no campaign of the same machine and rule before d12 was saved with its"):
        bisect(unknown, "d12")
