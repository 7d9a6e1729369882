"""What a program itself says of its whole run, and its lines of whole epochs: accounts beside the measurements.

An account is a witness of the measured number. The program's own rate, which a user may take in place of that, is held
against the measurements in turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from msgspec import structs

from perflog.evidence.summary import Account, counts_steps_before, summary_witnesses
from perflog.evidence.witness import note_against, sentence
from perflog.formats.parser import Pattern, Value
from perflog.formats.printed import half_digit
from perflog.formats.units import seconds_in
from perflog.notes import Note
from perflog.reading.reading import Reading
from perflog.runs.corroborate import Question, job_of
from perflog.runs.factor import factor_of
from perflog.runs.measured import Measured, whole_until
from perflog.runs.metadata import Metadata
from perflog.runs.run import Metric


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
    lines = np.concatenate([rows[5] for rows in measured.segment.store.blocks()])
    for value, pattern in _means_of_epochs(reading, measured.pattern.parser):
        facts = [fact for fact in reading.facts if fact.pattern is pattern and fact.line > first]
        before, times = first - 1, list[tuple[float, float, int]]()
        for fact in facts:
            steps = int(((lines > before) & (lines < fact.line)).sum())
            text, before = fact.fields.get(value.group, ""), fact.line
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
