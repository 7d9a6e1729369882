"""Finding logs: every file once, in natural order; what is no regular file is named and never opened."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.errors import UsageError
from perflog.logs.containers import UnreadableError, blocks_of, digests, open_small
from perflog.logs.find import LogFile, Pipe, find_logs, natural

T = TypeVar("T")


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
    (tmp_path / "a.log").symlink_to("b.log")
    (tmp_path / "b.log").symlink_to("a.log")
    (tmp_path / "gone.log").symlink_to("nowhere")
    logs = [*find_logs([tmp_path]), *find_logs(["/dev/zero"])]
    assert [log.size for log in logs] == [-1] * 7
    told = {os.path.basename(log.path): why_not(log) for log in logs}  # noqa: PTH119
    assert told == {
        "a.log": "a link that leads to itself",
        "b.log": "a link that leads to itself",
        "gone.log": "a link to a file that is not there",
        "null.log": "a device or a terminal, which is not read",
        "pipe.log": "a pipe in a folder, which is not read: name the pipe itself to have it read",
        "socket.log": "a socket, which is not read",
        "zero": "a device or a terminal, which is not read",
    }
    taken_for_a_file = LogFile(str(tmp_path / "pipe.log"), 100)
    assert why_not(taken_for_a_file) == "no regular file any more: something else has taken its place"


def why_not(log: LogFile) -> str:
    """Why a log is not read, which both ways to read it must tell."""
    with pytest.raises(UnreadableError) as told:
        open_small(log, 100)
    with pytest.raises(UnreadableError, match=f"^{re.escape(str(told.value))}$"):
        next(blocks_of(log))
    return str(told.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_must_not_be_read_is_told() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "shut").mkdir()
        for file in ("shut/a.log", "b.log", "c.zip"):
            (folder / file).write_text("x\n")
            (folder / file).chmod(0)
        (folder / "shut").chmod(0)
        folder.chmod(0o755)

        def reasons() -> dict[str, str]:
            return {os.path.relpath(log.path, folder): why_not(log) for log in find_logs([folder])}

        denied = "Permission denied"
        assert as_user(65534, reasons) == {"b.log": denied, "c.zip": denied, "shut": denied}
        assert (
            as_user(65534, lambda: problem_of(folder / "shut/a.log")) == f"cannot read '{folder}/shut/a.log': {denied}"
        )


def problem_of(path: Path | str) -> str:
    """Why a path cannot be named as a log."""
    with pytest.raises(UsageError) as told:
        find_logs([path])
    return str(told.value)


def as_user(user: int, compute: Callable[[], T]) -> T:
    """What a function gives in a process of another user."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setuid(user)
            os.write(writing, json.dumps(compute()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    result: T = json.loads(text)
    return result


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_read_once_where_it_is_named(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    text = b"step 1\n" * 40_000
    (tmp_path / "text").write_bytes(pack(text))
    os.mkfifo(tmp_path / "pipe.log")
    (log,) = find_logs([tmp_path / "pipe.log"])
    assert open_small(log, 1 << 20) is None  # and it was not opened: the writer below waits for its reader
    with subprocess.Popen(["/bin/sh", "-c", "cat text > pipe.log"], cwd=tmp_path):
        assert b"".join(load() for load in blocks_of(log)) == text
    with pytest.raises(UnreadableError, match="a pipe, which can be read once only"):
        next(blocks_of(log))
    assert digests([log]) == {log: None}


def test_pipes_of_shells_tell_nothing_by_their_names(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "8gpus.log")
    places = {LogFile(path, 0, pipe=Pipe()).place for path in ("-", "/dev/fd/63", "/proc/self/fd/8")}
    assert places == {"-"}
    assert [log.place for log in find_logs([tmp_path / "8gpus.log"])] == [str(tmp_path / "8gpus.log")]


def test_paths_that_are_no_paths() -> None:
    start, _, reason = problem_of("a\0b").partition(": ")
    assert start == "cannot read 'a\\x00b'" and "embedded null" in reason  # in the words of the version of Python
    assert problem_of("a" * 300).endswith("File name too long")


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
