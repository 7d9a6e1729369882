"""A hostile pull request: a repository, what it wants from outside, and what a runner has to protect."""

from __future__ import annotations

import os
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner, Result

from perflog.cli import app
from tests.support import FIXTURES

#: Letters and digits alone, so that no escaping could hide it from a test, or from the one who masks secrets in logs.
SECRET = "ghsSuperSecret123"
#: What is said of a path that leads out of the repository.
INSIDE = "expected a path inside"
LOGS = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128/1n1g"
#: A parser that copies whatever stands behind a word into a table's cell.
LEAK = """
title = "x"
source = "x"
framework = "X"
priority = 99
[[pattern]]
name = "m"
role = "metadata"
literal = "TOKEN="
regex = 'TOKEN=(?P<model>[A-Za-z0-9_]{1,40})'
[[pattern.sample]]
line = "TOKEN=a"
expect = { model = "a" }
[[pattern]]
name = "s"
role = "event"
event = "run_start"
literal = "TIME="
regex = 'TIME=(?P<timestamp>[0-9]+)'
[[pattern.sample]]
line = "TIME=5"
expect = { timestamp = 5 }
"""
#: What the parser reads: a file's text, and the environment of a process.
LEAKED = {"TOKEN": SECRET, "TIME": "5"}
_TEXT = "".join(f"{name}={value}\n" for name, value in LEAKED.items())


@dataclass(frozen=True)
class PullRequest:
    """What a test makes: a work tree, and beside it what the pull request must not reach.

    Attributes:
        tree: the work tree, with a README to be written, parsers in ``evil``, styles in ``styles`` and logs in
            ``logs``.
        outside: a folder beside it whose files hold the secret.
        files: every file outside, with its content, when it was made.
    """

    tree: Path
    outside: Path
    files: dict[Path, bytes]

    def readme(self, *recipes: str, name: str = "README.md") -> Path:
        """A README of regions with these recipes."""
        file = self.tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"<!-- perflog: {recipe} -->\n<!-- /perflog -->\n" for recipe in recipes))
        return file

    def outside_now(self) -> dict[Path, bytes]:
        """Every file outside, with its content, as it is now."""
        return files_in(self.outside)


def files_in(folder: Path) -> dict[Path, bytes]:
    """Every regular file below a folder, with its content."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()}


def pull_request(place: Path) -> PullRequest:
    """A work tree of git in ``place/tree`` and secrets in ``place/outside``."""
    tree, outside = place / "tree", place / "outside"
    tree.mkdir()
    shutil.copytree(LOGS, tree / "logs/bz128/1n1g")
    (tree / ".git").mkdir()
    (tree / ".git/config").write_text(_TEXT)  # actions/checkout keeps its token there
    (tree / "evil").mkdir()
    (tree / "evil/leak.toml").write_text(LEAK)
    (tree / "styles").mkdir()
    _fill(outside)
    return PullRequest(tree, outside, files_in(outside))


def _fill(outside: Path) -> None:
    shutil.copytree(LOGS, outside / "logs")
    (outside / "secret.log").write_text(_TEXT)
    (outside / "picture.svg").write_text("<svg/>")
    (outside / "machine.json").write_text(f'{{"driver": "{SECRET}"}}')
    (outside / "parsers").mkdir()
    (outside / "parsers/theirs.toml").write_text(f'title = "{SECRET}"\nsecret = "{SECRET}"\n')
    (outside / "styles").mkdir()
    (outside / "styles/theirs.toml").write_text(f'title = "x"\nrow = "{SECRET}"\nrow_title = "{SECRET}"\n')
    (outside / "README.md").write_text(f"{SECRET}\n<!-- perflog: table logs --rows devices -->\n<!-- /perflog -->\n")


def special_files(folder: Path) -> list[Path]:
    """A FIFO, a socket and a link to a device, made in a folder."""
    os.mkfifo(folder / "fifo.log")
    listener = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(folder)  # the path of a socket is short
    try:
        listener.bind("socket.log")
    finally:
        os.chdir(here)
        listener.close()
    (folder / "device.log").symlink_to("/dev/zero")
    return [folder / name for name in ("fifo.log", "socket.log", "device.log")]


def run(*words: str) -> Result:
    """A command in the tests' own process."""
    return CliRunner().invoke(app, list(words))
