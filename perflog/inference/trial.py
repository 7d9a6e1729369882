"""A reading of a log that is tried: read as a format, held against all that the log tells, and judged by it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace as replace_fields

from perflog.errors import ParserError
from perflog.evidence.clock import NAME as CLOCK
from perflog.evidence.clock import outside_of
from perflog.evidence.witness import judged, sentence
from perflog.formats.catalog import Catalog
from perflog.formats.printed import kind, rate_unit
from perflog.formats.vocabulary import SOURCES, whole_count
from perflog.inference.candidate import Basis, Candidate
from perflog.inference.formats import INFERRED, with_scope, without_pauses
from perflog.inference.series import is_of_steps
from perflog.logs.find import LogFile
from perflog.matching.checks import is_sound
from perflog.notes import Note
from perflog.reading.account import LogFact
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.runs.build import build_runs
from perflog.runs.doubts import PAUSED
from perflog.runs.factor import of_whom
from perflog.runs.run import Run, Skipped
from perflog.settings.options import Options
from perflog.stats.arrays import middle

NOTE = "no parser declares the format"
_BASES = {"inferred": "inferred", "stated": "stated by the log, uncorroborated", "said": "said by --as"}
#: The printed digits may hide so much of a number of a format that nobody wrote.
MOST_ROUNDED = 0.05


class Inferred(Struct, frozen=True):
    """A format that a log shows: the tables of its parser, the runs that it gives, and what it rests on.

    Attributes:
        reading: what was read by it, and ``catalog`` the formats that read it.
    """

    tables: dict[str, Any]
    runs: list[Run]
    basis: Basis
    reading: Reading
    catalog: Catalog


class Trial(Struct, frozen=True):
    """A log on which readings are tried.

    Attributes:
        logs: its beginning, where that is at hand, and the log.
        launched: what its lines say of how the program was started.
    """

    logs: tuple[LogFile, ...]
    catalog: Catalog
    options: Options
    launched: tuple[LogFact, ...] = ()

    @property
    def epoch_steps(self) -> int:
        """The steps of an epoch, where the user says them; 0 where not."""
        facts = {**self.options.config_set, **self.options.set}
        return whole_count(str(facts.get("epoch_steps", ""))) or 0

    def read(self, candidate: Candidate, tables: dict[str, Any]) -> Inferred | None:
        """What a reading gives; None where it reads nothing, or something in the log contradicts or doubts it.

        Where the training has several devices and no word says whose work its rate counts, the log must show it.
        """
        found = self._read(candidate, tables)
        if found is None or not any(map(_is_of_whom, found.runs)):
            return found
        settled = [
            read for scope in ("job", "device")
            if (read := self._read(candidate, with_scope(tables, scope))) is not None
            and all(run.evidence is not None and run.evidence.corroborated for run in read.runs)
        ]  # fmt: skip
        if len(settled) == 1:
            return settled[0]
        return replace_fields(found, runs=[_with_option(run, candidate) for run in found.runs])

    def _read(self, candidate: Candidate, tables: dict[str, Any]) -> Inferred | None:
        try:
            alone = self._alone(tables)
        except ParserError:
            return None
        if not is_sound(alone.parsers[0]):
            return None
        read: list[list[Run]] = []
        for log in self.logs:
            reading, known = self._reading(log, alone)
            runs = self._runs(reading, known)
            runs = list(map(_between_pauses, runs)) if candidate.by_clock else runs
            if not runs or (candidate.basis != "said" and not all(map(_stands, runs))):
                return None
            read.append(runs)
        runs = read[-1] if candidate.basis == "said" else self._marked(read, tables)
        text = f"{_BASES[candidate.basis]}: {', '.join(candidate.rests)}"
        noted = [replace(run, notes=[*run.notes, Note(f"{text}; {NOTE}")]) for run in runs]
        return Inferred(tables, [_without_odds(run, candidate) for run in noted], candidate.basis, reading, known)

    def _marked(self, read: list[list[Run]], tables: dict[str, Any]) -> list[Run]:
        """The runs of a log; where lines behind pauses are left out, with the number that they have with these.

        A large log whose beginning shows none is not read again.

        Args:
            read: the runs of each of the logs.
        """
        if not any(PAUSED in note.text for run in read[-1] for note in run.notes):
            return read[-1]
        whole, marked = self._alone(without_pauses(tables)), read[-1]
        for log, runs in zip(self.logs, read, strict=True):
            others = self._runs(*self._reading(log, whole))
            if len(others) != len(runs):
                return read[-1]
            marked = list(map(_with_paused, runs, others))
            if all(one is run for one, run in zip(marked, runs, strict=True)):
                return read[-1]
        return marked

    def _alone(self, tables: dict[str, Any]) -> Catalog:
        """A catalog of the parser of these tables alone, whose samples are not checked again.

        Raises:
            ParserError: where they are none.
        """
        from perflog.formats.load import parser_from  # few logs come so far

        parser = replace_fields(parser_from(tables, Path(f"{INFERRED}.toml")), own=True)
        return Catalog((parser,), self.catalog.path_patterns)

    def _reading(self, log: LogFile, alone: Catalog) -> tuple[Reading, Catalog]:
        """What one parser reads in a log, and the formats that its runs are built with."""
        (reading,) = read_logs([log], alone, lambda finished: finished, self.options.as_printed)
        reading.facts = sorted([*reading.facts, *self.launched], key=lambda fact: fact.line)
        launchers = (parser for parser in self.catalog.parsers if parser.name in self.catalog.launchers)
        return reading, Catalog((*alone.parsers, *launchers), alone.path_patterns) if self.launched else alone

    def _runs(self, reading: Reading, known: Catalog) -> list[Run]:
        """The runs of a reading; nothing where it has none."""
        outcome = build_runs(reading, known, self.options)
        if isinstance(outcome, Skipped):
            if outcome.failed:  # it was read before: the program failed
                raise RuntimeError(outcome.reason)
            return []
        return outcome


def _with_paused(run: Run, whole: Run) -> Run:
    """A run with its other number, where it is far: that of the lines behind pauses too, if they do not hold them."""
    other = whole.throughput.value
    if other is None or whole.throughput.unit != run.throughput.unit:
        return run
    said = (
        "whether the first line behind an evaluation or the like holds it no line says: with these lines it is another"
    )
    note = Note.of_number(said, value=run.throughput.value, other=other, label="with the lines behind pauses")
    return replace(run, notes=[*run.notes, note]) if note.is_mark else run


def _is_of_whom(run: Run) -> bool:
    """Whether a run has no number because no line says whose work its rate counts."""
    return run.throughput.value is None and run.throughput.reason == of_whom(run.metadata.integer("devices") or 1)


def _with_option(run: Run, candidate: Candidate) -> Run:
    """A run with the option that says whose work its rate counts, where that is why it has no number."""
    if not _is_of_whom(run):
        return run
    return _without_value(run, f"{run.throughput.reason}: {candidate.scope_to_paste()}")


def _without_value(run: Run, reason: str) -> Run:
    metric = replace(run.throughput, value=None, reason=reason)
    return replace(run, metrics={**run.metrics, "throughput": metric})


#: The first two of all sources are the user's word.
SAID_BY_USER = SOURCES[:2]
#: Two rates of one work agree within so much; a sample has so many tokens at least.
AGREES, LEAST_TOKENS = 0.1, 2.0


def _without_odds(run: Run, candidate: Candidate) -> Run:
    """A run whose steps a batch size makes a rate of work, without it where the rate on the lines is another one.

    A batch size that a path or a setting tells may count tokens, or the micro-batches of several to a step.
    """
    value, unit = run.throughput.value, run.throughput.unit
    rates = [rate for rate in candidate.columns.of_kind("rate") if rate.unit and not is_of_steps(rate)]
    if value is None or kind(unit) == "steps" or not rates or any(one.meaning in rates for one in candidate.values):
        return run
    sources = [run.metadata.sources.get(key) for key in ("global_batch_size", "batch_size", "tokens_per_step")]
    if unit.count("/") > 1 or candidate.batch is not None or any(one in sources for one in SAID_BY_USER):
        return run
    devices = run.metadata.integer("devices") or 1
    for rate in rates:
        told = rate_unit(rate.unit)
        column = float(middle(candidate.table.column(rate.place).values)) * (told[1] if told else 1.0)
        if told is not None and kind(told[0]) == kind(unit) and not told[0].startswith("frames"):
            agrees = any(abs(value / (column * part) - 1) <= AGREES for part in (1, devices))
        else:
            agrees = column >= LEAST_TOKENS * value
        if not agrees:
            reason = (
                f"the batch size makes {value:.4g} {unit} of its steps, and its lines tell {column:.4g} "
                f"{told[0] if told else rate.unit} ({rate.key or rate.unit}): whether it counts the samples of a step "
                "no line says; give --set global_batch_size=N"
            )
            return _without_value(run, reason)
    return run


def _between_pauses(run: Run) -> Run:
    """A run whose number the clock of the lines bears out between the pauses, and that is slower over all by it."""
    witnesses = run.evidence.witnesses if run.evidence is not None else ()
    slow = [one for one in witnesses if one.agreement == "doubts" and one.name == CLOCK and one.told > one.measured]
    if not slow:
        return run
    said = {sentence(one) for one in slow}
    settled = judged([outside_of(one) if one in slow else one for one in witnesses])
    notes = [note for note in run.notes if note.text not in said] + [Note(text) for text in settled.remarks]
    return replace(run, evidence=settled, notes=list(dict.fromkeys(notes)))


def _stands(run: Run) -> bool:
    """Whether nothing in the log contradicts or doubts a run's number, and its digits tell it."""
    rounding, value = run.throughput.rounding, run.throughput.value
    if rounding is not None and value and max(abs(bound / value - 1) for bound in rounding) > MOST_ROUNDED:
        return False
    witnesses = run.evidence.witnesses if run.evidence is not None else ()
    return not any(witness.agreement in ("contradicts", "doubts") for witness in witnesses)
