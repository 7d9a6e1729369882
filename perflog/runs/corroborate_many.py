"""Many runs' numbers held against the other statements of their logs: plain logs of one format together.

Where all that a plain log says agrees, its evidence is made with that of the others; any other log is looked at alone
(:mod:`perflog.runs.corroborate`). Both ways give the same to the last bit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perflog.evidence.line import Job
from perflog.evidence.many import UNDECIDED, Jobs, ManyMarks, Said, clocks, none_coarse, second_values
from perflog.evidence.share import ruling_record
from perflog.evidence.stamps import moments_of
from perflog.evidence.survey import heaviest_of
from perflog.evidence.witness import Verdict, Witness
from perflog.formats.parser import Value
from perflog.matching.samples import Samples
from perflog.measurements.rows import Floats
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
    terms_of_clock,
)
from perflog.runs.doubts import CLOCKS

#: Fewer logs of one kind are looked at one by one, which takes no longer.
LEAST_LOGS = 3


class _Log(NamedTuple):
    """A plain log's measurements at its sampled lines inside the window.

    Attributes:
        question: whose it is.
        samples: the sampled lines of the whole log; those from ``low`` to ``high`` lie inside the window.
        at: the store's fields at those, (fields, k); sums: covers and time up to and with each, (2, k).
        ruling: what is said of a measurement that rules the number.
    """

    question: Question
    samples: Samples
    low: int
    high: int
    at: Floats
    sums: Floats
    ruling: str


def evidence_of_all(questions: Sequence[Question]) -> list[Evidence]:
    """What :func:`perflog.runs.corroborate.evidence_of` gives for each question."""
    evidence: list[Evidence | None] = [None] * len(questions)
    groups: dict[object, list[int]] = {}
    logs = [_plain(question) for question in questions] if len(questions) >= LEAST_LOGS else []
    for place, log in enumerate(logs):
        if log is not None:
            groups.setdefault(_kind(log), []).append(place)
    for places in groups.values():
        if len(places) >= LEAST_LOGS:
            for place, found in zip(places, _together([log for p in places if (log := logs[p])]), strict=True):
                evidence[place] = found
    return [
        evidence_of(question) if found is None else found for question, found in zip(questions, evidence, strict=True)
    ]


def _kind(log: _Log) -> object:
    """What logs share that are looked at together."""
    measured = log.question.measured
    columns = tuple(log.samples.columns)
    return measured.pattern.key, measured.basis.value, _others(log), columns, len(log.samples.line), log.high - log.low


def _others(log: _Log) -> tuple[Value, ...]:
    return tuple(value for value in other_values(log.question.measured) if value.group in log.samples.columns)


def _plain(question: Question) -> _Log | None:
    """A log that may be looked at with others; None for one that is not plain."""
    measured, pattern = question.measured, question.measured.pattern
    parts = question.reading.samples.get(pattern.key, ())
    special = question.accounts or pattern.position or measured.segment.count.keyless
    if len(parts) != 1 or special or measured.basis.value.quantity in CLOCKS:
        return None
    samples, taken, estimate = parts[0], measured.taken, measured.taken.estimate
    rows = next(measured.segment.store.blocks(), None)
    if rows is None or rows.shape[1] != measured.segment.store.count:
        return None
    lines = samples.line.tolist()
    low, high = bisect_left(lines, taken.first_line), bisect_right(lines, taken.last_line)
    first, end = rows[5].searchsorted((taken.first_line, taken.last_line + 1)).tolist()
    if low >= high or first >= end:
        return None
    inside = rows[:, first:end]
    places = inside[5].searchsorted(samples.line[low:high])
    if places[-1] >= end - first:
        return None
    at, sums = inside.take(places, axis=1), inside[2:4].cumsum(axis=1).take(places, axis=1)
    if at[5].tolist() != lines[low:high]:
        return None
    ruling = ""
    if measured.estimator == "total":
        throughput = estimate.value * measured.factor
        heaviest = heaviest_of(inside, estimate.time)
        ruling = ruling_record(heaviest, estimate.used, estimate.time, estimate.work, throughput)
    return _Log(question, samples, low, high, at, sums, ruling)


def _together(logs: Sequence[_Log]) -> list[Evidence | None]:
    """The evidence of plain logs of one kind, (n,); None for those that have to be looked at alone."""
    measured = logs[0].question.measured
    low_digits = np.zeros(len(logs), dtype=bool)
    for value in measuring_values(measured.pattern):
        if value.group in logs[0].samples.columns:
            column = np.array([log.samples.columns[value.group] for log in logs])
            low_digits |= ~none_coarse(column, MOST_DECIMALS, COARSE)
    at, sums = np.array([log.at for log in logs]), np.array([log.sums for log in logs])
    marks = ManyMarks.of(at, sums)
    jobs = [job_of(log.question) for log in logs]
    said = [_clocks(logs, marks, jobs)]
    others = _others(logs[0])
    if others:
        base = measured.basis.value
        names = {base.group, *(value.group for value in others)}
        if base.group not in logs[0].samples.columns:
            return [None] * len(logs)
        columns = {name: np.array([log.samples.columns[name][log.low : log.high] for log in logs]) for name in names}
        scale = np.array([np.nan if (s := log.question.measured.scale) is None else s for log in logs])
        known = Jobs.of(jobs)
        said += [second_values(base, value, scale, marks, columns, known) for value in others]
    return [
        None if is_low or UNDECIDED in of_log else Evidence(_verdict(of_log), log.ruling, 0.0)
        for log, is_low, of_log in zip(logs, low_digits.tolist(), zip(*said, strict=True), strict=True)
    ]


def _verdict(said: Sequence[Said]) -> Verdict:
    """The verdict where nothing doubts the number, and no witness says more than its numbers."""
    return Verdict(tuple(witness for witness in said if isinstance(witness, Witness)))


def _clocks(logs: Sequence[_Log], marks: ManyMarks, jobs: Sequence[Job]) -> list[Said]:
    """What the stamps on the logs' lines say, (n,)."""
    literal = logs[0].question.measured.pattern.literal.encode()
    heads = [
        head
        for log in logs
        for head in heads_of(log.samples.text[log.low : log.high], log.samples.place[log.low : log.high], literal)
    ]
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
