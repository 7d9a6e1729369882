"""Many runs' numbers held against the other statements of their logs: plain logs of one format together.

Where all that a plain log says agrees, its evidence is made with that of the others; any other log is looked at alone
(:mod:`perflog.runs.corroborate`). Both ways give the same to the last bit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perflog.evidence.clock import UNDECIDED, Said, clocks, moments_of
from perflog.evidence.line import Job, Jobs, Lines, line_witnesses
from perflog.evidence.survey import (
    ManyMarks,
    Ruling,
    falls,
    heaviest_of,
    is_off,
    middle_rate,
    rates_of,
    ruling_records,
    slow_of,
    total_rate,
)
from perflog.evidence.witness import Witness, judged
from perflog.formats.parser import Value
from perflog.matching.matches import Samples
from perflog.measurements.rows import Floats, Ints, Mask
from perflog.runs.corroborate import (
    COARSE,
    MOST_DECIMALS,
    Evidence,
    Question,
    as_throughput,
    evidence_of,
    heads_of,
    job_of,
    measuring_values,
    other_values,
    sums_means,
    terms_of_clock,
)
from perflog.stats.arrays import middle

#: Fewer logs of one kind are looked at one by one, which takes no longer.
LEAST_LOGS = 3


#: More than the number of any line of a log that is read with others.
_LINES = 2.0**32


class _Log(NamedTuple):
    """A log that may be plain.

    Attributes:
        question: whose it is.
        samples: the sampled lines of the whole log; those from ``low`` to ``high`` lie inside the window.
        rows: all its measurements, (fields, n).
    """

    question: Question
    samples: Samples
    low: int
    high: int
    rows: Floats


class _Located(NamedTuple):
    """Where the windows and the sampled lines inside them are among the measurements of ``n`` logs.

    Attributes:
        first, end: of each log's window among its measurements, (n,).
        places: of its ``k`` sampled lines among them, (n, k).
        is_plain: whether each sampled line is a measured one, (n,).
    """

    first: Ints
    end: Ints
    places: Ints
    is_plain: Mask


def evidence_of_all(questions: Sequence[Question]) -> list[Evidence]:
    """What :func:`perflog.runs.corroborate.evidence_of` gives for each question."""
    evidence: list[Evidence | None] = [None] * len(questions)
    groups: dict[object, list[tuple[int, _Log]]] = {}
    for place, question in enumerate(questions if len(questions) >= LEAST_LOGS else ()):
        log = _plain(question)
        if log is not None:
            groups.setdefault(_kind(log), []).append((place, log))
    for members in groups.values():
        if len(members) >= LEAST_LOGS:
            together = _together([log for _, log in members])
            for (place, _), evidence_of_log in zip(members, together, strict=True):
                evidence[place] = evidence_of_log
    return [
        evidence_of(question) if answer is None else answer
        for question, answer in zip(questions, evidence, strict=True)
    ]


def _kind(log: _Log) -> object:
    """What logs share that are looked at together."""
    measured = log.question.measured
    sizes = len(log.samples.line), log.high - log.low, len(log.rows)
    # of one catalogue, so that a value is one object in all logs
    return measured.pattern.key, id(measured.basis.value), tuple(log.samples.columns), sizes, measured.estimator


def _others(log: _Log) -> tuple[Value, ...]:
    return tuple(value for value in other_values(log.question.measured) if value.group in log.samples.columns)


def _plain(question: Question) -> _Log | None:
    """A log that may be looked at with others; None for one that is not plain."""
    measured, pattern = question.measured, question.measured.pattern
    parts = question.reading.samples.get(pattern.key, ())
    special = question.accounts or pattern.position or measured.segment.count.keyless
    if len(parts) != 1 or special or measured.basis.value.is_clock:
        return None
    rows = measured.segment.store.whole
    if rows is None or measured.segment.last_line >= _LINES or (sums_means(measured.basis.value) and falls(rows)):
        return None
    samples, taken = parts[0], measured.taken
    lines = samples.line.tolist()
    low, high = bisect_left(lines, taken.first_line), bisect_right(lines, taken.last_line)
    return _Log(question, samples, low, high, rows) if low < high else None


def _located(logs: Sequence[_Log]) -> _Located:
    """The windows and sampled lines of logs of one kind, looked up in all logs at once."""
    counts = np.array([log.rows.shape[1] for log in logs])
    begin, apart = counts.cumsum() - counts, np.arange(len(logs)) * _LINES
    measured = np.concatenate([log.rows[5] for log in logs])
    keys = measured + np.repeat(apart, counts)
    windows = [log.question.measured.taken for log in logs]
    first = keys.searchsorted(np.array([window.first_line for window in windows]) + apart)
    end = keys.searchsorted(np.array([window.last_line + 1 for window in windows]) + apart)
    lines = np.array([log.samples.line[log.low : log.high] for log in logs])
    places = keys.searchsorted(lines + apart[:, np.newaxis])
    held = np.array([window.estimate.used + window.estimate.dropped for window in windows])
    inside = (first < end) & (places[:, -1] < end) & (end - first == held)  # else a line holds more than the window
    is_plain = inside & (measured[np.minimum(places, len(keys) - 1)] == lines).all(axis=1)
    return _Located(first - begin, end - begin, places - begin[:, np.newaxis], is_plain)


def _marks_at(logs: Sequence[_Log], located: _Located) -> tuple[ManyMarks, list[tuple[Ruling | None, float]]]:
    """(the measurements of plain logs at their sampled lines; of each number the slow records that rule it, and
    another estimate of the records as a multiple of it where the two differ, else 0).
    """
    at, sums, rulings = [], [], []
    bounds = located.first.tolist(), located.end.tolist()
    for log, first, end, places in zip(logs, *bounds, located.places, strict=True):
        inside, measured = log.rows[:, first:end], log.question.measured
        at.append(log.rows.take(places, axis=1))
        sums.append(inside[2:4].cumsum(axis=1).take(places - first, axis=1))
        estimate, ruling, ratio = measured.taken.estimate, None, 0.0
        if measured.estimator == "total":
            heaviest = heaviest_of(inside, estimate.time)
            throughput = estimate.value * measured.factor
            slow = slow_of(inside, measured.taken)
            ruling = ruling_records(heaviest, slow, estimate.used, estimate.time, estimate.work, throughput)
            if not sums_means(measured.basis.value) and estimate.value > 0:
                ratio = middle_rate(rates_of(inside)) / estimate.value
        elif estimate.value > 0:
            ratio = total_rate(inside[4], inside[3]) / estimate.value
        rulings.append((ruling, ratio if is_off(ratio) else 0.0))
    return ManyMarks.of(np.array(at), np.array(sums)), rulings


def _together(logs: Sequence[_Log]) -> list[Evidence | None]:
    """The evidence of logs of one kind, (n,); None for those that have to be looked at alone."""
    located = _located(logs)
    if not located.is_plain.all():
        plain = located.is_plain.tolist()
        answers = iter(
            _together([log for log, is_plain in zip(logs, plain, strict=True) if is_plain]) if any(plain) else ()
        )
        return [next(answers) if is_plain else None for is_plain in plain]
    marks, rulings = _marks_at(logs, located)
    measured = logs[0].question.measured
    low_digits = np.zeros(len(logs), dtype=bool)
    for value in measuring_values(measured.pattern):
        if value.group in logs[0].samples.columns:
            column = np.array([log.samples.columns[value.group] for log in logs])
            low_digits |= ~none_coarse(column, MOST_DECIMALS, COARSE)
    jobs = [job_of(log.question) for log in logs]
    by_clock, by_lines = _clocks(logs, marks, jobs), [list[Witness]() for _ in logs]
    others = _others(logs[0])
    if others:
        base = measured.basis.value
        names = {base.group, *(value.group for value in others)} & set(logs[0].samples.columns)
        columns = {name: np.array([log.samples.columns[name][log.low : log.high] for log in logs]) for name in names}
        scale = np.array([np.nan if (s := log.question.measured.scale) is None else s for log in logs])
        by_lines = line_witnesses(Lines(base, scale, marks, columns, [{}] * len(logs), Jobs.of(jobs)), others)
    return [
        None if is_low or clock == UNDECIDED
        else Evidence(judged(of_lines if clock is None else [clock, *of_lines]), ruling, 0.0, other=other)
        for (ruling, other), is_low, clock, of_lines in zip(
            rulings, low_digits.tolist(), by_clock, by_lines, strict=True
        )
    ]  # fmt: skip


def _clocks(logs: Sequence[_Log], marks: ManyMarks, jobs: Sequence[Job]) -> list[Said]:
    """What the stamps on the logs' lines say, (n,)."""
    literal = logs[0].question.measured.pattern.literal.encode()
    texts = [text for log in logs for text in log.samples.text[log.low : log.high]]
    heads = heads_of(texts, [place for log in logs for place in log.samples.place[log.low : log.high]], literal)
    moments = moments_of(heads)
    kinds = moments.kind.reshape(marks.lines.shape)
    resolutions = np.array([*(kind.resolution for kind in moments.kinds), np.nan])
    terms = [terms_of_clock(log.question.measured, job) for log, job in zip(logs, jobs, strict=True)]
    scale = np.array([np.nan if scale is None else scale for _, scale, _ in terms])
    said = clocks(
        marks, moments.seconds.reshape(marks.lines.shape), resolutions[kinds[:, 0]], scale, [term[0] for term in terms]
    )
    stamped = np.asarray((kinds >= 0).any(axis=1)).tolist()
    alike = np.asarray((kinds == kinds[:, :1]).all(axis=1)).tolist()
    return [
        None if not is_stamped else _spoken(witness, log) if are_alike else UNDECIDED
        for log, witness, is_stamped, are_alike in zip(logs, said, stamped, alike, strict=True)
    ]


def _spoken(said: Said, log: _Log) -> Said:
    """What a log's clock says, of the throughput where it speaks of that."""
    if isinstance(said, Witness) and said.about == "throughput":
        return as_throughput(said, log.question.measured)
    return said


def none_coarse(numbers: Floats, most: int, share: float) -> Mask:
    """Whether rounding certainly hides less than a share of the numbers of each log, by their decimals, (n,).

    Args:
        numbers: as they were read, (n, k).
        most: numbers with more decimals are rounded by less than matters.
    """
    sizes = np.abs(numbers)
    with np.errstate(all="ignore"):
        usable = (np.isfinite(sizes) & (sizes > 0) & (sizes < 2.0**51 / 10.0**most)).all(axis=1)
        typical = middle(sizes)
        fine = np.ones(len(numbers), dtype=bool)
        for decimals in range(most, -1, -1):
            # a whole number over a power of ten is the double that is nearest to the decimal
            has_no_more = (np.rint(sizes * 10.0**decimals) / 10.0**decimals == sizes).all(axis=1)
            fine &= ~has_no_more | (0.5 * 10.0**-decimals / typical <= share)
    return np.asarray(usable & fine)
