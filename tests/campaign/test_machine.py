"""machine.json: what is on record, what is kept of an earlier one, and what other programs say or do not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from perflog.campaign import machine
from perflog.campaign.runner import load_runner
from perflog.errors import UsageError
from tests.campaign.test_campaign import RUNNER


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_gpus_are_what_nvidia_smi_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    program(tmp_path / "bin", "nvidia-smi", "echo 'H200, 1'; echo 'H200, 2'")
    assert machine.gpu_count() == 2
    assert machine.clocks()["gpus"] == ["H200, 1", "H200, 2"]
    program(tmp_path / "bin", "nvidia-smi", "echo 'no driver'; exit 9")
    assert machine.gpu_count() == 0
    assert "gpus" not in machine.clocks()


def test_a_runners_versions(tmp_path: Path) -> None:
    runner = load_runner(RUNNER)
    found = machine.framework(runner, sys.executable)
    assert found["framework"] == "NumPy"
    assert found["packages"]["numpy"]
    program(tmp_path, "python", "exit 1")
    assert machine.framework(runner, str(tmp_path / "python")) == {"framework": "NumPy"}
    assert machine.framework(runner, str(tmp_path / "none")) == {"framework": "NumPy"}
    program(tmp_path, "broken", "echo not json")
    assert machine.framework(runner, str(tmp_path / "broken")) == {"framework": "NumPy"}


def test_records_are_merged_and_machines_are_not(tmp_path: Path) -> None:
    here = {"cpu": "A", "cpus": 2, "gpus": [], "frameworks": {"one": 1}}
    machine.record(tmp_path, here)
    first = json.loads((tmp_path / "machine.json").read_text())
    machine.record(tmp_path, here | {"frameworks": {"two": 2}})
    machine.close(tmp_path)
    merged = json.loads((tmp_path / "machine.json").read_text())
    assert merged["frameworks"] == {"one": 1, "two": 2}
    assert merged["clocks"]["before"] == first["clocks"]["before"]
    assert "after" in merged["clocks"]
    with pytest.raises(UsageError, match=r"its logs are of another machine \(cpus: 2, here 4\)"):
        machine.record(tmp_path, here | {"cpus": 4})
    (tmp_path / "machine.json").write_text("{")
    with pytest.raises(UsageError, match="expected a JSON object"):
        machine.record(tmp_path, here)
