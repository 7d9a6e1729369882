"""The campaigns that are known of cases: every point of a metric, for what campaigns of one version differ by."""

from __future__ import annotations

from collections.abc import Mapping

from perflog.errors import UsageError
from perflog.history.database import reading
from perflog.history.place import Database, name_of
from perflog.history.points import Point, points_of


def earlier_points(database: Database, wanted: Mapping[str, str], metric: str = "throughput") -> list[Point]:
    """The points of a metric of all cases that are as ``wanted``, by date; none where no case is.

    Raises:
        UsageError: when there is no history yet.
        PerflogError: when the database cannot be read.
    """
    with reading(database) as connection:
        if connection is None:
            raise UsageError(f"no history in {name_of(database)} yet; `perflog save LOGS --label v1` begins one")
        return list(points_of(connection, wanted, metric, ()))
