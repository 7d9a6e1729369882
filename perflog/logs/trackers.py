"""Points of trackers in (a metric's value at a step and a moment), a JSON line for each row out, as W&B exports them:
``{"step": 10, "timestamp": 1714817472.123, "train/loss": 0.41, "perf/tokens_per_sec": 44294.0}``.

MLflow's database (``mlflow.db``, SQLite) is an archive whose members are its runs. It is read as it stands and never
written to: no journal is left beside it. Tables as in mlflow/mlflow ``store/tracking/dbmodels/models.py``.

ClearML's offline session keeps ``metrics.jsonl``, whose lines are arrays of events as in allegroai/clearml
``backend_interface/metrics/events.py``.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from perflog.logs.blocks import blocks_of_stream
from perflog.logs.streams import Stream, UnreadableError, stream_of
from perflog.logs.zips import Member

#: A metric's name, its value, the moment in milliseconds since 1970, the step.
Point = tuple[str, float, int, int]

#: Calls right behind each other take no more milliseconds than these.
_AT_ONCE = 1000


def _rows(points: Iterable[Point]) -> Iterator[bytes]:
    """The points of one call as one line, and so those of calls right behind each other for one step.

    A later call for the same step, such as an evaluation's, begins a row of its own: its moment is another. What is
    there already is a second report of it: ClearML takes what a program gives to TensorBoard too.
    """
    row: dict[str, float] = {}
    step, first, last = 0, 0, 0
    for name, value, moment, of_step in points:
        if of_step == step and name in row and _is_same(row[name], value):
            continue
        if row and (of_step != step or name in row or moment > last + _AT_ONCE):
            yield _line(step, first, row)
            row = {}
        if not row:
            step, first = of_step, moment
        row[name], last = value, moment
    if row:
        yield _line(step, first, row)


def _is_same(value: float, other: float) -> bool:
    """Whether two numbers are one to single precision, which TensorBoard has."""
    return math.isclose(value, other, rel_tol=1e-6) or (math.isnan(value) and math.isnan(other))


def _line(step: int, moment: int, row: dict[str, float]) -> bytes:
    place = {"step": step, "timestamp": moment / 1000}
    return json.dumps(place | row | place).encode() + b"\n"  # a metric may be called step


# ----------------------------------------------------------------------------------------------------
# MLflow's database.

#: So much is read at once, and no line may be longer.
_BLOCK = 8 << 20
#: Where the header says whether changes are written to a second file first (write-ahead), and how it says so.
_WRITE_VERSION, _AHEAD = 18, b"\x02"
#: No text in it may be longer, nor may one be made by what a hostile database computes.
_LONGEST_TEXT = 1 << 20
#: So many seconds another program may hold it for a change.
_WAIT = 1.0
#: About so many bytes a point takes in its line.
_POINT = 48
#: Real tables, as views and virtual ones have no page: those may take for ever, or call what they want.
_TABLES = """
    SELECT count(*) FROM sqlite_master
    WHERE name IN ('experiments', 'metrics', 'runs') AND type = 'table' AND rootpage > 0
"""
#: Metrics of the system have steps of their own, which count samples of a monitor. Runs that were deleted stay in it.
_METRICS = """
    FROM metrics JOIN runs USING (run_uuid) JOIN experiments USING (experiment_id)
    WHERE substr(metrics.key, 1, 7) <> 'system/' AND runs.lifecycle_stage = 'active'
"""
_ANY = f"SELECT 1 {_METRICS} LIMIT 1"
_OF_RUNS = f"""
    SELECT runs.run_uuid, CAST(experiments.name AS TEXT), CAST(runs.name AS TEXT), count(*) {_METRICS}
    GROUP BY runs.run_uuid ORDER BY experiment_id, runs.start_time, runs.run_uuid
"""
_OF_POINTS = """
    SELECT CAST(key AS TEXT), CASE WHEN is_nan THEN NULL ELSE CAST(value AS REAL) END,
        CAST(timestamp AS INTEGER), CAST(step AS INTEGER)
    FROM metrics
    WHERE run_uuid = ? AND substr(key, 1, 7) <> 'system/' AND timestamp IS NOT NULL AND step IS NOT NULL
    ORDER BY timestamp, step, rowid
"""


def is_store(path: str) -> bool:
    """Whether an SQLite database has MLflow's tables and a metric; or is damaged, so that reading tells why."""
    try:
        with closing(_opened(path)) as database:
            return database.execute(_TABLES).fetchone() == (3,) and database.execute(_ANY).fetchone() is not None
    except sqlite3.Error as error:
        return getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_NOTADB
    except OSError:
        return True


def runs_of(path: str) -> Iterator[Member]:
    """The runs of MLflow's database that have metrics, each named by its experiment and its own name.

    Raises:
        UnreadableError: when it is damaged, or another program has not put all of its changes into it. Nothing of a
            damaged one is given: pages that lead to each other might be read for ever.
    """
    try:
        with closing(_opened(path)) as database:
            _check_whole(path, database)
            for run, experiment, name, count in database.execute(_OF_RUNS).fetchall():
                parts = [part for part in f"{experiment}/{name or run}".split("/") if part]
                yield Member("/".join(parts), count * _POINT, partial(_text_of_run, database, run))
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    except sqlite3.Error as error:
        raise _damaged(error) from None


def _opened(path: str) -> sqlite3.Connection:
    """The database as it stands, which is not written to.

    Even to read one with a write-ahead log SQLite makes two files beside it, unless it is told that the database never
    changes; then it does not see that log.
    """
    is_fixed = "&immutable=1" if _writes_ahead(path) else ""
    address = f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode=ro{is_fixed}"  # noqa: PTH100 - no link is followed
    # a thread may end what another began
    database = sqlite3.connect(address, uri=True, timeout=_WAIT, check_same_thread=False, isolation_level=None)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_TEXT)
    database.text_factory = lambda text: text.decode("utf-8", "replace")
    database.execute("PRAGMA trusted_schema = OFF")
    return database


def _writes_ahead(path: str) -> bool:
    with Path(path).open("rb") as file:
        return file.read(_WRITE_VERSION + 1)[_WRITE_VERSION:] == _AHEAD


def _check_whole(path: str, database: sqlite3.Connection) -> None:
    log = Path(f"{path}-wal")
    if _writes_ahead(path) and log.exists() and log.stat().st_size:
        raise _damaged(f"its newest rows stand in {log.name!r} beside it")
    ((found,),) = database.execute("PRAGMA quick_check(1)")  # a GB in about a second
    if found != "ok":
        raise _damaged(found)


def _text_of_run(database: sqlite3.Connection, run: str) -> Stream:
    def lines() -> Iterator[bytes]:
        try:
            points = database.execute(_OF_POINTS, (run,))
            yield from _rows((name, math.nan if value is None else value, *place) for name, value, *place in points)
        except sqlite3.Error as error:
            raise _damaged(error) from None

    return stream_of(lines())


def _damaged(why: object) -> UnreadableError:
    return UnreadableError(f"the SQLite database is damaged or in use, and not read: {' '.join(str(why).split())}")


# ----------------------------------------------------------------------------------------------------
# ClearML's offline session.

_SCALAR = "training_stats_scalar"
#: How the names of what its monitor samples begin, whose steps may be seconds.
_MONITOR = ":monitor:"


class _Event(Struct):
    type: str
    timestamp: int
    step: int = field(default=0, name="iter")
    metric: str = ""
    variant: str = ""
    value: float | None = None


def text_of_session(stream: Stream) -> Stream:
    """The scalars of an offline session as rows.

    Raises:
        UnreadableError: from its ``read``, after the rows before the damage.
    """
    return stream_of(_rows(_scalars(stream)))


def _scalars(stream: Stream) -> Iterator[Point]:
    for block in blocks_of_stream(stream.read, _BLOCK, _BLOCK):
        for line in bytes(block).splitlines():
            try:
                events = msgspec.json.decode(line, type=list[_Event])
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                raise UnreadableError("the metrics of the ClearML session are damaged or cut short") from None
            for event in events:
                if event.type == _SCALAR and event.value is not None and not event.metric.startswith(_MONITOR):
                    yield f"{event.metric}/{event.variant}", event.value, event.timestamp, event.step
