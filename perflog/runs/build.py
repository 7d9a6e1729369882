"""A run: one training, its metadata, the window taken, and its metrics with their sources.

``build_runs`` turns the reading of one log into runs. What cannot be one run, or has no number that can be
trusted, becomes a run without a value and with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.measurements.series import RankSeries
from perflog.reading.account import LogFact
from perflog.reading.reading import Reading
from perflog.runs.doubts import notes_of_segment, refusal
from perflog.runs.facts import facts_of_run
from perflog.runs.metadata import Metadata, merge
from perflog.runs.primary import main_rank, primary_pattern
from perflog.runs.reported import renamed, summary_metrics
from perflog.runs.run import FAILURES, Metric, Outcome, Run, Skipped
from perflog.runs.throughput import ranks_used, step_time_of, throughput_of
from perflog.settings.options import Options


def build_runs(reading: Reading, catalog: Catalog, options: Options) -> Outcome:
    """The runs of one log, or why it has none."""
    if reading.problem:
        return Skipped(reading.log, reading.problem)
    failure = next((f for f in reading.facts if f.pattern.parser == FAILURES), None)
    if failure is not None:
        return [_failed(run, failure) for run in _measured(reading, catalog, options)] or [_run_of_failure(reading, catalog, options, failure)]
    return _measured(reading, catalog, options) or Skipped(reading.log, _why_not(reading))


def _measured(reading: Reading, catalog: Catalog, options: Options) -> list[Run]:
    primary = primary_pattern(reading, catalog)
    summaries = [f for f in reading.facts if f.pattern.role in ("summary", "event")]
    if primary is None and not summaries:
        return []
    for parser in {p.parser for p in reading.patterns.values() if reading.accounts[p.key].matches}:
        catalog.checked(parser)
    if primary is None:
        return [_run_of_summaries(reading, catalog, options, summaries)]
    ranks = reading.series[primary.key]
    main = main_rank(ranks)
    runs = []
    segments = ranks[main].segments
    low = 1
    for index, segment in enumerate(segments):
        high = reading.lines
        if index + 1 < len(segments):
            high = reading.next_start(segment.last_line) - 1
        runs.append(_run_of_segment(reading, catalog, options, primary, ranks, index, (low, high), len(segments)))
        low = high + 1
    return runs


def _why_not(reading: Reading) -> str:
    seen = sorted(key for key, account in reading.accounts.items() if account.candidates and reading.patterns[key].role == "step")
    matched = sorted({p.parser for k, p in reading.patterns.items() if reading.accounts[k].matches and p.role != "metadata"})
    if matched:
        return f"lines of {', '.join(matched)}, but no measurement among them"
    if seen:
        return f"no line of a known format ({', '.join(seen[:3])}: the literal occurs, the pattern never matches; see `perflog explain`)"
    return "no line of a known format"


def _failed(run: Run, failure: LogFact) -> Run:
    """A training that failed has no number, whatever it printed before."""
    unit = run.throughput.unit
    run.metrics = {"throughput": Metric("throughput", None, unit, run.throughput.estimator, reason=failure.fields["failure"], parser=run.parser)}
    run.last_line = failure.line
    return run


def _run_of_failure(reading: Reading, catalog: Catalog, options: Options, failure: LogFact) -> Run:
    """A training that failed before its first measurement: its path and the last line say what it was."""
    facts, label = facts_of_run(reading, catalog, options, FAILURES, (1, reading.lines))
    metadata = merge(fact for fact in facts if fact.key != "failure")
    metrics = {"throughput": Metric("throughput", None, "", options.estimator, reason=failure.fields["failure"], parser=FAILURES)}
    return _run(reading, FAILURES, metadata, label, metrics, list(reading.notes), options, failure.line, failure.line)


def _run_of_summaries(reading: Reading, catalog: Catalog, options: Options, summaries: list[LogFact]) -> Run:
    span = (1, reading.lines)
    best = max(summaries, key=lambda f: catalog.by_name[f.pattern.parser].priority).pattern.parser
    facts, label = facts_of_run(reading, catalog, options, best, span)
    metadata = merge(facts)
    metrics = summary_metrics(reading, metadata, span)
    reported = metrics.pop("reported", None)
    notes = list(reading.notes) + metadata.doubts
    if reported is not None and options.estimator == "reported":
        metrics["throughput"] = renamed(reported, "throughput")
    else:
        reason = "the log holds only the program's own summary: --estimator reported takes it" if reported else "no measurement of steps in the log"
        metrics["throughput"] = Metric("throughput", None, reported.unit if reported else "", options.estimator, reason=reason, parser=best)
    if reported is not None:
        metrics["reported"] = reported
    lines = [f.line for f in summaries]
    return _run(reading, best, metadata, label, metrics, notes, options, min(lines), max(lines))


def _run(
    reading: Reading, parser: str, metadata: Metadata, label: str, metrics: dict[str, Metric], notes: list[str], options: Options, first: int, last: int
) -> Run:  # fmt: skip
    framework = str(metadata.values.get("framework", ""))
    ordered = {"throughput": metrics.pop("throughput")} | metrics
    if options.digits:
        for name in ("throughput", "reported"):
            metric = ordered.get(name)
            if metric is not None and metric.value is not None:
                metric.value = float(options.digits % metric.value)
    return Run(
        reading.log,
        parser,
        framework,
        metadata,
        label,
        ordered,
        list(dict.fromkeys(notes)),
        str(options.window),
        first,
        last,
        reading.lines,
    )


def _run_of_segment(
    reading: Reading, catalog: Catalog, options: Options, pattern: Pattern, ranks: Mapping[int, RankSeries], index: int,
    span: tuple[int, int], segments: int,
) -> Run:  # fmt: skip
    facts, label = facts_of_run(reading, catalog, options, pattern.parser, span)
    metadata = merge(facts)
    main = main_rank(ranks)
    segment = ranks[main].segments[index]
    notes = list(reading.notes) + metadata.doubts
    metrics = summary_metrics(reading, metadata, span)
    reported = metrics.pop("reported", None)
    if options.estimator == "reported":
        metrics["throughput"] = renamed(reported, "throughput") if reported else Metric(
            "throughput", None, "", "reported", reason="the program printed no summary of its own", parser=pattern.parser)  # fmt: skip
        refused = refusal(reading, pattern, segment, main)
        if refused:
            metrics["throughput"] = Metric("throughput", None, "", "reported", reason=refused, parser=pattern.parser)
    else:
        used = ranks_used(ranks, index, segment, metadata, notes)
        per_rank = [throughput_of(reading, options, pattern, ranks[r].segments[index], metadata, notes if r == main else []) for r in used]
        throughput = min(per_rank, key=lambda m: m.value if m.value is not None else -1.0)
        if len(per_rank) > 1 and throughput.value is not None:
            notes.append(f"the slowest of {len(per_rank)} ranks is taken for all (each waits for the others)")
        refused = refusal(reading, pattern, segment, main)
        if refused:
            throughput.value, throughput.reason = None, refused
        metrics["throughput"] = throughput
        step_time = step_time_of(reading, segment, options, metadata, pattern, throughput)
        if step_time is not None and not refused:
            metrics["step_time"] = step_time
    if reported is not None:
        metrics["reported"] = reported
    for name, (value, line) in segment.last.items():
        unit = pattern.memory_unit if name == "memory" else ""
        metrics.setdefault(name, Metric(name, value, unit, "last", 1, {}, line, line, parser=pattern.parser))
    notes += notes_of_segment(segment)
    if segments > 1:
        notes.append(f"run {index + 1} of {segments} in this log (lines {span[0]} to {span[1]})")
    return _run(reading, pattern.parser, metadata, label, metrics, notes, options, segment.first_line, segment.last_line)
