"""Whether a log whose lines no parser measured may show its own format."""

from __future__ import annotations

from dataclasses import replace

from perflog.formats.catalog import Catalog
from perflog.inference.shapes import LEAST_LINES, may_have_shapes
from perflog.logs.find import LogFile
from perflog.notes import Note
from perflog.reading.reading import Reading
from perflog.runs.run import Run
from perflog.settings.options import Options

#: The roles of patterns that measure a training, or tell its result.
_MEASURING = frozenset({"step", "summary"})


def inferred_runs(reading: Reading, catalog: Catalog, options: Options) -> list[Run]:
    """The runs of a log of an unknown format; none where it does not show what its numbers mean.

    A log in which a known format measures has no need of it, and under a convention nothing is inferred.
    """
    if options.convention or options.as_printed or reading.lines < LEAST_LINES or reading.undecided:
        return []
    if any(pattern.role in _MEASURING and reading.accounts[key].matches for key, pattern in reading.patterns.items()):
        return []
    beginning = _beginning(reading)
    is_whole = beginning is not None and beginning.size == reading.bytes
    if reading.log.pipe is not None and not is_whole:
        return []  # a pipe cannot be read once more
    if is_whole and not may_have_shapes(reading.beginning):
        return []
    from perflog.inference.infer import infer  # few logs need it

    found = infer(beginning if is_whole and beginning else reading.log, catalog, options, beginning)
    if found is None:
        return []
    return [
        replace(
            run,
            log=reading.log,
            notes=[*(note for note in map(Note, reading.notes) if note not in run.notes), *run.notes],
        )
        for run in found.runs
    ]


def _beginning(reading: Reading) -> LogFile | None:
    """The first whole lines of a log as a log of their own, in memory; None where they are not at hand."""
    text = reading.beginning
    if len(text) < reading.bytes:
        text = text[: text.rfind(b"\n") + 1]
    return replace(reading.log, size=len(text), pipe=None, text=text) if text else None
