"""The tool that measures two releases and a history for real: what it promises, and the program that it edits."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.tools import for_real


def sides(*ratios: float) -> dict[str, dict[str, list[dict[str, float]]]]:
    """A row of two sides whose rounds have these ratios, beside a drift that both have."""
    return {
        "old": {"runs": [{"value": 100.0 + n} for n in range(len(ratios))]},
        "new": {"runs": [{"value": (100.0 + n) * ratio} for n, ratio in enumerate(ratios)]},
    }


def test_what_is_promised_is_what_the_page_of_statistics_has() -> None:
    """Runs that spread by 1 % (differences by 1.4 %), no change: 9.9 rounds in the mean; by 2 %: 42 % by round 30."""
    deviation, half, most = for_real.promised(sides(1.02, 1 / 1.02, 1.0, 1.0, 1.0), 0.02)
    assert deviation == pytest.approx(0.0140, abs=2e-5)
    assert 7 <= half <= 11 < most <= 22
    _, half, most = for_real.promised(sides(1.04, 1 / 1.04, 1.0, 1.0, 1.0), 0.02)
    assert 28 <= half <= 40 < most
    assert for_real.promised(sides(0.90, 0.91, 0.89, 0.90), 0.02)[1] == 4


def test_the_sleep_is_a_commit_of_its_own_and_goes_without_a_trace(tmp_path: Path) -> None:
    bench = for_real.Bench(tmp_path, ())
    given = SimpleNamespace(old=Path("old"), new=Path("new"), batch=1, runs=2, steps=20, wait=50.0)
    for_real.make_program(bench, given)  # type: ignore[arg-type]
    train = bench.program / "pytorch" / "train.py"
    common = (bench.program / "common.py").read_text()
    assert "            time.sleep(0.05)  # as for a storage\n            if self.loaded is not None:\n" in common
    before = train.read_text()
    for _ in range(2):  # where the command goes on, nothing is put in twice
        bench.edit(for_real._SLEEP, 0.0015, "Each step sleeps")
        assert train.read_text() == before.replace(
            "        now = time.perf_counter()\n",
            "        time.sleep(0.0015000)\n        now = time.perf_counter()\n",
            1,
        )
    bench.edit(for_real._SLEEP, 0, "No sleep")
    assert train.read_text() == before and (bench.program / "common.py").read_text() == common
    assert bench.git("log", "--format=%s").splitlines() == [
        "No sleep", "Each step sleeps", "Each step waits for its batch", "The training",
    ]  # fmt: skip


def test_how_busy_others_are_is_measured_while_a_command_runs(tmp_path: Path) -> None:
    """Work of the command's own processes is not that of others; work beside it is."""
    spin = "import time\nwhile time.process_time() < {}: pass"
    all_busy = (
        "import os, subprocess, sys\n"
        f"busy = [subprocess.Popen([sys.executable, '-c', {spin.format(0.5)!r}]) for _ in range(os.cpu_count())]\n"
        "for one in busy: one.wait()"
    )
    began = time.monotonic()
    own = measured(tmp_path, [sys.executable, "-c", all_busy])
    assert 0 <= own <= 1.1 - 0.5 / (time.monotonic() - began)
    with subprocess.Popen([sys.executable, "-c", spin.format(60)]) as other:
        time.sleep(0.2)
        beside = measured(tmp_path, [sys.executable, "-c", spin.format(0.5)])
        other.kill()
    assert 0.1 < beside <= 1


def measured(folder: Path, command: list[str]) -> float:
    """The share that other processes took while a command ran."""
    assert for_real.inside(str(folder / "times.json"), command) == 0
    return float(json.loads((folder / "times.json").read_text())["others"])


def test_campaigns_are_made_until_there_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, counted = for_real.Bench(tmp_path, ()), itertools.count(1)
    monkeypatch.setattr(for_real, "changes", lambda _: [])

    def keep(*words: str, **_: object) -> None:
        bench.done.append(for_real.Done(["perflog", *words], "", 0, "", ""))

    monkeypatch.setattr(for_real.Bench, "perflog", lambda _, *words, **more: keep(*words, **more))
    for _ in for_real.repeated(bench, "slow", 8, lambda: next(counted) > 3):
        pass
    assert for_real.kept_of(bench, "slow") == ["slow-01", "slow-02", "slow-03"]
    list(for_real.repeated(bench, "slow", 5, lambda: False))
    assert for_real.kept_of(bench, "slow")[3:] == ["slow-04", "slow-05"], "it goes on where it was cut off"
