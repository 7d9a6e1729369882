"""The table of cases and tables of texts: what fits a terminal, and that nothing in them is ever cut."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.cases.case import Case, Summary
from perflog.errors import UsageError
from perflog.extraction import Extraction, extract_paths
from perflog.notes import Note
from perflog.settings.options import Options
from perflog.show.case_table import Shown, case_table, in_order
from perflog.show.text import TextTable, to_markdown, to_terminal
from tests.support import FIXTURES

BZ128 = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128"


def case(value: float | None, low: float | None = None, high: float | None = None, **key: object) -> Case:
    """A case of five runs' worth of numbers, without the runs."""
    throughput = Summary("throughput", "samples/s", "median", 0, value, low, high, None if low is None else 0.9375)
    return Case({name: str(text) for name, text in key.items()}, "", [], {"throughput": throughput}, "total", "warm-up")


def shown(*cases: Case, **look: object) -> TextTable:
    return case_table(Extraction(list(cases), [], Options()), Shown(**look))  # type: ignore[arg-type]


def test_what_is_constant_stands_above_and_the_interval_in_per_cent() -> None:
    table = shown(
        case(200.0, 198.0, 203.0, framework="A", model="m", devices=1),
        case(1000.0, 999.9, 1000.0, framework="A", model="m", devices=8),
    )
    assert table.heading == "A m, throughput in samples/s"
    assert table.titles == ["devices", "n", "throughput", "interval"]
    assert table.rows == [["1", "0", "200.00", "±1.5 %"], ["8", "0", "1000.00", "±0.010 %"]]
    assert "±: the farther end of the interval of the median, at a level of 93.75 %" in table.footnotes


def test_one_case_keeps_its_columns() -> None:
    table = shown(case(200.0, framework="A", devices=1))
    assert table.heading == ""
    assert table.titles == ["framework", "devices", "n", "throughput", "unit"], "empty columns are left out"


def test_a_value_without_throughput_has_the_programs_own_summary_in_its_row() -> None:
    without = case(None, model="b")
    without.metrics["reported"] = Summary("reported", "images/s", "median", 1, 58.56)
    without.metrics["step_time"] = Summary("step_time", "s", "median", 1, 0.25)
    table = shown(case(12.0, model="a"), without)
    assert table.titles == ["model", "n", "throughput", "reported"]
    assert table.rows == [["a", "0", "12.00", ""], ["b", "0", "no value", "58.56 images/s"]]
    del without.metrics["reported"]
    assert shown(case(12.0, model="a"), without).rows[1] == ["b", "0", "no value", "0.25 s"]


def test_wide_shows_every_column_and_the_ends() -> None:
    table = shown(case(200.0, 198.0, 203.0, model="a"), case(None, model="a", devices=2), wide=True)
    assert table.titles == ["model", "devices", "n", "throughput", "unit", "interval", "speedup", "efficiency", "notes"]
    assert table.rows[0] == ["a", "", "0", "200.00", "samples/s", "[198.00, 203.00] 93.75%", "", "", ""]


def test_columns_are_those_asked_for_and_the_notes() -> None:
    noted = case(200.0, model="a", devices=1)
    noted.notes.append(Note.of_case("a doubt"))
    assert shown(noted, columns=("throughput", "model")).titles == ["throughput", "model", "notes"]
    assert shown(case(1.0), columns=("throughput",)).titles == ["throughput"]
    assert shown(case(1.0), columns=("throughput",)).heading == "throughput in samples/s"
    other = case(1.0)
    other.metrics["throughput"].unit = "tokens/s"
    assert shown(case(1.0), other, columns=("throughput", "n")).titles == ["throughput", "unit", "n"]
    with pytest.raises(UsageError, match="--columns 'modle': no case has such a field; did you mean model"):
        shown(noted, columns=("modle",))
    with pytest.raises(UsageError, match="did you mean throughput"):
        shown(noted, columns=("thr",))


def test_the_order_of_cases() -> None:
    cases = [case(3.0, devices=8, model="b"), case(1.0, devices=16, model="a"), case(None, devices=1, model="b")]
    assert [c.key["devices"] for c in in_order(cases, "throughput")] == ["16", "8", "1"], "what has none stands last"
    assert [c.key["devices"] for c in in_order(cases, "-throughput")] == ["8", "16", "1"]
    assert [c.key["devices"] for c in in_order(cases, "model,-devices")] == ["16", "8", "1"]
    with pytest.raises(UsageError, match="--sort 'devcies': no case has such a field; did you mean devices"):
        in_order(cases, "devcies")


TABLE = TextTable(
    ["case", "n", "value", "verdict", "notes"],
    [["one long name", "5", "10.25", "no value", ""], ["two", "5", "9.50", "faster", "1"]],
    [False, True, True, False, False],
    ["1. a note that is rather long, so that it needs several lines"],
    "how it was made",
)


def test_a_table_becomes_narrower_step_by_step() -> None:
    wide = to_terminal(TABLE, 60, False)
    assert wide.splitlines()[0] == "case            n   value   verdict    notes"
    assert to_terminal(TABLE, 41, False).splitlines()[0] == "case           n  value  verdict   notes"
    narrow = to_terminal(TABLE, 38, False).splitlines()
    assert narrow[:2] == ["n 5", "case           value  verdict   notes"]
    assert narrow[-2:] == ["1. a note that is rather long, so that", "it needs several lines"]
    blocks = to_terminal(TABLE, 25, False).splitlines()
    assert blocks[:5] == ["one long name", "  n        5", "  value    10.25", "  verdict  no value", ""]


def test_colours_stand_on_terminals_alone() -> None:
    assert "\x1b[1;31mno value\x1b[0m" in to_terminal(TABLE, 80, True)
    assert "\x1b" not in to_terminal(TABLE, 80, False)
    hostile = dataclasses.replace(TABLE, rows=[["a\x1b[31m", "1", "2", "3", "4"]])
    assert "\\x1b[31m" in to_terminal(hostile, None, True)


@given(st.integers(1, 60), st.lists(st.lists(st.text("abcdefgh .%", max_size=12), min_size=4, max_size=4), max_size=4))
def test_no_word_is_ever_cut(width: int, rows: list[list[str]]) -> None:
    rows = [[" ".join(cell.split()) for cell in row] for row in rows]
    table = TextTable(["case", "n", "value", "notes"], rows, [False, True, True, False], [], "made so")
    printed = to_terminal(table, width, False)
    words = set(printed.replace(",", " ").split())
    assert {word for row in rows for cell in row for word in cell.split()} <= words
    longest = max((len(word) for word in itertools.chain(words, ["x"])), default=1)
    in_blocks = max(longest + 9, width)
    assert all(len(line) <= max(width, in_blocks) for line in printed.splitlines())


def test_the_campaign_of_the_demo_fits_80_columns() -> None:
    table = case_table(extract_paths([BZ128], Options()))
    lines = to_terminal(table, 80, False).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "MindSpore rn50 fp32, batch/device 128, throughput in samples/s"
    assert sum(line.startswith(" ") for line in lines) >= 6, "a row is one line"
    assert max(len(line) for line in to_terminal(table, 40, False).splitlines()) <= 40


def test_markdown_has_the_heading_escaped() -> None:
    table = TextTable(["a"], [["1"]], [True], heading="m|x")
    assert to_markdown(table).startswith("m\\|x\n\n|")
