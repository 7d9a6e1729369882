"""A program's JSON file beside its text log: one training, which counts once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from perflog.notes import texts
from tests.support import extracted

#: Ten prints of 50 iterations each: 0.4 s each, of which a warm-up of 20 iterations leaves the last nine.
PRINTS = range(50, 501, 50)


def text_lines(seconds: float = 0.4) -> Iterable[str]:
    for i in PRINTS:
        minutes, rest = divmod(round(i * seconds), 60)
        yield (
            f"2021-05-05 12:{minutes:02d}:{rest:02d},000 - mmdet - INFO - Epoch [1][{i}/7330]\tlr: 1.978e-03, eta: 1 day, 0:16:15, "
            f"time: {seconds:.3f}, data_time: 0.012, memory: 3900, loss: 2.1"
        )


def json_lines(seconds: float = 0.4) -> Iterable[str]:
    yield '{"env_info": "sys.platform: linux", "seed": 0}'
    for i in PRINTS:
        yield (
            f'{{"mode": "train", "epoch": 1, "iter": {i}, "lr": 0.001978, "memory": 3900, "data_time": 0.012, '
            f'"loss": 2.1, "time": {seconds:.5f}}}'
        )


def write(folder: Path, **logs: Iterable[str]) -> None:
    """Writes logs whose names are given with ``__`` for a slash and ``_dot_`` for a dot."""
    for name, lines in logs.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def counted(folder: Path) -> list[str]:
    return sorted(Path(run.log.name).name for run in extracted(folder).runs)


def test_a_json_file_with_the_text_logs_name_is_its_second_account(tmp_path: Path) -> None:
    write(tmp_path, a_dot_log=text_lines(), a_dot_log_dot_json=json_lines())
    extraction = extracted(tmp_path)
    (run,) = extraction.runs
    assert Path(run.log.name).name == "a.log"
    assert run.throughput.value == pytest.approx(2.5)
    assert any("counts once" in note and "a.log.json tells the same run" in note for note in texts(run.notes))
    (left_out,) = extraction.skipped
    assert left_out.reason.startswith("it tells the same run as ")


def test_the_only_two_of_a_folder_need_no_common_name(tmp_path: Path) -> None:
    write(tmp_path, train_dot_log=text_lines(), vis_data__scalars_dot_json=json_lines())
    assert counted(tmp_path) == ["train.log"]


def test_each_repeat_has_a_second_account_of_its_own(tmp_path: Path) -> None:
    write(
        tmp_path, a_dot_log=text_lines(), a_dot_log_dot_json=json_lines(), b_dot_log=text_lines(0.401), b_dot_log_dot_json=json_lines(0.401)
    )  # fmt: skip
    assert counted(tmp_path) == ["a.log", "b.log"]


@pytest.mark.parametrize(
    "logs",
    [
        {"a_dot_log": text_lines(), "a_dot_log_dot_json": json_lines(0.5)},  # other numbers: another training
        {"a_dot_log": text_lines(), "b_dot_log": text_lines(0.401), "c_dot_json": json_lines()},  # whose is it?
        {"x__a_dot_log": text_lines(), "y__a_dot_json": json_lines()},  # other folders
    ],
)
def test_what_may_be_another_training_counts(tmp_path: Path, logs: dict[str, Iterable[str]]) -> None:
    write(tmp_path, **logs)
    assert len(counted(tmp_path)) == len(logs)


def test_a_table_beside_the_text_log_is_its_second_account(tmp_path: Path) -> None:
    # Stable-Baselines3 writes log.txt and progress.csv into one folder: 2,048 environment steps in 4 s
    text = [
        f"|    {name} | {number} |"
        for table in range(1, 61)
        for name, number in (("iterations", table), ("time_elapsed", 4 * table), ("total_timesteps", 2048 * table))
    ]
    rows = [
        "time/iterations,time/time_elapsed,time/total_timesteps",
        *(f"{n},{4 * n},{2048 * n}" for n in range(1, 61)),
    ]
    write(tmp_path, log_dot_txt=text, progress_dot_csv=rows)
    (run,) = extracted(tmp_path).runs
    assert (Path(run.log.name).name, run.throughput.value) == ("log.txt", 512)
    assert any("progress.csv tells the same run" in note for note in texts(run.notes))
