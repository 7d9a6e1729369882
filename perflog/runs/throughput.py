"""Throughput and step time of one run, from the measurements inside the window."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from msgspec import Struct, field, structs

from perflog.evidence.survey import LEAST_SAMPLE, Ruling, is_off, is_one_rank, sampling_share, unmeasured_tails
from perflog.evidence.witness import Verdict, bounds, doubting, note_of
from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.formats.printed import kind
from perflog.measurements.basis import Basis
from perflog.measurements.segment import Segment, Taken
from perflog.measurements.series import RankSeries
from perflog.measurements.window import take
from perflog.notes import Note
from perflog.reading.reading import Reading
from perflog.runs.corroborate import COARSE, Evidence, Measured, Question, why_uncarried
from perflog.runs.doubts import clock_set, note_of_work, too_coarse
from perflog.runs.factor import factor_of, seconds_scale
from perflog.runs.metadata import Metadata
from perflog.runs.reported import accounts_of, accounts_of_each_epoch, accounts_of_epochs
from perflog.runs.run import COUNTED_BY_RANKS, Metric, Outcome, Run, Skipped
from perflog.settings.options import Options

# ----------------------------------------------------------------------------------------------------
# Which measurements speak for a log: the pattern, the rank and the segment of each run.

#: Why lines of steps give none that tell no time which counts.
NO_TIME = "no line holds a rate or a time that can be used"
#: Of two kinds of lines in pairs a log that was cut, or has lost a line, has one more of one kind.
NEARLY_ALL = 0.8


def primary_pattern(reading: Reading, catalog: Catalog) -> Pattern | None:
    """The pattern whose measurements make the throughput: measured steps of the most specific parser."""
    return _best_pattern(reading, catalog, reading.series)


def primary_of(reading: Reading, catalog: Catalog, parser: str) -> Pattern | None:
    """The pattern of one parser whose measurements make the throughput of its program."""
    return _best_pattern(reading, catalog, [key for key in reading.series if reading.patterns[key].parser == parser])


def _best_pattern(reading: Reading, catalog: Catalog, keys: Iterable[str]) -> Pattern | None:
    keys, patterns = list(keys), reading.patterns
    of_totals = [key for key in keys if patterns[key].total]
    steps = _best_of(reading, catalog, [key for key in keys if not patterns[key].total] if of_totals else keys)
    totals = _best_of(reading, catalog, of_totals) if of_totals else None
    if totals is None or (steps is not None and not (_samples_steps(reading, steps) and _measures(reading, totals))):
        return steps
    return totals


def _samples_steps(reading: Reading, pattern: Pattern) -> bool:
    """Whether a pattern's lines each tell of their last step only, and of one in several."""
    segments = [segment for series in reading.series[pattern.key].values() for segment in series.segments]
    return any(s.basis is not None and s.basis.value.span == "last" and s.count.interval > 1 for s in segments)


def _measures(reading: Reading, pattern: Pattern) -> bool:
    return any(s.store.count for series in reading.series[pattern.key].values() for s in series.segments)


def _best_of(reading: Reading, catalog: Catalog, keys: Sequence[str]) -> Pattern | None:
    if len(keys) == 1:  # nearly always: nothing to choose among
        pattern = reading.patterns[keys[0]]
        return pattern if pattern.role == "step" and _printed(reading.series[keys[0]]) else None
    best: tuple[tuple[bool, int, bool, int], Pattern] | None = None
    most: dict[str, int] = {}
    for key in keys:
        parser = reading.patterns[key].parser
        most[parser] = max(most.get(parser, 0), _printed(reading.series[key]))
    for key in keys:
        pattern, ranks = reading.patterns[key], reading.series[key]
        if pattern.role != "step":
            continue
        printed = _printed(ranks)
        measured = any(s.basis is not None or s.refused for series in ranks.values() for s in series.segments)
        if not printed:
            continue
        all_lines = most[pattern.parser]
        nearly_all = printed >= NEARLY_ALL * all_lines
        counts = nearly_all and _counts_work(ranks)
        rank = (measured, catalog.by_name[pattern.parser].priority, counts, all_lines if nearly_all else printed)
        if best is None or rank > best[0]:
            best = (rank, pattern)
    return best[1] if best else None


def _printed(ranks: Mapping[int, RankSeries]) -> int:
    return sum(segment.tally.printed for series in ranks.values() for segment in series.segments)


def _counts_work(ranks: Mapping[int, RankSeries]) -> bool:
    """Whether the lines say how much work was done, samples or tokens, and not steps alone."""
    bases = [segment.basis for series in ranks.values() for segment in series.segments if segment.basis is not None]
    return any(basis.counts_work or (basis.is_rate and kind(basis.unit or "") != "steps") for basis in bases)


def main_rank(ranks: Mapping[int, RankSeries]) -> int:
    return min(ranks)


#: Beyond this share the bounds that rounding sets are said.
MOST_ROUNDED = 0.02
#: A training does no more work in a second, and takes no longer for one unit of it: the largest clusters do some 1e9
#: tokens a second, and 1e-6 is a step in twelve days. Numbers beyond come of lines that are damaged.
FASTEST, SLOWEST = 1e10, 1e-6
#: What is said where the lines of all ranks stand in one log, and none says whose it is.
RANKS_UNTAGGED = (
    "each step has as many records as there are devices: they are the ranks', and the slowest of each step is taken "
    "(each waits for the others)"
)


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
    slowest = min(speeds, key=_value) if len(speeds) > 1 else main
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
    reason = "" if options.convention else verdict.reason or evidence.broken
    sample: Note | None = None
    uncarried = "" if reason or options.convention else why_uncarried(speed.measured, verdict)
    if uncarried:
        reason, sample = _as_sample(speed.measured, speed.throughput, uncarried, options)
    reason = reason or _why_too_coarse(speed.throughput, evidence.rounding)
    doubts = [note_of(witness, verdict.corroborated) for witness in doubting(verdict.witnesses)]
    notes = [*speed.notes, *dict.fromkeys(doubts), *map(Note, verdict.remarks)]
    notes += [sample] if sample is not None else []
    notes += _notes_of_slow(options, speed.throughput, evidence, notes)
    if evidence.ruling is not None and options.without_slow:
        speed = _without(evidence.ruling, speed)
    throughput = speed.throughput
    if reason:
        throughput = replace(throughput, value=None, reason=reason, time_per_step=None)
        return structs.replace(speed, throughput=throughput, step_time=None, notes=notes, verdict=verdict)
    if evidence.rounding > COARSE and throughput.value is not None:
        throughput = replace(throughput, rounding=bounds(throughput.value, evidence.rounding))
    if evidence.rounding > MOST_ROUNDED:
        low, high = bounds(throughput.value or 0.0, evidence.rounding)
        text = f"the printed digits allow {low:.4g} to {high:.4g} {throughput.unit}"
        farther = high if math.isfinite(high) else low
        notes.append(Note.of_number(text, value=throughput.value, other=farther, label="by the printed digits"))
    return structs.replace(speed, throughput=throughput, notes=notes, verdict=verdict)


def _as_sample(measured: Measured, throughput: Metric, uncarried: str, options: Options) -> tuple[str, Note | None]:
    """(why single steps, printed one in several, give no number; what is said of one that they give as a sample)."""
    every = measured.segment.count.interval
    if every <= 1 or measured.segment.count.firsts or measured.segment.count.keyless:
        return uncarried, None
    if not options.sampled:
        return f"{uncarried}; --sampled takes these steps as a sample of all", None
    share = sampling_share(measured.segment, measured.taken)
    used, value = throughput.used, throughput.value
    if value is None or not math.isfinite(share):
        return f"{uncarried}; {used} of them are too few for a sample, {LEAST_SAMPLE} are needed", None
    low, high = value / (1 + share), value / (1 - share) if share < 1 else math.inf
    text = (
        f"1 of {every:g} steps is measured: as a sample (--sampled) these {used} allow {low:.5g} to {high:.5g} "
        f"{throughput.unit} (95 %)"
    )
    return "", Note.of_number(text, value=value, other=high if math.isfinite(high) else low, label="by the sample")


def _notes_of_slow(options: Options, throughput: Metric, evidence: Evidence, said: Sequence[Note]) -> list[Note]:
    """What is to be said of slow records: which they are, or that another estimate of all is another number.

    Args:
        said: what is said beside; a number that one of these gives is not given once more.
    """
    value, ruling = throughput.value, evidence.ruling
    if value is None:
        return []
    notes, change = [], 1.0
    if ruling is not None:
        change = ruling.change
        if options.without_slow:
            notes.append(Note(f"{ruling.text}: left out (--without-slow), with it {value:.5g}"))
        else:
            other = value * change
            notes.append(Note.of_number(ruling.text, value=value, other=other, label=ruling.label, undecided=True))
    known = [1 + note.move for note in said if note.move is not None and note.move > -1]
    alone = evidence.other and not options.convention
    if alone and all(is_off(evidence.other / factor) for factor in (change, *known)):
        other, unit = value * evidence.other, throughput.unit
        given = value * change if options.without_slow else value
        if options.estimator == "total":
            text = f"the median of the records is {other:.5g} {unit}, all together give {value:.5g}: they are not alike"
            label = "by the median"
        else:
            text = f"all records together give {other:.5g} {unit}, --estimator {options.estimator} {value:.5g}"
            label = "by the total"
        notes.append(Note.of_number(text, value=given, other=other, label=label, undecided=True))
    return notes


def _without(ruling: Ruling, speed: Speed) -> Speed:
    """The speed without the slow records that rule it."""
    assert speed.measured is not None
    old, estimate = speed.throughput, speed.measured.taken.estimate
    if old.value is None:
        return speed
    excluded = {**old.excluded, "slow": ruling.records}
    change = (estimate.time - ruling.time) / (estimate.covers - ruling.covers) / (estimate.time / estimate.covers)

    def changed(metric: Metric, factor: float) -> Metric:
        value = None if metric.value is None else metric.value * factor
        per_step = None if metric.time_per_step is None else metric.time_per_step * change
        used = old.used - ruling.records
        return replace(metric, value=value, used=used, excluded=excluded, time_per_step=per_step)

    step_time = None if speed.step_time is None else changed(speed.step_time, change)
    return structs.replace(speed, throughput=changed(old, ruling.change), step_time=step_time)


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

    All ranks count where each speaks for itself, and of what each prints of the whole job those that print as much.
    """
    main = main_rank(ranks)
    segment = ranks[main].segments[index]
    if len(ranks) == 1:
        return {main: segment}, metadata, []
    tagged = sorted(r for r in ranks if index < len(ranks[r].segments) and ranks[r].segments[index].store.count)
    if len(tagged) < 2:
        return {main: segment}, metadata, []
    segments = {rank: ranks[rank].segments[index] for rank in sorted(tagged, key=lambda rank: (rank != main, rank))}
    if segment.basis is None or segment.basis.value.scope == "job":
        alike = {r: its for r, its in segments.items() if not its.refused and its.store.count == segment.store.count}
        return {main: segment, **alike}, metadata, _of_job(len(tagged), segment.basis)
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


def _of_job(ranks: int, basis: Basis | None) -> list[Note]:
    """What is said where several ranks print what a format prints of the whole job.

    The same line may be one rank's in a program that leaves the ranks to a launcher: MXNet's Speedometer tells the work
    of the batch size that the script gave it.
    """
    if basis is None or not basis.is_rate or kind(basis.value.unit) == "steps":
        return []
    text = (
        f"{ranks} ranks print a rate each, which in this format is the job's; if each counts its own work alone, the "
        f"job does {ranks} times as much"
    )
    return [Note(text, "number", ranks - 1.0, label="if each rank counts its own work")]


def _speed_of_rank(reading: Reading, options: Options, pattern: Pattern, segment: Segment, metadata: Metadata) -> Speed:
    basis = segment.basis
    refused = segment.refused or _why_no_ranks(segment, metadata)
    if refused or basis is None:
        reason = refused or NO_TIME
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
    notes = [Note(taken.note)]
    if not reason and options.estimator == "since_start":
        seconds = taken.estimate.time
        text = f"{taken.last_step:g} steps in {seconds:g} s since the clock began, the first ones among them"
        return Speed(throughput, _step_time(taken, scale, throughput), [Note(text), Note(factor.note)])
    if not reason:
        tails = None if options.as_printed else unmeasured_tails(segment, taken, value, factor.unit)
        said = [*_notes_of_value(pattern, segment, taken), note_of_work(segment, taken), tails, taken.doubt]
        notes += [Note(factor.note), *filter(None, said)]
    measured = None
    if not reason:
        measured = Measured(pattern, segment, basis, taken, scale, factor.value, factor.unit, options.estimator)
    step_time = None if coarse or _is_uncounted(segment, basis) else _step_time(taken, scale, throughput)
    return Speed(throughput, step_time, [note for note in notes if note.text], measured)


def _notes_of_value(pattern: Pattern, segment: Segment, taken: Taken) -> Iterator[Note]:
    """What is said of a value by what it was made from; texts may be empty."""
    if segment.blend is not None:
        yield Note(RANKS_UNTAGGED)
        if segment.basis is not None and segment.basis.value.scope == "job":
            yield from _of_job(segment.blend.records, segment.basis)
    if segment.count.keyless:
        yield Note("the lines print no step numbers; each is taken to cover equally many steps")
    yield Note(pattern.assumption)
    if taken.estimate.used == 1:
        yield Note(f"one measurement alone is behind the throughput (line {taken.last_line})")


def _why_no_ranks(segment: Segment, metadata: Metadata) -> str:
    """Why several records of each step are not those of the job's ranks; empty where they are, or each has one."""
    devices = metadata.integer("devices")
    if segment.blend is None or devices == segment.blend.records:
        return ""
    known = f"the job has {devices} devices" if devices else "if these are its ranks, give --set devices=N"
    return f"{segment.blend.reason}; each step has {segment.blend.records} records, and {known}"


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


# ----------------------------------------------------------------------------------------------------
# The measurements of finished runs, for those who look at more of a log than its numbers.


class RunMeasurements(NamedTuple):
    """A run with its measurements, while its reading is at hand.

    Attributes:
        segments: by rank, those that count for the run; the one that speaks for it first.
    """

    run: Run
    reading: Reading
    pattern: Pattern
    segments: Mapping[int, Segment]

    @property
    def segment(self) -> Segment:
        """The measurements of the rank that speaks for the run."""
        return next(iter(self.segments.values()))


def measurements_of(reading: Reading, outcome: Outcome, catalog: Catalog) -> Iterator[tuple[int, RunMeasurements]]:
    """Each run that has measured steps, by its place in the outcome, with its measurements."""
    for number, run in enumerate(() if isinstance(outcome, Skipped) else outcome):
        pattern = primary_of(reading, catalog, run.parser) if run.parser in catalog.by_name else None
        if pattern is None:
            continue
        ranks = reading.series[pattern.key]
        segments = ranks[main_rank(ranks)].segments
        index = next((place for place, one in enumerate(segments) if one.first_line == run.first_line), None)
        if index is not None:
            counting, _, _ = ranks_that_count(ranks, index, run.metadata)
            yield number, RunMeasurements(run, reading, pattern, counting)
