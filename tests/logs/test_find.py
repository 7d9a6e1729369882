"""Finding logs: every file once, in natural order; what is no regular file is named and never opened."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.errors import UsageError
from perflog.logs.containers import UnreadableError, blocks_of, open_small
from perflog.logs.find import LogFile, find_logs, natural


def names(folder: Path) -> list[str]:
    return [os.path.relpath(log.name, folder) for log in find_logs([folder])]


def test_natural_order() -> None:
    ordered = ["1n1g", "2n8g", "10n8g", "a", "a2", "a²", "a٣", "b" + "9" * 5000, "b1" + "0" * 5000]
    assert sorted(set(ordered), key=natural) == ordered
    assert natural("a007") == natural("a7")


@given(st.lists(st.text("0129²٣a.-", max_size=6)))
def test_numbers_are_ordered_as_integers_are(texts: list[str]) -> None:
    def key(text: str) -> list[str | int]:
        return [int(part) if re.fullmatch("[0-9]+", part) else part for part in re.split("([0-9]+)", text)]

    assert sorted(texts, key=natural) == sorted(texts, key=key)


def test_perflogs_own_files_and_folders_of_tools_are_no_logs(tmp_path: Path) -> None:
    for name in (
        "a.log",
        "machine.json",
        "perflog.toml",
        "a.side.json",
        ".git/b.log",
        "d/.venv/c.log",
        "d/e.log",
        "d/machine.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    assert names(tmp_path) == ["a.log", "d/e.log"]


def test_links(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a.log").write_text("x\n")
    (tmp_path / "d/loop").symlink_to(tmp_path)
    (tmp_path / "self.log").symlink_to("self.log")
    (tmp_path / "gone.log").symlink_to("nowhere")
    (tmp_path / "link.log").symlink_to("d/a.log")
    sizes = {os.path.relpath(log.name, tmp_path): log.size for log in find_logs([tmp_path])}
    assert sizes == {"d/a.log": 2, "gone.log": -1, "link.log": 2, "self.log": -1}
    with pytest.raises(UsageError, match=r"cannot read .*self\.log'"):
        find_logs([tmp_path / "self.log"])


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    """A pipe that nobody writes to would be waited for."""
    os.mkfifo(tmp_path / "pipe.log")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(tmp_path)  # a socket's path is short
        server.bind("socket.log")
        os.chdir(here)
    (tmp_path / "null.log").symlink_to("/dev/null")
    logs = [*find_logs([tmp_path]), *find_logs([tmp_path / "pipe.log", "/dev/zero"])]
    assert [log.size for log in logs] == [-1] * 5
    logs.append(LogFile(str(tmp_path / "pipe.log"), 100))  # taken for a file when it was found
    for log in logs:
        with pytest.raises(UnreadableError, match="not a regular file, or not permitted"):
            open_small(log, 100)
        with pytest.raises(UnreadableError, match="not a regular file, or not permitted"):
            next(blocks_of(log))


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.log")).write_text("x\n")
    (tmp_path / "café.log").write_text("y\n")
    logs = find_logs([tmp_path])
    assert [os.path.relpath(log.name, tmp_path) for log in logs] == ["caf\\xe9.log", "café.log"]
    assert [log.name.encode("utf-8") for log in logs]
    assert [open_small(log, 10) for log in logs] == [b"x\n", b"y\n"]


def test_the_same_path_twice_is_one_log(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x\n")
    assert len(find_logs([tmp_path, tmp_path / "a.log"])) == 1


def test_paths_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "training.log").write_text("x\n")
    with pytest.raises(UsageError, match=r"no such file or folder: .*trainin.log'; did you mean .*training.log'\?"):
        find_logs([tmp_path / "trainin.log"])
    with pytest.raises(UsageError, match="standard input"):
        find_logs(["-"])
