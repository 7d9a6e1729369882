"""Two sides of one measurement: what is run in turn until each case is decided, in which order, and by which rule.

The logs of the sides lie in the folders ``old`` and ``new`` of one folder, each a campaign's folder of its own. The
rule is recorded in each side's ``machine.json``, so that it goes wherever the logs go.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from random import Random
from secrets import randbits, token_hex

from perflog.campaign.plan import Campaign, Folder, Job, configuration
from perflog.campaign.scheduling import Schedule, schedule
from perflog.compare.rule import Stopping, stopping_of
from perflog.errors import UsageError
from perflog.runs.machine import known_facts, machine_in
from perflog.stats.sequential import TableRule
from perflog.stats.verdict import MARGIN

#: The sides, and the folders of their logs.
SIDES = ("old", "new")
#: Runs a side after which a case stays undecided: a change of 5 % is found by then at a spread of 2 %, one of 10 % at
#: 5 % (docs/statistics.md, What it costs).
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
    """

    root: Path
    sides: Mapping[str, Schedule]
    cases: tuple[str, ...]
    alone: Mapping[str, str]
    margin: float
    level: float
    seed: int | None
    budget: Budget

    @property
    def folder(self) -> Folder:
        """The folder of both sides, whose lock the measurement holds."""
        return Folder(self.root)

    @property
    def rule(self) -> TableRule:
        """The rule that the cases are looked at by."""
        return TableRule(len(self.cases), self.margin, self.level)

    def jobs(self, case: str, number: int) -> Mapping[str, Job]:
        """The job of each side of a case in a round; rounds count from 1."""
        first = {
            side: next(job for job in schedule.jobs if configuration(job) == case)
            for side, schedule in self.sides.items()
        }
        return {side: replace(job, repeat=number) for side, job in first.items()}


@dataclass(frozen=True, slots=True)
class Turn:
    """A case in a round, and which side is run first."""

    case: str
    first: str

    @property
    def order(self) -> tuple[str, str]:
        """The sides in the order of their runs."""
        return ("old", "new") if self.first == "old" else ("new", "old")


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
    names = {side: dict.fromkeys(map(configuration, of.jobs)) for side, of in (("old", old), ("new", new))}
    cases = tuple(name for name in names["new"] if name in names["old"])
    if not cases:
        raise UsageError(
            f"{file} and {against} have no case in common: the old side has {', '.join(names['old']) or 'none'}, "
            f"the new one {', '.join(names['new']) or 'none'}"
        )
    alone = {name: side for side in SIDES for name in names[side] if name not in cases}
    sides = {"old": _placed(old, root / "old"), "new": _placed(new, root / "new")}
    return Versus(root, sides, cases, alone, margin, level, seed, limit)


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
    return replace(new, campaign=replace(new.campaign, pythons=pythons))


def _check_common(old: Campaign, new: Campaign) -> None:
    for key in _COMMON:
        if getattr(old, key) != getattr(new, key):
            raise UsageError(
                f"{old.file}: {key} = {getattr(old, key)}, and {new.file} has {key} = {getattr(new, key)}: "
                "runs of both sides must be measured in the same way to be compared"
            )


def _placed(side: Schedule, logs: Path) -> Schedule:
    return replace(side, campaign=replace(side.campaign, logs=logs))


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
