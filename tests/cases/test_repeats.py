"""Which numbers in names count repeats, which logs are one training's, and copies: from files on a disk."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from perflog.extraction import Extraction
from perflog.notes import texts
from perflog.runs.factor import PATH_ALONE
from tests.support import FIXTURES, extracted


def benchmark(rate: float, steps: int = 40, batch: int = 128, model: str = "resnet50") -> str:
    """The log of tf_cnn_benchmarks with a line every ten steps."""
    head = f"TensorFlow:  1.15\nModel:       {model}\nBatch size:  {batch} global\n             {batch} per device\n"
    head += "Num batches: 100\nDevices:     ['/gpu:0']\nPrecision:   fp32\n"
    lines = [
        f"{step}\timages/sec: {rate + step / 100:.1f} +/- 0.1 (jitter = 0.3)\t7.9\n" for step in range(1, steps + 1)
    ]
    return head + "Step\tImg/sec\ttotal_loss\n" + "".join(lines)


def extraction(folder: Path, logs: dict[str, str], **given: object) -> Extraction:
    for name, content in logs.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
    return extracted(folder, warmup=0, **given)


def cases_of(made: Extraction, folder: Path) -> list[list[str]]:
    """The logs of each case."""
    return sorted([sorted(str(Path(run.log.name).relative_to(folder)) for run in case.runs) for case in made.cases])


@pytest.mark.parametrize(
    ("names", "cases"),
    [
        (("x_1", "x_2", "x_3"), [["x_1", "x_2", "x_3"]]), (("x_0", "x_1"), [["x_0", "x_1"]]), (("1", "2"), [["1", "2"]]),
        (("x_18", "x_50", "x_152"), [["x_152"], ["x_18"], ["x_50"]]), (("x_1", "x_2", "x_4"), [["x_1"], ["x_2"], ["x_4"]]),
        (("x_2", "x_3"), [["x_2"], ["x_3"]]), (("x_1", "y_2"), [["x_1"], ["y_2"]]), (("a/x_1", "b/x_2"), [["a/x_1"], ["b/x_2"]]),
        (("run_2", "run_7"), [["run_2", "run_7"]]), (("zero_2", "zero_3"), [["zero_2"], ["zero_3"]]),
        (("x_2026-05-04_10-11-12", "x_2026-05-04_11-12-13"), [["x_2026-05-04_10-11-12", "x_2026-05-04_11-12-13"]]),
        (("x_seed1", "x_seed9"), [["x_seed1", "x_seed9"]]), (("lr1e-4", "lr1e-5"), [["lr1e-4"], ["lr1e-5"]]),
    ],
)  # fmt: skip
def test_which_logs_are_repeats(tmp_path: Path, names: tuple[str, ...], cases: list[list[str]]) -> None:
    made = extraction(tmp_path, {f"{name}.log": benchmark(100 + place) for place, name in enumerate(names)})
    assert cases_of(made, tmp_path) == [[f"{name}.log" for name in case] for case in cases]


def test_a_copied_log_leaves_its_siblings_repeats(tmp_path: Path) -> None:
    """x_2 is a copy of x_1: what is left, 1 and 3, is no series, but the names are."""
    rates = {1: 100.0, 2: 100.0, 3: 101.0}
    made = extraction(tmp_path, {f"x_{number}.log": benchmark(rate) for number, rate in rates.items()})
    assert cases_of(made, tmp_path) == [["x_1.log", "x_3.log"]]
    assert [run.values["repeat"] for run in made.runs] == [1, 3]
    assert [Path(left_out.log.name).name for left_out in made.skipped] == ["x_2.log"]
    assert not any("no repeats" in note for case in made.cases for note in texts(case.notes))


@pytest.mark.parametrize(
    "first", ["", "an out-of-memory killer came before the first step\n"], ids=["empty", "no step"]
)
def test_a_log_that_is_no_training_s_leaves_its_siblings_repeats(tmp_path: Path, first: str) -> None:
    """A case must not fall into its runs because its first one printed nothing: the names are a series."""
    made = extraction(tmp_path, {"x_1.log": first, "x_2.log": benchmark(101), "x_3.log": benchmark(102)})
    assert cases_of(made, tmp_path) == [["x_2.log", "x_3.log"]]
    assert [Path(left_out.log.name).name for left_out in made.skipped] == ["x_1.log"]
    apart = extraction(tmp_path / "apart", {"y_1.log": first, "x_2.log": benchmark(101), "x_3.log": benchmark(102)})
    assert cases_of(apart, tmp_path / "apart") == [["x_2.log"], ["x_3.log"]], "another name is of no such series"


def test_what_is_no_series_is_said(tmp_path: Path) -> None:
    made = extraction(tmp_path, {f"x_{number}.log": benchmark(100 + number) for number in (18, 50)})
    assert [case.label.rpartition("/")[2] for case in made.cases] == ["x_18", "x_50"]
    note = "the logs x_N.log are no repeats of one case: 18, 50 is no series from 0 or 1"
    assert all(note in texts(case.notes) for case in made.cases)
    assert all("repeat" not in run.values for run in made.runs)


@pytest.mark.parametrize("other", [{"batch": 64}, {"model": "vgg16"}])
def test_logs_that_say_different_configurations_are_no_repeats(tmp_path: Path, other: dict[str, object]) -> None:
    made = extraction(tmp_path, {"x_1.log": benchmark(100), "x_2.log": benchmark(101, **other)})  # type: ignore[arg-type]
    assert cases_of(made, tmp_path) == [["x_1.log"], ["x_2.log"]]
    assert all("they say different configurations" in " ".join(texts(case.notes)) for case in made.cases)


def test_logs_of_another_length_are_another_case(tmp_path: Path) -> None:
    logs = {"x_1.log": benchmark(100), "x_2.log": benchmark(101), "x_3.log": benchmark(102, steps=80)}
    made = extraction(tmp_path, logs)
    assert cases_of(made, tmp_path) == [["x_1.log", "x_2.log"], ["x_3.log"]]
    assert [case.key["records"] for case in made.cases] == [40, 80]


def test_a_little_more_or_less_is_one_length(tmp_path: Path) -> None:
    made = extraction(tmp_path, {"x_1.log": benchmark(100), "x_2.log": benchmark(101, steps=42)})
    assert cases_of(made, tmp_path) == [["x_1.log", "x_2.log"]]
    assert "records" not in made.cases[0].key


def test_a_copy_counts_once(tmp_path: Path) -> None:
    made = extraction(tmp_path, {"x_1.log": benchmark(100), "copy/x_1.log": benchmark(100), "x_2.log": benchmark(101)})
    first, copy = str(tmp_path / "x_1.log"), str(tmp_path / "copy/x_1.log")
    assert cases_of(made, tmp_path) == [["x_1.log", "x_2.log"]]
    assert [(skipped.log.name, skipped.reason) for skipped in made.skipped] == [
        (copy, f"the same text as {first}: a log counts once")
    ]
    assert f"{first} counts once: the same text is in {copy}" in texts(made.cases[0].notes)


def test_of_copies_the_one_in_the_fewest_folders_counts(tmp_path: Path) -> None:
    """`backup/run_1.log` stands before `run_1.log` in the order of names: the case would lose its first repeat."""
    logs = {f"run_{number}.log": benchmark(100 + number) for number in (1, 2, 3)}
    made = extraction(
        tmp_path, {**logs, "backup/old/run_1.log": logs["run_1.log"], "backup/run_1.log": logs["run_1.log"]}
    )
    assert cases_of(made, tmp_path) == [["run_1.log", "run_2.log", "run_3.log"]]
    assert len(made.skipped) == 2


def test_a_log_given_twice_and_packed_counts_once(tmp_path: Path) -> None:
    log = tmp_path / "x_1.log"
    log.write_text(benchmark(100), encoding="utf-8")
    (tmp_path / "x_1.log.gz").write_bytes(gzip.compress(log.read_bytes()))
    (tmp_path / "link.log").symlink_to(log)
    made = extracted(log, tmp_path / "x_1.log.gz", tmp_path / "." / "link.log", f"{tmp_path}/./x_1.log", warmup=0)
    assert (len(made.runs), len(made.skipped)) == (1, 3)


def test_equal_numbers_in_different_texts_are_two_logs(tmp_path: Path) -> None:
    made = extraction(tmp_path, {"x_1.log": benchmark(100), "x_2.log": benchmark(100) + "done\n".rjust(6)})
    assert len(made.runs) == 2
    same_lines = benchmark(100).replace("total_loss", "total_cost")
    made = extraction(tmp_path / "more", {"x_1.log": benchmark(100), "x_2.log": same_lines})
    assert (cases_of(made, tmp_path / "more"), made.skipped) == ([["x_1.log", "x_2.log"]], [])


def test_logs_of_other_ranks_are_no_repeats(tmp_path: Path) -> None:
    made = extraction(tmp_path, {f"rank_{rank}.log": benchmark(100 + rank) for rank in range(3)})
    assert cases_of(made, tmp_path) == [["rank_0.log"]]
    assert {skipped.reason for skipped in made.skipped} == {
        f"the log of another rank of the training in {tmp_path / 'rank_0.log'}"
    }


def test_a_factor_that_names_alone_tell_is_said_once_of_all(tmp_path: Path) -> None:
    fixture = FIXTURES / "seed001/GPUx1-bs8.log"
    made = extraction(tmp_path, {"GPUx1-bs8.log": fixture.read_text(encoding="utf-8")})
    assert made.notes == [PATH_ALONE["devices"]]
    assert all(PATH_ALONE["devices"] not in texts(case.notes) for case in made.cases)


def test_a_devices_number_is_no_number_of_devices(tmp_path: Path) -> None:
    fixture = (FIXTURES / "seed001/GPUx1-bs8.log").read_text(encoding="utf-8")
    logs = {f"gpu{device}.log": fixture + "\n" * device for device in (0, 1, 2)}
    devices = {Path(run.log.name).name: run.values.get("devices") for run in extraction(tmp_path / "a", logs).runs}
    assert devices == {"gpu0.log": None, "gpu1.log": None, "gpu2.log": None}
    logs.pop("gpu0.log")
    devices = {Path(run.log.name).name: run.values.get("devices") for run in extraction(tmp_path / "b", logs).runs}
    assert devices == {"gpu1.log": 1, "gpu2.log": 2}


def test_a_folder_of_a_device_tells_no_number_of_devices(tmp_path: Path) -> None:
    text = (FIXTURES / "seed001/GPUx1-bs8.log").read_text(encoding="utf-8")
    for device in (0, 1, 2):
        for parent in ("a", "b")[: 2 if device else 1]:
            log = tmp_path / parent / f"gpu{device}/train.log"
            log.parent.mkdir(parents=True)
            log.write_text(text + "\n" * device, encoding="utf-8")
    for parent, expected in (("a", {None}), ("b", {1, 2})):
        assert {run.values.get("devices") for run in extracted(tmp_path / parent).runs} == expected
