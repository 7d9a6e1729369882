"""The file that keeps perflog's own parsers: it says what the parsers' files say, now and whole, or it does not count."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from perflog import resources
from perflog.errors import ParserError
from perflog.formats import hash_of_files
from perflog.formats.prebuilt import (
    OwnFormats,
    key_of,
    load_own_formats,
    own_formats,
    read_own_formats,
    write_own_formats,
)
from tests.support import ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two of perflog's parsers and its path patterns."""
    place = tmp_path / "parsers"
    place.mkdir()
    for name in ("paddleclas.toml", "keras.toml", "paths.toml"):
        shutil.copy(resources.folder("parsers") / name, place / name)
    return place


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder; returns the folder of perflog's files in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "perflog"


def differences(one: Any, other: Any, place: str = "") -> list[str]:
    """Where two objects differ, down to the type of every field."""
    if type(one) is not type(other):
        return [f"{place}: {type(one)} and {type(other)}"]
    if isinstance(one, Struct):
        names = one.__struct_fields__
        return [
            text for name in names for text in differences(getattr(one, name), getattr(other, name), f"{place}.{name}")
        ]
    if isinstance(one, (tuple, list, dict)):
        items = [list(items.items()) if isinstance(items, dict) else list(items) for items in (one, other)]
        if len(items[0]) != len(items[1]):
            return [f"{place}: {len(items[0])} and {len(items[1])} items"]
        pairs = enumerate(zip(*items, strict=True))
        return [text for number, (a, b) in pairs for text in differences(a, b, f"{place}[{number}]")]
    if isinstance(one, re.Pattern):
        return differences((one.pattern, one.flags), (other.pattern, other.flags), place)
    return [] if one == other else [f"{place}: {one!r} and {other!r}"]


def titles(formats: OwnFormats) -> dict[str, str]:
    return {parser.name: parser.title for parser in formats.parsers}


def test_differences_are_seen() -> None:
    pattern = re.compile("a")
    assert differences((1, {"a": pattern}), (1, {"a": re.compile("a")})) == []
    assert differences((1,), (1, 2)) == [": 1 and 2 items"]
    assert differences((1, {"a": 1}), (1, {"a": True})) == ["[1][0][1]: <class 'int'> and <class 'bool'>"]
    assert differences(pattern, re.compile("a", re.IGNORECASE)) == ["[1]: 32 and 34"]


def test_what_is_kept_is_what_is_loaded_field_by_field(tmp_path: Path) -> None:
    parsers = resources.folder("parsers")
    loaded = load_own_formats(parsers)
    assert len(loaded.parsers) == len(list(parsers.glob("*.toml"))) - 2  # paths.toml and accelerators.toml
    assert all(parser.own and parser.file == parsers / f"{parser.name}.toml" for parser in loaded.parsers)
    write_own_formats(parsers, tmp_path / "formats")
    key = key_of(parsers)
    assert key is not None
    kept = read_own_formats(tmp_path / "formats", key, parsers)
    assert kept is not None
    assert differences(kept, loaded) == []


def test_the_first_use_writes_and_the_next_reads(folder: Path, cache: Path) -> None:
    first = own_formats(folder)
    (file,) = cache.iterdir()
    key = key_of(folder)
    assert key is not None
    kept = read_own_formats(file, key, folder)
    assert differences(kept, first) == [] and differences(own_formats(folder), first) == []
    assert titles(first).keys() == {"keras", "paddleclas"}


def test_an_edited_parser_is_seen_at_once(folder: Path, cache: Path) -> None:
    """Also where its size and its time stay as they were."""
    before = titles(own_formats(folder))["keras"]
    file = folder / "keras.toml"
    times = file.stat()
    text = file.read_text(encoding="utf-8")
    after = before[::-1]
    file.write_text(text.replace(f'title = "{before}"', f'title = "{after}"'), encoding="utf-8")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (times.st_size, times.st_mtime_ns)
    assert titles(own_formats(folder))["keras"] == after != before
    file.rename(folder / "keras3.toml")
    assert titles(own_formats(folder)).keys() == {"keras3", "paddleclas"}
    (folder / "paddleclas.toml").unlink()
    assert titles(own_formats(folder)).keys() == {"keras3"}
    assert len(list(cache.iterdir())) == 1  # one file for a folder, not one for each of its states


def test_an_edited_path_pattern_is_seen_at_once(folder: Path) -> None:
    assert len(own_formats(folder).paths) > 1
    (folder / "paths.toml").write_text("[[pattern]]\nregex = '^gpu(?P<nodes>[0-9]+)$'\n", encoding="utf-8")
    assert [path.regex.pattern for path in own_formats(folder).paths] == ["^gpu(?P<nodes>[0-9]+)$"]


def test_an_edited_module_is_another_key(tmp_path: Path) -> None:
    for name, text in (("a.py", "x = 1"), ("b.py", ""), ("c.txt", "no module")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    first = hash_of_files(str(tmp_path), ".py")
    (tmp_path / "c.txt").unlink()
    assert hash_of_files(str(tmp_path), ".py") == first
    (tmp_path / "a.py").write_text("x = 2", encoding="utf-8")
    second = hash_of_files(str(tmp_path), ".py")
    (tmp_path / "a.py").write_text("x = 1", encoding="utf-8")
    (tmp_path / "b.py").rename(tmp_path / "d.py")
    assert len({first, second, hash_of_files(str(tmp_path), ".py")}) == 3


DAMAGE = {
    "empty": lambda data: data[:0],
    "cut": lambda data: data[:-1],
    "longer": lambda data: data + b"\0",
    "a bit in a regex": lambda data: (
        data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
    ),
    "a bit in the key": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "a bit in the hash": lambda data: data[:16] + bytes([data[16] ^ 1]) + data[17:],
    "another file": lambda data: b"not a file of perflog" * len(data),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_file_is_written_anew(
    damage: Any, folder: Path, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first = own_formats(folder)
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert differences(own_formats(folder), first) == []
    assert file.read_bytes() == whole
    assert capfd.readouterr() == ("", "")


def test_no_folder_for_the_cache_is_no_error(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert titles(own_formats(folder)).keys() == {"keras", "paddleclas"}
    assert capfd.readouterr() == ("", "")


def test_the_cache_is_below_home_where_nothing_else_is_said(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache folder that is not absolute is to be ignored, by the XDG specification."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    own_formats(folder)
    assert not (tmp_path / "here").exists()
    assert len(list((tmp_path / "home" / ".cache" / "perflog").iterdir())) == 1


def test_a_faulty_parser_is_told_and_never_kept(folder: Path, cache: Path) -> None:
    (folder / "keras.toml").write_text("title = 5", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(ParserError, match=r"keras\.toml: 'source' is missing"):
            own_formats(folder)
    assert not cache.exists()


def test_processes_may_write_it_at_once(folder: Path, cache: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from perflog.formats.prebuilt import own_formats; "
        "sys.stdin.readline(); print(sorted(p.name for p in own_formats(Path(sys.argv[1])).parsers))"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for _ in range(4)
    ]
    for process in processes:  # all have started: let them go
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        assert process.communicate() == ("['keras', 'paddleclas']\n", "")
    (file,) = cache.iterdir()  # and no temporary file beside it
    key = key_of(folder)
    assert key is not None
    assert differences(read_own_formats(file, key, folder), load_own_formats(folder)) == []
