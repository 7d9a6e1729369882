"""``--sampled``: single steps, printed one in several, as a sample of all, with what that may hide."""

from __future__ import annotations

import random
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from perflog.extraction import extract_paths
from perflog.formats.catalog import load_catalog
from perflog.notes import texts
from perflog.runs.run import Run
from perflog.settings.options import Amount, Options, Window

SAID = ("step {step} … dt {step_time:ms:last}",)


def written(
    folder: Path, seed: int, *, every: int = 10, lines: int = 60, slower: float = 1.0, stamps: bool = False
) -> float:
    """The steps/s of a log's training, each line of which tells the time of its own step."""
    rng, total, rows = random.Random(seed), 0.0, []
    for step in range(1, every * lines + 1):
        seconds = rng.gauss(0.5, 0.05) * (slower if step % every == 0 else 1.0)
        total += seconds
        if step % every == 0:
            now = datetime(2026, 5, 4, 10) + timedelta(seconds=total)
            stamp = f"{now:%Y-%m-%d %H:%M:%S}.{now.microsecond // 1000:03} " if stamps else ""
            rows.append(f"{stamp}step {step} loss 0.5 dt {seconds * 1e3:.2f}")
    (folder / "train.log").write_text("\n".join(rows) + "\n")
    return every * lines / total


def run_of(folder: Path, *, sampled: bool = True) -> Run:
    options = Options(window=Window(Amount(0)), said=SAID, sampled=sampled)
    (run,) = extract_paths([folder / "train.log"], options, load_catalog()).runs
    return run


def test_the_interval_holds_the_truth_as_often_as_it_says(tmp_path: Path) -> None:
    held = 0
    for seed in range(120):
        truth, run = written(tmp_path, seed), run_of(tmp_path)
        (note,) = [note for note in texts(run.notes) if "as a sample" in note]
        low, high = map(float, re.findall(r"allow ([0-9.]+) to ([0-9.]+) steps/s", note)[0])
        assert run.throughput.value is not None and low < run.throughput.value < high
        held += low <= truth <= high
    assert 107 <= held <= 119  # 95 % of 120 are 114; of 10^4 such tests one counts less, or more


def test_without_the_option_there_is_none_and_the_reason_names_it(tmp_path: Path) -> None:
    written(tmp_path, 1)
    run = run_of(tmp_path, sampled=False)
    assert run.throughput.value is None
    assert run.throughput.reason.endswith("; --sampled takes these steps as a sample of all")


def test_a_few_steps_are_no_sample(tmp_path: Path) -> None:
    written(tmp_path, 1, lines=15)
    run = run_of(tmp_path)
    assert run.throughput.value is None
    assert run.throughput.reason.endswith("15 of them are too few for a sample, 20 are needed")


def test_steps_that_are_not_like_the_others_are_no_sample_where_the_clock_tells(tmp_path: Path) -> None:
    truth = written(tmp_path, 1, slower=3.0, stamps=True)
    value = run_of(tmp_path).throughput.value
    assert value is None or value == pytest.approx(truth, rel=0.03)


def test_a_log_that_prints_each_step_is_no_sample(tmp_path: Path) -> None:
    truth, run = written(tmp_path, 1, every=1, lines=300), run_of(tmp_path)
    assert run.throughput.value == pytest.approx(truth, rel=1e-3)
    assert not any("as a sample" in note for note in texts(run.notes))
