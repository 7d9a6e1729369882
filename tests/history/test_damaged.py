"""A history that others wrote to, or that goes away in the middle: plain errors, status 2, and nothing half saved."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from typer.testing import CliRunner

import perflog.history as history
from perflog.cli import app
from perflog.errors import PerflogError
from perflog.history.database import DamagedError, writing
from perflog.history.following import known_keys
from tests.extractions import campaign
from tests.history.test_history import rows
from tests.support import ROOT

#: What others may do to a history of one campaign of two cases with two runs each (SQL).
TAMPERED = {
    "options of another form": "UPDATE perflog_campaign SET options = '[]'",
    "options without a window": "UPDATE perflog_campaign SET options = '{{}}'",
    "an aggregate that is none": """UPDATE perflog_campaign SET options = '{{"window": {{"warmup": {{"number": 20, "unit": "steps"}}}}, "aggregate": "best"}}'""",
    "an amount that is none": """UPDATE perflog_campaign SET options = '{{"window": {{"warmup": {{"number": "many"}}}}}}'""",
    "skipped files of another form": "UPDATE perflog_campaign SET skipped = '[1, 2]'",
    "a negative count": "UPDATE perflog_campaign SET runs = -1",
    "another count": "UPDATE perflog_campaign SET runs = 5",
    "facts that are a list": "UPDATE perflog_run SET facts = '[]' WHERE number = 1",
    "facts of another form": """UPDATE perflog_run SET facts = '{{"devices": [1]}}' WHERE number = 1""",
    "notes that are a number": "UPDATE perflog_run SET notes = '7' WHERE number = 1",
    "null in place of JSON": "UPDATE perflog_run SET more = 'null' WHERE number = 1",
    "deep JSON": "UPDATE perflog_run SET more = '" + "[" * 3000 + "]" * 3000 + "' WHERE number = 1",
    "a negative line": "UPDATE perflog_run SET first_line = -4",
    "a negative number of measurements": "UPDATE perflog_metric SET used = -1",
    "excluded of another form": """UPDATE perflog_metric SET excluded = '{{"warm-up": "x"}}'""",
    "evidence of another form": """UPDATE perflog_run SET more = '{{"evidence": 5}}'""",
    "another value": "UPDATE perflog_metric SET value = 2 * value",
    "a text that is no JSON": "UPDATE perflog_run SET label = 'json:{{bad'",
    "a case that is missing": "DELETE FROM perflog_case WHERE number = 1",
    "a run that is missing": "DELETE FROM perflog_run WHERE case_number = 1 AND number = 1",
    "the last run's throughput is missing": "DELETE FROM perflog_metric WHERE name = 'throughput' AND case_number = 1 AND run_number = 1",
    "a metric that is missing": "DELETE FROM perflog_metric WHERE name = 'memory' AND case_number = 1",
    "a metric under another name": "UPDATE perflog_metric SET name = 'speed' WHERE name = 'throughput'",
    "the version is no version": "UPDATE perflog_version SET version_num = '0000'",
    "the version is missing": "DELETE FROM perflog_version",
    "a table is missing": "DROP TABLE perflog_metric",
}  # fmt: skip
#: What only SQLite holds: bad JSON and values of another type than the column's.
OF_SQLITE = {
    "bad JSON in options": "UPDATE perflog_campaign SET options = '{{bad'",
    "bad JSON in facts": "UPDATE perflog_run SET facts = '{{bad'",
    "bad JSON in a case's key": "UPDATE perflog_case SET \"key\" = ']'",
    "bad JSON in excluded": "UPDATE perflog_metric SET excluded = ''",
    "bytes in place of JSON": "UPDATE perflog_run SET notes = x'ff'",
    "a text as a value": "UPDATE perflog_metric SET value = 'fast'",
    "a text as a count": "UPDATE perflog_metric SET used = 'many'",
    "bytes as a label": "UPDATE perflog_campaign SET label = x'ff00'",
    "a text as a date": "UPDATE perflog_campaign SET date = 'yesterday'",
    "a number as a date": "UPDATE perflog_campaign SET date = 5",
    "a text as a number of a case": "UPDATE perflog_case SET batch_size = 'x', model = 7",
    "bytes as a version": "UPDATE perflog_version SET version_num = x'00'",
}
#: What is tried on PostgreSQL too where not all is tried.
TOLD = ("an aggregate that is none", "a run that is missing", "a table is missing")
EVERY = [
    pytest.param("sqlite", *item, id=f"sqlite-{item[0]}", marks=pytest.mark.long if number % 3 else ())
    for number, item in enumerate((TAMPERED | OF_SQLITE).items())
] + [
    pytest.param("postgresql", *item, id=f"postgresql-{item[0]}", marks=() if item[0] in TOLD else pytest.mark.long)
    for item in TAMPERED.items()
]
#: What their messages begin with, or name.
PLAIN = ("the history in ", "no campaign 'v", "no case model=", "no saved case ")
COMMANDS = ["compare v1 v1", "history", "history --case model=rn50", "history --case model=bert-base --value memory", "history --case model=nothing", "save fixtures/seed001 --label v2 -s devices=1", "history delete v2 --yes"]  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of one campaign, to be copied."""
    file = tmp_path_factory.mktemp("saved") / "h.sqlite"
    history.save(str(file), campaign(2, 2, seed=1), "v1")
    return file


def perflog(words: str, database: str) -> tuple[int, str]:
    """A command's status and what it says, in this process."""
    from typer.testing import CliRunner

    from perflog.cli import app

    done = CliRunner().invoke(app, [*words.split(), "--database", database])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        if not isinstance(done.exception, PerflogError):
            raise done.exception
        return 2, str(done.exception)
    return done.exit_code, done.output


def tamper(database: str, statement: str) -> None:
    """Do to a database what no perflog does, without the checks between its tables."""
    if "://" in database:
        import psycopg

        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(statement.format().encode())
        return
    import sqlite3

    file = sqlite3.connect(database)
    file.execute("PRAGMA foreign_keys = ON")
    file.execute(statement.format())
    file.commit()
    file.close()


@pytest.mark.parametrize(("kind", "name", "statement"), EVERY)
def test_tampered_rows_are_plain_errors(
    kind: str, name: str, statement: str, saved: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """No command ends in another way than by a number of untouched rows or a message that names the history."""
    if kind == "sqlite":
        database = str(shutil.copy(saved, tmp_path / "h.sqlite"))
    else:
        from tests import postgresql

        database = postgresql.create(request.getfixturevalue("postgresql_server"), f"damaged{abs(hash(name)) % 10**9}")
        history.save(database, campaign(2, 2, seed=1), "v1")
    tamper(database, statement)
    said = [perflog(words, database) for words in COMMANDS]
    for (status, message), words in zip(said, COMMANDS, strict=True):
        assert status in (0, 2, 3), f"{words}: {message}"
        assert status != 2 or any(part in message for part in PLAIN), f"{words}: {message}"
    assert said[0][0] == 2, "what was changed is not compared"


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    database = str(tmp_path / "h.sqlite")
    history.save(database, campaign(2, 2), "v1")
    tamper(database, "UPDATE perflog_metric SET used = -1")
    with pytest.raises(PerflogError) as caught:
        history.load(database, "v1")
    where = "campaign 'v1', perflog_metric: Expected `int` >= 0 - at `$.used`"
    assert str(caught.value) == f"the history in {database} is damaged: {where}"


def test_a_campaign_that_was_not_touched_is_loaded_beside_a_damaged_one(tmp_path: Path) -> None:
    database = str(tmp_path / "h.sqlite")
    for number in (1, 2):
        history.save(database, campaign(2, 2, seed=number), f"v{number}")
    tamper(database, "DELETE FROM perflog_run WHERE campaign = 2 AND number = 1")
    assert history.load(database, "v1").extraction == campaign(2, 2, seed=1)
    with pytest.raises(PerflogError, match=r"campaign 'v2', perflog_run: 2 rows, and 4 were saved$"):
        history.load(database, "v2")
    with pytest.raises(PerflogError, match=r"campaign 'v2', perflog_run: 2 rows, and 4 were saved$"):
        history.series(database, {"model": "rn50"})
    history.delete(database, "v2")
    assert len(history.series(database, {"model": "rn50"})) == 1


# ---------------------------------------------------------------- a database that goes away

TABLES = ("campaign", "case", "run", "metric")
MOMENTS = [(when, table) for table in TABLES for when in ("BEFORE", "AFTER")] + [
    ("COMMIT", "campaign"),
    ("COMMIT", "metric"),
]


@pytest.mark.parametrize(
    ("when", "table"),
    [MOMENTS[0], MOMENTS[-1], *(pytest.param(*moment, marks=pytest.mark.long) for moment in MOMENTS[1:-1])],
)
def test_a_server_that_ends_the_connection_in_the_middle(when: str, table: str, postgresql_server: str) -> None:
    """At ten moments of a save, the last two while it is committed: a plain error, and nothing of it is there."""
    import psycopg

    from tests import postgresql

    database = postgresql.create(postgresql_server, f"ended_{when}_{table}".lower())
    history.save(database, campaign(2, 2, seed=1), "v1")
    before = rows(database)
    trigger = f"TRIGGER ended {when} INSERT ON perflog_{table} FOR EACH STATEMENT"
    if when == "COMMIT":
        trigger = f"CONSTRAINT TRIGGER ended AFTER INSERT ON perflog_{table} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            b"CREATE FUNCTION ended() RETURNS trigger LANGUAGE plpgsql AS "
            b"$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); RETURN NULL; END $$"
        )
        connection.execute(f"CREATE {trigger} EXECUTE FUNCTION ended()".encode())
    with pytest.raises(PerflogError, match=r"^the history in postgresql://.*: (terminating connection|server closed)"):
        history.save(database, campaign(3, 2, seed=2), "v2")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"DROP TRIGGER ended ON perflog_{table}".encode())
    assert rows(database) == before
    assert history.save(database, campaign(3, 2, seed=2), "v2").done == "saved"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "perflog", str(place)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root mounts file systems")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_saves_nothing_and_keeps_what_was_saved(small_disk: Path) -> None:
    database = str(small_disk / "h.sqlite")
    history.save(database, campaign(2, 2, seed=1), "v1")
    before = rows(database)
    with pytest.raises(PerflogError, match=r"h\.sqlite: the disk is full$"):
        history.save(database, campaign(40, 5, seed=2), "v2")
    assert rows(database) == before
    assert history.load(database, "v1").extraction == campaign(2, 2, seed=1)
    assert history.save(database, campaign(2, 2, seed=3), "v3").done == "saved"


def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    database = str(tmp_path / "h.sqlite")
    history.save(database, campaign(2, 2, seed=1), "v1")
    before = rows(database)
    code = f"from perflog.history import save; from tests.extractions import campaign; save({database!r}, campaign(60, 5, seed=2), 'v2')"
    limited = f'ulimit -f 200; {sys.executable} -c "{code}"'
    done = subprocess.run(["bash", "-c", limited], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"PerflogError: the history in {database}: " in done.stderr.splitlines()[-1]
    assert rows(database) == before


def test_a_trigger_that_refuses_a_row_leaves_nothing(database: str) -> None:
    """An error of the database in the middle of a save."""
    history.save(database, campaign(2, 2, seed=1), "v1")
    before = rows(database)
    with writing(database) as connection:
        if "://" in database:
            connection.execute(text("ALTER TABLE perflog_metric ADD CHECK (run_number < 3)"))
        else:
            connection.execute(
                text(
                    "CREATE TRIGGER refused BEFORE INSERT ON perflog_metric WHEN NEW.run_number = 3 BEGIN SELECT RAISE(FAIL, 'no'); END"
                )
            )
    with pytest.raises(PerflogError):
        history.save(database, campaign(2, 5, seed=2), "v2")
    assert rows(database) == before


def test_the_drivers_own_warnings_are_not_on_the_terminal() -> None:
    """`error ignored in rollback on …`, which psycopg logs where the server is gone: the plain error says it already."""
    program = (
        "import logging; from sqlalchemy import make_url; from perflog.history.database import _engine\n"
        "_engine(make_url('postgresql+psycopg:///x'), writes=True)\n"
        "logging.getLogger('psycopg').warning('error ignored in rollback'); logging.getLogger('other').warning('seen')\n"
        "logging.getLogger('sqlalchemy.pool').error('Exception terminating connection')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "seen\n"


def test_rows_that_name_others_are_one_line(tmp_path: Path) -> None:
    file = tmp_path / "h.sqlite"
    history.save(str(file), campaign(2, 2), "v1")
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "CREATE TABLE other (campaign INTEGER REFERENCES perflog_campaign(id)); INSERT INTO other VALUES (1)"
        )
    done = CliRunner().invoke(app, ["history", "delete", "v1", "--yes", "--database", str(file)])
    assert isinstance(done.exception, PerflogError)
    assert str(done.exception).endswith("h.sqlite is damaged: its rows name others that are not there")


def test_keys_of_another_form_are_told(tmp_path: Path) -> None:
    file = tmp_path / "h.sqlite"
    history.save(str(file), campaign(2, 2), "v1")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE perflog_case SET key = '7'")
        connection.commit()
    with create_engine(f"sqlite:///{file}").connect() as opened, pytest.raises(DamagedError, match=r"^perflog_case: "):
        known_keys(opened)
