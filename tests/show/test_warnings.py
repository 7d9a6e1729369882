"""A number carries its own warning: what it may be stands in its cell, and a number that is open leads nothing."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from perflog.cli import app
from perflog.notes import Note, label_of, mark_of, merged
from tests.campaigns import write_run
from tests.support import FIXTURES

#: Rates of steps: every ninth takes 2.7 times as long (99 steps in 88 + 11 · 2.7 s of 100 images: 84.1 images/s).
UNEVEN = [100.0] * 20 + [100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100 / 2.7] * 11
#: A hundred steps of a second, in whose middle one takes 60: 100 in 159 s.
STALLED = [100.0] * 70 + [100 / 60] + [100.0] * 49
STEADY = [100.0] * 120


def printed(*words: str | Path) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code in (0, 3), done.output
    return done.stdout


def cases_of(*words: str | Path) -> list[dict[str, Any]]:
    return list(json.loads(printed("extract", *words, "-f", "json"))["cases"])


def logs_of(folder: Path, one: list[float], eight: list[float]) -> Path:
    write_run(folder / "1n1g/rn50_b100_fp32_1.log", one)
    write_run(folder / "1n8g/rn50_b100_fp32_1.log", [8 * rate for rate in eight])
    return folder


def test_records_that_are_not_alike_are_marked_whatever_the_shape(tmp_path: Path) -> None:
    """The total and the median of the records differ by 19 %: both are given, and no speedup."""
    one, eight = cases_of(logs_of(tmp_path, STEADY, UNEVEN))
    total = 800 * 99 / (88 + 11 * 2.7)
    assert eight["metrics"]["throughput"]["value"] == pytest.approx(total, rel=1e-3)
    assert eight["mark"]["other"] == pytest.approx(800, rel=1e-3)
    assert eight["mark"]["effect"] == pytest.approx(800 / total - 1, rel=1e-2)
    assert (eight["mark"]["label"], eight["mark"]["undecided"], one["mark"]) == ("by the median", True, None)
    assert eight["speedup"] is None and "--estimator median" in eight["notes"][-1]["text"]
    for words in (("-e", "total"), ("-e", "median")):
        decided = cases_of(tmp_path, *words)[1]
        assert decided["speedup"] == pytest.approx((total if "total" in words else 800) / 100, rel=1e-3)


def test_up_to_five_per_cent_the_median_is_no_other_number(tmp_path: Path) -> None:
    """One step in twenty that takes twice as long moves the total by 4.8 %."""
    logs = logs_of(tmp_path, STEADY, [100.0] * 20 + ([100.0] * 19 + [50.0]) * 5)
    assert [case["mark"] for case in cases_of(logs)] == [None, None]


def test_a_stalled_step_is_named_and_can_be_left_out(tmp_path: Path) -> None:
    logs = logs_of(tmp_path, STEADY, STALLED)
    marked = cases_of(logs)[1]
    assert (marked["mark"]["label"], marked["mark"]["undecided"]) == ("without line 71", True)
    assert marked["mark"]["other"] == pytest.approx(800, rel=1e-3) and marked["speedup"] is None
    without = cases_of(logs, "--without-slow")[1]
    assert without["metrics"]["throughput"]["value"] == pytest.approx(marked["mark"]["other"])
    assert without["speedup"] == pytest.approx(8, rel=1e-3) and without["mark"] is None
    (run,) = without["runs"]
    assert run["metrics"]["throughput"]["excluded"] == {"warm-up": 20, "slow": 1}
    assert run["metrics"]["throughput"]["used"] == 99


@pytest.mark.parametrize(("estimator", "rate"), [("last", 800.0), ("median", 800.0), ("trimmed", 800.0)])
def test_an_estimate_of_other_records_than_all_bears_the_total(estimator: str, rate: float, tmp_path: Path) -> None:
    """What was asked for is given, leads what it leads, and says what all records together give."""
    eight = cases_of(logs_of(tmp_path, STEADY, STALLED), "-e", estimator)[1]
    assert eight["metrics"]["throughput"]["value"] == pytest.approx(rate, rel=1e-3)
    assert (eight["mark"]["label"], eight["mark"]["undecided"]) == ("by the total", False)
    assert eight["mark"]["other"] == pytest.approx(800 * 100 / 159, rel=1e-3)
    assert eight["speedup"] == pytest.approx(8, rel=1e-3)


def test_a_slow_last_record_is_no_silent_last(tmp_path: Path) -> None:
    eight = cases_of(logs_of(tmp_path, STEADY, [*STEADY, 25.0]), "-e", "last")[1]
    assert eight["metrics"]["throughput"]["value"] == pytest.approx(200, rel=1e-3)
    assert eight["mark"]["other"] == pytest.approx(800 * 101 / 104, rel=1e-3)


def test_every_output_shows_both_numbers(tmp_path: Path) -> None:
    logs = logs_of(tmp_path, STEADY, STALLED)
    total = f"{cases_of(logs)[1]['metrics']['throughput']['value']:.2f}"
    assert float(total) == pytest.approx(800 * 100 / 159, rel=1e-3)
    cell = f"{total} ⚠ or 800.00 without line 71"
    assert cell in printed("extract", logs)
    assert cell in printed("extract", logs, "--no-notes")
    markdown = printed("extract", logs, "-f", "markdown")
    assert cell in markdown and "the logs leave open which of two numbers it has" in markdown
    assert f"{total} ⚠ or 800.00 without line 71" in printed("table", logs, "--rows", "devices")
    assert f"{total} ⚠ 或 800.00 不计第 71 行" in printed("table", logs, "--rows", "devices", "--lang", "zh")
    assert r"\textbf{!} or 800" in printed("table", logs, "--rows", "devices", "-f", "latex")
    decided = printed("extract", logs, "--baseline", "devices=1", "-e", "total")
    assert f"{total} ⚠ 800.00 without line 71" in decided and "5.03 ⚠ 8.00" in decided and "62.9% ⚠" in decided
    row = list(csv.DictReader(printed("extract", logs, "-f", "csv").splitlines()))[1]
    assert float(row["other"]) == pytest.approx(800, rel=1e-3) and row["other_how"] == "without line 71"
    assert row["undecided"] == "true" and float(row["effect"]) == pytest.approx(0.59, abs=0.001)
    page = tmp_path / "page.html"
    printed("report", logs, "-o", page, "-q")
    assert '<td class="first undecided"' in page.read_text(encoding="utf-8")
    assert '<span class="beside">⚠ or 800.00 without line 71</span>' in page.read_text(encoding="utf-8")


def test_an_open_number_leads_no_verdict(tmp_path: Path) -> None:
    for side, rates in (("old", STEADY), ("new", STALLED)):
        for run in range(1, 6):
            own = [rate * (1 + run / 1000) for rate in rates]
            write_run(tmp_path / side / f"1n1g/rn50_b100_fp32_{run}.log", own)
    sides = [tmp_path / "old", tmp_path / "new"]

    def row(*words: str) -> dict[str, Any]:
        comparison = json.loads(printed("compare", *sides, *words, "-f", "json"))["comparisons"][0]
        return dict(comparison["rows"][0])

    open_row, total, without = row(), row("-e", "total"), row("--without-slow")
    assert (open_row["verdict"], open_row["ratio"]) == ("not enough data", None)
    assert "the logs leave open which of two numbers the new side has" in open_row["reason"]
    assert (total["verdict"], without["verdict"]) == ("slower", "same")
    assert total["other_ratio"] == pytest.approx(1, abs=0.001) and total["new"]["other"] == pytest.approx(100, rel=0.01)
    assert "⚠ 0.0 %" in printed("compare", *sides, "-e", "total", "--wide")


@pytest.mark.parametrize("logs", ["seed000", "seed001", "seed002", "seed003", "seed004", "example"])
@pytest.mark.parametrize("command", [("extract",), ("extract", "-f", "markdown")])
def test_words_below_a_table_are_a_quarter_of_its_own_at_most(
    logs: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    """The line that says how the numbers were made is the table's own; what is below it are notes."""
    folder = FIXTURES / logs
    if logs == "example":
        folder = tmp_path / "logs"
        printed("example", folder)
    text = printed(command[0], folder, *command[1:], "-q")
    table, made, notes = text.partition("median over n runs;")
    made, _, notes = (made + notes).partition("\n")
    words = [len([word for word in part.split() if word.strip("─|:-")]) for part in (table + made, notes)]
    assert words[1] <= words[0] / 4, text


def test_of_several_lines_each_is_one_that_holds_much_alone() -> None:
    said = [f"line {line} alone holds {share}% of the measured time" for line, share in ((6, 25), (11, 10))]
    assert merged(said) == ["one line (6 to 11) alone holds 10 to 25% of the measured time"]


def test_sentences_that_differ_in_numbers_are_one() -> None:
    assert merged(["line 5 is 1 s", "line 9 is 3 s", "MSER-5 in rn50", "MSER-6 in rn50"]) == [
        "lines 5 to 9 is 1 to 3 s", "MSER-5 in rn50", "MSER-6 in rn50",
    ]  # fmt: skip
    assert merged(["lines 5 to 8", "lines 9 to 18"]) == ["lines 5 to 18"]
    assert merged(["−2 % to 3 % off", "−1 % to 4 % off"]) == ["−2 to 4 % off"]


def test_the_mark_is_the_note_that_moves_the_number_most() -> None:
    notes = [Note.of_number("a", value=100, other=other) for other in (101, 95, 106)]
    assert [note.is_mark for note in notes] == [False, True, True]
    assert mark_of(notes) is notes[2] and mark_of(notes[:1]) is None
    assert mark_of([*notes, Note("b", "number", 0.5)]) is notes[2]  # without the other number
    undecided = Note.of_number("c", value=100, other=89, undecided=True)
    assert undecided.is_open and mark_of([*notes, undecided, notes[2]]) is undecided
    assert Note.of_number("d", value=None, other=3) == Note.of_number("d", value=0, other=3) == Note("d")
    assert Note("e", "number", 0.5).at(100).other == 150
    labels = [Note("", label=label) for label in ("without line 7", "without line 9", "by the median")]
    assert [label_of(labels[:1]), label_of(labels[:2]), label_of(labels)] == [
        "without line 7", "without one line each", "by the notes",
    ]  # fmt: skip
