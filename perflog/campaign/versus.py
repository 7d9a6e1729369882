"""Two sides of one measurement: run in turn until each case is decided or the budget is spent.

The logs of the sides lie in the folders ``old`` and ``new`` of one folder, each a campaign's folder of its own. The
rule is recorded in each side's ``machine.json``, so that it goes wherever the logs go. The folder is all the state
there is: what the logs decide is looked at anew after every round, so that the same call goes on wherever one was cut
off, and comes to the same verdicts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, count, product
from pathlib import Path
from random import Random
from secrets import randbits, token_hex

from msgspec import structs

from perflog.campaign import RoundObserver, machine
from perflog.campaign.execute import execute
from perflog.campaign.plan import Campaign, Folder, Job
from perflog.campaign.progress import glance, write_plan
from perflog.campaign.scheduling import (
    Commands,
    Schedule,
    check_environments,
    commands_of,
    machine_of,
    schedule,
    taken_up,
)
from perflog.compare.rule import KEY, Stopping, change_words, stopping_of, verdict_words
from perflog.errors import UsageError
from perflog.formats.catalog import Catalog, load_catalog
from perflog.formats.printed import kind
from perflog.logs.find import FAILED
from perflog.runs.machine import known_facts, machine_in
from perflog.show.text import counted
from perflog.stats.sequential import Look, TableRule, look
from perflog.stats.verdict import MARGIN

#: The sides, and the folders of their logs.
SIDES = ("old", "new")
#: Runs a side after which a case stays undecided: a change of 5 % is found by then at a spread of 2 %, one of 10 % at
#: 5 % (tests/found/sequential.md, What it costs).
MAX_RUNS = 30
#: The chance that all verdicts are right, unless another one is asked for.
LEVEL = 0.95
#: What both sides must have in common, as it decides on what a run's number is.
_COMMON = ("steps", "log_interval", "warmup")


@dataclass(frozen=True, slots=True)
class Budget:
    """When cases stay undecided: after so many runs a side, or so many hours of training altogether (None: no limit).

    It may be another one whenever a measurement goes on: the verdicts hold at whatever round one stops.
    """

    runs: int = MAX_RUNS
    hours: float | None = None


@dataclass(frozen=True, slots=True)
class Versus:
    """Two sides that are measured in turn.

    Attributes:
        root: the folder that the sides' folders lie in.
        sides: each side's schedule, by its name; its jobs are those of the first round.
        cases: the configurations that both sides have, in the order of the new side's file.
        alone: the configurations that one side has and the other has not, with that side's name.
        margin: changes up to this share do not matter.
        level: the chance that all verdicts are right, a share.
        seed: of the order within the rounds; None: as recorded, or drawn when the measurement begins.
        budget: when cases stay undecided.
        against: what the old side was named by.
    """

    root: Path
    sides: Mapping[str, Schedule]
    cases: tuple[str, ...]
    alone: Mapping[str, str]
    margin: float
    level: float
    seed: int | None
    budget: Budget
    against: Path

    @property
    def folder(self) -> Folder:
        """The folder of both sides, whose lock the measurement holds."""
        return Folder(self.root)

    @property
    def rule(self) -> TableRule:
        """The rule that the cases are looked at by."""
        return TableRule(len(self.cases), self.margin, self.level)

    def of_cases(self, names: Collection[str]) -> Versus:
        """The same of some of its cases. Raises UsageError where it has not all of them."""
        lacking = [name for name in names if name not in self.cases]
        if lacking:
            raise UsageError(
                f"{self.sides['new'].campaign.file} has no case {lacking[0]}; it has {', '.join(self.cases)}"
            )
        return replace(self, cases=tuple(case for case in self.cases if case in names))

    def jobs(self, case: str, number: int) -> Mapping[str, Job]:
        """The job of each side of a case in a round; rounds count from 1."""
        first = {
            side: next(job for job in schedule.jobs if job.configuration == case)
            for side, schedule in self.sides.items()
        }
        return {side: replace(job, repeat=number) for side, job in first.items()}


@dataclass(frozen=True, slots=True)
class Turn:
    """A case in a round, and which side is run first."""

    case: str
    first: str

    @property
    def order(self) -> tuple[str, ...]:
        """The sides in the order of their runs."""
        return SIDES if self.first == SIDES[0] else SIDES[::-1]


def plan_measurement(
    file: str | os.PathLike[str],
    against: str | os.PathLike[str],
    *,
    only: Mapping[str, str] | None = None,
    logs: str | os.PathLike[str] | None = None,
    hostfile: str | os.PathLike[str] | None = None,
    remote: Sequence[str] = (),
    budget: Budget | None = None,
    margin: float = MARGIN,
    level: float = LEVEL,
    seed: int | None = None,
) -> Versus:
    """Plan a measurement of a campaign against another one.

    Args:
        file: the campaign file of the new side.
        against: the old side: another campaign file (or the same one, which measures a version against itself), or
            the folder of a Python environment, or its interpreter, that the same campaign is run with.
        logs: the folder of both sides' logs in place of the file's.
        only, hostfile, remote: as :func:`perflog.campaign.schedule` has them, for both sides.
        budget: when cases stay undecided; None: after :data:`MAX_RUNS` runs a side.
        margin: changes up to this share do not matter.
        level: the chance that all verdicts are right, a share.
        seed: of the order within the rounds.

    Raises:
        UsageError: for a file that is wrong, sides that have no case in common or count steps otherwise.
    """
    limit = budget or Budget()
    new = schedule(file, only=only, repeats=1, logs=logs, hostfile=hostfile, remote=remote)
    old = _old_side(Path(against), new, only, hostfile, remote)
    _check_common(old.campaign, new.campaign)
    root = new.campaign.logs
    names = {side: dict.fromkeys(job.configuration for job in of.jobs) for side, of in (("old", old), ("new", new))}
    cases = tuple(name for name in names["new"] if name in names["old"])
    if not cases:
        raise UsageError(
            f"{file} and {against} have no case in common: the old side has {', '.join(names['old']) or 'none'}, "
            f"the new one {', '.join(names['new']) or 'none'}"
        )
    alone = {name: side for side in SIDES for name in names[side] if name not in cases}
    sides = {
        side: replace(of, campaign=structs.replace(of.campaign, logs=root / side))
        for side, of in (("old", old), ("new", new))
    }
    return Versus(root, sides, cases, alone, margin, level, seed, limit, Path(against))


def _old_side(
    against: Path,
    new: Schedule,
    only: Mapping[str, str] | None,
    hostfile: str | os.PathLike[str] | None,
    remote: Sequence[str],
) -> Schedule:
    """The schedule of what ``--against`` names."""
    python = against / "bin" / "python" if against.is_dir() else against
    if against.suffix == ".toml":
        return schedule(against, only=only, repeats=1, logs=new.campaign.logs, hostfile=hostfile, remote=remote)
    if not (python.is_file() and os.access(python, os.X_OK)):
        raise UsageError(
            f"--against {against}: expected a campaign file (….toml), the folder of a Python environment "
            "(with bin/python in it), or a Python interpreter"
        )
    frameworks = list(new.runners)
    if len(frameworks) != 1:
        raise UsageError(
            f"--against {against}: one environment takes the place of one framework's, and {new.campaign.file} has "
            f"{len(frameworks)}: {', '.join(frameworks)}. Choose one with --only framework=…, or write a campaign file "
            "for the old side"
        )
    pythons = {**new.campaign.pythons, frameworks[0]: str(python.absolute())}
    return replace(new, campaign=structs.replace(new.campaign, pythons=pythons))


def _check_common(old: Campaign, new: Campaign) -> None:
    for key in _COMMON:
        if getattr(old, key) != getattr(new, key):
            raise UsageError(
                f"{old.file}: {key} = {getattr(old, key)}, and {new.file} has {key} = {getattr(new, key)}: "
                "runs of both sides must be measured in the same way to be compared"
            )


def turns(seed: int, number: int, cases: Sequence[str]) -> list[Turn]:
    """The order of a round: all cases, shuffled, and for each which side is first.

    It depends on the seed, the number of the round and the cases alone, whichever of them are decided by then.
    """
    random = Random(f"perflog {seed} {number}")
    shuffled = list(cases)
    random.shuffle(shuffled)
    return [Turn(case, random.choice(SIDES)) for case in shuffled]


def recorded(plan: Versus) -> Stopping | None:
    """The rule that was recorded when the measurement in the folder began; None where none did.

    Raises:
        UsageError: when the folder holds other logs, or a measurement by another rule.
    """
    found = {side: stopping_of(known_facts(machine_in(str(plan.root / side)))) for side in SIDES}
    known = next((rule for rule in found.values() if rule is not None), None)
    if known is None:
        logs = next((log for side in SIDES for log in (plan.root / side).rglob("*.log")), None)
        if logs is not None:
            raise UsageError(f"{plan.root}: its logs are of no measurement with --against; use another folder (--logs)")
        return None
    asked = replace(
        known, cases=plan.cases, margin=plan.margin, level=plan.level,
        seed=known.seed if plan.seed is None else plan.seed,
    )  # fmt: skip
    if asked != known:
        before, now = _words(known, asked)
        raise UsageError(
            f"{plan.root}: the measurement in this folder was begun with {before}, and is now asked for with {now}; "
            "ask for the same, or use another folder (--logs)"
        )
    return known


def begun(plan: Versus) -> Stopping:
    """The rule of a measurement that begins now, of the new side."""
    seed = randbits(32) if plan.seed is None else plan.seed
    return Stopping(token_hex(8), "new", seed, plan.cases, plan.margin, plan.level)


def _words(*rules: Stopping) -> list[str]:
    """Each rule in what it differs from the others."""
    parts = [
        (f"--margin {100 * rule.margin:g}%", f"--seed {rule.seed}", f"a level of {100 * rule.level:g} %",
         f"the cases {', '.join(rule.cases)}")
        for rule in rules
    ]  # fmt: skip
    differing = [len(set(of_rules)) > 1 for of_rules in zip(*parts, strict=True)]
    return [" and ".join(compress(own, differing)) for own in parts]


# ----------------------------------------------------------------------------------------------------
# Looks at a measurement: what its logs decide so far. Nothing but the logs and the rule is needed.


@dataclass(frozen=True, slots=True)
class CaseLook:
    """A case after so many complete rounds.

    Attributes:
        case: its configuration.
        rounds: how many rounds both sides have finished.
        look: what they decide.
        failed: why there can be no verdict: a run of a side that failed; empty where all is well.
        wanted: the rounds that the budget has.
    """

    case: str
    rounds: int
    look: Look
    failed: str = ""
    wanted: int = 0

    @property
    def is_open(self) -> bool:
        """Whether a further round may decide it."""
        return not self.look.decided and not self.failed and self.rounds < self.wanted

    def sentence(self, margin: float) -> str:
        """What is decided, in a few words: ``faster, +5.0 % (+4.1 to +5.9) after 7 rounds``."""
        if self.failed:
            return f"failed: {self.failed}"
        ratio = self.look.ratio
        verdict = verdict_words(self.look.decision.verdict, margin) if self.look.decided else "undecided"
        change = change_words(ratio)
        return f"{verdict}{change and f', {change}'} after {counted(self.rounds, 'round')}"


@dataclass(slots=True)
class Looker:
    """Looks again and again; a log that has ended is read once.

    Attributes:
        plan: the measurement.
        catalog: what logs are read by.
    """

    plan: Versus
    catalog: Catalog
    _values: dict[Path, tuple[float | None, str]] = field(default_factory=dict)

    def looks(self) -> list[CaseLook]:
        """Every case as its logs have it now, in the order of the plan."""
        return [self.look_at(case) for case in self.plan.cases]

    def look_at(self, case: str) -> CaseLook:
        """A case as its logs have it now."""
        values: dict[str, list[float]] = {side: [] for side in SIDES}
        units: set[str] = set()
        failed = ""
        for states, jobs in self._rounds(case):
            failing = next((side for side in SIDES if states[side] == "failed"), "")
            failed = failed or (f"run {jobs['new'].repeat} of the {failing} side failed" if failing else "")
            if set(states.values()) != {"finished"}:
                continue
            for side in SIDES:
                value, unit = self._value(side, jobs[side])
                values[side].append(value if value is not None else math.nan)
                units.add(kind(unit))
        if len(units) > 1:
            failed = f"the sides count different things: {' and '.join(sorted(units))}"
        result = look(values["old"], values["new"], self.plan.rule)
        if result.ratio.value is None and values["old"]:
            failed = failed or result.decision.reason
        return CaseLook(case, len(values["old"]), result, failed, self.plan.budget.runs)

    def _rounds(self, case: str) -> Iterator[tuple[Mapping[str, str], Mapping[str, Job]]]:
        """The states and jobs of both sides in each round that has begun."""
        for number in count(1):
            jobs = self.plan.jobs(case, number)
            states = {side: self.plan.sides[side].folder.state(jobs[side]) for side in SIDES}
            if not {"finished", "failed"} & set(states.values()):
                return
            yield states, jobs

    def _value(self, side: str, job: Job) -> tuple[float | None, str]:
        """A finished log's throughput after the campaign's warm-up, and its unit."""
        schedule = self.plan.sides[side]
        log = schedule.folder.log(job)
        if log not in self._values:
            metric = glance(log, self.catalog, schedule.campaign.warmup)[1]
            self._values[log] = (None, "") if metric is None else (metric.value, metric.unit)
        return self._values[log]


# ----------------------------------------------------------------------------------------------------
# Running it.

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
    observer = observer or RoundObserver()
    with plan.folder.locked() as lock, folders[0].locked(), folders[1].locked():
        rule = recorded(plan) or begun(plan)
        cut = taken_up(folders, lock, observer)
        for failed in (log for folder in folders for log in folder.root.rglob(f"*.log{FAILED}") if retry_failed):
            failed.unlink()
        for side in SIDES:
            own = replace(rule, side=side).facts()
            machine.record(plan.sides[side].folder.root, {**machine_of(plan.sides[side]), KEY: own})
        try:
            looks, spent = _Rounds(plan, rule, lock, load_catalog(), observer).run(cut)
        finally:
            observer.end()
        for folder in folders:
            machine.close(folder.root, machine.throttled_runs(folder.journal()))
    return Measured(plan.root, rule, tuple(looks), spent, _hours(plan))


@dataclass(frozen=True, slots=True)
class _Rounds:
    """The rounds of a measurement, whose lock is held."""

    plan: Versus
    rule: Stopping
    lock: int
    catalog: Catalog
    observer: RoundObserver

    def run(self, cut: int) -> tuple[list[CaseLook], str]:
        """(every case at its last look, what of the budget was spent before all were decided)."""
        plan, looker = self.plan, Looker(self.plan, self.catalog)
        looks = looker.looks()
        _write_plan(plan, looks)
        self.observer.begin_measurement(plan, self.rule, looks, cut)
        for number in range(1, plan.budget.runs + 1):
            cases = [entry.case for entry in looks if entry.is_open and self._is_lacking(entry.case, number)]
            if not cases:
                continue
            if _spent(plan):
                return looks, "hours"
            self.observer.begin_round(number, cases)
            in_time = self._round(number, cases)
            looks = looker.looks()
            _write_plan(plan, looks)
            self.observer.end_round(number, looks)
            if not in_time:
                return looks, "hours" if any(entry.is_open for entry in looks) else ""
        undecided = any(not entry.look.decided and not entry.failed for entry in looks)
        return looks, "runs" if undecided else ""

    def _is_lacking(self, case: str, number: int) -> bool:
        """Whether a side has no log of a case's round yet."""
        return any(self._state(side, job) != "finished" for side, job in self.plan.jobs(case, number).items())

    def _state(self, side: str, job: Job) -> str:
        return self.plan.sides[side].folder.state(job)

    def _round(self, number: int, cases: Sequence[str]) -> bool:
        """Run a round; False where the hours were spent before its end."""
        plan = self.plan
        for turn in turns(self.rule.seed, number, plan.cases):
            if turn.case not in cases:
                continue
            if _spent(plan):
                return False
            jobs = plan.jobs(turn.case, number)
            for side in turn.order:
                if self._state(side, jobs[side]) not in ("finished", "failed"):
                    self.observer.begin_run(side, jobs[side])
                    completion = execute(jobs[side], plan.sides[side], self.lock, self.catalog, self.observer)
                    self.observer.end_run(side, jobs[side], completion)
        return True


def _write_plan(plan: Versus, looks: Sequence[CaseLook]) -> None:
    """Leave the runs that are wanted, and what is decided, for whoever watches."""
    logs, decisions = [], {}
    for side, entry in product(SIDES, looks):
        rounds = plan.budget.runs if entry.is_open else max(1, entry.rounds)
        logs += [Path(side, plan.jobs(entry.case, number)[side].log) for number in range(1, rounds + 1)]
        decisions[f"{side}/{entry.case}"] = entry.sentence(plan.margin)
    campaign = plan.sides["new"].campaign
    write_plan(plan.folder, logs, campaign, plan.sides["new"].asked, plan.against, decisions)


def _spent(plan: Versus) -> bool:
    """Whether the hours of training that the budget has are spent."""
    return plan.budget.hours is not None and _hours(plan) >= plan.budget.hours


def _hours(plan: Versus) -> float:
    """How long all trainings of both sides took, by the journals."""
    folders: list[Folder] = [plan.sides[side].folder for side in SIDES]
    return sum(float(entry.get("seconds", 0.0)) for folder in folders for entry in folder.journal()) / _HOUR


def planned(plan: Versus, seed: int) -> list[tuple[str, Commands]]:
    """What the first round would start: (the side, the job with its commands) in its order; nothing is run."""
    return [
        (side, commands_of(plan.jobs(turn.case, 1)[side], plan.sides[side]))
        for turn in turns(seed, 1, plan.cases)
        for side in turn.order
    ]
