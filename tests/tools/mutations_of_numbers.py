"""Mutations of the numbers in a log (see :mod:`tests.tools.mutations`)."""

from __future__ import annotations

import random
import re

#: What has misled programs that read numbers.
ODD_NUMBERS: tuple[bytes, ...] = (
    b"1e308", b"1e-320", b"1e999", b"1e-999", b"nan", b"inf", b"-inf", b"-0", b"0", b"-1", b"+", b".", b"1e", b"--5",
    b"1.2.3", b"0x10", b"1_000", b"1,000", "²".encode(), "①".encode(), b"9" * 400,
)  # fmt: skip
_POWERS = (7, 8, 15, 16, 31, 32, 53, 62, 63, 64, 127, 1023)
_NUMBER = re.compile(rb"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
#: It begins where no digit stands before, so that a line of a million digits is gone through once.
_DECIMAL = re.compile(rb"(?<![0-9])[0-9]++\.[0-9]++(?!\.)")
#: Instead of a digit.
_NEAR_DIGITS = b"0123456789.-eE, "


def odd_number(rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return b"%d" % (2 ** rng.choice(_POWERS) + rng.choice((-1, 0, 1)))
    return rng.choice(ODD_NUMBERS)


def single_numbers(rng: random.Random, log: bytes, _: bytes) -> bytes:
    """One to ten numbers anywhere replaced by odd ones; now and then one of 5,000 digits."""
    places = [match.span() for match in _NUMBER.finditer(log)]
    if not places:
        return log
    parts, end = [], 0
    for low, high in sorted(set(rng.choices(places, k=rng.randint(1, 10)))):
        parts += [log[end:low], b"9" * 5000 if rng.random() < 0.03 else odd_number(rng)]
        end = high
    return b"".join([*parts, log[end:]])


def column_of_numbers(rng: random.Random, log: bytes, _: bytes) -> bytes:
    """The number at one place of all lines of one shape, or of most of them, replaced by one odd number."""
    lines = log.splitlines(keepends=True)
    wordy = [line for line in rng.choices(lines or [b""], k=8) if _NUMBER.search(line)]
    if not wordy:
        return log
    shape = _shape(wordy[0])
    column = rng.randrange(len(_NUMBER.findall(wordy[0])))
    odd, share = odd_number(rng), rng.choice((1.0, 1.0, 0.7))
    return b"".join(
        _with_number(line, column, odd) if _shape(line) == shape and rng.random() < share else line for line in lines
    )


def digits_replaced(rng: random.Random, log: bytes, _: bytes) -> bytes:
    """One to twenty digits replaced by what may stand in a number."""
    data = bytearray(log)
    digits = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    for place in rng.choices(digits, k=rng.randint(1, 20)) if digits else ():
        data[place] = rng.choice(_NEAR_DIGITS)
    return bytes(data)


def scaled(line: bytes, factor: float) -> bytes:
    """A line whose numbers with decimals are multiplied, as another rank prints it."""

    def times(match: re.Match[bytes]) -> bytes:
        decimals = len(match[0]) - match[0].index(b".") - 1
        return b"%.*f" % (decimals, float(match[0]) * factor)

    return _DECIMAL.sub(times, line)


def _shape(line: bytes) -> bytes:
    return re.sub(rb" +", b" ", _NUMBER.sub(b"0", line))


def _with_number(line: bytes, column: int, number: bytes) -> bytes:
    for place, match in enumerate(_NUMBER.finditer(line)):
        if place == column:
            return line[: match.start()] + number + line[match.end() :]
    return line
