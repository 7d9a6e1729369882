"""Run both sides of a measurement in turn until every case is decided or the budget is spent.

The folder is all the state there is: what the logs decide is looked at anew after every round, so that the same call
goes on wherever one was cut off, and comes to the same verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

from perflog.campaign import machine
from perflog.campaign.execute import clear, execute, shown
from perflog.campaign.looks import CaseLook, Looker, open_cases
from perflog.campaign.machine import throttled_runs
from perflog.campaign.observer import RoundObserver
from perflog.campaign.plan import Folder, Job
from perflog.campaign.progress import write_plan
from perflog.campaign.scheduling import Commands, check_environments
from perflog.campaign.versus import SIDES, Versus, begun, recorded, turns
from perflog.compare.rule import KEY, Stopping
from perflog.formats.catalog import Catalog, load_catalog
from perflog.logs.find import FAILED

_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What came out.

    Attributes:
        root: the folder with the sides' folders.
        rule: as it is recorded beside the logs.
        looks: every case at its last look.
        spent: why cases stay undecided: ``runs``, ``hours``, or empty where none does.
        hours: how long all trainings took, those of earlier calls included.
    """

    root: Path
    rule: Stopping
    looks: tuple[CaseLook, ...]
    spent: str
    hours: float

    @property
    def failed(self) -> tuple[CaseLook, ...]:
        """The cases of which a run failed."""
        return tuple(entry for entry in self.looks if entry.failed)


@dataclass(frozen=True, slots=True)
class _Work:
    """What every step of a measurement needs: the plan, its rule, the lock, the catalog and who is told."""

    plan: Versus
    rule: Stopping
    lock: int
    catalog: Catalog
    observer: RoundObserver


def measure(plan: Versus, *, retry_failed: bool = False, observer: RoundObserver | None = None) -> Measured:
    """Run what the measurement lacks.

    Args:
        plan: made by :func:`perflog.campaign.plan_measurement`.
        retry_failed: run again what failed before.
        observer: is told of every run and every look.

    Raises:
        UsageError: when an environment is missing, another campaign is at work in the folder, the folder's logs are of
            another machine, or it holds a measurement by another rule.
        PerflogError: as :func:`perflog.campaign.run` does.
    """
    for side in SIDES:
        check_environments(plan.sides[side])
    folders = [plan.sides[side].folder for side in SIDES]
    with plan.folder.locked() as lock, folders[0].locked(), folders[1].locked():
        told = observer or RoundObserver()
        clear(lock, told)
        rule = recorded(plan) or begun(plan)
        now = datetime.now(UTC).replace(microsecond=0)
        for set_back in filter(None, (folder.clock_set_back(now) for folder in folders)):
            told.tell(set_back)
        cut = sum(folder.clean() for folder in folders)
        if retry_failed:
            _forget_failures(folders)
        work = _Work(plan, rule, lock, load_catalog(), told)
        _record(plan, rule)
        try:
            looks, spent = _rounds(work, cut)
        finally:
            work.observer.end()
        for folder in folders:
            machine.close(folder.root, throttled_runs(folder.journal()))
    return Measured(plan.root, rule, tuple(looks), spent, _hours(plan))


def _rounds(work: _Work, cut: int) -> tuple[list[CaseLook], str]:
    """(every case at its last look, what of the budget was spent before all were decided)."""
    plan, looker = work.plan, Looker(work.plan, work.catalog)
    looks = looker.looks()
    _write_plan(plan, looks)
    work.observer.begin_measurement(plan, work.rule, looks, cut)
    for number in range(1, plan.budget.runs + 1):
        cases = _lacking(plan, open_cases(looks), number)
        if not cases:
            continue
        if _spent(plan):
            return looks, "hours"
        work.observer.begin_round(number, cases)
        in_time = _round(work, number, cases)
        looks = looker.looks()
        _write_plan(plan, looks)
        work.observer.end_round(number, looks)
        if not in_time:
            return looks, "hours" if open_cases(looks) else ""
    undecided = any(not entry.look.decided and not entry.failed for entry in looks)
    return looks, "runs" if undecided else ""


def _lacking(plan: Versus, cases: Sequence[str], number: int) -> list[str]:
    """The cases of which a side has no log of a round yet."""
    jobs = {case: plan.jobs(case, number) for case in cases}
    return [
        case
        for case in cases
        if any(plan.sides[side].folder.state(jobs[case][side]) != "finished" for side in SIDES)
    ]  # fmt: skip


def _round(work: _Work, number: int, cases: Sequence[str]) -> bool:
    """Run a round; False where the hours were spent before its end."""
    plan = work.plan
    for turn in turns(work.rule.seed, number, plan.cases):
        if turn.case not in cases:
            continue
        if _spent(plan):
            return False
        jobs = plan.jobs(turn.case, number)
        for side in turn.order:
            if plan.sides[side].folder.state(jobs[side]) not in ("finished", "failed"):
                _run(work, side, jobs[side])
    return True


def _run(work: _Work, side: str, job: Job) -> None:
    schedule = work.plan.sides[side]
    work.observer.begin_run(side, job)
    runner = schedule.runners[job.framework]
    completion = execute(job, runner, schedule.campaign, schedule.folder, work.lock, work.catalog, work.observer)
    work.observer.end_run(side, job, completion)


def _record(plan: Versus, rule: Stopping) -> None:
    """Write the rule and the machine beside each side's logs."""
    for side in SIDES:
        schedule = plan.sides[side]
        facts = machine.facts(list(schedule.runners.values()), schedule.campaign.environment, schedule.campaign.pythons)
        own = replace(rule, side=side).facts()
        machine.record(schedule.folder.root, {**facts, KEY: own})


def _write_plan(plan: Versus, looks: Sequence[CaseLook]) -> None:
    """Leave the runs that are wanted, and what is decided, for whoever watches."""
    logs, decisions = [], {}
    for side, entry in product(SIDES, looks):
        rounds = plan.budget.runs if entry.is_open else max(1, entry.rounds)
        logs += [Path(side, plan.jobs(entry.case, number)[side].log) for number in range(1, rounds + 1)]
        decisions[f"{side}/{entry.case}"] = entry.sentence(plan.margin)
    campaign = plan.sides["new"].campaign
    write_plan(plan.folder, logs, campaign.steps, campaign.warmup, decisions)


def _forget_failures(folders: Sequence[Folder]) -> None:
    """Take away the logs of failed runs, so that they are run again."""
    for folder in folders:
        for failed in folder.root.rglob(f"*.log{FAILED}"):
            failed.unlink()


def _spent(plan: Versus) -> bool:
    """Whether the hours of training that the budget has are spent."""
    return plan.budget.hours is not None and _hours(plan) >= plan.budget.hours


def _hours(plan: Versus) -> float:
    """How long all trainings of both sides took, by the journals."""
    folders: list[Folder] = [plan.sides[side].folder for side in SIDES]
    return sum(float(entry.get("seconds", 0.0)) for folder in folders for entry in folder.journal()) / _HOUR


def planned(plan: Versus, seed: int) -> list[tuple[str, Commands]]:
    """What the first round would start: (the side, the job with its commands) in its order; nothing is run."""
    first: list[tuple[str, Commands]] = []
    for turn in turns(seed, 1, plan.cases):
        for side in turn.order:
            schedule, job = plan.sides[side], plan.jobs(turn.case, 1)[side]
            texts = shown(job, schedule.runners[job.framework], schedule.campaign, schedule.folder)
            first.append((side, Commands(job, schedule.folder.state(job), tuple(texts))))
    return first
