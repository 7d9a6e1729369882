"""MLflow's database and ClearML's offline session: runs of known steps per second, and databases that are hostile or
damaged. What a run gives is the truth, or nothing with a reason.
"""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
import zipfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from perflog.extraction import Extraction
from perflog.logs.containers import blocks_of
from perflog.logs.find import find_logs
from tests.logs.test_trackers import CLOCK, FOLDER, RUN, STEPS_PER_SECOND
from tests.support import extracted

#: The tables that are read, as MLflow 3.17 makes them: `sqlite3 mlflow.db '.schema metrics'`, and so on.
SCHEMA = """
CREATE TABLE "runs" (
    run_uuid VARCHAR(32) NOT NULL, name VARCHAR(250), source_type VARCHAR(20), source_name VARCHAR(500),
    entry_point_name VARCHAR(50), user_id VARCHAR(256), status VARCHAR(9), start_time BIGINT, end_time BIGINT,
    source_version VARCHAR(50), lifecycle_stage VARCHAR(20), artifact_uri VARCHAR(200), experiment_id INTEGER,
    deleted_time BIGINT, CONSTRAINT run_pk PRIMARY KEY (run_uuid),
    CONSTRAINT runs_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted'))
);
CREATE TABLE "metrics" (
    "key" VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT NOT NULL, run_uuid VARCHAR(32) NOT NULL,
    step BIGINT DEFAULT '0' NOT NULL, is_nan BOOLEAN DEFAULT '0' NOT NULL,
    CONSTRAINT metric_pk PRIMARY KEY ("key", timestamp, step, run_uuid, value, is_nan), CHECK (is_nan IN (0, 1))
);
CREATE INDEX index_metrics_run_uuid ON metrics (run_uuid);
CREATE INDEX index_metrics_run_uuid_key_step ON metrics (run_uuid, "key", step);
CREATE TABLE "experiments" (
    experiment_id INTEGER NOT NULL, name VARCHAR(256) NOT NULL, artifact_location VARCHAR(256),
    lifecycle_stage VARCHAR(32), creation_time BIGINT, last_update_time BIGINT, workspace VARCHAR(63),
    CONSTRAINT experiment_pk PRIMARY KEY (experiment_id)
);
INSERT INTO experiments (experiment_id, name) VALUES (1, 'loop');
"""
#: A metric's name, its value, seconds since 1970, the step.
Point = tuple[str, float, float, int]


def database(path: Path, *runs: Iterable[Point], then: str = "") -> Path:
    """A database of runs ``run-0``, ``run-1`` …; ``then``: statements that are executed last."""
    with closing(sqlite3.connect(path)) as made:
        made.executescript(SCHEMA)
        for number, points in enumerate(runs):
            run = f"{number:032x}"
            made.execute(
                "INSERT INTO runs (run_uuid, name, lifecycle_stage, start_time, experiment_id) VALUES (?, ?, ?, ?, 1)",
                (run, f"run-{number}", "active", number),
            )
            rows = ((key, value, int(moment * 1000), run, step) for key, value, moment, step in points)
            made.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, 0)", rows)
        made.commit()
        made.executescript(then)
    return path


def stored_points() -> list[Point]:
    """What the real MLflow kept of the loop, metrics of the system too."""
    return [
        (file.relative_to(RUN / "metrics").as_posix(), float(value), int(moment) / 1000, int(step))
        for file in sorted((RUN / "metrics").rglob("*"))
        if file.is_file()
        for moment, value, step in map(str.split, file.read_text().splitlines())
    ]


def read(path: Path) -> Extraction:
    """What is read of a database, which stays as it was, with nothing beside it."""
    folder, content = sorted(path.parent.iterdir()), path.read_bytes()
    extraction = extracted(path)
    assert (folder, content) == (sorted(path.parent.iterdir()), path.read_bytes())
    return extraction


def test_a_run_of_the_real_loop(tmp_path: Path) -> None:
    (run,) = read(database(tmp_path / "mlflow.db", stored_points())).runs
    assert run.log.member == "loop/run-0"
    assert run.throughput.unit == "tokens/s"
    assert run.throughput.value == pytest.approx(STEPS_PER_SECOND * CLOCK["tokens_per_step"], rel=0.005)


@pytest.mark.filterwarnings("ignore")  # of MLflow about its own libraries
def test_what_the_real_mlflow_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="pip install mlflow-skinny sqlalchemy alembic")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.set_experiment("loop")
    with mlflow.start_run(run_name="made") as begun:
        points = [mlflow.entities.Metric(*point) for point in _in_milliseconds(stored_points())]
        mlflow.MlflowClient().log_batch(begun.info.run_id, points)
    (run,) = read(tmp_path / "mlflow.db").runs
    assert run.log.member == "loop/made"
    assert run.throughput.value == pytest.approx(STEPS_PER_SECOND * CLOCK["tokens_per_step"], rel=0.005)
    with (
        closing(sqlite3.connect(tmp_path / "mlflow.db")) as real,
        closing(sqlite3.connect(database(tmp_path / "own.db"))) as own,
    ):
        for table in ("runs", "metrics", "experiments"):
            shape = f"SELECT name, type FROM pragma_table_info('{table}')"
            assert real.execute(shape).fetchall() == own.execute(shape).fetchall()


def _in_milliseconds(points: Iterable[Point]) -> Iterable[tuple[str, float, int, int]]:
    return ((key, value, int(moment * 1000), step) for key, value, moment, step in points)


#: Between the calls of one step, seconds; each so many steps an evaluation (0: never); the step that it is logged at.
LOOPS: dict[str, dict[str, Any]] = {
    "one call": {},
    "a call for each metric": {"apart": 0.008},
    "the first row holds less": {"is_first_less": True},
    "an evaluation at its step": {"evaluated": 50, "apart": 0.008},
    "an evaluation at its epoch": {"evaluated": 50, "by_epoch": True},
    "an evaluation after each line": {"evaluated": 10},
    "a loss alone": {"names": ("loss",), "evaluated": 50},
    "a metric called step": {"names": ("step", "loss", "tokens_per_sec")},
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("seed", range(3))
def test_a_loop_has_its_steps_per_second_or_none(name: str, seed: int, tmp_path: Path) -> None:
    points, truth = loop(seed, **LOOPS[name])
    extraction = read(database(tmp_path / "mlflow.db", points))
    if name == "an evaluation after each line":
        assert extraction.runs == []
        assert extraction.skipped[0].reason == "an evaluation or the like stands between any two of its lines"
        return
    (run,) = extraction.runs
    assert run.throughput.unit == ("steps/s" if name == "a loss alone" else "tokens/s")
    per_step = 1 if name == "a loss alone" else 4096
    assert run.throughput.value == pytest.approx(truth * per_step, rel=0.02)  # of steps that a note leaves out


def loop(
    seed: int,
    names: tuple[str, ...] = ("loss", "tokens_per_sec"),
    apart: float = 0.0,
    is_first_less: bool = False,
    evaluated: int = 0,
    by_epoch: bool = False,
) -> tuple[list[Point], float]:
    """300 steps of 72 to 108 ms, each tenth logged; the points and the steps per second without evaluations of 2 s."""
    noise, now, begun, lasted = random.Random(seed), 1.79e9, 1.79e9, 0.0
    points: list[Point] = []
    for step in range(1, 301):
        took = noise.uniform(0.072, 0.108)
        now += took
        lasted += took if step > 20 else 0.0
        if step % 10 == 0:
            values = {"loss": 2 / step, "tokens_per_sec": 10 * 4096 / (now - begun), "step": 7.0}
            kept = names[:1] if is_first_less and step == 10 else names
            points += ((key, values[key], now + place * apart, step) for place, key in enumerate(kept))
            begun = now
        if evaluated and step % evaluated == 0:
            now += 2.0
            begun = now
            points.append(("eval_loss", noise.random(), now, step // evaluated if by_epoch else step))
    return points, 280 / lasted


def test_a_loss_that_is_no_number_ends_no_run(tmp_path: Path) -> None:
    points, truth = loop(0)
    diverged = "UPDATE metrics SET value = 0, is_nan = 1 WHERE key = 'loss' AND step > 150"
    (run,) = read(database(tmp_path / "mlflow.db", points, then=diverged)).runs
    assert run.throughput.value == pytest.approx(truth * 4096, rel=0.001)


def test_a_row_is_what_one_call_or_calls_at_once_logged(tmp_path: Path) -> None:
    """Points of one step: a call, one 8 ms later, the same again, another value, and a call 2 s later."""
    logged = [(0.0, "a", 1), (0.0, "b", 2), (0.008, "c", 3), (0.009, "c", 3), (0.02, "a", 4), (2.5, "d", 5)]
    points = [(name, value, 1.79e9 + later, 7) for later, name, value in logged]
    (log,) = find_logs([database(tmp_path / "mlflow.db", points)])
    rows = [json.loads(line) for load in blocks_of(log) for line in load().splitlines()]
    assert rows == [
        {"step": 7, "timestamp": 1.79e9, "a": 1, "b": 2, "c": 3},
        {"step": 7, "timestamp": 1.79e9 + 0.02, "a": 4},
        {"step": 7, "timestamp": 1.79e9 + 2.5, "d": 5},
    ]


def test_runs_of_one_name_and_runs_that_were_deleted(tmp_path: Path) -> None:
    then = "UPDATE runs SET name = 'a'; UPDATE runs SET lifecycle_stage = 'deleted' WHERE start_time = 1"
    points = [loop(seed)[0] for seed in range(3)]
    members = {run.log.member for run in read(database(tmp_path / "mlflow.db", *points, then=then)).runs}
    assert members == {"loop/a", "loop/a (2)"}


@pytest.mark.parametrize(
    "then",
    [
        "DELETE FROM metrics",
        "UPDATE runs SET lifecycle_stage = 'deleted'",
        "UPDATE metrics SET key = 'system/' || key",
        "DROP TABLE experiments",
        # a view is no table: this one would never end
        "DROP TABLE metrics; CREATE VIEW metrics AS WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) "
        "SELECT 'loss' AS key, n AS value, n AS timestamp, (SELECT run_uuid FROM runs) AS run_uuid, n AS step, 0 AS "
        "is_nan FROM x",
    ],
)
def test_a_database_without_runs_is_no_log(then: str, tmp_path: Path) -> None:
    (left_out,) = read(database(tmp_path / "mlflow.db", loop(0)[0], then=then)).skipped
    assert left_out.reason.startswith("an SQLite database, not a training log")
    assert not left_out.failed


def _smashed(path: Path) -> None:
    content, noise = bytearray(path.read_bytes()), random.Random(1)
    for _ in range(500):
        content[noise.randrange(4096, len(content))] = noise.randrange(256)
    path.write_bytes(content)


def _crossed(path: Path) -> None:
    """Have all branches of the metrics' tree lead to one page, so that its rows are those of the others too."""
    with closing(sqlite3.connect(path)) as made:
        ((root,),) = made.execute("SELECT rootpage FROM sqlite_master WHERE name = 'metrics' AND type = 'table'")
        ((size,),) = made.execute("PRAGMA page_size")
    content, place = bytearray(path.read_bytes()), (root - 1) * size
    assert content[place] == 5  # a branch: cells of a page's number each, whose places stand behind 12 bytes
    count = int.from_bytes(content[place + 3 : place + 5], "big")
    for cell in range(count):
        at = place + int.from_bytes(content[place + 12 + 2 * cell : place + 14 + 2 * cell], "big")
        content[at : at + 4] = content[place + 8 : place + 12]
    path.write_bytes(content)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20_000])


def _cut_early(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _in_a_change(path: Path) -> None:
    """Leave what stands there when a program is killed amid a change: the pages half new, and the journal."""
    with closing(sqlite3.connect(path, isolation_level=None)) as changing:
        changing.execute("PRAGMA cache_size = 1")
        changing.execute("BEGIN")
        changing.execute("UPDATE metrics SET value = value * 2")
        journal = path.with_name(f"{path.name}-journal")
        held = {one: one.read_bytes() for one in (path, journal)}
    for one, content in held.items():
        one.write_bytes(content)


@pytest.mark.parametrize("harm", [_smashed, _crossed, _cut, _cut_early, _in_a_change])
def test_a_damaged_database_has_its_reason_and_stops_no_other(harm: Any, tmp_path: Path) -> None:
    points, truth = loop(0)
    harm(database(tmp_path / "mlflow.db", points, loop(1)[0], loop(2)[0]))
    (tmp_path / "whole").mkdir()
    database(tmp_path / "whole/mlflow.db", points)
    (left_out,) = read(tmp_path / "mlflow.db").skipped
    assert left_out.reason.startswith("the SQLite database is damaged or in use, and not read: ")
    assert left_out.failed
    (run,) = extracted(tmp_path).runs
    assert run.throughput.value == pytest.approx(truth * 4096, rel=0.001)


def test_a_write_ahead_log_is_part_of_a_database(tmp_path: Path) -> None:
    """SQLite makes two files beside such a database, even to read it, unless its log is left out."""
    path = database(tmp_path / "mlflow.db", loop(0)[0], then="PRAGMA journal_mode = wal")
    assert len(read(path).runs) == 1
    with closing(sqlite3.connect(path)) as writing:
        writing.execute("DELETE FROM metrics WHERE step > 200")
        writing.commit()
        (left_out,) = read(path).skipped
    assert left_out.reason.endswith("its newest rows stand in 'mlflow.db-wal' beside it")


SESSION = FOLDER / "clearml/metrics.jsonl.gz"


@pytest.mark.parametrize("packed", [False, True])
def test_an_offline_session_of_clearml(packed: bool, tmp_path: Path) -> None:
    """TensorBoard's scalars reached it too, so that it holds each of them twice, one in single precision."""
    log = tmp_path / ("session.zip" if packed else "metrics.jsonl")
    content = gzip.decompress(SESSION.read_bytes())
    if packed:
        with zipfile.ZipFile(log, "w") as archive:
            archive.writestr("metrics.jsonl", content)
    else:
        log.write_bytes(content)
    (run,) = extracted(log).runs
    assert run.throughput.unit == "tokens/s"
    assert run.throughput.value == pytest.approx(STEPS_PER_SECOND * CLOCK["tokens_per_step"], rel=0.001)


def test_a_session_that_is_cut_short_has_what_stands_before(tmp_path: Path) -> None:
    content = gzip.decompress(SESSION.read_bytes())
    (tmp_path / "metrics.jsonl").write_bytes(content[: len(content) * 3 // 4])
    (run,) = extracted(tmp_path).runs
    assert run.throughput.value == pytest.approx(STEPS_PER_SECOND * CLOCK["tokens_per_step"], rel=0.03)
    assert any("damaged or cut short" in str(note) for note in run.notes)
