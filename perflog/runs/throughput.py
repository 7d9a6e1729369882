"""Throughput and step time of one run, from the measurements inside the window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from msgspec import Struct, field, structs

from perflog.evidence.ranks import is_one_rank
from perflog.evidence.rounding import bounds
from perflog.evidence.tails import unmeasured_tails
from perflog.evidence.witness import Verdict
from perflog.formats.parser import Pattern
from perflog.formats.units import kind
from perflog.measurements.basis import Basis
from perflog.measurements.segment import Segment, Taken
from perflog.measurements.series import RankSeries
from perflog.measurements.window import take
from perflog.notes import Note
from perflog.reading.reading import Reading
from perflog.runs.accounts import accounts_of, accounts_of_each_epoch, accounts_of_epochs
from perflog.runs.corroborate import COARSE, Evidence, Question, why_uncarried
from perflog.runs.doubts import clock_set, note_of_work, too_coarse
from perflog.runs.factor import factor_of, seconds_scale
from perflog.runs.measured import Measured
from perflog.runs.metadata import Metadata
from perflog.runs.primary import main_rank
from perflog.runs.run import COUNTED_BY_RANKS, Metric
from perflog.settings.options import Options

#: Beyond this share the bounds that rounding sets are said.
MOST_ROUNDED = 0.02
#: A training does no more work in a second, and takes no longer for one unit of it: the largest clusters do some 1e9
#: tokens a second, and 1e-6 is a step in twelve days. Numbers beyond come of lines that are damaged.
FASTEST, SLOWEST = 1e10, 1e-6


class Speed(Struct, frozen=True):
    """What the measurements say of one run: its throughput, its step time, and what is to be said with them."""

    throughput: Metric
    step_time: Metric | None = None
    notes: list[Note] = field(default_factory=list)
    measured: Measured | None = None
    verdict: Verdict | None = None


def speed_of(
    reading: Reading, options: Options, pattern: Pattern, segments: Mapping[int, Segment], metadata: Metadata
) -> Speed:
    """The speed of one run, from the segments of the ranks that count.

    Args:
        segments: by rank, the one that speaks for the run first.
    """
    speeds = [_speed_of_rank(reading, options, pattern, segment, metadata) for segment in segments.values()]
    main = speeds[0]
    slowest = min(speeds, key=_value)
    if len(speeds) == 1 or slowest.throughput.value is None:
        return Speed(slowest.throughput, main.step_time, main.notes, slowest.measured)
    note = f"the slowest of {len(speeds)} ranks is taken for all (each waits for the others)"
    return Speed(slowest.throughput, slowest.step_time, [*main.notes, Note(note)], slowest.measured)


def question_of(
    reading: Reading, options: Options, speed: Speed, metadata: Metadata, own: Mapping[str, Metric]
) -> Question | None:
    """What is to be asked of a log about its run's speed; None where there is no number, or it stays as it is printed.

    Args:
        own: the program's own metrics.
    """
    if speed.measured is None or options.as_printed:
        return None
    accounts = accounts_of(own, reading) + accounts_of_each_epoch(reading, speed.measured)
    accounts += accounts_of_epochs(reading, speed.measured, metadata)
    return Question(reading, speed.measured, metadata, accounts)


def corroborated(options: Options, speed: Speed, evidence: Evidence | None) -> Speed:
    """The speed held against what else the log says: refused where that contradicts it, with doubts and remarks.

    Values as they were printed, and those of a convention, which reproduce published tables, are not refused.
    """
    if speed.measured is None or evidence is None:
        return speed
    verdict = evidence.verdict
    reason = "" if options.convention else verdict.reason or evidence.broken or why_uncarried(speed.measured, verdict)
    reason = reason or _why_too_coarse(speed.throughput, evidence.rounding)
    said = [*verdict.doubts, *verdict.remarks, *([evidence.ruling] if evidence.ruling else [])]
    notes = [*speed.notes, *map(Note, said)]
    throughput = speed.throughput
    if reason:
        throughput = replace(throughput, value=None, reason=reason, time_per_step=None)
        return structs.replace(speed, throughput=throughput, step_time=None, notes=notes, verdict=verdict)
    if evidence.rounding > COARSE and throughput.value is not None:
        throughput = replace(throughput, rounding=bounds(throughput.value, evidence.rounding))
    if evidence.rounding > MOST_ROUNDED:
        low, high = bounds(throughput.value or 0.0, evidence.rounding)
        notes.append(Note(f"the printed digits allow {low:.4g} to {high:.4g} {throughput.unit}"))
    return structs.replace(speed, throughput=throughput, notes=notes, verdict=verdict)


def _why_too_coarse(throughput: Metric, rounding: float) -> str:
    """Why numbers give no rate of which the printed digits may hide all (``rounding``: how much, as a share)."""
    if rounding < 1 or throughput.value is None:
        return ""
    low, _ = bounds(throughput.value, rounding)
    return f"the digits that the log prints allow any throughput above {low:.4g} {throughput.unit}"


def _value(speed: Speed) -> float:
    return speed.throughput.value if speed.throughput.value is not None else -1.0


def ranks_that_count(
    ranks: Mapping[int, RankSeries], index: int, metadata: Metadata
) -> tuple[dict[int, Segment], Metadata, list[Note]]:
    """(the segments that count, by rank; the metadata with what the ranks tell; notes).

    All ranks count where each speaks for itself, else the first speaks for all.
    """
    main = main_rank(ranks)
    segment = ranks[main].segments[index]
    if len(ranks) == 1:
        return {main: segment}, metadata, []
    tagged = sorted(r for r in ranks if index < len(ranks[r].segments) and ranks[r].segments[index].store.count)
    if len(tagged) < 2:
        return {main: segment}, metadata, []
    if segment.basis is None or segment.basis.value.scope == "job":
        return {main: segment}, metadata, [Note(_of_job(len(tagged), main, segment.basis))]
    segments = {rank: ranks[rank].segments[index] for rank in sorted(tagged, key=lambda rank: (rank != main, rank))}
    devices = metadata.integer("devices")
    if devices is None and is_one_rank(list(segments.values())):
        note = f"{len(tagged)} ranks print the same numbers, as one does that is printed twice: they tell no devices"
        return {main: segment}, metadata, [Note(note)]
    if devices is None and tagged == list(range(len(tagged))):
        metadata = replace(
            metadata,
            values={**metadata.values, "devices": len(tagged)},
            sources={**metadata.sources, "devices": "log"},
        )
        return segments, metadata, [Note(f"{COUNTED_BY_RANKS}{len(tagged)} ranks that print")]
    if devices is None:
        return segments, metadata, [Note(f"{len(tagged)} ranks print, and the number of devices is unknown")]
    note = f"{len(tagged)} ranks print, of {devices} devices"
    return segments, metadata, [Note(note)] if devices != len(tagged) else []


def _of_job(ranks: int, main: int, basis: Basis | None) -> str:
    """What is said where several ranks print what a format prints of the whole job.

    The same line may be one rank's in a program that leaves the ranks to a launcher: MXNet's Speedometer tells the work
    of the batch size that the script gave it.
    """
    if basis is None or not basis.is_rate or kind(basis.value.unit) == "steps":
        return f"{ranks} ranks print the job's value: rank {main} is taken"
    return (
        f"{ranks} ranks print a rate each, which in this format is the job's: rank {main}'s is taken; if each counts "
        f"its own work alone, the job does {ranks} times as much"
    )


def _speed_of_rank(reading: Reading, options: Options, pattern: Pattern, segment: Segment, metadata: Metadata) -> Speed:
    basis = segment.basis
    if segment.refused or basis is None:
        reason = segment.refused or "no line holds a rate or a time that can be used"
        return Speed(Metric("throughput", None, "", options.estimator, reason=reason, parser=pattern.parser))
    factor = factor_of(reading, pattern, basis, metadata)
    scale = seconds_scale(reading, pattern, basis, metadata)
    taken = take(segment, options.window, options.estimator, scale, doubts=not options.convention)
    coarse = "" if options.as_printed else too_coarse(pattern, segment, taken) or clock_set(segment, taken)
    reason = taken.reason or factor.reason or _why_uncounted(segment, basis) or coarse
    value = taken.estimate.value * factor.value
    if not reason and not SLOWEST <= value <= FASTEST:
        reason = f"{value:.4g} {factor.unit} is no speed that a training can have: the numbers on the lines are damaged"
    throughput = Metric(
        name="throughput",
        value=None if reason else value,
        unit=factor.unit,
        estimator=options.estimator,
        used=taken.estimate.used,
        excluded=_left_out(taken, segment),
        first_line=taken.first_line,
        last_line=taken.last_line,
        first_step=taken.first_step,
        last_step=taken.last_step,
        reason=reason,
        parser=pattern.parser,
        time_per_step=None if reason else taken.estimate.time / taken.estimate.covers,
    )
    notes = [taken.note] if taken.note else []
    if not reason:
        tails = "" if options.as_printed else unmeasured_tails(segment, taken, value, factor.unit)
        notes += [factor.note, *_notes_of_value(pattern, segment, taken), tails, taken.doubt]
    measured = None
    if not reason:
        measured = Measured(pattern, segment, basis, taken, scale, factor.value, factor.unit, options.estimator)
    step_time = None if coarse or _is_uncounted(segment, basis) else _step_time(taken, scale, throughput)
    return Speed(throughput, step_time, [Note(note) for note in notes if note], measured)


def _notes_of_value(pattern: Pattern, segment: Segment, taken: Taken) -> Iterator[str]:
    """What is said of a value by what it was made from; notes may be empty."""
    if segment.count.keyless:
        yield "the lines print no step numbers; each is taken to cover equally many steps"
    yield pattern.assumption
    if taken.estimate.used == 1:
        yield f"one measurement alone is behind the throughput (line {taken.last_line})"
    yield note_of_work(segment, taken)


def _why_uncounted(segment: Segment, basis: Basis) -> str:
    """Why times give no speed: no line tells how many steps they took, nor how much work was done in them."""
    if basis.counts_work or not _is_uncounted(segment, basis):
        return ""
    return "the lines tell how long an interval took, and no line tells how many steps it had"


def _is_uncounted(segment: Segment, basis: Basis) -> bool:
    """Whether a record's time is one of an unknown number of steps."""
    return segment.count.keyless and not basis.is_rate and basis.value.quantity != "step_time"


def _left_out(taken: Taken, segment: Segment) -> dict[str, int]:
    """How many measurements are not in the estimate, by the reason."""
    tally = segment.tally
    counts = (
        ("trimmed", taken.estimate.dropped),
        ("no usable number", tally.unusable),
        ("printed twice", tally.doubled),
        ("end of the bar, drawn when it was closed", tally.closings),
        ("first of an epoch, which covers fewer steps", tally.first_of_epochs),
        ("mean over fewer steps than the others", tally.partial),
        ("evaluation or saving at the end of an epoch", segment.left_out.records),
    )
    return {**taken.excluded, **{why: count for why, count in counts if count}}


def _step_time(taken: Taken, scale: float | None, throughput: Metric) -> Metric | None:
    """Seconds per step over the throughput's window; None where the log's times are not in seconds."""
    estimate = taken.estimate
    if scale is None or not estimate.covers or estimate.time <= 0:
        return None
    return Metric(
        name="step_time",
        value=estimate.time / estimate.covers * scale,
        unit="s",
        estimator="total",
        used=throughput.used,
        excluded=throughput.excluded,
        first_line=throughput.first_line,
        last_line=throughput.last_line,
        parser=throughput.parser,
    )
