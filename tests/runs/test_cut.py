"""Lines that hold a part of a number alone, and clocks that are set: a reason, and never the part's number."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from perflog.runs.run import Run
from tests.support import FIXTURES, extracted

LOGS = FIXTURES / "parsers"
_STAMP = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}[ T][0-9:]{8}")


def runs_of(tmp_path: Path, text: str) -> list[Run]:
    (tmp_path / "train.log").write_text(text)
    return extracted(tmp_path).runs


def reasons(tmp_path: Path, text: str) -> set[str]:
    made = runs_of(tmp_path, text)
    assert all(run.throughput.value is None and "loss" not in run.metrics for run in made)
    return {run.throughput.reason for run in made}


@pytest.mark.parametrize("log", ["maxtext/llama2_7b.log", "internlm/comma.log", "nanochat/mid.log"])
def test_numbers_that_a_terminal_cut_at_its_last_column_are_none(tmp_path: Path, log: str) -> None:
    """14,727 tokens/s became 1,465, and 130,994 became 130, where the line was wrapped behind column 80."""
    lines = (LOGS / log).read_text().splitlines()
    wrapped = [line[at : at + 80] for line in lines for at in range(0, len(line) or 1, 80)]
    said = reasons(tmp_path, "\n".join(wrapped) + "\n")
    assert all(
        reason.endswith("ends with a number at column 80, as lines do that a terminal cut there") for reason in said
    )


@pytest.mark.parametrize("log", ["build_nanogpt/train_gpt2.log", "dit/train.log", "clu/imagenet.log", "nemo/nemo2.log"])
def test_numbers_with_a_decimal_comma_are_none(tmp_path: Path, log: str) -> None:
    """1049879,99 tokens/s became 100 times as many, and 0,49 s became 0 s."""
    text = re.sub(r"(?<![\w.:/-])([0-9]+)\.([0-9]+)(?![\w.])", r"\1,\2", (LOGS / log).read_text())
    assert all("has a decimal comma" in reason for reason in reasons(tmp_path, text))


@pytest.mark.parametrize("log", ["openpcdet/newer.log", "basicsr/msrresnet.log", "olmo/olmo.log"])
@pytest.mark.parametrize("hours", [1, -1])
def test_stamps_that_jump_by_an_hour_give_no_number(tmp_path: Path, log: str, hours: int) -> None:
    text = (LOGS / log).read_text()
    (value,) = (run.throughput.value for run in runs_of(tmp_path, text))
    assert value is not None
    half = len(text) // 2

    def later(match: re.Match[str]) -> str:
        moment = datetime.fromisoformat(match.group()) + timedelta(hours=hours)
        return moment.isoformat(match.group()[10])

    for run in runs_of(tmp_path, text[:half] + _STAMP.sub(later, text[half:])):
        if run.throughput.value is None:
            assert hours < 0 or "the stamps jump by an hour before line" in run.throughput.reason
        else:
            assert run.throughput.value == pytest.approx(value, rel=0.01)


def test_megabytes_of_a_million_bytes_are_no_mebibytes(tmp_path: Path) -> None:
    """OLMo divides by 1,000,000 (torch_util.py): 4.9 % more than MiB."""
    (made,) = runs_of(tmp_path, (LOGS / "olmo/olmo.log").read_text())
    assert (made.metrics["memory"].value, made.metrics["memory"].unit) == (61534, "MB")
