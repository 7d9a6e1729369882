"""The table of cases and tables of texts: what fits a terminal, and that nothing in them is ever cut."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from perflog.cases.case import Case, Summary, short_labels
from perflog.cases.choosing import names_of_one
from perflog.cli import app
from perflog.errors import UsageError
from perflog.extraction import Extraction, extract_paths
from perflog.notes import Note
from perflog.settings.options import Options
from perflog.show.case_table import Shown, case_tables
from perflog.show.encoding import encoded
from perflog.show.fields import in_order
from perflog.show.text import TextTable, number, to_markdown, to_people, to_terminal
from tests.support import CORPUS, FIXTURES

BZ128 = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128"


def case(value: float | None, low: float | None = None, high: float | None = None, **key: object) -> Case:
    """A case of five runs' worth of numbers, without the runs."""
    throughput = Summary("throughput", "samples/s", "median", 0, value, low, high, None if low is None else 0.9375)
    return Case({name: str(text) for name, text in key.items()}, "", [], {"throughput": throughput}, "total", "warm-up")


def shown(*cases: Case, **look: object) -> TextTable:
    (table,) = case_tables(Extraction(list(cases), [], Options()), Shown(**look))  # type: ignore[arg-type]
    return table


def test_what_is_constant_stands_above_and_the_interval_in_per_cent() -> None:
    table = shown(
        case(200.0, 198.0, 203.0, framework="A", model="m", devices=1),
        case(1000.0, 999.9, 1000.0, framework="A", model="m", devices=8),
    )
    assert table.heading == "A m, n 0, throughput in samples/s"
    assert table.titles == ["devices", "throughput", "interval"]
    assert table.rows == [["1", "200.00", "±1.5 %"], ["8", "1000.00", "±0.010 %"]]
    assert table.caption.endswith("±: the farther end of the interval of the median, at a level of 93.75 %.")


def test_one_case_keeps_its_columns() -> None:
    table = shown(case(200.0, framework="A", devices=1))
    assert table.heading == ""
    assert table.titles == ["framework", "devices", "n", "throughput", "unit"], "empty columns are left out"


def test_a_value_without_throughput_has_the_programs_own_summary_in_its_row() -> None:
    with_both, without = case(12.0, devices=1), case(None, devices=2)
    for one, value in ((with_both, 11.9), (without, 58.56)):
        one.metrics["reported"] = Summary("reported", "images/s", "median", 1, value)
    without.metrics["step_time"] = Summary("step_time", "s", "median", 1, 0.25)
    table = shown(with_both, without)
    assert table.titles == ["devices", "throughput", "reported"]
    assert table.rows == [["1", "12.00", ""], ["2", "no value", "58.56 images/s"]]
    without.metrics["reported"].unit = "samples/s"
    assert shown(with_both, without).rows[1] == ["2", "no value", "58.56"], "the unit is that of the row"
    del without.metrics["reported"]
    assert shown(with_both, without).rows[1] == ["2", "no value", "0.25 s"]


def grouped(*cases: Case, width: int | None = None) -> list[TextTable]:
    return case_tables(Extraction(list(cases), [], Options()), Shown(), width)


def of_model(model: str, devices: Sequence[int], **key: Any) -> list[Case]:
    return [case(100.0 * count, model=model, devices=count, **key) for count in devices]


def test_a_model_and_a_unit_is_a_table_and_models_with_few_cases_stand_together() -> None:
    tables = grouped(*of_model("a", [1, 2, 4]), *of_model("b", [1]), *of_model("c", [2, 8]))
    assert [table.heading for table in tables] == ["a, n 0, throughput in samples/s", "n 0, throughput in samples/s"]
    assert [row[0] for row in tables[1].rows] == ["b", "c"], "a row has its devices across"
    assert [bool(table.caption) for table in tables] == [False, True], "what is said of all stands below the last"


def test_a_model_has_one_table_however_it_is_spelt() -> None:
    (table,) = grouped(*of_model("ResNet50", [1, 2]), *of_model("resnet50", [4]))
    assert table.heading.startswith("ResNet50/resnet50, ") and "model" not in table.titles


@pytest.mark.parametrize(
    ("models", "offered"),
    [
        (["Bert", "bert_base"], {"bert_base": "Bert"}),
        (["ResNet50", "resnet50"], {"resnet50": "ResNet50"}),
        (["ResNet-50", "resnet_50"], {"resnet_50": "ResNet-50"}),
        (["resnet50", "resnet101"], {}),
        (["bert_base", "bert_large"], {}),
        (["bert", "bert_base", "bert_large"], {}),
        (["llama-2-7b", "llama-27b"], {}),
        (["base", "large"], {}),
    ],
)
def test_models_of_one_name_are_offered_as_one(models: list[str], offered: dict[str, str]) -> None:
    cases = [case(1.0, model=model) for model in models]
    assert names_of_one(cases) == offered
    (*_, last) = case_tables(Extraction(cases, [], Options()))
    said = [f'`"{name}" = "{other}"`' for name, other in offered.items()]
    assert ("[aliases]: " in last.caption, re.findall("`.*?`", last.caption)) == (bool(offered), said)


def test_devices_or_versions_stand_across_where_each_row_has_them() -> None:
    cases = [*of_model("m", [1, 8], precision="fp32"), *of_model("m", [1, 8], precision="amp")]
    (table,) = grouped(*cases)
    assert table.titles == ["precision", "1 device", "8 devices"]
    assert table.rows == [["fp32", "100.00", "800.00"], ["amp", "100.00", "800.00"]]
    (narrow,) = grouped(*cases, width=20)
    assert narrow.titles == ["precision", "devices", "throughput"], "where there is no room, a line a configuration"
    cases[3].base, cases[3].speedup = cases[2], 8.0
    cases[2].base, cases[2].speedup = cases[2], 1.0
    assert grouped(*cases)[0].titles == ["precision", "1 device", "8 devices", "speedup"], "of the base it says nothing"
    versions = [case(1.0, model="m", precision=one, framework_version=v) for one in ("amp", "fp32") for v in "12"]
    assert grouped(*versions)[0].titles == ["precision", "1", "2"]
    assert "devices" in grouped(*of_model("m", [1, 2, 4]))[0].titles, "one row is no table"


def test_what_holds_of_all_cases_but_one_that_has_no_number_stands_above() -> None:
    """A case without a number has no unit, and one node is no news."""
    cases = of_model("m", [1, 2, 4], nodes=1, precision="amp")
    cases[2].metrics["throughput"].value, cases[2].metrics["throughput"].unit = None, ""
    (table,) = grouped(*cases)
    assert (table.heading, table.titles) == ("m amp, n 0, throughput in samples/s", ["devices", "throughput"])
    assert [row[1] for row in table.rows] == ["100.00", "200.00", "no value"], "in the order of the cases"
    cases[1].key["nodes"] = 2
    assert "nodes" in grouped(*cases)[0].titles
    alike = [*of_model("m", [1], nodes=1), *of_model("m", [1]), *of_model("m", [2])]
    assert "nodes" in grouped(*alike)[0].titles, "unknown and one are two, where nothing else tells the cases apart"


def test_cases_stand_in_their_order_whether_they_have_a_number_or_not() -> None:
    cases = of_model("m", [1, 2, 4])
    cases[0].metrics["throughput"].value, cases[0].metrics["throughput"].unit = None, ""
    assert [row[0] for row in grouped(*cases)[0].rows] == ["1", "2", "4"]


def test_remarks_are_counted_in_rows_or_in_cases_where_a_row_has_several() -> None:
    cases = [*of_model("m", [1, 8], precision="fp32"), *of_model("m", [1, 8], precision="amp")]
    for one in cases:
        one.notes = [Note("a remark")]
    assert grouped(*cases)[0].caption.endswith("4 cases have smaller remarks: --notes")
    assert grouped(*cases, width=20)[0].caption.endswith("4 rows have smaller remarks: --notes")


def test_nothing_stands_across_where_it_would_hide_something_or_leave_holes() -> None:
    def titles(*cases: Case) -> list[str]:
        return grouped(*cases)[0].titles

    rows = [of_model("m", [1, 8], precision=precision) for precision in ("fp32", "amp", "fp16")]
    assert "devices" not in titles(*rows[0], *rows[1])
    rows[0][0].runs = rows[0][0].runs * 2 + [None]  # type: ignore[list-item]
    assert {"n", "devices"} <= {*titles(*rows[0], *rows[1])}, "the runs of each number differ"
    apart = [of_model("m", [count], precision=f"p{count}")[0] for count in (1, 2, 4, 8)]
    assert "devices" in titles(*apart), "a quarter of the cells would be filled"
    many = [*of_model("m", range(1, 8), precision="amp"), *of_model("m", range(1, 8), precision="fp32")]
    assert "devices" in titles(*many), "seven columns of numbers"


def test_notes_are_numbered_in_the_order_of_the_tables() -> None:
    few, many = of_model("a", [1]) + of_model("b", [1]), of_model("c", [1, 2, 4])
    few[0].notes, many[0].notes = [Note("first", "missing")], [Note("second", "missing")]
    tables = grouped(*few, *many)
    assert [[row[-1] for row in table.rows] for table in tables] == [["1", "", ""], ["2", ""]]
    assert tables[1].footnotes == ["1. second", "2. first"]


def test_models_are_offered_as_one_unless_no_notes_are_wanted() -> None:
    extraction = Extraction([case(1.0, model="Bert"), case(1.0, model="bert_base")], [], Options())
    assert ["[aliases]" in case_tables(extraction, Shown(notes=notes))[-1].caption for notes in (None, False)] == [
        True, False,
    ]  # fmt: skip


def test_a_table_that_goes_to_no_terminal_is_120_wide() -> None:
    done = CliRunner().invoke(app, ["extract", str(FIXTURES / "campaign"), "--quiet"])
    assert 80 < max(map(len, done.stdout.splitlines())) <= 120


def test_folders_that_all_labels_share_are_left_out_however_far_up_they_begin() -> None:
    labels = ["home/me/runs/mxnet/module", "me/runs/mxnet/repeats/module", "me/runs/torch/dll"]
    cases = [dataclasses.replace(case(1.0), label=label) for label in labels]
    assert short_labels(cases) == ["mxnet/module", "mxnet/repeats/module", "torch/dll"]
    clash = [dataclasses.replace(case(1.0), label=label) for label in ("home/me/runs/a", "me/runs/a")]
    assert short_labels(clash) == ["home/me/runs/a", "me/runs/a"], "two labels stay two"
    apart = [dataclasses.replace(case(1.0), label=label) for label in ("x/a", "y/b")]
    assert short_labels(apart) == ["x/a", "y/b"]


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
    folded = to_terminal(TABLE, 25, False).splitlines()
    assert folded[:6] == [
        "n 5",
        "  value  verdict   notes",
        "─" * 24,
        "case one long name",
        "  10.25  no value",
        "case two",
    ], "the name is a line of its own, and numbers stand below each other"
    blocks = to_terminal(TABLE, 16, False).splitlines()
    assert blocks[:5] == ["one long name", "  n        5", "  value    10.25", "  verdict  no", "           value"]


def test_the_warnings_of_a_row_stand_below_it_where_they_have_no_room_in_it() -> None:
    rows = [["a", "6192.00 ⚠ 10929.00 without line 71", "7.20 ⚠ 7.83"], ["b", "10.00", "1.00"]]
    table = TextTable(["case", "throughput", "speedup"], rows, [False, True, True])
    assert (
        to_terminal(table, 70, False).splitlines()[2] == "a         6192.00 ⚠ 10929.00 without line 71      7.20 ⚠ 7.83"
    )
    lines = to_terminal(table, 40, False).splitlines()
    assert lines[2:] == [
        "a        6192.00 ⚠     7.20 ⚠",
        "  ⚠ throughput 10929.00 without line",
        "  71, speedup 7.83",
        "b          10.00       1.00",
    ]


def test_intervals_stand_behind_their_numbers_where_they_have_no_room_of_their_own() -> None:
    rows = [["a", "5", "1063.00", "±48 %", "7.20 ⚠"], ["b", "3", "8.00 ⚠ 9.00 by the median", "±3.0 %", "1.00 ±2.0 %"]]
    table = TextTable(["case", "n", "value", "interval", "speedup"], rows, [False, *[True] * 4], behind=("interval",))
    assert [line[34:] for line in to_terminal(table, 70, False).splitlines()[2:]] == [
        "           ±48 %      7.20 ⚠",
        "edian     ±3.0 %      1.00 ±2.0 %",
    ], "numbers stand below each other whatever is behind them"
    assert to_terminal(table, 44, False).splitlines()[0] == "case  n    value           speedup"
    assert to_terminal(table, 44, False).splitlines()[2:] == [
        "a     5  1063.00 ±48 %        7.20 ⚠",
        "b     3     8.00 ±3.0 % ⚠     1.00 ±2.0 %",
        "  ⚠ value 9.00 by the median",
    ]


def test_what_few_rows_have_stands_below_them_where_it_has_no_room() -> None:
    rows = [
        ["MXNet", "", "10.25", ""],
        ["PyTorch", "2", "9.50 ⚠ 9.00 by the median", "61.00 %"],
        ["Caffe", "", "1.00", ""],
    ]
    table = TextTable(["framework", "nodes", "value", "accuracy"], rows, [False, *[True] * 3], settled=True)
    assert to_terminal(table, 30, False).splitlines()[2:] == [
        "MXNet      10.25",
        "PyTorch     9.50 ⚠   61.00 %",
        "  nodes 2; ⚠ value 9.00 by",
        "  the median",
        "Caffe       1.00",
    ]


def test_a_warning_names_its_number_where_several_columns_have_one_title() -> None:
    titles = ["precision", "1 device", "8 devices", "speedup", "32 devices", "speedup"]
    rows = [["amp", "1.00 ⚠ 2.00 by the median", "7.20", "7.20 ⚠ 3.60", "20.00", "20.00 ⚠ 10.00"]]
    lines = to_terminal(TextTable(titles, rows, [False, *[True] * 5]), 80, False).splitlines()
    assert " ".join(line.strip() for line in lines[3:]) == (
        "⚠ 1 device 2.00 by the median, 8 devices speedup 3.60, 32 devices speedup 10.00"
    )


def test_the_runs_of_a_case_without_a_number_are_no_column() -> None:
    cases = of_model("m", [1, 2, 4])
    for one in cases:
        one.runs = [None] * 3  # type: ignore[list-item]
        one.metrics["throughput"].n = 3
    cases[2].metrics["throughput"].value, cases[2].metrics["throughput"].n = None, 0
    assert grouped(*cases)[0].heading == "m, n 3, throughput in samples/s"
    cases[2].runs = [None]  # type: ignore[list-item]
    assert [row[1] for row in grouped(*cases)[0].rows] == ["3", "3", "0/1"], "fewer than those of the others"
    cases[1].metrics["throughput"].n = 2
    assert "n" in grouped(*cases)[0].titles


def test_two_numbers_that_are_possible_stand_beside_each_other_below_the_row() -> None:
    table = TextTable(["case", "throughput"], [["a", "4407.86 ⚠ or 5144.95 by the median"]], [False, True])
    assert to_terminal(table, 38, False).splitlines()[2:] == [
        "a        4407.86 ⚠",
        "  ⚠ throughput 4407.86 or 5144.95 by",
        "  the median",
    ]


def test_what_is_to_be_copied_is_not_broken_where_a_line_has_room_for_it() -> None:
    table = dataclasses.replace(TABLE, caption="say so: `a = 1 and b`, or not", footnotes=[])
    assert to_terminal(table, 18, False).splitlines()[-2:] == ["`a = 1 and b`, or", "not"]
    assert to_terminal(table, 10, False).splitlines()[-3:] == ["say so: `a", "= 1 and", "b`, or not"]


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
    (table,) = case_tables(extract_paths([BZ128], Options()), width=80)
    lines = to_terminal(table, 80, False).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "MindSpore rn50 fp32, batch/device 128, n 5, throughput in samples/s"
    assert sum(line.startswith(" ") for line in lines) >= 6, "a row is one line"
    assert max(len(line) for line in to_terminal(table, 40, False).splitlines()) <= 40


FOLDERS = (
    "paddle-perf-2.5", "paddle-perf-2.5/Bert", "paddle-perf-2.5/ResNet50V1.5", "paddle-perf-2.5/Transformer",
    "paddle-perf-2.5/HRNetW18", "paddle-perf-2.5/DeepLabV3P", "paddle-perf-2.3", "cpu-runs", "cpu-runs/torch",
    "cpu-runs/mxnet", "other", "other/bigscience", "other/lambda-tensorflow", "",
)  # fmt: skip
#: A screen, for so many configurations.
SCREEN, CONFIGURATIONS = 50, 20


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of ../shared is not here")
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_corpus_is_read_at_every_width(folder: str) -> None:
    extraction = extract_paths([CORPUS / folder], Options())
    for width in (80, 100, 120, 200):
        tables = case_tables(extraction, Shown(), width)
        text = to_people(tables, width, False)
        lines = text.splitlines()
        assert max(map(len, lines)) <= width
        assert "…" not in text
        values = [case.throughput.value for case in extraction.cases]
        there = re.findall(r"\S+", text)
        assert all(there.count(number(value)) >= values.count(value) for value in values if value is not None)
        assert text.count("no value") == values.count(None)
        assert all(label in text for label in labels_shown(tables))
        for table in tables:
            assert_numbers_stand_below_each_other(table, width)
        part = dataclasses.replace(extraction, cases=extraction.cases[:CONFIGURATIONS])
        screens = {
            notes: to_people(case_tables(part, Shown(notes=notes), width), width, False) for notes in (None, False)
        }
        lines_of = {notes: len(screen.splitlines()) for notes, screen in screens.items()}
        assert lines_of[False] <= SCREEN
        if folder or width > 80:  # twenty cases of all the corpus are of fifteen programs
            assert lines_of[None] <= SCREEN, "with the reasons of missing values"
        assert below_and_reasons(tables) <= 2
    assert to_people(case_tables(extraction, Shown(), 120), 120, False) == encoded(extraction, "table", 120)


def below_and_reasons(tables: Sequence[TextTable]) -> int:
    """How many paragraphs stand below the tables, numbered notes aside: these say why numbers are missing."""
    (*above, last) = tables
    assert not any(table.caption or table.footnotes for table in above)
    return 1 + sum(not re.match(r"\d+\. ", note) for note in last.footnotes)


def labels_shown(tables: Sequence[TextTable]) -> list[str]:
    return [row[table.titles.index("log")] for table in tables if "log" in table.titles for row in table.rows]


def assert_numbers_stand_below_each_other(table: TextTable, width: int) -> None:
    """The numbers of a column end where its title ends."""
    lines = to_terminal(table, width, False).splitlines()
    rule = next(place for place, line in enumerate(lines) if line.startswith("─"))
    for place, title in enumerate(table.titles):
        if title != "throughput" and not re.fullmatch(r"\d+ devices?", title):
            continue
        end = lines[rule - 1].index(title) + len(title)
        ending = [line[:end].split("  ")[-1].strip() for line in lines[rule + 1 :] if len(line) >= end]
        for row in table.rows:
            own = row[place].partition(" ⚠")[0]
            assert not own or own in ending, (own, lines)


def test_markdown_has_the_heading_escaped() -> None:
    table = TextTable(["a"], [["1"]], [True], heading="m|x")
    assert to_markdown(table).startswith("m\\|x\n\n|")
