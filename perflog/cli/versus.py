"""``perflog run CAMPAIGN --against OLD``: what it prints while two sides are measured in turn until all is decided."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from perflog.campaign import RoundObserver
from perflog.errors import PerflogError
from perflog.escaping import visible
from perflog.show.text import counted

if TYPE_CHECKING:
    from perflog.campaign.plan import Job
    from perflog.campaign.progress import Completion
    from perflog.campaign.versus import CaseLook, Measured, Versus
    from perflog.compare.rule import Stopping
    from perflog.compare.sides import History


def plan_against(campaign: Path, against: Path, selected: Mapping[str, Any], limits: Mapping[str, Any]) -> Versus:
    """The plan of a measurement from the options of the command line.

    Args:
        campaign: the new side's campaign file.
        against: the old side.
        selected: what of it is run, and where its logs are: arguments of :func:`perflog.campaign.plan_measurement`.
        limits: the options ``--max-runs``, ``--max-hours``, ``--margin`` and ``--seed``; None where not given.
    """
    from perflog.campaign.versus import MAX_RUNS, Budget, plan_measurement
    from perflog.compare.rule import share
    from perflog.stats.verdict import MARGIN

    margin = limits["--margin"]
    budget = Budget(limits["--max-runs"] or MAX_RUNS, limits["--max-hours"])
    return plan_measurement(
        campaign, against, budget=budget, seed=limits["--seed"],
        margin=MARGIN if margin is None else share(margin, "--margin"), **selected,
    )  # fmt: skip


def run_versus(plan: Versus, dry_run: bool, retry_failed: bool, quiet: bool, history: History) -> None:
    """Measure both sides, or with ``dry_run`` print what would be done.

    Args:
        history: what says how many rounds are expected.

    Raises:
        typer.Exit: with status 3 when a run failed.
    """
    from perflog.campaign.versus import measure

    for side, schedule in plan.sides.items():
        for name, why in schedule.refused.items():
            print(f"cannot run {name} of the {side} side: {why}", file=sys.stderr)
    for name, side in plan.alone.items():
        print(f"not measured: {name} is on the {side} side alone", file=sys.stderr)
    if history.database and not quiet:
        for sentence in _expected(plan, history):
            print(visible(sentence), file=sys.stderr)
    if dry_run:
        _print_plan(plan)
        return
    measured = measure(plan, retry_failed=retry_failed, observer=None if quiet else RoundTeller())
    _print_outcome(plan, measured)
    if measured.failed:
        raise typer.Exit(3)


def _expected(plan: Versus, history: History) -> list[str]:
    """How many rounds the history lets expect, or why it could not be read."""
    from perflog.campaign.expecting import expected_rounds, sentences
    from perflog.history.place import name_of

    try:
        return sentences(expected_rounds(plan, history.database), plan)
    except PerflogError as error:
        if history.asked:
            raise
        return [f"the history in {name_of(history.database)} was not used: {error}"]


def _print_plan(plan: Versus) -> None:
    from perflog.campaign.versus import planned, recorded

    rule = recorded(plan)
    seed = rule.seed if rule is not None else plan.seed
    print(f"# {_plan_words(plan)}")
    drawn = "the order is drawn when the measurement begins (--seed fixes it)"
    print(f"# {drawn if seed is None else f'the order within the rounds is that of --seed {seed}'}; the first round:")
    for side, entry in planned(plan, seed or 0):
        state = f" ({entry.state})" if entry.state in ("finished", "failed") else ""
        for command in entry.commands:
            print(f"# {side}/{entry.job.log}{state}\n{command}")


def _plan_words(plan: Versus) -> str:
    budget = f"{plan.budget.runs} runs a side are made"
    hours = f", or {plan.budget.hours:g} hours of training are spent" if plan.budget.hours is not None else ""
    cases = counted(len(plan.cases), "case")
    return (
        f"{cases}, in each round one run of either side; each case ends as soon as it is faster, slower, or the same "
        f"within {100 * plan.margin:.4g} % (looked at after every round from the {plan.rule.first_look}th on, level "
        f"{100 * plan.level:g} % for all cases and looks together), or undecided when {budget}{hours}: "
        f"at most {2 * plan.budget.runs * len(plan.cases)} runs"
    )


def _print_outcome(plan: Versus, measured: Measured) -> None:
    """Every case with what is decided, then how many are what, and why the others are not decided."""
    from perflog.stats.verdict import MARGIN

    width = max(len(visible(entry.case)) for entry in measured.looks)
    for entry in measured.looks:
        print(f"{visible(entry.case):<{width}}  {entry.sentence(plan.margin)}")
    undecided = [entry for entry in measured.looks if not entry.look.decided and not entry.failed]
    decided = sum(entry.look.decided for entry in measured.looks)
    text = f"{counted(len(measured.looks), 'case')}: {decided} decided"
    if undecided:
        limit = "--max-hours" if measured.spent == "hours" else "--max-runs"
        text += f", {len(undecided)} undecided when the budget was spent (a larger {limit} goes on where this stopped)"
    if measured.failed:
        text += f", {len(measured.failed)} failed (--retry-failed runs them again)"
    sides = " ".join(str(Path(measured.root, side)) for side in plan.sides)
    warmup = plan.sides["new"].campaign.warmup
    margin = f" --margin {100 * plan.margin:.4g}%" if plan.margin != MARGIN else ""
    print(
        f"{text}; {measured.hours:.2g} hours of training; the order was that of --seed {measured.rule.seed}; "
        f"next: perflog compare {sides} --warmup {warmup}{margin}",
        file=sys.stderr,
    )


class RoundTeller(RoundObserver):
    """Tells how a measurement goes on: a line for each run, and for each case that is decided."""

    def __init__(self) -> None:
        self._ended: set[str] = set()
        self._began = 0.0
        self._margin = 0.0

    def tell(self, text: str) -> None:
        print(visible(text), file=sys.stderr, flush=True)

    def begin_measurement(self, plan: Versus, rule: Stopping, looks: Sequence[CaseLook], cut: int) -> None:
        self._margin = plan.margin
        self._ended = {entry.case for entry in looks if not entry.is_open}
        there = sum(entry.rounds for entry in looks)
        print(f"{_plan_words(plan)}; the order is that of --seed {rule.seed}", file=sys.stderr)
        if there or cut:
            cut_off = f", {counted(cut, 'run')} cut off before its end" if cut else ""
            print(f"{counted(there, 'round')} of the cases are there{cut_off}; going on", file=sys.stderr)

    def begin_round(self, number: int, cases: Sequence[str]) -> None:
        print(f"round {number}: {counted(len(cases), 'case')}", file=sys.stderr, flush=True)

    def begin_run(self, side: str, job: Job) -> None:  # noqa: ARG002
        self._began = time.monotonic()

    def end_run(self, side: str, job: Job, completion: Completion) -> None:
        took = time.monotonic() - self._began
        value = f"{completion.throughput:.1f} {completion.unit}" if completion.throughput is not None else "no value"
        remark = f" ({completion.remark})" if completion.remark else ""
        print(f"  {side} {job.name}: {completion.reason or value}, {took:.1f} s{remark}", file=sys.stderr, flush=True)

    def end_round(self, number: int, looks: Sequence[CaseLook]) -> None:  # noqa: ARG002
        for entry in looks:
            if not entry.is_open and entry.case not in self._ended:
                self._ended.add(entry.case)
                print(f"  {entry.case}: {entry.sentence(self._margin)}", file=sys.stderr, flush=True)
