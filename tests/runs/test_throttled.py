"""Runs that something slowed, as a hand-made machine.json tells: said with the run, in comparisons and in reports."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from perflog.notes import texts
from perflog.runs.machine import Machine
from perflog.runs.sight import throttling_note
from tests.forks import perflog
from tests.support import FIXTURES, extracted

RELEASES = FIXTURES / "campaign" / "releases"


POWER = "GPU 0: power cap in 2 of 9 samples"
QUOTA = "CPUs: the quota of the control group stopped processes 3 times, 0.25 s in all"
Make = Callable[[str, dict[str, Any]], Path]


@pytest.fixture
def side(tmp_path: Path) -> Make:
    """Copies a release, with these runs throttled in its machine.json."""

    def make(release: str, throttled: dict[str, Any]) -> Path:
        folder = Path(shutil.copytree(RELEASES / release, tmp_path / release))
        file = folder / "machine.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "throttled": throttled}))
        return folder

    return make


def names(release: str) -> list[str]:
    """The names of a release's runs, as a campaign knows them."""
    logs = sorted((RELEASES / release).rglob("*.log"))
    assert len(logs) == 5
    return [log.relative_to(RELEASES / release).as_posix().removesuffix(".log") for log in logs]


def test_the_run_and_its_case_say_so(side: Make) -> None:
    second = names("2.13.0")[1]
    folder = side("2.13.0", {second: [POWER, QUOTA], "pytorch/elsewhere": [POWER]})
    (case,) = extracted(folder).cases
    note = f"{Path(second).name} was throttled while it ran: {POWER}; {QUOTA}"
    slowed = [run for run in case.runs if note in texts(run.notes)]
    assert [Path(run.log.path).stem for run in slowed] == [Path(second).name]
    assert [text for text in texts(case.notes) if "throttled" in text] == [note]
    (plain,) = extracted(RELEASES / "2.13.0").cases
    assert case.throughput.value == plain.throughput.value
    assert not [text for text in texts(plain.notes) if "throttled" in text]


@pytest.mark.parametrize(
    ("folders", "path", "expected"),
    [
        (("1n1g", "cnn"), "logs/cnn/1n1g/a.log", "a was throttled while it ran: hot"),
        (("1n1g", "cnn"), "logs/cnn/1n1g/a.log.failed", "a was throttled while it ran: hot"),
        (("1n1g", "cnn"), "s3://bucket/cnn/1n1g/a.log.gz", "a was throttled while it ran: hot"),
        (("1n1g", "cnn"), "logs/cnn/1n1g/b.log", ""),
        (("1n1g", "x", "cnn"), "logs/cnn/x/1n1g/a.log", ""),
        ((), "logs/a.log", ""),
    ],
)
def test_a_run_is_known_by_its_path_below_the_file(folders: Sequence[str], path: str, expected: str) -> None:
    machine = Machine("machine.json", {"throttled": {"cnn/1n1g/a": ["hot"]}}, tuple(folders))
    assert throttling_note(machine, path) == expected


@pytest.mark.parametrize("throttled", [None, [], {}, 3, "a", {"a": "hot"}, {"a": []}, {"a": [1]}, {"a": None}])
def test_what_another_program_wrote_there_is_no_finding(throttled: object) -> None:
    assert throttling_note(Machine("machine.json", {"throttled": throttled}), "logs/a.log") == ""
    assert throttling_note(None, "logs/a.log") == ""


def test_a_note_is_short_whatever_the_file_holds() -> None:
    machine = Machine("machine.json", {"throttled": {"a": ["x\n" * 10_000] * 100}})
    note = throttling_note(machine, "a.log")
    assert len(note) < 1_100
    assert "\n" not in note


@pytest.mark.long
def test_a_comparison_says_of_which_side_and_case(side: Make) -> None:
    first, second, *_ = names("2.13.0")
    old, new = side("2.12.1", {}), side("2.13.0", {first: [POWER], second: ["GPU 0: power cap in 7 of 8 samples"]})
    done = perflog("compare", str(old), str(new), "-w", "60", "-f", "json")
    (comparison,) = json.loads(done.stdout)["comparisons"]
    assert comparison["notes"][-1] == (
        "0 of 5 runs of the old side and 2 of 5 of the new one were throttled while they ran: what differs may be the "
        "state of the hardware"
    )
    (row,) = comparison["rows"]
    assert "new: 2 of 5 runs were throttled while they ran (GPU 0: power cap)" in row["notes"]
    text = " ".join(perflog("compare", str(old), str(new), "-w", "60").stdout.split())
    assert "2 of 5 runs were throttled while they ran (GPU 0: power cap)" in text
    none = perflog("compare", str(RELEASES / "2.12.1"), str(RELEASES / "2.13.0"), "-w", "60")
    assert "throttled" not in none.stdout


@pytest.mark.long
@pytest.mark.parametrize(("form", "language"), [("md", "en"), ("html", "en"), ("md", "zh")])
def test_a_report_says_how_many_and_names_them(side: Make, tmp_path: Path, form: str, language: str) -> None:
    first = names("2.13.0")[0]
    folder, file = side("2.13.0", {first: [POWER]}), tmp_path / f"report.{form}"
    done = perflog("report", str(folder), "-w", "60", "-o", str(file), "--lang", language)
    assert done.returncode == 0, done.stderr
    text = file.read_text(encoding="utf-8")
    count = "1 of 5 runs, while they ran" if language == "en" else "5 次运行中有 1 次"
    assert count in text
    assert f"{Path(first).name} was throttled while it ran: {POWER}" in text.replace("\\_", "_")


def test_parts_and_the_history_keep_it(side: Make, tmp_path: Path) -> None:
    folder = side("2.13.0", {names("2.13.0")[0]: [POWER]})
    part, database = tmp_path / "part.parquet", f"sqlite:///{tmp_path / 'history.db'}"
    assert perflog("extract", str(folder), "--shard", "1/1", "-o", str(part)).returncode == 0
    assert POWER in perflog("merge", str(part), "-f", "json").stdout
    saved = perflog("save", str(folder), "--label", "new", env={"PERFLOG_DATABASE": database})
    assert saved.returncode == 0, saved.stderr
    done = perflog("compare", str(RELEASES / "2.12.1"), "new", "-f", "json", env={"PERFLOG_DATABASE": database})
    (comparison,) = json.loads(done.stdout)["comparisons"]
    assert any(note.startswith("0 of 5 runs of the old side and 1 of 5 of the new one") for note in comparison["notes"])
