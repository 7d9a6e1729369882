"""Docker's and Kubernetes' records around a log give what the log gives by itself, bars and all.

Docker (its ``json-file`` driver) and containerd cut a line of more than 16 kB, which a bar is for as long as it is
drawn; CRI-O writes a part of a line for each write of the program. Fixtures are shorter than a training's bar, so that
smaller pieces are made of them.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from perflog.logs.streams import Stream
from perflog.logs.unwrap import unwrapped, wrapping_of
from perflog.notes import texts
from tests.support import FIXTURES, arguments, extracted

#: The piece that Docker and containerd cut, and shorter ones.
SIZES = (16 << 10, 1000, 97)
_STAMP = "2024-01-01T00:00:00.000000000Z"
_DRAWN = re.compile(rb"\r[^\r\n]")
#: Files that are not what a program printed.
_NO_OUTPUT = ("mlflow/loss", "spinningup/progress.txt")
#: Of the logs without a bar one in so many is wrapped.
_SAMPLE = 12

Wrap = Callable[[bytes, int], bytes]


def _lines(data: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+\Z", data)


def _dockers(part: bytes) -> str:
    """What Docker writes of bytes: U+FFFD for each that is of no whole character."""
    return re.sub("[\udc80-\udcff]", "\ufffd", part.decode("utf-8", "surrogateescape"))


def docker(data: bytes, size: int, stream: str = "stdout") -> bytes:
    parts = (line[at : at + size] for line in _lines(data) for at in range(0, len(line), size))
    records = ({"log": _dockers(part), "stream": stream, "time": _STAMP} for part in parts)
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def kubernetes(data: bytes, size: int, stream: str = "stdout") -> bytes:
    wrapped = []
    for line in _lines(data):
        body = line.removesuffix(b"\n")
        ends = [*range(size, len(body), size), len(body)]
        for start, end in zip([0, *ends], ends, strict=False):
            part = "P" if end < len(body) else "F"
            wrapped.append(f"{_STAMP} {stream} {part} ".encode() + body[start:end] + b"\n")
    return b"".join(wrapped)


def printed() -> Iterator[tuple[Path, bool]]:
    """(a fixture that a program printed, whether it has a bar)."""
    for file in sorted((FIXTURES / "parsers").glob("*/*")):
        if file.suffix in (".toml", ".md", ".csv", ".json", ".gz", ".zip", ".tar", ".zst"):
            continue
        data = file.read_bytes()
        if b"\0" not in data[:200] and "/".join(file.parts[-2:]) not in _NO_OUTPUT:
            yield file, _DRAWN.search(data) is not None


BARS = [file for file, has_bar in printed() if has_bar]
OTHERS = [file for file, has_bar in printed() if not has_bar][::_SAMPLE]


def said(file: Path, options: dict[str, Any]) -> object:
    """What is said of a log, but for the numbers of its lines."""
    extraction = extracted(file, **options)

    def plain(words: str) -> str:
        return re.sub(r"\b(lines?|and) [0-9,]+\b", r"\1 N", re.sub(r"/\S+", "…", words))

    runs = [
        (
            run.parser,
            {name: (metric.value, metric.unit, metric.used) for name, metric in run.metrics.items()},
            plain(run.throughput.reason or ""),
            sorted(map(plain, texts(run.notes))),
        )
        for run in extraction.runs
    ]
    return runs, [plain(log.reason) for log in extraction.skipped]


def given_with(file: Path) -> dict[str, Any]:
    side = file.with_name(file.name + ".toml")
    return arguments(tomllib.loads(side.read_text(encoding="utf-8")).get("options", [])) if side.is_file() else {}


def same(folder: Path, file: Path, wrapped: bytes) -> bool:
    """Whether a log says the same when these bytes stand in its place."""
    (folder / file.parent.name).mkdir(exist_ok=True)
    place = folder / file.parent.name / file.name
    place.write_bytes(file.read_bytes())
    bare = said(place, given_with(file))
    place.write_bytes(wrapped)
    return said(place, given_with(file)) == bare


@pytest.mark.parametrize(
    ("wrap", "size", "first", "every"),
    [
        (docker, SIZES[0], 0, 2),
        (kubernetes, SIZES[-1], 1, 2),
        *(pytest.param(w, size, 0, 1, marks=pytest.mark.long) for w in (docker, kubernetes) for size in SIZES),
    ],
)
def test_a_wrapped_log_says_what_the_bare_one_says(
    tmp_path: Path, wrap: Wrap, size: int, first: int, every: int
) -> None:
    assert len(BARS) > 30
    others = OTHERS if size == SIZES[0] else []
    different = [
        "/".join(file.parts[-2:])
        for file in [*BARS, *others][first::every]
        if not same(tmp_path, file, wrap(file.read_bytes(), size))
    ]
    assert different == []


def records(*parts: tuple[str, bytes]) -> bytes:
    """What containerd writes of the parts of two streams, those without a line feed as parts of a line."""
    ends = ((stream, part.removesuffix(b"\n"), "F" if part.endswith(b"\n") else "P") for stream, part in parts)
    return b"".join(f"{_STAMP} {stream} {end} ".encode() + part + b"\n" for stream, part, end in ends)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        # what is complete of a bar stands before the other stream's line, and the drawing that is not goes on behind it
        (
            (("stderr", b"\r 1/9\r 2/"), ("stdout", b"loss\n"), ("stderr", b"9\r 3/9\n")),
            b"\r 1/9\r\nloss\n 2/9\r 3/9\n",
        ),
        ((("stderr", b"a"), ("stdout", b"b"), ("stderr", b"c\n"), ("stdout", b"d\n")), b"\n\nac\nbd\n"),
        # the lines of the file keep their numbers, and what has no end stays without one
        ((("stdout", b"a\n"), ("stderr", b"\r 1/"), ("stderr", b"9"), ("stdout", b"b\n")), b"a\n\r\n\nb\n 1/9"),
    ],
)
def test_two_streams_are_not_glued(parts: tuple[tuple[str, bytes], ...], expected: bytes) -> None:
    given = records(*parts)
    wrapping = wrapping_of(given)
    assert wrapping is not None
    text = unwrapped(Stream(BytesIO(given).read), wrapping)
    assert b"".join(iter(lambda: text.read(7), b"")) == expected


def test_a_bar_of_more_than_a_line_may_have_is_read_whole(tmp_path: Path) -> None:
    """Its drawings are given out as they are complete: 9 MB, of which a line may have 8."""
    drawn = b"".join(
        b"\rtrain: %3d%%|%s| %d/60000 [%02d:%02d<10:00, 10.00it/s, loss=0.5] %s" % (
            step // 600, "█".encode() * 30, step, step // 600, step // 10 % 60, b"." * 1500,
        )
        for step in range(10, 60_001, 10)
    )  # fmt: skip
    assert len(drawn) > 8 << 20
    file = tmp_path / "train.log"
    outcomes = []
    for data in (drawn, docker(drawn, SIZES[0], "stderr"), kubernetes(drawn, SIZES[0], "stderr")):
        file.write_bytes(data + (b"" if data is not drawn else b"\n"))
        outcomes.append(said(file, {}))
    assert outcomes[1] == outcomes[0]
    assert outcomes[2] == outcomes[0]
    assert "left out" not in str(outcomes)


def test_tags_of_ranks_in_records_stand_before_each_drawing() -> None:
    """The engines read a tag on a line's first part alone: whether there are parts, the record's text tells."""
    drawn = b"".join(
        b"[rank%d]: " % rank + b"".join(b"%d/80 a\r" % step for step in range(rank, 80, 2)) + b"\n" for rank in (0, 1)
    )
    wrapping = wrapping_of(docker(drawn * 4, SIZES[0]))
    assert wrapping is not None and [prefix.key for prefix in wrapping.prefixes] == ["rank"]


def test_a_line_that_is_left_out_is_the_reason_of_a_log_of_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "events.json"
    file.write_bytes(b'{"events": [' + b"1, " * (3 << 20) + b"1]}\n")
    (log,) = extracted(file).skipped
    assert (
        log.reason
        == f"a line is longer than 8,388,608 bytes and left out: {file.stat().st_size - 1:,} bytes, from byte 0 of the text on"
    )
    assert log.failed
