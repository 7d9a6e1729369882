"""Numbers in names that say which device a log is of, not how many there were: gpu0.log, gpu1.log, gpu2.log."""

from __future__ import annotations

import os
from collections.abc import Iterable

from perflog.formats.paths import PathPatterns
from perflog.logs.find import LogFile

#: A folder, and a name without its number.
Stem = tuple[str, str]


def indexed_by_device(logs: Iterable[LogFile], patterns: PathPatterns) -> frozenset[Stem]:
    """The names whose number is a device's: there is a log of the device 0 among them."""
    places = (device_of(log, patterns) for log in logs)
    return frozenset(place[0] for place in places if place is not None and place[1] == 0)


def device_of(log: LogFile, patterns: PathPatterns) -> tuple[Stem, int] | None:
    """The name and number of a log whose name ends in a device and a number; None for any other."""
    folder, _, name = log.place.replace("\\", "/").rpartition("/")
    index = patterns.facts_of_part(name, "file").index
    return None if index is None else ((os.path.abspath(folder), index.stem), index.number)  # noqa: PTH100 - many paths
