"""A parser's file as frozen objects."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from perflog.errors import ParserError
from perflog.formats.load import load_parser, parser_from
from perflog.formats.parser import Jump, Sample, Value

VALUE = {"group": "rate", "quantity": "rate", "unit": "img/s"}
STEP: dict[str, Any] = {
    "name": "step", "role": "step", "literal": "step ", "regex": r"step (?P<step>\d+): (?P<rate>{N})", "value": [VALUE],
}  # fmt: skip
PLACE: dict[str, Any] = {
    "name": "place", "role": "position", "literal": "at ", "regex": "at (?P<step>{I})", "step_base": 0, "step_per": "epoch",
}  # fmt: skip


def load(*patterns: dict[str, Any], name: str = "mine", **keys: Any) -> Any:
    return parser_from({"title": "t", "source": "s", "pattern": list(patterns), **keys}, Path(f"{name}.toml"))


def test_what_is_left_out_has_its_default() -> None:
    parser = load(STEP)
    assert (parser.name, parser.framework, parser.priority, parser.traps, dict(parser.default)) == (
        "mine",
        "",
        50,
        (),
        {},
    )
    (pattern,) = parser.patterns
    assert (pattern.step_base, pattern.step_per, pattern.position, pattern.memory_unit) == (1, "run", "", "MiB")
    assert (pattern.groups, pattern.also, pattern.also_groups, pattern.jump) == (("step", "rate"), "", (), None)
    assert pattern.values == (Value("rate", "rate", "img/s", span="interval", since="run", scope="job", pick="last"),)
    assert pattern.key == "mine.step"


def test_regexes_are_expanded_and_parted() -> None:
    (pattern,) = load(STEP).patterns
    assert pattern.regex == "step (?P<step>[0-9]+): (?P<rate>[-+0-9.][-+0-9.eE]*)"
    assert pattern.tail == "(?P<step>[0-9]+): (?P<rate>[-+0-9.][-+0-9.eE]*)"
    (pattern,) = load(
        STEP | {"regex": r"step (?P<step>\d+){TO}rate: (?P<rate>{N})", "also": r"loss\s(?P<loss>{I})"}
    ).patterns
    assert pattern.jump == Jump("(?P<step>[0-9]+)", "rate: ", "(?P<rate>[-+0-9.][-+0-9.eE]*)")
    assert (pattern.also, pattern.also_groups) == (r"loss[ \t\x0b\x0c](?P<loss>[0-9]+)", ("loss",))
    (pattern,) = load(STEP | {"regex": r"(?:^| )step (?P<step>\d+): (?P<rate>{N})"}).patterns
    assert pattern.tail is None


def test_a_pattern_counts_steps_as_the_one_does_that_places_it() -> None:
    placed = STEP | {"regex": "step (?P<rate>{N})", "position": "place"}
    step, place = load(placed, PLACE).patterns
    assert (place.step_base, place.step_per) == (0, "epoch")
    assert (step.step_base, step.step_per) == (0, "epoch")


def test_facts_are_texts() -> None:
    facts = {
        "name": "facts", "role": "metadata", "literal": "uses ", "regex": "uses (?P<packing>[a-z]+)",
        "set": {"devices": 8}, "map": {"packing": {"yes": True}}, "sample": [{"line": "uses yes", "expect": {"packing": "yes"}}],
    }  # fmt: skip
    parser = load(facts, default={"batch_size": 32}, priority=60, framework="F", traps=["a"])
    (pattern,) = parser.patterns
    assert (dict(pattern.set), dict(pattern.map)) == ({"devices": "8"}, {"packing": {"yes": "True"}})
    assert (dict(parser.default), parser.priority, parser.framework, parser.traps) == (
        {"batch_size": "32"},
        60,
        "F",
        ("a",),
    )
    assert pattern.samples == (Sample("uses yes", {"packing": "yes"}),)


@pytest.mark.parametrize(
    ("pattern", "more", "fault"),
    [
        ({"map": {"precision": {"O1": "high"}}}, {}, "pattern 'facts': map.precision = 'high': expected one of fp64, fp32"),
        ({"set": {"devices": "many"}}, {}, "pattern 'facts': set.devices = 'many': expected a whole number"),
        ({"set": {"model": "best.pt"}}, {}, "pattern 'facts': set.model = 'best.pt': expected the name of a model"),
        ({}, {"default": {"precision": "True"}}, "mine.toml: default.precision = 'True': expected one of fp64, fp32"),
    ],
)  # fmt: skip
def test_a_fact_that_a_file_gives_fits_its_form(pattern: dict[str, Any], more: dict[str, Any], fault: str) -> None:
    facts = {"name": "facts", "role": "metadata", "literal": "uses ", "regex": "uses (?P<precision>[A-Z0-9]+)"}
    with pytest.raises(ParserError, match=re.escape(fault)):
        load({**facts, "sample": [{"line": "uses O1"}], **pattern}, **more)


def test_two_values_of_one_group() -> None:
    with pytest.raises(ParserError, match="pattern 'step': two values are of group 'rate'; a group has one meaning"):
        load(STEP | {"value": [VALUE, VALUE]})


def test_a_step_pattern_must_measure() -> None:
    with pytest.raises(ParserError, match="pattern 'step': role = 'step': no value measures"):
        load(STEP | {"value": [{"group": "rate", "quantity": "metric", "metric": "x"}]})


def test_the_unit_of_a_rate_may_stand_in_the_line() -> None:
    value = {"group": "rate", "quantity": "rate"}
    with pytest.raises(ParserError, match="unit is missing: a rate needs unit"):
        load(STEP | {"value": [value]})
    assert load(STEP | {"value": [value], "regex": "step (?P<rate>{N}) (?P<unit>[a-z/]+)"}).patterns[0].groups == (
        "rate",
        "unit",
    )


CLOCK = {"group": "rate", "quantity": "elapsed"}
FACTS = {"name": "facts", "role": "metadata", "literal": "uses ", "regex": "uses (?P<precision>[A-Z0-9]+)"}
PLACED = STEP | {"regex": "step (?P<rate>{N})", "position": "place"}


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        (PLACED | {"step_per": "epoch"}, "step_per is not read: steps are counted as pattern 'place' says; write it there"),
        (PLACED | {"step_base": 0}, "step_base is not read: steps are counted as pattern 'place' says; write it there"),
        (STEP | {"value": [CLOCK], "restarts": True, "step_per": "run"}, "step_per is not read: a clock that restarts"),
        (STEP | {"own": True}, "own: only a pattern with role metadata gives facts"),
        (FACTS | {"redrawn": True}, "redrawn: only a pattern with role step reads it"),
        (FACTS | {"step_base": 0}, "step_base: only a pattern with role step or position reads it"),
        (FACTS | {"position": "place"}, "position: a pattern with role metadata has no measurements to place"),
        (STEP | {"value": [VALUE | {"pick": "max"}]}, "value 'rate': pick: only a pattern with role summary reads it"),
        (STEP | {"value": [VALUE | {"partial": True}]}, "value 'rate': partial: only work of a step (quantity 'samples')"),
        (STEP | {"value": [VALUE | {"metric": "x"}]}, "value 'rate': metric = 'x': read of a value with quantity 'metric'"),
        (STEP | {"sample": [{"line": "step 1: 2", "facts": {}}]}, "sample: only a pattern with role metadata gives"),
    ],
)  # fmt: skip
def test_a_key_that_nothing_reads_is_refused(pattern: dict[str, Any], fault: str) -> None:
    with pytest.raises(ParserError, match=re.escape(f"pattern '{pattern['name']}': {fault}")):
        load(pattern, PLACE)


def test_a_line_that_tells_its_step_counts_from_its_own_base() -> None:
    assert load(STEP | {"position": "place", "step_base": 0}, PLACE | {"step_base": 1}).patterns[0].step_base == 0


def test_a_literal_is_part_of_one_line() -> None:
    with pytest.raises(ParserError, match="pattern 'step': literal: a match never crosses a line"):
        load(STEP | {"literal": "step\n"})


def test_the_parser_of_failures_must_say_why() -> None:
    with pytest.raises(
        ParserError, match="a pattern of perflog_run says why a training failed: expected a group named 'failure'"
    ):
        load(STEP, name="perflog_run")


@pytest.mark.parametrize("name", ["a.b", "my parser", "é"])
def test_a_name_that_is_none(name: str) -> None:
    with pytest.raises(ParserError, match="a parser's file is named with letters, digits, _ and -"):
        load(STEP, name=name)


def test_a_file_that_is_no_toml(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("title = ", encoding="utf-8")
    with pytest.raises(ParserError, match="not a readable TOML file"):
        load_parser(file)


_WHOLE = {"group": "time", "quantity": "step_time"}
_PART = {"group": "data", "quantity": "metric", "metric": "data_time"}


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ([VALUE, _PART], "metric = 'data_time': a part of a step's time stands beside one value of quantity 'step_time'"),
        ([_PART, VALUE, _WHOLE], "metric = 'data_time': a part of a step's time stands beside one value"),
        ([_WHOLE, _PART | {"span": "last"}], "span = 'last': 'data_time' is of the steps that 'time' is of, its whole"),
        ([_WHOLE | {"unit": "ms"}, _PART], "unit = '': 'data_time' and 'time', whose part it is, are in seconds"),
        ([_WHOLE, _PART | {"unit": "ms"}], "unit = 'ms': 'data_time' and 'time', whose part it is, are in seconds"),
    ],
)  # fmt: skip
def test_a_part_of_a_steps_time_stands_beside_its_whole(values: list[dict[str, str]], fault: str) -> None:
    regex = r"step (?P<step>\d+): (?P<rate>{N}) (?P<time>{N}) (?P<data>{N})"
    if VALUE not in values:
        regex = regex.replace("(?P<rate>{N})", "{N}")
    if _WHOLE not in values and _WHOLE | {"unit": "ms"} not in values:
        regex = regex.replace("(?P<time>{N})", "{N}")
    with pytest.raises(ParserError, match=re.escape(fault)):
        load(STEP | {"regex": regex, "value": values})
