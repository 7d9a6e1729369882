"""Runs from the reading of one log.

What cannot be one run, or has no number that can be trusted, becomes a run without a value and with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from msgspec import structs

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.matching.checks import refuse_unsound
from perflog.measurements.segment import Segment
from perflog.measurements.series import RankSeries
from perflog.notes import Note
from perflog.reading.account import LogFact
from perflog.reading.reading import Reading
from perflog.runs.corroborate import Evidence, Question
from perflog.runs.corroborate_many import evidence_of_all
from perflog.runs.doubts import notes_of_headings, notes_of_segment, notes_of_unread, refusal, why_cut
from perflog.runs.factor import contradiction, notes_of_path
from perflog.runs.facts import Identities
from perflog.runs.machine import Machines, note_of_devices, store_of
from perflog.runs.metadata import Metadata, Stem
from perflog.runs.metrics import Peaks, further_metrics, possible
from perflog.runs.products import Extent
from perflog.runs.programs import Program, of_several, programs_of, woven_shapes
from perflog.runs.reported import held, summary_metrics
from perflog.runs.run import FAILURES, Metric, Outcome, Run, Skipped, clock_of
from perflog.runs.sight import throttling_note
from perflog.runs.throughput import (
    Speed,
    corroborated,
    main_rank,
    primary_pattern,
    question_of,
    ranks_that_count,
    speed_of,
)
from perflog.settings.options import Amount, Options, Window
from perflog.spelling import some_of

#: How the reason begins of a log in which no format knows a line.
NO_FORMAT, NO_MEASUREMENT = "no line of a known format", "but no measurement among them"
#: Why a log gives none whose lines that are read are summaries alone.
NO_STEPS = "no measurement of steps in the log"

# ----------------------------------------------------------------------------------------------------
# A run before its number is held against its log: everything that is made log by log.


class Draft(NamedTuple):
    """A run before its number is held against its log.

    Attributes:
        ranks: the measurements of all ranks; ``place``: which of the segments of each is the run's.
        span: the first and the last line of the run.
        programs: how many programs speak in the log.
        label: what no pattern understood of the path.
        summaries: the program's own metrics but its rate, which is ``reported``.
        notes: what is to be said of summaries and ranks.
        question: what is to be asked of the log about the speed; None where nothing is.
    """

    reading: Reading
    pattern: Pattern
    ranks: Mapping[int, RankSeries]
    place: int
    span: tuple[int, int]
    programs: int
    metadata: Metadata
    label: str
    summaries: dict[str, Metric]
    reported: Metric | None
    speed: Speed
    notes: list[Note]
    question: Question | None

    @property
    def segments(self) -> list[Segment]:
        """The segments of the rank that speaks for all."""
        return self.ranks[main_rank(self.ranks)].segments

    @property
    def segment(self) -> Segment:
        return self.segments[self.place]


def build_runs(reading: Reading, catalog: Catalog, options: Options) -> Outcome:
    """The runs of one log, or why it has none."""
    return RunBuilder(catalog, options).build(reading)


class RunBuilder:
    """Builds the runs of many logs under one catalogue and one set of options."""

    def __init__(self, catalog: Catalog, options: Options, indexed: frozenset[Stem] = frozenset()) -> None:
        """``indexed``: the names of logs whose number is a device's."""
        self._catalog = catalog
        self._options = options
        self._machines = Machines()
        self._identities = Identities(catalog, options, self._machines, indexed)
        self._window = str(options.window)
        self._peaks = Peaks()
        self._excluded: dict[tuple[tuple[str, int], ...], dict[str, int]] = {}

    def build(self, reading: Reading) -> Outcome:
        """The runs of one log, or why it has none.

        Raises:
            ParserError: when a parser that matched does not read its own samples as it promises.
        """
        return self.build_all([reading])[0]

    def build_all(self, readings: Sequence[Reading]) -> list[Outcome]:
        """The runs of each log, or why it has none: what :meth:`build` gives, sooner for many logs together.

        Raises:
            ParserError: when a parser that matched does not read its own samples as it promises.
        """
        begun = [[] if reading.problem else self._begun(reading) for reading in readings]
        drafts = [draft for of_log in begun for draft in of_log if isinstance(draft, Draft)]
        asked = [draft.question for draft in drafts if draft.question is not None]
        answers = iter(evidence_of_all(asked))
        evidence = {id(draft): next(answers) for draft in drafts if draft.question is not None}
        return [
            self._outcome(reading, [
                self._run_of_draft(run, evidence.get(id(run))) if isinstance(run, Draft) else run for run in of_log
            ])
            for reading, of_log in zip(readings, begun, strict=True)
        ]  # fmt: skip

    def _outcome(self, reading: Reading, runs: list[Run]) -> Outcome:
        """A log's runs, or why it has none; a training that failed has no number."""
        if reading.problem:
            return Skipped(reading.log, reading.problem, reading.failed)
        failure = next((fact for fact in reading.facts if fact.pattern.parser == FAILURES), None)
        if failure is not None:
            return [_failed(run, failure) for run in runs] or [self._run_of_failure(reading, failure)]
        return runs or Skipped(reading.log, "; ".join([why_no_run(reading), *reading.notes]))

    def _begun(self, reading: Reading) -> list[Draft | Run]:
        """A log's runs, those that measured steps as drafts."""
        primary = primary_pattern(reading, self._catalog)
        summaries = [fact for fact in reading.facts if fact.pattern.role in ("summary", "event")]
        if primary is None and not summaries:
            return []
        for parser in reading.counts.parsers_that_matched():
            refuse_unsound(self._catalog, parser)
        if primary is None:
            return [self._run_of_summaries(reading, summaries)]
        programs = programs_of(reading, self._catalog, primary)
        return [draft for program in programs for draft in self._drafts_of(reading, program, len(programs))]

    def _drafts_of(self, reading: Reading, program: Program, programs: int) -> Iterator[Draft]:
        """The runs of one of a log's programs."""
        ranks = reading.series[program.pattern.key]
        segments = ranks[main_rank(ranks)].segments
        low, begin = program.span[0], program.begin
        for index, segment in enumerate(segments):
            last = index + 1 == len(segments)
            high = program.span[1] if last else min(program.span[1], _end_before(reading, segment, segments[index + 1]))
            end = program.end if last else segment.last_line
            first, last_step = segment.first_line, segment.last_line
            shapes = woven_shapes(reading, program.pattern, (first, last_step))
            extent = Extent(begin, end, first, last_step, program.begin, shapes)
            yield self._draft(reading, program.pattern, ranks, index, (low, high), extent, programs)
            low, begin = high + 1, segment.last_line + 1

    def _draft(
        self, reading: Reading, pattern: Pattern, ranks: Mapping[int, RankSeries], index: int, span: tuple[int, int],
        extent: Extent, programs: int,
    ) -> Draft:  # fmt: skip
        metadata, label = self._identities.of_run(reading, pattern.parser, extent)
        own, notes = summary_metrics(reading, metadata, span)
        of_ranks = ranks_that_count(ranks, index, metadata)
        speed = speed_of(reading, self._options, pattern, of_ranks[0], of_ranks[1])
        summaries, doubts = self._held(reading, pattern, of_ranks, own, speed) if own else ({}, list[Note]())
        reported = summaries.pop("reported", None)
        if self._options.estimator == "reported":
            reason = "the program printed no summary of its own"
            none = Metric("throughput", None, "", "reported", reason=reason, parser=pattern.parser)
            speed = Speed(none if reported is None else replace(reported, name="throughput"), notes=doubts)
            question, rank_notes = None, list[Note]()
        else:
            _, metadata, rank_notes = of_ranks
            question = question_of(reading, self._options, speed, metadata, own)
        return Draft(
            reading, pattern, ranks, index, span, programs, metadata, label, summaries, reported, speed,
            [*notes, *rank_notes], question,
        )  # fmt: skip

    def _run_of_draft(self, draft: Draft, evidence: Evidence | None) -> Run:
        """A run with its number held against its log."""
        reading, pattern, metadata, segment = draft.reading, draft.pattern, draft.metadata, draft.segment
        speed = corroborated(self._options, draft.speed, evidence)
        refused = refusal(reading, pattern, segment, main_rank(draft.ranks))
        refused = refused or contradiction(reading, pattern, segment.basis, metadata)
        cut = "" if self._options.as_printed else why_cut(reading, pattern)
        refused = refused or cut
        throughput = replace(speed.throughput, value=None, reason=refused) if refused else speed.throughput
        metrics = {"throughput": throughput, **possible(draft.summaries, metadata, self._peaks)}
        if speed.step_time is not None and not refused:
            metrics["step_time"] = speed.step_time
        if draft.reported is not None:
            metrics["reported"] = draft.reported
        program = self._catalog.by_name[pattern.parser].title
        metrics |= further_metrics(throughput, speed.measured, metadata, program, draft.summaries, self._peaks)
        if not cut:
            metrics = metrics | {k: m for k, m in _last_metrics(pattern, segment).items() if k not in metrics}
        lines = segment.first_line, segment.last_line
        run = self._run(reading, pattern.parser, metadata, draft.label, metrics, self._notes(draft, speed), lines)
        run.evidence = speed.verdict
        run.clock = clock_of(reading, pattern, *lines)
        return run if draft.programs == 1 else of_several(run, draft.programs, draft.span)

    def _notes(self, draft: Draft, speed: Speed) -> list[Note]:
        """What is to be said of a run."""
        reading, pattern, segment, span = draft.reading, draft.pattern, draft.segment, draft.span
        notes = [*map(Note, reading.notes), *map(Note.of_case, draft.metadata.doubts), *draft.notes, *speed.notes]
        notes += [*notes_of_segment(segment), *notes_of_unread(reading, pattern)]
        notes += notes_of_path(reading, pattern, segment.basis, draft.metadata)
        notes += [Note(fact.pattern.note) for fact in reading.facts if fact.pattern.parser == pattern.parser]
        if draft.place + 1 == len(draft.segments):
            notes += notes_of_headings(reading, pattern, segment, main_rank(draft.ranks))
        if len(draft.segments) > 1:
            of = f"run {draft.place + 1} of {len(draft.segments)} in this log (lines {span[0]} to {span[1]})"
            notes.append(Note(of))
        return notes

    def _held(
        self, reading: Reading, pattern: Pattern, of_ranks: tuple[dict[int, Segment], Metadata, list[Note]],
        own: Mapping[str, Metric], speed: Speed,
    ) -> tuple[dict[str, Metric], list[Note]]:  # fmt: skip
        """(the program's own metrics held against the measurements, doubts); as they are under a convention.

        A run that is too short for the window is taken whole.
        """
        segments, metadata, _ = of_ranks
        if speed.measured is None:
            whole = replace(self._options, window=Window(Amount(0)))
            speed = speed_of(reading, whole, pattern, segments, metadata)
        if speed.measured is None or self._options.convention or self._options.as_printed:
            return dict(own), []
        return held(own, Question(reading, speed.measured, metadata))

    def _run_of_failure(self, reading: Reading, failure: LogFact) -> Run:
        """A training that failed before its first measurement: its path and the last line say what it was."""
        metadata, label = self._identities.of_failure(reading, FAILURES)
        reason = failure.fields.get("failure", "the training failed")
        throughput = Metric("throughput", None, "", self._options.estimator, reason=reason, parser=FAILURES)
        lines = failure.line, failure.line
        return self._run(
            reading, FAILURES, metadata, label, {"throughput": throughput}, list(map(Note, reading.notes)), lines
        )

    def _run_of_summaries(self, reading: Reading, summaries: list[LogFact]) -> Run:
        """A log without measured steps: what its program reports, and no throughput unless that is asked for."""
        span = (1, reading.lines)
        priority = {parser.name: parser.priority for parser in self._catalog.parsers}
        best = max(summaries, key=lambda fact: priority[fact.pattern.parser]).pattern.parser
        extent = Extent(1, reading.lines, min(fact.line for fact in summaries), max(fact.line for fact in summaries))
        metadata, label = self._identities.of_run(reading, best, extent)
        metrics, summary_notes = summary_metrics(reading, metadata, span)
        reported = metrics.pop("reported", None)
        if reported is not None and self._options.estimator == "reported":
            throughput = replace(reported, name="throughput")
        else:
            unit = reported.unit if reported else ""
            reason = NO_STEPS
            if reported:
                reason = "the log holds only the program's own summary: --estimator reported takes it"
            throughput = Metric("throughput", None, unit, self._options.estimator, reason=reason, parser=best)
        metrics = {"throughput": throughput, **possible(metrics, metadata, self._peaks)}
        if reported is not None:
            metrics["reported"] = reported
        notes = [*map(Note, reading.notes), *map(Note.of_case, metadata.doubts), *summary_notes]
        lines = [fact.line for fact in summaries]
        return self._run(reading, best, metadata, label, metrics, notes, (min(lines), max(lines)))

    def _run(
        self, reading: Reading, parser: str, metadata: Metadata, label: str, metrics: dict[str, Metric],
        notes: list[Note], lines: tuple[int, int],
    ) -> Run:  # fmt: skip
        if self._options.digits:
            metrics = {name: _rounded(metric, self._options.digits) for name, metric in metrics.items()}
        for metric in metrics.values():  # a dictionary for each of 100,000 runs would be a tenth of their memory
            metric.excluded = self._excluded.setdefault(tuple(metric.excluded.items()), metric.excluded)
        machine = self._machines.of(reading.log.path, store_of(reading.log))
        if machine is not None and machine.problem:
            notes = [*notes, Note(machine.problem)]
        notes = [
            Note(note_of_devices(machine, metadata.device)),
            *notes,
            Note.of_case(throttling_note(machine, reading.log.path)),
        ]
        if self._options.decided:
            notes = [structs.replace(note, undecided=False) if note.undecided else note for note in notes]
        value = metrics["throughput"].value
        return Run(
            log=reading.log,
            parser=parser,
            framework=str(metadata.values.get("framework", "")),
            metadata=metadata,
            label=label,
            metrics=metrics,
            notes=list(dict.fromkeys(note.at(value) for note in notes if note.text)),
            window=self._window,
            first_line=lines[0],
            last_line=lines[1],
            lines=reading.lines,
            machine=machine,
        )


def _end_before(reading: Reading, segment: Segment, following: Segment) -> int:
    """The last line of a run that another follows: before the line that begins that, or before its first step."""
    begins = min(reading.next_start(segment.last_line), following.first_line or reading.lines)
    return max(begins - 1, segment.last_line)


def why_no_run(reading: Reading) -> str:
    """Why a log that could be read has no run."""
    if reading.undecided:
        return reading.undecided
    tried = [(key, reading.patterns[key], account) for key, account in reading.accounts.items()]
    matched = sorted(
        {pattern.parser for _, pattern, account in tried if account.matches and pattern.role != "metadata"}
    )
    if matched:
        return f"lines of {', '.join(matched)}, {NO_MEASUREMENT}"
    steps = [pattern for _, pattern, account in tried if account.candidates and pattern.role == "step"]
    seen = sorted({pattern.parser for pattern in steps if pattern.words})
    if seen:
        return f"{NO_FORMAT} (words of {some_of(seen, 2)} occur, but no line is theirs: see `perflog explain`)"
    return NO_FORMAT


def _failed(run: Run, failure: LogFact) -> Run:
    """A training that failed has no number, whatever it printed before."""
    return replace(without_number(run, failure.fields.get("failure", "the training failed")), last_line=failure.line)


def without_number(run: Run, reason: str) -> Run:
    """A run that has no number for a reason that is not its measurements'."""
    old = run.throughput
    throughput = Metric("throughput", None, old.unit, old.estimator, reason=reason, parser=run.parser)
    return replace(run, metrics={"throughput": throughput})


def _last_metrics(pattern: Pattern, segment: Segment) -> dict[str, Metric]:
    """The last loss and peak of memory that the measured lines print."""
    metrics = {}
    for name, (value, line) in segment.last.items():
        unit = pattern.memory_unit if name == "memory" else ""
        metrics[name] = Metric(name, value, unit, "last", 1, {}, line, line, parser=pattern.parser)
    return metrics


def _rounded(metric: Metric, form: str) -> Metric:
    """A metric rounded as a convention prints it."""
    if metric.name not in ("throughput", "reported") or metric.value is None:
        return metric
    return replace(metric, value=float(form % metric.value))
