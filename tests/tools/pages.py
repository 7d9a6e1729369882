"""What a simulation found, written into a page of the documentation."""

from __future__ import annotations

from pathlib import Path


def write_between(page: Path, start: str, end: str, text: str) -> None:
    """Replace what stands in a page between two lines.

    Raises:
        ValueError: when it lacks one of them.
    """
    before, found_start, rest = page.read_text(encoding="utf-8").partition(start)
    _, found_end, after = rest.partition(end)
    if not found_start or not found_end:
        raise ValueError(f"{page} lacks the line {start} or {end}")
    page.write_text(f"{before}{start}\n\n{text}\n{end}{after}", encoding="utf-8")
