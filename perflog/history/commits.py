"""Which commit and branch a campaign measured: named, asked of git, or read from the CI's variables; never guessed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perflog.errors import UsageError

#: The variables of each CI service that hold the commit and the branch; the first branch that is set counts.
CI_VARIABLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "GitHub Actions": ("GITHUB_SHA", ("GITHUB_HEAD_REF", "GITHUB_REF_NAME")),
    "GitLab CI": ("CI_COMMIT_SHA", ("CI_COMMIT_REF_NAME",)),
    "Buildkite": ("BUILDKITE_COMMIT", ("BUILDKITE_BRANCH",)),
    "CircleCI": ("CIRCLE_SHA1", ("CIRCLE_BRANCH",)),
    "Azure Pipelines": ("BUILD_SOURCEVERSION", ("BUILD_SOURCEBRANCHNAME",)),
    "Bitbucket": ("BITBUCKET_COMMIT", ("BITBUCKET_BRANCH",)),
    "Jenkins": ("GIT_COMMIT", ("GIT_BRANCH",)),
}
#: What ``--commit`` takes in place of a commit's name.
FROM_GIT, FROM_CI = "git", "ci"
#: Letters of a name: it stands in a column of a table and below a point of a picture.
LONGEST = 200


@dataclass(frozen=True, slots=True)
class Code:
    """The code that was measured; None where nobody said it."""

    commit: str | None = None
    branch: str | None = None

    @property
    def short(self) -> str:
        """The commit as tables show it; empty for none."""
        return (self.commit or "")[:10]


#: The code of a campaign of which nobody said it.
UNKNOWN = Code()


def code_of(
    commit: str | None, branch: str | None, folder: Path | None = None, environment: Mapping[str, str] = os.environ
) -> Code:
    """What ``--commit`` and ``--branch`` say.

    Args:
        commit: a name, ``git`` for what is checked out in ``folder``, or ``ci`` for what the CI's variables say.
        branch: a name; None for what goes with the commit.
        folder: a folder of the repository; None: the working folder.

    Raises:
        UsageError: when git or the CI do not say it, or the work tree has changes that are in no commit.
    """
    if commit == FROM_GIT:
        told = _from_git(folder or Path())
    elif commit == FROM_CI:
        told = _from_ci(environment)
    else:
        told = Code(commit)
    return Code(_plain(told.commit, "--commit"), _plain(branch if branch is not None else told.branch, "--branch"))


def is_name(text: str) -> bool:
    """Whether a text may name a campaign, a commit or a branch: it stands in a column and on a command line."""
    return bool(text) and text == text.strip() and text.isprintable() and text[0] != "-" and len(text) <= LONGEST


def _plain(text: str | None, option: str) -> str | None:
    if text is not None and not is_name(text):
        raise UsageError(f"{option} {text[:60]!r}: expected a name, such as 1f3a9c2 or main, or for --commit git or ci")
    return text


def _from_ci(environment: Mapping[str, str]) -> Code:
    for commit, branches in CI_VARIABLES.values():
        if environment.get(commit):
            branch = next((environment[name] for name in branches if environment.get(name)), None)
            return Code(environment[commit], branch)
    known = ", ".join(commit for commit, _ in CI_VARIABLES.values())
    raise UsageError(f"--commit ci: none of the CI's variables is set ({known}): name the commit itself")


def _from_git(folder: Path) -> Code:
    commit = git(folder, "rev-parse", "HEAD", asked="--commit git")
    changed = git(folder, "status", "--porcelain", "--untracked-files=no", asked="--commit git")
    if changed:
        raise UsageError(
            f"--commit git: the work tree has changes that are in no commit ({changed.splitlines()[0].strip()}): "
            "commit them, or name the commit itself"
        )
    try:
        return Code(commit, git(folder, "symbolic-ref", "--quiet", "--short", "HEAD", asked="--commit git"))
    except UsageError:  # no branch is checked out
        return Code(commit)


def git(folder: Path, *arguments: str, asked: str) -> str:
    """What git prints in a folder, without the last end of line.

    Args:
        asked: the option that it is asked for.

    Raises:
        UsageError: when git is not there or refuses, with its words.
    """
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise UsageError(f"{asked}: git cannot be run in '{folder}': {error.strerror or error}") from None
    if done.returncode:
        words = done.stderr.strip().splitlines()
        raise UsageError(f"{asked}: git {' '.join(arguments)}: {words[0] if words else f'status {done.returncode}'}")
    return done.stdout.strip()
