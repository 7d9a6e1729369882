"""The general reader: reads a log that no format measures, where the log itself shows what its numbers mean.

Its lines are tables (:mod:`perflog.matching.tables`) whose columns say what they are
(:mod:`perflog.inference.columns`); each reading that they allow (:mod:`perflog.inference.readings`) is tried as a
parser on the log, the best first. The first that gives a number which nothing in the log contradicts counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
from msgspec import Struct

from perflog.formats.catalog import Catalog
from perflog.formats.line import said_of
from perflog.inference.candidate import LEAST_ROWS, Sight
from perflog.inference.columns import columns_of
from perflog.inference.rows import with_names
from perflog.inference.said import bars_of
from perflog.inference.told import told_in
from perflog.inference.training import EPOCHS_ALONE, LEAST_EPOCHS, candidates_of, epoch_candidates, said_candidates
from perflog.inference.trial import Inferred, Trial
from perflog.inference.words import NO_STEPS as COUNTS_NO_STEPS
from perflog.lazy_regex import lazy_regex
from perflog.logs.clean import clean_block, may_hold_ranks, rank_of, valid_utf8
from perflog.logs.containers import UnreadableError, blocks_of, stamped_text
from perflog.logs.find import LogFile
from perflog.matching import engine_for
from perflog.matching.tables import Table, own_text, own_words, tables_of
from perflog.measurements.window import NO_MEASUREMENT as EMPTY
from perflog.notes import Note
from perflog.reading.account import LogFact
from perflog.reading.reading import Reading
from perflog.runs.build import NO_FORMAT, NO_MEASUREMENT, NO_STEPS
from perflog.runs.facts import FAILED_STARTS
from perflog.runs.run import FAILURES, Outcome, Run, Skipped
from perflog.runs.throughput import NO_TIME
from perflog.settings.options import Options
from perflog.stats.arrays import distinct

#: So many readings of a log are tried.
MOST_READINGS = 6
#: Of a log so many bytes are looked at.
BEGINNING = 4 << 20


class Finding(Struct, frozen=True):
    """What the general reader found in a log: a format with its runs, or why it gives none."""

    inferred: Inferred | None
    why: str


def tables_in(log: LogFile) -> list[Table]:
    """The tables of a log's beginning."""
    return tables_of(_said_once(_text_of(log)[0]))


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


def _said_once(text: bytes) -> bytes:
    """A clean text of one rank, without the lines that repeat the one before, or all of it but its head; line feeds are
    kept. Of two that differ in their heads the one with the longer head stays.
    """
    text = _of_one_rank(text)
    lines = text.split(b"\n")
    found = False
    for number in range(1, len(lines)):
        line, before = lines[number], lines[number - 1]
        if len(line) < _LEAST_DOUBLE or line[-_LEAST_DOUBLE:] != before[-_LEAST_DOUBLE:]:
            continue
        own = own_text(line)
        if before.endswith(line) or (len(own) >= _LEAST_DOUBLE and own == own_text(before)):
            lines[number if len(line) <= len(before) else number - 1], found = b"", True
    return b"\n".join(lines) if found else text


def infer(log: LogFile, catalog: Catalog, options: Options, launched: Sequence[LogFact] = ()) -> Finding:
    """What a log shows of its format, and the runs that follow.

    A reading that gives no number in a large log's beginning is not tried on the rest.

    Args:
        catalog: its patterns of paths and its launchers are used.
        launched: what the log's lines say of how the program was started.
    """
    text, is_whole = _text_of(log)
    if not options.said and not _MAY_TRAIN.search(text):
        return Finding(None, "")
    text = with_names(text) if is_whole else text[: text.rfind(b"\n") + 1]  # columns of tables are named at their rows
    from_memory = replace(log, size=len(text), pipe=None, text=text)
    logs = (from_memory,) if is_whole else (from_memory, log)
    text = _said_once(text)
    find = _said_in if options.said else _found_in
    with np.errstate(all="ignore"):  # damaged numbers may be of any size
        return find(text, Trial(logs, catalog, options, tuple(launched)))


def _said_in(text: bytes, trial: Trial) -> Finding:
    """What a clean text shows under what the user says of its lines."""
    sight = Sight()
    for candidate, format_ in said_candidates(tables_of(text), said_of(trial.options.said), sight):
        read = trial.read(candidate, format_)
        if read is not None:
            return Finding(read, "")
        sight.why = sight.why or "what --as says of the lines gives no number that the log bears out"
    return Finding(None, sight.why)


def _found_in(text: bytes, trial: Trial) -> Finding:
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


#: Lines of so many endings that no shorter line has, all as long as the longest, of so many letters, were cut there.
CUT_ENDINGS, CUT_LENGTH, CUT_LINES = 2, 30, 3
#: So many letters of a line, digits as one, are its ending.
CUT_ENDING = 8
#: A rule, or what is padded to a width, ends so, in as many letters; and so a row of a frame, as long as its rules.
_RULE = lazy_regex(r"(?:([-=#*_~.\u2500-\u257f])\1\1[+|]?|\s\s)$")
LONGEST_RULE = 4
_SIDE = lazy_regex(r"[|+\u2500-\u257f]$")


def _why_cut(text: bytes) -> str:
    """Why a text's numbers may lack digits: its lines were all cut at one column; empty where they were not."""
    whole = text.decode("utf-8", "replace").split("\n")
    drawn = {place for place, line in enumerate(whole) if _RULE.search(line[-LONGEST_RULE:])}
    widths = {len(whole[place]) for place in drawn}
    lines = [
        line for place, line in enumerate(whole)
        if place not in drawn and not (len(line) in widths and _SIDE.search(line[-1:]))
    ]  # fmt: skip
    longest = max(map(len, lines), default=0)
    if longest < CUT_LENGTH or sum(len(line) == longest for line in lines) < CUT_LINES:
        return ""
    endings = {_ending(line) for line in lines if len(line) == longest}
    if (
        len(endings) < CUT_ENDINGS
        or len(endings - {_ending(line) for line in lines if len(line) < longest}) < CUT_ENDINGS
    ):
        return ""
    return f"lines of many kinds end at column {longest}, as lines do that were all cut there"


def _ending(line: str) -> str:
    """How a line ends: its last letters, digits and blanks as one."""
    return _SPACES.sub(" ", own_words(line).replace("nan", "0"))[-CUT_ENDING:]


#: Parsers of lower priority know a shape of lines and no program: what they match is open to other readings.
_SPECIFIC = 30


def _unclaimed(tables: list[Table], text: bytes, catalog: Catalog) -> list[Table]:
    """The tables most of whose lines no program's format measures, or leaves out with reason."""
    claimed = [
        matches.line
        for matches in engine_for(catalog).match([text], at_end=True).matches
        if matches.pattern.role in ("step", "ignore", "summary") and _is_specific(catalog, matches.pattern.parser)
    ]
    lines = distinct(np.concatenate(claimed))[0] + 1 if claimed else np.empty(0, dtype=np.int64)
    if not len(lines):
        return tables
    return [table for table in tables if np.isin(table.lines, lines).mean() <= 0.5]


def why(tables: list[Table], sight: Sight) -> str:
    """Why a log whose lines no format knows gives no number; empty where nothing can be said."""
    if not sight.why and sight.is_timed:
        return "what its lines tell of time gives no number that the rest of the log bears out: see 'perflog explain'"
    if not sight.why and sight.counted and any("loss" in table.text for table in tables):
        return "the log tells no time: it has losses at steps that it counts, and no stamp, duration or rate"
    return sight.why or _why_no_bar(tables) or _why_no_steps(tables) or _why_epochs_alone(tables)


def _why_epochs_alone(tables: list[Table]) -> str:
    """Why losses of epochs, on lines that count nothing else, give no number; empty where there are none."""
    able = [(table, columns_of(table)) for table in tables if len(table) >= LEAST_EPOCHS and "loss" in table.text]
    of_epochs = [columns for _, columns in able if columns.epoch is not None and columns.step is None]
    if not of_epochs:
        return ""
    if any(columns.measures for columns in of_epochs):
        return EPOCHS_ALONE
    return "the log tells no time: it has losses of epochs, and no stamp, duration or rate"


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


# ----------------------------------------------------------------------------------------------------
# The most frequent lines of a log, whatever they are: what a person looks at first in an unknown format.

#: A shape is shown when so many lines have it.
_LEAST = 3


def frequent_tables(log: LogFile, most: int = 5) -> list[Table]:
    """The tables of a log's beginning with most lines."""
    return [table for table in tables_in(log) if len(table) >= _LEAST][:most]


# ----------------------------------------------------------------------------------------------------
# Whether a log whose lines no parser measured may show its own format.


class Judged(Struct):
    """What became of a log, and the reading and the formats that it comes of."""

    outcome: Outcome
    reading: Reading
    catalog: Catalog


def inferred_outcome(reading: Reading, outcome: Outcome, catalog: Catalog, options: Options) -> Judged:
    """The runs of a log in which no format gives a number, or why it has none.

    Lines that a format measures or leaves out with reason are not read otherwise, unless the user says what they are;
    under a convention nothing is inferred.
    """
    by_formats = Judged(outcome, reading, catalog)
    if options.convention or options.as_printed or reading.problem or (_is_given(outcome) and not options.said):
        return by_formats
    if not options.said and _known(reading, catalog) >= LEAST_ROWS and not _knows_no_more(outcome):
        return by_formats  # a format knows these lines, and why they give no number
    beginning = _beginning(reading)
    is_whole = beginning is not None and beginning.size == reading.bytes
    if reading.log.pipe is not None and not is_whole:
        return by_formats  # a pipe cannot be read once more
    launched = [
        fact for fact in reading.facts
        if fact.pattern.role == "metadata" and fact.pattern.parser in catalog.launchers - {FAILED_STARTS}
    ]  # fmt: skip
    found = infer(beginning if is_whole and beginning else reading.log, catalog, options, launched)
    stamped = stamped_text(reading.log, BEGINNING) if found.inferred is None else None
    if stamped is not None:
        again = infer(replace(reading.log, size=len(stamped), text=stamped), catalog, options, launched)
        found = found if again.inferred is None else again  # what is missing is said of the bare lines
    if found.inferred is None:
        if not isinstance(outcome, Skipped):
            runs = [_noted(run, found.why) if options.said else _with_why(run, found.why) for run in outcome]
            return Judged(runs, reading, catalog)
        reason = _joined(outcome.reason, found.why, is_said=bool(options.said))
        return Judged(replace(outcome, reason=reason), reading, catalog)
    is_open = any(run.throughput.value is None for run in found.inferred.runs)
    if is_open and not options.said and not isinstance(outcome, Skipped):
        return by_formats
    runs = [
        replace(
            run,
            log=reading.log,
            notes=[*(note for note in map(Note, reading.notes) if note not in run.notes), *run.notes],
        )
        for run in found.inferred.runs
    ]
    return Judged(runs, found.inferred.reading, found.inferred.catalog)


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
    return not isinstance(outcome, Skipped) and all(run.throughput.reason in (EMPTY, NO_TIME) for run in outcome)


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
