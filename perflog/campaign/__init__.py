"""A campaign file in, trainings run, and a folder of logs out.

Campaigns: trainings that are run again and again, their logs kept in the layout that ``perflog extract`` reads.

A campaign is a list of jobs; the folder of its logs is all the state there is, so that it can be killed at any
moment and gone on with. A log counts when it is complete, whatever its process's exit status.

>>> from perflog import campaign
>>> scheduled = campaign.schedule("campaign.toml", only={"precision": "amp"})  # doctest: +SKIP
>>> outcome = campaign.run(scheduled)  # doctest: +SKIP
>>> campaign.watch(outcome.folder)  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perflog.campaign.halving import Halved, Measurement, Search, halve
    from perflog.campaign.plan import Job
    from perflog.campaign.progress import Completion, Progress, Watcher, watch
    from perflog.campaign.runner import environments, make_environment, remedies, states
    from perflog.campaign.scheduling import Commands, Outcome, Schedule, commands, missing, run, schedule, slurm_scripts
    from perflog.campaign.versus import Budget, CaseLook, Measured, Versus, measure, plan_measurement
    from perflog.compare.rule import Stopping

__all__ = [
    "Budget", "CaseLook", "Commands", "Completion", "Halved", "Job", "Measured", "Measurement", "Observer", "Outcome",
    "Progress", "RoundObserver", "Schedule", "Search", "Versus", "Watcher", "commands", "environments", "halve",
    "make_environment", "measure", "missing", "plan_measurement", "remedies", "run", "schedule", "slurm_scripts",
    "states", "watch",
]  # fmt: skip
#: Where names are that are imported when they are used, as reading logs needs much.
_MODULES = {
    "halving": ("Halved", "Measurement", "Search", "halve"),
    "plan": ("Job",),
    "progress": ("Completion", "Progress", "Watcher", "watch"),
    "runner": ("environments", "make_environment", "remedies", "states"),
    "scheduling": ("Commands", "Outcome", "Schedule", "commands", "missing", "run", "schedule", "slurm_scripts"),
    "versus": ("Budget", "CaseLook", "Measured", "Versus", "measure", "plan_measurement"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"perflog.campaign.{module}"), name)
    raise AttributeError(f"module 'perflog.campaign' has no attribute {name!r}")


class Observer:
    """Is told how a campaign goes on. This one does nothing; a caller gives one of its own."""

    def tell(self, text: str) -> None:
        """At any moment: something odd about the campaign as a whole, in one line."""

    def begin(self, total: int, done: int, cut: int) -> None:
        """Before the first job: of ``total`` jobs ``done`` are in the folder, and ``cut`` were cut off before."""

    def begin_job(self, job: Job, seconds: Mapping[Job, float]) -> None:
        """Before a job; ``seconds``: what it and those behind it may take, empty where nothing is known yet."""

    def tick(self) -> None:
        """Several times a second while a job runs."""

    def end_job(self, job: Job, completion: Completion) -> None:
        """After a job's log has got its final name."""

    def end(self) -> None:
        """After the last job, also when one could not be started or the campaign is interrupted."""


class RoundObserver(Observer):
    """Is told how a measurement of two sides goes on. This one does nothing; a caller gives one of its own."""

    def begin_measurement(self, plan: Versus, rule: Stopping, looks: Sequence[CaseLook], cut: int) -> None:
        """Before the first round; ``cut``: runs that were cut off before."""

    def begin_round(self, number: int, cases: Sequence[str]) -> None:
        """Before a round of these cases."""

    def begin_run(self, side: str, job: Job) -> None:
        """Before a run."""

    def end_run(self, side: str, job: Job, completion: Completion) -> None:
        """After a run's log has got its final name."""

    def end_round(self, number: int, looks: Sequence[CaseLook]) -> None:
        """After a round: what is decided now."""
