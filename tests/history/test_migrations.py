"""Databases that older versions of perflog left: they open, keep everything, and take new campaigns beside."""

from __future__ import annotations

import gzip
import sqlite3
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perflog.history import campaigns, check, events, load, look, save, series
from perflog.history.commits import Code
from tests import postgresql
from tests.extractions import campaign
from tests.support import ROOT

KEPT = ROOT / "fixtures/databases"
MONTHS = [f"2025-{month:02d}" for month in range(1, 13)] + ["2026-01", "2026-02"]


def of_sqlite(tmp_path: Path, _: pytest.FixtureRequest) -> str:
    file = tmp_path / "old.sqlite"
    file.write_bytes(gzip.decompress((KEPT / "0001.sqlite.gz").read_bytes()))
    return str(file)


def of_postgresql(_: Path, request: pytest.FixtureRequest) -> str:
    folder = request.getfixturevalue("postgresql_server")
    database = postgresql.create(folder, "old0001")
    place = postgresql.programs()
    assert place is not None
    subprocess.run(
        [str(place / "psql"), "-h", folder, "-U", postgresql.USER, "-d", "old0001", "-q", "-v", "ON_ERROR_STOP=1"],
        input=gzip.decompress((KEPT / "0001.sql.gz").read_bytes()), check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return database


@pytest.mark.parametrize("opened", [of_sqlite, of_postgresql])
def test_a_history_of_schema_0001_keeps_everything(
    opened: Callable[[Path, pytest.FixtureRequest], str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    database = opened(tmp_path, request)
    entries = campaigns(database)
    assert [entry.label for entry in entries] == MONTHS
    assert {entry.code for entry in entries} == {Code()}, "nobody said which commits these were"
    assert events(database) == []
    for label in MONTHS:  # each is held against its hash as it is loaded
        assert len(load(database, label).extraction.runs) == 3
    (line,) = series(database, {"model": "rn50"})
    # the medians that docs/history.md shows since before there was a second schema
    assert [round(value, 2) for point in line.points[:5] if (value := point.summary.value)] == [
        2771.92, 2780.96, 2772.71, 2767.69, 2677.46,
    ]  # fmt: skip
    save(database, campaign(2, 3), "new", datetime(2026, 3, 1, tzinfo=UTC), code=Code("1f3a9c2", "main"))
    assert campaigns(database)[-1].code == Code("1f3a9c2", "main")
    found = look(database, wanted={"model": "rn50", "devices": "8", "precision": "fp32"})
    assert [(event.campaign, event.kind.value) for event in events(database)][:1] == [("2025-05", "found")]
    assert [change.shift.point.campaign for change in found.changes] == ["2025-05"]
    assert check(database).faults == () and check(database).campaigns == 15


def test_the_fixture_is_of_the_old_schema(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A fixture that was opened once and saved again would test nothing."""
    connection = sqlite3.connect(of_sqlite(tmp_path, request))
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert "perflog_event" not in tables and "perflog_campaign" in tables
    assert connection.execute("SELECT version_num FROM perflog_version").fetchall() == [("0001",)]
    connection.close()
