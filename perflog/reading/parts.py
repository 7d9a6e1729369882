"""A large log in blocks: each is matched by itself, and folded in its turn."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from perflog.formats.catalog import Catalog
from perflog.logs.binary import ONLY_BLANKS, why_no_text
from perflog.logs.containers import Load, UnreadableError
from perflog.matching import Batch, Engine
from perflog.reading.reading import Reading

#: So much of the beginning of a log that no parser measures is kept, to infer its format from.
_BEGINNING = 4 << 20


class Part(Struct, frozen=True):
    """A block that is yet to be read, whether it is its log's first or last, and whether its text is hashed."""

    load: Load
    first: bool
    last: bool
    hashed: bool


class Block(Struct, frozen=True):
    """A block of a large log: its size, why it is no text, its matches, and of the first block the first bytes.

    ``text``: the bytes that are to be hashed, in the order of blocks.
    """

    size: int
    problem: str
    batch: Batch | None
    beginning: bytes = b""
    text: bytes = b""


def parts_of(loads: Iterator[Load], reading: Reading) -> Iterator[Part]:
    """A log's blocks, up to its end or to where its container is broken, which is noted."""
    load = _next(loads, reading)
    first = True
    while load is not None:
        following = _next(loads, reading)
        yield Part(load, first, following is None, reading.hashed is not None)
        load, first = following, False


def _next(loads: Iterator[Load], reading: Reading) -> Load | None:
    try:
        return next(loads, None)
    except UnreadableError as error:
        reading.end_early(error)
    return None


def fold_block(reading: Reading, block: Block) -> bool:
    """Fold a block in; False when the log is no text."""
    reading.bytes += block.size
    if block.batch is None:
        reading.problem = block.problem
        return False
    reading.beginning = reading.beginning or block.beginning
    reading.hash_text(block.text)
    reading.add(*block.batch.of_text(0))
    return True


def end(reading: Reading, catalog: Catalog) -> None:
    """Settle a log of which all blocks are folded in; one of no bytes, or of which nothing is left, has a problem."""
    reading.settle(catalog)
    if reading.measures:
        reading.beginning = b""
    if reading.problem == ONLY_BLANKS or (not reading.bytes and not reading.problem):
        if reading.notes:  # what was left out, or lost, was all that it held
            reading.give_up(reading.notes.pop())
        else:
            reading.problem = reading.problem or "empty file"


def match_block(engine: Engine, part: Part) -> Block:
    """Read a block and find its matches."""
    data = part.load()
    problem = why_no_text(data) if part.first else ""
    beginning = data[:_BEGINNING] if part.first else b""
    batch = None if problem else engine.match([data], at_end=part.last)
    return Block(len(data), problem, batch, beginning, data if part.hashed else b"")
