"""A log from standard input has no path: nothing of the working folder becomes a fact about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.forks import perflog
from tests.support import ROOT

SOURCE = ROOT / "fixtures" / "campaign" / "short" / "pytorch" / "cnn" / "bz16" / "1n1g" / "cnn_b16_fp32_1.log"


def extracted(folder: Path, *words: str) -> dict[str, Any]:
    """What is extracted of a pipe, in a working folder."""
    folder.mkdir(parents=True, exist_ok=True)
    done = perflog("extract", "-", "-f", "json", "-q", *words, cwd=folder, stdin=SOURCE.read_bytes())
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_the_working_folders_name_says_nothing(tmp_path: Path) -> None:
    told = extracted(tmp_path / "2n8g" / "rn50_b64_fp16")
    assert told == extracted(tmp_path / "somewhere")
    (case,) = told["cases"]
    assert case["label"] == ""
    assert not {"devices", "nodes", "batch_size", "precision"} & case["case"].keys()
    assert case["metrics"]["throughput"]["unit"] == "steps/s"


def test_what_the_user_says_counts(tmp_path: Path) -> None:
    (case,) = extracted(tmp_path / "2n8g" / "bz64", "-s", "devices=1", "-s", "batch_size=16")["cases"]
    assert (case["case"]["devices"], case["case"]["batch_size"]) == (1, 16)
    assert case["metrics"]["throughput"]["value"] is not None


def test_the_working_folders_machine_is_not_the_streams(tmp_path: Path) -> None:
    plain = extracted(tmp_path / "logs")
    (tmp_path / "logs" / "machine.json").write_text('{"framework_version": "9.9", "accelerator": "H100", "cpus": 7}')
    assert extracted(tmp_path / "logs") == plain
