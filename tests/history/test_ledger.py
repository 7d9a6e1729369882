"""The ledger: what was found stays, whatever becomes of it; answers and notes; whoever changes a row is found out."""

from __future__ import annotations

import itertools
import json
import shutil
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import delete as deletion
from sqlalchemy import insert, select, text

from perflog.cases.build import build_cases
from perflog.errors import PerflogError, UsageError
from perflog.extraction import Extraction
from perflog.history import acknowledge, campaigns, check, delete, events, look, note, regressions, save, schema, site
from perflog.history.changed_cases import document, render_regressions
from perflog.history.commits import Code
from perflog.history.database import writing
from perflog.history.level_changes import Regressions, State
from perflog.runs.machine import Machine
from tests import postgresql
from tests.extractions import campaign
from tests.history.test_level_changes import BEGIN
from tests.test_hostile_text import perflog

#: Numbers of the copies in PostgreSQL.
_COPIES = itertools.count(1)


def keep(
    database: str, days: range, factor: float, cases: int = 2, gpu: str = "V100", commit: str | None = None
) -> None:
    """A campaign a day of models whose first runs at a share of its speed."""
    for day in days:
        made = campaign(cases, 5, day, f"2.{day}")
        for run in made.runs:
            rate = run.metrics["throughput"]
            assert rate.value is not None
            if run.metadata.values.get("model") == "rn50":
                run.metrics["throughput"] = replace(rate, value=rate.value * factor)
            run.machine = Machine("machine.json", {"gpu": {"name": gpu}})
        cases_of = build_cases(made.runs, made.options)
        save(
            database, Extraction(cases_of, [], made.options), f"d{day}", BEGIN + timedelta(days=day), code=Code(commit)
        )


@pytest.fixture(scope="module")
def fallen_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve days as they were, then seven that are 5 % slower."""
    file = tmp_path_factory.mktemp("fallen") / "h.sqlite"
    keep(str(file), range(12), 1.0)
    keep(str(file), range(12, 19), 0.95)
    return file


@pytest.fixture
def fallen(fallen_file: Path, tmp_path: Path) -> str:
    """A copy of it."""
    return str(shutil.copy(fallen_file, tmp_path / "h.sqlite"))


@pytest.fixture(scope="module")
def fallen_server(postgresql_server: str) -> str:
    """The same as a database of PostgreSQL, to be copied: its server."""
    database = postgresql.create(postgresql_server, "fallen")
    keep(database, range(12), 1.0)
    keep(database, range(12, 19), 0.95)
    return postgresql_server


@pytest.fixture(params=["sqlite", "postgresql"])
def fallen_anywhere(request: pytest.FixtureRequest) -> str:
    """A copy in SQLite and in PostgreSQL."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("fallen"))
    return postgresql.create(request.getfixturevalue("fallen_server"), f"fallen{next(_COPIES)}", "fallen")


def told(database: str) -> list[tuple[str, str]]:
    return [(event.kind.value, event.campaign) for event in events(database)]


def states(found: Regressions) -> list[State]:
    return [change.state for change in found.changes]


def test_a_fall_is_found_acknowledged_made_good_and_still_listed(fallen_anywhere: str) -> None:
    found = look(fallen_anywhere)
    assert states(found) == [State.WORSE] and found.gate().status == 1
    assert told(fallen_anywhere) == [("found", "d12")]
    (kept,) = events(fallen_anywhere)
    assert kept.facts["ratio"] == pytest.approx(0.95, abs=0.01) and kept.facts["seen_at"] in ("d14", "d15", "d16")
    look(fallen_anywhere)
    assert told(fallen_anywhere) == [("found", "d12")], "the same look again adds nothing"
    acknowledge(fallen_anywhere, "d12", "the driver, ticket 4711", "Ada")
    found = look(fallen_anywhere)
    assert states(found) == [State.ACKNOWLEDGED] and found.gate().status == 0
    assert "1 of 2 cases worse, which was acknowledged" in found.gate().sentence
    assert "the driver, ticket 4711 (acknowledged by Ada, " in render_regressions(found, "table")
    keep(fallen_anywhere, range(19, 30), 1.0)
    found = look(fallen_anywhere)
    assert [change.state for change in found.changes if change.is_worse] == [State.MADE_GOOD]
    assert sorted(told(fallen_anywhere)) == [
        ("acknowledged", "d12"),
        ("became", "d29"),
        ("found", "d12"),
        ("found", "d19"),
    ]
    listed = [change["state"] for change in document(found)["changes"]]
    assert sorted(listed) == ["better", "made good since"]


def test_what_was_found_is_told_when_its_campaigns_are_gone(fallen: str) -> None:
    look(fallen)
    for day in range(12, 19):
        delete(fallen, f"d{day}")
    found = look(fallen)
    assert not found.changes and [event.campaign for event in found.gone] == ["d12"]
    assert "at d12: −5." in render_regressions(found, "table") or "at d12: −4." in render_regressions(found, "table")
    assert document(found)["gone"][0]["facts"]["ratio"] == pytest.approx(0.95, abs=0.01)
    assert told(fallen) == [("found", "d12")], "no campaign's end takes an event away"


def test_a_new_part_is_kept_once(tmp_path: Path) -> None:
    database = str(tmp_path / "h.sqlite")
    keep(database, range(11), 1.0)
    keep(database, range(11, 14), 0.9, gpu="A100")
    for _ in range(2):
        look(database)
    assert told(database) == [("new part", "d11")]
    assert dict(events(database)[0].facts["cases"])  # both cases with their steps


def test_only_a_change_for_the_worse_can_be_acknowledged(fallen: str) -> None:
    with pytest.raises(UsageError, match=r"no case got worse at 'd3' by more than 2 %; cases got worse at d12"):
        acknowledge(fallen, "d3", "why not", "Ada")
    with pytest.raises(UsageError, match="--by ' ': expected a line"):
        acknowledge(fallen, "d12", "why not", " ")
    assert told(fallen) == [("found", "d12")]


def test_notes_are_shown_where_they_belong(fallen: str) -> None:
    note(fallen, "d4", "a new rack", "Bo")
    note(fallen, "d5", "its own cable", "Bo", {"model": "rn50"})
    with pytest.raises(UsageError, match="no campaign 'd99'"):
        note(fallen, "d99", "nothing", "Bo")
    of_case = regressions(fallen, wanted={"model": "rn50"}).notes
    of_other = regressions(fallen, wanted={"model": "bert-base"}).notes
    assert [event.text for event in of_case] == ["a new rack", "its own cable"]
    assert [event.text for event in of_other] == ["a new rack"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE perflog_event SET text = 'nothing' WHERE number = 1",
        "UPDATE perflog_event SET facts = '{}' WHERE number = 1",
        "DELETE FROM perflog_event WHERE number = 1",
        "UPDATE perflog_event SET kind = 'rumour' WHERE number = 2",
        "UPDATE perflog_event SET author = 'Eve' WHERE number = 2",
    ],
)
def test_a_row_that_was_changed_or_taken_out_is_an_error(fallen: str, statement: str) -> None:
    acknowledge(fallen, "d12", "the driver", "Ada")
    assert check(fallen).faults == ()
    with writing(fallen) as connection:
        connection.execute(text(statement))
    with pytest.raises(PerflogError, match="damaged: the ledger, perflog_event"):
        events(fallen)
    with pytest.raises(PerflogError, match="damaged: the ledger"):
        regressions(fallen)
    (fault,) = check(fallen).faults
    assert fault.startswith("the ledger, perflog_event, row ")
    assert len(campaigns(fallen)) == 19, "the campaigns are read all the same"


def test_a_row_of_another_ledger_is_an_error(tmp_path: Path) -> None:
    """It is as it was written, and has its number: what tells is the hash of the row before."""
    own, other = (str(tmp_path / name) for name in ("own.sqlite", "other.sqlite"))
    for database, first in ((own, "a rack"), (other, "another rack")):
        keep(database, range(3), 1.0)
        note(database, "d1", first, "Bo")
        note(database, "d2", "a cable", "Bo")
    with writing(other) as connection:
        row = dict(connection.execute(select(schema.event).where(schema.event.c.number == 2)).mappings().one())
    with writing(own) as connection:
        connection.execute(deletion(schema.event).where(schema.event.c.number == 2))
        connection.execute(insert(schema.event), [row])
    with pytest.raises(PerflogError, match="row 2: it is not as it was written, or one before it was taken away"):
        events(own)


def test_two_looks_at_once_keep_each_change_once(fallen_anywhere: str) -> None:
    together, errors = threading.Barrier(4), []

    def one() -> None:
        together.wait()
        try:
            look(fallen_anywhere)
        except PerflogError as error:
            errors.append(error)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and told(fallen_anywhere) == [("found", "d12")]


def test_check_names_a_campaign_that_is_not_as_it_was_saved(fallen_anywhere: str) -> None:
    with writing(fallen_anywhere) as connection:
        connection.execute(text("UPDATE perflog_metric SET value = 2 * value WHERE campaign = 3 AND run_number = 1"))
    (fault,) = check(fallen_anywhere).faults
    assert fault.startswith("campaign 'd2': its rows are not those that were saved")


def test_the_commands(fallen: str) -> None:
    def said(*words: str) -> tuple[int, str]:
        status, out, _ = perflog(["history", *words, "--database", fallen])
        return status, out

    assert said("--regressions", "--gate")[0] == 1
    status, out = said("ack", "d12", "the driver", "--by", "Ada", "--case", "model=rn50")
    assert status == 0 and out.startswith("acknowledged: ")
    assert said("--regressions", "--gate")[0] == 0
    assert said("note", "d3", "a rack", "--by", "Bo") == (0, "noted: d3\n")
    ledger = json.loads(said("events", "-f", "json")[1])
    assert [event["kind"] for event in ledger["events"]] == ["found", "acknowledged", "note"]
    assert [event["author"] for event in ledger["events"]] == [None, "Ada", "Bo"]
    assert said("check") == (0, "19 campaigns, 3 events: all as it was written\n")


def test_who_may_only_read_sees_what_changed(fallen: str) -> None:
    """Nothing is kept, and that is said; the numbers are the same."""
    with writing(fallen) as connection:
        connection.execute(
            text("CREATE TRIGGER no BEFORE INSERT ON perflog_event BEGIN SELECT RAISE(ABORT, 'readers only'); END")
        )
    status, out, errors = perflog(["history", "--database", fallen, "--regressions", "--gate"])
    assert status == 1 and "got worse" in out
    assert "perflog: not kept in the ledger: " in errors and "readers only" in errors
    assert events(fallen) == []


def test_the_site_shows_notes_and_answers_as_text(fallen: str, tmp_path: Path) -> None:
    """What people say is text, whatever it looks like."""
    look(fallen)
    note(fallen, "d4", "<script>alert(1)</script> a rack", "B<o>")
    note(fallen, "d5", "its own cable", "Bo", {"model": "rn50"})
    acknowledge(fallen, "d12", "the <b>driver</b>", "Ada")
    pages = {name: data.decode() for name, data in site(fallen, tmp_path / "site").files.items()}
    cases = {name: page for name, page in pages.items() if name.startswith("cases/")}
    (of_rn50,) = [page for page in cases.values() if "its own cable" in page]
    assert len(cases) == 2 and "the &lt;b&gt;driver&lt;/b&gt; (Ada, " in of_rn50
    for page in (pages["index.html"], *cases.values()):
        assert "&lt;script&gt;alert(1)&lt;/script&gt; a rack (B&lt;o&gt;, " in page
        assert "<script>alert" not in page and "<b>driver" not in page
    assert "worse, acknowledged" in pages["index.html"]
