"""Logs whose names differ in their endings alone are one training's, and no repeats of each other."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from perflog.notes import texts
from perflog.show.document import reason_code
from tests.cases.test_repeats import benchmark, cases_of, extraction
from tests.support import extracted

REPEATS = {f"run_{number}.log": benchmark(100 + number) for number in (1, 2, 3)}


@pytest.mark.parametrize("other", ["run_2.out", "run_2.err", "run_2.txt", "run_2.log.bak", "run_2"])
def test_a_name_with_another_ending_is_no_repeat(tmp_path: Path, other: str) -> None:
    """Three repeats, and beside the second what a terminal showed of it, or what was there before."""
    made = extraction(tmp_path, {**REPEATS, other: benchmark(150)})
    assert cases_of(made, tmp_path) == [["run_1.log", "run_2.log", "run_3.log"]]
    (left_out,) = made.skipped
    counted = tmp_path / "run_2.log"
    assert (left_out.log.name, left_out.reason) == (
        str(tmp_path / other),
        f"it has the name of {counted} but for its ending: a training counts once",
    )
    assert reason_code(left_out.reason) == "counted-already"
    note = f"{counted} counts for {tmp_path / other} too: their names differ in their ending alone"
    assert texts(made.cases[0].notes).count(note) == 1


def test_what_is_not_packed_counts(tmp_path: Path) -> None:
    """A log that was packed, and then the training was done again under its name."""
    (tmp_path / "run_2.log.gz").write_bytes(gzip.compress(benchmark(150).encode()))
    made = extraction(tmp_path, REPEATS)
    assert cases_of(made, tmp_path) == [["run_1.log", "run_2.log", "run_3.log"]]
    assert [left_out.log.name for left_out in made.skipped] == [str(tmp_path / "run_2.log.gz")]


def test_the_one_with_a_number_counts(tmp_path: Path) -> None:
    """A log that ended in its warm-up, and what was kept of the whole training."""
    for name, steps in (("run_1.log", 20), ("run_1.txt", 60)):
        (tmp_path / name).write_text(benchmark(100, steps=steps), encoding="utf-8")
    made = extracted(tmp_path, warmup=20)
    assert cases_of(made, tmp_path) == [["run_1.txt"]]
    assert made.runs[0].throughput.value is not None


def test_of_other_configurations_both_count(tmp_path: Path) -> None:
    made = extraction(tmp_path, {"a.log": benchmark(100), "a.txt": benchmark(101, batch=64)})
    assert (cases_of(made, tmp_path), made.skipped) == ([["a.log"], ["a.txt"]], [])


def test_names_in_other_folders_are_others(tmp_path: Path) -> None:
    made = extraction(tmp_path, {"2026-05-04/a.log": benchmark(100), "2026-05-05/a.out": benchmark(101)})
    assert cases_of(made, tmp_path) == [["2026-05-04/a.log", "2026-05-05/a.out"]]
