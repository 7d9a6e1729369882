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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perflog.campaign.completion import Completion
    from perflog.campaign.environment import environments, make_environment, states
    from perflog.campaign.observer import Observer
    from perflog.campaign.plan import Job
    from perflog.campaign.progress import Progress, Watcher, watch
    from perflog.campaign.running import Outcome, run
    from perflog.campaign.scheduling import Commands, Schedule, commands, schedule, slurm_scripts

__all__ = [
    "Commands",
    "Completion",
    "Job",
    "Observer",
    "Outcome",
    "Progress",
    "Schedule",
    "Watcher",
    "commands",
    "environments",
    "make_environment",
    "run",
    "schedule",
    "slurm_scripts",
    "states",
    "watch",
]
#: Where each name is; imported when it is used, as reading logs needs polars.
_MODULES = {
    "Commands": "scheduling",
    "Completion": "completion",
    "Job": "plan",
    "Observer": "observer",
    "Outcome": "running",
    "Progress": "progress",
    "Schedule": "scheduling",
    "Watcher": "progress",
    "commands": "scheduling",
    "environments": "environment",
    "make_environment": "environment",
    "run": "running",
    "schedule": "scheduling",
    "slurm_scripts": "scheduling",
    "states": "environment",
    "watch": "progress",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(f"perflog.campaign.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'perflog.campaign' has no attribute {name!r}")
