"""A run: one training, its metadata, the window taken, and its metrics with their sources.

``build_runs`` turns the reading of one log into runs. What cannot be one run, or has no number that can be
trusted, becomes a run without a value and with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from perflog.amount import Window
from perflog.catalog import Catalog
from perflog.estimate import Estimate, estimate
from perflog.find import LogFile
from perflog.machine_facts import facts_of_machine
from perflog.measure import Plan
from perflog.metadata import INTEGERS, SOURCES, Fact, Metadata, Scalar, facts_of_path, merge, normal
from perflog.options import Options
from perflog.parser import Pattern, Value
from perflog.reading import LogFact, Reading
from perflog.series import RankSeries, Segment
from perflog.steady import doubt, settled
from perflog.units import kind, rate_unit, seconds_in
from perflog.window import Taken, select


@dataclass(slots=True)
class Metric:
    """A number with everything it stands on.

    ``value`` is None when there is none, and ``reason`` says why. ``used`` and ``excluded`` count
    measurements (printed lines); ``first_line`` and ``last_line`` are those of the measurements used.
    """

    name: str
    value: float | None
    unit: str
    estimator: str
    used: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    first_line: int = 0
    last_line: int = 0
    first_step: float | None = None
    last_step: float | None = None
    reason: str = ""
    parser: str = ""
    time_per_step: float | None = None


@dataclass(slots=True)
class Run:
    """One training run found in one log."""

    log: LogFile
    parser: str
    framework: str
    metadata: Metadata
    label: str
    metrics: dict[str, Metric]
    notes: list[str]
    window: str
    first_line: int
    last_line: int
    lines: int

    @property
    def throughput(self) -> Metric:
        return self.metrics["throughput"]

    @property
    def values(self) -> Mapping[str, Scalar]:
        return self.metadata.values


@dataclass(slots=True)
class Skipped:
    """A file that is no training log, and why."""

    log: LogFile
    reason: str


Outcome = list[Run] | Skipped
#: The parser of the line that `perflog run` ends a failed training's log with.
FAILURES = "perflog_run"
#: Where a format's step counter may stand still (a loss scaler backing off), for at most this share of records.
MOST_REPEATS = 0.45


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


def primary_pattern(reading: Reading, catalog: Catalog) -> Pattern | None:
    """The pattern whose measurements make the throughput: measured steps of the most specific parser."""
    best: tuple[tuple[bool, int, int], Pattern] | None = None
    for key, ranks in reading.series.items():
        pattern = reading.patterns[key]
        if pattern.role != "step":
            continue
        printed = sum(s.printed for series in ranks.values() for s in series.segments)
        has_plan = any(s.plan is not None or s.refused for series in ranks.values() for s in series.segments)
        if not printed:
            continue
        rank = (has_plan, catalog.by_name[pattern.parser].priority, printed)
        if best is None or rank > best[0]:
            best = (rank, pattern)
    return best[1] if best else None


def main_rank(ranks: Mapping[int, RankSeries]) -> int:
    return min(ranks)


def segments_of(reading: Reading, outcome: Outcome, catalog: Catalog) -> Iterator[tuple[Run, Segment]]:
    """Each run with the measurements of the rank that speaks for it; nothing for what has no measured steps."""
    pattern = None if isinstance(outcome, Skipped) else primary_pattern(reading, catalog)
    if isinstance(outcome, Skipped) or pattern is None:
        return
    ranks = reading.series[pattern.key]
    yield from zip(outcome, ranks[main_rank(ranks)].segments, strict=False)


def _why_not(reading: Reading) -> str:
    seen = sorted(key for key, account in reading.accounts.items() if account.candidates and reading.patterns[key].role == "step")
    matched = sorted({p.parser for k, p in reading.patterns.items() if reading.accounts[k].matches and p.role != "metadata"})
    if matched:
        return f"lines of {', '.join(matched)}, but no measurement among them"
    if seen:
        return f"no line of a known format ({', '.join(seen[:3])}: the literal occurs, the pattern never matches; see `perflog explain`)"
    return "no line of a known format"


# ---------------------------------------------------------------- metadata


def _facts(reading: Reading, catalog: Catalog, options: Options, parser: str, span: tuple[int, int]) -> tuple[list[Fact], str]:
    facts = [Fact(k, v, "command line", "--set") for k, v in options.set.items()]
    facts += [Fact(k, v, "config", "perflog.toml") for k, v in options.config_set.items()]
    here: dict[str, Fact] = {}
    earlier: dict[str, Fact] = {}
    order = {p.key: n for n, p in enumerate(catalog.by_name[parser].patterns)}
    # settings count for formats of the same framework, and those whose other lines are in the log:
    # `Model:` may mean anything elsewhere
    framework = catalog.by_name[parser].framework
    present = {p.name for p in catalog.parsers if p.name == parser or (framework and p.framework == framework)} | {
        p.parser for key, p in reading.patterns.items() if p.role != "metadata" and reading.accounts[key].matches
    }
    logged = [f for f in reading.facts if f.pattern.role == "metadata" and f.line <= span[1] and f.pattern.parser in present]
    logged.sort(key=lambda f: (order.get(f.pattern.key, 999), f.line))
    same: list[Fact] = []
    for fact in logged:
        for key, value in {**_translated(fact), **fact.pattern.set}.items():
            made = Fact(key, value, "log", f"line {fact.line}")
            target = here if fact.line >= span[0] else earlier
            if key not in target:
                target[key] = made
            elif target is here and fact.pattern.key in order and normal(key, value) != normal(key, target[key].value):
                same.append(made)
    facts += list(here.values()) + [f for k, f in earlier.items() if k not in here] + same[:3]
    from_path, label = facts_of_path(_absolute(reading.log.place), catalog.path_patterns)
    facts += from_path + facts_of_machine(_absolute(reading.log.path))
    owner = catalog.by_name[parser]
    facts += [Fact(k, v, "parser", owner.name) for k, v in owner.default.items()]
    if owner.framework:
        facts.append(Fact("framework", owner.framework, "parser", owner.name))
    return facts, label


def _absolute(path: str) -> str:
    import os

    return os.path.abspath(path)  # noqa: PTH100 - 20,000 paths


def _translated(fact: LogFact) -> dict[str, str]:
    out: dict[str, str] = {}
    for key, value in fact.fields.items():
        if key == "device_list":
            names = [part for part in value.strip("[]() ").split(",") if part.strip()]
            if names:
                out["devices"] = str(len(names))
            continue
        table = fact.pattern.map.get(key)
        if table is None:
            out[key] = value
        elif value in table:
            out[key] = table[value]
    return out


# ---------------------------------------------------------------- runs


def _failed(run: Run, failure: LogFact) -> Run:
    """A training that failed has no number, whatever it printed before."""
    unit = run.throughput.unit
    run.metrics = {"throughput": Metric("throughput", None, unit, run.throughput.estimator, reason=failure.fields["failure"], parser=run.parser)}
    run.last_line = failure.line
    return run


def _run_of_failure(reading: Reading, catalog: Catalog, options: Options, failure: LogFact) -> Run:
    """A training that failed before its first measurement: its path and the last line say what it was."""
    facts, label = _facts(reading, catalog, options, FAILURES, (1, reading.lines))
    metadata = merge(fact for fact in facts if fact.key != "failure")
    metrics = {"throughput": Metric("throughput", None, "", options.estimator, reason=failure.fields["failure"], parser=FAILURES)}
    return _run(reading, FAILURES, metadata, label, metrics, list(reading.notes), options, failure.line, failure.line)


def _run_of_summaries(reading: Reading, catalog: Catalog, options: Options, summaries: list[LogFact]) -> Run:
    span = (1, reading.lines)
    best = max(summaries, key=lambda f: catalog.by_name[f.pattern.parser].priority).pattern.parser
    facts, label = _facts(reading, catalog, options, best, span)
    metadata = merge(facts)
    metrics = _summary_metrics(reading, metadata, span)
    reported = metrics.pop("reported", None)
    notes = list(reading.notes) + metadata.doubts
    if reported is not None and options.estimator == "reported":
        metrics["throughput"] = _named(reported, "throughput")
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
    facts, label = _facts(reading, catalog, options, pattern.parser, span)
    metadata = merge(facts)
    main = main_rank(ranks)
    segment = ranks[main].segments[index]
    notes = list(reading.notes) + metadata.doubts
    metrics = _summary_metrics(reading, metadata, span)
    reported = metrics.pop("reported", None)
    if options.estimator == "reported":
        metrics["throughput"] = _named(reported, "throughput") if reported else Metric(
            "throughput", None, "", "reported", reason="the program printed no summary of its own", parser=pattern.parser)  # fmt: skip
        refused = _refused(reading, pattern, segment, main)
        if refused:
            metrics["throughput"] = Metric("throughput", None, "", "reported", reason=refused, parser=pattern.parser)
    else:
        used = _ranks_used(ranks, index, segment, metadata, notes)
        per_rank = [_throughput(reading, options, pattern, ranks[r].segments[index], metadata, notes if r == main else []) for r in used]
        throughput = min(per_rank, key=lambda m: m.value if m.value is not None else -1.0)
        if len(per_rank) > 1 and throughput.value is not None:
            notes.append(f"the slowest of {len(per_rank)} ranks is taken for all (each waits for the others)")
        refused = _refused(reading, pattern, segment, main)
        if refused:
            throughput.value, throughput.reason = None, refused
        metrics["throughput"] = throughput
        step_time = _step_time(reading, segment, options, metadata, pattern, throughput)
        if step_time is not None and not refused:
            metrics["step_time"] = step_time
    if reported is not None:
        metrics["reported"] = reported
    for name, (value, line) in segment.last.items():
        unit = pattern.memory_unit if name == "memory" else ""
        metrics.setdefault(name, Metric(name, value, unit, "last", 1, {}, line, line, parser=pattern.parser))
    notes += _segment_notes(segment)
    if segments > 1:
        notes.append(f"run {index + 1} of {segments} in this log (lines {span[0]} to {span[1]})")
    return _run(reading, pattern.parser, metadata, label, metrics, notes, options, segment.first_line, segment.last_line)


def _refused(reading: Reading, pattern: Pattern, segment: Segment, main: int) -> str:
    if segment.refused:
        return segment.refused
    if segment.printed >= 10 and segment.repeats > MOST_REPEATS * segment.printed:
        return f"{segment.repeats} of {segment.printed} records repeat the step before them: several ranks are blended"
    if pattern.position:
        positions = reading.series.get(f"{pattern.parser}.{pattern.position}", {})
        series = positions.get(main) or next(iter(positions.values()), None)
        for part in series.segments if series else ():
            if part.refused and part.first_line <= segment.last_line:
                return part.refused
    return ""


def _segment_notes(segment: Segment) -> list[str]:
    notes = []
    if segment.doubled:
        notes.append(f"{_many(segment.doubled, 'event')} printed twice, counted once")
    if segment.gaps:
        times = "1 record is" if segment.gaps == 1 else f"{segment.gaps} records are"
        notes.append(f"{times} missing, the first {segment.gap_at}")
    if segment.unusable:
        notes.append(
            f"{_many(segment.unusable, 'record')} without a usable number" + (f", the first at line {segment.unusable_line}" if segment.unusable_line else "")
        )
    if segment.unknown_count:
        notes.append(f"{_many(segment.unknown_count, 'running mean')} left out: how many steps they cover cannot be known")
    if segment.plan is not None and segment.plan.note:
        notes.append(segment.plan.note)
    return notes


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _ranks_used(ranks: Mapping[int, RankSeries], index: int, segment: Segment, metadata: Metadata, notes: list[str]) -> list[int]:
    """Which ranks' measurements count: all when each speaks for itself, else the first that speaks for all."""
    main = main_rank(ranks)
    tagged = sorted(r for r in ranks if index < len(ranks[r].segments) and ranks[r].segments[index].store.count)
    if len(tagged) < 2:
        return [main]
    scope = segment.plan.value.scope if segment.plan else "job"
    if scope == "job":
        notes.append(f"{len(tagged)} ranks print the job's value: rank {main} is taken")
        return [main]
    devices = metadata.integer("devices")
    if devices is None and tagged == list(range(len(tagged))):
        metadata.values["devices"] = len(tagged)
        metadata.sources["devices"] = "log"
        notes.append(f"devices taken from the {len(tagged)} ranks that print")
        return tagged
    if devices != len(tagged):
        notes.append(f"{len(tagged)} ranks print, of {devices} devices")
    return tagged


def _throughput(reading: Reading, options: Options, pattern: Pattern, segment: Segment, metadata: Metadata, notes: list[str]) -> Metric:
    plan = segment.plan
    metric = Metric("throughput", None, "", options.estimator, parser=pattern.parser)
    if segment.refused:
        metric.reason = segment.refused
        return metric
    if plan is None:
        metric.reason = "no line holds a rate or a time that can be used"
        return metric
    factor, unit, reason = _factor(reading, pattern, segment, metadata)
    metric.unit = unit
    taken = Taken()
    scale = _seconds_scale(reading, pattern, plan, metadata)
    window, note, metric.reason = _window(segment, options)
    if metric.reason:
        return metric
    if note:
        notes.append(note)
    found = estimate(select(segment, window, scale, taken), options.estimator)
    metric.used, metric.excluded = found.used, taken.excluded
    metric.first_line, metric.last_line = taken.first_line, taken.last_line
    metric.first_step, metric.last_step = taken.first_step, taken.last_step
    for why, count in (("trimmed", found.dropped), ("no usable number", segment.unusable), ("printed twice", segment.doubled)):
        taken.leave_out(why, count)
    metric.reason = taken.reason or found.reason or reason
    if not metric.reason:
        metric.value = found.value * factor
        metric.time_per_step = found.time / found.covers if found.covers else None
        if segment.keyless:
            notes.append("the lines print no step numbers; each is taken to cover equally many steps")
        if options.window.warmup.unit != "auto" and not options.convention and (late := doubt(segment, options.window)):
            notes.append(late)
    return metric


def _window(segment: Segment, options: Options) -> tuple[Window, str, str]:
    """(window, note, reason): the window that counts in this segment."""
    return settled(segment, options.window) if options.window.warmup.unit == "auto" else (options.window, "", "")


def _seconds_scale(reading: Reading, pattern: Pattern, plan: Plan, metadata: Metadata) -> float | None:
    """What turns the stored time into seconds; None when it cannot be known.

    A rate gives the time of a step where it counts steps, or what the batch size counts: samples, not tokens.
    """
    if plan.real_time:
        return 1.0
    unit, reason = _unit_of(reading, pattern, plan.value)
    if reason or kind(unit) not in ("steps", "items"):
        return None
    if kind(unit) == "steps":
        return 1.0
    total = _global_batch(metadata)
    multiplier, _ = _multiplier(plan.value.scope, metadata)
    return total / multiplier if total is not None and multiplier else None


def _global_batch(metadata: Metadata) -> int | None:
    total = metadata.integer("global_batch_size")
    batch, devices = metadata.integer("batch_size"), metadata.integer("devices")
    if total and (not batch or SOURCES.index(metadata.sources["global_batch_size"]) <= SOURCES.index(metadata.sources["batch_size"])):
        return total
    return batch * devices if batch and devices else total


def _multiplier(scope: str, metadata: Metadata) -> tuple[float, str]:
    if scope == "job":
        return 1.0, ""
    key = "nodes" if scope == "node" else "devices"
    count = metadata.integer(key)
    if count is None:
        return 0.0, f"the printed rate is one {scope}'s and the number of {key} is unknown: give --set {key}=N"
    return float(count), ""


def _factor(reading: Reading, pattern: Pattern, segment: Segment, metadata: Metadata) -> tuple[float, str, str]:
    """(factor, unit, reason): what turns Σ work / Σ time into throughput."""
    plan = segment.plan
    assert plan is not None
    if plan.is_rate:
        unit, reason = _unit_of(reading, pattern, plan.value)
        if reason:
            return 0.0, "", reason
        factor, reason = _multiplier(plan.value.scope, metadata)
        if kind(unit) == "steps":
            batch = _global_batch(metadata)
            if batch is None:
                return (
                    0.0,
                    unit,
                    "the log prints steps per second; for samples per second give --set batch_size=N (per device) and devices=N",
                )
            return float(batch), "samples/s", ""
        return factor, unit, reason
    if plan.batch_on_line:
        return 1.0, "samples/s", ""
    accumulated = str(metadata.values.get("gradient_accumulation_steps", "1"))
    if accumulated != "1" and "global_batch_size" not in metadata.values:
        return 0.0, "samples/s", f"each step accumulates {accumulated} micro-batches and the log prints times only: give --set global_batch_size=N"
    batch = _global_batch(metadata)
    if batch is None:
        missing = [k for k in ("batch_size", "devices") if metadata.integer(k) is None]
        return (
            0.0,
            "samples/s",
            f"the log prints times only, and {' and '.join(missing)} unknown: give " + " ".join(f"--set {k}=N" for k in missing),
        )
    return float(batch), "samples/s", ""


def _unit_of(reading: Reading, pattern: Pattern, value: Value) -> tuple[str, str]:
    """The rate's canonical unit: as the parser declares it, or as every line prints it."""
    printed = {u for u in reading.units.get(pattern.key, set()) if u and u != "None"}
    known = {parsed[0] for u in printed if (parsed := rate_unit(u)) is not None}
    declared = rate_unit(value.unit)
    if declared is not None:
        return declared[0], ""
    scaled = any(parsed[1] != 1.0 for u in printed if (parsed := rate_unit(u)) is not None)  # kimg/sec: lines were read as img/sec
    if len(known) == 1 and not scaled:
        return known.pop(), ""
    if not printed:
        return "", "the log does not say what the rate counts"
    return "", f"the rate's unit is not one that is known: {', '.join(sorted(printed))}"


def _step_time(reading: Reading, segment: Segment, options: Options, metadata: Metadata, pattern: Pattern, throughput: Metric) -> Metric | None:
    """Seconds per step over the throughput's window; None where the log's times are not in seconds."""
    plan = segment.plan
    scale = _seconds_scale(reading, pattern, plan, metadata) if plan is not None else None
    if plan is None or scale is None:
        return None
    per_step = throughput.time_per_step
    if per_step is None and not throughput.reason:
        return None
    if per_step is None:  # throughput lacks something else (the batch size): the times themselves may be known
        taken = Taken()
        window, _, unsettled = _window(segment, options)
        if unsettled:
            return None
        found: Estimate = estimate(select(segment, window, scale, taken), "total")
        if found.reason or taken.reason or not found.covers:
            return None
        per_step, throughput = found.time / found.covers, Metric("", None, "", "", found.used, taken.excluded, taken.first_line, taken.last_line)
    return Metric(
        "step_time", per_step * scale, "s", "total", throughput.used, throughput.excluded, throughput.first_line, throughput.last_line, parser=pattern.parser
    )


# ---------------------------------------------------------------- what the program itself reports


def _named(metric: Metric, name: str) -> Metric:
    copy = Metric(**{f: getattr(metric, f) for f in metric.__slots__})
    copy.name = name
    return copy


def _summary_metrics(reading: Reading, metadata: Metadata, span: tuple[int, int]) -> dict[str, Metric]:
    """Reported rate, time to train, accuracy and other metrics that summary and event lines give."""
    out: dict[str, Metric] = {}
    printed: dict[tuple[str, str], set[float]] = {}
    summaries = [f for f in reading.facts if f.pattern.role == "summary"]
    inside = [f for f in summaries if span[0] <= f.line <= span[1]]
    selecting = [f for f in summaries if any(k in INTEGERS and k != "repeat" for k in f.fields)]
    for fact in [*inside, *(f for f in selecting if f not in inside)]:
        if not _is_for(fact, metadata):
            continue
        for value in fact.pattern.values:
            text = fact.fields.get(value.group)
            if text is None:
                continue
            name = _add_summary(out, fact, value, text, metadata)
            if name == "reported":
                printed.setdefault((fact.pattern.key, value.group), set()).add(_number(text) or 0.0)
    for values in printed.values():
        if len(values) > 1:
            metadata.doubts.append(f"the program printed {len(values)} different rates of its own, {min(values):g} to {max(values):g}; the last is taken")
    _time_to_train(out, [f for f in reading.facts if f.pattern.role == "event" and span[0] <= f.line <= span[1]])
    return out


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
        factor, reason = _multiplier(value.scope, metadata)
        if kind(unit) == "steps":
            batch = _global_batch(metadata)
            if batch is None:
                return ""
            factor, unit = float(batch), "samples/s"
        number = number * parsed[1] * factor if number is not None else None
    elif value.quantity in ("time_to_train", "step_time", "interval_time", "elapsed"):
        unit = "s"
        seconds = _duration(text) if number is None or ":" in text else number * seconds_in(value.unit)
        number = seconds
        name = value.metric or ("time_to_train" if value.quantity == "time_to_train" else f"reported_{value.quantity}")
    elif value.quantity == "accuracy" and number is not None:
        unit = "%" if number > 1 else "fraction"
        unit = value.unit or unit
    if number is None or not math.isfinite(number):
        return ""
    old = out.get(name)
    if old is not None and old.value is not None:
        better = {"last": True, "first": False, "max": number > old.value, "min": number < old.value}[value.pick]
        if not better:
            return ""
    out[name] = Metric(name, None if reason else number, unit, value.pick, 1, {}, fact.line, fact.line, reason=reason, parser=fact.pattern.parser)
    return name


def _time_to_train(out: dict[str, Metric], events: list[LogFact]) -> None:
    """MLPerf's score: run_stop − run_start; none when the run failed."""
    start = next((e for e in events if e.pattern.event == "run_start"), None)
    stop = next((e for e in reversed(events) if e.pattern.event == "run_stop"), None)
    failed = next((e for e in events if e.pattern.event == "run_failed"), None)
    if start is None or "time_to_train" in out:
        return
    metric = Metric("time_to_train", None, "s", "run_stop − run_start", 2, {}, start.line, start.line, parser=start.pattern.parser)
    if failed is not None:
        metric.reason = f"the run did not reach its target (line {failed.line})"
    elif stop is None:
        metric.reason = "run_start without run_stop: the log ends before the run does"
    else:
        began, ended = (_number(event.fields.get("timestamp", "")) for event in (start, stop))
        unit = next((v.unit for v in start.pattern.values if v.group == "timestamp"), "s")
        if began is not None and ended is not None and ended > began:
            metric.value, metric.last_line = (ended - began) * seconds_in(unit), stop.line
        else:
            metric.reason = "run_start and run_stop have no usable times"
    out["time_to_train"] = metric


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _duration(text: str) -> float | None:
    """``1 day, 3:04:05.6`` as seconds."""
    days, _, clock = text.rpartition("day")
    parts = clock.strip("s, ").split(":")
    try:
        seconds = 0.0
        for part in parts:
            seconds = seconds * 60 + float(part)
        return seconds + (float(days.split()[0]) * 86400 if days.strip() else 0.0)
    except (ValueError, IndexError):
        return None
