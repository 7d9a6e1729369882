"""Facts about a run: from options, the log's lines inside and before it, the path, the machine, and the parser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perflog.formats.catalog import Catalog
from perflog.formats.paths import PathPatterns, _path_pattern, _PatternTable
from tests.measurements.support import RATE, parser, table
from tests.reading.support import BEGIN, STEPS, catalog, fact, formats, steps
from tests.runs.support import run, runs

KEYS = ("batch_size", "devices", "precision", "model", "framework")
MADE = formats(STEPS, BEGIN, *(fact(key) for key in KEYS[:4]), framework="PyTorch", default={"precision": "fp32"})


def said(text: str, **given: str) -> dict[str, object]:
    return dict(run(MADE, text, **given).values)


def test_the_log_and_what_the_parser_declares() -> None:
    assert said("set batch_size=8\nset model=bert\n" + steps(1, 2)) == {
        "batch_size": 8, "model": "bert", "precision": "fp32", "framework": "PyTorch"
    }  # fmt: skip


def test_options_count_before_the_log() -> None:
    made = run(
        MADE,
        "set batch_size=8\n" + steps(1, 2),
        set={"batch_size": "16"},
        config_set={"batch_size": "4", "devices": "2"},
    )
    assert (made.values["batch_size"], made.values["devices"]) == (16, 2)
    assert made.metadata.sources["batch_size"] == "command line"
    assert made.notes == [
        "batch_size is 16 by the command line, 4 by the config",
        "batch_size is 16 by the command line, 8 by the log",
    ]


def test_what_a_run_says_itself_counts_before_what_was_said_before_it() -> None:
    text = "set model=a\nset devices=4\n" + steps(1, 2) + "begin\nset model=b\n" + steps(1, 2, ips=6)
    first, second = runs(MADE, text)
    assert (first.values["model"], second.values["model"]) == ("a", "b")
    assert (first.values["devices"], second.values["devices"]) == (4, 4)  # said once for both
    assert not [note for note in second.notes if "two values" in note]
    assert second.notes == ["run 2 of 2 in this log (lines 5 to 8)"]


def test_what_is_said_behind_a_run_is_not_of_it() -> None:
    first, second = runs(MADE, steps(1, 2) + "begin\nset model=b\n" + steps(1, 2, ips=6))
    assert ("model" in first.values, second.values["model"]) == (False, "b")


def test_three_contradictions_are_said() -> None:
    text = "".join(f"set model={name}\n" for name in "abcdef") + "set model=a\n" + steps(1, 2)
    made = run(MADE, text)
    assert made.values["model"] == "a"
    assert made.notes == [
        f"the log gives two values for model: a and {name} (line {line})"
        for line, name in ((2, "b"), (3, "c"), (4, "d"))
    ]


def test_the_first_pattern_counts_before_the_first_line() -> None:
    other = {
        "name": "other",
        "role": "metadata",
        "literal": "also",
        "regex": "also batch_size=(?P<batch_size>{I})",
        "sample": [{"line": "also batch_size=8"}],
    }
    made = formats(STEPS, fact("batch_size"), other)
    assert run(made, "also batch_size=4\nset batch_size=8\n" + steps(1, 2)).values["batch_size"] == 8


def test_tables_translate_and_words_that_they_lack_say_nothing() -> None:
    words = {"precision": {"O1": "amp", "O0": "fp32"}}
    made = formats(
        STEPS, {**fact("precision", map=words, set={"mode": "train"}), "sample": [{"line": "set precision=O1"}]}
    )
    assert dict(run(made, "set precision=O1\n" + steps(1, 2)).values) == {"precision": "amp", "mode": "train"}
    assert dict(run(made, "set precision=O7\n" + steps(1, 2)).values) == {"mode": "train"}


@pytest.mark.parametrize(("printed", "devices"), [("0,1,2,3", 4), ("[0,1]", 2), ("(0,)", 1), ("[]", None)])
def test_a_list_of_devices_is_their_number(printed: str, devices: int | None) -> None:
    made = formats(STEPS, {**fact("device_list"), "sample": [{"line": "set device_list=0,1"}]})
    assert run(made, f"set device_list={printed}\n" + steps(1, 2)).values.get("devices") == devices


OTHER = parser(
    {**fact("model"), "literal": "set model"}, {**fact("precision"), "literal": "set precision"}, name="other"
)
SAME = parser({**fact("seed")}, name="same", framework="PyTorch", priority=60)


def test_settings_of_other_frameworks_say_nothing() -> None:
    both = catalog(parser(STEPS, framework="PyTorch"), OTHER, SAME)
    assert dict(run(both, "set model=m\nset seed=7\n" + steps(1, 2)).values) == {"framework": "PyTorch", "seed": "7"}


def test_settings_of_a_parser_with_other_lines_in_the_log_count() -> None:
    speaking = parser(fact("model"), table("loss step", {"group": "loss_", "quantity": "metric", "metric": "m"}, literal="sum") | {
        "name": "sum", "role": "summary", "regex": "sum (?P<value>{N})", "value": [{"group": "value", "quantity": "metric", "metric": "m"}],
        "sample": [{"line": "sum 5"}],
    }, name="other")  # fmt: skip
    both = catalog(parser(STEPS, framework="PyTorch"), speaking)
    assert "model" not in run(both, "set model=m\n" + steps(1, 2)).values
    assert run(both, "set model=m\nsum 5\n" + steps(1, 2)).values["model"] == "m"


def test_paths_and_machines_say_something(tmp_path: Path) -> None:
    patterns = PathPatterns((_path_pattern(_PatternTable(regex="bs(?P<batch_size>[0-9]+)"), "t"),))
    made = Catalog(MADE.parsers, patterns)
    (tmp_path / "machine.json").write_text(json.dumps({"cpus": 1, "gpus": ["NVIDIA H200, 141 GiB, 0"]}))
    found = run(made, steps(1, 2), path=str(tmp_path / "bs32_abc.log"))
    assert (found.values["batch_size"], found.metadata.sources["batch_size"]) == (32, "path")
    assert (found.values["accelerator"], found.metadata.sources["accelerator"]) == ("NVIDIA H200", "machine")
    assert found.label.endswith("abc")
    assert found.machine is not None
    (tmp_path / "machine.json").write_text("[]")
    broken = run(made, steps(1, 2), path=str(tmp_path / "bs32_abc.log"))
    assert broken.notes == [
        f'{tmp_path}/machine.json: expected a JSON object such as {{"driver": "550.54"}}, found list'
    ]


def test_the_framework_of_a_rates_parser() -> None:
    assert run(formats(table("step ips", RATE, sample=STEPS["sample"])), steps(1, 2)).framework == ""
    assert run(MADE, steps(1, 2)).framework == "PyTorch"
