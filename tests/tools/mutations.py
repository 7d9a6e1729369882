"""What can happen to a log, by a seed: 35 mutations in ten groups, for ``tests.tools.fuzz``.

Each takes a log, another log and a source of chance, and gives the bytes of the mutated log. A mutation that *keeps*
the number changes nothing that the log measures: the number must be the log's own, or something must be said.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.tools import mutations_of_numbers as numbers
from tests.tools import mutations_of_texts as texts

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
    return b"".join(line + numbers.scaled(line, factor) for line in whole_lines(log))


def _rank_behind(rng: random.Random, log: bytes, _: bytes) -> bytes:
    factor, lag = rng.uniform(1.03, 3), rng.randint(1, 19)
    lines = whole_lines(log)
    late = [b""] * lag + [numbers.scaled(line, factor) for line in lines]
    return b"".join(part for pair in zip([*lines, *([b""] * lag)], late, strict=True) for part in pair)


def _rank_tagged(rng: random.Random, log: bytes, _: bytes) -> bytes:
    factor, tag, first = rng.uniform(1.03, 3), rng.choice(_TAGS), rng.choice((0, 0, 1, 99999999999999999999))
    pairs = ((line, numbers.scaled(line, factor)) for line in whole_lines(log))
    return b"".join(tag % (first + rank) + line for pair in pairs for rank, line in enumerate(pair))


def _rank_glued(rng: random.Random, log: bytes, _: bytes) -> bytes:
    factor = rng.uniform(1.03, 3)
    return b"".join(line.rstrip(b"\r\n") + numbers.scaled(line, factor) for line in whole_lines(log))


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
    Mutation("bytes", "random bytes", texts.random_bytes),
    Mutation("bytes", "digits replaced", numbers.digits_replaced),
    Mutation("bytes", "NUL bytes", texts.nul_bytes, keeps=EXACT),
    Mutation("bytes", "broken UTF-8", texts.broken_utf8, keeps=LOSSY),
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
    Mutation("numbers", "single ones", numbers.single_numbers, weight=2),
    Mutation("numbers", "a column", numbers.column_of_numbers, weight=2, steady=True),
    Mutation("text", "long lines", texts.long_lines, keeps=LOSSY),
    Mutation("text", "other digits", texts.other_digits, keeps=LOSSY),
    Mutation("text", "direction marks", texts.direction_marks, keeps=LOSSY),
    Mutation("text", "\\r alone", texts.carriage_returns, keeps=EXACT),
    Mutation("text", "other line ends", texts.line_ends, keeps=EXACT),
    Mutation("text", "other separators", texts.separators, keeps=LOSSY),
    Mutation("text", "another encoding", texts.encodings, keeps=LOSSY),
    Mutation("text", "escape sequences", texts.escapes, keeps=EXACT),
    Mutation("text", "backspaces", texts.backspaces, keeps=LOSSY),
    Mutation("text", "other blanks", texts.blanks, keeps=LOSSY),
    Mutation("text", "no blanks", texts.no_blanks),
    Mutation("container", "gzip, cut, flipped", texts.compressed, keeps=EXACT),
    Mutation("several", "two to four of these", _several, two=True),
)
