"""The witnesses of many logs of one format at once, where all that they say agrees: nearly always.

A log for which something else comes out is left to :mod:`clock` and :mod:`line`, which look at it alone. Where a
witness is given here, it is the one that they give, to the last bit; a property holds the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from perflog.evidence import clock, line
from perflog.evidence.line import Job
from perflog.evidence.witness import About, Agreement, Witness
from perflog.formats.moments import DAY
from perflog.formats.parser import Value
from perflog.formats.printed import kind, rate_unit, seconds_in
from perflog.measurements.rows import Floats, Ints, Mask

#: A log that has to be looked at alone.
UNDECIDED: Literal["undecided"] = "undecided"
#: What one quantity of a log says: a witness, or nothing; or the log has to be looked at alone.
Said = Witness | None | Literal["undecided"]


class ManyMarks(Struct, frozen=True):
    """Measurements at ``k`` lines of each of ``n`` logs, in order.

    Attributes:
        lines: their line numbers, (n, k).
        end: the step that each ends with, counted over the run, (n, k).
        covers, time: sums over the window up to and with each, (n, k), in the store's units.
        own: covers and time of each alone, (2, n, k).
        places: the first and the last line of each log's, (n,).
    """

    lines: Ints
    end: Floats
    covers: Floats
    time: Floats
    own: Floats
    places: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, at: Floats, sums: Floats) -> ManyMarks:
        """The marks of logs: the store's fields at them, (n, fields, k), the sums of covers and time, (n, 2, k)."""
        lines = at[:, 5].astype(np.int64)
        places = list(zip(lines[:, 0].tolist(), lines[:, -1].tolist(), strict=True))
        return cls(lines, at[:, 1], sums[:, 0], sums[:, 1], at[:, 2:4].transpose(1, 0, 2), places)


class Jobs(Struct, frozen=True):
    """What is known of ``n`` jobs, each by itself and as columns (n, 1) with NaN for what is unknown."""

    each: Sequence[Job]
    batch: Floats
    tokens: Floats
    multipliers: Mapping[str, Floats]

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> Jobs:
        scopes = {"job", *(scope for job in jobs for scope in job.multipliers)}
        return cls(
            jobs,
            _column([job.batch for job in jobs]),
            _column([job.tokens for job in jobs]),
            {scope: _column([job.multiplier(scope) for job in jobs]) for scope in scopes},
        )

    def work(self, what: str) -> Floats:
        """Work in one step, of the kind that is counted, (n, 1)."""
        unknown = np.full(self.batch.shape, np.nan)
        return {"items": self.batch, "tokens": self.tokens, "steps": np.ones(self.batch.shape)}.get(what, unknown)

    def multiplier(self, scope: str) -> Floats:
        """How many of a scope make up each job, (n, 1)."""
        return self.multipliers.get(scope, np.full(self.batch.shape, np.nan))


def _column(numbers: Sequence[float | None]) -> Floats:
    return np.array([[np.nan if number is None else number] for number in numbers], dtype=np.float64)


def clocks(marks: ManyMarks, seconds: Floats, resolution: Floats, scale: Floats, abouts: Sequence[About]) -> list[Said]:
    """Hold each log's time per step against its lines' stamps (see :func:`clock.clock_witness`), (n,).

    Args:
        seconds: the stamps at the marks, all of one form in a log, (n, k).
        resolution: of each log's stamps, in seconds, (n,).
        scale: what turns the marks' time into seconds, (n,); NaN where that is unknown.
    """
    if seconds.shape[1] < 2:
        return [None] * len(seconds)
    with np.errstate(all="ignore"):
        steps, covers, passed, times = (np.diff(part) for part in (marks.end, marks.covers, seconds, marks.time))
        measured = times * scale[:, np.newaxis] / covers * steps
        comparable = _throughout((steps > 0) & (covers > 0) & (passed >= 0) & (passed < DAY))
        whole = [part.cumsum(axis=1)[:, -1] for part in (steps, measured, passed)]  # added one by one, as there
        ratio = whole[2] / whole[1]
        enough = (whole[2] > 0) & (whole[1] > 0) & (np.maximum(whole[1], whole[2]) >= 4 * resolution)
        near = np.abs(ratio - 1) <= clock.TOLERANCE
        per_step = whole[1] / whole[0]
        told = per_step * ratio
    said: list[Said] = []
    rows = (comparable, enough, near, np.isnan(scale), per_step, told)
    for place, about, comparable_, enough_, near_, unknown, mine, its in zip(
        marks.places, abouts, *(row.tolist() for row in rows), strict=True
    ):
        if unknown or (comparable_ and not enough_):
            said.append(None)
        elif comparable_ and near_:
            said.append(Witness(clock.NAME, about, "s", mine, its, "agrees", place))
        else:
            said.append(UNDECIDED)
    return said


def second_values(
    base: Value, value: Value, scale: Floats, marks: ManyMarks, columns: Mapping[str, Floats], jobs: Jobs
) -> list[Said]:
    """Hold another number on the lines against the one that is taken (see :func:`line.line_witnesses`), (n,).

    Args:
        base: the value that the measurements stand on.
        scale: how many times its stored time is a second, (n,); NaN where that is unknown.
        columns: the printed numbers at the marks by group, those of both values among them, (n, k) each; none is
            rounded by so much that it matters.
    """
    if value.quantity == "elapsed":
        return [UNDECIDED] * len(scale)
    same_span = base.coverage == value.coverage
    with np.errstate(all="ignore"):
        told = _seconds_per_step(value, columns[value.group], marks.own[0], jobs)
        if same_span:
            seconds = _seconds_per_step(base, columns[base.group], marks.own[0], jobs)
        elif "cumulative" in (value.span, base.span):
            if not line.compares_last(base, value) or told.shape[1] < line.LEAST_LAST:
                return [None] * len(scale)
            time, covers = (part[:, -1] - part[:, 0] for part in (marks.time, marks.covers))
            far = line.far_off(time / covers * scale, told).tolist()
            return [UNDECIDED if is_far else None for is_far in far]
        else:
            seconds = marks.own[1] / marks.own[0] * scale[:, np.newaxis]
        comparable = ~(_throughout(~np.isfinite(told)) | _throughout(~np.isfinite(seconds)))
        ratios = told / seconds
    tolerance = line.SAME_SPAN if same_span else line.OTHER_SPAN
    said = _compared(base, value, marks, ratios, seconds, jobs, tolerance) if comparable.any() else []
    products = _products(base, value, marks, columns, jobs) if same_span and not comparable.all() else []
    return [
        said[log] if is_comparable else products[log] if products else None
        for log, is_comparable in enumerate(comparable.tolist())
    ]


def _seconds_per_step(value: Value, printed: Floats, covers: Floats, jobs: Jobs) -> Floats:
    """What a value says of the time per step, (n, k); NaN where that needs a batch size that is not known."""
    if value.quantity == "step_time":
        return printed * seconds_in(value.unit)
    if value.quantity == "interval_time":
        return printed * seconds_in(value.unit) / covers
    parsed = rate_unit(value.unit)
    if parsed is None:
        return np.full(printed.shape, np.nan)
    return jobs.work(kind(parsed[0])) / (printed * parsed[1] * jobs.multiplier(value.scope))


def _compared(
    base: Value, value: Value, marks: ManyMarks, ratios: Floats, seconds: Floats, jobs: Jobs, tolerance: float
) -> list[Said]:
    """Two numbers that both tell the time per step: ``seconds`` of the base, (n, k), and ``ratios`` of the other's."""
    with np.errstate(all="ignore"):
        usable = _throughout(np.isfinite(ratios) & (ratios > 0))
    typical, measured = _medians(ratios), _medians(seconds)
    works = _work_of(base, jobs), _work_of(value, jobs)
    alone = f"{value.group} on the lines"
    by_base = f"{value.group} times {base.group} on the lines"
    by_value = f"{base.group} times {value.group} on the lines"
    said: list[Said] = []
    rows = (usable.tolist(), typical.tolist(), measured.tolist(), works[0][0], works[1][0])
    for place, is_usable, ratio, mine, base_work, its_work in zip(marks.places, *rows, strict=True):
        if not is_usable or not 1 - tolerance <= ratio <= 1 / (1 - tolerance):
            said.append(UNDECIDED)
        elif (base_work is None) == (its_work is None):
            said.append(Witness(alone, "time per step", "s", mine, mine * ratio, "agrees", place))
        elif base_work is not None:
            said.append(
                Witness(by_base, "work per step", works[0][1], float(base_work), base_work * ratio, "agrees", place)
            )
        elif its_work is not None:
            said.append(
                Witness(by_value, "work per step", works[1][1], float(its_work), its_work / ratio, "agrees", place)
            )
    return said


def _work_of(value: Value, jobs: Jobs) -> tuple[list[float | None], str]:
    """(the work of a step without which a rate tells no time per step, (n,), its unit); None for other numbers."""
    parsed = rate_unit(value.unit) if value.quantity == "rate" else None
    if parsed is None or kind(parsed[0]) == "steps":
        return [None] * len(jobs.each), ""
    return [job.work(kind(parsed[0])) for job in jobs.each], parsed[0].partition("/")[0]


def _products(base: Value, value: Value, marks: ManyMarks, columns: Mapping[str, Floats], jobs: Jobs) -> list[Said]:
    """Rate times time where no batch size is known (see :func:`line.line_witnesses`), (n,)."""
    logs = len(marks.lines)
    rate, time = (base, value) if base.quantity == "rate" else (value, base)
    parsed = rate_unit(rate.unit) if rate.quantity == "rate" else None
    if parsed is None or kind(parsed[0]) == "steps" or time.quantity == "rate":
        return [None] * logs
    multiplier = jobs.multiplier(rate.scope)
    with np.errstate(all="ignore"):
        seconds = _seconds_per_step(time, columns[time.group], marks.own[0], jobs)
        products = columns[rate.group] * parsed[1] * np.where(np.isnan(multiplier), 1.0, multiplier) * seconds
        usable = _throughout(np.isfinite(products) & (products > 0))
        typical = _medians(products)
        constant = _throughout(np.abs(products / typical[:, np.newaxis] - 1) <= line.CONSTANT)
        off = np.abs(typical - np.rint(typical)) / typical
        decided = usable & (typical >= 1 - 2 * line.CONSTANT) & ~(constant & (off > 2 * line.CONSTANT))
    if products.shape[1] < line.LEAST_PRODUCTS:
        return [None if is_usable else UNDECIDED for is_usable in usable.tolist()]
    name, unit = f"{time.group} times {rate.group} on the lines", parsed[0].partition("/")[0]
    said: list[Said] = []
    agrees = (constant & (off <= line.CONSTANT)).tolist()
    for place, is_decided, work, does_agree in zip(
        marks.places, decided.tolist(), typical.tolist(), agrees, strict=True
    ):
        agreement: Agreement = "agrees" if does_agree else "silent"
        told = float(round(work)) or 1.0 if is_decided else 0.0
        said.append(Witness(name, "work per step", unit, work, told, agreement, place) if is_decided else UNDECIDED)
    return said


def _throughout(mask: Mask) -> Mask:
    """Whether a mask (n, k) holds throughout each row, (n,)."""
    return np.asarray(mask.all(axis=1))


def _medians(numbers: Floats) -> NDArray[np.float64]:
    """What :func:`perflog.stats.centre.median` gives for each row, (n,)."""
    ordered = np.sort(numbers, axis=1)
    middle = numbers.shape[1] // 2
    if numbers.shape[1] % 2:
        return np.asarray(ordered[:, middle])
    return np.asarray((ordered[:, middle - 1] + ordered[:, middle]) / 2)


def none_coarse(numbers: Floats, most: int, share: float) -> Mask:
    """Whether rounding certainly hides less than a share of the numbers of each log, by their decimals, (n,).

    Args:
        numbers: as they were read, (n, k).
        most: numbers with more decimals are rounded by less than matters.
    """
    sizes = np.abs(numbers)
    with np.errstate(all="ignore"):
        usable = _throughout(np.isfinite(sizes) & (sizes > 0) & (sizes < 2.0**51 / 10.0**most))
        typical = _medians(sizes)
        fine = np.ones(len(numbers), dtype=bool)
        for decimals in range(most, -1, -1):
            # a whole number over a power of ten is the double that is nearest to the decimal
            has_no_more = _throughout(np.rint(sizes * 10.0**decimals) / 10.0**decimals == sizes)
            fine &= ~has_no_more | (0.5 * 10.0**-decimals / typical <= share)
    return usable & fine
