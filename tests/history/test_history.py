"""The history on SQLite and on PostgreSQL: what goes in comes out, once, whole, and errors are plain."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fixtures.generate_history import everything
from perflog.cases.build import build_cases
from perflog.errors import PerflogError, UsageError
from perflog.evidence.witness import Verdict, Witness
from perflog.extraction import Extraction
from perflog.history import schema
from perflog.history.database import options_of, reading, writing
from perflog.history.place import url_of
from perflog.history.saving import campaigns, delete, load, save
from perflog.notes import Note
from perflog.runs.run import Metric, Run
from perflog.settings.options import Amount, Options, Window
from tests.extractions import campaign
from tests.support import FIXTURES, extracted

ONE = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128/1n8g"


def rows(database: str) -> dict[str, int]:
    """How many rows every table has."""
    from sqlalchemy import func, select

    with reading(database) as connection:
        if connection is None:
            return {}
        return {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in schema.METADATA.sorted_tables
        }


def test_fixtures_are_as_generated() -> None:
    assert [name for name, text in everything() if (FIXTURES / name).read_text(encoding="utf-8") != text] == []


# ---------------------------------------------------------------- in and out


@pytest.mark.parametrize("place", ["seed000", "seed001", "seed002", "seed004", "parsers", "history"])
@pytest.mark.long
def test_what_is_saved_is_loaded(database: str, place: str) -> None:
    """Cases, notes, metadata, metrics, skipped files and options, with runs that have no value among them."""
    extraction = extracted(FIXTURES / place, warmup=30, set={"site": "a"}, baseline={"devices": "1"})
    save(database, extraction, "v1")
    loaded = load(database, "v1").extraction
    assert loaded == extraction
    assert [run.evidence for run in loaded.runs] == [run.evidence for run in extraction.runs]  # not part of ==
    assert [c.base.name if c.base else None for c in loaded.cases] == [
        c.base.name if c.base else None for c in extraction.cases
    ]


def test_a_convention_comes_back(database: str) -> None:
    extraction = extracted(
        FIXTURES / "parsers/paddleclas/static.log", set={"devices": "8"}, convention="paddle-perf-paddleclas-2023"
    )
    save(database, extraction, "v1")
    assert load(database, "v1").extraction.options == extraction.options
    assert load(database, "v1").extraction == extraction


def test_every_field_comes_back() -> None:
    """A field that a class gains is stored with it, without a column of its own."""
    run = campaign(1, 1).runs[0]
    row = schema.records_of(Extraction(build_cases([run], Options()), [], Options())).parts[2][0]
    assert {f.name for f in fields(Run)} == schema._RUN | set(row["more"])
    assert {f.name for f in fields(Metric)} == set(schema._METRIC) | {"rounding", "definition"}
    other = Options(
        Window(Amount(2, "epochs"), Amount(7, "records"), Amount(5)),
        "last",
        "olympic",
        {"a": "b"},
        {"c": "d"},
        {"e": "f"},
        True,
        "mlperf",
        "%.2f",
        {"rn50": "resnet50"},
        True,
        True,
        ("step=iter",),
        True,
    )
    assert all(getattr(other, f.name) != getattr(Options(), f.name) for f in fields(Options))
    assert options_of(json.loads(json.dumps(schema.options_to(other))), "these") == other
    assert options_of({"window": {"warmup": {"number": 3, "unit": "steps"}}, "later": 1}, "these") == Options(
        Window(Amount(3))
    )


@pytest.mark.parametrize("rounding", [None, (3.5, 4.5), (0.5, math.inf)])
def test_evidence_and_rounding_come_back(database: str, rounding: tuple[float, float] | None) -> None:
    """With every field of a witness at a value of its own, and a bound that JSON cannot hold."""
    clock = Witness("the clock of the lines", "throughput", "s", 0.25, 0.5, "contradicts", (3, 9), "half of the time")
    total = Witness("the program's own summary", "time of the run", "s", 9.0, 9.1, "agrees", (12, 12))
    verdict = Verdict((clock, total), "it contradicts itself", ("a doubt", "another"), ("a remark",))
    run = campaign(1, 1).runs[0]
    metrics = {**run.metrics, "throughput": replace(run.throughput, rounding=rounding)}
    extraction = Extraction(build_cases([replace(run, evidence=verdict, metrics=metrics)], Options()), [], Options())
    save(database, extraction, "v1")
    (loaded,) = load(database, "v1").extraction.runs
    assert (loaded.evidence, loaded.throughput) == (verdict, metrics["throughput"])


ODD = st.text(st.characters(codec=None, exclude_categories=()), max_size=12)


@settings(max_examples=25, deadline=None)
@example(text="", number=0, value=-0.0)
@given(text=ODD, number=st.integers(0, 10**25), value=st.floats(allow_nan=False))
@pytest.mark.long
def test_odd_texts_and_numbers_come_back(
    tmp_path_factory: pytest.TempPathFactory, text: str, number: int, value: float
) -> None:
    database = str(tmp_path_factory.mktemp("odd") / "h.sqlite")
    extraction = odd(text, number, value)
    save(database, extraction, "v1")
    assert load(database, "v1").extraction.runs == extraction.runs


def odd(text: str, number: int, value: float) -> Extraction:
    run = campaign(1, 1).runs[0]
    run.label = text
    run.metadata.values |= {"model": text, "batch_size": number, "other": text}
    run.log = replace(run.log, path=f"logs/{text.replace(chr(0), '')}")
    run.notes = [Note(text), Note.of_number(text, value=100.0, other=112.0, label="by hand", undecided=True)]
    run.metrics["throughput"].value = value
    return Extraction(build_cases([run], Options()), [], Options())


@pytest.mark.parametrize("text", ["a\0b", "caf\udce9", "json:x", "\N{SNOWMAN}'\";--"])
def test_what_no_database_holds_comes_back(database: str, text: str) -> None:
    extraction = odd(text, 2**70, math.inf)
    save(database, extraction, "v1")
    assert load(database, "v1").extraction.runs == extraction.runs


def test_a_value_that_is_no_number_has_a_reason(database: str) -> None:
    save(database, odd("x", 1, math.nan), "v1")
    metric = load(database, "v1").extraction.runs[0].throughput
    assert (metric.value, metric.reason) == (None, "not a number")


def test_machine_facts_come_with_the_runs(database: str) -> None:
    save(database, extracted(FIXTURES / "history/2026-02"), "v1")
    machine = load(database, "v1").extraction.runs[0].machine
    assert machine is not None
    assert machine.facts["driver"] == "470.57.02"
    assert rows(database)["perflog_machine"] == 1
    save(database, campaign(), "none")
    assert load(database, "none").extraction.runs[0].machine is None


# ---------------------------------------------------------------- once


def test_the_same_campaign_again_changes_nothing(database: str) -> None:
    first = save(database, campaign(), "v1")
    before = rows(database)
    second = save(database, campaign(), "v1")
    assert (first.done, second.done, second.date) == ("saved", "already saved", first.date)
    assert rows(database) == before
    assert before["perflog_metric"] == 3 * before["perflog_run"] == 60


def test_the_same_logs_elsewhere_are_the_same_campaign(tmp_path: Path, database: str) -> None:
    import shutil

    shutil.copytree(ONE, tmp_path / "a/work/1n8g")
    shutil.copytree(ONE, tmp_path / "b/other/1n8g")
    (tmp_path / "b/other/notes.txt").write_text("nothing\n")
    assert save(database, extracted(tmp_path / "a/work"), "v1").done == "saved"
    assert save(database, extracted(tmp_path / "b/other"), "v1").done == "already saved"


def test_a_label_has_one_campaign_and_a_campaign_one_label(database: str) -> None:
    save(database, campaign(seed=1), "v1")
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    with pytest.raises(UsageError, match=f"'v1' was saved on {day} with other results: --replace"):
        save(database, campaign(seed=2), "v1")
    with pytest.raises(UsageError, match=f"already saved as 'v1', on {day}"):
        save(database, campaign(seed=1), "v2")
    assert load(database, "v1").extraction == campaign(seed=1)


def test_replacing_keeps_the_date_and_leaves_nothing_behind(database: str) -> None:
    date = datetime(2025, 1, 31, tzinfo=UTC)
    save(database, campaign(6), "v1", date)
    assert save(database, campaign(4, seed=2), "v1", replace=True).done == "replaced"
    assert load(database, "v1").extraction == campaign(4, seed=2)
    assert load(database, "v1").date == date
    assert rows(database)["perflog_run"] == 20
    with pytest.raises(UsageError, match="with the date 2025-01-31"):
        save(database, campaign(4, seed=2), "v1", datetime(2025, 2, 1, tzinfo=UTC))
    assert save(database, campaign(4, seed=2), "v1", datetime(2025, 2, 1, tzinfo=UTC), replace=True).done == "replaced"


def test_lists_and_deletes(database: str) -> None:
    assert campaigns(database) == []
    assert [c.label for c in campaigns(database)] == []
    with pytest.raises(UsageError, match=r"no campaign 'v1': no history in .* yet"):
        load(database, "v1")
    save(database, campaign(3, seed=1, version="2.6"), "v2.6", datetime(2025, 6, 1, tzinfo=UTC))
    save(database, campaign(2, seed=2, version="2.5"), "v2.5", datetime(2025, 5, 1, tzinfo=UTC))
    found = campaigns(database)
    assert [(e.label, e.cases, e.runs, e.frameworks) for e in found] == [
        ("v2.5", 2, 10, ("PyTorch 2.5",)),
        ("v2.6", 3, 15, ("PyTorch 2.6",)),
    ]
    assert [c.label for c in campaigns(database)] == ["v2.5", "v2.6"]
    with pytest.raises(UsageError, match=r"no campaign 'v2\.55' in .*; did you mean v2\.5 or v2\.6\?"):
        load(database, "v2.55")
    with pytest.raises(UsageError, match="did you mean"):
        delete(database, "v2")
    delete(database, "v2.5")
    delete(database, "v2.6")
    assert set(rows(database).values()) == {0}


@pytest.mark.parametrize("label", ["", " ", "-x", "a\nb", " v1", "x" * 201])
def test_labels_that_are_none(tmp_path: Path, label: str) -> None:
    with pytest.raises(UsageError, match="--label"):
        save(tmp_path / "h.sqlite", campaign(), label)


def test_nothing_is_no_campaign(tmp_path: Path) -> None:
    with pytest.raises(PerflogError, match="nothing is saved"):
        save(tmp_path / "h.sqlite", Extraction([], [], Options()), "v1")
    assert not (tmp_path / "h.sqlite").exists()


# ---------------------------------------------------------------- the schema and its version


def test_migrations_make_the_schema(database: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    save(database, campaign(), "v1")
    with reading(database) as connection:
        assert connection is not None
        context = MigrationContext.configure(
            connection, opts={"version_table": schema.version.name, "compare_type": True}
        )
        assert compare_metadata(context, schema.METADATA) == []
        assert context.get_current_revision() == schema.VERSION
    folder = Path(schema.__file__).parent / "migrations"
    assert ScriptDirectory(str(folder)).get_current_head() == schema.VERSION


def test_a_newer_schema_is_refused(database: str) -> None:
    from sqlalchemy import update

    save(database, campaign(), "v1")
    with writing(database) as connection:
        connection.execute(update(schema.version).values(version_num="0999"))
    for work in (lambda: load(database, "v1"), lambda: save(database, campaign(), "v2"), lambda: campaigns(database)):
        with pytest.raises(
            PerflogError, match=r"made by a newer perflog \(schema 0999, this perflog knows 0002\): upgrade perflog"
        ):
            work()


def test_a_step_that_fails_leaves_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are made in one transaction, on SQLite too."""
    from alembic import op
    from sqlalchemy import inspect

    real = op.create_index
    monkeypatch.setattr(op, "create_index", lambda *_: real("perflog_case_model", "no_such_table", ["x"]))
    with pytest.raises(PerflogError, match="no_such_table"):
        save(database, campaign(), "v1")
    monkeypatch.undo()
    save(database, campaign(), "v1")
    with reading(database) as connection:
        assert connection is not None
        assert len(inspect(connection).get_table_names()) == 7


# ---------------------------------------------------------------- wrong databases


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mysql://root@db/perf", "--database mysql://…: expected a file, or postgresql://user@host/name"),
        ("postgresql://user:pass@host:port/x", "the URL cannot be read"),
        ("sqlite://", "expected a file's name"),
        (" ", "--database is empty"),
    ],
)
def test_wrong_urls(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        url_of(text)


def test_files_that_are_no_history(tmp_path: Path) -> None:
    text = tmp_path / "notes.sqlite"
    text.write_text("these are notes, not a database\n" * 100)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    cases = [
        (text, "no SQLite database"),
        (tmp_path / "folder", "it is a folder"),
        (tmp_path / "file/x.sqlite", "file/x.sqlite: "),
    ]
    for place, message in cases:
        with pytest.raises(PerflogError, match=message):
            save(place, campaign(), "v1")
    with pytest.raises(PerflogError, match="no SQLite database"):
        load(text, "v1")
    assert text.read_text().startswith("these are notes")


def test_another_programs_database_is_no_history(tmp_path: Path) -> None:
    import sqlite3

    place = tmp_path / "other.sqlite"
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
    connection.close()
    with pytest.raises(UsageError, match="no history in"):
        load(place, "v1")
    save(place, campaign(), "v1")
    assert load(place, "v1").extraction == campaign()


def test_servers_that_are_not_there(postgresql_server: str) -> None:
    from tests import postgresql

    with pytest.raises(PerflogError, match=r"the history in postgresql://perflog@/nothing.*does not exist"):
        load(postgresql.url(postgresql_server, "nothing"), "v1")
    with pytest.raises(PerflogError, match="the history in postgresql://") as caught:
        load("postgresql://me:secret@127.0.0.1:1/x", "v1")
    assert "secret" not in str(caught.value)


def test_machine_files_that_are_none(tmp_path: Path) -> None:
    from perflog.runs.machine import Machines, known_facts

    for text in ("[1]", "{", '{"x": NaN}'):
        (tmp_path / "machine.json").write_text(text)
        with pytest.raises(UsageError, match=r"machine\.json: "):
            known_facts(Machines().of(str(tmp_path / "a.log")))
