"""``perflog example`` writes logs that give numbers, and never into a folder that holds something."""

from __future__ import annotations

from pathlib import Path

import pytest

import perflog
from perflog.errors import UsageError
from perflog.example import PARTS, write_example
from perflog.resources import folder
from tests import forks


def test_the_example_is_what_was_logged_and_begins_quietly(tmp_path: Path) -> None:
    counts = write_example(tmp_path / "try")
    assert counts == {"scaling": 30, "logs": 24, "2.12.1": 5, "2.13.0": 5}
    for name, part in PARTS.items():
        written = {file.relative_to(tmp_path / "try" / name): file for file in (tmp_path / "try" / name).rglob("*.log")}
        assert len(written) == counts[name]
        assert all((folder("example") / part / key).read_bytes() == file.read_bytes() for key, file in written.items())
    cases = perflog.extract(tmp_path / "try/logs").cases
    assert len(cases) == 8 and cases["throughput"].null_count() == 0
    first = forks.perflog("extract", str(tmp_path / "try/scaling"))
    assert (first.returncode, first.stderr) == (0, "")
    assert "10553.90    ±0.32 %     29.04 ±0.56 %" in first.stdout and "⚠" not in first.stdout


def test_a_folder_that_holds_something_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for place in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(UsageError, match="is not an empty folder: name one that is not there yet"):
            write_example(place)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.long
def test_the_command_says_what_to_do_next(tmp_path: Path) -> None:
    place = tmp_path / "a b"
    done = forks.perflog("example", str(place))
    assert done.returncode == 0
    assert done.stdout == (
        f"wrote {place}/scaling (30 logs), {place}/logs (24 logs), {place}/2.12.1 (5 logs), {place}/2.13.0 (5 logs)\n"
        f"next: perflog extract '{place}'/scaling\n"
    )
    again = forks.perflog("example", str(place))
    assert again.returncode == 2 and "is not an empty folder" in again.stderr
