"""How many processors a process may use: hand-made files of containers' quotas."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.reading.schedule import MOST, processors_granted


def write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


@pytest.mark.parametrize(
    ("text", "granted"),
    [
        ("100000 100000\n", 1), ("200000 100000\n", 2), ("250000 100000\n", 2), ("50000 100000\n", 1),
        ("1600000 100000\n", MOST), ("max 100000\n", MOST), ("", MOST), ("5\n", MOST), ("100000 0\n", MOST),
    ],
)  # fmt: skip
def test_a_quota_in_a_container_of_version_2(text: str, granted: int, tmp_path: Path) -> None:
    write(tmp_path / "groups" / "cpu.max", text)
    write(tmp_path / "own", "0::/\n")
    assert processors_granted(tmp_path / "groups", tmp_path / "own") == granted


def test_the_smallest_quota_of_the_groups_above_counts(tmp_path: Path) -> None:
    groups = tmp_path / "groups"
    write(groups / "slurm" / "cpu.max", "200000 100000\n")
    write(groups / "slurm" / "job" / "cpu.max", "300000 100000\n")
    write(groups / "other" / "cpu.max", "100000 100000\n")
    write(tmp_path / "own", "0::/slurm/job\n")
    assert processors_granted(groups, tmp_path / "own") == 2


@pytest.mark.parametrize(("quota", "granted"), [("300000", 3), ("-1", MOST), ("many", MOST)])
def test_a_quota_of_version_1(quota: str, granted: int, tmp_path: Path) -> None:
    folder = tmp_path / "groups" / "cpu" / "docker" / "a1"
    write(folder / "cpu.cfs_quota_us", quota)
    write(folder / "cpu.cfs_period_us", "100000")
    write(tmp_path / "own", "4:memory:/docker/a1\n1:cpu,cpuacct:/docker/a1\n0::/\n")
    assert processors_granted(tmp_path / "groups", tmp_path / "own") == granted


def test_no_groups_at_all(tmp_path: Path) -> None:
    assert processors_granted(tmp_path / "none", tmp_path / "nothing") == MOST
