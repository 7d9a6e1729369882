"""Whether a log whose lines no parser measured may show its own format."""

from __future__ import annotations

from perflog.formats.catalog import Catalog
from perflog.inference.shapes import LEAST_LINES
from perflog.reading.reading import Reading
from perflog.runs.run import Run
from perflog.settings.options import Options


def inferred_runs(reading: Reading, catalog: Catalog, options: Options) -> list[Run]:
    """The runs of a log of an unknown format; none where it does not show what its numbers mean.

    A log in which a known format measures has no need of it, and under a convention nothing is inferred.
    """
    if options.convention or options.as_printed or reading.lines < LEAST_LINES or reading.undecided:
        return []
    if any(pattern.role != "metadata" and reading.accounts[key].matches for key, pattern in reading.patterns.items()):
        return []
    from perflog.inference.infer import infer  # few logs need it

    found = infer(reading.log, catalog, options)
    return found.runs if found is not None else []
