"""Reads a log of an unknown format, where two witnesses in it agree on what its numbers mean.

Each reading of the most frequent shapes is tried as a parser on the whole log. It counts where the evidence in the log
agrees with it and nothing contradicts it, and only if all readings that count give one number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from typing import Any

from perflog.errors import ParserError
from perflog.formats.catalog import Catalog
from perflog.formats.load import parser_from
from perflog.formats.samples import check_parser
from perflog.inference.formats import tables_of
from perflog.inference.meanings import Meaning, meanings_of
from perflog.inference.shapes import MOST_LINES, Shape, shapes_of
from perflog.logs.clean import clean_block, valid_utf8
from perflog.logs.containers import UnreadableError, blocks_of
from perflog.logs.find import LogFile
from perflog.reading.schedule import read_logs
from perflog.runs.build import build_runs
from perflog.runs.run import Run, Skipped
from perflog.settings.options import Options

#: The name of a parser that nobody wrote.
INFERRED = "inferred"
#: So many shapes of a log are tried, and so many readings of each.
MOST_SHAPES, MOST_READINGS = 3, 24
#: Readings that count give one number within this much.
SAME = 0.02


@dataclass(frozen=True, slots=True)
class Inferred:
    """A format that a log shows: the tables of its parser, and the runs that it gives."""

    tables: dict[str, Any]
    runs: list[Run]


def infer(log: LogFile, catalog: Catalog, options: Options) -> Inferred | None:
    """The format of a log, None where it shows none or two witnesses of its numbers do not agree.

    Args:
        catalog: its patterns of paths are used.
    """
    for shape in shapes_of(_lines(log))[:MOST_SHAPES]:
        found = [reading for tables in _readings(shape) if (reading := _tried(tables, log, catalog, options))]
        if found:
            return found[0] if _agree([reading.runs for reading in found]) else None
    return None


def shape_of(log: LogFile) -> dict[str, Any] | None:
    """The tables of a parser for the most frequent shape that may measure steps, to be corrected by a person."""
    for shape in shapes_of(_lines(log)):
        for tables in _readings(shape):
            return tables
    return None


def _lines(log: LogFile) -> Iterator[str]:
    """The first lines of a log, clean."""
    with suppress(UnreadableError):
        blocks = (valid_utf8(clean_block(load())).decode("utf-8") for load in blocks_of(log))
        yield from islice((line for block in blocks for line in block.split("\n")), MOST_LINES)


def _readings(shape: Shape) -> Iterator[dict[str, Any]]:
    """The tables of each reading of a shape: every choice among the meanings of its numbers, all numbers first."""
    possible = meanings_of(shape)
    if not any(meaning.kind not in ("step", "epoch") for choices in possible for meaning in choices):
        return
    for chosen in islice(product(*possible), MOST_READINGS):
        tables = tables_of(shape, _of_one_kind(chosen), INFERRED)
        if tables is not None:
            yield tables


def _of_one_kind(meanings: Sequence[Meaning]) -> list[Meaning]:
    return sorted(meanings, key=lambda meaning: meaning.place)


def _tried(tables: dict[str, Any], log: LogFile, catalog: Catalog, options: Options) -> Inferred | None:
    """What a reading gives; None where it is not corroborated, or contradicted."""
    try:
        parser = parser_from(tables, Path(f"{INFERRED}.toml"))
    except ParserError:
        return None
    if check_parser(parser):
        return None
    alone = Catalog((parser,), catalog.path_patterns)
    (reading,) = read_logs([log], alone, lambda finished: finished, options.as_printed)
    outcome = build_runs(reading, alone, options)
    if isinstance(outcome, Skipped):
        return None
    for run in outcome:
        evidence = run.evidence
        if run.throughput.value is None or evidence is None or not evidence.corroborated:
            return None
        if any(witness.agreement in ("contradicts", "doubts") for witness in evidence.witnesses):
            return None
    note = (
        "the format is inferred from the log and declared by no parser: `perflog parsers new NAME --from LOG` writes it"
    )
    return Inferred(tables, [replace(run, notes=[*run.notes, note]) for run in outcome])


def _agree(readings: Sequence[Sequence[Run]]) -> bool:
    """Whether all readings that count give the same runs with the same throughput, or time per step."""
    first = readings[0]
    for other in readings[1:]:
        if len(other) != len(first):
            return False
        for one, two in zip(first, other, strict=True):
            name = "step_time" if "step_time" in one.metrics and "step_time" in two.metrics else "throughput"
            mine, theirs = one.metrics[name], two.metrics[name]
            if mine.unit != theirs.unit or abs((mine.value or 0.0) - (theirs.value or 0.0)) > SAME * (
                mine.value or 0.0
            ):
                return False
    return True
