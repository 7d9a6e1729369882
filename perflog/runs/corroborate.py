"""A run's number held against every other statement of its log."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from perflog.evidence.clock import clock_witness
from perflog.evidence.line import Account, Job, Jobs, Lines, Whole, line_witnesses, summary_witnesses
from perflog.evidence.survey import (
    LONGEST,
    ManyMarks,
    Marks,
    Ruling,
    Survey,
    falls,
    is_off,
    median_of_records,
    ruling_records,
    survey,
    total_of_records,
    totals_until,
    why_falling,
)
from perflog.evidence.witness import (
    FACTORS,
    About,
    Verdict,
    Witness,
    decimals_of,
    judged,
    mean_share,
    number_share,
    total_share,
)
from perflog.formats.moments import Moment, moment_by_shape
from perflog.formats.parser import Pattern, Value, once_a_pattern
from perflog.formats.printed import kind
from perflog.formats.vocabulary import whole_count
from perflog.matching.matches import MOST, Samples
from perflog.matching.one_line import read_line
from perflog.measurements.basis import MEASURING, Basis
from perflog.measurements.rows import Floats
from perflog.measurements.segment import Segment, Taken
from perflog.reading.reading import Reading
from perflog.runs.doubts import clock_rounding, record_rounding
from perflog.runs.factor import global_batch, scope_multiplier, tokens_per_step
from perflog.runs.metadata import Metadata
from perflog.stats.centre import median

# ----------------------------------------------------------------------------------------------------
# What a run's throughput was made from, and the run up to a line by all of its measurements.


class Measured(Struct, frozen=True):
    """What a run's throughput was made from.

    ``scale``: seconds in a unit of the store's time, None where unknown; ``factor``: throughput per work over time.
    """

    pattern: Pattern
    segment: Segment
    basis: Basis
    taken: Taken
    scale: float | None
    factor: float
    unit: str
    estimator: str


def whole_until(line: int, measured: Measured, found: Survey | None = None) -> Whole:
    """The run by its measurements up to a line, which is what an account that stands there can tell of.

    Its time is that since the program's clock was last set back: behind steps to warm up, say.
    """
    estimate, count = measured.taken.estimate, measured.segment.count
    whole, end = totals_until(None, measured.segment)[0] if found is None else found.totals, count.end
    if line < measured.segment.last_line:
        whole, end = totals_until(line, measured.segment)
    factor, scale = measured.factor, measured.scale
    throughput = (estimate.value * factor, whole.work / whole.time * factor) if whole.time > 0 else None
    per_step = None
    if scale is not None and estimate.covers > 0 and whole.covers > 0:
        per_step = (estimate.time / estimate.covers * scale, whole.time / whole.covers * scale)
    seconds = None
    steps, timed, since = end - count.origin, whole, measured.segment.running.fell_at
    if measured.basis.value.is_clock and measured.basis.value.since != "epoch" and since > count.origin:
        timed, _ = totals_until(line, measured.segment, since)
    if scale is not None and timed.covers > 0:
        seconds = timed.time / timed.covers * scale * (steps if timed is whole else end - since)
    return Whole(throughput, measured.unit, per_step, seconds, made=steps / end if end > 0 else 1.0)


#: A number that may be rounded by more than this share is read from its line again, to see its digits.
COARSE = 0.002
#: So many lines are read again.
READ_AGAIN = 5
#: Numbers with more decimals are rounded by less than matters.
MOST_DECIMALS = 4
#: Clocks of bars are cut to whole seconds.
A_SECOND = 1.0
_BATCHES = {"batch_size", "micro_batch_size", "global_batch_size"}


class Evidence(NamedTuple):
    """The verdict on a run's number, the slow records that rule it, and how far its digits bound it.

    ``broken``: why its measurements give none, whatever the witnesses say; ``other``: another estimate of the same
    records as a multiple of the number, where the two differ (the median of their rates for a total, and the total for
    every other estimator); else 0.
    """

    verdict: Verdict
    ruling: Ruling | None
    rounding: float
    broken: str = ""
    other: float = 0.0


class Question(NamedTuple):
    """A run's number that is to be held against its log.

    ``accounts``: what the program says of its whole run.
    """

    reading: Reading
    measured: Measured
    metadata: Metadata
    accounts: Sequence[Account] = ()


def evidence_of(question: Question) -> Evidence:
    """Hold a run's throughput against the lines' clock, their other numbers and the program's own account."""
    reading, measured = question.reading, question.measured
    samples = _SampledLines.of(reading, measured.pattern)
    spare = A_SECOND / (measured.scale or 1.0) if measured.basis.value.is_clock else 0.0
    found = survey(measured.segment, measured.taken, samples.lines, spare)
    marks, picked = _exact(found.marks, samples)
    job = job_of(question)
    rounding = _roundings(measured, samples, found)
    witnesses: list[Witness] = []
    clock = _clock(reading, measured, marks, samples, picked, job)
    if clock is not None:
        witnesses.append(clock)
    others = other_values(measured)
    if len(marks) and others:
        columns = {name: column[picked][np.newaxis] for name, column in samples.columns.items()}
        single = {group: share for group, (share, _) in rounding.items()}
        scale = np.array([math.nan if measured.scale is None else measured.scale])
        lines = Lines(measured.basis.value, scale, ManyMarks.of_one(marks), columns, [single], Jobs.of([job]))
        witnesses += line_witnesses(lines, others)[0]
    for account in question.accounts:
        witnesses += summary_witnesses([account], whole_until(account.line, measured, found), job.factors)
    estimate = measured.taken.estimate
    throughput = estimate.value * measured.factor
    total = measured.estimator == "total"
    sums = estimate.used, estimate.time, estimate.work
    ruling = ruling_records(found.heaviest, found.slow, *sums, throughput) if total else None
    _, share = rounding.get(measured.basis.value.group, (0.0, 0.0))
    if measured.basis.value.is_clock:
        share = clock_rounding(measured.pattern, measured.segment, measured.taken, found.marks.own[1])
    other = _median(measured, rounding, found.marks.own[1]) if total else _total(measured)
    return Evidence(judged(witnesses), ruling, share, _why_broken(measured, samples), other)


def _median(measured: Measured, rounding: Mapping[str, tuple[float, float]], times: Floats) -> float:
    """The median of the records' rates as a multiple of the total where the two differ; else 0.

    Digits of a record that hide more than the difference that matters say nothing of its median.

    Args:
        rounding: by group what the last digit may hide of one number, as a share, first of two.
        times: of some of the measurements, in the store's unit, (k,).
    """
    value, segment = measured.basis.value, measured.segment
    if sums_means(value) or segment.store.count > LONGEST or not measured.taken.estimate.value > 0:
        return 0.0
    hidden = record_rounding(measured.basis, times) if value.is_clock else rounding.get(value.group, (0.0, 0.0))[0]
    ratio = median_of_records(segment, measured.taken) / measured.taken.estimate.value
    return ratio if is_off(ratio, hidden) else 0.0


def _total(measured: Measured) -> float:
    """The total of the records as a multiple of another estimate of them where the two differ; else 0."""
    value = measured.taken.estimate.value
    ratio = total_of_records(measured.segment, measured.taken) / value if value > 0 else 0.0
    return ratio if is_off(ratio) and ratio > 0 else 0.0


def _why_broken(measured: Measured, samples: _SampledLines) -> str:
    """Why a running mean's differences give no number: the time behind it falls; else empty."""
    value = measured.basis.value
    if not sums_means(value) or not any(map(falls, measured.segment.store.blocks())):
        return ""
    lines = [(place, read_line(measured.pattern, samples.text(place))) for place in samples.some(READ_AGAIN)]
    known = [(text, place) for place, read in lines if read is not None and (text := read.get(value.group))]
    if not known or value.group not in samples.columns:
        return ""
    numbers = [float(samples.columns[value.group][place]) for _, place in known]
    return why_falling(measured.segment, measured.taken, number_share([text for text, _ in known], numbers))


def sums_means(value: Value) -> bool:
    """Whether a value's measurements are differences of running means."""
    return value.span == "cumulative" and not value.is_clock


def other_values(measured: Measured) -> list[Value]:
    """The values of the measured lines beside those that the number was made from."""
    made_from = (measured.basis.value, measured.basis.weight, measured.basis.work)
    measuring = measuring_values(measured.pattern)
    return [value for value in measuring if value.quantity != "timestamp" and value not in made_from]


@once_a_pattern
def measuring_values(pattern: Pattern) -> list[Value]:
    """The values of a pattern that tell a rate or a time."""
    return [value for value in pattern.values if value.quantity in MEASURING]


def why_uncarried(measured: Measured, verdict: Verdict) -> str:
    """Why single steps, printed one in several, give no number: nothing else in the log agrees with them."""
    count, note = measured.segment.count, measured.basis.note
    if count.firsts:
        return "each line tells of its last step only, the first of its epoch, in which the reading of data begins"
    if measured.basis.value.span != "last" or verdict.corroborated or measured.segment.prints_every_step:
        return ""
    if count.interval == 1 and not note:
        tally = measured.segment.tally
        return f"each line tells of its last step only, and {tally.gaps} of {tally.printed + tally.gaps} are missing"
    if not count.interval and not note:
        return ""
    if count.keyless:
        return "each line tells of its last step only, and nothing in the log says which steps are printed"
    lacking = "nothing else in the log says how long the others took"
    if not count.interval:  # one line in each epoch
        return f"{note}, and {lacking}"
    return f"each line tells of its last step only, so that 1 of {count.interval:g} steps is measured, and {lacking}"


class _SampledLines(Struct, frozen=True):
    """The sampled lines of a pattern in the whole log, (k,) each: number, text, place of the match in it, columns."""

    lines: np.ndarray
    texts: tuple[bytes, ...]
    places: tuple[int, ...]
    columns: Mapping[str, Floats]

    @classmethod
    def of(cls, reading: Reading, pattern: Pattern) -> _SampledLines:
        parts: list[Samples] = reading.samples.get(pattern.key, [])
        if len(parts) == 1:
            return cls(parts[0].line, parts[0].text, parts[0].place, parts[0].columns)
        names = set.intersection(*(set(part.columns) for part in parts)) if parts else set()
        lines = np.concatenate([part.line for part in parts]) if parts else np.empty(0, dtype=np.int64)
        texts = [text for part in parts for text in part.text]
        places = [place for part in parts for place in part.place]
        kept = min(len(lines), MOST)  # as many as of a log that is read at once: blocks may not change a verdict
        picks = (np.arange(kept) * (len(lines) - 1)) // max(kept - 1, 1)
        return cls(
            lines[picks],
            tuple(texts[pick] for pick in picks.tolist()),
            tuple(places[pick] for pick in picks.tolist()),
            {name: np.concatenate([part.columns[name] for part in parts])[picks] for name in sorted(names)},
        )

    def some(self, count: int) -> list[int]:
        """The places of so many samples, evenly spread, the last among them."""
        return sorted({round(part * (len(self.lines) - 1) / max(count - 1, 1)) for part in range(count)})

    def text(self, place: int) -> str:
        """A line's part with the match: from where a terminal last drew it anew up to where it next would."""
        text = self.texts[place]
        return text[_drawn_from(text, self.places[place]) :].decode("utf-8", "replace").split("\r")[0]

    def heads(self, places: Iterable[int], literal: bytes) -> list[bytes]:
        """What stands in that part of some lines before a pattern's literal."""
        chosen = list(places)
        return heads_of([self.texts[place] for place in chosen], [self.places[place] for place in chosen], literal)


def heads_of(texts: Sequence[bytes], matches: Sequence[int], literal: bytes) -> list[bytes]:
    """What stands on each line before a pattern's literal, from where a terminal last drew it anew.

    Args:
        matches: where the pattern matches in each line.
    """
    ends = [
        match if text.startswith(literal, match) else text.find(literal, match)
        for text, match in zip(texts, matches, strict=True)
    ]
    whole = b"".join(texts)
    if b"\r" not in whole and b"\b" not in whole:
        return [text[:end] if end >= 0 else text for text, end in zip(texts, ends, strict=True)]
    starts = [_drawn_from(text, match) for text, match in zip(texts, matches, strict=True)]
    return [text[start : end if end >= 0 else None] for text, start, end in zip(texts, starts, ends, strict=True)]


def _drawn_from(text: bytes, match: int) -> int:
    """Where a line's text begins that a terminal drew with a place in it."""
    if b"\r" not in text and b"\b" not in text:
        return 0
    start = text.rfind(b"\r", 0, match) + 1
    return max(start, text.rfind(b"\b", start, match) + 1)


def _exact(marks: Marks, samples: _SampledLines) -> tuple[Marks, np.ndarray]:
    """(the marks at sampled lines themselves, which samples they are)."""
    places = samples.lines.searchsorted(marks.lines)
    if len(places) and places[-1] < len(samples.lines) and (samples.lines[places] == marks.lines).all():
        return marks, places
    inside = places < len(samples.lines)
    inside[inside] = samples.lines[places[inside]] == marks.lines[inside]
    chosen = Marks(marks.lines[inside], marks.end[inside], marks.covers[inside], marks.time[inside],
                   marks.work[inside], marks.own[:, inside])  # fmt: skip
    return chosen, places[inside]


def _clock(
    reading: Reading, measured: Measured, marks: Marks, samples: _SampledLines, picked: np.ndarray, job: Job
) -> Witness | None:
    """The clock of the measured lines, or of the lines that tell their steps; None where no line tells its step.

    It speaks of the throughput where the work of a step is known by more than the measured numbers themselves.
    """
    if measured.segment.count.keyless:
        return None
    about, scale, certain = terms_of_clock(measured, job)
    sampled = measured.basis.value.span == "last" and measured.segment.count.interval > 1
    literal = measured.pattern.literal.encode()
    moments = [moment_by_shape(head) for head in samples.heads(picked.tolist(), literal)]
    if sum(moment is not None for moment in moments) < 2 and measured.pattern.position:
        position = reading.patterns.get(f"{measured.pattern.parser}.{measured.pattern.position}")
        if position is None:
            return None
        heads = _SampledLines.of(reading, position)
        found = survey(measured.segment, measured.taken, heads.lines)
        marks = found.marks
        moments = [_moment_before(heads, int(line), position.literal.encode()) for line in marks.lines]
    witness = clock_witness(marks, moments, scale, about, job.factors, sampled, certain, reading.pause_lines)
    stated = about == "throughput" and not certain and job.accumulation > 1
    if stated and scale is not None and witness is not None and witness.agreement not in ("agrees", "slower"):
        scale *= job.accumulation  # a factor that the log states comes before a contradiction
        of_all = clock_witness(marks, moments, scale, about, job.factors, sampled, certain, reading.pause_lines)
        if of_all is not None and of_all.agreement in ("agrees", "slower"):
            micro_batches = f"a step is {job.accumulation:g} micro-batches, as the log states"
            remark = f"{of_all.name} goes with the rate where {micro_batches}"
            witness = replace(of_all, remark="; ".join(filter(None, (remark, of_all.remark))))
        elif of_all is not None and of_all.agreement == "doubts":
            witness = of_all
    return witness if witness is None or about != "throughput" else as_throughput(witness, measured)


def terms_of_clock(measured: Measured, job: Job) -> tuple[About, float | None, bool]:
    """(what the clock speaks of, what turns the measured time into seconds, whether the work of a step is certain)."""
    rated = measured.basis.is_rate and not measured.basis.real_time and measured.scale != 1.0
    certain = not rated or job.certain or kind(measured.unit) == "tokens"
    work, multiplier = job.work(kind(measured.unit)), job.multiplier(measured.basis.value.scope)
    if rated and work and multiplier:
        return "throughput", work / multiplier, certain
    return "time per step", measured.scale, certain


def as_throughput(witness: Witness, measured: Measured) -> Witness:
    """A time per step that was made of a rate and the work of a step, as the rate that was printed."""
    value = measured.taken.estimate.value * measured.factor
    told = value * witness.measured / witness.told
    return Witness(
        witness.name, witness.about, measured.unit, value, told, witness.agreement, witness.lines, witness.remark
    )


def _moment_before(heads: _SampledLines, line: int, literal: bytes) -> Moment | None:
    place = int(np.searchsorted(heads.lines, line, "right")) - 1
    return moment_by_shape(heads.heads([place], literal)[0]) if place >= 0 else None


def job_of(question: Question) -> Job:
    """What is known of a run's job without the numbers that it is held against."""
    return _job(question.measured, _as_stated(question.reading, question.metadata))


def _as_stated(reading: Reading, metadata: Metadata) -> Metadata:
    """The metadata without batch sizes that come of the very numbers on the lines that they would be held against."""
    of_log = [key for key in _BATCHES if metadata.sources.get(key) == "log"]
    if not of_log:
        return metadata
    stated = {key for fact in reading.facts if fact.pattern.role == "metadata" for key in fact.fields}
    own = {key for key in of_log if key not in stated}
    return replace(metadata, values={key: value for key, value in metadata.values.items() if key not in own})


def _job(measured: Measured, metadata: Metadata) -> Job:
    counts = {scope: scope_multiplier(scope, metadata)[0] for scope in ("rank", "device", "node", "unknown")}
    multipliers = {scope: count for scope, count in counts.items() if count}
    accumulation = whole_count(str(metadata.values.get("gradient_accumulation_steps", "")))
    factors = [*FACTORS, measured.segment.count.interval, *multipliers.values()]
    if accumulation is not None:
        factors.append(float(accumulation))
    certain = metadata.integer("global_batch_size") is not None
    stated = accumulation if metadata.sources.get("gradient_accumulation_steps") == "log" else None
    return Job(global_batch(metadata), tokens_per_step(metadata), multipliers, factors, certain, float(stated or 1))


def _roundings(measured: Measured, samples: _SampledLines, found: Survey) -> dict[str, tuple[float, float]]:
    """By measuring group: (what rounding may hide of one number, of the window's mean), as shares.

    Groups of which it hides little are left out.
    """
    values = measuring_values(measured.pattern)
    coarse = [v for v in values if v.group in samples.columns and _looks_coarse(samples.columns[v.group])]
    if not coarse:
        return {}
    lines = [(place, read_line(measured.pattern, samples.text(place))) for place in samples.some(READ_AGAIN)]
    used, whole = measured.taken.estimate.used, found.totals.time / measured.taken.estimate.time
    inside = (samples.lines >= measured.taken.first_line) & (samples.lines <= measured.taken.last_line)
    shares = {}
    for value in coarse:
        column = samples.columns[value.group]
        known = [(text, place) for place, read in lines if read is not None and (text := read.get(value.group))]
        known = [(text, place) for text, place in known if math.isfinite(column[place])]
        printed = [text for text, _ in known]
        numbers = [float(column[place]) for _, place in known]
        share = number_share(printed, numbers)
        if value.span == "cumulative":  # the window's time is the difference of two totals, each with its last digit
            mean = total_share(printed, numbers) * max(2 * whole - 1, 1.0)
        else:
            mean = mean_share(share, column[inside & np.isfinite(column)].tolist(), used)
        shares[value.group] = share, mean
    return shares


def _looks_coarse(numbers: Floats) -> bool:
    """Whether numbers have so few decimals that rounding may hide more than ``COARSE`` of them."""
    known = [abs(number) for number in numbers.tolist() if number and math.isfinite(number)]
    decimals = decimals_of(known, MOST_DECIMALS)
    return bool(known) and decimals is not None and 0.5 * 10.0**-decimals / median(known) > COARSE
