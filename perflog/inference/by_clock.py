"""Readings that the clock of the lines bears out: a stamp at each, or a time that has elapsed."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace as with_fields

from perflog.formats.printed import kind, rate_unit, seconds_in
from perflog.inference.candidate import LEAST_ROWS, Candidate, Sight, candidate_of, counter_of, pasted
from perflog.inference.formats import Value
from perflog.inference.means import is_smoothed
from perflog.inference.measures import Meaning
from perflog.inference.series import (
    LEAST_LENGTH,
    SAME,
    Series,
    counted_steps,
    digit_of,
    is_no_whole,
    is_of_steps,
    merged,
    product_of,
    steady,
)
from perflog.inference.told import Batch, Told
from perflog.measurements.rows import Floats
from perflog.stats.arrays import middle

#: Two rates in one unit are of one thing where neither is so many times the other.
RIVALS = 1.1
#: The first of so many parts of the lines are their beginning; what is so far from the clock, as a share, is not by it.
BEGINNING, FAR_OFF = 5, 0.1


def with_clock(series: Series, counts_steps: bool, sight: Sight) -> Generator[Candidate, None, bool]:
    """Readings that the clock of the lines bears out: rates of work first, then times, then the clock itself.

    Returns:
        Whether the clock is too coarse for single lines, so that their numbers are read without it too: it is a witness
        of theirs all the same.
    """
    assert series.clock_value is not None
    name = "the clock of the lines" if series.clock_value.quantity == "timestamp" else f"{series.clock_value.text!r}"
    works = [m for m in series.columns.of_kind("rate") if m.unit and not is_of_steps(m)]
    borne = [one for m in works for one in [_rate_by_clock(series, m)] if one is not None
             and sight.told.may_be_work(m, one.work) and not _is_of_part(series, m)]  # fmt: skip
    if rivals_of(series, [one.value.meaning for one in borne]):
        borne = []
    agreeing = [
        one._replace(value=with_fields(one.value, meaning=rate))
        for one in borne if (rate := sight.told.of_whose(one.value.meaning, one.work)) is not None
    ]  # fmt: skip
    times = [value for m in series.columns.measures if m.kind == "duration" or (m.kind == "rate" and is_of_steps(m))
             for value in [_time_by_clock(series, m)] if value is not None]  # fmt: skip
    clock = [series.clock_value] if series.clock_value.quantity != "timestamp" else []
    if agreeing:
        value, how, _ = agreeing[0]
        alike = [time for time in times if time.span == value.span]
        yield candidate_of(
            series,
            [value, *alike, *clock],
            [f"counter {counter_of(series)}", f"{name} agrees with {value.text!r} ({how})"],
        )
    counts_steps = (
        counts_steps or any(value.quantity != "interval_time" for value in times)
        or any(_sums_to_clock(series, meaning) for meaning in series.columns.measures)
    )  # fmt: skip
    if times and counts_steps:
        yield candidate_of(
            series, [*times, *clock], [f"counter {counter_of(series)}", f"{name} agrees with {times[0].text!r}"]
        )
    if counts_steps and not times and not agreeing and series.is_coarse:
        yield candidate_of(series, [series.clock_value], [f"counter {counter_of(series)}", name])
        return True
    if not counts_steps:
        batch = _batch_of(series, sight.told)
        if batch is not None:
            counted = f"it counts samples by whole batches of {batch.size:g}, as the log tells"
            found = candidate_of(series, [series.clock_value], [f"counter {counter_of(series)}", counted, name])
            yield with_fields(found, batch=batch)
            return False
        sight.why = sight.why or (
            f"a counter goes on by {series.every:g} from line to line, and nothing says whether it counts steps or "
            f"samples; if it counts steps, give {pasted(series)}"
        )
        return False
    told = [m for m in series.columns.measures if m.kind != "elapsed" and m.is_named and m.unit]
    if told and not borne and not times:
        sight.why = sight.why or f"{told[0].key or told[0].unit!r} and {name} do not agree"
        return False
    if series.columns.holds_evaluation:
        sight.why = sight.why or f"its lines tell an evaluation's numbers too, which {name} may hold"
        return False
    yield candidate_of(series, [*_work_of(series), series.clock_value], [f"counter {counter_of(series)}", name])
    return False


def _work_of(series: Series) -> list[Value]:
    """The work beside the counter of steps where it is that of simulated environments, which no batch tells."""
    step, work = series.columns.step, series.columns.work
    if step is None or work is None or work.place == step.place or work.unit not in ("env_steps", "frames"):
        return []
    return [Value(work, "samples", "cumulative")]


def _batch_of(series: Series, told: Told) -> Batch | None:
    """The batch of whose samples the counter is; None where it may count steps."""
    total = series.columns.total
    return None if total is None else told.batch_of(series.step, float(series.table.column(total).values[0]))


#: A counter of samples is at least twice one of steps; the clock tells the two apart by a time that is off by so much.
ROUGHLY = 0.1


def _sums_to_clock(series: Series, meaning: Meaning) -> bool:
    """Whether a time of steps, or their rate, gives the time that passed in all, so that the counter counts steps."""
    assert series.clock is not None
    values, known = series.table.column(meaning.place).values, np.isfinite(series.between)
    passed = float(np.nansum(np.diff(series.clock)[known]))
    if passed < LEAST_LENGTH * digit_of(series.clock) or meaning.steps > 1:
        return False
    if meaning.kind == "rate" and is_of_steps(meaning):
        told = [1.0 / (values * (rate_unit(meaning.unit) or ("", 1.0))[1])]
    elif meaning.kind == "duration" and meaning.unit != "clock":
        told = [values * seconds_in(unit) for unit in ([meaning.unit] if meaning.unit else ["s", "ms"])]
    else:
        return False
    sums = [float(np.nansum((seconds[1:] * series.between)[known])) for seconds in told]
    return any(total > 0 and abs(passed / total - 1) <= ROUGHLY for total in sums)


class _Rate(NamedTuple):
    """A rate that the clock bears out, how, and the work of a step by both."""

    value: Value
    how: str
    work: float


def _is_of_part(series: Series, rate: Meaning) -> bool:
    """Whether a rate is of a part of each step: its time stands beside it, and is not the one that passed, or the
    samples of a step by the two are no whole number.
    """
    products = [(time, product_of(series, rate, time)) for time in series.columns.of_kind("duration")]
    beside = [(time, product) for time, product in products if product is not None]
    unit = rate_unit(rate.unit)
    if unit is not None and kind(unit[0]) == "items" and any(is_no_whole(*product) for _, product in beside):
        return True
    return bool(beside) and not series.is_coarse and all(_time_by_clock(series, time) is None for time, _ in beside)


def rivals_of(series: Series, rates: Sequence[Meaning]) -> tuple[Meaning, Meaning] | None:
    """Two rates of a line in one unit that are far from each other, so that one of them is not the training's."""
    for one, other in combinations(rates, 2):
        both = [middle(series.table.column(rate.place).values) for rate in (one, other)]
        if (one.unit, one.scope) == (other.unit, other.scope) and max(both) > RIVALS * min(both):
            return one, other
    return None


def _rate_by_clock(series: Series, meaning: Meaning) -> _Rate | None:
    """A rate of work under the reading that the clock bears out: the work of a step is one number."""
    values = series.table.column(meaning.place).values
    seconds, times = merged(series, series.between / values[1:])  # time for one unit of work a step
    of_interval = steady(seconds / times)
    if of_interval is not None and (not _begins_so(seconds / times, of_interval.centre) or is_smoothed(values)):
        of_interval = None
    grown = np.where(np.isfinite(series.between), np.diff(counted_steps(series) / values), np.nan)
    seconds, times = merged(series, grown)
    of_mean = steady(seconds / times) if (times > 0).all() and not series.falls else None
    if of_mean is not None and (of_interval is None or of_mean.spread < of_interval.spread / 2):
        how = f"a mean since the beginning, {of_mean.centre:.4g} a step"
        return _Rate(Value(meaning, "rate", "cumulative"), how, of_mean.centre)
    if of_interval is not None and _is_borne(series, of_interval.centre * series.between / values[1:]):
        return _Rate(Value(meaning, "rate", "interval"), f"{of_interval.centre:.4g} a step", of_interval.centre)
    return None


def _begins_so(ratios: Floats, usual: float) -> bool:
    """Whether the first lines are as all are: where they are not, they are means of what was before them."""
    return abs(float(middle(ratios[: max(len(ratios) // BEGINNING, 2)])) / usual - 1) <= FAR_OFF


def _is_borne(series: Series, told: Floats) -> bool:
    """Whether the lines that the clock does not bear out leave the speed as it is.

    Args:
        told: the seconds since the line before as the lines tell them, (n - 1,).
    """
    assert series.clock is not None
    known = np.isfinite(told) & (told > 0) & np.isfinite(series.between)
    told, steps = told[known], series.between[known]
    if not len(told) or digit_of(series.clock) > float(middle(told)) * FAR_OFF / 2:
        return True  # the clock tells no single lines apart
    borne = np.abs(np.diff(series.clock)[known] / told - 1) <= FAR_OFF
    if borne.sum() < LEAST_ROWS:
        return True
    of_borne, of_all = (float(steps[part].sum() / told[part].sum()) for part in (borne, slice(None)))
    return abs(of_all / of_borne - 1) <= SAME


def _time_by_clock(series: Series, meaning: Meaning) -> Value | None:
    """A time of steps, or steps per second, under the reading that the clock bears out."""
    values = series.table.column(meaning.place).values
    if meaning.kind == "rate":
        factor = rate_unit(meaning.unit)
        seconds = 1.0 / (values * (factor[1] if factor else 1.0))
        return _reading_by_clock(series, meaning, seconds, per_step=True)
    if meaning.steps == series.every > 1:
        meaning = with_fields(meaning, steps=0)
    for unit in [meaning.unit] if meaning.unit else ["s", "ms"]:
        seconds = values * seconds_in(unit) / max(meaning.steps, 1)
        found = _reading_by_clock(series, with_fields(meaning, unit=unit), seconds, per_step=meaning.steps > 0)
        if found is not None:
            return found
    return None


def _reading_by_clock(series: Series, meaning: Meaning, seconds: Floats, *, per_step: bool) -> Value | None:
    if meaning.steps > 1:
        return None  # the format language has no time of N steps beside the line's own
    is_known = np.isfinite(series.between)
    readings = [("step_time", "interval", seconds[1:] * series.between)]
    if not per_step and series.every > 1:
        readings.append(("interval_time", "interval", np.where(is_known, seconds[1:], np.nan)))
    if not series.falls:
        readings.append(
            ("step_time", "cumulative", np.where(is_known, np.diff(counted_steps(series) * seconds), np.nan))
        )
    able = []
    for quantity, span, total in readings:
        passed, told = merged(series, total)
        ratio = steady(passed / told) if len(told) and (told > 0).all() else None
        if ratio is None or abs(ratio.centre - 1) > SAME or not _begins_so(passed / told, 1.0):
            continue
        if span == "cumulative" or (_is_borne(series, total) and not is_smoothed(seconds)):
            able.append((ratio.spread, quantity, span))
    if not able:
        return None
    spread, quantity, span = able[0]
    if able[-1][0] < spread / 2:
        _, quantity, span = able[-1]
    if span == "interval" and quantity != "interval_time" and series.every == 1:
        span = "last"
    return Value(meaning, "rate" if meaning.kind == "rate" else quantity, span)
