"""Several ranks in one log: the slowest decides a synchronous job's step time, with tags and without."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from perflog.measurements.blended import Lane, slowest
from perflog.measurements.rows import FIELDS, Store
from perflog.notes import texts
from perflog.runs.run import Run
from tests.measurements.support import STEP_TIME, folded, pattern, rows
from tests.reading.support import read
from tests.support import FIXTURES, catalog, extracted

RANKS = FIXTURES / "seed004_ranks"
BLENDED = "several ranks or runs are blended"
SLOWEST = "the slowest of each step is taken (each waits for the others)"
ESTIMATORS = ("total", "mean", "median", "trimmed", "last")
STEPS = 40
#: The second rank is a tenth slower.
TIMES = {0: 0.200, 1: 0.220}


def run_of(folder: Path, text: str, devices: int = 0, **options: object) -> Run:
    """The run of a log of 16 samples a step and device."""
    file = folder / "a.log"
    file.write_text(text)
    given = {"batch_size": "16"} | ({"devices": str(devices)} if devices else {})
    (run,) = extracted(file, set=given, **options).runs
    return run


def imagenet(step: int, time: float) -> str:
    """A line of pytorch/examples' imagenet, which each rank prints of its own."""
    times = f"Time  {time:.6f} ( {time:.6f})\tData  0.0004 ( 0.0004)"
    return f"Epoch: [0][{step}/{STEPS}]\t{times}\tLoss 4.6099e+00 (4.6099e+00)"


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_slowest_of_tagged_ranks_decides(order: Sequence[int], estimator: str, tmp_path: Path) -> None:
    lines = [f"[1,{rank}]<stdout>:{imagenet(step, TIMES[rank])}" for step in range(STEPS) for rank in order]
    run = run_of(tmp_path, "\n".join(lines) + "\n", 2, estimator=estimator)
    assert run.throughput.value == pytest.approx(2 * 16 / 0.220, rel=1e-6)
    assert run.metrics["step_time"].value == pytest.approx(0.220, rel=1e-6)
    assert "the slowest of 2 ranks is taken for all (each waits for the others)" in texts(run.notes)


def sinks(devices: int, count: int = 30, first: int = 1) -> list[list[str]]:
    """The lines of MindSpore's ranks, sink by sink: 0.2 s a step; in each sink another rank takes a tenth longer."""
    return [
        [f"epoch: {sink} step: 10, loss is 6.{sink:02}{rank:02}" for rank in range(devices)]
        + [
            f"epoch time: {time * 10:.3f} ms, per step time: {time:.3f} ms"
            for time in ((220.0 if (sink * 7 + 3) % devices == rank else 200.0 + rank / 100) for rank in range(devices))
        ]
        for sink in range(first, first + count)
    ]


def text_of(of_sinks: list[list[str]]) -> str:
    return "\n".join(line for lines in of_sinks for line in lines) + "\n"


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("devices", [2, 4, 8, 16, 32])
def test_the_slowest_record_of_each_step_decides_without_tags(devices: int, estimator: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, text_of(sinks(devices)), devices, estimator=estimator)
    assert run.throughput.value == pytest.approx(devices * 16 / 0.220, rel=1e-6)
    assert run.metrics["step_time"].value == pytest.approx(0.220, rel=1e-6)
    assert any(SLOWEST in note.text for note in run.notes)


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_the_report_s_command_gives_the_speed_of_the_job(precision: str) -> None:
    """The fixtures' truth is the generator's: the slowest rank of each sink, with ranks that come a sink too late."""
    (source,) = (RANKS / f"logs_{precision}").rglob("SOURCE.toml")
    truth = tomllib.loads(source.read_text())["throughput"]
    found = {
        str(Path(run.log.path).relative_to(source.parent)): run.throughput.value
        for run in extracted(source.parent, warmup=100, steps=100).runs
    }
    assert found == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("devices", [0, 1, 2, 8])
def test_records_that_are_not_as_many_as_the_devices_are_no_ranks(devices: int, tmp_path: Path) -> None:
    run = run_of(tmp_path, text_of(sinks(4)), devices)
    assert run.throughput.value is None
    known = f"the job has {devices} devices" if devices else "if these are its ranks, give --set devices=N"
    assert BLENDED in run.throughput.reason
    assert run.throughput.reason.endswith(f"; each step has 4 records, and {known}")


def test_a_lost_line_leaves_out_its_step(tmp_path: Path) -> None:
    for lost in (2, 6):  # a line of the loss, a line of the time
        of_sinks = sinks(4)
        del of_sinks[11][lost]
        run = run_of(tmp_path, text_of(of_sinks), 4)
        assert run.throughput.value == pytest.approx(4 * 16 / 0.220, rel=1e-3)
        assert any(SLOWEST in note.text for note in run.notes)


def test_a_step_in_five_that_lacks_a_record_is_too_many(tmp_path: Path) -> None:
    of_sinks = sinks(4)
    for sink in range(0, 30, 5):
        del of_sinks[sink][2], of_sinks[sink][-1]
    run = run_of(tmp_path, text_of(of_sinks), 4)
    assert run.throughput.value is None
    assert BLENDED in run.throughput.reason


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 30])
def test_a_run_behind_another_one_is_no_rank(count: int, tmp_path: Path) -> None:
    """Both have one device; the second one's numbers are others."""
    first, second = text_of(sinks(1, count)), text_of(sinks(1, count)).replace("loss is 6", "loss is 5")
    run = run_of(tmp_path, first + second.replace("220.000", "250.000").replace("2200.000", "2500.000"), 2)
    assert run.throughput.value is None
    assert "steps go back" in run.throughput.reason


@pytest.mark.parametrize(("times", "ranks"), [(1.4, 2), (1.6, 0)])
def test_times_that_no_ranks_of_one_job_have_are_two_jobs(times: float, ranks: int) -> None:
    printed = [(step, 100.0 * factor) for step in range(1, 13) for factor in (1, times)]
    (segment,) = folded(pattern("step ms", STEP_TIME), rows("step ms", *printed)).segments
    assert (segment.blend.records if segment.blend else 0) == ranks
    assert bool(segment.refused) == (ranks == 0)


def test_two_runs_of_several_ranks_are_two_runs() -> None:
    run = [(step, 100.0 + 10 * rank) for step in range(1, 13) for rank in (0, 1)]
    again = [(step, 200.0 + 10 * rank) for step in range(1, 9) for rank in (1, 0)]
    made = pattern("step ms", STEP_TIME)
    first, second = folded(made, rows("step ms", *run, *again), starts=(25,)).segments
    assert [segment.blend.records if segment.blend else 0 for segment in (first, second)] == [2, 2]
    assert [np.unique(next(segment.store.blocks())[3]).tolist() for segment in (first, second)] == [[0.11], [0.21]]
    (refused,) = folded(made, rows("step ms", *run, *again)).segments
    assert BLENDED in refused.refused


def test_lines_in_blocks_of_any_size_give_the_same() -> None:
    text = (RANKS / "logs_fp32/mindspore/resnet50/bz128/1n4g/rn50_b128_fp32_1.log").read_text()
    lines = text.splitlines(keepends=True)
    stores = []
    for size in (len(lines), 37, 3, 1):
        blocks = ["".join(lines[at : at + size]) for at in range(0, len(lines), size)]
        (segment,) = read(catalog(), *blocks).series["mindspore.time"][0].segments
        assert segment.blend is not None
        assert segment.blend.records == 4
        stores.append(np.concatenate(list(segment.store.blocks()), axis=1))
    for store in stores[1:]:
        np.testing.assert_array_equal(store, stores[0])


MEAN = {**STEP_TIME, "span": "cumulative"}
PRINTED = [(step, 100.0 + 10 * rank) for step in range(1, 13) for rank in (0, 1)]


def test_running_means_of_unknown_ranks_have_no_differences() -> None:
    (last,) = folded(pattern("step ms", STEP_TIME), rows("step ms", *PRINTED)).segments
    assert (last.refused, last.blend.records if last.blend else 0) == ("", 2)
    (mean,) = folded(pattern("step ms", MEAN), rows("step ms", *PRINTED)).segments
    assert BLENDED in mean.refused


def test_records_that_share_a_line_are_no_ranks() -> None:
    """Where line feeds were lost, a record is not found again by its line: one that a lane lacks ended in an exception."""
    lanes, stores = [], []
    for steps in ([0.0, 10.0, 20.0], [0.0, 20.0]):
        keys = np.array(steps)
        lanes.append(Lane(lines=[np.ones(len(keys), dtype=np.int64)], keys=[keys]))
        store = Store()
        store.append(np.ones((len(FIELDS), len(keys))))
        stores.append(store)
    assert slowest(lanes, stores, np.array([0.0, 20.0])).count == 0
