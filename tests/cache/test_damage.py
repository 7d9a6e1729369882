"""Whatever happens to the cache's file, an extraction ends well and gives the numbers that it gives without."""

from __future__ import annotations

import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from perflog.cache.cache import LIMIT, EntryFile, _make_table
from tests.cache.support import Place, later, logs_in
from tests.logs.test_find import as_user
from tests.support import ROOT, examples


def test_a_file_that_is_no_database_is_made_anew(place: Place) -> None:
    place.file.write_bytes(b"no database at all" * 1000)
    assert len(place.require_equal()) == 3
    assert len(place.said) == 1 and "it was damaged (file is not a database): it is made anew" in place.said[0]
    assert place.require_equal() == []
    assert len(place.said) == 1


def test_a_file_that_was_cut_off_is_made_anew(place: Place) -> None:
    os.truncate(place.file, place.file.stat().st_size // 2)
    place.require_equal()
    assert place.require_equal() == []


def test_an_empty_file_is_a_new_one(place: Place) -> None:
    os.truncate(place.file, 0)
    assert len(place.require_equal()) == 3
    assert place.require_equal() == [] and place.said == []


def test_an_entry_that_is_damaged_is_read_again(place: Place) -> None:
    """One bit of a number, which would be another number."""
    with sqlite3.connect(place.file) as connection:
        key, content = connection.execute("SELECT key, content FROM entry LIMIT 1").fetchone()
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        connection.execute("UPDATE entry SET content = ? WHERE key = ?", (flipped, key))
    connection.close()
    assert len(place.require_equal()) == 1
    assert "1 of its entries are damaged" in place.said[0]
    assert place.require_equal() == []


def test_entries_that_were_exchanged_are_read_again(place: Place) -> None:
    """Each is whole, and stands under the key of another log."""
    with sqlite3.connect(place.file) as connection:
        (one, first), (other, second) = connection.execute("SELECT key, content FROM entry LIMIT 2").fetchall()
        connection.execute("UPDATE entry SET content = ? WHERE key = ?", (second, one))
        connection.execute("UPDATE entry SET content = ? WHERE key = ?", (first, other))
    connection.close()
    assert len(place.require_equal()) == 2


def test_any_flipped_bytes_change_no_number(place: Place) -> None:
    whole, right = place.file.read_bytes(), place.without()
    draw = random.Random(15)
    for _ in range(examples(20)):
        damaged = bytearray(whole)
        for _ in range(draw.choice([1, 1, 8, 200])):
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        place.file.write_bytes(damaged)
        assert place.with_cache() == right


@pytest.mark.parametrize(
    ("pragma", "remark"),
    [("user_version = 2", "it has the form 2, which another perflog wrote"), ("application_id = 7", "not perflog's")],
)
def test_the_file_of_a_later_perflog_or_another_program_stays_as_it_is(place: Place, pragma: str, remark: str) -> None:
    with sqlite3.connect(place.file) as connection:
        connection.execute(f"PRAGMA {pragma}")
    connection.close()
    before = place.file.read_bytes()
    assert len(place.require_equal()) == 3
    assert remark in place.said[0] and "`perflog cache --clear` removes it" in place.said[0]
    assert place.file.read_bytes() == before


def test_a_folder_where_nothing_can_be_made(tmp_path: Path) -> None:
    place = Place(tmp_path)
    logs_in(place.logs)
    place.cache.write_text("a file")
    assert len(place.require_equal()) == 3
    assert "it cannot be written" in place.said[0] and place.said[0].endswith("the logs are read without it")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_cache_that_may_be_read_alone_is_read() -> None:
    """The folder and file of a user who may not write to them: what is kept counts, and nothing is added."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        place = Place(folder)
        logs_in(place.logs)
        place.with_cache()
        for path in (place.cache, place.file):
            os.chown(path, 65534, 65534)
        place.cache.chmod(0o500)
        place.file.chmod(0o400)
        right = place.without()

        def extracted() -> list[Any]:
            same = place.with_cache() == right
            with (place.logs / "1n1g" / "cnn_b16_fp32_0.log").open("rb"):
                return [same, place.read, place.said]

        assert as_user(65534, extracted) == [True, [], []]
        (place.logs / "1n1g" / "cnn_b16_fp32_0.log").chmod(0o644)  # its time of change is another
        same, read, said = as_user(65534, extracted)
        assert (same, read) == (True, ["cnn_b16_fp32_0.log"])
        assert "it cannot be written (attempt to write a readonly database)" in said[0]


def test_a_full_disk_ends_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    logs_in(place.logs)
    right = place.without()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        assert place.with_cache() == right
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "it cannot be written" in place.said[0]


def test_two_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    """Processes that add entries of their own: all are there."""
    program = (
        "import sys; from pathlib import Path; from perflog.cache.cache import EntryFile\n"
        "file, own = EntryFile(Path(sys.argv[1])), sys.argv[2].encode()\n"
        "for n in range(25): file.add({own + b'%d' % n + b'.' * k: own * 1000 for k in range(20)})\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "cache"), own], cwd=ROOT) for own in "abc"
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    file = EntryFile(tmp_path / "cache")
    keys = [own + b"%d" % n + b"." * k for own in (b"a", b"b", b"c") for n in range(25) for k in range(20)]
    contents, damaged = file.entries(keys)
    assert damaged == 0
    assert contents == {key: key[:1] * 1000 for key in keys}


class _Interrupted(sqlite3.Connection):
    """A connection before whose second question about the header another writer makes the file's table."""

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        if sql == "PRAGMA user_version":
            path = super().execute("PRAGMA database_list").fetchone()[2]
            other = sqlite3.Connection(path, timeout=0, isolation_level=None)
            with closing(other), suppress(sqlite3.OperationalError):  # which may have to wait
                _make_table(other)
        return super().execute(sql, *arguments)


def test_a_file_that_another_writer_is_making_is_not_taken_for_a_foreign_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = EntryFile(tmp_path / "cache")
    monkeypatch.setattr("perflog.cache.cache.sqlite3.connect", partial(sqlite3.connect, factory=_Interrupted))
    file.add({b"key": b"content"})
    assert file.entries([b"key"]) == ({b"key": b"content"}, 0)


def test_what_was_not_used_for_the_longest_time_goes_first(tmp_path: Path) -> None:
    file = EntryFile(tmp_path / "cache", limit=2_000_000)
    old = {b"old%d" % n: bytes(1000) for n in range(1000)}
    file.add(old)
    with sqlite3.connect(file.path) as connection:
        connection.execute("UPDATE entry SET used = used - 30")
    connection.close()
    used = list(old)[:250]
    assert len(file.entries(used)[0]) == 250  # and is marked so
    file.add({b"new%d" % n: bytes(1000) for n in range(1000)})
    assert len(file.entries([b"new%d" % n for n in range(1000)])[0]) == 1000
    assert len(file.entries(used)[0]) == 250
    assert 250 <= len(file.entries(list(old))[0]) < 400
    assert file.path.stat().st_size <= 2_000_000
    assert LIMIT == 1 << 30


def test_the_cache_may_be_removed_between_two_extractions(place: Place) -> None:
    shutil.rmtree(place.cache)
    assert len(place.require_equal()) == 3
    assert place.require_equal() == [] and place.said == []


def test_clocks_that_are_ahead_keep_what_was_just_written() -> None:
    """The clock of these tests is ahead, so that nothing of them waits for the file system's clock."""
    import time

    assert 9_000_000_000 < later() - time.time_ns() < 11_000_000_000
