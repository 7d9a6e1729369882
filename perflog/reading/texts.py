"""Moments that measuring lines print, turned into seconds."""

from __future__ import annotations

from collections.abc import MutableMapping

from msgspec.structs import replace

from perflog.matching.matches import TIMESTAMP, Matches
from perflog.reading.timestamps import START, Clock, seconds_of_timestamps


def with_seconds(matches: Matches, clocks: MutableMapping[str, Clock]) -> Matches:
    """The same matches, with seconds in place of the stamps of measuring and position lines.

    Args:
        clocks: where the clock of each pattern stands, by its key; carried on here.
    """
    stamps = matches.columns.get(TIMESTAMP)
    if matches.pattern.role not in ("step", "position") or not isinstance(stamps, list):
        return matches
    key = matches.pattern.key
    seconds, clocks[key] = seconds_of_timestamps(stamps, clocks.get(key, START))
    return replace(matches, columns={**matches.columns, TIMESTAMP: seconds})
