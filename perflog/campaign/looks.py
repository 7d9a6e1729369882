"""Looks at a measurement of two sides: what its logs decide so far. Nothing but the logs and the rule is needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from perflog.campaign.completion import glance
from perflog.campaign.plan import Job
from perflog.campaign.versus import SIDES, Versus
from perflog.compare.rule import change_words, verdict_words
from perflog.export.text import counted
from perflog.formats.catalog import Catalog
from perflog.formats.printed import kind
from perflog.stats.sequential import Look, look


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


def open_cases(looks: Sequence[CaseLook]) -> list[str]:
    """The cases that a further round may decide."""
    return [entry.case for entry in looks if entry.is_open]
