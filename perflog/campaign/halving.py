"""Which commit made cases slower: commits of a repository measured in turn with a good one, halved until one is left.

Each commit is checked out into a work tree of its own, beside which the repository's is left alone, and has the
campaign file that it holds; a command may build it first. A measurement of two commits is one of
:mod:`perflog.campaign.versus`, whose verdicts hold however often they are looked at. The folder is all the state there
is: the same call goes on where one was cut off, and measures nothing twice.

The first measurement is of the two ends: where the bad one is not slower today, what the history shows is not between
these commits, and nothing else is measured. A commit is bad where a case is slower that was slower at the bad end, and
good where all of them are decided and none is. One that is neither ends the search: no commit is named by a guess.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from perflog.campaign import RoundObserver
from perflog.campaign.versus import Budget, CaseLook, measure, plan_measurement
from perflog.errors import PerflogError, UsageError
from perflog.history.commits import git
from perflog.stats.verdict import MARGIN, Verdict

_ASKED = "--repository"
#: Letters of a commit's name in folders and sentences.
_SHORT = 12


class Answer(Enum):
    """What a measurement says of a commit."""

    BAD = "bad"
    GOOD = "good"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Measurement:
    """A commit that was measured in turn with the good end.

    Attributes:
        commit: its whole name; ``subject``: the first line of its message.
        looks: the cases that were measured, at their last look.
        answer: what they say of it.
    """

    commit: str
    subject: str
    looks: tuple[CaseLook, ...]
    answer: Answer

    @property
    def title(self) -> str:
        """The commit in a sentence."""
        return f"{self.commit[:_SHORT]} {self.subject}".rstrip()


@dataclass(frozen=True, slots=True)
class Halved:
    """What was found.

    Attributes:
        measurements: in the order in which they were made, the bad end first.
        first_bad: the commit that made a case slower; None where it was not found.
        left: how many commits may be it.
    """

    measurements: tuple[Measurement, ...]
    first_bad: Measurement | None
    left: int


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched, and how commits are measured.

    Attributes:
        repository: a folder in the repository.
        good, bad: the ends, as git knows them.
        file: the campaign file, in the repository.
        logs: the folder of the work trees and of the measurements' logs.
        prepare: a command of the shell that makes a work tree ready, run in it; empty for none.
        only: the part of the campaign that is run.
        budget, margin: of each measurement.
    """

    repository: Path
    good: str
    bad: str
    file: Path
    logs: Path
    prepare: str = ""
    only: Mapping[str, str] | None = None
    budget: Budget = field(default_factory=Budget)
    margin: float = MARGIN


def halve(
    search: Search, observer: RoundObserver | None = None, told: Callable[[Measurement], None] | None = None
) -> Halved:
    """Measure commits until one is left that made a case slower, or one cannot be decided.

    Args:
        observer: is told of every run; ``told`` of every commit that was measured.

    Raises:
        UsageError: when git does not know the commits, or the campaign file is not in the repository or in a commit.
        PerflogError: when a commit cannot be made ready or measured.
    """
    top = Path(_git(search, "rev-parse", "--show-toplevel"))
    try:
        file = search.file.resolve().relative_to(top.resolve())
    except ValueError:
        raise UsageError(
            f"--run {search.file}: expected a campaign file in the repository '{top}': each commit runs its own"
        ) from None
    good, bad = (
        _git(search, "rev-parse", "--verify", "--end-of-options", f"{end}^{{commit}}")
        for end in (search.good, search.bad)
    )
    made: list[Measurement] = []
    goods = [good]
    with _tree(search, good) as old:

        def measured(commit: str, cases: Sequence[str]) -> Measurement:
            logs = (search.logs / f"{good[:_SHORT]}-{commit[:_SHORT]}").absolute()
            with _tree(search, commit) as new:
                made.append(_measurement(search, commit, (old / file, new / file), logs, cases, observer))
            if told is not None:
                told(made[-1])
            return made[-1]

        first_bad = measured(bad, ())
        slower = [look.case for look in first_bad.looks if _is_slower(look)]
        while first_bad.answer is Answer.BAD and len(left := _between(search, goods, first_bad.commit)) > 1:
            middle = _git(search, "rev-list", "--bisect", "--end-of-options", first_bad.commit, *_not(goods))
            latest = measured(middle, slower)
            if latest.answer is Answer.BAD:
                first_bad = latest
            elif latest.answer is Answer.GOOD:
                goods.append(middle)
            else:
                return Halved(tuple(made), None, len(left))
    if first_bad.answer is not Answer.BAD:
        return Halved(tuple(made), None, len(_between(search, goods, bad)))
    return Halved(tuple(made), first_bad, 1)


def _git(search: Search, *words: str) -> str:
    return git(search.repository, *words, asked=_ASKED)


def _between(search: Search, goods: Sequence[str], bad: str) -> list[str]:
    """The commits that may be the first bad one."""
    return _git(search, "rev-list", "--end-of-options", bad, *_not(goods)).split()


def _not(commits: Sequence[str]) -> list[str]:
    """Commits whose ancestors and themselves git is to leave out."""
    return [f"^{commit}" for commit in commits]


@contextmanager
def _tree(search: Search, commit: str) -> Iterator[Path]:
    """A work tree of a commit, made ready; it goes away when it was measured, and stays where that was cut off."""
    folder = (search.logs / "trees" / commit[:_SHORT]).absolute()
    ready = folder.with_suffix(".ready")  # without it the tree may have been cut off while it was made
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        _git(search, "worktree", "prune")
        _git(search, "worktree", "add", "--detach", str(folder), commit)
        if search.prepare:
            printed = folder.with_suffix(".log")
            with printed.open("w", encoding="utf-8") as file:
                done = subprocess.run(
                    search.prepare, shell=True, cwd=folder, stdout=file, stderr=subprocess.STDOUT, check=False
                )
            if done.returncode:
                raise PerflogError(
                    f"{commit[:_SHORT]}: --prepare {search.prepare!r} ended with status {done.returncode}; "
                    f"{printed} has what it printed"
                )
        ready.touch()
    yield folder
    ready.unlink()
    _git(search, "worktree", "remove", "--force", str(folder))


def _measurement(
    search: Search, commit: str, files: tuple[Path, Path], logs: Path, cases: Sequence[str],
    observer: RoundObserver | None,
) -> Measurement:  # fmt: skip
    """A commit measured in turn with the good one.

    Args:
        files: the campaign files of the good one and of this one.
        logs: the folder of both sides' logs.
        cases: those that are asked about; none: all.
    """
    old, new = files
    plan = plan_measurement(new, old, only=search.only, logs=logs, budget=search.budget, margin=search.margin)
    if cases:
        plan = plan.of_cases(cases)
    looks = measure(plan, observer=observer).looks
    return Measurement(commit, _git(search, "show", "--no-patch", "--format=%s", commit), looks, _answer(looks))


def _is_slower(look: CaseLook) -> bool:
    return look.look.decision.verdict is Verdict.SLOWER


def _answer(looks: Sequence[CaseLook]) -> Answer:
    if any(_is_slower(look) for look in looks):
        return Answer.BAD
    return Answer.GOOD if looks and all(look.look.decided for look in looks) else Answer.UNDECIDED
