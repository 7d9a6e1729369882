"""What would decide the open rows of a comparison: how many runs, how long they take, and the command that makes them.

The number of runs is planned with the functions of `perflog plan`, for the upper end of what the row's spread may be,
and for either answer: with so many runs a row without a change is called "same", and one that changed by twice the
margin faster or slower. A row that has as many already, and is open all the same, lies near the margin: the distance
from it that is planned for is halved until more runs are needed.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from perflog.border import keep_inside
from perflog.cases.case import Case
from perflog.cases.pairs import metric_kind
from perflog.compare.remedy import By, Remedy, ToDecide
from perflog.compare.rows import BY_STATES, CaseComparison
from perflog.compare.rule import VERDICTS, Rule, stopping_of
from perflog.compare.when import Duration, campaign_folder, durations_of, is_answerable, is_separation
from perflog.files import LONGEST_DOCUMENT, read_limited
from perflog.runs.machine import known_facts
from perflog.stats import planning
from perflog.stats.centre import median
from perflog.stats.memory import Doubt
from perflog.stats.planning import Outlook, outlook
from perflog.stats.power import (
    MOST_RUNS,
    Table,
    pooled_coefficient_of_variation,
    runs_for_verdict,
    variation_bounds,
)
from perflog.stats.sequential import TableRule, rounds_for_verdict
from perflog.stats.verdict import MARGIN, Verdict

#: The spread of a row whose sides have fewer runs is that of all rows together, as `perflog plan` has it.
_ENOUGH_RUNS = 4
#: The distance from the margin is halved so often at most: a sixteenth of a margin of 2 % is an eighth of a per cent.
_MOST_HALVINGS = 4
#: Where a margin is out of reach, the smallest one is named that so many runs a side decide, in whole per cent up to
#: the widest.
_SOME_RUNS, _WIDEST_MARGIN = 30, 50
#: Where a measurement in turn that is proposed keeps its logs, below the working folder.
_LOGS = "in-turn"
#: The file in a campaign's folder that names what it was made of.
_PLAN = (".perflog", "plan.json")


@dataclass(frozen=True, slots=True)
class _Made:
    """How the runs of the sides were made, and how others would be.

    Attributes:
        rule: the metric, the margin and the level.
        apart: whether the sides were measured apart.
        cases: of the measurement in turn that both sides are of; 0 for none.
        by_command: whether a command that measures in turn can be named.
        durations: how long each run took, by its identity; None for one of which nothing tells it.
    """

    rule: Rule
    apart: bool
    cases: int
    by_command: bool
    durations: Mapping[int, Duration | None]


def with_remedies(
    rows: Sequence[CaseComparison], rule: Rule, warnings: Sequence[str], cases: int
) -> tuple[list[CaseComparison], ToDecide | None]:
    """(the rows, those that are open with what would decide them; what would decide all of them, None for none).

    Args:
        rows: all rows of a table, judged.
        rule: the metric, the margin and the level.
        warnings: what is said first of the sides: that they were measured apart, among others.
        cases: of the measurement in turn that both sides are of; 0 for none.
    """
    apart = any(map(is_separation, warnings))
    open_rows = [_is_open(row, apart) for row in rows]
    if not any(open_rows):
        return list(rows), None
    command = _command(rows, rule, cases)
    # A command that measures anew measures all cases; one that goes on measures those that are open.
    planned = [row for row, is_open in zip(rows, open_rows, strict=True) if is_open or (command and not cases)]
    runs = [run for row in planned for case in (row.pair.old, row.pair.new) for run in case.runs]
    durations = dict(zip(map(id, runs), durations_of(runs), strict=True))
    made = _Made(rule, apart, cases, bool(command), durations)
    table = Table(len(rows), rule.margin, rule.level)
    pooled = pooled_coefficient_of_variation([side for row in rows for side in _sides(row)])
    remedies = {id(row): _remedy(row, made, table, pooled) for row in planned}
    remedied = [
        replace(row, remedy=remedies[id(row)]) if is_open else row
        for row, is_open in zip(rows, open_rows, strict=True)
    ]  # fmt: skip
    rounds = [
        row.remedy.new + (row.ratio.n_new if row.in_rounds else 0)
        for row in remedied
        if row.remedy is not None and row.remedy.new is not None
    ]
    command += f" --max-runs {max(rounds)}" if command and rounds else ""
    counted = [remedy for remedy in remedies.values() if remedy.new is not None]
    seconds = [remedy.seconds for remedy in counted]
    known = [took for took in seconds if took is not None]
    whole = math.fsum(known) if known and len(known) == len(seconds) else None
    to_decide = ToDecide(
        command if rounds else "",
        whole,
        any(remedy.at_least for remedy in counted),
        any(map(is_answerable, warnings)) and not all(row.knows_campaigns for row in rows),
    )
    return remedied, to_decide


def _is_open(row: CaseComparison, apart: bool) -> bool:
    """Whether a row has no verdict, or one that the machine may have made between two sides."""
    shown = VERDICTS[row.verdict]
    return shown.gate == "inconclusive" or (apart and shown.is_change and not row.knows_campaigns)


def _sides(row: CaseComparison) -> list[list[float]]:
    return [[value for value in side if math.isfinite(value) and value > 0] for side in (row.old, row.new)]


def _remedy(row: CaseComparison, made: _Made, table: Table, pooled: tuple[float, int] | None) -> Remedy:
    """What would decide a row; ``pooled``: the spread of all rows together, and its degrees of freedom."""
    by = By.ROUNDS if row.in_rounds else By.ANEW if made.by_command or made.apart or row.knows_campaigns else By.MORE
    if reason := _why_none(row, made):
        return Remedy(by, reason=reason)
    at_hand = [0, 0] if by is By.ANEW else [len(side) for side in _sides(row)]
    noise = _noise(row, pooled)
    if noise is None:
        if not row.decision.needs:
            return Remedy(by, reason="its runs have no spread to plan with")
        return _timed(row, by, max(row.decision.needs, table.least_runs), at_hand, None, made)
    needed = partial(_needed, noise, by, made, table)
    for halvings in range(_MOST_HALVINGS + 1):
        runs = needed(made.rule.margin, halvings)
        if runs is None:
            return Remedy(by, reason=_out_of_reach(made.rule.margin, halvings, needed))
        if runs > min(at_hand):
            part = made.rule.margin * 2.0**-halvings
            return _timed(row, by, runs, at_hand, (made.rule.margin - part, made.rule.margin + part), made)
    return Remedy(by, reason=f"its change is too near {100 * made.rule.margin:.4g} %: another --margin decides it")


def _needed(noise: Outlook | float, by: By, made: _Made, table: Table, margin: float, halvings: int) -> int | None:
    """The runs a side that decide a row by a margin: a fixed number, or rounds of a measurement in turn."""
    if by is By.ROUNDS or made.by_command:
        rule = TableRule(max(made.cases, table.rows), margin, table.level)
        variation = math.sqrt(noise.run_variance) if isinstance(noise, Outlook) else noise
        return rounds_for_verdict(math.sqrt(2) * variation, rule, halvings)
    wanted = replace(table, margin=margin)
    if isinstance(noise, Outlook):
        return planning.runs_for_verdict(noise, wanted, halvings)
    return runs_for_verdict(noise, wanted, halvings)


def _out_of_reach(margin: float, halvings: int, needed: Callable[[float, int], int | None]) -> str:
    """Why no number of runs decides a row, and the smallest margin in whole per cent that some runs do decide."""
    if not margin:
        return 'with a margin of 0 no interval is called "same"'
    if halvings:
        return f"its change is too near {100 * margin:.4g} %: another --margin decides it"
    for per_cent in range(math.ceil(100 * margin) + 1, _WIDEST_MARGIN + 1):
        runs = needed(per_cent / 100, 0)
        if runs is not None and runs <= _SOME_RUNS:
            other = f"; {runs} a side decide it by --margin {per_cent}%"
            break
    else:
        other = ""
    return f"a margin of {100 * margin:.4g} % takes more than {MOST_RUNS} runs a side{other}"


def _why_none(row: CaseComparison, made: _Made) -> str:
    """Why no number of runs is known to decide a row; empty where one is looked for."""
    if row.verdict is Verdict.NOT_ENOUGH_DATA and row.decision.needs is None:
        return row.decision.reason
    if metric_kind(made.rule.metric).is_derived:
        return f"{made.rule.metric} is made of a case and its baseline: the runs of both decide it"
    if BY_STATES in row.notes:
        return "its machine has two states: runs with locked clocks, or on one kind of node, decide it"
    return ""


def _noise(row: CaseComparison, pooled: tuple[float, int] | None) -> Outlook | float | None:
    """What a row's further runs may spread by, the upper end of what is known of it: out of its memory, which they
    will be judged with, or as a share above 0; None where nothing is known.
    """
    if row.memory is not None and row.memory.doubt is Doubt.NONE:
        return outlook(row.memory.memory, apart=False, upper=True)
    sides = _sides(row)
    own = pooled_coefficient_of_variation(sides)
    if own is None or not own[0] or min(map(len, sides)) < _ENOUGH_RUNS:
        own = pooled
    return variation_bounds(*own)[1] if own is not None and own[0] else None


def _timed(
    row: CaseComparison, by: By, runs: int, at_hand: Sequence[int], tells: tuple[float, float] | None, made: _Made
) -> Remedy:
    """So many runs a side, of which some are at hand, with the time that the rest takes."""
    old, new = (max(0, runs - have) for have in at_hand)
    times = [_usual(case, made.durations) for case in (row.pair.old, row.pair.new)]
    if any(time is None for time in times):
        return Remedy(by, old, new, tells)
    seconds = sum(count * time[0] for count, time in zip((old, new), times, strict=True) if time is not None)
    return Remedy(by, old, new, tells, seconds, any(time[1] for time in times if time is not None))


def _usual(case: Case, durations: Mapping[int, Duration | None]) -> tuple[float, bool] | None:
    """(the median of the seconds that a case's runs took, whether they took longer); None where it is not known.

    None too where machines are the repeats: another machine's run is no run that has been timed.
    """
    known = [duration for run in case.runs if (duration := durations[id(run)]) is not None]
    if not known or case.machines:
        return None
    return median([duration.seconds for duration in known]), any(duration.at_least for duration in known)


# ----------------------------------------------------------------------------------------------------
# The command that measures the sides in turn, where the campaigns behind them are known.


@dataclass(frozen=True, slots=True)
class _Campaign:
    """What a campaign's folder says that it was made of: its file, what it was measured against, other words."""

    file: str = ""
    against: str = ""
    asked: tuple[str, ...] = ()


def _command(rows: Sequence[CaseComparison], rule: Rule, cases: int) -> str:
    """The command without its number of runs; empty where a side is no campaign of ``perflog run`` with its file.

    Two campaigns of one file differ in what no file says, and the command would measure a version against itself.
    """
    folders = [_folder([getattr(row.pair, side) for row in rows]) for side in ("old", "new")]
    if not all(folders) or rule.metric != "throughput":  # `run --against` decides by the throughput
        return ""
    margin = [] if math.isclose(rule.margin, MARGIN) else ["--margin", f"{100 * rule.margin:.6g}%"]
    if cases:
        root, stopping = Path(folders[0]).parent, stopping_of(known_facts(rows[0].pair.new.runs[0].machine))
        if stopping is None or not math.isclose(stopping.margin, rule.margin):  # by another margin it does not go on
            return ""
        new, against, logs = _campaign(str(root)), _campaign(str(root)).against, _shown(root)
    else:
        old, new = map(_campaign, folders)
        against, logs = old.file if old.file != new.file and old.asked == new.asked else "", _LOGS
    if not new.file or not against:
        return ""
    return f"perflog run {shlex.join([new.file, '--against', against, *new.asked, '--logs', logs, *margin])}"


def _folder(cases: Sequence[Case]) -> str:
    """The one campaign's folder that all runs of a side are of; empty where there is none, or are several."""
    folders = {campaign_folder(run) for case in cases for run in case.runs}
    return folders.pop() if len(folders) == 1 else ""


def _campaign(folder: str) -> _Campaign:
    """What the plan in a campaign's folder says, as far as the files that it names are there still."""
    plan = Path(folder, *_PLAN)
    keep_inside(plan, "the file beside the logs")
    try:
        said = json.loads(read_limited(plan, LONGEST_DOCUMENT))
        file, against, asked = str(said["file"]), str(said["against"] or ""), tuple(map(str, said["asked"]))
    except (OSError, ValueError, KeyError, TypeError):  # of no campaign, or of an earlier perflog's
        return _Campaign()
    if not all(map(str.isprintable, (file, against, *asked))):
        return _Campaign()
    there = [_shown(Path(name)) if name and Path(name).exists() else "" for name in (file, against)]
    return _Campaign(there[0], there[1], asked)


def _shown(path: Path) -> str:
    """A path relative to the working folder where it lies below it."""
    with suppress(ValueError, OSError):
        return str(path.resolve().relative_to(Path.cwd().resolve()))
    return str(path)
