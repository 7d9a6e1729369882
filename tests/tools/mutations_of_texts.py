"""Mutations of bytes, lines and encodings that leave a log's words as they are (see :mod:`tests.tools.mutations`)."""

from __future__ import annotations

import gzip
import random
from collections.abc import Sequence

_BROKEN = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xf4\x90\x80\x80", b"\xe2\x82")
_DIGITS = (0x0660, 0x06F0, 0xFF10)  # Arabic, Persian, full-width
_DIRECTIONS = ("\u200e", "\u200f", "\u202a", "\u202e", "\u202c", "\u2066", "\u2069")
_ESCAPES = (
    b"\x1b[31m", b"\x1b[0m", b"\x1b[1;32m", b"\x1b[2K", b"\x1b[K", b"\x1b]0;title\x07", b"\x1b]8;;http://x\x1b\\",
    b"\x1b[38;5;196m", b"\x1b[?25l",
)  # fmt: skip
_SEPARATORS = ("\u2028", "\u2029", "\x0b", "\x0c", "\x85")


def _placed(rng: random.Random, log: bytes, parts: Sequence[bytes], most: int) -> bytes:
    """The log with up to ``most`` parts put in at random places."""
    places = sorted(rng.randrange(len(log) + 1) for _ in range(rng.randint(1, most)))
    pieces, end = [], 0
    for place in places:
        pieces += [log[end:place], rng.choice(parts)]
        end = place
    return b"".join([*pieces, log[end:]])


def random_bytes(rng: random.Random, log: bytes, _: bytes) -> bytes:
    data = bytearray(log)
    for _place in range(rng.randint(1, 500)) if data else ():
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def nul_bytes(rng: random.Random, log: bytes, _: bytes) -> bytes:
    return _placed(rng, log, (b"\x00", b"\x00\x00\x00"), 100)


def broken_utf8(rng: random.Random, log: bytes, _: bytes) -> bytes:
    return _placed(rng, log, _BROKEN, rng.choice((3, 30, 300)))


def long_lines(rng: random.Random, log: bytes, _: bytes) -> bytes:
    """Up to three lines between the others, most of up to 100 kB, a tenth of them of up to 1 MB."""
    lines = log.splitlines(keepends=True) or [b"\n"]
    for _line in range(rng.randint(1, 3)):
        piece = rng.choice((b"x", b"0", b" ", b"loss 1.2 ", b"=", rng.choice(lines).strip()[:40] or b"-"))
        size = int(10 ** (rng.uniform(5, 6) if rng.random() < 0.1 else rng.uniform(3, 5)))
        lines.insert(rng.randrange(len(lines) + 1), (piece * (size // len(piece) + 1))[:size] + b"\n")
    return b"".join(lines)


def other_digits(rng: random.Random, log: bytes, _: bytes) -> bytes:
    """Digits of another script, in all lines or in a fifth of them."""
    zero, share = rng.choice(_DIGITS), rng.choice((1.0, 0.2))
    table = {48 + digit: zero + digit for digit in range(10)}
    lines = log.decode("utf-8", "surrogateescape").split("\n")
    changed = "\n".join(line.translate(table) if rng.random() < share else line for line in lines)
    return changed.encode("utf-8", "surrogateescape")


def direction_marks(rng: random.Random, log: bytes, _: bytes) -> bytes:
    return _placed(rng, log, [mark.encode() for mark in _DIRECTIONS], rng.choice((3, 30, 300)))


def carriage_returns(_: random.Random, log: bytes, __: bytes) -> bytes:
    """Carriage returns alone; a log that has some already, which mean another thing, stays as it is."""
    if b"\r" in log.replace(b"\r\n", b"\n"):
        return log
    return log.replace(b"\r\n", b"\n").replace(b"\n", b"\r")


def line_ends(rng: random.Random, log: bytes, _: bytes) -> bytes:
    return log.replace(b"\r\n", b"\n").replace(b"\n", rng.choice((b"\r\n", b"\n\r", b"\r\r\n", b"\n\n")))


def separators(rng: random.Random, log: bytes, _: bytes) -> bytes:
    """Characters that end lines for some programs, in place of blanks or put in anywhere."""
    if rng.random() < 0.5:
        return _placed(rng, log, [mark.encode() for mark in _SEPARATORS], 100)
    share, mark = rng.choice((0.01, 0.1)), rng.choice(_SEPARATORS).encode()
    first, *parts = log.split(b" ")
    return first + b"".join((mark if rng.random() < share else b" ") + part for part in parts)


def encodings(rng: random.Random, log: bytes, _: bytes) -> bytes:
    """Another encoding for all of it, or from a byte on."""
    name = rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "latin-1"))
    start = rng.choice((0, 0, rng.randrange(len(log) + 1)))
    changed = log[start:].decode("utf-8", "replace")
    return log[:start] + ("\ndurée\n" + changed).encode(name, "replace")


def escapes(rng: random.Random, log: bytes, _: bytes) -> bytes:
    """Colours and titles: whole ones at random places, or around each line."""
    if rng.random() < 0.5:
        return _placed(rng, log, _ESCAPES, 100)
    colour = rng.choice(_ESCAPES)
    return b"".join(colour + line for line in log.splitlines(keepends=True))


def backspaces(rng: random.Random, log: bytes, _: bytes) -> bytes:
    return _placed(rng, log, (b"\x08", b"\x08\x08\x08", b"\x08" * 40), 30)


def blanks(rng: random.Random, log: bytes, _: bytes) -> bytes:
    return log.replace(b" ", rng.choice((b"\t", "\u00a0".encode(), b"  ", " \u3000".encode())))


def no_blanks(_: random.Random, log: bytes, __: bytes) -> bytes:
    return log.replace(b" ", b"")


def compressed(rng: random.Random, log: bytes, _: bytes) -> bytes:
    """Whole, cut, or with one to ten bytes changed."""
    data = bytearray(gzip.compress(log, 1, mtime=0))
    kind = rng.randrange(3)
    if kind == 1:
        del data[rng.randrange(len(data)) :]
    elif kind == 2:
        for _place in range(rng.randint(1, 10)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)
