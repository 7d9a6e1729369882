"""Whatever container a log is in, the same bytes come out of it, in blocks of whole lines; damage is told after them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import TypeVar

import lz4.frame
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from perflog.logs import containers
from perflog.logs.blocks import blocks_of_stream, ranges_of_file
from perflog.logs.containers import UnreadableError, blocks_of, open_small, read_archive
from perflog.logs.encodings import as_utf8, encoding_of
from perflog.logs.find import LogFile, find_logs
from perflog.logs.streams import DEFLATE, Stream, decompressed
from tests.support import FIXTURES, extracted

T = TypeVar("T")
TEXT = b"".join(b"step %d loss %d.5 ips %d\n" % (n, n % 7, n * n) for n in range(20_000))
MOST = 4 << 20
#: How a file of any size is compressed by a library that is not the one that reads it, where there is one.
COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress, ".zst": zstandard.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".lz4": lz4.frame.compress,
}  # fmt: skip


def zipped(files: Iterable[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(files: Iterable[tuple[str, bytes]], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def only(folder: Path, name: str, data: bytes) -> LogFile:
    """The one log that a file with this content is, or has."""
    (folder / name).write_bytes(data)
    (log,) = find_logs([folder])
    return log


def streamed(log: LogFile) -> tuple[list[bytes], str]:
    """The blocks of a log, and why there are no more."""
    blocks: list[bytes] = []
    try:
        blocks.extend(load() for load in blocks_of(log))
    except UnreadableError as error:
        return blocks, str(error)
    return blocks, ""


def whole(log: LogFile, most: int = MOST) -> tuple[bytes | None, str]:
    """A small log's bytes, and what is wrong with it."""
    try:
        return open_small(log, most), ""
    except UnreadableError as error:
        return error.data, str(error)


def utf16(text: bytes, encoding: str = "utf-16") -> bytes:
    return text.decode("utf-8", "replace").encode(encoding)


def in_tar(pack: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda text: pack(tarred([("a.log", text)]))


#: A text in every kind of container, by the name of the file.
CONTAINERS: dict[str, Callable[[bytes], bytes]] = {
    "a.log": lambda text: text,
    **{f"a.log{end}": pack for end, pack in COMPRESSED.items()},
    "a.zip": lambda text: zipped([("a.log", text)]),
    "stored.zip": lambda text: zipped([("a.log", text)], zipfile.ZIP_STORED),
    "bzip2.zip": lambda text: zipped([("a.log", text)], zipfile.ZIP_BZIP2),
    "gz in.zip": lambda text: zipped([("a.log.gz", gzip.compress(text))]),
    "a.tar": lambda text: tarred([("a.log", text)]),
    "gnu.tar": lambda text: tarred([("a.log", text)], tarfile.GNU_FORMAT),
    **{f"a.tar{end}": in_tar(pack) for end, pack in COMPRESSED.items()},
    "a.tgz": lambda text: gzip.compress(tarred([("a.log.zst", zstandard.compress(text))])),
    "parts.gz": lambda text: gzip.compress(text[:1000]) + gzip.compress(text[1000:]) + bytes(700),
    "parts.zst": lambda text: (
        b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstandard.compress(text[:1000]) + zstandard.compress(text[1000:])
    ),
    "parts.xz": lambda text: lzma.compress(text[:1000]) + bytes(4) + lzma.compress(text[1000:]),
    "parts.bz2": lambda text: bz2.compress(text[:1000]) + bz2.compress(text[1000:]),
    "parts.lz4": lambda text: lz4.frame.compress(text[:1000]) + lz4.frame.compress(text[1000:]),
    "long.zst": lambda text: zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=30, enable_ldm=True)
    ).compress(text),
    "twice.gz.gz": lambda text: gzip.compress(gzip.compress(text)),
    "utf-16.log": utf16,
    "utf-16.log.gz": lambda text: gzip.compress(b"\xfe\xff" + utf16(text, "utf-16-be")),
}


@lru_cache
def contained(name: str, text: bytes) -> bytes:
    return CONTAINERS[name](text)


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("ending", [True, False])
def test_the_same_bytes_come_out_of_every_container(
    name: str, ending: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "BLOCK", 50_000)
    log = only(tmp_path, name if ending else "any name", contained(name, TEXT))
    assert whole(log) == (TEXT, "")
    if not ending:
        return  # the content says what it is, and all below is as with the name
    assert open_small(log, len(TEXT)) == TEXT
    assert open_small(log, len(TEXT) - 1) is None
    blocks, problem = streamed(log)
    assert (b"".join(blocks), problem) == (TEXT, "")
    assert all(40_000 < len(block) <= 50_000 and block.endswith(b"\n") for block in blocks[:-1])


def test_names_and_places(tmp_path: Path) -> None:
    for name in ("c.zip", "d.tar.zst", "e.tgz"):
        (tmp_path / name).write_bytes(tarred([("8g/run.log.gz", gzip.compress(b"x\n"))]))
    (tmp_path / "f.log.xz").write_bytes(lzma.compress(b"x\n"))
    places = [os.path.relpath(log.place, tmp_path) for log in find_logs([tmp_path])]
    assert places == ["c/8g/run.log", "d/8g/run.log", "e/8g/run.log", "f.log"]
    assert LogFile("a.log.failed", 1).place == "a.log"


@pytest.mark.parametrize("name", ["a.tar", "a.tar.zst", "a.zip"])
def test_an_archive_is_read_once_for_all_its_members(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes are counted where the process reads them: reading 200 members reads the archive about once."""
    noise = [(f"{n}.log", b"x" + Random(n).randbytes(3000)) for n in range(200)]
    packed = zipped(noise) if name == "a.zip" else tarred(noise)
    (tmp_path / name).write_bytes(zstandard.compress(packed) if name == "a.tar.zst" else packed)
    logs = find_logs([tmp_path])
    assert [log.member for log in logs] == [f"{n}.log" for n in range(200)]
    count = 0
    read, pread = os.read, os.pread

    def counted(descriptor: int, size: int) -> bytes:
        nonlocal count
        data = read(descriptor, size)
        count += len(data)
        return data

    def counted_at(descriptor: int, size: int, place: int) -> bytes:
        nonlocal count
        data = pread(descriptor, size, place)
        count += len(data)
        return data

    monkeypatch.setattr(os, "read", counted)
    monkeypatch.setattr(os, "pread", counted_at)
    contents = {log.member: content for log, content in read_archive(logs, MOST)}
    assert contents == dict(noise)
    assert 600_000 < count < 1.5 * (tmp_path / name).stat().st_size


def test_large_members_come_as_blocks_between_small_ones(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(tarred([("z.log", b"z\n"), ("b.log", TEXT), ("c.log", b"c\n")])))
    found = []
    for log, content in read_archive(
        [*find_logs([tmp_path]), LogFile(str(tmp_path / "a.tar.gz"), 1, "gone.log")], 1000
    ):
        assert not isinstance(content, UnreadableError) or log.member == "gone.log"
        found.append(
            (
                log.member,
                content if isinstance(content, bytes | UnreadableError) else b"".join(load() for load in content),
            )
        )
    assert found[:-1] == [("z.log", b"z\n"), ("b.log", TEXT), ("c.log", b"c\n")]
    assert (found[-1][0], str(found[-1][1])) == ("gone.log", "the archive holds no such member any more")


def test_two_members_of_one_name_are_two_logs(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(tarred([("a.log", b"old\n"), ("a.log", b"new\n")]))
    logs = find_logs([tmp_path])
    assert [(log.member, open_small(log, 10)) for log in logs] == [("a.log", b"old\n"), ("a.log (2)", b"new\n")]


def test_long_and_foreign_names_in_tars(tmp_path: Path) -> None:
    names = ["d/" * 60 + "é.log", "x" * 250 + ".log", "caf\udce9.log"]
    for number, form in enumerate((tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)):
        (tmp_path / f"{number}.tar").write_bytes(tarred([(name, b"x\n") for name in names], form))
    for number in range(2):
        logs = find_logs([tmp_path / f"{number}.tar"])
        assert sorted(log.member for log in logs) == sorted(names)
        assert [open_small(log, 10) for log in logs] == [b"x\n"] * 3
        assert [log.name for log in logs if "caf" in log.name] == [f"{tmp_path}/{number}.tar!caf\\xe9.log"]


@pytest.mark.parametrize("most", [1, 7, 300, 1000])
def test_a_decoder_that_holds_text_back_is_asked_for_it(most: int) -> None:
    """Repeats are short in a compressed stream: its last byte may stand for more text than is asked for at once."""
    for length in range(990, 1300, 13 if most == 1 else 1):
        deflate = zlib.compressobj(wbits=-15)
        stream = decompressed(Stream(io.BytesIO(deflate.compress(b"a" * length) + deflate.flush()).read), DEFLATE)
        assert b"".join(iter(lambda: stream.read(most), b"")) == b"a" * length  # noqa: B023


# ---------------------------------------------------------------- damage


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]


@pytest.mark.parametrize(
    ("name", "data", "least", "reason"),
    [
        ("cut.gz", gzip.compress(TEXT)[:-9], 520_000, "the gzip data are damaged or cut short: they end too early"),
        ("cut.zst", zstandard.compress(TEXT)[:-9], 250_000, "the zstd data are damaged or cut short: they end too early"),
        ("cut.xz", lzma.compress(TEXT)[:-40], 500_000, "the xz data are damaged or cut short: they end too early"),
        ("cut.bz2", bz2.compress(TEXT)[:-9], 0, "the bzip2 data are damaged or cut short: they end too early"),
        ("sum.gz", flipped(gzip.compress(TEXT), -6), len(TEXT), "the gzip data are damaged or cut short: Error -3"),
        ("sum.zst", flipped(zstandard.ZstdCompressor(write_checksum=True).compress(TEXT), -1), 200_000, "the zstd data are damaged"),
        ("garbage.gz", gzip.compress(TEXT) + b"rubbish", len(TEXT), "the gzip data are followed by bytes that are not gzip"),
        ("garbage.zst", zstandard.compress(TEXT) + b"rubbish", len(TEXT), "the zstd data are followed by bytes"),
        ("other.gz", gzip.compress(TEXT) + bz2.compress(TEXT), len(TEXT), "the gzip data are followed by bytes"),
        ("head.gz", b"\x1f\x8b rubbish", 0, "the gzip data are damaged or cut short"),
        ("window.zst", b"\x28\xb5\x2f\xfd\x00\xf0" + b"1" * 50, 0, "the zstd data are damaged or cut short: "),
        ("thrice.gz", gzip.compress(gzip.compress(gzip.compress(TEXT))), 0, "a compressed file in a compressed file"),
        ("zip.gz", gzip.compress(zipped([("a.log", TEXT)])), 0, "an archive in another container: not read"),
    ],
)  # fmt: skip
def test_damage_is_told_after_what_could_be_read(
    name: str, data: bytes, least: int, reason: str, tmp_path: Path
) -> None:
    log = only(tmp_path, name, data)
    for text, problem in (whole(log), (b"".join(streamed(log)[0]), streamed(log)[1])):
        assert text is not None
        assert TEXT.startswith(text)
        assert len(text) >= least
        assert problem.startswith(reason)


def problems(folder: Path) -> dict[str, tuple[bytes | None, str]]:
    """What could be read of each log in a folder, and what is wrong with it; blocks must agree."""
    found = {}
    for log in find_logs([folder]):
        text, problem = found[os.path.relpath(log.name, folder)] = whole(log)
        assert (b"".join(streamed(log)[0]), streamed(log)[1]) == (text, problem)
    return found


def test_a_cut_tar_gives_the_members_before_and_says_that_it_is_cut(tmp_path: Path) -> None:
    data = tarred([("a.log", b"a" * 600), ("b.log", b"b" * 600), ("c.log", b"c\n")], tarfile.USTAR_FORMAT)
    cut = "the tar archive is cut short: it ends before the mark that ends an archive"
    (tmp_path / "a.tar").write_bytes(data[: 512 + 1024 + 512 + 100])
    assert problems(tmp_path) == {
        "a.tar": (b"", f"{cut} (after 2 of its files)"),
        "a.tar!a.log": (b"a" * 600, ""),
        "a.tar!b.log": (b"b" * 100, cut),
    }
    (tmp_path / "a.tar").write_bytes(data[:1536])  # between two members
    assert problems(tmp_path) == {"a.tar": (b"", f"{cut} (after 1 of its files)"), "a.tar!a.log": (b"a" * 600, "")}
    (tmp_path / "a.tar").write_bytes(flipped(data, 1540))  # in a header
    damaged = problems(tmp_path)
    assert damaged.pop("a.tar!a.log") == (b"a" * 600, "")
    assert damaged["a.tar"][1].startswith("the tar archive is damaged: ")


def test_a_cut_compressed_tar(tmp_path: Path) -> None:
    noise = b"x" + Random(0).randbytes(400_000)
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(tarred([("a.log", b"a\n"), ("b.log", noise)]))[:200_000])
    found = problems(tmp_path)
    assert found["a.tar.gz!a.log"] == (b"a\n", "")
    text, problem = found["a.tar.gz!b.log"]
    assert text is not None
    assert noise.startswith(text) and len(text) > 150_000
    assert problem == "the gzip data are damaged or cut short: they end too early"
    assert found["a.tar.gz"] == (b"", f"{problem} (after 2 of its files)")


def test_zip_members_that_cannot_be_read(tmp_path: Path) -> None:
    data = bytearray(
        zipped([("good.log", b"good\n"), ("locked.log", b"x\n"), ("odd.log", b"x\n"), ("sum.log", b"loss 1\n" * 100)])
    )
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist()[1] == "locked.log"
    entries = [place for place in range(len(data)) if data[place : place + 4] == b"PK\x01\x02"]
    data[entries[1] + 8] |= 1  # the flag of encryption
    data[entries[2] + 10] = 97  # WavPack
    data[entries[3] + 16] ^= 0xFF  # a byte of the checksum
    (tmp_path / "a.zip").write_bytes(data)
    assert problems(tmp_path) == {
        "a.zip!good.log": (b"good\n", ""),
        "a.zip!locked.log": (b"", "the member is encrypted"),
        "a.zip!odd.log": (b"", "the member is compressed by zip's method 97, which is not supported"),
        "a.zip!sum.log": (b"loss 1\n" * 100, "the zip data are damaged or cut short: the checksum is another"),
    }


def test_archives_with_nothing_to_read(tmp_path: Path) -> None:
    inner = zipped([("a.log", TEXT)])
    for name, data in {
        "cut.zip": zipped([("a.log", TEXT)])[:-30], "empty.zip": zipped([]), "empty.gz": gzip.compress(b""), "folder.zip": zipped([("d/", b"")]),
        "nested.zip": zipped([("b.zip", inner), ("c.tar", tarred([("a.log", TEXT)])), ("d.gz", gzip.compress(gzip.compress(TEXT)))]),
        "ours.zip": zipped([("machine.json", b"{}"), (".git/x", b"x")]), "weights.pt": zipped([("data/0", b"\x00\x01")]),
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)
    folder = tarfile.TarInfo("d")
    folder.type = tarfile.DIRTYPE
    (tmp_path / "folder.tar").write_bytes(folder.tobuf() + bytes(1024))
    assert problems(tmp_path) == {
        "cut.zip": (b"", "the zip archive cannot be read: the directory at its end is missing (after 1 of its files)"),
        "cut.zip!a.log": (TEXT, ""),
        "empty.gz": (b"", ""),
        "empty.zip": (b"", "the zip archive holds no files"),
        "folder.tar": (b"", "the tar archive holds no files"),
        "folder.zip": (b"", "the zip archive holds no files"),
        "nested.zip!b.zip": (b"", "an archive in another container: not read"),
        "nested.zip!c.tar": (b"", "an archive in another container: not read"),
        "nested.zip!d.gz": (b"", "a compressed file in a compressed file in another container: not read"),
        "ours.zip": (b"", "a zip archive with 2 files, none of which is taken for a log"),
        "weights.pt": (b"", "a zip archive with 1 file, which is not taken for a log"),
    }


def streamed_zip(files: Iterable[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """As a program writes it that cannot go back: sizes stand behind the data."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = b""

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.data += bytes(data)  # type: ignore[call-overload]
            return len(data)  # type: ignore[arg-type]

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", method) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return pipe.data


@pytest.mark.parametrize("make", [zipped, streamed_zip])
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_cut_zip_gives_what_is_there(make: Callable[..., bytes], method: int, tmp_path: Path) -> None:
    noise = Random(3).randbytes(30_000)
    data = make([("d/a.log", TEXT), ("b.log", b"x" + noise), ("c.log", b"c\n")], method)
    (tmp_path / "a.zip").write_bytes(data[: data.index(b"c.log") - 30 - 3_000])
    damaged = "the zip data are damaged or cut short: they end too early"
    if method == zipfile.ZIP_BZIP2:
        damaged = damaged.replace("zip", "bzip2")
    told = problems(tmp_path)
    text, problem = told.pop("a.zip!b.log")
    assert told == {
        "a.zip": (b"", "the zip archive cannot be read: the directory at its end is missing (after 2 of its files)"),
        "a.zip!d/a.log": (TEXT, ""),
    }
    assert problem == damaged
    if method == zipfile.ZIP_DEFLATED:
        assert text is not None and len(text) > 20_000 and (b"x" + noise).startswith(text)


def test_names_from_chinese_systems(tmp_path: Path) -> None:
    name = "日志/训练.log"
    data = bytearray(zipped([("x" * len(name.encode("gbk")), b"x\n")]))
    raw = name.replace("/", "\\").encode("gbk")
    data = data.replace(b"x" * len(raw), raw)
    place = data.index(b"PK\x01\x02")
    data[place + 5] = 0  # written by DOS
    (tmp_path / "a.zip").write_bytes(data)
    (tmp_path / "b.zip").write_bytes(data[:place])
    (tmp_path / "c.tar").write_bytes(
        tarred([(name.encode("gbk").decode("utf-8", "surrogateescape"), b"x\n")], tarfile.GNU_FORMAT)
    )
    assert [log.member for log in find_logs([tmp_path]) if log.member] == [name] * 3


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"7z\xbc\xaf\x27\x1c\x00\x04", "a 7z archive, which is not read: read are .zip, .tar, .gz"),
        (b"Rar!\x1a\x07\x01\x00", "a RAR archive, which is not read: read are .zip, .tar, .gz"),
        (b":W&B\xe1\xbe\x00", "a W&B run file, which is not read: files/output.log"),
        (b"SQLite format 3\x00", "an SQLite database"),
        (b'{"schemaVersion": 1, "deviceProperties": [', "a profiler's trace, not a training log"),
        (b'{\n "traceEvents": [', "a profiler's trace, not a training log"),
    ],
)
def test_what_is_not_read_is_named(head: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(head + b"x" * 300)
    (skipped,) = extracted(tmp_path / "a.log").skipped
    assert skipped.reason.startswith(reason)


#: A log with a byte that is no UTF-8, whose last line is cut inside a number.
CUT_LOG = (
    (FIXTURES / "parsers" / "paddleclas" / "elapse.log").read_bytes()
    + b"45 \xb0C\n2020-12-16 19:05:51 INFO: epoch:0   train step:41   loss:  7.0989 top1: 0.0000 top5: 0.0048 lr: 0.1 elapse: 3"
)


def test_without_the_package_an_lz4_file_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lz4.frame", None)  # as where the extra is not installed
    log = only(tmp_path, "a.log.lz4", lz4.frame.compress(TEXT))
    why = "an LZ4 file, for which a package is missing: pip install 'perflog[lz4]'"
    assert whole(log) == (b"", why)
    assert streamed(log) == ([], why)


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_changes_no_number(name: str, tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(CUT_LOG)
    (expected,) = extracted(tmp_path / "plain", set={"devices": "1"}).runs
    assert expected.throughput.value is not None
    (tmp_path / "packed").write_bytes(contained(name, CUT_LOG))
    (run,) = extracted(tmp_path / "packed", set={"devices": "1"}).runs
    assert (run.throughput.value, run.notes, run.lines) == (expected.throughput.value, expected.notes, expected.lines)


@given(
    st.integers(0, 3), st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 255)), max_size=4), st.integers(1, 3000)
)
def test_no_damage_hangs_or_escapes(kind: int, changes: list[tuple[int, int]], length: int) -> None:
    files = [("a.log", TEXT[:1500]), ("b.log.gz", gzip.compress(TEXT[:900]))]
    data = bytearray(
        [zipped(files), tarred(files), gzip.compress(tarred(files)), zstandard.compress(TEXT[:4000])][kind][:length]
    )
    for place, change in changes:
        if place < len(data):
            data[place] ^= change
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a"
        file.write_bytes(data)
        for log in find_logs([file]):
            assert b"".join(streamed(log)[0]) == (whole(log)[0] or b"")


# ---------------------------------------------------------------- blocks


class Pieces:
    """A stream that gives its bytes in pieces of given sizes."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self.data, self.sizes = data, sizes

    def read(self, size: int) -> bytes:
        size = min(size, self.sizes.pop() if self.sizes else 7)
        data, self.data = self.data[:size], self.data[size:]
        return data


def all_of(parts: Iterable[T]) -> tuple[list[T], str]:
    """What an iterator gives, and why it gives no more."""
    given: list[T] = []
    try:
        given.extend(parts)
    except UnreadableError as error:
        return given, str(error)
    return given, ""


def without_long_lines(data: bytes, longest: int) -> tuple[bytes, int, int]:
    """A text without the parts between line ends that are too long, how many those are, and their bytes.

    Of a part that a carriage return ends that one goes too; a line feed stays.
    """
    kept, count, size = b"", 0, 0
    for part in re.findall(rb"[^\r\n]*(?:[\r\n]|$)", data):
        text = part.rstrip(b"\r\n")
        if len(text) <= longest:
            kept += part
        else:
            count, size = count + 1, size + len(text)
            kept += b"\n" if part.endswith(b"\n") else b""
    return kept, count, size


@example(b"a\na", 3, 0, [])
@example(b"a" * 5, 3, 2, [])
@example(b"a" * 6, 3, 2, [])
@example(b"a" * 5 + b"\n", 3, 2, [])
@example(b"b" * 30 + b"\r" + b"c" * 70 + b"\rd\n", 20, 30, [])
@given(
    st.lists(st.sampled_from([b"a", b"bb" * 10, b"\n", b"\r", b"c" * 70]), max_size=60).map(b"".join),
    st.integers(1, 60), st.integers(0, 100), st.lists(st.integers(1, 200), max_size=9),
)  # fmt: skip
def test_files_and_streams_are_cut_alike_and_at_line_ends(data: bytes, block: int, more: int, sizes: list[int]) -> None:
    longest = block + more
    with open(os.memfd_create("log"), "wb") as file:  # noqa: PTH123
        file.write(data)
        file.flush()
        ranges, left_out = all_of(ranges_of_file(file.fileno(), len(data), block, longest))
    streams, told = all_of(blocks_of_stream(Pieces(data, sizes).read, block, longest))
    assert (streams, told) == ([data[start:end] for start, end in ranges], left_out)
    expected, count, size = without_long_lines(data, longest)
    assert b"".join(streams) == expected
    assert told.startswith(f"{count} lines are longer than {longest} bytes and left out: {size} bytes" if count > 1 else
                           f"a line is longer than {longest} bytes and left out: {size} bytes" if count else "")  # fmt: skip
    assert bool(told) == bool(count)
    for text in streams[:-1]:
        assert text.endswith((b"\n", b"\r")) or not expected.startswith(b"".join(streams[:-1]) + b"a")
        assert len(text) <= block or b"\n" not in text[:-1]
        assert len(text) <= longest + 1


def test_a_line_is_cut_after_a_carriage_return_and_else_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "BLOCK", 100)
    monkeypatch.setattr(containers, "LONGEST_LINE", 300)
    bar = b"".join(b"%3d%%\r" % n for n in range(100))
    data = b"a" * 299 + b"\n" + b"b" * 450 + b"\n" + bar + b"\n" + b"c" * 301 + b"\rd\nend"
    for name, content in (("a.log", data), ("a.log.gz", gzip.compress(data))):
        blocks, told = streamed(only(tmp_path, name, content))
        assert blocks == [b"a" * 299 + b"\n", b"\n", bar[:300], bar[300:] + b"\n", b"d\nend"]
        assert told == "2 lines are longer than 300 bytes and left out: 751 bytes, from byte 300 of the text on"
        (tmp_path / name).unlink()


@pytest.mark.parametrize("tag", [b"[rank3]: ", b"(Trainer pid=7) ", b"[1,3]<stdout>:", b"x [1,3]<stderr>:"])
def test_what_follows_in_a_long_line_of_a_rank_is_left_out(
    tag: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its tag it would be taken for the first rank's."""
    monkeypatch.setattr(containers, "BLOCK", 100)
    monkeypatch.setattr(containers, "LONGEST_LINE", 300)
    line = tag + b"".join(b"%3d%%\r" % n for n in range(100))
    cut = line[:301].rindex(b"\r") + 1
    for name, content in (("a.log", line + b"\nend"), ("a.log.gz", gzip.compress(line + b"\nend"))):
        blocks, told = streamed(only(tmp_path, name, content))
        assert blocks == [line[:cut], b"\nend"]
        assert told.startswith(
            f"a line is longer than 300 bytes and left out: {len(line) - cut} bytes, from byte {cut}"
        )
        (tmp_path / name).unlink()


def test_a_file_that_changes_while_it_is_read_is_told(tmp_path: Path) -> None:
    def load_after(change: Callable[[Path], object]) -> tuple[bytes, str]:
        log = only(tmp_path, "a.log", TEXT)
        (load,) = blocks_of(log)
        change(tmp_path / "a.log")
        try:
            return load(), ""
        except UnreadableError as error:
            return error.data, str(error)

    def replace(path: Path) -> None:
        (tmp_path / "b").write_bytes(TEXT)
        (tmp_path / "b").rename(path)

    another = "another file took the log's place while it was read, or it was written anew"
    shorter = "the file became shorter while it was read"
    assert load_after(lambda path: path.write_bytes(TEXT + b"more\n")) == (TEXT, "")
    assert load_after(lambda path: os.truncate(path, 10_000)) == (TEXT[:10_000], shorter)
    assert load_after(lambda path: os.truncate(path, 1000)) == (b"", shorter)
    assert load_after(lambda path: path.write_bytes(b"new" + TEXT)) == (b"", another)
    assert load_after(replace) == (b"", another)
    assert load_after(Path.unlink) == (b"", "could not be read to its end: No such file or directory")


def test_a_file_that_grew_is_read_to_its_end(tmp_path: Path) -> None:
    log = only(tmp_path, "a.log", b"a\n")
    (tmp_path / "a.log").write_bytes(TEXT)
    assert open_small(log, MOST) == TEXT
    assert open_small(log, 1000) is None


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=80),
    st.lists(st.integers(1, 5), max_size=50),
    st.booleans(),
)
def test_utf16_is_decoded_wherever_it_is_cut(text: str, sizes: list[int], big: bool) -> None:
    data = b"\xfe\xff" + text.encode("utf-16-be") if big else b"\xff\xfe" + text.encode("utf-16-le")
    stream = as_utf8(Stream(Pieces(data, sizes).read), encoding_of(data[:512]))
    parts = []
    while part := stream.read(11):
        parts.append(part)
    assert b"".join(parts).decode() == text


_PEAK = """
import resource, sys
from perflog.logs.containers import blocks_of, open_small
from perflog.logs.find import LogFile
log = LogFile(sys.argv[1], 1, sys.argv[2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert open_small(log, 1 << 20) is None
size = sum(len(load()) for load in blocks_of(log))
print(size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize(
    "name", ["a.zst", "a.xz", "a.zip", "a.tar.gz", "a.log", pytest.param("a.gz", marks=pytest.mark.long)]
)
def test_memory_is_flat(name: str, tmp_path: Path) -> None:
    """64 MiB of text, packed to a few KiB or as they are, take a few blocks of memory."""
    text = (b"step 1 loss 0.5 ips 12345\n" * 40_330)[: 1 << 20] * 64
    packs: dict[str, Callable[[bytes], bytes]] = {
        "a.gz": lambda data: gzip.compress(data, 1), "a.zst": zstandard.compress, "a.xz": lambda data: lzma.compress(data, preset=0),
        "a.zip": lambda data: zipped([("a.log", data)]), "a.tar.gz": lambda data: gzip.compress(tarred([("a.log", data)]), 1), "a.log": bytes,
    }  # fmt: skip
    (tmp_path / name).write_bytes(packs[name](text))
    member = "a.log" if name in ("a.zip", "a.tar.gz") else ""
    command = [sys.executable, "-c", _PEAK, str(tmp_path / name), member]
    size, grown = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    assert size == len(text)
    assert grown < 60 << 10  # ru_maxrss is in KiB


def test_a_damaged_file_without_a_training_has_the_damage_in_its_reason(tmp_path: Path) -> None:
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(b"no line of a training\n" * 9_000)[:-40])
    (skipped,) = extracted(tmp_path / "a.log.gz").skipped
    damage = "the gzip data are damaged or cut short: they end too early"
    assert skipped.reason == f"no line of a known format; {damage}"
