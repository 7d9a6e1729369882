"""Logs with something wrong in them: small changes of real lines, by a seed, for tests and ``tests.tools.fuzz``."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

#: Bytes and words that have misled programs that read logs.
ODD = (
    b"\x00", b"\x1b[31m", b"\x1b[0m", b"\x1b[2K", b"\x08\x08", b"\r", b"\r\n", b"\n", b"\n\n", b"\xff", b"\xc2\xa0", b"\xe3\x80\x80",
    b"\xed\xa0\x80", b"\xf0\x9f\x9a\x80", "²".encode(), b"[1,3]<stdout>:", b"[rank2]:", b"[default0]:", b" 7: ", b"(pid=123) ",
    b"(RayTrainWorker pid=77, ip=10.0.0.1) ", b" [repeated 3x across cluster]", b"1e999", b"-0", b"nan", b"inf", b"1,234.5",
    b"0x10", b"1_000", b"9" * 400, b"\t", b"\x0b", b"\x0c", b" ", b"  ", b",", b".", b"-", b"e", b"epoch: ", b"it/s",
)  # fmt: skip


def _line(rng: random.Random, lines: list[bytes]) -> int:
    return rng.randrange(len(lines))


def _insert(rng: random.Random, lines: list[bytes]) -> None:
    place = _line(rng, lines)
    at = rng.randrange(len(lines[place]) + 1)
    lines[place] = lines[place][:at] + rng.choice(ODD) + lines[place][at:]


def _remove(rng: random.Random, lines: list[bytes]) -> None:
    place = _line(rng, lines)
    at = rng.randrange(len(lines[place]) + 1)
    lines[place] = lines[place][:at] + lines[place][at + rng.randint(1, 12) :]


def _flip(rng: random.Random, lines: list[bytes]) -> None:
    place = _line(rng, lines)
    if lines[place]:
        at = rng.randrange(len(lines[place]))
        lines[place] = lines[place][:at] + bytes([rng.randrange(256)]) + lines[place][at + 1 :]


def _glue(rng: random.Random, lines: list[bytes]) -> None:
    place = _line(rng, lines)
    if place + 1 < len(lines):
        lines[place : place + 2] = [lines[place].rstrip(b"\n") + rng.choice((b"", b"\r", b" ")) + lines[place + 1]]


def _twice(rng: random.Random, lines: list[bytes]) -> None:
    place = _line(rng, lines)
    lines.insert(rng.randrange(len(lines) + 1), lines[place])


def _drop(rng: random.Random, lines: list[bytes]) -> None:
    if len(lines) > 1:
        del lines[_line(rng, lines)]


def _swap(rng: random.Random, lines: list[bytes]) -> None:
    one, other = _line(rng, lines), _line(rng, lines)
    lines[one], lines[other] = lines[other], lines[one]


def _cut(rng: random.Random, lines: list[bytes]) -> None:
    place = _line(rng, lines)
    lines[place:] = [lines[place][: rng.randrange(len(lines[place]) + 1)]]


MUTATIONS: Sequence[Callable[[random.Random, list[bytes]], None]] = (
    _insert, _insert, _insert, _remove, _flip, _glue, _twice, _drop, _swap, _cut,
)  # fmt: skip


def mutated(log: bytes, other: bytes, rng: random.Random) -> bytes:
    """A log with one to eight changes; now and then with a part of another log in it."""
    lines = log.splitlines(keepends=True) or [b"\n"]
    if rng.random() < 0.2:
        strange = other.splitlines(keepends=True) or [b"\n"]
        at, low = rng.randrange(len(lines) + 1), rng.randrange(len(strange))
        lines[at:at] = strange[low : low + rng.randint(1, 20)]
    for _ in range(rng.randint(1, 8)):
        rng.choice(MUTATIONS)(rng, lines)
        if not lines:
            lines = [b""]
    return b"".join(lines)
