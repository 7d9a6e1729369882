"""Logs to try perflog with, as ``perflog example`` writes them: quiet ones first, then trainings that perflog ran."""

from __future__ import annotations

from pathlib import Path

from perflog.errors import UsageError
from perflog.files import write_atomically
from perflog.resources import folder

#: What is written, by the name of the folder it goes to: the parts of ``fixtures`` that a wheel holds too.
PARTS = {
    "scaling": "seed004/logs_fp32", "logs": "campaign/short", "2.12.1": "campaign/releases/2.12.1",
    "2.13.0": "campaign/releases/2.13.0",
}  # fmt: skip


def write_example(place: Path) -> dict[str, int]:
    """Write the example logs below a folder that is empty or not there yet; how many logs each part holds.

    ``scaling``: one to 32 devices, five runs each, synthesised after a published report. ``logs``: a small CNN on four
    frameworks, one and two processes, three runs each. ``2.12.1`` and ``2.13.0``: the same training on two releases of
    PyTorch, five runs each. These three ran on two shared CPU cores.

    Raises:
        UsageError: when the folder holds something already, or is no folder.
        PerflogError: when a file cannot be written.
    """
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise UsageError(f"{str(place)!r} is not an empty folder: name one that is not there yet")
    source = folder("example")
    counts = {}
    for name, part in PARTS.items():
        files = sorted(file for file in (source / part).rglob("*") if file.is_file() and file.suffix != ".toml")
        for file in files:
            write_atomically(place / name / file.relative_to(source / part), file.read_bytes(), parents=True)
        counts[name] = sum(file.suffix == ".log" for file in files)
    return counts
