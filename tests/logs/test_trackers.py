"""What MLflow, TensorBoard and W&B wrote of one loop (``tests/tools/real_trackers.py``), which a clock of ours measured."""

from __future__ import annotations

import csv
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from perflog.logs.containers import blocks_of
from perflog.logs.find import find_logs
from perflog.logs.loggers import _fields
from tests.logs.test_containers import tarred
from tests.support import extracted

FOLDER = Path(__file__).parent / "trackers"
CLOCK = json.loads((FOLDER / "clock.json").read_text())
STEPS_PER_SECOND = (len(CLOCK["ends"]) - 20) / (CLOCK["ends"][-1] - CLOCK["ends"][19])
(RUN,) = (FOLDER / "mlruns").iterdir()


@pytest.mark.parametrize("log", [RUN / "metrics/train/loss", FOLDER / "tensorboard"], ids=["mlflow", "tensorboard"])
def test_the_moments_at_which_a_loss_was_logged_tell_the_steps(log: Path) -> None:
    (run,) = extracted(log).runs
    assert run.throughput.unit == "steps/s"
    assert run.throughput.value == pytest.approx(STEPS_PER_SECOND, rel=0.01)


def test_of_a_metric_that_is_a_rate_or_a_time_its_numbers_count(tmp_path: Path) -> None:
    """They are the clock's tokens per second, or its steps, or none: never the steps in place of the tokens printed."""
    shutil.copytree(RUN / "metrics/perf", tmp_path / "metrics")
    rates = {"steps/s": STEPS_PER_SECOND, "tokens/s": STEPS_PER_SECOND * CLOCK["tokens_per_step"]}
    for run in extracted(tmp_path).runs:
        assert run.throughput.value is None or run.throughput.value == pytest.approx(
            rates[run.throughput.unit], rel=0.01
        )
        assert run.throughput.value is None or run.log.path.endswith("step_time") or run.throughput.unit == "tokens/s"


def test_samples_of_the_systems_monitor_are_no_steps() -> None:
    """MLflow took one each second, with a step of its own: 1 step/s was read of each of these files."""
    extraction = extracted(RUN / "metrics/system")
    assert extraction.runs == []
    assert len(extraction.skipped) == 8
    assert {left_out.reason.split(" (")[0] for left_out in extraction.skipped} == {"no line of a known format"}


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (f"{'0a' * 16}/metrics/perf/tokens_per_sec", "mlflow time_ms=1777889472123 perf/tokens_per_sec=7.5 step=10\n"),
        (f"metrics/{'0a' * 16}/metrics/metrics/mAP 50", "mlflow time_ms=1777889472123 metrics/mAP_50=7.5 step=10\n"),
        ("metrics/loss", "mlflow time_ms=1777889472123 loss=7.5 step=10\n"),
        (f"{'0a' * 16}/metrics/a=b", "mlflow time_ms=1777889472123 a_b=7.5 step=10\n"),
        (f"{'0a' * 16}/metrics/{'a' * 251}", "mlflow time_ms=1777889472123 value=7.5 step=10\n"),
        (f"{'0a' * 16}/metrics/system/gpu_0_power", "mlflow metric of the system, no step: system/gpu_0_power\n"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_metric_is_named_by_its_file(place: str, line: str, packed: bool, tmp_path: Path) -> None:
    if packed:
        (tmp_path / "runs.tar").write_bytes(tarred([(place, b"1777889472123 7.5 10\n")]))
    else:
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text("1777889472123 7.5 10\n")
    (log,) = find_logs([tmp_path])
    assert b"".join(load() for load in blocks_of(log)).decode() == line


def test_what_is_not_read_says_what_is() -> None:
    (left_out,) = extracted(FOLDER / "wandb").skipped
    assert left_out.reason == (
        "a W&B run file, which is not read: files/output.log beside it holds what the program printed, and a run's history "
        "exported as CSV or JSON lines is read (docs/ecosystem.md)"
    )
    assert not left_out.failed


def history_of_wandb() -> list[dict[str, Any]]:
    """The rows of the real run file, as ``wandb.Api().run(…).scan_history()`` gives them.

    The file is a log of LevelDB (blocks of 32 KiB; a record: checksum, length, kind) behind seven bytes, its records
    are messages of wandb_internal.proto: Record.history = 2, HistoryRecord.item = 1, its key = 1 or nested_key = 2,
    value_json = 16. Without the first two rows: the loop logs to MLflow first, which took a second to begin.
    """
    data, place, part, rows = (FOLDER / "wandb/run.wandb").read_bytes(), 7, b"", []
    while place + 7 <= len(data):
        if (left := 32768 - place % 32768) < 7:
            place += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        part += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            history = dict(_fields(part)).get(2)
            part = b""
            if isinstance(history, bytes):
                items: list[list[Any]] = [
                    list(_fields(item)) for number, item in _fields(history) if number == 1 and isinstance(item, bytes)
                ]
                rows.append(
                    {
                        b"/".join(v for n, v in item if n in (1, 2)).decode(): json.loads(dict(item)[16])
                        for item in items
                    }
                )
    return rows[2:]


#: What a run's history has of a loop that logs its loss alone, its rate too, or its time too.
_LOGGED = {
    "loss": ["train/loss"],
    "rate": ["train/loss", "perf/tokens_per_sec"],
    "time": ["train/loss", "perf/step_time"],
}


@pytest.mark.parametrize("form", ["jsonl", "csv", "csv of pandas"])
@pytest.mark.parametrize("logged", _LOGGED)
def test_an_exported_history_of_wandb_is_read(form: str, logged: str, tmp_path: Path) -> None:
    names = ["_step", "_runtime", "_timestamp", *_LOGGED[logged]]
    rows = [{name: row[name] for name in names} for row in history_of_wandb()]
    assert len(rows) == 38
    log = tmp_path / f"history.{form[:5].strip(' o')}"
    with log.open("w", newline="") as file:
        if form == "jsonl":
            file.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            index = [""] if form != "csv" else []
            table = csv.writer(file)
            table.writerow([*index, *names])
            table.writerows([*([number] if index else []), *row.values()] for number, row in enumerate(rows))
    (run,) = extracted(log).runs
    expected = STEPS_PER_SECOND * (CLOCK["tokens_per_step"] if logged == "rate" else 1)
    assert run.throughput.value == pytest.approx(expected, rel=0.005)
    assert run.throughput.unit == ("tokens/s" if logged == "rate" else "steps/s")


def test_a_chart_of_wandb_as_csv_is_read(tmp_path: Path) -> None:
    """The page of a chart exports a step, and three columns for each run: the value, its least and its most."""
    name = "curious-river-1 - perf/tokens_per_sec"
    with (tmp_path / "chart.csv").open("w", newline="") as file:
        table = csv.writer(file, quoting=csv.QUOTE_ALL)
        table.writerow(["Step", name, f"{name}__MIN", f"{name}__MAX"])
        table.writerows([row["_step"], *[row["perf/tokens_per_sec"]] * 3] for row in history_of_wandb())
    (run,) = extracted(tmp_path / "chart.csv").runs
    assert run.throughput.value == pytest.approx(STEPS_PER_SECOND * CLOCK["tokens_per_step"], rel=0.005)
