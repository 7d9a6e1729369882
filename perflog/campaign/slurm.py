"""A campaign as Slurm jobs: one script for each number of nodes and devices, which runs ``perflog run`` in its allocation."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from perflog.campaign.plan import Campaign, Job

#: Starts a command on one of the allocation's nodes, as ``ssh`` does elsewhere.
REMOTE = ("srun", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist={host}")


def scripts(campaign: Campaign, wanted: Sequence[Job], gpus: bool) -> str:
    """The job scripts, one after the other, each to be given to ``sbatch``."""
    layouts = dict.fromkeys((job.nodes, job.per_node) for job in wanted)
    return "\n".join(_script(campaign, [j for j in wanted if (j.nodes, j.per_node) == layout], gpus) for layout in layouts)


def _script(campaign: Campaign, wanted: Sequence[Job], gpus: bool) -> str:
    one = wanted[0]
    minutes = math.ceil(len(wanted) * campaign.time_limit / 60)
    hosts = f".hosts-{one.layout}"
    again = [sys.executable, "-m", "perflog", "run", str(campaign.file), "--only", f"devices={one.layout}", "--logs", f"{campaign.logs}-{one.layout}"]
    again += ["--hostfile", hosts, *(word for part in REMOTE for word in ("--remote", part))] * (one.nodes > 1)
    lines = [
        "#!/bin/bash",
        f"# {len(wanted)} runs on {one.layout}; the same script goes on where a job that was cut off stopped",
        f"#SBATCH --job-name=perflog-{one.layout}",
        f"#SBATCH --nodes={one.nodes}",
        "#SBATCH --ntasks-per-node=1",
        f"#SBATCH --{'gpus-per-node' if gpus else 'cpus-per-task'}={one.per_node}",
        "#SBATCH --exclusive",
        "#SBATCH --requeue",
        f"#SBATCH --time={minutes // 60}:{minutes % 60:02d}:00",
        f"cd {shlex.quote(str(Path.cwd()))}",
        *([f'scontrol show hostnames "$SLURM_JOB_NODELIST" > {hosts}'] * (one.nodes > 1)),
        shlex.join([*again, "--quiet"]),
    ]
    return "\n".join(lines) + "\n"
