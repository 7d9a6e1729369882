"""What trackers and trainers call a metric names it here too, where it is the same quantity."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from perflog.cases.pairs import KINDS, metrics_named
from tests.forks import perflog
from tests.support import FIXTURES

RELEASES = FIXTURES / "campaign/releases"


def test_a_name_means_one_metric() -> None:
    names = Counter(name for kind in KINDS.values() for name in kind.names)
    assert set(names.values()) == {1}
    assert names.keys().isdisjoint(KINDS)
    assert metrics_named("-iteration_time, loss,mfu(%)") == "-step_time, loss,mfu"
    assert metrics_named("-train/step_time,perf/tokens_per_second_per_gpu") == "-step_time,tokens_per_second_per_device"
    assert metrics_named("train/own,eval/loss,-perf/") == "train/own,eval/loss,-perf/"


@pytest.mark.parametrize("name", [name for metric in ("step_time", "data_time") for name in KINDS[metric].names])
def test_a_comparison_by_another_name_is_the_same(name: str) -> None:
    sides = [str(RELEASES / version) for version in ("2.12.1", "2.13.0")]
    done = [perflog("compare", *sides, "--metric", one, "-f", "json") for one in (name, metrics_named(name))]
    assert done[0].stdout == done[1].stdout
    assert json.loads(done[0].stdout)["comparisons"][0]["metric"] == metrics_named(name)


def test_columns_and_order_by_another_name_are_the_same(tmp_path: Path) -> None:
    for number, rate in (("1", 900), ("2", 700)):
        lines = (f"step {n} loss 2.{n} tokens per second per gpu {rate + n % 3} mfu 0.4\n" for n in range(1, 60))
        (tmp_path / f"run_b{number}.log").write_text("".join(lines))
    shown = [
        perflog("extract", str(tmp_path), "--columns", f"label,{name}", "--sort", f"-{name}").stdout
        for name in ("throughput/device/tokens_per_sec", "tokens_per_second_per_device")
    ]
    assert shown[0] == shown[1]
    unknown = perflog("extract", str(tmp_path), "--columns", "tokens_per_second_per_cpu")
    assert unknown.returncode == 2
