"""The snippets of docs/ecosystem.md, run with the real libraries where they are installed."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tests.show.test_formats import RECORDS
from tests.support import ROOT

#: Warnings of the libraries about each other are not ours.
pytestmark = pytest.mark.filterwarnings("ignore")
SNIPPETS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/ecosystem.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the records of one run, in which the snippets run without a server."""
    RECORDS.head(2).write_ndjson(tmp_path / "records.jsonl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    return tmp_path


def run_snippet(library: str, place: Path) -> None:
    """Run the snippet that takes the records into a library."""
    (code,) = (snippet for snippet in SNIPPETS if f"import {library}\n" in snippet and "records.jsonl" in snippet)
    (place / "snippet.py").write_text(code)
    runpy.run_path(str(place / "snippet.py"))


def test_mlflow_takes_the_records(place: Path) -> None:
    mlflow = pytest.importorskip(
        "mlflow", reason="mlflow is not installed: pip install mlflow-skinny sqlalchemy alembic"
    )
    run_snippet("mlflow", place)
    (run,) = mlflow.search_runs(output_format="list")
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "rate")
    assert [(metric.step, metric.value) for metric in history] == [(10, 160.0), (20, 80.0)]


def test_wandb_takes_the_records(place: Path) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed: pip install wandb")
    run_snippet("wandb", place)
    (run,) = place.glob("wandb/offline-run-*/run-*.wandb")
    assert b"160" in run.read_bytes()
