"""Whatever changes a log's outcome is seen: with the cache comes out what comes out without it, to the byte."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perflog.cache import program
from perflog.cache.place import has_settled, identities_of
from perflog.errors import UsageError
from perflog.extraction import extract_logs, part_of
from perflog.formats.catalog import load_catalog
from perflog.logs.find import LogFile, find_logs
from perflog.logs.stored import StoredObject
from perflog.logs.stores import Version
from perflog.parts.part import Share, packed_part
from tests.cache.support import OTHER, PRINTED, SOURCE, Place, later, logs_in
from tests.support import another_training, catalog, examples, options

FIRST = "cnn_b16_fp32_0.log"


def first_of(place: Place) -> Path:
    return place.logs / "1n1g" / FIRST


def change_a_byte(file: Path) -> None:
    """Change a number in place, under the same size, and set the time of writing back."""
    before = file.stat()
    content = file.read_bytes()
    assert content.count(PRINTED) == 1
    with file.open("r+b") as opened:
        opened.seek(content.index(PRINTED))
        opened.write(OTHER)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)


def test_a_byte_changed_under_the_same_size_and_time_is_seen(place: Place) -> None:
    before = place.without()
    change_a_byte(first_of(place))
    assert place.require_equal() == [FIRST]
    assert place.without() != before


def test_another_file_of_the_same_size_and_time_in_its_place_is_seen(place: Place) -> None:
    file, other = first_of(place), place.logs.parent / "other"
    before = file.stat()
    other.write_bytes(file.read_bytes().replace(PRINTED, OTHER))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(file)
    assert place.require_equal() == [FIRST]


def test_a_log_that_has_grown_is_read_again(place: Place) -> None:
    with first_of(place).open("ab") as log:
        log.write(b"one more line\n")
    assert place.require_equal() == [FIRST]


def test_a_log_that_is_gone_and_one_that_came(place: Place) -> None:
    first_of(place).unlink()
    another_training(SOURCE, place.logs / "1n1g" / "cnn_b16_fp32_9.log")
    assert place.require_equal() == ["cnn_b16_fp32_9.log"]


def test_a_copy_counts_once_with_the_cache_too(place: Place) -> None:
    shutil.copy(first_of(place), place.logs / "1n1g" / "cnn_b16_fp32_8.log")
    assert place.require_equal() == ["cnn_b16_fp32_8.log"]
    assert place.require_equal() == []
    assert b"the same text as" in place.with_cache()


def test_other_options_have_outcomes_of_their_own(place: Place) -> None:
    assert len(place.require_equal(options(warmup=0))) == 3
    assert place.require_equal(options(warmup=0)) == []
    assert place.require_equal() == []


def test_what_is_made_of_all_logs_is_made_anew(place: Place) -> None:
    """The centre and the baseline are no matter of one log."""
    assert place.require_equal(options(aggregate="mean", baseline={"devices": "2"})) == []


def test_another_parser_reads_all_logs_again(place: Place, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        'title = "own"\nsource = "its author"\n[[pattern]]\nname = "step"\nrole = "step"\nliteral = "own step"\n'
        'regex = "own step (?P<step>[0-9]+) took (?P<time>[0-9.]+)"\nstep_base = 1\n'
        '[[pattern.value]]\ngroup = "time"\nquantity = "step_time"\nunit = "s"\nspan = "interval"\n'
        '[[pattern.sample]]\nline = "own step 1 took 0.5"\nexpect = { step = "1", time = "0.5" }\n'
    )
    assert len(place.require_equal(parsers=load_catalog([tmp_path / "own.toml"]))) == 3


def test_a_machine_beside_or_above_logs_counts_as_it_is_now(place: Place) -> None:
    file = place.logs / "machine.json"
    file.write_text('{"cpus": 4, "gpus": ["A100, 40 GiB, 0"]}')
    assert len(place.require_equal()) == 3
    assert b"A100" in place.with_cache()
    file.write_text('{"cpus": 4, "gpus": ["V100, 40 GiB, 0"]}')
    assert len(place.require_equal()) == 3
    assert place.require_equal() == []
    assert b"A100" not in place.with_cache()


def test_a_name_that_makes_numbers_in_names_indexes_counts(place: Place) -> None:
    """gpu1.log alone is a log of one GPU; beside gpu0.log it is that of the second."""
    another_training(SOURCE, place.logs / "gpu1.log")
    place.require_equal()
    another_training(SOURCE, place.logs / "gpu0.log")
    assert set(place.require_equal()) == {"gpu0.log", "gpu1.log"}


def test_the_same_logs_under_another_name_are_other_logs(place: Place) -> None:
    """Names say what a log is of, and stand in what is said of it."""
    place.logs.rename(place.logs.with_name("8n8g"))
    place.logs = place.logs.with_name("8n8g")
    assert len(place.require_equal()) == 3


def test_another_program_reads_all_logs_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "files_hash", lambda: b"another program")
    assert len(place.require_equal()) == 3


@pytest.mark.parametrize("variable", ["PERFLOG_ENGINE", "PERFLOG_UNPACK_RATIO"])
def test_a_variable_that_changes_what_perflog_does_counts(
    place: Place, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, {"PERFLOG_ENGINE": "polars", "PERFLOG_UNPACK_RATIO": "2000"}[variable])
    assert len(place.require_equal()) == 3


def test_a_program_that_was_changed_after_it_was_loaded_keeps_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(program, "LOADED_AT", 0)
    assert len(place.require_equal()) == 3
    assert "perflog's own files were changed" in place.said[-1]


def test_a_log_that_was_just_written_is_not_kept(tmp_path: Path) -> None:
    """A second write in the same tick of the file system's clock would not be seen."""
    import time

    place = Place(tmp_path, time.time_ns)
    logs_in(place.logs)
    place.require_equal()
    assert len(place.require_equal()) == 3


def test_a_log_that_was_written_in_the_future_is_not_kept(place: Place) -> None:
    """Its writer's clock, or this one, is wrong: nothing can be said of what is older."""
    os.utime(first_of(place), ns=(later() + 10**12, later() + 10**12))
    assert place.require_equal() == [FIRST]
    assert place.require_equal() == [FIRST]


def test_a_log_that_changes_while_it_is_read_is_not_kept(place: Place) -> None:
    """What was read may be of the content before or after: its number is given, and not kept."""
    file = first_of(place)
    with file.open("ab") as log:
        log.write(b"more\n")

    def progress(_: int) -> None:
        with file.open("ab") as log:
            log.write(b"and more\n")

    extract_logs(find_logs([place.logs]), options(), catalog(), progress, cache=place.opened())
    place.with_cache()
    assert place.read == [FIRST]


def test_what_could_not_be_read_is_not_kept(place: Place) -> None:
    (place.logs / "gone.log").symlink_to("nowhere")
    (place.logs / "train.log.running").write_bytes(SOURCE.read_bytes())
    place.require_equal()
    assert sorted(place.require_equal()) == ["gone.log", "train.log.running"]


@pytest.mark.parametrize("ending", ["zip", "tar.gz"])
def test_members_of_archives_are_kept_and_read_together(place: Place, ending: str) -> None:
    archive = place.logs / f"more.{ending}"

    def pack(names: list[str]) -> None:
        texts = {name: SOURCE.read_bytes() + name.encode() for name in names}
        if ending == "zip":
            with zipfile.ZipFile(archive, "w") as packed:
                for name, text in texts.items():
                    packed.writestr(name, text)
        else:
            folder = place.logs.parent / "unpacked"
            folder.mkdir(exist_ok=True)
            with tarfile.open(archive, "w:gz") as tar:
                for name, text in texts.items():
                    (folder / name).write_bytes(text)
                    tar.add(folder / name, name)

    pack(["a.log", "b.log"])
    assert place.require_equal() == [archive.name] * 2
    assert place.require_equal() == []
    pack(["a.log", "b.log", "c.log"])
    assert place.require_equal() == [archive.name] * 3


def test_a_share_is_made_of_what_is_kept(place: Place) -> None:
    logs, share = find_logs([place.logs]), Share(1, 1)
    told = []

    def progress(size: int) -> None:
        told.append(size)

    kept = part_of(logs, share, options(), catalog(), progress, place.opened())
    assert sum(told) == 0
    assert packed_part(kept) == packed_part(part_of(logs, share, options(), catalog()))


def test_a_cache_in_a_folder_of_others_is_refused(place: Place) -> None:
    place.cache.chmod(0o777)
    with pytest.raises(UsageError, match=r"may be written to by others \(mode 777\)"):
        place.with_cache()
    place.cache.chmod(0o700)
    place.file.chmod(0o620)
    with pytest.raises(UsageError, match=r"may be written to by others \(mode 620\)"):
        place.with_cache()


def test_nobody_else_may_look_into_the_cache(place: Place) -> None:
    """It holds what logs say; the user's umask may be wide."""
    assert (place.cache.stat().st_mode & 0o777, place.file.stat().st_mode & 0o777) == (0o700, 0o600)


@settings(max_examples=examples(8))
@given(
    changes=st.lists(
        st.tuples(
            st.sampled_from(["append", "byte", "replace", "touch", "delete", "add", "nothing"]), st.integers(0, 3)
        ),
        max_size=6,
    )
)
def test_after_any_changes_the_cache_gives_what_reading_gives(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, int]]
) -> None:
    place = Place(tmp_path_factory.mktemp("any"))
    files = logs_in(place.logs, 4)
    place.with_cache()
    for kind, number in changes:
        file = files[number]
        if kind == "add" and not file.exists():
            another_training(SOURCE, file)
        elif file.exists():
            _change(file, kind)
        if number % 2:
            place.require_equal()
    place.require_equal()
    assert place.require_equal() == []


def _change(file: Path, kind: str) -> None:
    if kind == "append":
        with file.open("ab") as log:
            log.write(b"=> a line more\n")
    elif kind == "byte" and PRINTED in file.read_bytes():
        change_a_byte(file)
    elif kind == "replace":
        other = file.with_name(f"{file.name}.new")
        other.write_bytes(file.read_bytes().replace(OTHER, PRINTED))
        other.rename(file)
    elif kind == "touch":
        file.touch()
    elif kind == "delete":
        file.unlink()


@pytest.mark.parametrize(
    ("tag", "is_known"), [('"d41d8cd9"', True), ('W/"d41d8cd9"', False), ("", False)], ids=["strong", "weak", "none"]
)
def test_an_object_of_a_store_is_known_by_its_strong_tag(tag: str, is_known: bool) -> None:
    """A weak one says that two contents are as good as each other, and not that they are the same."""
    store: Any = None  # nothing is asked of it
    stored = StoredObject(store, "a.log", Version(5, tag, None))
    (identity,) = identities_of([LogFile("s3://bucket/a.log", 5, stored=stored)])
    assert (identity is not None) == is_known
    assert has_settled(identity, 0) == is_known
