"""Sides compared, case by case: the rows judged as their runs were made, with what speaks against trusting each."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from perflog.cases.build import summary_of
from perflog.cases.case import Case
from perflog.cases.copies import copies_among
from perflog.cases.machines import LABEL, joined, joined_cases, machine_names
from perflog.cases.pairs import OTHER_WORK, VERSION, Pair, metric_kind, paired, way_to_pair
from perflog.cases.versions import label_of
from perflog.compare.deciding import with_remedies
from perflog.compare.remembering import are_answered, past_of
from perflog.compare.rows import CaseComparison, Comparison, compared_cases, mean_of, values
from perflog.compare.rule import VERDICTS, Rule, Stopping, names_of, per_cent, short_names, stopping_of
from perflog.compare.sides import NO_HISTORY, History, OpenedSides, RunSeries, Side, machine_notes, require_known, where
from perflog.compare.when import answered, separation
from perflog.errors import UsageError
from perflog.formats.paths import REPEAT, PathPatterns
from perflog.logs.find import LogFile
from perflog.notes import Note, texts
from perflog.runs.machine import known_facts
from perflog.runs.run import DATA, Run
from perflog.runs.sight import findings_in, throttled_among, throttling_of
from perflog.settings.options import Options
from perflog.show.text import counted
from perflog.spelling import some_of
from perflog.stats.centre import median
from perflog.stats.clusters import clusters
from perflog.stats.components import components
from perflog.stats.drift import drift
from perflog.stats.resolution import resolution
from perflog.stats.sequential import TableRule, look
from perflog.stats.states import OneState, one_state

#: What no repeats differ in: the work, and what is compared.
NO_REPEATS = frozenset({*OTHER_WORK, "devices", "nodes", DATA, "precision", "framework", VERSION})
#: A side's name, and its cases with their labels.
_Named = tuple[str, Side, Sequence[tuple[Case, str]]]


def compare_sides(
    opened: OpenedSides, rule: Rule, patterns: PathPatterns, across: Sequence[str] = (),
    wanted: Mapping[str, str] | None = None, aliases: Mapping[str, str] | None = None,
    repeats_over: Sequence[str] = (), history: History = NO_HISTORY,
) -> list[Comparison]:  # fmt: skip
    """Each side against the first.

    Args:
        opened: two sides or more.
        rule: the metric, the margin and the level.
        patterns: what paths of logs say of their runs; the rest of a path is a case's label.
        across: keys that may differ between the two cases of a pair (``label``, ``accelerator``, …).
        wanted: the cases with these values alone (``{"devices": "1:8"}``).
        aliases: names of models and the like, each with the name that it is another one of.
        repeats_over: keys that tell machines apart: cases of a side that are alike but for them are one, in which each
            machine is one repeat.
        history: whose earlier campaigns of a case its row is judged with.

    Returns:
        A comparison for every side but the first, in their order.

    Raises:
        UsageError: for a key or a value that no case has, for repeats that are none, or when there is no such history
            yet and it was asked for.
        PerflogError: when the history cannot be read and was asked for.
    """
    all_cases = [case for side in opened.sides for case in side.extraction.cases]
    require_known(all_cases, across, wanted or {}, repeats_over)
    _require_repeats(repeats_over, rule.metric, history)
    names = short_names([side.name for side in opened.sides])
    sides: list[_Named] = []
    for name, side in zip(names, opened.sides, strict=True):
        cases = where(side.extraction.cases, wanted or {})
        labelled = [(case, label_of(case, side.root, patterns)) for case in cases]
        machines_of = joined_cases(labelled, repeats_over, opened.options.aggregate) if repeats_over else labelled
        sides.append((name, side, machines_of))
    old, *others = sides
    return [_compared(old, new, rule, across, aliases or {}, opened.options, history) for new in others]


def _compared(
    old: _Named, new: _Named, rule: Rule, across: Sequence[str], aliases: Mapping[str, str], options: Options,
    history: History,
) -> Comparison:  # fmt: skip
    (old_name, old_side, old_cases), (new_name, new_side, new_cases) = old, new
    pairs, alone = paired(old_cases, new_cases, across, aliases)
    pairs = [_without_old_logs(pair, options.aggregate) for pair in pairs]
    judged, made, warnings = _judged(pairs, rule, (old_side, new_side), options, history)
    judged, of_states = with_states(judged, rule)
    judged, to_decide = with_remedies(judged, rule, warnings, _stopped(pairs)[0])
    rows = tuple(replace(row, notes=(*row.notes, *_doubts(row, old_side, new_side, rule))) for row in judged)
    of_parts = [
        f"{name}: from {counted(side.extraction.parts, 'part')}, whose logs were not read here"
        for name, side, _ in (old, new)
        if side.extraction.parts
    ]
    notes = (*of_parts, *_paired_though(pairs), *_on_both_sides(pairs), *machine_notes(pairs), *made)
    said_first = (*warnings, *_doubtful_machines([*old_cases, *new_cases]), *of_states, *_same(rows))
    way = None if rows else way_to_pair(old_cases, new_cases)
    mean = mean_of(rows, alone, rule.level)
    return Comparison(old_name, new_name, rule, options, rows, tuple(alone), mean, notes, said_first, way, to_decide)


#: So many differences within pairs are named.
_MOST_NAMED = 3


def _paired_though(pairs: Sequence[Pair]) -> list[str]:
    """What differs within pairs as it was asked for, said once for the table."""
    differing = list(dict.fromkeys(text for pair in pairs for text in pair.across))
    more = f", and {len(differing) - _MOST_NAMED} more" if len(differing) > _MOST_NAMED else ""
    return [f"paired by --across though {'; '.join(differing[:_MOST_NAMED])}{more}"] if differing else []


def _without_old_logs(pair: Pair, aggregate: str) -> Pair:
    """A pair whose new side has no copies of the old side's logs; unchanged where it has nothing else."""
    copies = copies_among(pair.new.runs, pair.old.runs)
    if not copies or all(run.log in copies for run in pair.new.runs):
        return pair
    log, old = next(iter(copies.items()))
    more = f", and {len(copies) - 1} more" if len(copies) > 1 else ""
    note = Note(f"{log.name} is left out: it is a copy of the old side's {old.name}{more}")
    left = _without(copies, pair.new, aggregate)
    return replace(pair, new=replace(left, notes=[note, *left.notes]))


def _without(copies: Collection[LogFile], case: Case, aggregate: str) -> Case:
    """The case without the runs of these logs, and without a machine that has no others."""
    if case.machines:
        left = [machine for machine in case.machines if any(run.log not in copies for run in machine.runs)]
        return joined([_without(copies, machine, aggregate) for machine in left], case.repeats_over, aggregate)
    runs = [run for run in case.runs if run.log not in copies]
    metrics = {
        name: summary_of(name, [run.metrics[name] for run in runs if name in run.metrics], aggregate)
        for name in case.metrics if any(name in run.metrics for run in runs)
    }  # fmt: skip
    return replace(case, runs=runs, metrics=metrics)


# ----------------------------------------------------------------------------------------------------
# Machines as repeats (``--repeats-over``).


def _require_repeats(over: Sequence[str], metric: str, history: History) -> None:
    """Raises UsageError for keys that tell no machines apart, and where a machine has no value that could be judged."""
    option = f"--repeats-over {','.join(over)}"
    if other := [key for key in over if key in NO_REPEATS]:
        raise UsageError(f"{option}: cases that differ in {other[0]} are no repeats of one another")
    if over and metric_kind(metric).is_derived:
        raise UsageError(f"{option}: {metric} is made of a case and its baseline, which are not joined by machine")
    if over and history.asked:
        why = "the history knows what campaigns of runs differ by, not what those of machines do"
        raise UsageError(f"{option} with --history: {why}; leave out one of them")


def _on_both_sides(pairs: Sequence[Pair]) -> list[str]:
    """That machines stand on both sides, which can be compared with themselves."""
    of_pairs = [(machine_names(pair.old), machine_names(pair.new)) for pair in pairs if len(pair.old.machines) > 1]
    names = list(dict.fromkeys(name for old, new in of_pairs for name in old if name in new))
    if len(names) < 2:
        return []
    option = ",".join(pairs[0].old.repeats_over)
    return [
        f"{len(names)} machines stand on both sides ({some_of(names)}): without --repeats-over {option} each is "
        "compared with itself, which sees smaller changes"
    ]


def _doubtful_machines(cases: Sequence[tuple[Case, str]]) -> list[str]:
    """That no case has several machines, though they are to be the repeats, or that several may be one."""
    over = next((case.repeats_over for case, _ in cases), ())
    if not over:
        return []
    option = ",".join(over)
    for case, _ in cases:
        folders = list(dict.fromkeys(machine.label.partition("/")[0] for machine in case.machines))
        if LABEL in over and 1 < len(folders) < len(case.machines):
            return [
                f"--repeats-over {option}: {len(case.machines)} labels ({some_of(machine_names(case))}) count as "
                f"machines, in {len(folders)} folders ({some_of(folders)}). If each folder is one machine, its runs "
                "are no repeats of one another, and changes are found too often."
            ]
    if any(len(case.machines) > 1 for case, _ in cases):
        return []
    return [
        f"--repeats-over {option} joins nothing: no two cases of a side are alike but for {option}, so each has one "
        "repeat. Without the option runs are the repeats."
    ]


def _same(rows: Sequence[CaseComparison]) -> list[str]:
    """That sides are one, which a gate would pass."""
    same = sum(row.has_same_values for row in rows)
    where = f" in {same} of {counted(len(rows), 'case')}" if same < len(rows) else ""
    return [f"Both sides have the very same values{where}: logs compared with themselves never differ."] if same else []


def _judged(
    pairs: Sequence[Pair], rule: Rule, sides: tuple[Side, Side], options: Options, history: History
) -> tuple[list[CaseComparison], list[str], list[str]]:
    """(a row for each pair, how they were made where that is not as always, what speaks against the whole)."""
    cases, invalid = _stopped(pairs)
    of_rounds = rule.metric if metric_kind(rule.metric).is_derived else ""  # what has no value of its own in a round
    of_rounds = of_rounds or ("a machine's centre" if any(pair.old.machines for pair in pairs) else "")
    if cases and not of_rounds:
        table = TableRule(max(cases, len(pairs)), rule.margin, rule.level)
        made = _STOPPED.format(cases=f"{cases} cases together" if cases != 1 else "one case")
        rows = [_in_rounds(row, rule, table) for row in compared_cases(pairs, rule)]
        notes = [made, *_other_margin(pairs, rule), *([_COMMON_CAMPAIGN] if history.asked else [])]
        return rows, notes, separation(*sides, pairs, in_turn=True)
    known = past_of(pairs, rule, sides, options, history)
    rows = compared_cases(pairs, rule, known.memories)
    answer = answered(*sides, pairs) if any(known.memories) and are_answered(rows) else ""
    warnings = separation(*sides, pairs, in_turn=bool(cases or answer))
    if cases:
        invalid = _NO_ROUNDS.format(metric=of_rounds)
    said = [*known.notes, *filter(None, [answer])]
    return rows, said, [*warnings, *filter(None, [invalid]), *known.warnings]


# ----------------------------------------------------------------------------------------------------
# Rows of two sides that were measured in rounds until each case was decided (``perflog run --against``).
#
# A test for a fixed number of runs is not valid for such runs: they were stopped at a moment when they looked decided.
# The number in a log's name is its round. What belongs to a round was measured one run after the other, so rows are
# judged by the ratios within the rounds and their confidence sequences (:mod:`perflog.stats.sequential`).

_LAST_NUMBER = re.compile(r"_(\d{1,9})\.log$")
_STOPPED = (
    "the runs were stopped by a sequential rule (`perflog run --against`: each case was looked at after every round "
    "until it was decided); ratios are geometric means of the ratios within the rounds, and intervals and verdicts are "
    "those of confidence sequences for {cases}, which hold at whatever round one looks"
)
_COMMON_CAMPAIGN = (
    "both sides are of one campaign, so that whatever it does falls on both: the variance between campaigns is not in "
    "the intervals"
)
_NO_ROUNDS = (
    "The runs were stopped by a sequential rule, and {metric} has no value of its own in each round: it is judged as "
    "if the number of runs had been fixed, which finds changes too often."
)


def _in_rounds(row: CaseComparison, rule: Rule, table: TableRule) -> CaseComparison:
    """The row with the ratio, interval and verdict of its rounds."""
    if row.ratio.value is None:
        return row
    old, new = _by_round(row.pair.old, rule.metric), _by_round(row.pair.new, rule.metric)
    shared = sorted(old.keys() & new.keys())
    result = look([old[number] for number in shared], [new[number] for number in shared], table, rule.better)
    notes = [*row.pair.alike]
    alone = len(row.old) + len(row.new) - 2 * len(shared)
    if alone:
        runs = "1 run has" if alone == 1 else f"{alone} runs have"
        notes.append(f"{runs} no partner in the same round, and the ratio is made without")
    return replace(
        row, ratio=result.ratio, decision=result.decision, adjusted_p=result.adjusted_p, notes=tuple(notes),
        in_rounds=True, difference=None,
    )  # fmt: skip


def _by_round(case: Case, metric: str) -> dict[int, float]:
    """The value of each run by the number of its round; runs without a number, or with that of another, are none."""
    numbers = [_round_of(run) for run in case.runs]
    return {
        number: value
        for number, value in zip(numbers, values(case, metric), strict=True)
        if number is not None and numbers.count(number) == 1
    }


def _round_of(run: Run) -> int | None:
    """The number of a run's round: its repeat, or the number that ends its log's name.

    A log that is alone counts nothing by its name, so that after one round no run has a repeat; but logs of a
    measurement were named by :attr:`perflog.campaign.plan.Job.log`.
    """
    repeat = run.values.get(REPEAT)
    if isinstance(repeat, int):
        return repeat
    number = _LAST_NUMBER.search(run.log.name)
    return int(number[1]) if number else None


def _stopped(pairs: Sequence[Pair]) -> tuple[int, str]:
    """(the cases of the measurement in rounds that both sides are of, 0 for none; why statistics are not valid)."""
    rules = {"old": _rules(pair.old for pair in pairs), "new": _rules(pair.new for pair in pairs)}
    by_rule = [word for word, side in rules.items() if any(rule is not None for rule in side)]
    if not by_rule:
        return 0, ""
    lone = [next(iter(side)) for side in rules.values() if len(side) == 1]
    known = [rule for rule in lone if rule is not None]
    if len(known) == 2 and known[0].campaign == known[1].campaign and known[0].side != known[1].side:
        return len(known[0].cases), ""
    sides = "both sides" if len(by_rule) == 2 else f"the {by_rule[0]} side"
    return 0, (
        f"The runs of {sides} were stopped by a sequential rule as soon as they decided another comparison "
        "(`perflog run --against`): a test for a fixed number of runs, as below, is not valid for them and finds "
        "changes too often. Compare the two folders of one such measurement, or make a fixed number of runs."
    )


def _other_margin(pairs: Sequence[Pair], rule: Rule) -> list[str]:
    """That the runs were made to decide by another margin than they are judged by."""
    (stopping,) = _rules(pair.old for pair in pairs)
    if stopping is None or math.isclose(stopping.margin, rule.margin):
        return []
    made, now = (f"{100 * margin:.4g} %" for margin in (stopping.margin, rule.margin))
    option = f"give --margin {made.replace(' ', '')}"
    return [f"the runs were made until a margin of {made} was decided, and are judged by {now}: {option}"]


def _rules(cases: Iterable[Case]) -> set[Stopping | None]:
    return {stopping_of(known_facts(run.machine)) for case in cases for run in case.runs}


# ----------------------------------------------------------------------------------------------------
# Notes on a row: what in the runs' own series or among the runs speaks against trusting it.

#: Fewer measurements of a run say nothing of its inside.
_LEAST = 10


def _doubts(row: CaseComparison, old: Side, new: Side, rule: Rule) -> list[str]:
    """Drift within the window, groups of runs, rounding in print, what the steps contribute; the runs' own notes."""
    notes: list[str] = []
    low, high = row.ratio.low, row.ratio.high
    half_width = (high - low) / 2 if low is not None and high is not None else math.inf
    notes += _of_steps(row, old.series(row.pair.old), new.series(row.pair.new), rule)
    sides = (("old", old, row.pair.old, row.old), ("new", new, row.pair.new, row.new))
    for word, side, case, run_values in sides:
        series = [run_series for run_series in side.series(case) if len(run_series.times) >= _LEAST]
        notes += _drifts(word, series) + _groups(word, run_values, row.unit) + _rounded(word, series, half_width)
        if VERDICTS[row.verdict].gate == "inconclusive" and not case.machines:  # what would help
            parts = components([run_series.times for run_series in series])
            notes += [f"{word}: {parts.advice}"] if parts is not None else []
        notes += [  # what the logs say, but for what is reported in another way or concerns speedups alone
            f"{word}: {note}"
            for note in texts(case.notes)
            if not note.startswith("no speedup") and not findings_in([note]) and not note.endswith(row.notes)
        ]
        notes += _throttled(word, case)
    return notes


def _of_steps(row: CaseComparison, old: Sequence[RunSeries], new: Sequence[RunSeries], rule: Rule) -> list[str]:
    """That the usual step changed otherwise than the whole, beyond the interval and the margin: stalls make the rest.

    The usual step of a side is the median over its runs of the median of their measurements, in the unit of the metric.
    """
    if rule.metric not in ("throughput", "step_time") or row.ratio.value is None:
        return []
    old, new = ([one for one in series if len(one.times)] for series in (old, new))
    if len(old) < len(row.pair.old.runs) or len(new) < len(row.pair.new.runs):
        return []
    is_rate = rule.metric == "throughput"
    usual = [[one.rate if is_rate else one.step for one in series] for series in (old, new) if series]
    steps = [median(values) for values in usual if all(value > 0 for value in values)]
    if len(steps) < 2:
        return []
    of_steps = steps[1] / steps[0]
    low, high = row.ratio.low or 0.0, row.ratio.high or math.inf
    by_noise = math.isfinite(high) and low <= of_steps <= high
    if by_noise or abs(math.log(of_steps / row.ratio.value)) <= math.log1p(rule.margin):
        return []
    return [
        f"the usual step changed by {per_cent(of_steps)} (the median of the steps, then of the runs), the whole by "
        f"{per_cent(row.ratio.value)}: the rest is slow steps, or time between steps"
    ]


def _throttled(word: str, case: Case) -> list[str]:
    runs = throttled_among(case.runs)
    if not runs:
        return []
    findings = dict.fromkeys(finding for run in runs for finding in throttling_of(run))
    were = "was" if len(runs) == 1 else "were"
    return [f"{word}: {len(runs)} of {len(case.runs)} runs {were} throttled while they ran ({'; '.join(findings)})"]


def _drifts(word: str, series: Sequence[RunSeries]) -> list[str]:
    drifts = [drift(run_series.times) for run_series in series]
    changes = [d.change for d in drifts if d.drifts and d.change is not None]
    if len(changes) * 2 <= len(drifts) or not changes:
        return []
    change = sorted(changes)[len(changes) // 2]
    where = f"in {len(changes)} of {len(drifts)} runs"
    return [f"{word}: step times drift within the window, by {100 * change:+.1f} % {where}"]


def _groups(word: str, run_values: Sequence[float], unit: str) -> list[str]:
    groups = clusters(run_values)
    if groups is None:
        return []
    sizes = [f"{len(group)} near {sum(group) / len(group):.5g}" for group in (groups.low, groups.high)]
    text = f"{word}: the runs fall in two groups, {' and '.join(sizes)} {unit}".rstrip()
    return [f"{text}: the median stands for neither"]


def _rounded(word: str, series: Sequence[RunSeries], half_width: float) -> list[str]:
    if not math.isfinite(half_width) or not series:
        return []
    resolutions = [resolution(run_series.printed, half_width) for run_series in series]
    dominating = [r for r in resolutions if r is not None and r.dominates]
    if len(dominating) * 2 <= len(series):
        return []
    worst = max(dominating, key=lambda r: r.bias)
    effect = f"rounding may move a run by {100 * worst.bias:.2g} %, more than the interval's half-width"
    return [f"{word}: printed in steps of {worst.quantum:g}: {effect}"]


# ----------------------------------------------------------------------------------------------------
# What is said of verdicts that may be states of a machine: few runs beside a side whose runs fall in two groups.


def with_states(rows: Sequence[CaseComparison], rule: Rule) -> tuple[list[CaseComparison], list[str]]:
    """The rows, those with a note whose verdict may be that of states of a machine; and the warning that says so first.

    Args:
        rows: all rows of a table, judged.
        rule: the level that their table has.
    """
    judged = sum(row.adjusted_p is not None for row in rows)
    states = [
        one_state(row.old, row.new, judged, rule.level)
        if VERDICTS[row.verdict].is_change and not row.in_rounds
        else None
        for row in rows
    ]
    noted = [
        row if state is None else replace(row, notes=(*row.notes, _note(state)))
        for row, state in zip(rows, states, strict=True)
    ]
    return noted, _warnings(rows, states)


def _note(state: OneState) -> str:
    other = "old" if state.side == "new" else "new"
    chance = f"{100 * state.chance:.2g} %"
    return (
        f"the {other} side's runs fall in two groups, and all {state.runs} runs of the {state.side} side may be in one "
        f"of two such states of the machine by chance ({chance}): the verdict holds where both versions meet the same "
        f"states; with {state.needs} runs of the {state.side} side it does not rest on that"
    )


def _warnings(rows: Sequence[CaseComparison], states: Sequence[OneState | None]) -> list[str]:
    names = names_of([row.pair.old for row in rows])
    doubtful = [name for name, state in zip(names, states, strict=True) if state is not None]
    if not doubtful:
        return []
    needs = max(state.needs for state in states if state is not None)
    rest = "the verdict on it rests" if len(doubtful) == 1 else "the verdicts on them rest"
    return [
        f"Few runs, and two states of the machine ({some_of(doubtful)}): {rest} on the few runs of one side, while the "
        f"other side's fall in two groups. With {needs} runs a side this is told from a change."
    ]
