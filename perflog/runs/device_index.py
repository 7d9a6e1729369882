"""Numbers in names that say which device a log is of, not how many there were: gpu0.log, gpu1.log or gpu0/, gpu1/."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from perflog.formats.paths import PathPatterns
from perflog.logs.find import LogFile

#: A folder, and a name without its number.
Stem = tuple[str, str]


class Device(NamedTuple):
    """The device that a log may be of: the names that differ in it alone, its number, and the part that says it."""

    stem: Stem
    number: int
    part: str


def indexed_by_device(logs: Iterable[LogFile], patterns: PathPatterns) -> frozenset[Stem]:
    """The names whose number is a device's: there is a log of the device 0 among them."""
    places = (device_of(log, patterns) for log in logs)
    return frozenset(place.stem for place in places if place is not None and place.number == 0)


def device_of(log: LogFile, patterns: PathPatterns) -> Device | None:
    """The device in which the name of a log or, if not, of its folder ends; None where neither does."""
    folder, name = log.folder_and_name
    index = patterns.facts_of_part(name, "file").index
    if index is not None:
        return Device((os.path.abspath(folder), index.stem), index.number, name)  # noqa: PTH100 - many paths
    above, _, own = folder.rpartition("/")
    index = patterns.facts_of_part(own, "folder").index if own else None
    if index is None:
        return None
    return Device((os.path.abspath(above), f"{index.stem}/{name}"), index.number, own)  # noqa: PTH100 - many paths
