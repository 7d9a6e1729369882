"""Many logs, small and large, plain and in containers: each read once, in order, whatever the threads."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path

import pytest

from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile, find_logs
from perflog.reading import schedule
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs, workers
from perflog.settings.options import Amount, Options, Window
from tests.measurements.support import RATE, column, parser, table
from tests.reading.support import BEGIN, STEPS, catalog, fact, formats, steps

SIMPLE = formats(STEPS, BEGIN, fact("batch_size"))
LARGE = "x" * 99 + "\n"


def text_of(count: int, size: int = 0) -> bytes:
    """A log of so many steps, filled up with lines that say nothing to some size."""
    lines = ["set batch_size=8\n", *steps(*range(1, count + 1)).splitlines(True)]
    filling = LARGE * (size // (100 * count)) if size else ""
    return "".join(line + filling for line in lines).encode()


def summed(reading: Reading) -> tuple[str, str, int, list[float]]:
    """A log's name, its problem, how many bytes it holds and the steps that it printed."""
    series = reading.series.get("made.step", {})
    ends = [end for rank in series.values() for segment in rank.segments for end in column(segment, "end")]
    return Path(reading.log.name).name.rpartition("!")[2], reading.problem, reading.bytes, ends


def read_all(folder: Path, formats: Catalog = SIMPLE) -> list[tuple[str, str, int, list[float]]]:
    return list(read_logs(find_logs([folder]), formats, summed))


def upto(count: int) -> list[float]:
    return [float(step) for step in range(1, count + 1)]


@pytest.fixture(params=["1", "3"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("PERFLOG_THREADS", request.param)
    yield request.param


@pytest.mark.usefixtures("threads")
def test_logs_of_all_kinds_in_their_order(tmp_path: Path) -> None:
    large = text_of(50, 5_000_000)
    (tmp_path / "1.log").write_bytes(text_of(3))
    (tmp_path / "2.log").write_bytes(large)
    (tmp_path / "3.log.gz").write_bytes(gzip.compress(text_of(4)))
    (tmp_path / "4.log.gz").write_bytes(gzip.compress(large, 1))
    (tmp_path / "5.log").symlink_to(tmp_path / "none")
    with zipfile.ZipFile(tmp_path / "6.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("a.log", text_of(2)), ("b.log", large), ("c.log", text_of(6))):
            archive.writestr(name, content)
    (tmp_path / "7.log").write_bytes(b"\x89PNG" + bytes(100))
    (tmp_path / "8.log").write_bytes(b"")
    (tmp_path / "9.log").write_bytes(b"nothing known\n")
    (tmp_path / "10.log").write_bytes(text_of(5))
    assert read_all(tmp_path) == [
        ("1.log", "", len(text_of(3)), upto(3)),
        ("2.log", "", len(large), upto(50)),
        ("3.log.gz", "", len(text_of(4)), upto(4)),
        ("4.log.gz", "", len(large), upto(50)),
        ("5.log", "a link to a file that is not there", 0, []),
        ("a.log", "", len(text_of(2)), upto(2)),
        ("b.log", "", len(large), upto(50)),
        ("c.log", "", len(text_of(6)), upto(6)),
        ("7.log", "binary file", 104, []),
        ("8.log", "empty file", 0, []),
        ("9.log", "", 14, []),
        ("10.log", "", len(text_of(5)), upto(5)),
    ]


@pytest.mark.usefixtures("threads")
def test_progress_adds_up_to_the_sizes(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(text_of(3))
    (tmp_path / "b.log").write_bytes(text_of(50, 5_000_000))
    (tmp_path / "c.log").write_bytes(text_of(4))
    logs, told = find_logs([tmp_path]), list[int]()
    assert len(list(read_logs(logs, SIMPLE, summed, progress=told.append))) == 3
    assert sum(told) == sum(log.size for log in logs)
    assert len(told) == 3  # one block of the large log


def test_large_logs_in_several_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from perflog.logs import containers

    monkeypatch.setattr(containers, "BLOCK", 1000)
    monkeypatch.setattr(schedule, "SMALL", 500)
    (tmp_path / "a.log").write_bytes(text_of(100))
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(text_of(200)))
    with tarfile.open(tmp_path / "c.tar", "w") as archive:
        info = tarfile.TarInfo("c.log")
        info.size = len(text_of(100))
        archive.addfile(info, BytesIO(text_of(100)))
    told: list[int] = []
    found = list(read_logs(find_logs([tmp_path]), SIMPLE, summed, progress=told.append))
    sizes = [len(text_of(count)) for count in (100, 200, 100)]
    assert found == [
        ("a.log", "", sizes[0], upto(100)),
        ("b.log.gz", "", sizes[1], upto(200)),
        ("c.log", "", sizes[2], upto(100)),
    ]
    assert len(told) > 5


def test_a_large_file_that_is_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from perflog.logs import containers

    monkeypatch.setattr(containers, "BLOCK", 1000)
    monkeypatch.setattr(schedule, "SMALL", 500)
    (tmp_path / "a.log").write_bytes(b"\x7fELF" + bytes(range(256)) * 30)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("b.log", b"\x7fELF" + bytes(range(256)) * 30)
        archive.writestr("c.log", text_of(3))
    assert [(name, problem, ends) for name, problem, _, ends in read_all(tmp_path)] == [
        ("a.log", "binary file", []),
        ("b.log", "binary file", []),
        ("c.log", "", upto(3)),
    ]


def notes(reading: Reading) -> tuple[str, list[str], int]:
    return reading.problem, reading.notes, len(summed(reading)[3])


@pytest.mark.parametrize("small", [schedule.SMALL, 100])
def test_a_container_that_is_cut_gives_what_is_before(
    tmp_path: Path, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "SMALL", small)
    packed = gzip.compress(text_of(2000), 1)
    (tmp_path / "a.log.gz").write_bytes(packed[: len(packed) * 3 // 4])
    ((problem, said, count),) = read_logs(find_logs([tmp_path]), SIMPLE, notes)
    assert (problem, len(said)) == ("", 1 + said[-1].startswith("line"))
    assert 500 < count < 2000
    (tmp_path / "a.log.gz").write_bytes(packed[:5])
    ((problem, said, count),) = read_logs(find_logs([tmp_path]), SIMPLE, notes)
    assert problem
    assert (said, count) == ([], 0)


def test_a_log_that_goes_away_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(text_of(3))
    (tmp_path / "c.log").write_bytes(text_of(4))
    logs = [
        LogFile(str(tmp_path / "a.log"), 10),
        LogFile(str(tmp_path / "b.log"), 10),
        LogFile(str(tmp_path / "c.log"), 10),
    ]
    assert [(problem, count) for problem, _, count in read_logs(logs, SIMPLE, notes)] == [
        ("", 3),
        ("No such file or directory", 0),
        ("", 4),
    ]
    gone = LogFile(str(tmp_path / "b.log"), 5 << 20)
    ((problem, _, count),) = read_logs([gone], SIMPLE, notes)
    assert (problem, count) == ("No such file or directory", 0)


@pytest.mark.parametrize(("most", "logs_at_most"), [(8 << 20, 2), (100, 400), (1, 1)])
def test_batches_keep_their_order(
    tmp_path: Path, most: int, logs_at_most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "BATCH", most)
    monkeypatch.setattr(schedule, "BATCH_LOGS", logs_at_most)
    for number in range(9):
        (tmp_path / f"{number}.log").write_bytes(text_of(number + 1))
    with zipfile.ZipFile(tmp_path / "9.zip", "w") as archive:
        for number in range(5):
            archive.writestr(f"{number + 10}.log", text_of(number + 20))
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("x.log", text_of(30))
    counts = [len(ends) for _, _, _, ends in read_all(tmp_path)]
    assert counts == [*range(1, 10), *range(20, 25), 30]


@pytest.mark.parametrize(("asked", "expected"), [("1", 1), ("7", 7)])
def test_the_number_of_threads(asked: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLOG_THREADS", asked)
    assert workers() == expected


@pytest.mark.parametrize("asked", ["", "0", "-3", "many"])
def test_threads_that_cannot_be_meant(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLOG_THREADS", asked)
    assert 1 <= workers() <= 4


# Small logs are folded together where they are plain, log by log where not: both ways must give the same.

GENERIC = parser({**STEPS}, fact("model"), name="generic", priority=10)
SPECIFIC = parser(
    table("epoch step ips loss", RATE, literal="line", step_per="epoch"),
    {"name": "unit", "role": "step", "literal": "unit", "regex": "unit step=(?P<step>{I}) ips=(?P<ips>{N}) (?P<unit>[a-z/]+)",
     "value": [{"group": "ips", "quantity": "rate"}]},
    {"name": "stamp", "role": "step", "literal": "stamp", "regex": "stamp step=(?P<step>{I}) (?P<timestamp>[0-9.]+)",
     "value": [{"group": "timestamp", "quantity": "timestamp", "unit": "s"}]},
    {"name": "eval", "role": "ignore", "literal": "eval", "regex": "eval .*"},
    BEGIN, fact("batch_size"), name="specific",
)  # fmt: skip
BOTH = catalog(GENERIC, SPECIFIC)
LOGS = (
    "".join(f"line epoch=1 step={n} ips={n} loss=0.5\n" for n in range(1, 9)) + "set batch_size=8\n",
    "".join(f"line epoch=1 step={n} ips={n} loss=nan\n" for n in (10, 20, 30)) + steps(1, 2) + "set model=m\n",
    "".join(f"line epoch={e} step={n} ips={n} loss=1\n" for e in (1, 2) for n in (1, 2)),
    steps(1, 2, 3) + "set model=m\nset batch_size=8\n",
    steps(1, 2, 3) + "eval row step=4 ips=9\n",
    "".join(f"unit step={n} ips=5 img/s\n" for n in (1, 2, 3)),
    "".join(f"unit step={n} ips=5 {unit}/s\n" for n, unit in ((1, "img"), (2, "seq"))) + "line of another kind\n",
    "".join(f"stamp step={n} {100 + n}\n" for n in (1, 2, 3)),
    "".join(f"[rank{r}]:line epoch=1 step={n} ips={n} loss=1\n" for n in (1, 2) for r in (0, 1)),
    "begin\n" + "".join(f"line epoch=1 step={n} ips={n} loss=1\n" for n in (1, 2)) * 2,
    "begin\n" + "".join(f"line epoch=1 step={n} ips={n} loss=1\nset batch_size={n}\n" for n in (1, 2)),
    "".join(f"line epoch=1 step={n} ips={n} loss=1\n" for n in (1, 2, 3)) + "line epoch=1 step=4 ips=4 loss=1",
    "nothing\n",
)


def everything(reading: Reading) -> tuple[object, ...]:
    series = {
        (key, rank): [(segment.store.count, [b.tolist() for b in segment.store.blocks()], segment.tally, segment.count,
                       segment.basis, segment.first_line, segment.last_line, segment.last, segment.refused)
                      for segment in part.segments]
        for key, ranks in reading.series.items() for rank, part in ranks.items()
    }  # fmt: skip
    facts = [(found.pattern.key, found.line, found.fields) for found in reading.facts]
    return (
        repr(series),
        facts,
        dict(reading.accounts),
        reading.lines,
        reading.notes,
        reading.units,
        sorted(reading.patterns),
    )


def folded(logs: Sequence[LogFile], together: bool, monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    monkeypatch.setattr(schedule, "SMALL", 4 << 20 if together else 1)
    options = Options(window=Window(Amount(1)))
    return list(read_logs(logs, BOTH, everything, options=options))


def test_folded_together_and_one_by_one_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, text in enumerate(LOGS):
        (tmp_path / f"{number}.log").write_text(text)
    logs = find_logs([tmp_path])
    together = folded(logs, True, monkeypatch)
    for number, (one, other) in enumerate(zip(together, folded(logs, False, monkeypatch), strict=True)):
        assert one == other, LOGS[number]


def test_the_window_of_plain_logs_is_taken_at_once(tmp_path: Path) -> None:
    for number in (0, 2):
        (tmp_path / f"{number}.log").write_text(LOGS[number])
    window = Window(Amount(1))

    def taken(reading: Reading) -> list[tuple[object, ...]]:
        (series,) = reading.series["specific.step"].values()
        return [segment.taken.asked if segment.taken else () for segment in series.segments]

    logs = find_logs([tmp_path])
    assert list(read_logs(logs, BOTH, taken, options=Options(window=window))) == [[(window, "total", True)], [()]]
    given = Options(window=window, convention="c")
    assert next(read_logs(logs, BOTH, taken, options=given)) == [(window, "total", False)]
    assert list(read_logs(logs, BOTH, taken)) == [[()], [()]]
