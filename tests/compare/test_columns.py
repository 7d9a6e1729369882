"""The table of a comparison as the user asks for it: the order of its rows, and its columns."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from perflog.cli import app
from perflog.compare.outputs import LONGEST, comment
from perflog.compare.page import html_page
from perflog.compare.table import comparison_table
from perflog.show.case_table import Shown
from perflog.stats.verdict import Verdict
from tests.campaigns import write_campaign
from tests.compare.test_outputs import comparison_of, row_of
from tests.compare.test_table import shifted


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two sides of three cases, whose runs were made in turn: 5 % slower, the same, and 10 % faster."""
    folder = tmp_path_factory.mktemp("sides")
    rates = {"1n1g": (130.0, 123.5), "1n4g": (500.0, 500.0), "1n8g": (1000.0, 1100.0)}
    for place, side in enumerate(("old", "new")):
        cases = {f"{folder}/rn50_b128_fp32": values[place] for folder, values in rates.items()}
        shifted(write_campaign(folder / side, cases, seed=place), {n: n + place / 2 for n in range(1, 6)})
    return folder / "old", folder / "new"


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def cells(*arguments: object) -> list[list[str]]:
    """The headings and rows of the table, where no cell but the last has a blank."""
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    text = done.stdout.partition("\n\n")[2].partition("throughput in")[0]
    return [line.split() for line in text.splitlines() if line and not line.startswith("─")]


def test_rows_are_sorted_and_nothing_else_changes(sides: tuple[Path, Path]) -> None:
    assert [row[0] for row in cells(*sides, "--sort", "-change", "--columns", "devices,verdict")[1:]] == ["8", "4", "1"]
    (plain,) = json.loads(run(*sides, "-f", "json").stdout)["comparisons"]
    plain_rows = sorted(plain.pop("rows"), key=str)
    for order, devices in (
        ("-change", [8, 4, 1]),
        ("ratio", [1, 4, 8]),
        ("-devices", [8, 4, 1]),
        ("median_new", [1, 4, 8]),
        ("verdict,-devices", [8, 4, 1]),
        ("-verdict", [1, 4, 8]),
    ):
        (sorted_one,) = json.loads(run(*sides, "-f", "json", "--sort", order).stdout)["comparisons"]
        rows = sorted_one.pop("rows")
        assert [row["case"]["devices"] for row in rows] == devices, order
        assert sorted(rows, key=str) == plain_rows and sorted_one == plain


def test_columns_in_the_order_asked_for(sides: tuple[Path, Path]) -> None:
    assert cells(*sides, "--columns", "n,devices,median_old")[0] == ["n", "devices", "old"]
    rows = list(csv.reader(io.StringIO(run(*sides, "--columns", "devices,verdict", "-f", "csv").stdout)))
    assert rows == [["devices", "verdict"], ["1", "slower"], ["4", "same"], ["8", "faster"]]
    assert "|   devices | verdict" in run(*sides, "--columns", "devices,verdict", "-f", "markdown").stdout


def test_rows_that_their_label_alone_tells_apart_are_so_in_csv_too(tmp_path: Path) -> None:
    cases = {f"{label}/1n8g/rn50_b128_fp32": 1000.0 for label in ("eager", "xla")}
    sides = [write_campaign(tmp_path / side, cases, seed=place) for place, side in enumerate(("old", "new"))]
    rows = list(csv.DictReader(io.StringIO(run(*sides, "-f", "csv").stdout)))
    assert {row["label"].rpartition("/")[2] for row in rows} == {"eager", "xla"}


def test_wide_has_a_column_for_each_field(sides: tuple[Path, Path]) -> None:
    headings = cells(*sides, "--wide")[0]
    assert {"framework", "model", "precision", "devices", "old", "new", "ratio"} <= set(headings)
    assert "case" not in headings


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--columns", "devcies"], "--columns 'devcies': no case has such a field; did you mean devices?"),
        (["--sort", "-chnage"], "--sort 'chnage': no case has such a field; did you mean change?"),
        (["--columns", "verdikt", "-f", "csv"], "--columns 'verdikt': no case has such a field; did you mean verdict?"),
    ],
)
def test_a_wrong_name_has_the_near_one(sides: tuple[Path, Path], words: list[str], message: str) -> None:
    assert message in str(run(*sides, *words).exception)


def test_fields_are_known_where_nothing_could_be_paired(tmp_path: Path) -> None:
    for side, place in (("old", "1n1g"), ("new", "1n8g")):
        write_campaign(tmp_path / side, {f"{place}/rn50_b128_fp32": 100.0})
    done = run(tmp_path / "old", tmp_path / "new", "--sort", "-devices", "--columns", "devices,change")
    assert done.exit_code == 3 and "not compared: " in done.stdout


def test_notes_always_come_along() -> None:
    noted = comparison_of(row_of("a", 0.0, Verdict.SAME, ("a doubt",)))
    table = comparison_table(noted, shown=Shown(columns=("model",)))
    assert (table.titles, table.rows[0][1]) == (["model", "notes"], "1")


def test_where_units_differ_each_row_has_its_own() -> None:
    images = row_of("a", 0.0, Verdict.SAME)
    mixed = comparison_of(images, replace(row_of("b", 0.0, Verdict.SAME), unit="tokens/s"))
    for shown in (Shown(), Shown(columns=("case", "median_old"))):
        table = comparison_table(mixed, shown=shown)
        place = table.titles.index("unit")
        assert [row[place] for row in table.rows] == ["samples/s", "tokens/s"]
    assert "unit" not in comparison_table(comparison_of(images)).titles
    text = html_page([mixed]).decode()
    assert "100.00 samples/s" in text and "100.00 tokens/s" in text


def test_a_field_that_the_sides_differ_in_shows_both() -> None:
    row = row_of("a", 0.0, Verdict.SAME)
    new = replace(row.pair.new, key={**row.pair.new.key, "framework_version": "2.1"})
    old = replace(row.pair.old, key={**row.pair.old.key, "framework_version": "2.0"})
    table = comparison_table(
        comparison_of(replace(row, pair=replace(row.pair, old=old, new=new))), shown=Shown(("framework_version",))
    )
    assert table.rows[0][0] == "2.0 → 2.1"


#: Notes that differ in numbers alone are one.
_LETTERS = str.maketrans("0123456789", "abcdefghij")


def test_a_long_comment_with_other_columns_keeps_the_notes_of_its_rows() -> None:
    rows = [
        row_of(f"steady{n}", 0.001, Verdict.SAME, (f"a note of the row {str(n).translate(_LETTERS)}{'.' * 100}",))
        for n in range(600)
    ]
    text = comment([comparison_of(*rows)], "m", shown=Shown(columns=("notes", "model")))
    assert len(text) <= LONGEST and "Rows left out" in text
    shown = text.count("\n|") - 2
    assert shown > 100 and text.count("a note of the row") == shown


def test_a_long_comment_numbers_the_notes_that_are_left_anew() -> None:
    """A list of Markdown counts on from its first number, whatever the numbers of its other lines."""
    rows = [row_of(f"steady{n}", 0.001, Verdict.SAME, (f"of steady{n}",)) for n in range(700)]
    rows[500] = row_of("slow", -0.1, Verdict.SLOWER, ("of slow", "of steady0"))
    lines = comment([comparison_of(*rows)], "m").splitlines()
    notes = [line.partition(". ") for line in lines if re.match(r"\d+\. ", line)]
    assert [int(number) for number, _, _ in notes] == list(range(1, len(notes) + 1))
    said = {number: note for number, _, note in notes}
    cells_of_rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")][1:]
    assert len(cells_of_rows) > 100
    for name, *_, marks in cells_of_rows:
        wanted = ["of slow", "of steady0"] if name == "slow" else [f"of {name}"]
        assert sorted(said[mark] for mark in marks.split(",")) == wanted


def test_a_long_comment_without_notes_is_shortened_too() -> None:
    rows = [row_of(f"steady{n}{'.' * 100}", 0.001, Verdict.SAME) for n in range(600)]
    text = comment([comparison_of(*rows)], "m", shown=Shown(columns=("model", "verdict")))
    assert len(text) <= LONGEST and "Rows left out" in text and "notes" not in text
