"""Plain text files read many at a time, and what is left to the slower way."""

from __future__ import annotations

import bz2
import gzip
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard

from perflog.matching import library
from perflog.reading.gather import read_texts

pytestmark = pytest.mark.skipif(bool(library.available()), reason=library.available())


def read(paths: list[Path], room: int = 100_000, start: int = 0) -> tuple[list[int], bytes]:
    """Each file's size, and what the buffer holds from ``start`` on."""
    buffer = bytearray(start + room)
    sizes = read_texts([str(path) for path in paths], buffer, start)
    return sizes, bytes(buffer[start : start + sum(size for size in sizes if size > 0)])


def files(folder: Path, *contents: bytes) -> list[Path]:
    paths = [folder / f"{number}.log" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def test_files_lie_side_by_side_without_those_that_are_not_read(tmp_path: Path) -> None:
    paths = files(tmp_path, b"one\n", b"", b"two\ttwo\r\n", b"\x00three", "vier \u00e4\n".encode())
    paths.insert(3, tmp_path / "none.log")
    assert read(paths, start=7) == ([4, -1, 9, -1, -1, 8], b"one\ntwo\ttwo\r\nvier \xc3\xa4\n")


def test_a_file_must_fit_with_one_byte_to_spare(tmp_path: Path) -> None:
    paths = files(tmp_path, b"x" * 50, b"y" * 50, b"z" * 49)
    assert read(paths, 100) == ([50, -1, 49], b"x" * 50 + b"z" * 49)


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG", b"%PDF-1.4 text", b"\x7fELF text", b"\xff\xd8\xff text", b"PK\x03\x04", b"\xff\xfet\x00", b" \n" * 200,
        b"\xef\xbb\xbftext", b"a" * 8191 + b"\x1b", b"a" * 300 + b"\x08", gzip.compress(b"text", mtime=0), bz2.compress(b"text"),
        zstandard.compress(b"text"),
    ],
)  # fmt: skip
def test_what_may_be_something_else_is_left_to_the_other_way(tmp_path: Path, content: bytes) -> None:
    assert read(files(tmp_path, content)) == ([-1], b"")


def test_only_a_files_first_bytes_tell(tmp_path: Path) -> None:
    content = b"a" * 8192 + b"\x1b\x00"
    assert read(files(tmp_path, content)) == ([8194], content)
    content = b" " * 255 + b"a"
    assert read(files(tmp_path, content)) == ([256], content)


def test_archives_folders_and_pipes_are_left_to_the_other_way(tmp_path: Path) -> None:
    (plain,) = files(tmp_path, b"text\n" * 200)
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(plain, "a.log")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.write(plain, "a.log")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    names = ["a.tar", "a.zip", "folder", "pipe"]
    assert read([tmp_path / name for name in names]) == ([-1] * 4, b"")


def test_a_path_with_a_nul_is_no_other_path(tmp_path: Path) -> None:
    (plain,) = files(tmp_path, b"text\n")
    assert read_texts([f"{plain}\x00.gz"], bytearray(100), 0) == [-1]


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xe9.log")
    path.write_bytes(b"text\n")
    assert read([path]) == ([5], b"text\n")


def test_without_the_library_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perflog.reading.gather.available", lambda: "it is not here")
    assert read(files(tmp_path, b"text\n")) == ([-1], b"")
