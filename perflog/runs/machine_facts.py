"""What ``machine.json``, which ``perflog run`` leaves beside its logs, says of them: framework version, accelerator, machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from perflog.formats.paths import PATH_DEPTH
from perflog.formats.vocabulary import Fact
from perflog.logs.find import MACHINE


def facts_of_machine(log: str) -> list[Fact]:
    """The facts about a log's run that the nearest ``machine.json`` above it tells."""
    machine, inside = _nearest(log)
    if machine is None:
        return []
    found = next((one for name, one in machine.get("frameworks", {}).items() if name in inside), None)
    version = next(iter(found.get("packages", {}).values()), None) if found else None
    gpus = sorted({gpu.split(",")[0].strip() for gpu in machine.get("gpus", ())})
    facts = {"framework_version": version, "accelerator": gpus[0] if len(gpus) == 1 else None}
    return [Fact(key, value, "machine", MACHINE) for key, value in facts.items() if value]


def described(logs: Iterable[str]) -> list[str]:
    """The machines that logs are of, each in one line."""
    lines = []
    for log in logs:
        machine, _ = _nearest(log)
        if machine is not None:
            known = {key: machine.get(key) for key in ("cpu", "cpus", "memory_gib", "system", "kernel")}
            gpus = [", ".join(sorted({g.split(",")[0] for g in machine.get("gpus", ())}))] if machine.get("gpus") else []
            driver = [f"driver {machine['driver']}"] if machine.get("driver") else []
            lines.append(", ".join([*gpus, *driver, "{cpu} × {cpus}, {memory_gib} GiB, {system}, Linux {kernel}".format(**known)]))
    return list(dict.fromkeys(lines))


def _nearest(log: str) -> tuple[dict[str, Any] | None, list[str]]:
    """The nearest machine facts above a log that can be read, and the names of the folders between, from the log up."""
    # plain texts and one call a folder: every log of 20,000 asks
    folder = os.path.dirname(log)  # noqa: PTH120
    inside: list[str] = []
    for _ in range(PATH_DEPTH - 1):
        file = os.path.join(folder, MACHINE)  # noqa: PTH118
        try:
            machine = _read(file, os.stat(file).st_mtime_ns)  # noqa: PTH116
        except (OSError, ValueError):
            machine = None
        if machine is not None:
            return machine, inside
        inside.append(os.path.basename(folder))  # noqa: PTH119
        folder, below = os.path.dirname(folder), folder  # noqa: PTH120
        if folder == below:
            break
    return None, []


@lru_cache(maxsize=64)
def _read(file: str, changed: int) -> dict[str, Any] | None:  # noqa: ARG001 - a file that changed is read anew
    data = json.loads(Path(file).read_text(encoding="utf-8"))
    return data if isinstance(data, dict) and "cpus" in data else None
