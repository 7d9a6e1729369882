"""TOML files of strangers end in a moment and in little memory: Python's reader takes both by the square of some."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from perflog.formats.toml import LONGEST, MOST_PARTS
from tests.forks import perflog
from tests.security.hostile import LOGS

KEY_PARTS = f"expected keys of at most {MOST_PARTS} parts, with dots between them"
#: Texts of a file, and what is said of it.
HOSTILE = {
    "a key of many parts": (".".join("a" * 100_000) + " = 1\n", KEY_PARTS),
    "of quoted parts": (".".join(['"\\""'] * 50_000) + " = 1\n", KEY_PARTS),
    "of parts with blanks between": (".".join(["  'a' "] * 30_000) + " = 1\n", KEY_PARTS),
    "in a table in a line": (f"set = {{{'.'.join('a' * 100_000)} = 1}}\n", KEY_PARTS),
    "in a heading": (f"[{'.'.join('a' * 100_000)}]\n", KEY_PARTS),
    "a long file": ("[set]\n" + "".join(f"k{number} = 1\n" for number in range(50_000)), f"at most {LONGEST:,} bytes"),
    "a long number": (f"warmup = {'9' * 100_000}\n", "a number of thousands of digits"),
    "lists in lists": (f"warmup = {'[' * 100_000}{']' * 100_000}\n", "not a readable TOML file"),
}
#: Bytes that a command may take: 100,000 parts took 5 GB.
MEMORY = 1_500_000_000


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_an_error_at_once(kind: str, tmp_path: Path) -> None:
    """As a config file, beside the logs; parsers, styles and campaign files are read by the same function."""
    text, message = HOSTILE[kind]
    (tmp_path / "logs").symlink_to(LOGS)
    (tmp_path / "perflog.toml").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "perflog", "extract", "logs"], cwd=tmp_path, capture_output=True, text=True, check=False,
        timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "perflog.toml" in done.stderr and message in done.stderr


def test_many_facts_are_read_in_a_moment(tmp_path: Path) -> None:
    """Each fact's line was looked for through the whole file, though nothing was wrong with it: more than a minute."""
    (tmp_path / "logs").symlink_to(LOGS)
    (tmp_path / "perflog.toml").write_text("[set]\n" + "".join(f"k{n} = {n}\n" for n in range(15_000)))
    assert perflog("extract", "logs", cwd=tmp_path).returncode == 0
    (tmp_path / "perflog.toml").write_text("[set]\nk1 = 1\nbatch_size = 'x'\n")
    assert "perflog.toml:3: set.batch_size = x: expected" in perflog("extract", "logs", cwd=tmp_path).stderr


def test_what_is_no_key_may_hold_dots(tmp_path: Path) -> None:
    (tmp_path / "logs").symlink_to(LOGS)
    text = ". ".join(["a"] * (MOST_PARTS - 1))
    (tmp_path / "perflog.toml").write_text(f"[set]\nlabel = '{text}'\nanother = '{'.' * 1000}'\n# {'...' * 999}\n")
    assert perflog("extract", "logs", cwd=tmp_path).returncode == 0
