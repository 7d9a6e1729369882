"""How many workers read at once: the processors that this process may use, by its affinity and its container."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

#: More than so many do not make it faster, and each has memory of its own.
MOST = 4
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")


def workers() -> int:
    """How many threads or processes to read with (``PERFLOG_THREADS`` sets it)."""
    with suppress(ValueError):
        asked = int(os.environ.get("PERFLOG_THREADS", ""))
        if asked > 0:
            return asked
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(MOST, cores, processors_granted(_CGROUPS, _OWN_CGROUP)))


def processors_granted(cgroups: Path, own: Path) -> int:
    """How many processors a container's quota grants, at least one; :data:`MOST` where there is no quota.

    Args:
        cgroups: where the groups of processes are mounted; ``own``: the file that names this process's.
    """
    granted = float(MOST)
    for folder in _groups(cgroups, own):
        for quota in (_quota_2(folder / "cpu.max"), _quota_1(folder)):
            granted = min(granted, quota)
    return max(1, round(granted))


def _groups(cgroups: Path, own: Path) -> list[Path]:
    """The folders that may hold a quota of this process: its groups' and those above them."""
    folders = [cgroups, cgroups / "cpu"]
    with suppress(OSError, UnicodeDecodeError):
        for line in own.read_text(encoding="utf-8").splitlines():
            _, controllers, name = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            folder = (cgroups / "cpu" if controllers else cgroups) / name.lstrip("/")
            folders += [folder, *(above for above in folder.parents if above.is_relative_to(cgroups))]
    return list(dict.fromkeys(folders))


def _quota_2(file: Path) -> float:
    """The processors of a group of version 2, whose file says ``200000 100000``: a quota and its period."""
    with suppress(OSError, ValueError):
        quota, period = file.read_text(encoding="ascii").split()
        return int(quota) / int(period) if int(period) > 0 else float(MOST)
    return float(MOST)


def _quota_1(folder: Path) -> float:
    """The processors of a group of version 1, which has a file for the quota (-1 for none) and one for the period."""
    with suppress(OSError, ValueError):
        texts = [(folder / f"cpu.cfs_{name}_us").read_text(encoding="ascii") for name in ("quota", "period")]
        quota, period = map(int, texts)
        if quota > 0 and period > 0:
            return quota / period
    return float(MOST)
