"""Moments that measuring lines print, turned into seconds."""

from __future__ import annotations

from dataclasses import replace

from perflog.matching.matches import TIMESTAMP, Matches
from perflog.reading.timestamps import seconds_of_timestamps


def with_seconds(matches: Matches) -> Matches:
    """The same matches, with seconds in place of the stamps of measuring and position lines."""
    stamps = matches.columns.get(TIMESTAMP)
    if matches.pattern.role not in ("step", "position") or not isinstance(stamps, list):
        return matches
    return replace(matches, columns={**matches.columns, TIMESTAMP: seconds_of_timestamps(stamps)})
