"""Sets of MLPerf runs: each result worked out by hand by the rules of MLCommons, or the reason why there is none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from perflog.cases.case import Case
from perflog.cases.mlperf import DROPPED, RUNS_OF_SET
from perflog.notes import texts
from tests.support import FIXTURES, extracted

SETS = FIXTURES / "mlperf"


def case_of(folder: Path, **given: object) -> Case:
    (case,) = extracted(folder, **({"convention": "mlperf"} | given)).cases
    return case


@pytest.mark.parametrize(
    ("name", "seconds", "converged", "notes"),
    [
        # 100, 110.5, 120, 130.5, 200 s: the fastest and the slowest are dropped, (110.5 + 120 + 130.5) / 3
        ("retinanet", 361 / 3, 5, ["MLPerf's result of 5 runs: 2.006 min"]),
        # 100, 110.5, 120, 130.5 s and one aborted: that is the slowest; the same three are left
        (
            "retinanet_one_aborted",
            361 / 3,
            4,
            ["1 run of 5 did not reach the target and counts as the slowest (result_1.txt)"],
        ),
        # the last log ends before run_stop: it failed too
        (
            "retinanet_one_cut",
            361 / 3,
            4,
            ["1 run of 5 did not reach the target and counts as the slowest (result_4.txt)"],
        ),
        # scaling.json says 1.05
        (
            "retinanet_scaled",
            361 / 3 * 1.05,
            5,
            ["MLPerf's result of 5 runs: 2.106 min", "MLPerf's result is scaled by 1.05 (scaling.json)"],
        ),
        # 1000, 1200, 1500 s: three runs make a set of this benchmark, and one is left
        ("llama31_405b", 1200.0, 3, ["MLPerf's result of 3 runs: 20.000 min"]),
        # 1000, 1200 s and one aborted
        (
            "llama31_405b_one_aborted",
            1200.0,
            2,
            ["1 run of 3 did not reach the target and counts as the slowest (result_2.txt)"],
        ),
    ],
)
def test_the_result_of_a_set(name: str, seconds: float, converged: int, notes: list[str]) -> None:
    case = case_of(SETS / name)
    result = case.metrics["time_to_train"]
    assert result.value == pytest.approx(seconds, rel=1e-12)
    assert (result.unit, result.n, result.aggregate, result.reason) == ("s", converged, "olympic", "")
    assert set(notes) <= set(texts(case.notes))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "retinanet_two_aborted",
            "2 of 5 runs did not reach their target (result_3.txt, result_4.txt), and MLPerf drops at most 1",
        ),
        ("bert_five_runs", "MLPerf scores bert by sets of 10 runs, and there are 5"),
    ],
)
def test_a_set_without_a_result(name: str, reason: str) -> None:
    case = case_of(SETS / name)
    result = case.metrics["time_to_train"]
    assert (result.value, result.reason) == (None, reason)
    assert f"MLPerf gives these runs no result: {reason}" in texts(case.notes)


def log(benchmark: str, seconds: float, status: str, start: int) -> str:
    lines = [
        (start, "POINT_IN_TIME", "submission_benchmark", f'"{benchmark}"', ""),
        (start + 1, "POINT_IN_TIME", "submission_platform", '"8xEXAMPLE"', ""),
        (start + 2, "INTERVAL_START", "run_start", "null", ""),
        (start + 2 + int(seconds * 1000), "INTERVAL_END", "run_stop", "null", f', "status": "{status}"'),
    ]
    return "".join(
        f':::MLLOG {{"namespace": "", "time_ms": {time}, "event_type": "{kind}", "key": "{key}", "value": {value}, '
        f'"metadata": {{"file": "t.py", "lineno": 1{more}}}}}\n'
        for time, kind, key, value, more in lines
    )


def written(folder: Path, benchmark: str, times: list[float], aborted: int) -> Path:
    runs = [(seconds, "success") for seconds in times] + [(50.0, "aborted")] * aborted
    for number, (seconds, status) in enumerate(runs):
        text = log(benchmark, seconds, status, 1745560650000 + number * 10_000_000)
        (folder / f"result_{number}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("aborted", "seconds"),
    [
        (0, (305 + 336) / 2),  # 301 … 340 s: four dropped at each end, 305 … 336 are left
        (2, (305 + 334 + 2) / 2),  # 301 … 338 s: the two that failed and the two slowest are dropped
        (4, (305 + 336) / 2),  # 301 … 336 s: those that failed are the four slowest
        (5, None),
    ],
)
def test_of_forty_runs_of_unet3d_four_may_fail(aborted: int, seconds: float | None, tmp_path: Path) -> None:
    folder = written(tmp_path, "unet3d", [301.0 + i for i in range(40 - aborted)], aborted)
    result = case_of(folder).metrics["time_to_train"]
    assert (result.value, result.n) == (seconds, 40 - aborted)
    assert (result.value is None) == result.reason.startswith("5 of 40 runs did not reach their target")


def test_a_benchmark_of_which_no_number_of_runs_is_known(tmp_path: Path) -> None:
    case = case_of(written(tmp_path, "newbench", [100.0, 120.0, 140.0, 160.0], 0))
    assert case.metrics["time_to_train"].value == 130.0
    assert "how many runs MLPerf asks for is not known of newbench" in texts(case.notes)


def test_too_few_to_drop(tmp_path: Path) -> None:
    result = case_of(written(tmp_path, "newbench", [100.0, 120.0], 0)).metrics["time_to_train"]
    assert (result.value, result.reason) == (None, "2 runs, 1 dropped at each end: none is left")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "cannot be read as JSON"),
        ('{"factor": 1.1}', "expected a positive number scaling_factor, found None"),
        ('{"scaling_factor": true}', "expected a positive number scaling_factor, found True"),
        ('{"scaling_factor": -1}', "expected a positive number scaling_factor, found -1"),
        ("[1.1]", "expected a positive number scaling_factor, found None"),
    ],
)
def test_a_scaling_file_that_is_wrong(text: str, reason: str, tmp_path: Path) -> None:
    """A set whose factor cannot be known has no result, rather than one that is not scaled."""
    folder = Path(shutil.copytree(SETS / "retinanet", tmp_path / "set"))
    (folder / "scaling.json").write_text(text, encoding="utf-8")
    result = case_of(folder).metrics["time_to_train"]
    assert result.value is None
    assert reason in result.reason


def test_other_aggregates_are_the_users_own() -> None:
    """Without the olympic mean nothing is scored: the median of the runs that have a time."""
    case = case_of(SETS / "retinanet_one_aborted", convention=None, warmup="0records")
    assert case.metrics["time_to_train"].value == (110.5 + 120.0) / 2
    assert not any("MLPerf" in note for note in texts(case.notes))


def test_the_throughput_that_tracked_stats_print() -> None:
    case = case_of(SETS / "retinanet", aggregate="median")
    throughput = case.metrics["last_block_throughput"]
    assert (throughput.value, throughput.unit, throughput.n) == (1850.25, "samples/s", 1)


def test_what_is_known_of_benchmarks() -> None:
    assert set(DROPPED) <= set(RUNS_OF_SET)
    assert all(RUNS_OF_SET[name] > 2 * dropped for name, dropped in DROPPED.items())
