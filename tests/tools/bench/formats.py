"""What reading costs a format: its own fixtures repeated to one size, matched with all formats loaded."""

from __future__ import annotations

from pathlib import Path
from time import process_time

from perflog.formats.catalog import load_catalog
from perflog.matching import engine_for
from tests.tools.bench.measure import REPO

#: What is no text of lines, or no log.
NO_LOGS = (".toml", ".gz", ".zst", ".json", ".jsonl")
NOT_BY_LINES = {"tensorboard", "tensorboard_loss"}


def text_of_format(folder: Path, size: int) -> bytes:
    """A format's fixtures behind each other, so often that they have ``size`` bytes; empty where it has none."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.suffix not in NO_LOGS]
    text = b"".join(file.read_bytes().rstrip(b"\n") + b"\n" for file in files)
    return text * (size // len(text) + 1) if text else b""


def costs_of_formats(size: int, repeats: int) -> list[tuple[float, str]]:
    """(nanoseconds of processor time a byte, format), the slowest last."""
    engine = engine_for(load_catalog())
    costs = []
    for folder in sorted((REPO / "fixtures" / "parsers").iterdir()):
        text = b"" if folder.name in NOT_BY_LINES else text_of_format(folder, size)
        times = []
        for _ in range(repeats if text else 0):
            start = process_time()
            engine.match([text], at_end=True)
            times.append(process_time() - start)
        if times:
            costs.append((min(times) / len(text) * 1e9, folder.name))
    return sorted(costs)
