"""What can happen to a log, by a seed: 35 mutations in ten groups, for ``tests.tools.fuzz``.

Each takes a log, another log and a source of chance, and gives the bytes of the mutated log. A mutation that *keeps*
the number changes nothing that the log measures: the number must be the log's own, or something must be said.
"""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Mutate = Callable[[random.Random, bytes, bytes], bytes]

#: How far a number may move unsaid: not at all but for the order of sums, or by what a few lost records make.
EXACT, LOSSY = 1e-6, 0.15
#: By what a digit makes that a glued line begins with, behind the last one of a number.
LAST_PLACE = 1e-5
#: How far where most records may be lost, and those left may be the slow ones.
FEWER = 0.5
#: By what the first steps of a log's second copy make, where nothing says that its bar is not another epoch's.
ANOTHER_EPOCH = 0.05


@dataclass(frozen=True, slots=True)
class Mutation:
    """One kind of damage.

    Attributes:
        weight: how often it is drawn.
        keeps: how far the number may move without a word, as a share; None where it may move by anything.
        two: whether the number may be the other log's.
        steady: whether all lines may be changed alike, so that nothing in the log tells a number that moved.
    """

    group: str
    name: str
    mutate: Mutate
    weight: int = 1
    keeps: float | None = None
    two: bool = False
    steady: bool = False


# ---------------------------------------------------------------- cut


def _cut_at_byte(rng: random.Random, log: bytes, _: bytes) -> bytes:
    return log[: rng.randrange(len(log) + 1)]


def _cut_from_byte(rng: random.Random, log: bytes, _: bytes) -> bytes:
    return log[rng.randrange(len(log) + 1) :]


def _lines_dropped(rng: random.Random, log: bytes, _: bytes) -> bytes:
    share = rng.uniform(0.02, 0.6)
    return b"".join(line for line in log.splitlines(keepends=True) if rng.random() > share)


def _range_dropped(rng: random.Random, log: bytes, _: bytes) -> bytes:
    lines = log.splitlines(keepends=True)
    low, high = sorted((rng.randrange(len(lines) + 1), rng.randrange(len(lines) + 1)))
    return b"".join(lines[:low] + lines[high:])


# ---------------------------------------------------------------- order


def _shuffled(rng: random.Random, log: bytes, _: bytes) -> bytes:
    lines = log.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines)


def _shuffled_near(rng: random.Random, log: bytes, _: bytes) -> bytes:
    far = rng.randint(2, 20)
    places = {place: place + rng.uniform(0, far) for place in range(log.count(b"\n") + 2)}
    lines = log.splitlines(keepends=True)
    return b"".join(lines[place] for place in sorted(range(len(lines)), key=lambda place: places.get(place, place)))


def _reversed(_: random.Random, log: bytes, __: bytes) -> bytes:
    return b"".join(reversed(log.splitlines(keepends=True)))


# ---------------------------------------------------------------- repeats


def _lines_doubled(rng: random.Random, log: bytes, _: bytes) -> bytes:
    share = rng.choice((0.1, 0.3, 1.0))
    return b"".join(line * (2 if rng.random() < share else 1) for line in whole_lines(log))


def _block_copied(rng: random.Random, log: bytes, _: bytes) -> bytes:
    lines = whole_lines(log)
    low = rng.randrange(len(lines))
    high = min(len(lines), low + rng.randint(1, 29))
    place = rng.randrange(high, len(lines) + 1)
    return b"".join(lines[:place] + lines[low:high] + lines[place:])


def _twice(_: random.Random, log: bytes, __: bytes) -> bytes:
    return b"".join(whole_lines(log)) * 2


# ---------------------------------------------------------------- two logs


def _joined(_: random.Random, log: bytes, other: bytes) -> bytes:
    return b"".join(whole_lines(log)) + other


def _woven(rng: random.Random, log: bytes, other: bytes) -> bytes:
    sources = [iter(whole_lines(log)), iter(whole_lines(other))]
    turns = [0] * log.count(b"\n") + [1] * other.count(b"\n")
    rng.shuffle(turns)
    woven = [line for turn in turns if (line := next(sources[turn], None)) is not None]
    return b"".join([*woven, *sources[0], *sources[1]])


# ---------------------------------------------------------------- ranks

_TAGS = (b"[1,%d]<stdout>:", b"%d: ", b"[rank%d]:", b"(Trainer pid=%d) ")


def _rank_beside(rng: random.Random, log: bytes, _: bytes) -> bytes:
    factor = rng.uniform(1.03, 3)
    return b"".join(line + scaled(line, factor) for line in whole_lines(log))


def _rank_behind(rng: random.Random, log: bytes, _: bytes) -> bytes:
    factor, lag = rng.uniform(1.03, 3), rng.randint(1, 19)
    lines = whole_lines(log)
    late = [b""] * lag + [scaled(line, factor) for line in lines]
    return b"".join(part for pair in zip([*lines, *([b""] * lag)], late, strict=True) for part in pair)


def _rank_tagged(rng: random.Random, log: bytes, _: bytes) -> bytes:
    factor, tag, first = rng.uniform(1.03, 3), rng.choice(_TAGS), rng.choice((0, 0, 1, 99999999999999999999))
    pairs = ((line, scaled(line, factor)) for line in whole_lines(log))
    return b"".join(tag % (first + rank) + line for pair in pairs for rank, line in enumerate(pair))


def _rank_glued(rng: random.Random, log: bytes, _: bytes) -> bytes:
    factor = rng.uniform(1.03, 3)
    return b"".join(line.rstrip(b"\r\n") + scaled(line, factor) for line in whole_lines(log))


# ---------------------------------------------------------------- numbers

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


# ---------------------------------------------------------------- text

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


#: Bytes and words that have misled programs that read logs.
ODD_WORDS = (
    b"\x00", b"\x1b[31m", b"\x1b[0m", b"\x1b[2K", b"\x08\x08", b"\r", b"\r\n", b"\n", b"\n\n", b"\xff", b"\xc2\xa0", b"\xe3\x80\x80",
    b"\xed\xa0\x80", b"\xf0\x9f\x9a\x80", "²".encode(), b"[1,3]<stdout>:", b"[rank2]:", b"[default0]:", b" 7: ", b"(pid=123) ",
    b"(RayTrainWorker pid=77, ip=10.0.0.1) ", b" [repeated 3x across cluster]", b"1e999", b"-0", b"nan", b"inf", b"1,234.5",
    b"0x10", b"1_000", b"9" * 400, b"\t", b"\x0b", b"\x0c", b" ", b"  ", b",", b".", b"-", b"e", b"epoch: ", b"it/s",
)  # fmt: skip


def odd_words(rng: random.Random, log: bytes, _: bytes) -> bytes:
    """One to eight of :data:`ODD_WORDS` put in anywhere: so little that most of the log is read as it was."""
    return _placed(rng, log, ODD_WORDS, 8)


# ---------------------------------------------------------------- several


def _several(rng: random.Random, log: bytes, other: bytes) -> bytes:
    for mutation in rng.choices(MUTATIONS[:-1], k=rng.randint(2, 4)):
        log = mutation.mutate(rng, log[:200_000] or b"\n", other)
    return log


def whole_lines(log: bytes) -> list[bytes]:
    """The lines of a log, each with its end, the last one too."""
    lines = log.splitlines(keepends=True) or [b"\n"]
    if not lines[-1].endswith((b"\n", b"\r")):
        lines[-1] += b"\n"
    return lines


MUTATIONS: Sequence[Mutation] = (
    Mutation("cut", "at a byte", _cut_at_byte),
    Mutation("cut", "from a byte", _cut_from_byte),
    Mutation("cut", "lines dropped", _lines_dropped, keeps=FEWER),
    Mutation("cut", "a range dropped", _range_dropped, keeps=FEWER),
    Mutation("bytes", "random bytes", random_bytes),
    Mutation("bytes", "digits replaced", digits_replaced),
    Mutation("bytes", "NUL bytes", nul_bytes, keeps=EXACT),
    Mutation("bytes", "broken UTF-8", broken_utf8, keeps=LOSSY),
    Mutation("order", "shuffled", _shuffled, keeps=LOSSY),
    Mutation("order", "shuffled near by", _shuffled_near, keeps=LOSSY),
    Mutation("order", "reversed", _reversed, keeps=LOSSY),
    Mutation("repeats", "lines doubled", _lines_doubled, keeps=EXACT),
    Mutation("repeats", "a block copied", _block_copied, keeps=LOSSY),
    Mutation("repeats", "the log twice", _twice, keeps=ANOTHER_EPOCH),
    Mutation("two logs", "joined", _joined, keeps=LOSSY, two=True),
    Mutation("two logs", "woven", _woven, keeps=LOSSY, two=True),
    Mutation("ranks", "beside", _rank_beside, keeps=EXACT),
    Mutation("ranks", "behind", _rank_behind, keeps=EXACT),
    Mutation("ranks", "tagged", _rank_tagged, keeps=LOSSY),
    Mutation("ranks", "glued", _rank_glued, keeps=LAST_PLACE),
    Mutation("numbers", "single ones", single_numbers, weight=2),
    Mutation("numbers", "a column", column_of_numbers, weight=2, steady=True),
    Mutation("text", "long lines", long_lines, keeps=LOSSY),
    Mutation("text", "other digits", other_digits, keeps=LOSSY),
    Mutation("text", "direction marks", direction_marks, keeps=LOSSY),
    Mutation("text", "\\r alone", carriage_returns, keeps=EXACT),
    Mutation("text", "other line ends", line_ends, keeps=EXACT),
    Mutation("text", "other separators", separators, keeps=LOSSY),
    Mutation("text", "another encoding", encodings, keeps=LOSSY),
    Mutation("text", "escape sequences", escapes, keeps=EXACT),
    Mutation("text", "backspaces", backspaces, keeps=LOSSY),
    Mutation("text", "other blanks", blanks, keeps=LOSSY),
    Mutation("text", "no blanks", no_blanks),
    Mutation("container", "gzip, cut, flipped", compressed, keeps=EXACT),
    Mutation("several", "two to four of these", _several, two=True),
)
