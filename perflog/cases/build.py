"""Runs into cases: which runs are repeats of one configuration, and their summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perflog.cases.case import Case, Summary
from perflog.cases.identity import NOT_IN_CASE, by_length, identity, most_known, records_of, told_apart_by
from perflog.cases.mlperf import mlperf_result
from perflog.cases.speedup import set_speedups
from perflog.formats.vocabulary import CASE_KEYS
from perflog.logs.find import natural
from perflog.notes import Note, label_of, mark_of
from perflog.runs.origin import PATH_ALONE
from perflog.runs.run import FAILURES, Metric, Run
from perflog.settings.options import Options
from perflog.stats.centre import CENTRES, order_interval, relative_range

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
    names = list(dict.fromkeys(name for run in runs for name in run.metrics))
    metrics = {
        name: summary_of(name, [run.metrics[name] for run in runs if name in run.metrics], options.aggregate)
        for name in names
    }
    result = mlperf_result(runs) if options.aggregate == "olympic" else None
    if result is not None:
        metrics[result.summary.name] = result.summary
    case = Case(key, first.label, runs, metrics, options.estimator, first.window)
    case.notes.extend(map(Note, result.notes) if result is not None else ())
    throughput = metrics["throughput"]
    missing = [run for run in runs if run.throughput.value is None]
    if missing and throughput.n:
        have = "has" if len(missing) == 1 else "have"
        why = missing[0].throughput.reason
        case.notes.append(Note.of_missing(f"{len(missing)} of {len(runs)} runs {have} no value: {why}"))
    elif missing:
        case.notes.append(Note.of_missing(missing[0].throughput.reason))
    case.notes.extend(note for run in runs for note in run.notes if note.text not in OF_ALL)
    case.notes = list(dict.fromkeys(case.notes))
    case.mark = _mark(case)
    return case


def _mark(case: Case) -> Note | None:
    """What stands in the cell of a case: its centre by the other numbers of its runs; None where that hardly moves."""
    marks = [mark_of(run.notes) for run in case.runs if run.throughput.value is not None]
    known = [mark for mark in marks if mark is not None]
    summary = case.throughput
    if not known or summary.value is None:
        return None
    others = [
        mark.other if mark is not None else run.throughput.value
        for mark, run in zip(marks, (run for run in case.runs if run.throughput.value is not None), strict=True)
    ]
    other = CENTRES[summary.aggregate]([value for value in others if value is not None])
    text = known[0].text if len(known) == 1 else f"{len(known)} of {len(case.runs)} runs may have another number"
    note = Note.of_number(
        text, value=summary.value, other=other, label=label_of(known), undecided=any(mark.is_open for mark in known)
    )
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
