"""What goes wrong with a database, in plain words, and names that are not there; SQLite alone."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import perflog.history as history
from perflog.errors import PerflogError, UsageError
from perflog.history import database as transactions
from tests.extractions import campaign
from tests.support import ROOT


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, perflog.history, perflog.audit, perflog.campaign; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ["sqlalchemy", "alembic", "scipy", "polars", "numpy", "matplotlib"]
    done = subprocess.run([sys.executable, "-c", code, *heavy], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_unknown_names_are_told() -> None:
    with pytest.raises(AttributeError, match=r"'perflog\.history' has no attribute 'tell'"):
        _ = history.tell


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PerflogError, match=r"file/h.sqlite: '.*/file' is no folder$"):
        history.save(tmp_path / "file" / "h.sqlite", campaign(1, 1), "v1")
    with pytest.raises(PerflogError, match=r"there is no folder '.*/none'; make it first, with mkdir -p$"):
        history.save(tmp_path / "none" / "h.sqlite", campaign(1, 1), "v1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_database_that_another_program_keeps_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "PATIENCE", 0.05)
    place = tmp_path / "h.sqlite"
    history.save(place, campaign(1, 1), "v1")
    other = sqlite3.connect(place)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(PerflogError, match="another program has kept it locked for 60 s"):
            history.delete(place, "v1")
        assert [entry.label for entry in history.campaigns(place)] == ["v1"], "readers go on"
    finally:
        other.close()


def test_a_label_that_others_take_again_and_again(tmp_path: Path) -> None:
    """Each look finds nothing, and each insert finds the label taken: as when others save and delete it in between."""
    from sqlalchemy import text

    place = tmp_path / "h.sqlite"
    history.save(place, campaign(1, 1, seed=1), "v1")
    with transactions.writing(place) as connection:
        connection.execute(
            text(
                "CREATE TRIGGER taken BEFORE INSERT ON perflog_campaign BEGIN SELECT RAISE(ABORT, 'UNIQUE constraint failed'); END"
            )
        )
    with pytest.raises(PerflogError, match="'v2' could not be saved: others save and delete it all the time"):
        history.save(place, campaign(1, 1, seed=2), "v2")


def test_deleting_from_no_history(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no history in .* yet; `perflog save LOGS --label v1` begins one"):
        history.delete(tmp_path / "none.sqlite", "v1")
    assert not (tmp_path / "none.sqlite").exists()


def test_what_became_of_it_counts_runs_without_a_value(tmp_path: Path) -> None:
    extraction = campaign(2, 2)
    extraction.runs[0].throughput.value = None
    saved = history.save(tmp_path / "h.sqlite", extraction, "v1")
    assert (saved.cases, saved.runs, saved.without_value, saved.done) == (2, 4, 1, "saved")


def test_where_the_history_is_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert history.default_database() == "/data/perflog/history.sqlite"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert history.default_database() == str(Path.home() / ".local/share/perflog/history.sqlite")
    assert history.name_of("postgresql://me:secret@host/perf") == "postgresql://me:***@host/perf"
    assert history.name_of("a.sqlite") == "a.sqlite"
