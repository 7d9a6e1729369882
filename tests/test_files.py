"""Writing: through links, into devices and FIFOs, nothing left over, and what was there stays where it cannot be done."""

from __future__ import annotations

import fcntl
import os
import shlex
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from perflog.errors import NoReaderError, PerflogError
from perflog.files import is_temporary, is_written_into, write_atomically
from tests.forks import perflog
from tests.forks import words as words_of_perflog
from tests.support import FIXTURES, ROOT

LOG = FIXTURES / "seed001" / "GPUx32_time2train_ips-bs4.log"
OLD = "old\n"


def shell(script: str, *words: str | Path, forked: bool = False) -> subprocess.CompletedProcess[str]:
    """A script for bash: its ``perflog`` is started anew, where descriptors and limits are the shell's, or forked."""
    started = shlex.join(words_of_perflog()) if forked else f"{sys.executable} -m perflog"
    command = ["bash", "-c", script.replace("perflog ", f"{started} "), "bash", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def temporaries(folder: Path) -> list[str]:
    return [name for name in names_in(folder) if is_temporary(name)]


# ---------------------------------------------------------------- in pieces


def test_pieces_are_written_behind_each_other(tmp_path: Path) -> None:
    target = tmp_path / "file.json"
    write_atomically(target, (f"{number}\n".encode() for number in range(3)))
    assert target.read_bytes() == b"0\n1\n2\n"
    assert names_in(tmp_path) == ["file.json"]


def test_a_piece_that_cannot_be_made_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "file.json"
    target.write_text(OLD)

    def pieces() -> Iterator[bytes]:
        yield b"new\n"
        raise ValueError("no second piece")

    with pytest.raises(ValueError, match="no second piece"):
        write_atomically(target, pieces())
    assert target.read_text() == OLD
    assert names_in(tmp_path) == ["file.json"]


# ---------------------------------------------------------------- what is written to


def test_a_link_stays_and_the_file_behind_it_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "file.json"
    target.write_text(OLD)
    (tmp_path / "middle").symlink_to("real/file.json")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "middle")
    write_atomically(link, "new\n")
    assert link.is_symlink() and (tmp_path / "middle").is_symlink()
    assert target.read_text() == "new\n"
    assert names_in(tmp_path / "real") == ["file.json"]


def test_a_link_to_a_file_that_is_not_there_makes_it(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("to_be")
    write_atomically(tmp_path / "link", "new\n")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "to_be").read_text() == "new\n"


def test_a_loop_of_links_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(PerflogError, match=r"^cannot write '.*/a': Too many levels of symbolic links$"):
        write_atomically(tmp_path / "a", "new\n")


def test_a_fifo_is_written_into_and_stays(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    write_atomically(fifo, b"x" * 300_000)
    reader.join(20)
    assert read == [b"x" * 300_000]
    assert stat.S_ISFIFO(fifo.lstat().st_mode) and names_in(tmp_path) == ["fifo"]


def test_a_fifo_whose_reader_goes_away(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def read_a_little() -> None:
        with fifo.open("rb", buffering=0) as file:
            file.read(1)

    reader = threading.Thread(target=read_a_little)
    reader.start()
    with pytest.raises(NoReaderError):
        write_atomically(fifo, b"x" * 3_000_000)
    reader.join(20)


def test_devices_are_written_into_and_stay() -> None:
    before = os.lstat("/dev/null")
    write_atomically(Path("/dev/null"), "new\n")
    assert os.lstat("/dev/null").st_ino == before.st_ino and stat.S_ISCHR(os.lstat("/dev/null").st_mode)
    with pytest.raises(PerflogError, match=r"^cannot write '/dev/full': No space left on device$"):
        write_atomically(Path("/dev/full"), "new\n")


def test_a_descriptor_of_the_shell_is_written_into(tmp_path: Path) -> None:
    """A file that the shell opened is not replaced: what else is written there stays."""
    script = '{ echo before; perflog extract "$1" -q -f json -o /dev/stdout; echo after; } > "$2/all"'
    shell(script, LOG, tmp_path)
    lines = (tmp_path / "all").read_text().splitlines()
    assert (lines[0], lines[1], lines[-2], lines[-1]) == ("before", "{", "}", "after")
    done = shell(
        'perflog extract "$1" -q -f json -o /dev/fd/3 3> "$2/three"; perflog extract "$1" -q -f json -o >(wc -l)',
        LOG,
        tmp_path,
    )
    assert (tmp_path / "three").read_text() == "\n".join(lines[1:-1]) + "\n"
    assert int(done.stdout) == len(lines) - 2
    assert names_in(tmp_path) == ["all", "three"]


def test_what_is_written_into(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    assert [is_written_into(Path(p)) for p in ("/dev/stdout", "/dev/null", tmp_path / "fifo")] == [True] * 3
    assert [is_written_into(tmp_path / n) for n in ("file", "none", "loop", ".")] == [False] * 4


def test_a_report_may_go_into_standard_output() -> None:
    done = shell('perflog report "$1" -q -s devices=1 -o /dev/stdout', LOG, forked=True)
    assert done.returncode == 0 and done.stdout.startswith("# "), done.stderr


def test_a_folder_and_a_socket_are_refused(tmp_path: Path) -> None:
    import socket

    with pytest.raises(PerflogError, match=r"it is a folder, and no regular file$"):
        write_atomically(tmp_path, "new\n")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        with pytest.raises(PerflogError, match=r"it is a socket, and no regular file$"):
            write_atomically(tmp_path / "socket", "new\n")
    assert names_in(tmp_path) == ["socket"]


# ---------------------------------------------------------------- folders, modes, owners


@pytest.mark.long
def test_missing_folders_are_named_and_not_made(tmp_path: Path) -> None:
    done = perflog("extract", str(LOG), "-o", str(tmp_path / "a" / "b" / "x.csv"), "-f", "csv")
    assert (done.returncode, done.stdout) == (2, "")
    folder = tmp_path / "a"
    assert (
        done.stderr
        == f"perflog: cannot write '{folder}/b/x.csv': there is no folder '{folder}'; make it first, with mkdir -p\n"
    )
    for words in (
        ["report", "-s", "devices=1", "-o", "r.md"],
        ["report", "-s", "devices=1", "-o", "r.html"],
        ["save", "-l", "v1", "--database", "h.db"],
    ):
        done = perflog(words[0], str(LOG), *words[1:-1], str(folder / words[-1]))
        assert done.returncode == 2 and f"there is no folder '{folder}'" in done.stderr, done.stderr
    assert names_in(tmp_path) == []
    write_atomically(folder / "b" / "x", "new\n", parents=True)
    assert (folder / "b" / "x").read_text() == "new\n"


def test_the_mode_of_a_replaced_file_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text(OLD)
    for mode in (0o600, 0o755, 0o664, 0o2755):
        target.chmod(mode)
        write_atomically(target, "new\n")
        assert stat.S_IMODE(target.stat().st_mode) == mode
    mask = os.umask(0o027)
    try:
        write_atomically(tmp_path / "fresh", "new\n")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_the_owner_and_group_of_a_replaced_file_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text(OLD)
    os.chown(target, 1234, 2345)
    target.chmod(0o4750)
    write_atomically(target, "new\n")
    status = target.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o4750)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_another_group_gets_no_more_than_all_others(tmp_path: Path) -> None:
    """A user who is not in the file's group may replace it in a folder of all; the new group is the user's own."""
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if folder.is_relative_to("/tmp") and folder != Path("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o711)
    target = tmp_path / "file"
    target.write_text(OLD)
    os.chown(target, 1234, 2345)
    target.chmod(0o674)
    child = os.fork()
    if not child:
        os.setgroups([])
        os.setgid(4444)
        os.setuid(4444)
        try:
            write_atomically(target, "new\n")
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    status = target.stat()
    assert (status.st_gid, stat.S_IMODE(status.st_mode)) == (4444, 0o644)


# ---------------------------------------------------------------- what is left over


def test_what_dead_writers_left_goes_at_the_next_write(tmp_path: Path) -> None:
    left, living, empty = (tmp_path / f".perflog-{digit * 16}.tmp" for digit in "abc")
    strange = [
        ".perflog-0123.tmp",
        ".perflog-0123456789ABCDEF.tmp",
        ".x.perflog-0123456789abcdef.tmp",
        ".README.md.h3k2j5l8",
    ]
    for name in [left.name, living.name, *strange]:
        (tmp_path / name).write_text("half")
    empty.touch()
    outside = tmp_path / "outside"
    outside.write_text(OLD)
    link = tmp_path / f".perflog-{'e' * 16}.tmp"
    link.symlink_to(outside)
    with living.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as its writer does as long as it lives
        write_atomically(tmp_path / "file", "new\n")
    there = names_in(tmp_path)
    assert there == sorted([living.name, link.name, *strange, "file", "outside"])
    assert outside.read_text() == OLD


def test_a_killed_writer_leaves_nothing_for_long(tmp_path: Path) -> None:
    """Killed while it holds its temporary file, it keeps no lock."""
    code = (
        "import os, sys; from pathlib import Path; from perflog import files\n"
        "files.os.fsync = lambda _: (print('go', flush=True), sys.stdin.read())\n"
        "files.write_atomically(Path(sys.argv[1]), 'new')"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "file")], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdout is not None and writer.stdin is not None
    assert writer.stdout.readline() == b"go\n"
    write_atomically(tmp_path / "other", "new\n")
    assert len(temporaries(tmp_path)) == 1, "its writer lives"
    writer.kill()
    writer.wait()
    writer.stdin.close()
    writer.stdout.close()
    assert len(temporaries(tmp_path)) == 1
    write_atomically(tmp_path / "other", "new\n")
    assert names_in(tmp_path) == ["other"]


def test_temporary_files_are_no_logs(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(LOG.read_bytes())
    (tmp_path / f".perflog-{'a' * 16}.tmp").write_bytes(LOG.read_bytes())
    done = perflog("extract", str(tmp_path), "-s", "devices=1", "-f", "json")
    assert '"skipped": []' in done.stdout and done.stdout.count("first_line") and done.stdout.count('"source": {') == 1


def test_a_name_as_long_as_a_name_may_be(tmp_path: Path) -> None:
    write_atomically(tmp_path / ("n" * 255), "new\n")
    assert names_in(tmp_path) == ["n" * 255]


def test_an_interrupt_leaves_nothing_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    (tmp_path / "file").write_text(OLD)
    monkeypatch.setattr("perflog.files.os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "file", "new\n")
    assert names_in(tmp_path) == ["file"] and (tmp_path / "file").read_text() == OLD


# ---------------------------------------------------------------- what cannot be written


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    if (
        os.geteuid()
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "perflog", str(place)], check=False, capture_output=True
        ).returncode
    ):
        pytest.skip("only root mounts file systems")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_leaves_what_was_there(small_disk: Path) -> None:
    target = small_disk / "x.json"
    target.write_text(OLD)
    (small_disk / "filler").write_bytes(b"x" * 60_000)
    done = perflog("extract", str(LOG), "-s", "devices=1", "-f", "json", "-o", str(target))
    assert (done.returncode, done.stderr) == (2, f"perflog: cannot write '{target}': No space left on device\n")
    assert target.read_text() == OLD and names_in(small_disk) == ["filler", "x.json"]


def test_a_limit_on_the_size_of_files_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "x.json"
    target.write_text(OLD)
    done = shell('ulimit -f 1; perflog extract "$1" -s devices=1 -f json -o "$2"', LOG, target)
    assert (done.returncode, done.stderr) == (2, f"perflog: cannot write '{target}': File too large\n")
    assert target.read_text() == OLD and names_in(tmp_path) == ["x.json"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")
def test_a_folder_that_may_only_be_read(small_disk: Path) -> None:
    target = small_disk / "x.json"
    target.write_text(OLD)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = perflog("extract", str(LOG), "-s", "devices=1", "-f", "json", "-o", str(target))
    assert (done.returncode, done.stderr) == (2, f"perflog: cannot write '{target}': Read-only file system\n")
    assert target.read_text() == OLD


@pytest.mark.long
def test_a_full_device_behind_standard_output() -> None:
    for words in (
        ["extract", str(LOG), "-q", "-s", "devices=1"],
        ["--version"],
        ["explain", str(LOG)],
        ["parsers", "list"],
    ):
        done = shell("perflog " + " ".join(words) + " > /dev/full", forked=True)
        assert (done.returncode, done.stderr) == (
            2,
            "perflog: cannot write to standard output: No space left on device\n",
        )
    done = shell('perflog extract "$1" -q -s devices=1 >&-', LOG)
    assert (done.returncode, done.stderr) == (2, "perflog: cannot write to standard output: it is closed\n")


@pytest.mark.parametrize(
    "words",
    [
        "parsers list", "extract fixtures/seed004 -q -f json", "--help",
        pytest.param("explain fixtures/seed001 --why-not all", marks=pytest.mark.long),
    ],
)  # fmt: skip
def test_a_closed_pipe_is_no_error(words: str) -> None:
    """``head`` reads one line and goes; the shell's status is that of a program that a broken pipe ended."""
    done = shell(
        f"set -o pipefail; perflog {words} | (read -r line; exec 0<&-; exit 0); echo ${{PIPESTATUS[0]}}", forked=True
    )
    assert done.stderr == ""
    assert done.stdout in ("141\n", "0\n"), "0 where all was written before the pipe closed"
    done = shell(
        f"mkfifo_=$(mktemp -u); mkfifo $mkfifo_; exec 3<>$mkfifo_; exec 4>$mkfifo_; exec 3<&-; perflog {words} >&4; echo $?; rm $mkfifo_",
        forked=True,
    )
    assert (done.stdout, done.stderr) == ("141\n", "")


def test_a_closed_pipe_behind_the_output_option() -> None:
    done = shell(
        'f=$(mktemp -u); mkfifo $f; exec 3<>$f; exec 4>$f; exec 3<&-; perflog extract "$1" -q -f json -o /dev/fd/4; echo $?; rm $f',
        LOG,
    )
    assert (done.stdout, done.stderr) == ("141\n", "")


@pytest.mark.parametrize("engine", ["", "polars"], ids=["", "polars, which handles the signal itself"])
def test_ctrl_c_is_said_in_one_line_and_ends_a_loop_of_the_shell(engine: str, tmp_path: Path) -> None:
    """Interrupted while it waits for the reader of a FIFO, it dies of the signal, as a shell expects."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "perflog", "extract", str(LOG), "-q", "-f", "json", "-o", str(fifo)]
    # A shell without job control starts what stands in its background deaf to Ctrl-C: these tests among them.
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed,
        env={**os.environ, "PERFLOG_ENGINE": engine},
    )  # fmt: skip
    until = time.monotonic() + 60
    while not _waits_in_open(process.pid) and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (-signal.SIGINT, "", "perflog: interrupted\n")


def _waits_in_open(number: int) -> bool:
    """Whether a process waits until somebody opens the other end of a FIFO."""
    try:
        return "wait_for_partner" in Path(f"/proc/{number}/wchan").read_text() or Path(
            f"/proc/{number}/syscall"
        ).read_text().startswith("257 ")
    except OSError:
        return False
