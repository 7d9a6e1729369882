"""What the numbers of a table's rows mean: the readings that the log bears out, to be tried as formats.

A rate or a time may be the last step's, a mean of the steps since the line before, the time of all these, or a mean
since the beginning. Which it is the log itself must show: by its clock, by a rate and a time whose product is one
batch, or because all readings that are possible give one number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace as with_fields

from perflog.formats.line import Token
from perflog.formats.printed import half_digit, rate_unit, seconds_in
from perflog.inference.columns import Columns, Meaning, unnamed_times
from perflog.inference.formats import Value, parser_tables, step_patterns
from perflog.inference.means import is_one_number, moves_as_mean
from perflog.inference.said import bars_of, to_paste
from perflog.inference.series import SAME, Series, counted_steps, is_of_steps, merged, steady
from perflog.matching.tables import Table
from perflog.measurements.rows import Floats
from perflog.stats.arrays import middle

#: A table measures steps when it has so many rows.
LEAST_ROWS = 5
#: Numbers of single steps move so many times as much from line to line as a mean of several does.
RAW = 3.0
#: A bar whose ticks take longer, in seconds, may count epochs.
SLOWEST_TICK = 1.0
#: Longer times of a step than so many seconds are printed with their unit.
LONGEST_UNNAMED = 20.0
#: Digits may hide so much of a number that is taken for a whole one.
MOST_HIDDEN = 0.3
#: A share of lines on which a product may be another number.
FEW = 0.1


#: What a reading rests on.
Basis = Literal["inferred", "stated", "said"]


class Candidate(Struct, frozen=True):
    """A reading of a log: values of one table's lines, and what they rest on.

    Attributes:
        rests: what agrees, in words; ``basis``: whether it is ``inferred`` from two parts of the log, ``stated`` by
            the line alone, or what the user ``said``.
        by_clock: whether the stamps of the lines bear it out wherever no pause stands between two.
        repeats: whether lines that repeat the step before them are left out.
        epoch_steps: the steps of a line where each tells of a whole epoch, as the user says; 0 for other lines.
    """

    table: Table
    columns: Columns
    values: tuple[Value, ...]
    rests: tuple[str, ...]
    basis: Basis = "inferred"
    stamped: bool = False
    by_clock: bool = False
    repeats: bool = False
    epoch_steps: int = 0

    def tables(self, beside: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        """The parser's file as tables; None where no text tells its lines from others.

        Args:
            beside: the patterns of lines between the training's own: pauses, a heading, the beginning of a run.
        """
        position = next((pattern["name"] for pattern in beside if pattern["role"] == "position"), "")
        steps = step_patterns(self.table, self.columns, self.values, stamped=self.stamped, position=position)
        if not steps:
            return None
        if self.repeats:
            steps[-1]["redrawn"] = True
        if self.epoch_steps:
            assumption = f"an epoch has {self.epoch_steps} steps, as --set epoch_steps says"
            steps[-1] |= {"assumed_covers": self.epoch_steps, "assumption": assumption}
        return parser_tables([*beside, *steps])


class Sight(Struct):
    """What was seen in a log that gave no number, for its reason.

    Attributes:
        counted: the lines that count steps, at most; ``why``: why the best of them give none.
        batches: the sizes of batches that the log tells.
        totals: how many steps it says that an epoch or the run has.
    """

    counted: int = 0
    why: str = ""
    batches: tuple[float, ...] = ()
    totals: tuple[float, ...] = ()


def readings_of(series: Series, sight: Sight) -> Iterator[Candidate]:
    """The readings of a table, the best first."""
    columns = series.columns
    assert columns.step is not None
    if not series.every:
        return
    if columns.is_bar:
        why = _why_no_steps(series)
        sight.why = sight.why or why
        if series.clock_value is not None and not why:
            yield _candidate(series, [series.clock_value], ["the bar's counter and clock"])
        return
    if series.why:
        sight.why = sight.why or series.why
        return
    counts_steps = series.every == 1 or (columns.step.is_named and not _goes_by_batches(series, sight.batches))
    if columns.total is not None:  # 50/2280, and the log says that an epoch has 2280 steps
        counts_steps = counts_steps or float(series.table.column(columns.total).values[0]) in sight.totals
    if series.clock is not None and series.clock_value is not None:
        yield from _with_clock(series, counts_steps, sight)
        return
    yield from _without_clock(series, sight)


def _why_no_steps(series: Series) -> str:
    """Why the ticks of a bar may not be steps; empty where they are."""
    columns = series.columns
    if columns.total is None:
        return "its bars are of several lengths, or none is told"
    if any(not is_of_steps(meaning) and meaning.unit for meaning in columns.of_kind("rate")):
        return "its bar counts samples or tokens, and how many are a step no line tells"
    drawn = np.unique(series.step[series.step > 0]).astype(np.int64)
    common = int(np.gcd.reduce(drawn[:-1])) if len(drawn) > 2 else 1
    if common > 1:
        return (
            f"all counts of its bar are multiples of {common}: they may be samples; if not, give {_pasted_bar(series)}"
        )
    clock = series.clock if series.clock is not None else np.zeros(1)
    ticks = float(series.step[-1] - series.step[0])
    names_steps = re.search("step|iter|batch|it/s|s/it", series.table.text) or _is_of_epoch(series)
    if ticks > 0 and not names_steps and float(clock[-1] - clock[0]) / ticks > SLOWEST_TICK:
        return f"a tick of its bar may be an epoch: no word says what it counts; if steps, give {_pasted_bar(series)}"
    return ""


def _is_of_epoch(series: Series) -> bool:
    """Whether a bar is one epoch's, so that its ticks are none: it is named for one with its number, or begins anew."""
    return series.columns.epoch is not None or series.falls > 0


def _pasted_bar(series: Series) -> str:
    """The option that says that a bar is the training's, ready to be pasted: by its name, or its total."""
    name = next((bar.name or bar.totals[0] for bar in bars_of([series.table])), "NAME_OR_TOTAL")
    return f"--as {quote(f'bar={name}')}"


def _goes_by_batches(series: Series, batches: Sequence[float]) -> bool:
    """Whether a counter without a word for steps goes on by whole batches that the log tells."""
    assert series.columns.step is not None
    if series.columns.total is None or re.search(
        "[A-Za-z]{2}[^A-Za-z]*$", series.table.words[series.columns.step.place]
    ):
        return False
    return any(batch > 1 and series.every % batch == 0 for batch in batches)


def said_reading(series: Series, values: Sequence[Value]) -> Candidate:
    """The reading that a user says; a clock of the lines is read beside it."""
    places = [value.meaning.place for value in values]
    clock = [one for one in [series.clock_value] if one is not None and one.meaning.place not in places]
    return _candidate(series, [*values, *clock], [value.text for value in values], "said")


def _candidate(series: Series, values: Sequence[Value], rests: Sequence[str], basis: Basis = "inferred") -> Candidate:
    stamped = series.stamped and any(value.quantity == "timestamp" for value in values)
    by_clock = basis == "inferred" and series.clock_value is not None and series.clock_value.quantity == "timestamp"
    return Candidate(
        series.table, series.columns, tuple(values), tuple(rests), basis, stamped, by_clock, series.repeats
    )


def _with_clock(series: Series, counts_steps: bool, sight: Sight) -> Iterator[Candidate]:
    """Readings that the clock of the lines bears out: rates of work first, then times, then the clock itself."""
    assert series.clock_value is not None
    name = "the clock of the lines" if series.clock_value.quantity == "timestamp" else f"{series.clock_value.text!r}"
    works = [m for m in series.columns.of_kind("rate") if m.unit and not is_of_steps(m)]
    agreeing = [(value, how) for m in works for value, how in [_rate_by_clock(series, m)] if value is not None]
    times = [value for m in series.columns.measures if m.kind == "duration" or (m.kind == "rate" and is_of_steps(m))
             for value in [_time_by_clock(series, m)] if value is not None]  # fmt: skip
    clock = [series.clock_value] if series.clock_value.quantity != "timestamp" else []
    if agreeing:
        value, how = agreeing[0]
        alike = [time for time in times if time.span == value.span]
        yield _candidate(
            series,
            [value, *alike, *clock],
            [f"counter {_counter(series)}", f"{name} agrees with {value.text!r} ({how})"],
        )
    counts_steps = counts_steps or any(value.quantity != "interval_time" for value in times)
    if times and counts_steps:
        yield _candidate(
            series, [*times, *clock], [f"counter {_counter(series)}", f"{name} agrees with {times[0].text!r}"]
        )
    if counts_steps and not times and not agreeing and series.is_coarse:
        yield _candidate(series, [series.clock_value], [f"counter {_counter(series)}", name])
        yield from _without_clock(series, sight)  # the log's clock is a witness of its number all the same
        return
    if not counts_steps:
        sight.why = sight.why or (
            f"a counter goes on by {series.every:g} from line to line, and nothing says whether it counts steps or "
            f"samples; if it counts steps, give {_pasted(series)}"
        )
        return
    told = [m for m in series.columns.measures if m.kind != "elapsed" and m.is_named and m.unit]
    if told and not agreeing and not times:
        sight.why = sight.why or f"{told[0].key or told[0].unit!r} and {name} do not agree"
        return
    rests = [f"counter {_counter(series)}", name]
    yield _candidate(series, [series.clock_value], rests)


def _counter(series: Series) -> str:
    assert series.columns.step is not None
    words = re.findall("[A-Za-z_]+", series.table.words[series.columns.step.place])
    return words[-1] if words else "of the lines"


def _rate_by_clock(series: Series, meaning: Meaning) -> tuple[Value | None, str]:
    """A rate of work under the reading that the clock bears out: the work of a step is one number."""
    values = series.table.column(meaning.place).values
    seconds, times = merged(series, series.between / values[1:])  # time for one unit of work a step
    of_interval = steady(seconds / times)
    grown = np.where(np.isfinite(series.between), np.diff(counted_steps(series) / values), np.nan)
    seconds, times = merged(series, grown)
    of_mean = steady(seconds / times) if (times > 0).all() and not series.falls else None
    if of_mean is not None and (of_interval is None or of_mean.spread < of_interval.spread / 2):
        return Value(meaning, "rate", "cumulative"), f"a mean since the beginning, {of_mean.centre:.4g} a step"
    if of_interval is not None:
        return Value(meaning, "rate", "interval"), f"{of_interval.centre:.4g} a step"
    return None, ""


def _time_by_clock(series: Series, meaning: Meaning) -> Value | None:
    """A time of steps, or steps per second, under the reading that the clock bears out."""
    values = series.table.column(meaning.place).values
    if meaning.kind == "rate":
        factor = rate_unit(meaning.unit)
        seconds = 1.0 / (values * (factor[1] if factor else 1.0))
        return _reading_by_clock(series, meaning, seconds, per_step=True)
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
        if ratio is not None and abs(ratio.centre - 1) <= SAME:
            able.append((ratio.spread, quantity, span))
    if not able:
        return None
    spread, quantity, span = able[0]
    if able[-1][0] < spread / 2:
        _, quantity, span = able[-1]
    if span == "interval" and quantity != "interval_time" and series.every == 1:
        span = "last"
    return Value(meaning, "rate" if meaning.kind == "rate" else quantity, span)


# ----------------------------------------------------------------------------------------------------
# Lines that tell no moment: two numbers of a line, or one whose every reading gives one number.


def _without_clock(series: Series, sight: Sight) -> Iterator[Candidate]:
    columns = series.columns
    rates, times = columns.of_kind("rate"), columns.of_kind("duration")
    of_steps = [m for m in rates if is_of_steps(m)]
    works = [m for m in rates if m not in of_steps]
    counter = f"counter {_counter(series)}"
    for rate in works:
        for time in [*times, *of_steps]:
            found = _of_pair(series, rate, time, counter)
            if found is not None:
                yield found
                return
    timed = [time for time in times if time.unit]
    apart = [time for time in timed if any(_is_apart(series, rate, time) for rate in works if rate.unit)]
    if apart and _is_of_single_steps(series, apart[0], works):
        yield _candidate(series, [Value(apart[0], "step_time", "last")], [counter, f"{_named(apart[0])!r}"], "stated")
    if apart:  # one of the two is a mean of other steps than the other
        sight.why = sight.why or f"{works[0].key or works[0].unit!r} times {_named(apart[0])!r} is no one number"
        return
    yield from _of_means(series, [*(m for m in works if m.unit), *of_steps, *(m for m in times if m.unit)])
    for meaning in [*(m for m in works if m.unit), *of_steps]:
        name = meaning.key or meaning.unit
        if is_one_number(series, meaning):
            yield _candidate(series, [Value(meaning, "rate", _span(series))], [counter, repr(name)], "stated")
        sight.why = sight.why or (
            f"{name!r} may be a mean since the beginning or one since the line before, and nothing else in the log "
            f"tells which: give {_pasted(series, meaning, 'rate', meaning.unit, 'interval')}, or say cumulative"
        )
    for meaning in [_in_seconds(series, meaning) for meaning in times]:
        name = _named(meaning)
        reason = _why_unstated(series, meaning, name)
        if not reason and is_one_number(series, meaning):
            yield _candidate(series, [Value(meaning, "step_time", "last")], [counter, repr(name)], "stated")
        sight.why = sight.why or reason
    sight.why = sight.why or _why_unnamed(series)


def _of_means(series: Series, meanings: Sequence[Meaning]) -> Iterator[Candidate]:
    """The numbers that can be nothing but a mean since the beginning."""
    for meaning in meanings:
        if moves_as_mean(series, meaning):
            quantity = "rate" if meaning.kind == "rate" else "step_time"
            value = Value(meaning, quantity, "cumulative", "epoch" if series.falls else "run")
            moves = f"{_named(meaning)!r} moves as a mean since the beginning does"
            yield _candidate(series, [value], [f"counter {_counter(series)}", moves])


def _why_unnamed(series: Series) -> str:
    """What a line lacks a word for: a rate without a unit, or a time of something; empty where it has neither."""
    for meaning in series.columns.of_kind("rate"):
        if not meaning.unit:
            pasted = _pasted(series, meaning, "rate", "samples/s", _span(series))
            return f"{meaning.key!r} is a rate without a unit: give {pasted}, if it counts samples"
    for meaning in unnamed_times(series.table, series.columns):
        printed = f"{series.table.column(meaning.place).texts[0]} {meaning.unit}"
        pasted = _pasted(series, meaning, "step_time", meaning.unit, _span(series))
        return f"no word says of what {printed!r} is the time: if it is a step's, give {pasted}"
    return ""


def _named(meaning: Meaning) -> str:
    """How people name a time: its key, or its unit."""
    return meaning.key or meaning.unit or "time"


def _in_seconds(series: Series, meaning: Meaning) -> Meaning:
    """A time without a unit as one in seconds, as clocks of programs count, where a key says that it is a step's."""
    values = series.table.column(meaning.place).values
    printed = any("." in text for text in series.table.column(meaning.place).texts)
    able = meaning.steps == 1 and printed and float(np.nanmedian(values)) < LONGEST_UNNAMED
    return with_fields(meaning, unit="s") if not meaning.unit and able else meaning


def _pasted(series: Series, meaning: Meaning | None = None, name: str = "", unit: str = "", span: str = "") -> str:
    """The option that says what a line's counter is, and one more of its numbers."""
    assert series.columns.step is not None
    tokens = {series.columns.step.place: Token("step")}
    if series.columns.epoch is not None:
        tokens[series.columns.epoch.place] = Token("epoch")
    if meaning is not None:
        tokens[meaning.place] = Token(name, unit, span, is_devices=meaning.scope == "device")
    return to_paste(series.table, tokens)


def _span(series: Series) -> str:
    return "last" if series.every == 1 else "interval"


def _why_unstated(series: Series, meaning: Meaning, name: str) -> str:
    """Why a time alone says nothing of a step: empty where it does."""
    if not meaning.unit:
        pasted = _pasted(series, meaning, "step_time", "s", _span(series))
        return f"{name!r} is a time without a unit: give {pasted}, if these are seconds"
    if series.every > 1:
        return (
            f"{name!r} is printed at one of {series.every:g} steps, and nothing else in the log tells whether it is "
            "the last step's, a mean or the time of all: where it is a mean since the line before, give "
            f"{_pasted(series, meaning, 'step_time', meaning.unit, 'interval')}; the time of all is an interval_time"
        )
    alone = len(series.columns.of_kind("duration")) == 1
    return "" if meaning.is_named or meaning.steps or alone else f"nothing says of what {name!r} is the time"


def _of_pair(series: Series, rate: Meaning, time: Meaning, counter: str) -> Candidate | None:
    """A rate and a time of each line whose product is one number."""
    product, of_all = _product(series, rate, time), False
    if product is None and time.unit and not time.steps and time.kind == "duration":
        product, of_all = _product(series, rate, time, per_step=True), True  # of all steps since the line before
    if product is None:
        return None
    batch, hidden = product
    if not time.unit:
        if hidden * batch > MOST_HIDDEN or abs(batch - round(batch)) > hidden * batch:
            return None  # of milliseconds it were no whole number that the digits show
        time = with_fields(time, unit="s")
    values = [Value(rate, "rate", _span(series))] if rate.unit else []
    if series.every == 1 or time.steps == 1 or time.kind == "rate":
        values.append(Value(time, "rate" if time.kind == "rate" else "step_time", _span(series)))
    elif of_all:
        values.append(Value(time, "interval_time", "interval"))
    place = "of each step" if of_all else "on each line"
    names = f"{rate.key or rate.unit!r} times {time.key or time.unit!r} is {batch:.4g} {place}"
    return _candidate(series, values, [counter, names]) if values else None


def _product(series: Series, rate: Meaning, time: Meaning, *, per_step: bool = False) -> tuple[float, float] | None:
    """(the product of a rate and a time, what digits hide of it as a share), where it is one number on all lines, or
    one number ``per_step`` since the line before.

    Neither may be one number by itself.
    """
    rates, times = (series.table.column(m.place).values for m in (rate, time))
    product = rates / times if time.kind == "rate" else rates * times * (seconds_in(time.unit) if time.unit else 1.0)
    if per_step:
        product = product[1:] / series.between
    digits = _last_digit(series, rate) + _last_digit(series, time)
    centre = _one_number(product, digits)
    if centre is None:
        return None
    moves = [float(np.std(values / np.nanmean(values))) for values in (rates, times)]
    if min(moves) <= 2 * max(digits, 1e-5):
        return None  # two numbers that stand still agree with everything
    return centre, digits


def _is_apart(series: Series, rate: Meaning, time: Meaning) -> bool:
    """Whether the product of a rate and a time is no one number by more than their digits hide."""
    rates, times = (series.table.column(m.place).values for m in (rate, time))
    return _one_number(rates * times, _last_digit(series, rate) + _last_digit(series, time)) is None


def _one_number(product: Floats, digits: float) -> float | None:
    """The middle of products, where nearly all are that number within what ``digits`` hide, as a share; else None."""
    known = product[np.isfinite(product) & (product > 0)]
    if len(known) < LEAST_ROWS:
        return None
    centre = float(middle(known))
    off = np.abs(known / centre - 1)
    return centre if float((off <= max(digits, 1e-4) + 1e-3).mean()) >= 1 - FEW else None


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


def _last_digit(series: Series, meaning: Meaning) -> float:
    """What the last printed digit may hide of a column's numbers, as a share."""
    column = series.table.column(meaning.place)
    both = list(zip(column.texts, column.values.tolist(), strict=True))[:50]
    shares = [half / value for text, value in both if value > 0 and (half := half_digit(text.replace(",", "")))]
    return float(np.median(shares)) if shares else 1.0
