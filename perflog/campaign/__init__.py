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
    from perflog.campaign.deciding import Measured, measure
    from perflog.campaign.hardware import environments, make_environment, remedies, states
    from perflog.campaign.looks import CaseLook
    from perflog.campaign.observer import Observer, RoundObserver
    from perflog.campaign.plan import Job
    from perflog.campaign.progress import Progress, Watcher, watch
    from perflog.campaign.running import Outcome, run
    from perflog.campaign.scheduling import Commands, Schedule, commands, missing, schedule, slurm_scripts
    from perflog.campaign.versus import Budget, Versus, plan_measurement

__all__ = [
    "Budget",
    "CaseLook",
    "Commands",
    "Completion",
    "Job",
    "Measured",
    "Observer",
    "Outcome",
    "Progress",
    "RoundObserver",
    "Schedule",
    "Versus",
    "Watcher",
    "commands",
    "environments",
    "make_environment",
    "measure",
    "missing",
    "plan_measurement",
    "remedies",
    "run",
    "schedule",
    "slurm_scripts",
    "states",
    "watch",
]
#: Where each name is; imported when it is used, as reading logs needs polars.
_MODULES = {
    "Budget": "versus",
    "CaseLook": "looks",
    "Commands": "scheduling",
    "Completion": "completion",
    "Job": "plan",
    "Measured": "deciding",
    "Observer": "observer",
    "Outcome": "running",
    "Progress": "progress",
    "RoundObserver": "observer",
    "Schedule": "scheduling",
    "Versus": "versus",
    "Watcher": "progress",
    "commands": "scheduling",
    "environments": "hardware",
    "make_environment": "hardware",
    "measure": "deciding",
    "missing": "scheduling",
    "plan_measurement": "versus",
    "remedies": "hardware",
    "run": "running",
    "schedule": "scheduling",
    "slurm_scripts": "scheduling",
    "states": "hardware",
    "watch": "progress",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(f"perflog.campaign.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'perflog.campaign' has no attribute {name!r}")
