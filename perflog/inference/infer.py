"""Reads a log of an unknown format, where two witnesses in it agree on what its numbers mean.

Each reading of the most frequent shapes is tried as a parser on the whole log. It counts where the evidence in the log
agrees with it and nothing contradicts it, and only if all readings that count give one number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, islice, pairwise, product
from pathlib import Path
from typing import Any

from msgspec import Struct

from perflog.errors import ParserError
from perflog.formats.catalog import Catalog
from perflog.inference.formats import tables_of
from perflog.inference.meanings import Meaning, Meanings, meanings_of
from perflog.inference.shapes import MOST_LINES, Shape, shapes_of
from perflog.logs.clean import clean_block, valid_utf8
from perflog.logs.containers import UnreadableError, blocks_of
from perflog.logs.find import LogFile
from perflog.matching.checks import is_sound
from perflog.notes import Note
from perflog.reading.schedule import read_logs
from perflog.runs.build import build_runs
from perflog.runs.run import Run, Skipped
from perflog.settings.options import Options

#: The name of a parser that nobody wrote.
INFERRED = "inferred"
NOTE = "the format is inferred from the log and declared by no parser: `perflog parsers new NAME --from LOG` writes it"
#: So many shapes of a log are tried, and so many readings of each.
MOST_SHAPES, MOST_READINGS = 3, 40
#: A witness of a format that nobody declared agrees within this much, and readings that count give one number so near.
SAME = 0.02


class Inferred(Struct, frozen=True):
    """A format that a log shows: the tables of its parser, and the runs that it gives."""

    tables: dict[str, Any]
    runs: list[Run]


def infer(log: LogFile, catalog: Catalog, options: Options, beginning: LogFile | None = None) -> Inferred | None:
    """The format of a log, None where it shows none or two witnesses of its numbers do not agree.

    Args:
        catalog: its patterns of paths are used.
        beginning: the first lines of the log as a log of their own, where they are at hand. A reading that they do not
            corroborate is not tried on the rest: a large log is not read again and again.
    """
    logs = (log,) if beginning is None or beginning is log else (beginning, log)
    for shape in shapes_of(first_lines(logs[0]))[:MOST_SHAPES]:
        meanings = meanings_of(shape)
        if meanings is None:
            continue
        trial = _Trial(shape, meanings, logs, catalog, options)
        found = trial.of_columns() or trial.of_pairs()
        if found:
            return found[-1] if _agree([reading.runs for reading in found]) else None
    return None


def shape_of(log: LogFile) -> dict[str, Any] | None:
    """The tables of a parser for the most frequent shape that may measure steps, to be corrected by a person."""
    for shape in shapes_of(first_lines(log)):
        meanings = meanings_of(shape)
        if meanings is not None:
            tables = _tables(shape, meanings, [choices[0] for choices in meanings.measures])
            if tables is not None:
                return tables
    return None


def first_lines(log: LogFile) -> Iterator[str]:
    """The first lines of a log, clean."""
    with suppress(UnreadableError):
        blocks = (valid_utf8(clean_block(load())).decode("utf-8") for load in blocks_of(log))
        yield from islice((line for block in blocks for line in block.split("\n")), MOST_LINES)


def _tables(shape: Shape, meanings: Meanings, measures: Sequence[Meaning]) -> dict[str, Any] | None:
    """A reading of a shape as the tables of a parser: some of its measures beside its step and epoch."""
    positions = [meanings.step, *([meanings.epoch] if meanings.epoch is not None else [])]
    return tables_of(shape, sorted([*positions, *measures], key=lambda meaning: meaning.place), INFERRED)


class _Trial(Struct, frozen=True):
    """The readings of one shape of a log; ``logs``: its beginning, where that is at hand, and the log."""

    shape: Shape
    meanings: Meanings
    logs: tuple[LogFile, ...]
    catalog: Catalog
    options: Options

    def of_columns(self) -> list[Inferred]:
        """Readings of one measure each that the log's clock agrees with; last, where it counts too, all of them."""
        found: list[Inferred] = []
        kept: list[Meaning] = []
        for choices in self.meanings.measures:
            read = [(meaning, reading) for meaning in choices if (reading := self.read([meaning]))]
            kept += [meaning for meaning, _ in read[:1]]
            found += [reading for _, reading in read]
        together = self.read(kept) if len(kept) > 1 else None
        return [*found, together] if together is not None else found

    def of_pairs(self) -> list[Inferred]:
        """Readings of two measures that agree with one another, as rate and time of a step do.

        Two numbers of one line say nothing of the steps between two lines, but where one of them is a clock.
        """
        is_every_step = self._is_every_step()
        choices = (product(*two) for two in combinations(self.meanings.measures, 2))
        pairs = (pair for pairs in choices for pair in pairs if is_every_step or _has_clock(pair))
        return [reading for pair in islice(pairs, MOST_READINGS) if (reading := self.read(pair))]

    def read(self, measures: Sequence[Meaning]) -> Inferred | None:
        """What a reading gives; None where it is not corroborated, or contradicted."""
        from perflog.formats.load import parser_from  # few logs come so far

        tables = _tables(self.shape, self.meanings, measures)
        if tables is None:
            return None
        try:
            parser = parser_from(tables, Path(f"{INFERRED}.toml"))
        except ParserError:
            return None
        if not is_sound(parser):
            return None
        alone = Catalog((parser,), self.catalog.path_patterns)
        runs: list[Run] = []
        for log in self.logs:
            runs = self._runs(log, alone)
            if not runs or not all(self._counts(run) for run in runs):
                return None
        return Inferred(tables, [replace(run, notes=[*run.notes, Note(NOTE)]) for run in runs])

    def _runs(self, log: LogFile, alone: Catalog) -> list[Run]:
        """What one parser reads in a log; nothing where it is none by it."""
        (reading,) = read_logs([log], alone, lambda finished: finished, self.options.as_printed)
        outcome = build_runs(reading, alone, self.options)
        if isinstance(outcome, Skipped):
            if outcome.failed:  # it was read before: the program failed
                raise RuntimeError(outcome.reason)
            return []
        return outcome

    def _counts(self, run: Run) -> bool:
        """Whether a run has a number that a witness agrees with closely and none doubts.

        Rate times time agrees where it is one whole number within the digits, which then is the batch that is known.
        """
        evidence = run.evidence
        if run.throughput.value is None or evidence is None:
            return False
        if any(witness.agreement in ("contradicts", "doubts") for witness in evidence.witnesses):
            return False
        agreeing = [witness for witness in evidence.witnesses if witness.agreement == "agrees"]
        if not {"batch_size", "global_batch_size"} & run.values.keys():
            agreeing = [witness for witness in agreeing if witness.about != "work per step"]
        return any(abs(witness.told / witness.measured - 1) <= SAME for witness in agreeing)

    def _is_every_step(self) -> bool:
        steps = self.shape.whole_numbers(self.meanings.step.place) or ()
        return all(later - earlier == 1 for earlier, later in pairwise(steps) if later > earlier)


def _has_clock(measures: Iterable[Meaning]) -> bool:
    return any(meaning.kind == "elapsed" for meaning in measures)


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
