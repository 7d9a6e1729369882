"""The general reader: reads a log that no format measures, where the log itself shows what its numbers mean.

Its lines are tables (:mod:`perflog.matching.tables`) whose columns say what they are
(:mod:`perflog.inference.columns`); each reading that they allow (:mod:`perflog.inference.readings`) is tried as a
parser on the log, the best first. The first that gives a number which nothing in the log contradicts counts.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace as replace_fields

from perflog.errors import ParserError
from perflog.evidence.clock import NAME as CLOCK
from perflog.evidence.clock import outside_of
from perflog.evidence.witness import judged, sentence
from perflog.formats.catalog import Catalog
from perflog.formats.line import said_of
from perflog.formats.printed import kind, rate_unit
from perflog.formats.vocabulary import SOURCES, whole_count
from perflog.inference.candidate import LEAST_ROWS, Basis, Candidate, Sight
from perflog.inference.columns import columns_of
from perflog.inference.formats import INFERRED, with_scope, without_pauses
from perflog.inference.rows import with_names
from perflog.inference.said import bars_of
from perflog.inference.series import is_of_steps
from perflog.inference.told import told_in
from perflog.inference.training import candidates_of, epoch_candidates, said_candidates
from perflog.inference.words import NO_STEPS as COUNTS_NO_STEPS
from perflog.lazy_regex import lazy_regex
from perflog.logs.clean import clean_block, may_hold_ranks, rank_of, valid_utf8
from perflog.logs.containers import UnreadableError, blocks_of, stamped_text
from perflog.logs.find import LogFile
from perflog.matching import engine_for
from perflog.matching.checks import is_sound
from perflog.matching.tables import Table, own_words, tables_of
from perflog.measurements.window import NO_MEASUREMENT as EMPTY
from perflog.notes import Note
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.runs.build import NO_FORMAT, NO_MEASUREMENT, NO_STEPS, build_runs
from perflog.runs.doubts import PAUSED
from perflog.runs.factor import of_whom
from perflog.runs.run import FAILURES, Outcome, Run, Skipped
from perflog.settings.options import Options
from perflog.stats.arrays import middle

NOTE = "no parser declares the format"
_BASES = {"inferred": "inferred", "stated": "stated by the log, uncorroborated", "said": "said by --as"}
#: So many readings of a log are tried.
MOST_READINGS = 6
#: The printed digits may hide so much of a number of a format that nobody wrote.
MOST_ROUNDED = 0.05
#: Of a log so many bytes are looked at.
BEGINNING = 4 << 20


class Inferred(Struct, frozen=True):
    """A format that a log shows: the tables of its parser, the runs that it gives, and what it rests on."""

    tables: dict[str, Any]
    runs: list[Run]
    basis: Basis


class Finding(Struct, frozen=True):
    """What the general reader found in a log: a format with its runs, or why it gives none."""

    inferred: Inferred | None
    why: str


def tables_in(log: LogFile) -> list[Table]:
    """The tables of a log's beginning."""
    return tables_of(_without_doubles(_of_one_rank(_text_of(log)[0])))


def _text_of(log: LogFile) -> tuple[bytes, bool]:
    """(the beginning of a log, clean; whether that is all of it)."""
    parts, size = list[bytes](), 0
    with suppress(UnreadableError):
        for load in blocks_of(log):
            if size >= BEGINNING:
                return valid_utf8(b"".join(parts)), False
            parts.append(clean_block(load()))
            size += len(parts[-1])
    return valid_utf8(b"".join(parts)), True


#: A text without any of these words is no training's.
_MAY_TRAIN = lazy_regex(rb"(?i)loss|step|iter|epoch|batch|train|update|it/s|s/it|samples|tokens")
_SPACES = lazy_regex(" +")
#: How programs tell the rank that speaks, near the beginning of a line.
_RANK = lazy_regex(rb"^[^\n]{0,80}?[Rr]ank[ =:]?([0-9]+)")


def _of_one_rank(text: bytes) -> bytes:
    """A clean text without the lines of all ranks but the one that says most; line feeds are kept."""
    lines = text.split(b"\n")
    ranks: list[int | None] = []
    if may_hold_ranks(text):
        ranks = [rank_of(line) for line in lines]
    elif b"ank" in text:
        ranks = [int(found[1]) if (found := _RANK.match(line)) else None for line in lines]
    told = [rank for rank in ranks if rank is not None]
    if len(set(told)) < 2:
        return text
    most = Counter(told).most_common(1)[0][0]
    return b"\n".join(line if rank in (None, most) else b"" for line, rank in zip(lines, ranks, strict=True))


#: A line of so many letters that stands twice is printed twice: by two handlers of one logger, or by two ranks.
_LEAST_DOUBLE = 20


def _without_doubles(text: bytes) -> bytes:
    """A clean text without the lines that repeat the one before, or all of it but its head; line feeds are kept."""
    lines = text.split(b"\n")
    found = False
    for number in range(1, len(lines)):
        line, before = lines[number], lines[number - 1]
        if len(line) >= _LEAST_DOUBLE and before.endswith(line):
            lines[number], found = b"", True
    return b"\n".join(lines) if found else text


def infer(log: LogFile, catalog: Catalog, options: Options) -> Finding:
    """What a log shows of its format, and the runs that follow.

    A reading that gives no number in a large log's beginning is not tried on the rest.

    Args:
        catalog: its patterns of paths are used.
    """
    text, is_whole = _text_of(log)
    if not options.said and not _MAY_TRAIN.search(text):
        return Finding(None, "")
    text = with_names(text) if is_whole else text[: text.rfind(b"\n") + 1]  # columns of tables are named at their rows
    from_memory = replace(log, size=len(text), pipe=None, text=text)
    logs = (from_memory,) if is_whole else (from_memory, log)
    text = _without_doubles(_of_one_rank(text))
    find = _said_in if options.said else _found_in
    with np.errstate(all="ignore"):  # damaged numbers may be of any size
        return find(text, _Trial(logs, catalog, options))


def _said_in(text: bytes, trial: _Trial) -> Finding:
    """What a clean text shows under what the user says of its lines."""
    sight = Sight()
    for candidate, format_ in said_candidates(tables_of(text), said_of(trial.options.said), sight):
        read = trial.read(candidate, format_)
        if read is not None:
            return Finding(read, "")
        sight.why = sight.why or "what --as says of the lines gives no number that the log bears out"
    return Finding(None, sight.why)


def _found_in(text: bytes, trial: _Trial) -> Finding:
    """What a clean text shows, held against its log."""
    sight = Sight(told=told_in(text), why=_why_cut(text))
    if sight.why:
        return Finding(None, sight.why)
    tables = tables_of(text)
    own = partial(_unclaimed, text=text, catalog=trial.catalog)
    refused: Inferred | None = None
    able = chain(candidates_of(tables, sight, own), epoch_candidates(tables, trial.epoch_steps, sight))
    for number, (candidate, format_) in enumerate(able):
        if number == MOST_READINGS:
            break
        read = trial.read(candidate, format_)
        if read is not None and all(run.throughput.value is not None for run in read.runs):
            return Finding(read, "")
        refused = refused or (read if candidate.columns.trains or candidate.columns.measures else None)
    return Finding(refused, why(tables, sight))


#: Lines of so many endings that no shorter line has, all as long as the longest, in bytes at least, were cut there.
CUT_ENDINGS, CUT_LENGTH, CUT_LINES = 2, 30, 3
#: So many letters of a line, digits as one, are its ending.
CUT_ENDING = 8


def _why_cut(text: bytes) -> str:
    """Why a text's numbers may lack digits: its lines were all cut at one column; empty where they were not."""
    lines = text.split(b"\n")
    longest = max(map(len, lines))
    if longest < CUT_LENGTH or sum(len(line) == longest for line in lines) < CUT_LINES:
        return ""
    endings = {_ending(line) for line in lines if len(line) == longest}
    if (
        len(endings) < CUT_ENDINGS
        or len(endings - {_ending(line) for line in lines if len(line) < longest}) < CUT_ENDINGS
    ):
        return ""
    return f"lines of many kinds end at column {longest}, as lines do that were all cut there"


def _ending(line: bytes) -> str:
    """How a line ends: its last letters, digits and blanks as one."""
    return _SPACES.sub(" ", own_words(line.decode("utf-8", "replace")).replace("nan", "0"))[-CUT_ENDING:]


#: Parsers of lower priority know a shape of lines and no program: what they match is open to other readings.
_SPECIFIC = 30


def _unclaimed(tables: list[Table], text: bytes, catalog: Catalog) -> list[Table]:
    """The tables most of whose lines no program's format measures, or leaves out with reason."""
    claimed = [
        matches.line
        for matches in engine_for(catalog).match([text], at_end=True).matches
        if matches.pattern.role in ("step", "ignore", "summary") and _is_specific(catalog, matches.pattern.parser)
    ]
    lines = np.unique(np.concatenate(claimed)) + 1 if claimed else np.empty(0, dtype=np.int64)
    if not len(lines):
        return tables
    return [table for table in tables if np.isin(table.lines, lines).mean() <= 0.5]


def why(tables: list[Table], sight: Sight) -> str:
    """Why a log whose lines no format knows gives no number; empty where nothing can be said."""
    if not sight.why and sight.is_timed:
        return "what its lines tell of time gives no number that the rest of the log bears out: see 'perflog explain'"
    if not sight.why and sight.counted and any("loss" in table.text for table in tables):
        return "the log tells no time: it has losses at steps that it counts, and no stamp, duration or rate"
    return sight.why or _why_no_bar(tables) or _why_no_steps(tables)


def _why_no_steps(tables: list[Table]) -> str:
    """Why lines of a training that tell a time or a rate give no number: they count no steps, or hold an evaluation."""
    for table in tables:
        columns = columns_of(table) if len(table) >= LEAST_ROWS else None
        if columns is None or not columns.trains or columns.evaluates:
            continue
        told = next((one for one in columns.measures if one.is_named and one.kind != "elapsed"), None)
        if columns.step is None and told is not None:
            name = told.key or told.unit
            return f"{len(table)} lines tell {name!r}, and no number on them counts the steps from line to line"
        if columns.holds_evaluation and (columns.step or columns.epoch) is not None:
            return "its lines tell an evaluation's numbers too, and whether their times hold it no line says"
    return ""


OF_BARS = "no line says that one of its progress bars"
#: So many bars are named in a reason.
_MOST_BARS = 5


def _why_no_bar(tables: list[Table]) -> str:
    """Why bars with a clock give no number, the ones with most steps first; empty where there is none."""
    bars = [bar for bar in bars_of(tables) if bar.clock >= 0 and not COUNTS_NO_STEPS.search(bar.name)]
    named = dict.fromkeys(bar.name or bar.totals[0] for bar in bars)
    if not named:
        return ""
    names = ", ".join(repr(name) for name in list(named)[:_MOST_BARS])
    return f"{OF_BARS} ({names}) is the training's: if one is, say it as --as bar=NAME"


class _Trial(Struct, frozen=True):
    """A log on which readings are tried; ``logs``: its beginning, where that is at hand, and the log."""

    logs: tuple[LogFile, ...]
    catalog: Catalog
    options: Options

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
            runs = self._runs(log, alone)
            runs = list(map(_between_pauses, runs)) if candidate.by_clock else runs
            if not runs or (candidate.basis != "said" and not all(map(_stands, runs))):
                return None
            read.append(runs)
        runs = read[-1] if candidate.basis == "said" else self._marked(read, tables)
        text = f"{_BASES[candidate.basis]}: {', '.join(candidate.rests)}"
        noted = [replace(run, notes=[*run.notes, Note(f"{text}; {NOTE}")]) for run in runs]
        return Inferred(tables, [_without_odds(run, candidate) for run in noted], candidate.basis)

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
            others = self._runs(log, whole)
            if len(others) != len(runs):
                return read[-1]
            marked = list(map(_with_paused, runs, others))
            if all(one is run for one, run in zip(marked, runs, strict=True)):
                return read[-1]
        return marked

    def _alone(self, tables: dict[str, Any]) -> Catalog:
        """A catalog of the parser of these tables alone.

        Raises:
            ParserError: where they are none.
        """
        from perflog.formats.load import parser_from  # few logs come so far

        return Catalog((parser_from(tables, Path(f"{INFERRED}.toml")),), self.catalog.path_patterns)

    def _runs(self, log: LogFile, alone: Catalog) -> list[Run]:
        """What one parser reads in a log; nothing where it is none by it."""
        (reading,) = read_logs([log], alone, lambda finished: finished, self.options.as_printed)
        outcome = build_runs(reading, alone, self.options)
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


# ----------------------------------------------------------------------------------------------------
# The most frequent lines of a log, whatever they are: what a person looks at first in an unknown format.

#: A shape is shown when so many lines have it.
_LEAST = 3


def frequent_tables(log: LogFile, most: int = 5) -> list[Table]:
    """The tables of a log's beginning with most lines."""
    return [table for table in tables_in(log) if len(table) >= _LEAST][:most]


# ----------------------------------------------------------------------------------------------------
# Whether a log whose lines no parser measured may show its own format.


def inferred_outcome(reading: Reading, outcome: Outcome, catalog: Catalog, options: Options) -> Outcome:
    """The runs of a log in which no format gives a number, or why it has none.

    Lines that a format measures or leaves out with reason are not read otherwise, unless the user says what they are;
    under a convention nothing is inferred.
    """
    if options.convention or options.as_printed or reading.problem or (_is_given(outcome) and not options.said):
        return outcome
    if not options.said and _known(reading, catalog) >= LEAST_ROWS and not _knows_no_more(outcome):
        return outcome  # a format knows these lines, and why they give no number
    beginning = _beginning(reading)
    is_whole = beginning is not None and beginning.size == reading.bytes
    if reading.log.pipe is not None and not is_whole:
        return outcome  # a pipe cannot be read once more
    found = infer(beginning if is_whole and beginning else reading.log, catalog, options)
    stamped = stamped_text(reading.log, BEGINNING) if found.inferred is None else None
    if stamped is not None:
        found = infer(replace(reading.log, size=len(stamped), text=stamped), catalog, options)
    if found.inferred is None:
        if not isinstance(outcome, Skipped):
            return [_noted(run, found.why) if options.said else _with_why(run, found.why) for run in outcome]
        return replace(outcome, reason=_joined(outcome.reason, found.why, is_said=bool(options.said)))
    is_open = any(run.throughput.value is None for run in found.inferred.runs)
    if is_open and not options.said and not isinstance(outcome, Skipped):
        return outcome
    return [
        replace(
            run,
            log=reading.log,
            notes=[*(note for note in map(Note, reading.notes) if note not in run.notes), *run.notes],
        )
        for run in found.inferred.runs
    ]


def _joined(reason: str, why: str, *, is_said: bool) -> str:
    """Why a log has no number, by its formats and by the general reader."""
    if why and (is_said or reason.startswith(NO_FORMAT)):
        return why
    if not why or not reason.endswith(NO_MEASUREMENT):
        return reason
    return why if why.startswith(OF_BARS) else f"{reason}: {why}"


def _noted(run: Run, why: str) -> Run:
    """A run of a format, with why it is not read as the user says."""
    return replace(run, notes=[*run.notes, Note(f"read by its format: {why}")])


def _knows_no_more(outcome: Outcome) -> bool:
    """Whether no format says more of its lines than that they hold no measurement."""
    return not isinstance(outcome, Skipped) and all(run.throughput.reason == EMPTY for run in outcome)


def _with_why(run: Run, why: str) -> Run:
    """A run of a format that knows a summary alone, with why the log's other lines give no number."""
    if not why or run.throughput.reason != NO_STEPS:
        return run
    return replace(run, metrics={**run.metrics, "throughput": replace(run.throughput, reason=f"{NO_STEPS}: {why}")})


def _known(reading: Reading, catalog: Catalog) -> int:
    """How many lines of steps a program's format measured."""
    patterns = reading.patterns.items()
    steps = [key for key, pattern in patterns if pattern.role == "step" and _is_specific(catalog, pattern.parser)]
    return sum(reading.accounts[key].matches for key in steps)


def _is_specific(catalog: Catalog, parser: str) -> bool:
    return catalog.by_name[parser].priority >= _SPECIFIC


def _is_given(outcome: Outcome) -> bool:
    """Whether a log's outcome stands: a format gives a number, or its training failed."""
    if isinstance(outcome, Skipped):
        return outcome.failed
    return any(run.throughput.value is not None or run.parser == FAILURES for run in outcome)


def _beginning(reading: Reading) -> LogFile | None:
    """The first whole lines of a log as a log of their own, in memory; None where they are not at hand."""
    text = reading.beginning
    if len(text) < reading.bytes:
        text = text[: text.rfind(b"\n") + 1]
    return replace(reading.log, size=len(text), pipe=None, text=text) if text else None
