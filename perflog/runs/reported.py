"""What the program itself reports: its own rates, time to train, accuracy and other metrics."""

from __future__ import annotations

import math
from dataclasses import replace

from perflog.formats.parser import Value
from perflog.formats.printed import LARGEST, clock_seconds
from perflog.formats.units import kind, rate_unit, seconds_in
from perflog.formats.vocabulary import INTEGERS, normal
from perflog.notes import Note
from perflog.reading.account import LogFact
from perflog.reading.reading import Reading
from perflog.runs.factor import global_batch, scope_multiplier
from perflog.runs.metadata import Metadata
from perflog.runs.run import Metric


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
    printed: dict[tuple[str, str], set[float]] = {}
    summaries = [fact for fact in reading.facts if fact.pattern.role == "summary"]
    inside = [fact for fact in summaries if span[0] <= fact.line <= span[1]]
    outside = [fact for fact in summaries if not span[0] <= fact.line <= span[1] and _names_configuration(fact)]
    for fact in (*inside, *outside):
        if not _is_for(fact, metadata):
            continue
        for value in fact.pattern.values:
            text = fact.fields.get(value.group)
            if text is None or not _is_possible(value.quantity, _number(text)):
                continue
            name = _add_summary(metrics, fact, value, text, metadata)
            if name == "reported" and fact.pattern.never_with:
                metrics[name] = _unless_contradicted(metrics[name], fact, reading)
            if name == "reported":
                printed.setdefault((fact.pattern.key, value.group), set()).add(_number(text) or 0.0)
    notes = [
        Note(
            f"the program printed {len(rates)} different rates of its own, {min(rates):g} to {max(rates):g}; "
            "the last is taken"
        )
        for rates in printed.values()
        if len(rates) > 1
    ]
    events = [fact for fact in reading.facts if fact.pattern.role == "event" and span[0] <= fact.line <= span[1]]
    _time_to_train(metrics, events)
    return metrics, notes


def _unless_contradicted(metric: Metric, fact: LogFact, reading: Reading) -> Metric:
    """The program's own rate; without its value where a line since its last summary says that it means another."""
    lines = [other for other in reading.facts if other.line < fact.line and other.pattern.parser == fact.pattern.parser]
    since = max((other.line for other in lines if other.pattern is fact.pattern), default=0)
    for other in lines:
        if other.line > since and other.pattern.name in fact.pattern.never_with:
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


def _add_summary(out: dict[str, Metric], fact: LogFact, value: Value, text: str, metadata: Metadata) -> str:
    """Take one value of a summary line; the metric it counts as, empty for none."""
    number = _number(text)
    name, unit, reason = value.metric or value.quantity, value.unit, ""
    if value.quantity == "rate":
        name = value.metric or "reported"
        parsed = rate_unit(fact.fields.get("unit") or "") or rate_unit(value.unit)
        if parsed is None:
            return ""
        unit = parsed[0]
        factor, reason = scope_multiplier(value.scope, metadata)
        if kind(unit) == "steps":
            batch = global_batch(metadata)
            if batch is None:
                return ""
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
        return ""
    old = out.get(name)
    if old is not None and old.value is not None:
        better = {"last": True, "first": False, "max": number > old.value, "min": number < old.value}[value.pick]
        if not better:
            return ""
    out[name] = Metric(
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
        definition=value.definition,
    )
    return name


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
