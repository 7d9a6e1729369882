"""What a log may cost: small files that unpack to much, archives of many members, lines without an end."""

from __future__ import annotations

import gzip
import io
import shlex
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest
import zstandard

from perflog.errors import UsageError
from perflog.logs import containers, unwrap, zips
from perflog.logs import streams as limits
from perflog.logs.containers import LimitError, blocks_of, open_small, read_archive
from perflog.logs.find import LogFile, find_logs
from perflog.logs.streams import MEMBERS, RATIO, OpenFile, RandomAccess, UnreadableError, limit
from perflog.logs.zips import Listed, listed_members
from tests.forks import words
from tests.logs.test_containers import streamed, tarred, zipped
from tests.support import FIXTURES, extracted, mostly_long

LINES = b"x\n" * 50_000
LOG = FIXTURES / "parsers" / "paddleclas" / "elapse.log"


def no_log(size: int, ratio: int) -> str:
    """What is said of a file that unpacks to too much."""
    return (
        f"the file unpacks to more than {size} MiB and {ratio:,} times its own size, which no log does: it is not read. "
        f"To have it read, set {RATIO}={10 * ratio}"
    )


@lru_cache
def bombs() -> dict[str, bytes]:
    """Files that unpack to 1 MiB or more, by their names."""
    many = LINES * 10
    return {
        "a.gz": gzip.compress(many), "a.zst": zstandard.compress(many), "a.zip": zipped([("a.log", many)]),
        "a.tar.gz": gzip.compress(tarred([("a.log", many)])), "two.zip": zipped([("a.log", many), ("b.log", LINES)]),
        "gz.zip": zipped([("a.log.gz", gzip.compress(many))], zipfile.ZIP_STORED),
    }  # fmt: skip


@pytest.mark.parametrize("name", mostly_long(bombs(), 3))
def test_what_unpacks_to_too_much_is_no_log(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FREE", 1 << 19)
    monkeypatch.setenv(RATIO, "20")
    (tmp_path / name).write_bytes(bombs()[name])
    skipped = extracted(tmp_path).skipped
    assert {left_out.reason.split(" (after")[0] for left_out in skipped} == {no_log(0, 20)}
    monkeypatch.setenv(RATIO, "5000")
    assert {left_out.reason for left_out in extracted(tmp_path).skipped} == {"no line of a known format"}


@pytest.mark.parametrize("free", [2, 6])  # reached while the log is read whole, and when it is read in blocks
def test_a_limit_leaves_other_logs_as_they_are(free: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers before the limit do not count: the log is not what it was taken for."""
    text = LOG.read_bytes()
    (expected,) = extracted(LOG, set={"devices": "1"}).runs
    (tmp_path / "good.log.gz").write_bytes(gzip.compress(text))
    (tmp_path / "long.log.gz").write_bytes(gzip.compress(text + LINES * 100))
    monkeypatch.setattr(limits, "FREE", free << 20)
    monkeypatch.setenv(RATIO, "100")
    extraction = extracted(tmp_path, set={"devices": "1"})
    assert [run.throughput.value for run in extraction.runs] == [expected.throughput.value]
    assert [left_out.reason for left_out in extraction.skipped] == [no_log(free, 100)]
    assert not extraction.complete
    (log,) = find_logs([tmp_path / "long.log.gz"])
    with pytest.raises(LimitError):
        list(blocks_of(log))
    with pytest.raises(LimitError):
        open_small(log, 100 << 20)


@pytest.mark.long
def test_logs_of_trainings_are_far_from_the_limit(tmp_path: Path) -> None:
    """The densest text that a training prints, one line again and again, compresses less than 1,000 times in gzip."""
    text = LOG.read_bytes().splitlines(keepends=True)[20] * 1_000_000
    assert len(text) > limits.FREE
    (tmp_path / "a.gz").write_bytes(gzip.compress(text, 9))
    blocks, problem = streamed(LogFile(str(tmp_path / "a.gz"), 1))
    assert (sum(map(len, blocks)), problem) == (len(text), "")


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_an_archive_of_too_many_members(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [(f"{n}.log", b"x\n") for n in range(7)]
    data = zipped(files) if name == "a.zip" else tarred(files)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert len(find_logs([tmp_path])) == 7
    monkeypatch.setenv(MEMBERS, "5")
    logs = find_logs([tmp_path])
    assert [log.member for log in logs] == ["", "0.log", "1.log", "2.log", "3.log", "4.log"]
    with pytest.raises(UnreadableError) as told:
        open_small(logs[0], 100)
    assert str(told.value) == (
        f"the archive holds more than 5 files: those after them are not read. To have them read, set {MEMBERS}=50 "
        "(after 5 of its files)"
    )
    assert [content for _, content in read_archive(logs[1:], 100)] == [b"x\n"] * 5


@pytest.mark.parametrize("text", ["0", "-1", "many", "1e3", "²", "9" * 5000])
def test_a_limit_is_a_whole_number(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RATIO, text)
    with pytest.raises(UsageError, match=rf"{RATIO}='.*': expected a whole number above zero, such as 1000"):
        limit(RATIO)
    monkeypatch.delenv(RATIO)
    assert (limit(RATIO), limit(MEMBERS)) == (1_000, 200_000)


def test_an_archive_is_looked_through_a_few_times_however_many_members_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where many members hold the same text, or no known format: each is then looked at again."""
    text = LOG.read_text()
    unknown = "".join(f"at {n} it took {n % 7}.5 of them\n" for n in range(50)).encode()
    files = [(f"{n}/a.log", text.replace("epoch:0", f"epoch:{n % 3}").encode()) for n in range(30)]
    files += [(f"{n}/unknown.txt", unknown) for n in range(30)]
    (tmp_path / "a.zip").write_bytes(zipped(files))
    times = 0

    def counted(file: RandomAccess) -> Iterator[Listed]:
        nonlocal times
        times += 1
        return listed_members(file)

    monkeypatch.setattr(zips, "listed_members", counted)
    extraction = extracted(tmp_path, set={"devices": "1"})
    assert len(extraction.runs) == 3
    assert sorted(left_out.reason.split(":")[-1] for left_out in extraction.skipped).count(" a log counts once") == 27
    assert times == 6  # to find, to read and to compare them: each sees first whether the directory is whole


def test_members_of_one_name_are_all_read(tmp_path: Path) -> None:
    names = ["a.log", "a.log (2)", "a.log", "a.log", "a.log (2)"]
    (tmp_path / "a.tar").write_bytes(tarred([(name, b"%d\n" % n) for n, name in enumerate(names)]))
    logs = find_logs([tmp_path])
    assert len({log.member for log in logs}) == 5
    assert sorted(open_small(log, 10) or b"" for log in logs) == [b"%d\n" % n for n in range(5)]


def test_members_of_hostile_names(tmp_path: Path) -> None:
    """Nothing is written, whatever a member is called; it is read, and its name does nothing to a terminal."""
    names = ["/etc/passwd.log", "../../a.log", "c\x1b[31m.log", "d\n.log", "9" * 5000 + ".log", "e\0f.log"]
    before = sorted(tmp_path.parent.iterdir())
    (tmp_path / "a.tar").write_bytes(tarred([(name, b"x\n") for name in names], tarfile.PAX_FORMAT))
    (tmp_path / "b.zip").write_bytes(zipped([(name.replace("\0", "?"), b"x\n") for name in names]))
    logs = find_logs([tmp_path])
    assert len(logs) == 2 * len(names)
    assert [open_small(log, 10) for log in logs] == [b"x\n"] * len(logs)
    assert all(log.name.isprintable() and log.name.isascii() for log in logs)
    assert sorted(tmp_path.parent.iterdir()) == before
    assert sorted(tmp_path.iterdir()) == [tmp_path / "a.tar", tmp_path / "b.zip"]
    assert len(extracted(tmp_path).skipped) == len(logs)


@pytest.mark.long
def test_a_pax_header_of_many_records_is_read_in_one_go(tmp_path: Path) -> None:
    """A million records in a hundred headers: read again from each on, they would take minutes."""
    records = b"7 a=bc\n" * 10_000 + b"14 path=x.log\n"
    header = tarfile.TarInfo("header")
    header.type, header.size = tarfile.XHDTYPE, len(records)
    member = tarfile.TarInfo("y.log")
    member.size = 2
    headers = (header.tobuf() + records + bytes(-len(records) % 512)) * 100
    (tmp_path / "a.tar").write_bytes(headers + member.tobuf() + b"x\n" + bytes(510 + 1024))
    (log,) = find_logs([tmp_path])
    assert (log.member, open_small(log, 10)) == ("x.log", b"x\n")


def listed(file: Path) -> list[Listed]:
    with file.open("rb") as opened:
        return list(listed_members(OpenFile(opened.fileno())))


def test_the_directory_of_a_zip_is_what_the_standard_library_reads(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.comment = b"PK\x05\x06 in a comment"[4:]
        archive.writestr("d/", b"")
        archive.writestr("é.log", b"x" * 1000, zipfile.ZIP_DEFLATED)
        with archive.open("long.log", "w", force_zip64=True) as member:
            member.write(b"y" * 100)
    with zipfile.ZipFile(file) as archive:
        expected = archive.infolist()
    for before in (b"", b"#!/bin/sh\nexit\n"):  # an archive that unpacks itself
        file.write_bytes(before + file.read_bytes())
        found = listed(file)
        assert [(m.name.decode(), m.flags, m.method, m.checksum, m.packed, m.size) for m in found] == [
            (i.filename, i.flag_bits, i.compress_type, i.CRC, i.compress_size, i.file_size) for i in expected
        ]
        assert [m.place - len(before) for m in found] == [i.header_offset for i in expected]


def test_sizes_and_places_beyond_four_gigabytes(tmp_path: Path) -> None:
    """Made by hand: numbers that do not fit stand in the extra field, in the order size, packed size, place."""
    long, size, packed, place = 0xFFFFFFFF, 5 << 32, 6 << 32, 7 << 32
    extra = struct.pack("<HHI", 9, 4, 1) + struct.pack("<HHQQQ", 1, 24, size, packed, place)
    entry = struct.pack(
        "<4s4B4H3I5H2I", b"PK\1\2", 45, 3, 45, 0, 0, 8, 0, 0, 77, long, long, 1, len(extra), 0, 0, 0, 0, long
    )
    directory = entry + b"a" + extra
    record = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(directory), 0)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, len(directory), 1)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, long, long, 0)
    (tmp_path / "a.zip").write_bytes(directory + record + locator + end)
    assert listed(tmp_path / "a.zip") == [Listed(b"a", 3, 0, 8, 77, packed, size, place)]
    with (tmp_path / "a.zip").open("rb") as file:
        (member,) = zips.zip_members(OpenFile(file.fileno()))
        with pytest.raises(UnreadableError, match="the member is not where the directory says"):
            member.open()


@pytest.mark.parametrize("wrap", [b"%s", b'{"log":"%s","stream":"stdout"}', b"2024-05-04T07:31:12Z stdout F %s"])
def test_a_line_without_an_end_is_left_out_of_records_too(
    wrap: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (containers, unwrap):
        monkeypatch.setattr(module, "LONGEST_LINE" if module is containers else "_LONGEST", 500_000)
    monkeypatch.setattr(containers, "BLOCK", 400_000)
    lines = [b"step %d of it all\\n" % n if b"log" in wrap else b"step %d of it all" % n for n in range(1000)]
    lines[500] = b"y" * 2_000_000
    (tmp_path / "a.log").write_bytes(b"\n".join(wrap % line for line in lines) + b"\n")
    blocks, problem = streamed(LogFile(str(tmp_path / "a.log"), 1))
    text = b"".join(blocks).split(b"\n")
    assert text[:500] == [b"step %d of it all" % n for n in range(500)]
    assert text[500] == b""
    assert text[501:] == [b"step %d of it all" % n for n in range(501, 1000)] + [b""]
    assert problem.startswith("a line is longer than 500,000 bytes and left out: 2,000,0")


def test_pieces_of_a_line_without_an_end_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unwrap, "_LONGEST", 500_000)
    stamp = b"2024-05-04T07:31:12Z stdout "
    lines = [stamp + b"F step 1"] * 500 + [stamp + b"P " + b"y" * 1000] * 2000 + [stamp + b"F end", stamp + b"F step 2"]
    (tmp_path / "a.log").write_bytes(b"\n".join(lines) + b"\n")
    blocks, problem = streamed(LogFile(str(tmp_path / "a.log"), 1))
    assert b"".join(blocks) == b"step 1\n" * 500 + b"\n" * 2001 + b"step 2\n"
    assert problem.startswith("a line is longer than 500,000 bytes and left out: 2,000,003 bytes")


_PEAK = """
import resource, sys
from perflog.logs.containers import UnreadableError, blocks_of
from perflog.logs.find import LogFile
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    for load in blocks_of(LogFile(sys.argv[1], 1)):
        load()
except UnreadableError as error:
    print(str(error).split(":")[0])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("name", ["a.log", "a.log.gz"])
def test_a_line_without_an_end_takes_no_memory(name: str, tmp_path: Path) -> None:
    if name == "a.log":
        with (tmp_path / name).open("wb") as file:
            file.write(b"a\n")
            for _ in range(128):
                file.write(b"x" * (1 << 20))
    else:
        (tmp_path / name).write_bytes(gzip.compress(b"a\n" + b"x" * (128 << 20), 1))
    command = [sys.executable, "-c", _PEAK, str(tmp_path / name)]
    told, grown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert told == "a line is longer than 8,388,608 bytes and left out"
    assert int(grown) < 60 << 10  # ru_maxrss is in KiB


@pytest.mark.parametrize("redirect", ["cat {log} | {perflog} -", "{perflog} - < {log}", "{perflog} <(cat {log})"])
def test_logs_from_pipes_give_the_numbers_of_the_file(redirect: str, tmp_path: Path) -> None:
    # the descriptor that stands for a command's output is the shell's alone
    started = f"{sys.executable} -m perflog" if "<(" in redirect else shlex.join(words())
    perflog = f"{started} extract -q -f json -s devices=1 "

    def printed(command: str) -> str:
        done = subprocess.run(["bash", "-c", command], check=True, capture_output=True, text=True, timeout=120)
        return next(line for line in done.stdout.splitlines() if '"value"' in line)

    (tmp_path / "a.log").write_bytes(LOG.read_bytes())
    wanted = printed(f"{shlex.join(words())} extract -q -f json -s devices=1 {tmp_path}/a.log")
    assert "null" not in wanted
    assert printed(redirect.format(perflog=perflog, log=tmp_path / "a.log")) == wanted


@pytest.mark.parametrize(("redirect", "status", "told"), [
    ("- < /dev/zero", 3, "a device or a terminal, which is not read"),
    ("- <&-", 2, "cannot read standard input, which is closed"),
    ("/dev/zero", 3, "a device or a terminal, which is not read"),
    ("- < {zip}", 3, "a zip archive from a pipe, which is not read: name the file that holds it"),
])  # fmt: skip
def test_what_cannot_be_read_as_a_stream_is_told(redirect: str, status: int, told: str, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped([("a.log", LINES)]))
    started = f"{sys.executable} -m perflog" if "<&-" in redirect else shlex.join(words())
    command = f"{started} extract {redirect.format(zip=tmp_path / 'a.zip')}"
    done = subprocess.run(["bash", "-c", command], check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode, told in done.stderr) == (status, True)
    assert "Traceback" not in done.stderr


def test_text_at_hand_is_read_instead_of_the_file(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path / "gone.log"), 4, text=b"x\ny\n")
    assert (open_small(log, 10), open_small(log, 3)) == (b"x\ny\n", None)
    assert b"".join(load() for load in blocks_of(log)) == io.BytesIO(b"x\ny\n").read()


def test_a_zip_whose_files_lie_in_one_another_is_refused_at_once(tmp_path: Path) -> None:
    """A directory of many entries for the same packed bytes: 3 MB of such named 5 GB of text, each read (47 s)."""
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(200):
            archive.writestr(f"{number:05d}.log", LINES if number else LINES * 100)
        for entry in archive.infolist():
            entry.header_offset, entry.compress_size = 0, archive.infolist()[0].compress_size
    (log,) = extracted(file).skipped
    assert log.reason == "the files of the zip archive lie in one another, as no program packs them: it is not read"
    assert log.failed
