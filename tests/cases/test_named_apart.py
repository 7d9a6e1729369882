"""Logs that say the same model below names that say different ones are no repeats of one case."""

from __future__ import annotations

from pathlib import Path

from perflog.notes import texts
from tests.support import FIXTURES, extracted

LOGS = FIXTURES / "campaign/releases/2.13.0/pytorch/cnn/bz16/1n1g"


def written(folder: Path, *models: str) -> None:
    """Two logs of each model's name, all of which say ``=> creating model 'cnn'``."""
    logs = iter(range(1, 6))
    for model in models:
        (folder / model).mkdir()
        for repeat in (1, 2):
            log = (LOGS / f"cnn_b16_fp32_{next(logs)}.log").read_bytes()
            (folder / model / f"{model}_b16_fp32_{repeat}.log").write_bytes(log)


def test_two_models_by_their_names_are_two_cases(tmp_path: Path) -> None:
    written(tmp_path, "rn50", "bert")
    cases = {case.label.rpartition("/")[2]: case for case in extracted(tmp_path).cases}
    assert {label: len(case.runs) for label, case in cases.items()} == {"rn50": 2, "bert": 2}
    assert {case.key["model"] for case in cases.values()} == {"cnn"}
    assert "model is cnn by the log, bert by the path" in texts(cases["bert"].runs[0].notes)


def test_a_short_name_beside_the_logs_own_is_no_second_model(tmp_path: Path) -> None:
    written(tmp_path, "rn50")
    (case,) = extracted(tmp_path).cases
    assert len(case.runs) == 2
    assert not case.label.endswith("rn50")
    assert not [note for run in case.runs for note in texts(run.notes) if "by the path" in note]
