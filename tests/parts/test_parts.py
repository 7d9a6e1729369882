"""Shares of logs read by several workers: together they are what one machine makes of all logs."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import zipfile
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path

import msgspec
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perflog.cache.cache import Cache
from perflog.cache.printed import ALIKE
from perflog.errors import PerflogError, UsageError
from perflog.extraction import Extraction, extract_logs, extract_paths, part_of
from perflog.logs.containers import digests
from perflog.logs.find import LogFile, find_logs
from perflog.parts.part import KEY, Share, part_from, place_of, read_part, share_of, write_part
from perflog.parts.rows import IN_ROWS, PACKED
from perflog.processes.worker import Task
from perflog.runs.run import Run, Skipped
from perflog.settings.options import Options
from perflog.show.document import json_pieces
from tests.cache.support import later
from tests.processes.support import Ready
from tests.support import ROOT, another_training, catalog, examples, options

CAMPAIGN = ROOT / "fixtures" / "campaign"
LOG = "fixtures/campaign/short/pytorch/cnn/bz16/1n1g"


def document(extraction: Extraction) -> bytes:
    return b"".join(p if isinstance(p, bytes) else p.encode() for p in json_pieces(extraction))


def made(places: Iterable[os.PathLike[str]], folder: Path, count: int, chosen: Options | None = None) -> list[Path]:
    """The parts of a place, one a share."""
    folder.mkdir(exist_ok=True)
    logs = find_logs(places)
    files = []
    for number in range(1, count + 1):
        share = Share(number, count)
        files.append(folder / f"part{number}.parquet")
        write_part(files[-1], part_of(logs, share, chosen or options(), catalog()))
    return files


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return made([CAMPAIGN], tmp_path_factory.mktemp("three"), 3)


@pytest.fixture(scope="module")
def whole() -> Extraction:
    """What one machine makes of all logs."""
    return extract_paths([CAMPAIGN], options(), catalog())


@pytest.mark.parametrize("count", [1, 5, 64])
def test_all_parts_together_are_what_one_machine_gives_to_the_byte(
    tmp_path: Path, count: int, whole: Extraction
) -> None:
    """Also where repeats of a case lie in different shares, and where a share has no log."""
    files = made([CAMPAIGN], tmp_path / "parts", count)
    assert whole.runs and any(case.throughput.n > 1 for case in whole.cases)
    assert document(extract_paths(reversed(files), options(), catalog())) == document(whole)


@pytest.mark.parametrize("place", ["campaign", "parsers/paddleclas", "parsers/hf_trainer", "parsers/mllog"])
def test_the_json_of_very_many_runs_is_the_same_too(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made of the texts of their shapes; also where a name is no UTF-8 or holds what formats mean something by."""
    monkeypatch.setattr("perflog.show.document.INDENTED_RUNS", 2)
    shutil.copytree(ROOT / "fixtures" / place, tmp_path / "logs")
    log = max((tmp_path / "logs").rglob("*.log"), default=None)
    if log is not None:
        another_training(log, tmp_path / "logs" / "100%b %s" / "1.log")
        (tmp_path / "logs" / "100%b %s" / "1.log").rename(tmp_path / "logs" / "100%b %s" / "{0}\udce9 größe.log")
    files = made([tmp_path / "logs"], tmp_path / "parts", 3)
    whole = extract_paths([tmp_path / "logs"], options(), catalog())
    assert len(whole.runs) > 2
    assert document(extract_paths(files, options(), catalog())) == document(whole)


@pytest.mark.long
@settings(max_examples=examples(15), deadline=None)
@given(
    seed=st.integers(0, 999),
    taken=st.sets(st.integers(0, 40), min_size=1, max_size=24),
    copied=st.integers(0, 3),
    count=st.integers(1, 48),
    order=st.randoms(use_true_random=False),
)
def test_any_number_of_shards_of_any_logs_gives_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, seed: int, taken: set[int], copied: int, count: int, order: random.Random
) -> None:
    """Repeats of a case and copies of a log in different shares; with a cache, empty and full; parts in any order."""
    place = tmp_path_factory.mktemp("place")
    sources = sorted(CAMPAIGN.rglob("*.log"))
    chosen = [sources[number % len(sources)] for number in taken]
    for source in chosen:
        another_training(source, place / f"job{seed}" / source.relative_to(CAMPAIGN))
    for number, source in enumerate(chosen[:copied]):
        target = place / f"copy{number}" / source.name
        target.parent.mkdir()
        shutil.copy(place / f"job{seed}" / source.relative_to(CAMPAIGN), target)
    whole = document(extract_paths([place], options(), catalog()))
    cache = Cache(tmp_path_factory.mktemp("cache"), clock=later)
    for of_parts in (None, cache, cache):
        logs, folder = find_logs([place]), tmp_path_factory.mktemp("parts")
        files = [folder / f"{number}.parquet" for number in range(1, count + 1)]
        for number, file in enumerate(files, 1):
            write_part(file, part_of(logs, Share(number, count), options(), catalog(), cache=of_parts))
        order.shuffle(files)
        assert document(extract_paths(files, options(), catalog())) == whole


def test_a_copy_in_another_share_counts_once(tmp_path: Path) -> None:
    place = tmp_path / "logs"
    (source,) = list((ROOT / LOG).glob("*_1.log"))
    for number in range(8):
        (place / f"take{number}").mkdir(parents=True)
        shutil.copy(source, place / f"take{number}" / "train.log")
    files = made([place], tmp_path / "parts", 4)
    together = extract_paths(files, options(), catalog())
    assert len(together.runs) == 1
    assert document(together) == document(extract_paths([place], options(), catalog()))


def packed_in_every_way(folder: Path) -> None:
    """A small log and one of 5 MB, each alone, compressed, in a zip archive, and cut off in its compressed form twice;
    and one that holds a line which is too long to be read, twice."""
    (source,) = (ROOT / LOG).glob("*_1.log")
    small, large = source.read_bytes(), source.read_bytes() + b"".join(b"# remark %d\n" % n for n in range(400_000))
    texts = {"small": small + b"# small\n", "large": large, "wide": small + b"#" * (9 << 20) + b"\n"}
    for name, text in texts.items():
        for take in ("one", "two"):
            (folder / name / take).mkdir(parents=True)
        (folder / name / "one" / "train.log").write_bytes(text)
        (folder / name / "two" / "train.log").write_bytes(text)
        if name != "wide":
            packed = gzip.compress(text)
            (folder / name / "two" / "packed.log.gz").write_bytes(packed)
            for take in ("one", "two"):
                (folder / name / take / "cut.log.gz").write_bytes(packed[:-9])
            with zipfile.ZipFile(folder / name / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("in/train.log", text)


def test_a_share_hashes_each_text_while_it_reads_it(tmp_path: Path) -> None:
    """The hash is that which reading the log once more gives; none where the text could not be read to its end."""
    packed_in_every_way(tmp_path / "logs")
    logs = find_logs([tmp_path / "logs"])
    runs = [run for _, run in part_of(logs, Share(1, 1), options(), catalog()).outcomes()]
    found = {run.log: run.digest for run in runs if isinstance(run, Run)}
    assert len(found) == len(runs) == 14
    assert found == digests(logs)
    assert {Path(log.path).parts[-3:-1] for log in logs if found[log] is None} == {
        ("small", "one"), ("small", "two"), ("large", "one"), ("large", "two"), ("wide", "one"), ("wide", "two"),
    }  # fmt: skip
    assert {Path(log.path).name for log in logs if found[log] is None} == {"cut.log.gz", "train.log"}
    whole = extract_paths([tmp_path / "logs"], options(), catalog())
    assert document(extract_paths(made([tmp_path / "logs"], tmp_path / "parts", 3), options(), catalog())) == document(
        whole
    )


def test_a_share_reads_no_log_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where processes of their own read some of the logs, and where a cache keeps them."""
    for number in range(60):
        another_training(next((ROOT / LOG).glob("*_1.log")), tmp_path / "logs" / f"job{number}" / "train.log")
    read_again: list[LogFile] = []
    helped: list[Ready] = []

    def digests_of(logs: Iterable[LogFile]) -> dict[LogFile, bytes | None]:
        read_again.extend(logs)
        return {}

    def processes(count: int, task: Task, logs: int, *, at_once: bool) -> Ready:
        helped.append(Ready(count, task, logs, at_once=at_once))
        return helped[-1]

    monkeypatch.setattr("perflog.extraction.digests", digests_of)
    monkeypatch.setattr("perflog.processes.pool.Processes", processes)
    monkeypatch.setattr("perflog.processes.pool.LEAST", 0)
    monkeypatch.setattr("perflog.processes.pool.workers", lambda: 2)
    monkeypatch.setattr("perflog.reading.schedule.BATCH_LOGS", 3)
    cache = Cache(tmp_path / "cache", clock=later)
    logs = find_logs([tmp_path / "logs"])
    for of_part in (None, cache, cache):
        part = part_of(logs, Share(1, 1), options(), catalog(), cache=of_part)
        assert len({run.digest for _, run in part.outcomes() if isinstance(run, Run)}) == 60
    assert read_again == []
    assert helped and all(ready.logs_read > 0 for ready in helped)


def test_a_share_hashes_what_one_machine_has_kept_without_a_hash(tmp_path: Path) -> None:
    place = tmp_path / "logs"
    for number in range(3):
        another_training(next((ROOT / LOG).glob("*_1.log")), place / f"job{number}" / "train.log")
    shutil.copytree(place / "job0", place / "copy")
    logs, cache = find_logs([place]), Cache(tmp_path / "cache", clock=later)
    whole = extract_logs(logs, options(), catalog(), cache=cache)
    write_part(tmp_path / "1.parquet", part_of(logs, Share(1, 1), options(), catalog(), cache=cache))
    merged = extract_paths([tmp_path / "1.parquet"], options(), catalog())
    assert document(merged) == document(whole) and len(merged.runs) == 3


def test_parts_are_made_with_the_options_that_count_and_cases_with_those_of_the_command(tmp_path: Path) -> None:
    chosen = replace(options(warmup="10"), aggregate="mean")
    files = made([CAMPAIGN / "short"], tmp_path / "parts", 2, chosen)
    whole = extract_paths([CAMPAIGN / "short"], chosen, catalog())
    assert document(extract_paths(files, replace(options(), aggregate="mean"), catalog())) == document(whole)
    assert document(extract_paths(files, chosen, catalog())) == document(whole)
    with pytest.raises(UsageError, match=r"other options than this command's \(window\)"):
        extract_paths(files, options(warmup="11"), catalog())


def test_a_missing_part_is_an_error_that_names_it(three: list[Path]) -> None:
    with pytest.raises(UsageError, match="of 3 parts these are missing: 1/3, 3/3"):
        extract_paths(three[1:2], options(), catalog())


def test_a_part_that_is_there_twice_is_an_error_that_names_both(three: list[Path], tmp_path: Path) -> None:
    again = shutil.copy(three[1], tmp_path / "again.parquet")
    with pytest.raises(UsageError, match=r"again\.parquet and .*part2\.parquet are the same share, 2/3|part2.*again"):
        extract_paths([*three, again], options(), catalog())


@pytest.mark.parametrize(
    ("count", "chosen", "why"),
    [
        (3, {"warmup": "1"}, r"different options \(window\)"),
        (4, {}, "the one is a share of 4, the other of 3|the one is a share of 3, the other of 4"),
    ],
)
def test_a_part_of_another_whole_is_an_error(
    three: list[Path], tmp_path: Path, count: int, chosen: dict[str, str], why: str
) -> None:
    other = made([CAMPAIGN], tmp_path / "other", count, options(**chosen))
    with pytest.raises(UsageError, match=why):
        extract_paths([three[0], other[1], three[2]], options(), catalog())


def test_logs_that_changed_between_two_workers_are_an_error(tmp_path: Path) -> None:
    place = tmp_path / "logs"
    shutil.copytree(ROOT / LOG, place)
    first = made([place], tmp_path / "first", 2)
    with next(place.glob("*.log")).open("a", encoding="utf-8") as log:
        log.write("one more line\n")
    second = made([place], tmp_path / "second", 2)
    with pytest.raises(UsageError, match="of different logs, or the logs changed between them"):
        extract_paths([first[0], second[1]], options(), catalog())


@pytest.mark.parametrize("keep", [4, 100, -1])
def test_a_part_that_was_cut_off_is_an_error(three: list[Path], tmp_path: Path, keep: int) -> None:
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(three[1].read_bytes()[:keep])
    with pytest.raises(PerflogError, match=r"cut\.parquet: expected a part .*cut off"):
        extract_paths([three[0], cut, three[2]], options(), catalog())


@pytest.mark.long
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=60, deadline=None)
def test_a_damaged_part_is_an_error_or_the_same(three: list[Path], place: float, bit: int) -> None:
    """No changed bit of a part changes a number without a word."""
    whole = document(extract_paths(three, options(), catalog()))
    content = bytearray(three[1].read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    damaged = three[1].with_name("damaged.parquet")
    damaged.write_bytes(content)
    try:
        together = document(extract_paths([three[0], damaged, three[2]], options(), catalog()))
    except PerflogError as error:
        assert "damaged.parquet" in str(error)
    else:
        assert together == whole
    finally:
        damaged.unlink()


def test_a_part_of_a_later_perflog_is_an_error_that_says_so(three: list[Path], tmp_path: Path) -> None:
    head = msgspec.json.decode(pl.read_parquet_metadata(three[0])[KEY])
    later = tmp_path / "later.parquet"
    metadata = {KEY: msgspec.json.encode(head | {"schema": "perflog/part/4", "perflog": "99.0"}).decode()}
    pl.read_parquet(three[0]).write_parquet(later, metadata=metadata)
    with pytest.raises(PerflogError, match=r"later\.parquet: .*perflog/part/4, which perflog 99\.0 wrote"):
        extract_paths([later, *three[1:]], options(), catalog())


def test_a_part_of_an_earlier_form_is_an_error_that_says_so(three: list[Path], tmp_path: Path) -> None:
    head = msgspec.json.decode(pl.read_parquet_metadata(three[0])[KEY])
    earlier = tmp_path / "earlier.parquet"
    rows = pl.DataFrame({"position": [0], "log": [b""], "outcome": [b""]})
    rows.write_parquet(earlier, metadata={KEY: msgspec.json.encode(head | {"schema": "perflog/part/2"}).decode()})
    with pytest.raises(PerflogError, match=r"earlier\.parquet: expected .*perflog/part/3, found perflog/part/2"):
        extract_paths([earlier, *three[1:]], options(), catalog())


def test_parts_and_logs_are_not_read_together(three: list[Path]) -> None:
    with pytest.raises(UsageError, match="name the parts of one place alone, or logs alone"):
        extract_paths([*three, CAMPAIGN], options(), catalog())


def test_a_table_of_cases_in_parquet_is_no_part(tmp_path: Path) -> None:
    pl.DataFrame({"case": [1]}).write_parquet(tmp_path / "cases.parquet")
    shutil.copytree(ROOT / LOG, tmp_path / "logs")
    extraction = extract_paths([tmp_path], options(), catalog())
    assert extraction.runs
    assert [skipped.log.name for skipped in extraction.skipped] == [str(tmp_path / "cases.parquet")]


@given(st.lists(st.text(min_size=1), unique=True), st.integers(1, 20))
def test_each_log_is_in_one_share(names: list[str], count: int) -> None:
    logs = [LogFile(name, 1) for name in names]
    shares = [Share(number, count).of(logs) for number in range(1, count + 1)]
    assert sorted(log.path for share in shares for log in share) == sorted(names)


def test_members_of_an_archive_stay_together() -> None:
    logs = [LogFile("runs.zip", 1, member=f"{number}.log") for number in range(50)]
    assert sorted(len(Share(number, 5).of(logs)) for number in range(1, 6)) == [0, 0, 0, 0, 50]


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3", "1/3/5", "", "²/3"])
def test_a_share_that_does_not_exist_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="such as 3/10"):
        share_of(text)


def test_a_share_as_users_write_it() -> None:
    assert share_of("3/10") == Share(3, 10)


def test_nothing_of_a_run_is_lost() -> None:
    """A field that a run gets later must be kept too."""
    assert {*ALIKE, "machine", "log"} == {field.name for field in fields(Run)}
    assert {field.name for field in fields(Run)} == IN_ROWS | PACKED


def test_every_field_of_a_run_comes_back(three: list[Path], whole: Extraction) -> None:
    """Also of one whose notes, label and metadata were changed afterwards, packed or not."""
    read = {run.log: run for run in whole.runs}
    kept = [run for file in three for _, run in read_part(file).outcomes() if isinstance(run, Run)]
    assert len(kept) > 20 and any(run.evidence for run in kept)
    changed = 0
    for run in kept:
        for one in (run.changed(notes=[]), replace(run, notes=[]), run.changed(notes=[], digest=None)):
            same = replace(read[run.log], notes=[], label=one.label, metadata=one.metadata)
            assert {field.name: getattr(one, field.name) for field in fields(Run) if field.name != "digest"} == {
                field.name: getattr(same, field.name) for field in fields(Run) if field.name != "digest"
            }
            assert (one.value, one.throughput) == (same.value, same.throughput)
            changed += 1
        assert run.digest is not None
    assert changed == 3 * len(kept)


def test_names_that_are_no_text_come_back(tmp_path: Path) -> None:
    log = LogFile("r\udcff\udc80n.log", 7, member="a\udce9", given="/x\udcfe")
    skipped = Skipped(log, "no text \udcff", failed=True)
    part = part_from(place_of([log], options(), catalog()), Share(1, 1), [(0, log, skipped)])
    write_part(tmp_path / "1.parquet", part)
    ((_, outcome),) = read_part(tmp_path / "1.parquet").outcomes()
    back = outcome.log
    assert (back.path, back.member, back.given, back.size) == (log.path, log.member, log.given, 7)
    assert outcome == Skipped(back, "no text \udcff", failed=True)
    assert back.pipe is not None and back.pipe.taken  # nobody looks for it on this machine
