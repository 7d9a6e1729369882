"""A campaign as Slurm jobs: one script for each number of nodes and devices, which runs ``perflog run`` in its
allocation.
"""

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
    return "\n".join(
        _script(campaign, [j for j in wanted if (j.nodes, j.per_node) == layout], gpus) for layout in layouts
    )


def _script(campaign: Campaign, wanted: Sequence[Job], gpus: bool) -> str:
    layout, nodes, per_node = wanted[0].layout, wanted[0].nodes, wanted[0].per_node
    minutes = math.ceil(len(wanted) * campaign.time_limit / 60)
    hosts = f".hosts-{layout}"
    command = [sys.executable, "-m", "perflog", "run", str(campaign.file), "--only", f"devices={layout}"]
    command += ["--logs", f"{campaign.logs}-{layout}"]
    if nodes > 1:
        command += ["--hostfile", hosts, *(word for part in REMOTE for word in ("--remote", part))]
    lines = [
        "#!/bin/bash",
        f"# {len(wanted)} runs on {layout}; the same script goes on where a job that was cut off stopped",
        f"#SBATCH --job-name=perflog-{layout}",
        f"#SBATCH --nodes={nodes}",
        "#SBATCH --ntasks-per-node=1",
        f"#SBATCH --{'gpus-per-node' if gpus else 'cpus-per-task'}={per_node}",
        "#SBATCH --exclusive",
        "#SBATCH --requeue",
        f"#SBATCH --time={minutes // 60}:{minutes % 60:02d}:00",
        f"cd {shlex.quote(str(Path.cwd()))}",
        *([f'scontrol show hostnames "$SLURM_JOB_NODELIST" > {hosts}'] if nodes > 1 else []),
        shlex.join([*command, "--quiet"]),
    ]
    return "\n".join(lines) + "\n"
