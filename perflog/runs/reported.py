"""What the program itself reports: its own rates, time to train, accuracy and other metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from msgspec import structs

from perflog.evidence.line import Account, counts_steps_before, summary_witnesses
from perflog.evidence.witness import bounds, note_against, sentence
from perflog.formats.parser import Pattern, Value
from perflog.formats.printed import LARGEST, clock_seconds, half_digit, kind, rate_unit, seconds_in
from perflog.formats.vocabulary import INTEGERS, normal
from perflog.measurements.segment import Segment
from perflog.notes import Note
from perflog.reading.account import LogFact
from perflog.reading.reading import Reading
from perflog.runs.corroborate import COARSE, Measured, Question, job_of, whole_until
from perflog.runs.factor import factor_of, global_batch, scope_multiplier
from perflog.runs.metadata import Metadata
from perflog.runs.run import Metric

#: Of the last so many rates that a program prints of its own, one that is so many times another is another quantity.
LAST_RATES, TWO_QUANTITIES = 4, 1.5
#: Rates within this share of each other are one that was printed with other digits.
SAME_RATE = 0.001


def summary_metrics(
    reading: Reading, metadata: Metadata, span: tuple[int, int]
) -> tuple[dict[str, Metric], list[Note]]:
    """(metrics, notes): reported rate, time to train, accuracy and others that summary and event lines give.

    Args:
        span: the first and the last line of the run; summaries that name a configuration count wherever they stand.
    """
    if not reading.facts:
        return {}, []
    metrics: dict[str, Metric] = {}
    rates: list[Metric] = []
    summaries = [fact for fact in reading.facts if fact.pattern.role == "summary"]
    inside = [fact for fact in summaries if span[0] <= fact.line <= span[1]]
    outside = [fact for fact in summaries if not span[0] <= fact.line <= span[1] and _names_configuration(fact)]
    for fact in (*inside, *outside):
        if not _is_for(fact, metadata) or _is_of_evaluation(fact, reading):
            continue
        for value in fact.pattern.values:
            text = fact.fields.get(value.group)
            metric = None if text is None else _metric_of(fact, value, text, metadata)
            if metric is None:
                continue
            if metric.name == "reported":
                metric = _unless_contradicted(metric, fact, reading)
                rates.append(metric)
            if _counts(metric, metrics.get(metric.name)):
                metrics[metric.name] = metric
    notes = list[Note]()
    if rates:
        metrics["reported"], notes = _one_of(rates, metrics["reported"])
    events = [fact for fact in reading.facts if fact.pattern.role == "event" and span[0] <= fact.line <= span[1]]
    _time_to_train(metrics, events)
    return metrics, notes


def _counts(metric: Metric, old: Metric | None) -> bool:
    """Whether a metric takes the place of the one of its name before it, by the pattern's ``pick``."""
    if old is None or old.value is None or metric.value is None:
        return True
    pick = metric.estimator
    return {"last": True, "first": False, "max": metric.value > old.value, "min": metric.value < old.value}[pick]


def _one_of(rates: Sequence[Metric], chosen: Metric) -> tuple[Metric, list[Note]]:
    """(the program's own rate, what is said of the others); without a value where the last of them differ by a factor.

    Several rates of one run are of its epochs, or of one clock at several moments; a training's and an evaluation's
    differ by more.
    """
    known = sorted({(r.value, r.last_line) for r in rates if r.value is not None and r.unit == chosen.unit})
    values = [value for value, _ in known]
    different = 1 + sum(after > before * (1 + SAME_RATE) for before, after in pairwise(values))
    if chosen.value is None or different < 2:
        return chosen, []
    if chosen.estimator == "last":
        last = sorted(known, key=lambda rate: rate[1])[-LAST_RATES:]
        (low, low_line), (high, high_line) = min(last), max(last)
        if high > TWO_QUANTITIES * low:
            reason = (
                f"the program prints rates of its own that differ by a factor, {low:g} (line {low_line}) and {high:g} "
                f"(line {high_line}) {chosen.unit}: nothing says which is the training's"
            )
            return replace(chosen, value=None, reason=reason), []
    return chosen, [
        Note(
            f"the program printed {different} different rates of its own, {values[0]:g} to {values[-1]:g}; "
            f"the {_PICKED[chosen.estimator]} is taken"
        )
    ]


_PICKED = {"last": "last", "first": "first", "max": "highest", "min": "lowest"}


def _is_of_evaluation(fact: LogFact, reading: Reading) -> bool:
    """Whether a summary is an evaluation's: a line before it says that one follows, and no measured step is between."""
    names = {p.name for p in reading.patterns.values() if p.evaluates and p.parser == fact.pattern.parser}
    names &= set(fact.pattern.never_with)
    lines = [o.line for o in reading.facts if o.line < fact.line and o.pattern.name in names
             and o.pattern.parser == fact.pattern.parser] if names else []  # fmt: skip
    return bool(lines) and not any(
        ((rows[5] > lines[-1]) & (rows[5] < fact.line)).any()
        for key, ranks in reading.series.items()
        if reading.patterns[key].parser == fact.pattern.parser
        for series in ranks.values()
        for segment in series.segments
        for rows in segment.store.blocks()
    )


def _unless_contradicted(metric: Metric, fact: LogFact, reading: Reading) -> Metric:
    """The program's own rate; without its value where a line since its last summary says that it means another."""
    names = {p.name for p in reading.patterns.values() if not p.evaluates} & set(fact.pattern.never_with)
    of_parser = [other for other in reading.facts if other.pattern.parser == fact.pattern.parser] if names else []
    lines = [other for other in of_parser if other.line < fact.line]
    since = max((other.line for other in lines if other.pattern is fact.pattern), default=0)
    for other in lines:
        if other.line > since and other.pattern.name in names:
            reason = (
                f"line {other.line} ({other.pattern.name}) says that the program's own rate counts more than this run"
            )
            return replace(metric, value=None, reason=reason)
    return metric


def _names_configuration(fact: LogFact) -> bool:
    return any(key in INTEGERS and key != "repeat" for key in fact.fields)


def _is_for(fact: LogFact, metadata: Metadata) -> bool:
    """Whether a summary line that names a configuration (a table's row) names this run's."""
    for key in ("devices", "nodes", "batch_size", "global_batch_size"):
        said = fact.fields.get(key)
        mine = metadata.integer(key)
        if said is not None and normal(key, said) != mine and not (mine is None and key not in ("devices",)):
            return False
    return True


def _metric_of(fact: LogFact, value: Value, text: str, metadata: Metadata) -> Metric | None:
    """The metric that one value of a summary line gives; None where it gives none.

    A rate of steps is one of samples where their number is known, unless it has a name of its own.
    """
    number = _number(text)
    if not _is_possible(value.quantity, number):
        return None
    name, unit, reason = value.metric or value.quantity, value.unit, ""
    share = (half_digit(text) or 0.0) / abs(number) if number else 0.0
    if value.quantity == "rate":
        name = value.metric or "reported"
        parsed = rate_unit(fact.fields.get("unit") or "") or rate_unit(value.unit)
        if parsed is None:
            return None
        unit = parsed[0]
        factor, reason = scope_multiplier(value.scope, metadata)
        if kind(unit) == "steps" and not value.metric:
            batch = global_batch(metadata)
            if batch is None:
                return None
            factor, unit = float(batch), "samples/s"
        number = number * parsed[1] * factor if number is not None else None
    elif value.quantity in ("time_to_train", "step_time", "interval_time", "elapsed"):
        unit = "s"
        seconds = clock_seconds(text) if number is None or ":" in text else number * seconds_in(value.unit)
        number = seconds
        name = value.metric or ("time_to_train" if value.quantity == "time_to_train" else f"reported_{value.quantity}")
    elif value.quantity == "accuracy" and number is not None:
        unit = "%" if number > 1 else "fraction"
        unit = value.unit or unit
    if number is None or not abs(number) <= LARGEST:
        return None
    return Metric(
        name,
        None if reason else number,
        unit,
        value.pick,
        1,
        {},
        fact.line,
        fact.line,
        reason=reason,
        parser=fact.pattern.parser,
        rounding=bounds(number, share) if value.quantity == "rate" and share > COARSE and not reason else None,
        definition=value.definition,
    )


def _is_possible(quantity: str, number: float | None) -> bool:
    """Whether a program can mean a number: not infinite, no rate or time of zero, no accuracy below it.

    A text that is no plain number (None), such as a clock, may mean one.
    """
    if number is None:
        return True
    if not math.isfinite(number):
        return False
    if quantity == "accuracy":
        return 0 <= number <= 100
    return number > 0 or quantity not in ("rate", "time_to_train", "step_time", "interval_time", "elapsed")


def _time_to_train(out: dict[str, Metric], events: list[LogFact]) -> None:
    """MLPerf's score: run_stop − run_start; none when the run failed."""
    start = next((e for e in events if e.pattern.event == "run_start"), None)
    stop = next((e for e in reversed(events) if e.pattern.event == "run_stop"), None)
    failed = next((e for e in events if e.pattern.event == "run_failed"), None)
    if start is None or "time_to_train" in out:
        return
    metric = Metric(
        "time_to_train", None, "s", "run_stop − run_start", 2, {}, start.line, start.line, parser=start.pattern.parser
    )
    if failed is not None:
        metric.reason = f"the run did not reach its target (line {failed.line})"
    elif stop is None:
        metric.reason = "run_start without run_stop: the log ends before the run does"
    else:
        began, ended = (_number(event.fields.get("timestamp", "")) for event in (start, stop))
        unit = next((v.unit for v in start.pattern.values if v.group == "timestamp"), "s")
        if began is not None and ended is not None and began < ended <= LARGEST:
            metric.value, metric.last_line = (ended - began) * seconds_in(unit), stop.line
        else:
            metric.reason = "run_start and run_stop have no usable times"
    out["time_to_train"] = metric


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


# ----------------------------------------------------------------------------------------------------
# What a program itself says of its whole run, and its lines of whole epochs: accounts beside the measurements.
#
# An account is a witness of the measured number. The program's own rate, which a user may take in place of that, is
# held against the measurements in turn.


def accounts_of(metrics: Mapping[str, Metric], reading: Reading) -> list[Account]:
    """What the program's own metrics say of the whole run: its rate, its time per step, its time."""
    if not metrics:
        return []
    quantities = {
        value.metric or f"reported_{value.quantity}": value.quantity
        for pattern in reading.patterns.values()
        if pattern.role == "summary"
        for value in pattern.values
        if not _is_mean_of_epoch(value)
    }
    found = []
    for name, metric in metrics.items():
        kind_of_account = _ACCOUNTS.get("rate" if name == "reported" else quantities.get(name, name))
        if kind_of_account is not None and metric.value is not None:
            title = "the program's own summary" if name == "reported" else f"the program's own {name}"
            rounding = 0.0 if metric.rounding is None else metric.value / metric.rounding[0] - 1
            account = Account(title, kind_of_account, metric.value, metric.unit, metric.last_line, rounding)
            if metric.unit == "steps/s":
                account = structs.replace(account, quantity="time per step", value=1 / metric.value, unit="s")
            found.append(account)
    return found


_ACCOUNTS = {
    "rate": "throughput", "step_time": "time per step", "elapsed": "run time", "time_to_train": "run time"
}  # fmt: skip


def held(own: Mapping[str, Metric], question: Question) -> tuple[dict[str, Metric], list[Note]]:
    """(the program's own metrics, doubts about its rates); a rate that the measured lines contradict has no value.

    The rates of one line are of one time: what contradicts one contradicts all. Where nothing tells the samples of a
    step, its steps per second alone can be compared.
    """
    found, doubts, refused = dict(own), list[Note](), dict[int, str]()
    factors = job_of(question).factors
    of_samples = {"reported": own["reported"]} if "reported" in own else {}
    rates = of_samples | {name: metric for name, metric in own.items() if metric.unit.endswith("/s")}
    for account in accounts_of(rates, question.reading):
        whole = whole_until(account.line, question.measured)
        why = ""
        if counts_steps_before(account, whole):
            why = ": it counts the steps before the log's first in the time of those of the log"
        for witness in summary_witnesses([account], structs.replace(whole, made=1.0), factors):
            if why or witness.agreement == "contradicts":
                refused.setdefault(account.line, sentence(replace(witness, agreement="contradicts")) + why)
            elif witness.agreement == "doubts":
                doubts.append(note_against(witness))
    for name, metric in rates.items():
        if metric.last_line in refused:
            found[name] = replace(metric, value=None, rounding=None, reason=refused[metric.last_line])
    return found, doubts


def accounts_of_each_epoch(reading: Reading, measured: Measured) -> list[Account]:
    """The mean time per step of the epochs, of programs that print it at the end of each; the first holds the start.

    A line behind which no step was measured since the line before it is an evaluation's.
    """
    found = []
    first, last = measured.segment.first_line, measured.segment.last_line
    for value, pattern in _means_of_epochs(reading, measured.pattern.parser):
        facts = [fact for fact in reading.facts if fact.pattern is pattern and fact.line > first]
        times = list[tuple[float, float, int]]()
        for fact, steps in zip(facts, _lines_between(measured.segment, first - 1, facts), strict=True):
            text = fact.fields.get(value.group, "")
            if steps and (digit := half_digit(text)) is not None and float(text) > 0:
                times.append((float(text) * seconds_in(value.unit), digit / float(text), fact.line))
        times = times[1:] if len(times) > 1 else times
        if times and times[-1][2] >= last:
            each = [time for time, _, _ in times]
            name = f"the program's own time of {'each epoch' if len(each) > 1 else 'its epoch'}"
            rounding = max(share for _, share, _ in times)
            close = measured.basis.value.span == "window" and len(each) > 1
            mean = sum(each) / len(each)
            found.append(Account(name, "time per step", mean, "s", times[-1][2], rounding, close))
    return found


def _lines_between(segment: Segment, begin: int, facts: Sequence[LogFact]) -> list[int]:
    """How many measurements stand between each fact and the one before it, or behind the line ``begin``."""
    if not facts:
        return []
    ends = np.array([fact.line for fact in facts])
    begins = np.append(begin, ends[:-1])
    counts = np.zeros(len(facts), dtype=np.int64)
    for rows in segment.store.blocks():  # one block at a time: a log may have millions of lines
        counts += rows[5].searchsorted(ends) - rows[5].searchsorted(begins, "right")
    return [max(int(count), 0) for count in counts]


def _means_of_epochs(reading: Reading, parser: str) -> list[tuple[Value, Pattern]]:
    """The values of a parser's summaries that are mean times per step of an epoch, with their patterns."""
    return [
        (value, pattern)
        for pattern in reading.patterns.values()
        if pattern.role == "summary" and pattern.parser == parser
        for value in pattern.values
        if _is_mean_of_epoch(value)
    ]


def _is_mean_of_epoch(value: Value) -> bool:
    return (value.quantity, value.span, value.since) == ("step_time", "cumulative", "epoch")


def accounts_of_epochs(reading: Reading, measured: Measured, metadata: Metadata) -> list[Account]:
    """What the lines of whole epochs say, where they are not what is measured: their rate, or their time per step."""
    found = []
    for key, ranks in reading.series.items():
        pattern = reading.patterns[key]
        if not pattern.total or pattern.parser != measured.pattern.parser or pattern is measured.pattern:
            continue
        for segment in ranks[min(ranks)].segments[:1] if ranks else ():
            if segment.basis is None or not segment.store.count:
                continue
            rows = np.concatenate(list(segment.store.blocks()), axis=1)
            rows = rows[:, 1:] if rows.shape[1] > 1 else rows  # the first epoch holds the start-up
            covers, time, work = rows[2:5].sum(axis=1).tolist()
            factor = factor_of(reading, pattern, segment.basis, metadata)
            line = int(rows[5, -1])
            if segment.basis.is_rate and not factor.reason:
                rate = work / time * factor.value
                found.append(Account("the lines of whole epochs", "throughput", rate, factor.unit, line))
            elif segment.basis.real_time:
                found.append(Account("the lines of whole epochs", "time per step", time / covers, "s", line))
    return found
