"""How many rounds a measurement of two sides will take, by what the history knows of its cases.

It sets no budget and changes no verdict: what the rounds decide is theirs alone (:mod:`perflog.stats.sequential`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perflog.campaign.plan import Job
from perflog.campaign.scheduling import machine_of
from perflog.campaign.versus import Versus
from perflog.cases.pairs import VERSION
from perflog.history.place import Database, name_of
from perflog.runs.machine import identity
from perflog.settings.options import Amount, Window
from perflog.show.text import counted
from perflog.stats.memory import Memory
from perflog.stats.planning import MOST_ROUNDS, outlook, rounds_needed

#: The chance with which a case is decided by the rounds that are named.
WANTED = 0.8
#: The metric that rounds are looked at by.
_METRIC = "throughput"


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of one case.

    Attributes:
        case: the configuration.
        memory: of its runs; None where the history has none.
        rounds: so many decide it with a chance of :data:`WANTED`, if nothing changed; None where more than
            :data:`perflog.stats.planning.MOST_ROUNDS` would be needed, and without a memory.
        reason: why there is no memory.
    """

    case: str
    memory: Memory | None = None
    rounds: int | None = None
    reason: str = ""

    def sentence(self, plan: Versus) -> str:
        """What is said of a case with a memory before it is measured."""
        assert self.memory is not None
        spread = f"its runs spread by {100 * self.memory.run_spread:.2g} % in {self.memory.campaigns} campaigns"
        if self.rounds is None:
            more = f"more than {MOST_ROUNDS} rounds" if plan.margin else "a margin of 0 is never shown to hold"
            return f"{self.case}: {spread}: {more}, if nothing changed; a larger --margin would be decided sooner"
        budget = plan.budget.runs
        few = f"; {budget} runs a side may leave it undecided: --max-runs {self.rounds}" if self.rounds > budget else ""
        chance = f"decided by round {self.rounds} with a chance of {100 * WANTED:g} %, if nothing changed"
        return f"{self.case}: {spread}: {chance}{few}"


def expected_rounds(plan: Versus, database: Database) -> list[Expected]:
    """What the history says of each case of a measurement, in the order of its cases.

    Raises:
        UsageError: when there is no history yet.
        PerflogError: when the database cannot be read.
    """
    return [_expected(plan, case, found) for case, found in zip(plan.cases, _memories(plan, database), strict=True)]


def _expected(plan: Versus, case: str, found: Memory | str) -> Expected:
    if isinstance(found, str):
        return Expected(case, reason=found)
    rounds = rounds_needed(outlook(found, apart=False, upper=True), WANTED, plan.rule)
    return Expected(case, found, rounds)


def _memories(plan: Versus, database: Database) -> list[Memory | str]:
    """The memory of each case on this machine, measured as the campaign's runs will be."""
    from perflog.history.following import points_of  # its packages are the history's extra
    from perflog.history.memory import Compared, Which, memories_among

    new, name = plan.sides["new"], name_of(database)
    here = identity(machine_of(new))
    window = Window(Amount(new.campaign.warmup, "steps"))
    found: list[Memory | str] = []
    for case in plan.cases:
        job = plan.jobs(case, 1)["new"]
        frameworks = ("", new.runners[job.framework].framework.lower())  # some logs do not name theirs
        there = points_of(database, _key(job), _METRIC)
        points = [
            one
            for one in there
            if one.rule.endswith(f"; {window}") and str(one.key.get("framework", "")).lower() in frameworks
        ]
        whole = {tuple(sorted(str(pair) for pair in one.key.items() if pair[0] != VERSION)) for one in points}
        if len(whole) != 1:
            found.append(_why_none(len(whole), name, str(window)))
            continue
        last = points[-1]
        compared = Compared(last.key, last.rule, last.summary.unit, ((here,),), ())
        found += memories_among(there, name, _METRIC, [compared], Which(), plan.margin)
    return found


def _key(job: Job) -> dict[str, str]:
    """What a job's case is known by in a history, whatever its framework."""
    return {
        "model": job.model, "precision": job.precision, "batch_size": str(job.batch_size),
        "nodes": str(job.nodes), "devices": str(job.processes),
    }  # fmt: skip


def _why_none(kinds: int, name: str, window: str) -> str:
    if not kinds:
        return f"{name} has no earlier campaign of it with {window}"
    return f"{name} has {counted(kinds, 'case')} of this name, and which is meant is not known"


def sentences(expected: Sequence[Expected], plan: Versus) -> list[str]:
    """What is said of all cases: each with a memory, and once why the others have none."""
    known = [one.sentence(plan) for one in expected if one.memory is not None]
    reasons = dict.fromkeys(one.reason for one in expected if one.memory is None)
    without = [
        f"without a memory of {counted(sum(one.reason == why for one in expected), 'case')}: {why}" for why in reasons
    ]
    return [*known, *without]
