"""What ``machine.json``, which ``perflog run`` leaves beside its logs, says of them: framework version, accelerator, machine."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from perflog.find import MACHINE
from perflog.metadata import PATH_DEPTH, Fact


def facts_of_machine(log: str) -> list[Fact]:
    """The facts about a log's run that the nearest ``machine.json`` above it tells."""
    folders = Path(log).parents[: PATH_DEPTH - 1]
    for at, folder in enumerate(folders):
        machine = read_machine(folder)
        if machine is None:
            continue
        inside = [part.name for part in folders[:at]]
        found = next((one for name, one in machine.get("frameworks", {}).items() if name in inside), None)
        version = next(iter(found.get("packages", {}).values()), None) if found else None
        gpus = sorted({gpu.split(",")[0].strip() for gpu in machine.get("gpus", ())})
        facts = {"framework_version": version, "accelerator": gpus[0] if len(gpus) == 1 else None}
        return [Fact(key, value, "machine", MACHINE) for key, value in facts.items() if value]
    return []


def described(logs: Iterable[str]) -> list[str]:
    """The machines that logs are of, each in one line."""
    lines = []
    for log in logs:
        machine = next((found for folder in Path(log).parents[: PATH_DEPTH - 1] if (found := read_machine(folder)) is not None), None)
        if machine is not None:
            known = {key: machine.get(key) for key in ("cpu", "cpus", "memory_gib", "system", "kernel")}
            gpus = [", ".join(sorted({g.split(",")[0] for g in machine.get("gpus", ())}))] if machine.get("gpus") else []
            driver = [f"driver {machine['driver']}"] if machine.get("driver") else []
            lines.append(", ".join([*gpus, *driver, "{cpu} × {cpus}, {memory_gib} GiB, {system}, Linux {kernel}".format(**known)]))
    return list(dict.fromkeys(lines))


def read_machine(folder: Path) -> dict[str, Any] | None:
    """The machine facts in a folder; None where there are none that can be read."""
    file = folder / MACHINE
    try:
        return _read(file, file.stat().st_mtime_ns)
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=64)
def _read(file: Path, changed: int) -> dict[str, Any] | None:  # noqa: ARG001 - a file that changed is read anew
    data = json.loads(file.read_text(encoding="utf-8"))
    return data if isinstance(data, dict) and "cpus" in data else None
