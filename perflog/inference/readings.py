"""What the numbers of a table's rows mean: the readings that the log bears out, to be tried as formats.

A rate or a time may be the last step's, a mean of the steps since the line before, the time of all these, or a mean
since the beginning. Which it is the log itself must show: by its clock, by a rate and a time whose product is one
batch, or because all readings that are possible give one number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from shlex import quote

import numpy as np
from msgspec.structs import replace as with_fields

from perflog.formats.printed import rate_unit
from perflog.inference.by_clock import rivals_of, with_clock
from perflog.inference.candidate import (
    Candidate,
    Sight,
    candidate_of,
    counter_of,
    named,
    pasted,
    scope_to_paste_of,
    span_of,
)
from perflog.inference.columns import data_times, unnamed_times
from perflog.inference.formats import Value
from perflog.inference.means import is_as_of_no_mean, is_mean_of, is_one_number, is_smoothed, moves_as_mean
from perflog.inference.measures import Meaning, key_of
from perflog.inference.said import bars_of, other_unit
from perflog.inference.series import SAME, Series, is_apart, is_of_steps, product_of
from perflog.inference.told import Batch
from perflog.inference.words import BARE_TIME, IS_MEAN, IS_PER_STEP
from perflog.lazy_regex import lazy_regex
from perflog.measurements.rows import Floats
from perflog.runs.factor import of_whom
from perflog.stats.arrays import distinct, middle

#: Numbers of single steps move so many times as much from line to line as a mean of several does.
RAW = 3.0
#: A bar whose ticks take longer, in seconds, may count epochs.
SLOWEST_TICK = 1.0
#: A bar says that it counts steps: by its unit, or by its name.
_SAYS_STEPS = lazy_regex(
    "(?:step|batch)(?:e?s)?/s|s/(?:step|batch)|^[^0-9|]*?(?:iteration|step|batch)(?:e?s)?(?![a-z])", re.I
)
#: Longer times of a step than so many seconds are printed with their unit.
LONGEST_UNNAMED = 20.0
#: Digits may hide so much of a number that is taken for a whole one.
MOST_HIDDEN = 0.3


def readings_of(series: Series, sight: Sight) -> Iterator[Candidate]:
    """The readings of a table, the best first."""
    columns = series.columns
    assert columns.step is not None
    if not series.every:
        return
    if not np.isfinite(series.between).any():
        sight.why = sight.why or "an evaluation or the like stands between any two of its lines"
        return
    if columns.is_bar:
        why = _why_no_steps(series)
        sight.why = sight.why or why
        if series.clock_value is not None and not why:
            yield candidate_of(series, [series.clock_value], ["the bar's counter and clock"])
        return
    if series.why:
        sight.why = sight.why or series.why
        return
    counts_steps = series.every == 1 or (columns.step.is_named and not _goes_by_batches(series, sight.told.batches))
    if columns.total is not None:  # 50/2280, and the log says that an epoch has 2280 steps
        counts_steps = counts_steps or float(series.table.column(columns.total).values[0]) in sight.told.totals
    if series.clock is not None and series.clock_value is not None:
        is_open = yield from with_clock(series, counts_steps, sight)
        if not is_open:
            return
    yield from _without_clock(series, sight)


def _why_no_steps(series: Series) -> str:
    """Why the ticks of a bar may not be steps; empty where they are."""
    columns = series.columns
    if columns.total is None and not (_ends_alike(series) if series.falls else columns.trains):
        return "its bars are of several lengths, or none is told"
    if other_unit(series.table) or any(not is_of_steps(one) and one.unit for one in columns.of_kind("rate")):
        return "its bar counts samples or tokens, and how many are a step no line tells"
    drawn = distinct(series.step[series.step > 0])[0].astype(np.int64)
    common = int(np.gcd.reduce(drawn[:-1])) if len(drawn) > 2 else 1
    if common > 1 and not _SAYS_STEPS.search(series.table.text):
        return (
            f"all counts of its bar are multiples of {common}: they may be samples; if not, give {_pasted_bar(series)}"
        )
    clock = series.clock if series.clock is not None else np.zeros(1)
    ticks = float(series.step[-1] - series.step[0])
    names_steps = re.search("step|iter|batch|it/s|s/it", series.table.text) or _is_of_epoch(series)
    if ticks > 0 and not names_steps and float(clock[-1] - clock[0]) / ticks > SLOWEST_TICK:
        return f"a tick of its bar may be an epoch: no word says what it counts; if steps, give {_pasted_bar(series)}"
    return ""


def _ends_alike(series: Series) -> bool:
    """Whether bars that know no total end at one count: an evaluation's would end at another."""
    ends = series.step[:-1][np.diff(series.step) < 0]
    ends = ends if len(ends) > 1 else np.append(ends, series.step[-1])
    return bool(np.ptp(ends) <= SAME * ends.max())


def _is_of_epoch(series: Series) -> bool:
    """Whether a bar is one epoch's, so that its ticks are none: it is named for one with its number, or begins anew."""
    return series.columns.epoch is not None or series.falls > 0


def _pasted_bar(series: Series) -> str:
    """The option that says that a bar is the training's, ready to be pasted: by its name, or its total."""
    name = next((bar.name or bar.totals[0] for bar in bars_of([series.table])), "")
    return f"--as {quote(f'bar={name}')}" if name else pasted(series)


def _goes_by_batches(series: Series, batches: Sequence[Batch]) -> bool:
    """Whether a counter without a word for steps goes on by whole batches that the log tells."""
    assert series.columns.step is not None
    if series.columns.total is None or re.search(
        "[A-Za-z]{2}[^A-Za-z]*$", series.table.words[series.columns.step.place]
    ):
        return False
    return any(batch.size > 1 and series.every % batch.size == 0 for batch in batches)


def said_reading(series: Series, values: Sequence[Value]) -> Candidate:
    """The reading that a user says; a clock of the lines is read beside it."""
    places = [value.meaning.place for value in values]
    clock = [one for one in [series.clock_value] if one is not None and one.meaning.place not in places]
    return candidate_of(series, [*values, *clock], [value.text for value in values], "said")


# ----------------------------------------------------------------------------------------------------
# Lines that tell no moment: two numbers of a line, or one whose every reading gives one number.


def _without_clock(series: Series, sight: Sight) -> Iterator[Candidate]:
    columns = series.columns
    rates, times = columns.of_kind("rate"), columns.of_kind("duration")
    of_steps = [m for m in rates if is_of_steps(m)]
    works = [m for m in rates if m not in of_steps]
    rivals = rivals_of(series, [m for m in works if m.unit]) or rivals_of(series, of_steps)
    if rivals is not None:
        sight.why = sight.why or _why_rivals(series, *rivals)
        return
    part = _less_than_one(series, works, times)
    if part:
        sight.why = sight.why or part
        return
    for rate in works:
        for time in [*times, *of_steps]:
            found = _of_pair(series, rate, time, sight)
            if found is not None:
                yield from _unless_mean(series, found, rate if rate.unit else time)
                sight.why = sight.why or _why_mean(series, rate if rate.unit else time)
                return
    yield from _of_meters(series, times)
    counter = f"counter {counter_of(series)}"
    timed = [time for time in times if time.unit]
    beside = [rate for rate in works if rate.unit] + (of_steps if series.every == 1 else [])
    apart = [time for time in timed if any(is_apart(series, rate, time) for rate in beside)]
    if apart and _is_of_single_steps(series, apart[0], beside):
        value = Value(apart[0], "step_time", "last")
        yield candidate_of(series, [value], [counter, f"{named(apart[0])!r}"], "stated")
    if apart:  # one of the two is a mean of other steps than the other
        sight.why = sight.why or f"{named(beside[0])!r} times {named(apart[0])!r} is no one number"
        return
    yield from _stated(series, [*_of_known_scope(series, works, sight), *of_steps], times, sight)


#: What parts a number from its mean: ``0.123 (0.130)``, ``0.123s (avg 0.130s)``.
_MEAN_BEHIND = lazy_regex(r"\s*(?:s|sec|ms)?\s*[(\[]\s*(?:(?:avg|mean|average)\s*[:=]?\s*)?", re.I)


def _of_meters(series: Series, times: Sequence[Meaning]) -> Iterator[Candidate]:
    """The means of a step's time that stand behind it, in brackets."""
    table = series.table
    for time in [_as_seconds(series, time) for time in times]:
        place = time.place + 1
        is_beside = place < len(table.kinds) and table.kinds[place] == "number"
        if not (time.unit and is_beside and _MEAN_BEHIND.fullmatch(table.words[place])):
            continue
        mean, own = (table.column(one).values for one in (place, time.place))
        if is_mean_of(series, mean, own):
            meaning = with_fields(time, place=place)
            value = Value(meaning, "step_time", "cumulative", "epoch" if series.falls else "run")
            rests = [
                f"counter {counter_of(series)}",
                f"the number behind {named(time)!r} is its mean since the beginning",
            ]
            begins = int(series.step[0])
            yield with_fields(candidate_of(series, [value], rests), step_base=begins if begins in (0, 1) else -1)


def _as_seconds(series: Series, time: Meaning) -> Meaning:
    """A time without a unit that a program's meter counts of each step as one in seconds, where it may be."""
    return _in_seconds(series, with_fields(time, steps=1)) if not time.unit else time


def _less_than_one(series: Series, works: Sequence[Meaning], times: Sequence[Meaning]) -> str:
    """Why a rate and a time are none of whole steps: their product is one number, and less than one sample."""
    for rate, time in product(works, [time for time in times if time.unit]):
        found = product_of(series, rate, time)
        unit = rate_unit(rate.unit)
        if found is not None and found[0] * (unit[1] if unit else 1.0) < 1 - SAME:
            return (
                f"{named(rate)!r} times {named(time)!r} is {found[0]:.3g} on each line, and no step is of less than one"
            )
    return ""


def _of_known_scope(series: Series, works: Sequence[Meaning], sight: Sight) -> list[Meaning]:
    """The rates with their unit, without those that may count the work of one of several devices."""
    with_unit = [m for m in works if m.unit]
    able = [m for m in with_unit if sight.told.of_whose(m) is not None]
    if len(able) < len(with_unit):
        option = scope_to_paste_of(series.table, series.columns, with_unit[0], span_of(series))
        sight.why = sight.why or f"{of_whom(sight.told.devices)}: {option}"
    return able


def _unless_mean(series: Series, found: Candidate, meaning: Meaning) -> Iterator[Candidate]:
    """A rate and a time whose product is one number: of the steps since the line before, or of all, where only one of
    them is possible.
    """
    if moves_as_mean(series, meaning):
        yield from _of_means(series, [meaning])
    elif is_as_of_no_mean(series, meaning):
        yield found


def _stated(series: Series, rates: Sequence[Meaning], times: Sequence[Meaning], sight: Sight) -> Iterator[Candidate]:
    """The numbers that stand on the lines with nothing that bears them out, where every reading gives the same."""
    counter = f"counter {counter_of(series)}"
    if series.every > 1 and 0 < sight.evaluated < series.table.lines[0]:
        sight.why = sight.why or "its lines stand behind all of an evaluation's, which their means may hold"
        return
    yield from _of_means(series, [*rates, *(m for m in times if m.unit)])
    for meaning in rates:
        if is_one_number(series, meaning):
            rests = [counter, repr(named(meaning))]
            yield candidate_of(series, [Value(meaning, "rate", span_of(series))], rests, "stated")
        sight.why = sight.why or _why_mean(series, meaning)
    for meaning in [_in_seconds(series, meaning) for meaning in times]:
        reason = _why_unstated(series, meaning, named(meaning))
        is_one = is_as_of_no_mean if series.every > 1 and _is_mean(series, meaning) else is_one_number
        if meaning.unit and meaning.steps == series.every > 1:
            value = Value(with_fields(meaning, steps=0), "interval_time", "interval")
            yield candidate_of(series, [value], [counter, f"{named(meaning)!r} of {series.every:g} steps"], "stated")
        elif not reason and is_one(series, meaning):
            rests = [counter, repr(named(meaning))]
            yield candidate_of(series, [Value(meaning, "step_time", span_of(series))], rests, "stated")
        elif not reason:
            reason = _why_mean(series, meaning) if series.every == 1 else _why_one_of(series, meaning)
        sight.why = sight.why or reason
    sight.why = sight.why or _why_unnamed(series)


def _why_rivals(series: Series, one: Meaning, other: Meaning) -> str:
    """Why two rates of one unit that are far from each other give no number."""
    option = pasted(series, one, "rate", one.unit, span_of(series))
    return (
        f"{named(one)!r} and {named(other)!r} are both rates in {one.unit}, and far from each other: for the "
        f"training's give {option}, or the other"
    )


def _of_means(series: Series, meanings: Sequence[Meaning]) -> Iterator[Candidate]:
    """The numbers that can be nothing but a mean since the beginning."""
    for meaning in meanings:
        if moves_as_mean(series, meaning):
            quantity = "rate" if meaning.kind == "rate" else "step_time"
            value = Value(meaning, quantity, "cumulative", "epoch" if series.falls else "run")
            moves = f"{named(meaning)!r} moves as a mean since the beginning does"
            yield candidate_of(series, [value], [f"counter {counter_of(series)}", moves])


def _why_mean(series: Series, meaning: Meaning) -> str:
    """Why a number that may be a mean of all steps or of those since the line before gives none."""
    name = "rate" if meaning.kind == "rate" else "step_time"
    return (
        f"{named(meaning)!r} may be a mean since the beginning or one since the line before, and nothing else in the "
        f"log tells which: give {pasted(series, meaning, name, meaning.unit, 'interval')}, or say cumulative"
    )


def _why_unnamed(series: Series) -> str:
    """What a line lacks a word for: a rate without a unit, or a time of something; empty where it has neither."""
    for meaning in series.columns.of_kind("rate"):
        if not meaning.unit:
            option = pasted(series, meaning, "rate", "samples/s", span_of(series))
            return f"{meaning.key!r} is a rate without a unit: give {option}, if it counts samples"
    for meaning in unnamed_times(series.table, series.columns):
        printed = f"{series.table.column(meaning.place).texts[0]} {meaning.unit}"
        option = pasted(series, meaning, "step_time", meaning.unit, span_of(series))
        return f"no word says of what {printed!r} is the time: if it is a step's, give {option}"
    return ""


def _in_seconds(series: Series, meaning: Meaning) -> Meaning:
    """A time without a unit as one in seconds, as clocks of programs count, where a key says that it is a step's."""
    values = series.table.column(meaning.place).values
    printed = any("." in text for text in series.table.column(meaning.place).texts)
    is_a_steps = meaning.steps == 1 or (series.every == 1 and BARE_TIME.match(meaning.key))
    able = is_a_steps and printed and float(np.nanmedian(values)) < LONGEST_UNNAMED
    return with_fields(meaning, unit="s") if not meaning.unit and able else meaning


def _why_one_of(series: Series, meaning: Meaning) -> str:
    """Why a time that is printed at one of several steps says nothing of the others."""
    return (
        f"{named(meaning)!r} is printed at one of {series.every:g} steps, and nothing else in the log tells whether it "
        "is the last step's, a mean or the time of all: where it is a mean since the line before, give "
        f"{pasted(series, meaning, 'step_time', meaning.unit, 'interval')}; the time of all is an interval_time"
    )


def _is_share(series: Series, place: int, meaning: Meaning) -> bool:
    """Whether a number is more than a small share of a time."""
    part, whole = (float(middle(series.table.column(one).values)) for one in (place, meaning.place))
    return SAME * whole < part < whole


def _is_mean(series: Series, meaning: Meaning) -> bool:
    """Whether words say that a time is a mean of several steps, and its way does not say that it is smoothed."""
    return bool(IS_MEAN.search(meaning.key)) and not is_smoothed(series.table.column(meaning.place).values)


def _is_per_step(series: Series, meaning: Meaning) -> bool:
    """Whether words say that a time is one for each step, as a rate is: ``ms/batch``, ``time per iteration``."""
    behind = series.table.words[meaning.place + 1]
    return bool(IS_PER_STEP.search(meaning.key) or (meaning.steps == 1 and IS_PER_STEP.match(behind.lstrip(" msec"))))


def _why_unstated(series: Series, meaning: Meaning, name: str) -> str:
    """Why a time alone says nothing of a step: empty where it does."""
    if not meaning.unit:
        option = pasted(series, meaning, "step_time", "s", span_of(series))
        return f"{name!r} is a time without a unit: give {option}, if these are seconds"
    if series.every > 1 and not (_is_mean(series, meaning) or _is_per_step(series, meaning)):
        return _why_one_of(series, meaning)
    loading = [] if meaning.steps else data_times(series.table)
    data = next((place for place in loading if _is_share(series, place, meaning)), None)
    if data is not None:
        option = pasted(series, meaning, "step_time", meaning.unit, span_of(series))
        key = key_of(series.table.words[data])[0]
        return f"no line says whether {name!r} holds {key!r} too: if it does, give {option}"
    alone = len(series.columns.of_kind("duration")) == 1
    return "" if meaning.is_named or meaning.steps or alone else f"nothing says of what {name!r} is the time"


def _of_pair(series: Series, rate: Meaning, time: Meaning, sight: Sight) -> Candidate | None:
    """A rate and a time of each line whose product is one number."""
    both, of_all = product_of(series, rate, time), False
    if both is None and time.unit and not time.steps and time.kind == "duration":
        both, of_all = product_of(series, rate, time, per_step=True), True  # of all steps since the line before
    if both is None:
        return None
    batch, hidden = both
    if not time.unit:
        if hidden * batch > MOST_HIDDEN or abs(batch - round(batch)) > hidden * batch:
            return None  # of milliseconds it were no whole number that the digits show
        time = with_fields(time, unit="s")
    of_whose = sight.told.of_whose(rate, batch)
    values = [Value(of_whose, "rate", span_of(series))] if rate.unit and of_whose is not None else []
    if series.every == 1 or time.steps == 1 or time.kind == "rate":
        values.append(Value(time, "rate" if time.kind == "rate" else "step_time", span_of(series)))
    elif of_all:
        values.append(Value(time, "interval_time", "interval"))
    place = "of each step" if of_all else "on each line"
    names = f"{rate.key or rate.unit!r} times {time.key or time.unit!r} is {batch:.4g} {place}"
    return candidate_of(series, values, [f"counter {counter_of(series)}", names]) if values else None


def _is_of_single_steps(series: Series, time: Meaning, rates: Sequence[Meaning]) -> bool:
    """Whether a time is each step's own, where every step is printed and the rates beside it are means of several:
    these scatter far less from line to line.
    """
    own, *others = (_scatter(series.table.column(meaning.place).values) for meaning in (time, *rates))
    return series.every == 1 and own > RAW * max(others)


def _scatter(values: Floats) -> float:
    """How far numbers move from line to line, as a share, behind the first quarter."""
    late = values[len(values) // 4 :]
    usual = float(middle(late)) if len(late) > 1 else 0.0
    return float(middle(np.abs(np.diff(late)))) / usual if usual > 0 else 0.0
