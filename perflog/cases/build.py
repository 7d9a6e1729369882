"""Runs into cases: which runs are repeats of one configuration, and their summary."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from perflog.cases.case import (
    NOT_IN_CASE,
    Case,
    Summary,
    by_length,
    identity,
    most_known,
    records_of,
    spelling,
    told_apart_by,
    why_open,
)
from perflog.cases.mlperf import mlperf_result
from perflog.formats.printed import is_of_job, kind
from perflog.formats.vocabulary import CASE_KEYS, normal, whole_count
from perflog.logs.find import natural
from perflog.notes import Note, label_of, mark_of
from perflog.runs.factor import PATH_ALONE
from perflog.runs.metadata import model_parallel
from perflog.runs.run import FAILURES, Metric, Run
from perflog.settings.options import Options
from perflog.stats.centre import CENTRES, order_interval, relative_range
from perflog.stats.quotient import LEAST_RUNS, quotient_interval

# ----------------------------------------------------------------------------------------------------
# Each case's speedup and efficiency against its baseline.

#: What a case shares with the one-device case that its speedup is relative to, beside the model.
_BASE_KEYS = ("framework", "framework_version", "precision", "batch_size", "accelerator")
#: Keys of a case that are no labels.
_NO_LABELS = frozenset({*CASE_KEYS, "threads"})
#: What the whole job does in a step: a baseline does as much for each device.
_OF_JOB = "tokens_per_step"
#: The micro-batches of a step: where the job's batch is constant, more devices take fewer each.
_ACCUMULATED = "gradient_accumulation_steps"


def set_speedups(cases: list[Case], options: Options) -> None:
    """Set speedup, efficiency and baseline of each case that has one, with intervals; note why another has none."""
    index: dict[tuple[object, ...], list[Case]] = {}
    identities = [_base_identities(case) for case in cases]
    for case, of_case in zip(cases, identities, strict=True):
        for base in of_case:
            index.setdefault(base, []).append(case)
    for case, of_case in zip(cases, identities, strict=True):
        if case.throughput.value is None:
            continue
        if not is_of_job(case.throughput.unit):
            _say_why_none(case, options)
        elif options.baseline:
            candidates = [
                c for c in cases if _is_baseline(c, options) and kind(c.throughput.unit) == kind(case.throughput.unit)
            ]
            _set_speedup(case, candidates, options)
        else:
            alike = (c for identity in of_case for c in index[identity] if c.key.get("devices") == 1)
            candidates = list({id(c): c for c in alike}.values())
            _set_speedup(case, candidates, options, cases)


def _base_identities(case: Case) -> list[tuple[object, ...]]:
    """What a case shares with its baseline: as much work for each device, or as much for the whole job.

    Where the job's batch is constant, the micro-batches that a device accumulates follow from the number of devices.
    """
    shown, labels = _shown(case), _labels(case)
    identities: list[tuple[object, ...]] = [(*shown.values(), *labels.items())]
    if (of_job := _work_of_job(case)) is not None:
        del shown["batch_size"], labels[_ACCUMULATED]
        identities.append(("job", *shown.values(), *labels.items(), *of_job))
    return identities


def _labels(case: Case) -> dict[str, str]:
    """What tells a case from others beside the facts that tables show, by name."""
    labels = {k: str(v) for k, v in sorted(case.key.items()) if k not in _NO_LABELS}
    of_job, devices = labels.get(_OF_JOB), case.key.get("devices")
    if of_job is not None and isinstance(devices, int):
        del labels[_OF_JOB]
        labels[f"{_OF_JOB} of a device"] = f"{int(of_job) / devices:.10g}"
    return {**labels, _ACCUMULATED: labels.get(_ACCUMULATED, ""), "label": case.label}


def _work_of_job(case: Case) -> tuple[object, ...] | None:
    """(the batch of the whole job or else of a device, its micro-batches); None where they are no whole.

    The product of devices, micro-batch and accumulated steps is the job's batch, where all of them are known.
    """
    devices, split = case.key.get("devices"), model_parallel(case.key)
    accumulated = whole_count(str(case.key.get(_ACCUMULATED, 1)))
    if not isinstance(devices, int) or accumulated is None or devices % split:
        return None
    micro_batches = devices // split * accumulated
    totals = {run.values.get("global_batch_size") for run in case.runs}
    total, micro = totals.pop(), whole_count(str(case.key.get("micro_batch_size", "")))
    if totals or (total and micro and micro * micro_batches != total):
        return None
    return total or f"{case.key.get('batch_size', '')} of a device", micro_batches


def _is_baseline(case: Case, options: Options) -> bool:
    return all(str(case.key.get(k, "")).lower() == str(normal(k, v)).lower() for k, v in options.baseline.items())


def _is_asked(case: Case, options: Options) -> bool:
    """Whether a reader may look for a case's speedup, so that it is said why there is none."""
    return "devices" in case.key or bool(options.baseline)


def _say_why_none(case: Case, options: Options) -> None:
    """Note that a rate in steps, or of one device, does not grow with the work that more devices do."""
    if _is_asked(case, options):
        case.notes.append(Note(f"no speedup: {case.throughput.unit} does not count the work of the whole job"))


def _hidden_difference(case: Case, cases: Iterable[Case]) -> str:
    """In what the one-device case that is nearest to a case differs from it, which tables do not show; else empty.

    Cases whose paths differ in what nobody understands are of other campaigns, as far as anybody knows.
    """
    mine, shown = _labels(case), _shown(case)
    nearest: list[str] = []
    for other in cases:
        if other.key.get("devices") != 1 or not other.throughput.value or _shown(other) != shown:
            continue
        theirs = _labels(other)
        keys = [key for key in {**mine, **theirs} if mine.get(key, "") != theirs.get(key, "")]
        if keys and "label" not in keys and (not nearest or len(keys) < len(nearest)):
            nearest = [f"{key} ({theirs.get(key) or 'none'} there, {mine.get(key) or 'none'} here)" for key in keys]
    return " and ".join(nearest)


def _shown(case: Case) -> dict[str, str]:
    """What a case shares with its baseline of the facts that tables show, by name, and the kind of work it counts."""
    known = {k: str(case.key.get(k, "")).lower() for k in _BASE_KEYS}
    model = spelling(str(case.key.get("model", "")))
    return {**known, "model": model, "kind of work": kind(case.throughput.unit)}


def _set_speedup(case: Case, candidates: list[Case], options: Options, cases: Iterable[Case] = ()) -> None:
    wanted = " ".join(f"{k}={v}" for k, v in options.baseline.items()) or "one device"
    usable = [c for c in candidates if c.throughput.value]
    if len(usable) != 1:
        if _is_asked(case, options):
            why = (
                "has no value"
                if candidates and not usable
                else f"differs in {hidden}"
                if (hidden := _hidden_difference(case, cases))
                else "is not among the logs"
                if not candidates
                else f"is ambiguous ({len(usable)} cases)"
            )
            case.notes.append(Note(f"no speedup: the baseline ({wanted}) {why}"))
        return
    base = usable[0]
    assert base.throughput.value is not None and case.throughput.value is not None
    undecided = next((each for each in (case, base) if each.is_open), None)
    if undecided is not None and case is not base:
        case.notes.append(Note.of_missing(f"no speedup: {why_open('its baseline' if undecided is base else 'it')}"))
        return
    case.baseline, case.base = base.name, base
    case.speedup = case.throughput.value / base.throughput.value
    _set_interval(case, base)
    devices, base_devices = case.key.get("devices"), base.key.get("devices")
    if isinstance(devices, int) and isinstance(base_devices, int) and devices and base_devices:
        case.efficiency = case.speedup * base_devices / devices


def _set_interval(case: Case, base: Case) -> None:
    """Set the interval of a case's speedup, or why it has none. Where throughput has none, neither has speedup."""
    assert case.speedup is not None
    runs, base_runs = _values(case), _values(base)
    if case is base:
        case.no_interval = "the speedup of the baseline itself is 1 by definition, without an interval"
    elif case.throughput.aggregate != "median":
        case.no_interval = "no interval of the speedup: intervals are given with --aggregate median alone"
    elif min(len(runs), len(base_runs)) < LEAST_RUNS:
        case.no_interval = f"no interval of the speedup: it needs {LEAST_RUNS} runs of the case and of its baseline"
    elif not all(math.isfinite(value) and value > 0 for value in (*runs, *base_runs)):
        case.no_interval = "no interval of the speedup: the throughput of a run is not a positive, finite number"
    else:
        case.speedup_interval = quotient_interval(runs, base_runs, case.speedup)
        if case.speedup_interval is None:
            flat = "the runs of the case or of its baseline do not differ at all"
            case.no_interval = f"no interval of the speedup: {flat} (copies of one log, or too coarse a print)"


def _values(case: Case) -> list[float]:
    return [run.value for run in case.runs if run.value is not None]


#: The key of cases that differ in nothing but their length: the measurements in the longest log.
RECORDS = "records"
#: Notes of runs that are said of the extraction, once.
OF_ALL = frozenset(PATH_ALONE.values())


def build_cases(runs: Iterable[Run], options: Options) -> list[Case]:
    """Group runs into cases, summarise them, and set each case's speedup against its baseline."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(identity(run), []).append(run)
    _join_failures(groups)
    cases = [case for members in groups.values() for case in _cases_of_identity(members, options)]
    cases.sort(key=_order)
    set_speedups(cases, options)
    return cases


def _cases_of_identity(runs: list[Run], options: Options) -> list[Case]:
    """The cases of runs that are alike in all that is known: one, or one for each length where they differ in that."""
    groups = by_length(runs)
    cases = [_case(members, options) for members in groups]
    if len(groups) > 1:
        for case, members in zip(cases, groups, strict=True):
            case.key[RECORDS] = max(length for run in members if (length := records_of(run)) is not None)
    return cases


def _join_failures(groups: dict[tuple[object, ...], list[Run]]) -> None:
    """Put runs that failed before they printed a format's line with the one case that is all their paths say."""
    for told, members in [(i, m) for i, m in groups.items() if m[0].parser == FAILURES]:
        homes = [runs for runs in groups.values() if runs[0].parser != FAILURES and _may_be(members[0], runs[0])]
        if len(homes) == 1:
            homes[0].extend(groups.pop(told))


def _may_be(failure: Run, run: Run) -> bool:
    """Whether a run is of the configuration that a failure's path tells; formats of no framework do not say theirs."""
    mine, theirs = told_apart_by(failure.values), told_apart_by(run.values)
    if "framework" not in theirs:
        mine.pop("framework", None)
    return failure.label == run.label and all(theirs.get(key) == value for key, value in mine.items())


def _order(case: Case) -> tuple[object, ...]:
    def number(key: str) -> int:
        value = case.key.get(key)
        return value if isinstance(value, int) else 0

    texts = tuple(str(case.key.get(k, "")) for k in ("framework", "framework_version", "model", "precision"))
    # where the nodes are unknown the case stands among those of one node, in the order of its devices
    return (*texts, number("batch_size"), number("nodes") or 1, number("devices"), natural(case.label))


def _case(runs: list[Run], options: Options) -> Case:
    if len({_repeat(run) for run in runs}) == len(runs):
        runs.sort(key=_repeat)
    else:
        runs.sort(key=lambda run: (_repeat(run), natural(run.log.name), run.first_line))
    first = most_known(runs, FAILURES)
    key = {k: first.values[k] for k in CASE_KEYS if k in first.values}
    key |= {k: v for k, v in sorted(first.values.items()) if k not in key and k not in NOT_IN_CASE}
    of_runs = [run.metrics for run in runs]
    metrics = {
        name: summary_of(name, [metrics[name] for metrics in of_runs if name in metrics], options.aggregate)
        for name in dict.fromkeys(name for metrics in of_runs for name in metrics)
    }
    result = mlperf_result(runs) if options.aggregate == "olympic" else None
    if result is not None:
        metrics[result.summary.name] = result.summary
    case = Case(key, first.label, runs, metrics, options.estimator, first.window)
    case.notes.extend(map(Note, result.notes) if result is not None else ())
    throughput = metrics["throughput"]
    missing = [run for run in runs if run.value is None]
    if missing and throughput.n:
        have = "has" if len(missing) == 1 else "have"
        why = missing[0].throughput.reason
        case.notes.append(Note.of_missing(f"{len(missing)} of {len(runs)} runs {have} no value: {why}"))
    elif missing:
        case.notes.append(Note.of_missing(missing[0].throughput.reason))
    case.notes.extend(note for run in runs for note in run.notes if note.text not in OF_ALL)
    case.notes = list(dict.fromkeys(case.notes))
    case.mark = mark_of_centre([(mark_of(run.notes), run.value) for run in runs], throughput, "runs")
    return case


def mark_of_centre(of_each: Sequence[tuple[Note | None, float | None]], summary: Summary, what: str) -> Note | None:
    """What stands in the cell of a case: its centre by the other numbers; None where that hardly moves.

    Args:
        of_each: the mark and the value of each repeat.
        summary: the throughput of the case.
        what: what a repeat is, in the plural.
    """
    measured = [(mark, value) for mark, value in of_each if value is not None]
    known = [mark for mark, _ in measured if mark is not None]
    if not known or summary.value is None:
        return None
    others = [mark.other if mark is not None else value for mark, value in measured]
    other = CENTRES[summary.aggregate]([value for value in others if value is not None])
    text = known[0].text if len(known) == 1 else f"{len(known)} of {len(of_each)} {what} may have another number"
    label = label_of([mark for mark in known if mark.other == other] or known)
    undecided = any(mark.is_open for mark in known)
    note = Note.of_number(text, value=summary.value, other=other, label=label, undecided=undecided)
    return note if note.is_mark else None


def _repeat(run: Run) -> int:
    value = run.values.get("repeat")
    return value if isinstance(value, int) else 0


def summary_of(name: str, metrics: Sequence[Metric], aggregate: str) -> Summary:
    """One metric of several runs as one number with its interval, or the reason why there is none."""
    known = [m for m in metrics if m.value is not None]
    values = [m.value for m in known if m.value is not None]
    unit = (known or metrics)[0].unit
    different = _told_apart(known)
    if different:
        reason = f"runs count different things: {', '.join(sorted(different))}"
        return Summary(name, "", aggregate, len(values), None, reason=reason)
    if not values:
        return Summary(name, unit, aggregate, 0, None, reason=next((m.reason for m in metrics if m.reason), ""))
    try:
        value = CENTRES[aggregate](values)
    except ValueError as error:
        return Summary(name, unit, aggregate, len(values), None, reason=str(error))
    summary = Summary(name, unit, aggregate, len(values), value, spread=relative_range(values))
    interval = order_interval(values) if aggregate == "median" else None
    if interval is not None:
        summary.low, summary.high, summary.level = interval
    return summary


def _told_apart(metrics: Sequence[Metric]) -> set[str]:
    """What metrics of one name count where that is not the same: their units, else their definitions."""
    if len(metrics) < 2:
        return set()
    units = {metric.unit for metric in metrics}
    counted = units if len(units) > 1 else {metric.definition or "what the name says" for metric in metrics}
    return counted if len(counted) > 1 else set()
