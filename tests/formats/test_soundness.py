"""A parser's file that is wrong is refused, and one that passes the check reads its own sample lines without a fault."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perflog.errors import ParserError
from perflog.extraction import extract_paths
from perflog.formats.catalog import Catalog
from perflog.formats.dialect import translate
from perflog.formats.load import parser_from
from perflog.matching.checks import check_parser
from tests.support import catalog, examples, options

Path_ = tuple[str | int, ...]

#: A parser that uses every key of the schema.
WHOLE: dict[str, Any] = {
    "title": "t", "source": "s", "framework": "F", "priority": 50, "traps": ["a"], "default": {"precision": "fp32"},
    "pattern": [
        {
            "name": "step", "role": "step", "literal": "step ", "step_base": 0, "step_per": "epoch", "step_repeats": False,
            "regex": "step (?P<step>{I}) of (?P<epoch>{I}) rank (?P<rank>{I}) rate (?P<rate>{N}) (?P<unit>[a-z/]+) took (?P<took>{N})",
            "also": "loss (?P<loss>{NN})", "memory_unit": "GiB", "starts_run": False,
            "value": [
                {"group": "rate", "quantity": "rate", "span": "window", "window": 10, "scope": "rank"},
                {"group": "took", "quantity": "step_time", "unit": "ms", "span": "cumulative", "since": "epoch", "offset": 1},
            ],
            "sample": [
                {"line": "step 3 of 1 rank 0 rate 20.5 img/s took 5 loss 3", "expect": {"step": 3, "rate": 20.5}},
                {"line": "step 13 of 1 rank 0 rate 21.5 img/s took 6 loss 2", "expect": {"loss": 2}},
                {"line": "step 3 of 2 rank 0 rate 20.5 img/s took 5 loss 1", "expect": {}},
            ],
            "rejects": ["step x"],
        },
        {
            "name": "place", "role": "position", "literal": "at ", "regex": "at (?P<step>{I}) (?P<timestamp>[0-9.]+)", "step_per": "run",
            "value": [{"group": "timestamp", "quantity": "timestamp", "span": "cumulative"}],
            "sample": [{"line": "at 5 1.5"}, {"line": "at 6 2.5"}],
        },
        {
            "name": "placed", "role": "step", "literal": "cost ", "regex": "cost (?P<cost>{N}) (?P<covers>{I}) (?P<batch>{I})",
            "position": "place", "position_once": True,
            "value": [{"group": "cost", "quantity": "interval_time"}, {"group": "batch", "quantity": "samples", "unit": "tokens"}],
            "sample": [{"line": "cost 1.5 10 4"}, {"line": "cost 1.6 10 4"}],
        },
        {
            "name": "total", "role": "summary", "literal": "total ", "regex": "total (?P<rate>{N}) in (?P<took>{ETA}) acc (?P<accuracy>{N})",
            "value": [
                {"group": "rate", "quantity": "rate", "unit": "samples/s", "span": "run", "pick": "max"},
                {"group": "took", "quantity": "time_to_train"}, {"group": "accuracy", "quantity": "accuracy", "unit": "%"},
            ],
            "sample": [{"line": "total 12.5 in 1:02:03 acc 76.5"}],
        },
        {
            "name": "start", "role": "event", "literal": "start ", "regex": "start (?P<timestamp>{N})", "event": "run_start", "starts_run": True,
            "value": [{"group": "timestamp", "quantity": "timestamp", "unit": "ms"}], "sample": [{"line": "start 5"}],
        },
        {
            "name": "facts", "role": "metadata", "literal": "uses ", "regex": "uses (?P<devices>[^ ]+) (?P<precision>[A-Za-z]+)",
            "map": {"precision": {"True": "amp"}}, "set": {"batch_size": 8}, "sample": [{"line": "uses 8 True"}],
        },
        {"name": "end", "role": "ignore", "literal": "end ", "regex": "end [0-9]", "sample": [{"line": "end 5"}]},
    ],
}  # fmt: skip

WORDS = (
    "step_time", "rate", "elapsed", "interval_time", "samples", "timestamp", "time_to_train", "accuracy", "metric", "last", "interval", "window",
    "cumulative", "run", "rank", "device", "node", "job", "epoch", "run_start", "run_stop", "run_failed", "step", "position", "summary", "event",
    "metadata", "ignore", "first", "max", "min", "MiB", "GiB", "s", "ms", "min", "fortnights", "images/s", "Ktokens/s", "furlongs/s", "tokens",
    "place", "placed", "total", "took", "cost", "unit", "value", "loss", "memory", "covers", "", "high", "x" * 40, "throughput",
    "step (?P<step>.*) of", "at (?P<step>[a-z0-9]+)", "cost (?P<cost>[^ ]*)", "(?P<a>x)(?P<a>y)", "a(?=b)", "(?:x{9}){999}", "step ", "at ",
)  # fmt: skip
KEYS = ("group", "quantity", "unit", "span", "since", "window", "offset", "scope", "metric", "pick", "position", "position_once", "event",
        "starts_run", "set", "map", "also", "memory_unit", "step_base", "step_per", "step_repeats", "rejects", "colour")  # fmt: skip

FITTING: dict[str, tuple[Any, ...]] = {
    "role": ("step", "position", "summary", "event", "metadata", "ignore"),
    "quantity": ("step_time", "rate", "elapsed", "interval_time", "samples", "timestamp", "time_to_train", "accuracy", "metric"),
    "span": ("last", "interval", "window", "cumulative", "run"), "since": ("run", "epoch"), "step_per": ("run", "epoch"),
    "scope": ("rank", "device", "node", "job"), "pick": ("last", "first", "max", "min"), "event": ("run_start", "run_stop", "run_failed"),
    "unit": ("", "s", "ms", "images/s", "Ktokens/s", "it/s", "tokens"), "window": (0, 1, 10), "offset": (0, 1, 100), "step_base": (0, 1, -3, 50),
    "step_repeats": (True, False), "position_once": (True, False), "starts_run": (True, False), "position": ("", "place", "total"),
    "group": ("rate", "took", "cost", "batch", "timestamp", "unit", "rank", "step", "covers"), "metric": ("", "mine", "loss", "reported"),
    "also": ("", "loss (?P<loss>{NN})", "took (?P<memory>{N})"), "set": ({}, {"devices": 2}), "expect": ({},), "priority": (0, 20, 90),
    "memory_unit": ("MiB", "GiB", "MB"), "literal": ("step ", "at ", "cost ", "s", "p ", " "),
    "regex": (
        "step (?P<step>{I})", "step (?P<step>{I}) of {I} rank {I} rate (?P<rate>{N})", "(?:^|x)step (?P<rank>{I}) of {TO}took (?P<took>{N})",
        "step (?P<rank>{I}) of {TO}took (?P<took>{N})", "step (?P<covers>{I}) of (?P<epoch>{I}) rank {I} rate (?P<rate>{N}) (?P<unit>[a-z/]+)",
        "at (?P<step>{I}) ", "at [0-9] (?P<step>{N})", "cost (?P<cost>{N})", "cost (?P<cost>{N}) (?P<step>{I}) (?P<batch>{I})",
        "step (?P<step>{I}) of (?P<first_step>{I}) rank (?P<timestamp>{I}) rate (?P<rate>{N})", "cost (?P<cost>{N}) (?P<timestamp>[0-9]+)",
    ),
    "line": (
        "step 3 of 1 rank 0 rate 0 img/s took 5", "step 3 of 1 rank 0 rate nan img/s took 5", "at 5 1.5", "cost 0 0 0", "cost 1 ² 3",
        "step 1e9 of 9 rank 0 rate 20.5 img/s took 5 loss nan", "cost 1.5 10 4 cost 1.5 10 4", "uses ² True", "total 1 in 1:0 acc 5",
    ),
}  # fmt: skip

scalars = st.one_of(
    st.sampled_from(WORDS), st.integers(-2, 2000), st.booleans(), st.floats(allow_nan=True), st.just(10**30)
)
values: st.SearchStrategy[Any] = st.one_of(
    scalars, st.lists(scalars, max_size=2), st.dictionaries(st.sampled_from(WORDS), scalars, max_size=2),
    st.builds(dict, line=scalars, expect=st.just({})),
)  # fmt: skip


def places(node: Any, here: Path_ = ()) -> Iterator[Path_]:
    """Every place in a document but its root."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in items:
        yield (*here, key)
        yield from places(child, (*here, key))


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A whole parser with one to three changes: a key dropped, another value in its place, or a key more."""
    document = copy.deepcopy(WHOLE)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(document))))
        parent = document
        for key in path[:-1]:
            parent = parent[key]  # type: ignore[index]
        change = draw(st.sampled_from(("drop", "replace", "add", "fit", "fit", "fit", "fit")))
        key = draw(st.sampled_from(KEYS)) if change == "add" and isinstance(parent, dict) else path[-1]
        if change == "drop":
            del parent[key]  # type: ignore[arg-type]
        elif change == "fit" and key in FITTING:
            parent[key] = draw(st.sampled_from(FITTING[key]))
        else:
            parent[key] = draw(values)  # type: ignore[index]
    return document


def sample_lines(document: dict[str, Any]) -> str:
    return "".join(
        f"{sample['line']}\n"
        for _ in range(3)
        for pattern in document["pattern"]
        for sample in pattern.get("sample", ())
    )


def extract_samples(document: dict[str, Any], folder: Path) -> int:
    """How many runs a parser that is sound makes of its sample lines.

    Raises:
        ParserError: for a parser that is not sound.
    """
    parser = parser_from(document, Path("mine.toml"))
    faults = check_parser(parser)
    if faults:
        raise ParserError(faults[0])
    log = folder / "run.log"
    log.write_text(sample_lines(document), encoding="utf-8")
    own = Catalog((parser,), catalog().path_patterns)
    chosen: tuple[dict[str, Any], ...] = (
        {},
        {"warmup": "0", "set": {"devices": "2", "batch_size": "4"}},
        {"estimator": "reported"},
        {"last": "1records"},
    )
    return sum(len(extract_paths([log], options(**given), own).runs) for given in chosen)


def test_the_whole_parser_is_sound(tmp_path: Path) -> None:
    assert extract_samples(WHOLE, tmp_path) > 0


@settings(
    max_examples=examples(37),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(documents())
@pytest.mark.long
def test_a_changed_parser_is_refused_or_reads_its_samples(tmp_path: Path, document: dict[str, Any]) -> None:
    try:
        extract_samples(document, tmp_path)
    except ParserError as error:
        assert str(error).startswith("mine.toml: ")


def changed(pattern: int, **keys: Any) -> dict[str, Any]:
    document = copy.deepcopy(WHOLE)
    document["pattern"][pattern] |= keys
    return document


def changed_value(pattern: int, **keys: Any) -> dict[str, Any]:
    document = copy.deepcopy(WHOLE)
    document["pattern"][pattern]["value"][0] |= keys
    return document


STEP, PLACE, PLACED, TOTAL, START, FACTS, END = range(7)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (WHOLE | {"priority": "high"}, "mine.toml: priority = 'high': expected a whole number from 0 to 1000"),
        (WHOLE | {"titel": "t"}, "mine.toml: unknown key 'titel'; did you mean 'title'? (known: default, framework,"),
        (WHOLE | {"default": {"devices": [8]}}, "mine.toml: default.devices = [8]: expected a text in quotes or a whole number or a number or true or false"),
        (changed(STEP, step_base="x"), "mine.toml: pattern 'step': step_base = 'x': expected one of 0, 1, first"),
        (changed(STEP, value=[{"group": "rate"}]), "pattern 'step', value 'rate': 'quantity' is missing: expected one of step_time, rate,"),
        (changed(STEP, sample=[{"line": 5}]), "pattern 'step', sample 1: line = 5: expected a text in quotes that is not empty"),
        (changed(FACTS, map={"precision": "amp"}), "pattern 'facts': map.precision = 'amp': expected a table"),
        (changed(FACTS, map={"precisio": {}}), "pattern 'facts': map.precisio: not a named group of the regex (groups: devices, precision); did you mean"),
        (changed(PLACED, position="total"), "pattern 'placed': takes its position from 'total', which has role summary, not position"),
        (changed(PLACED, position="plac"), "takes its position from 'plac', which is not a pattern of this file; did you mean 'place'?"),
        (changed(PLACED, position="", position_once=True), "position_once: no position is named"),
        (changed(TOTAL, position="place"), "position: a pattern with role summary has no measurements to place"),
        (changed(START, event=""), "pattern 'start': event is missing: expected one of run_start, run_stop, run_failed"),
        (changed(STEP, memory_unit="KiB"), "memory_unit = 'KiB': expected one of MiB, GiB, MB; did you mean 'MiB'?"),
        (changed(STEP, also="loss (?P<step>{I})"), "'also' reads loss and memory of a pattern with role step, nothing else"),
        (changed(END, value=[{"group": "x", "quantity": "metric", "metric": "x"}]), "value 'x': not a named group of the regex"),
        (changed(PLACE, regex="at (?P<timestamp>{N})"), "role = 'position': expected a group named 'step' or 'epoch' in the regex"),
        (changed(STEP, name="place"), "mine.toml: two patterns are named 'place'; names must differ"),
        (changed_value(STEP, window=0), "value 'rate': span = 'window', window = 0: span 'window' needs the number of its steps"),
        (changed_value(STEP, unit="furlongs/s"), "value 'rate': unit = 'furlongs/s': expected work per time, such as images/s"),
        (changed_value(TOTAL, unit=""), "value 'rate': unit is missing: a rate needs unit = \"images/s\""),
        (changed_value(STEP, quantity="step_time", unit="fortnights"), "unit = 'fortnights': expected a time: s, ms, us, ns, min or h"),
        (changed_value(STEP, span="run", window=0), "span = 'run': a value of the whole run stands in a pattern with role summary"),
        (changed_value(PLACED, span="cumulative"), "span = 'cumulative': expected one of interval, last for quantity 'interval_time'"),
        (changed_value(PLACED, offset=3), "offset = 3: only a cumulative value leaves steps out"),
        (changed_value(PLACED, plus=["dta"]), "plus names 'dta', which is not a named group of the regex"),
        (changed_value(TOTAL, pick="best"), "pick = 'best': expected one of last, first, max, min"),
        (changed_value(TOTAL, metric="throughput"), "metric = 'throughput': perflog makes a metric of this name itself"),
        (changed_value(STEP, group="rank"), "value 'rank': a group of this name has a fixed meaning already"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_its_place(document: dict[str, Any], message: str) -> None:
    with pytest.raises(ParserError, match=re.escape(message)):
        parser_from(document, Path("mine.toml"))


def test_a_group_that_must_read_a_number_is_checked_by_the_samples() -> None:
    document = changed(STEP, regex=WHOLE["pattern"][STEP]["regex"].replace("(?P<epoch>{I})", "(?P<epoch>[a-z0-9]+)"))
    document["pattern"][STEP]["sample"][0] = {"line": "step 3 of one rank 0 rate 20.5 img/s took 5 loss 3"}
    (fault,) = check_parser(parser_from(document, Path("mine.toml")))
    assert fault.startswith("mine.toml: pattern 'step': group 'epoch' must read a number, read 'one' from")


@settings(max_examples=examples(125), deadline=None)
@given(st.lists(st.sampled_from(["a", "é", "-", "0", r"\s", r"\W", r"\[", r"\.", "[a-f", "[^", "]", "[", "(?:", "(?P<n>", ")", "|", "*", "+?", "?",
                                 "{2}", "{2,}", "{3,1}", "{", "}", "^", "$", r"\t", r"\x41", "&", "."]), max_size=9).map("".join))  # fmt: skip
def test_what_the_dialect_lets_through_compiles(regex: str) -> None:
    try:
        text = translate(regex, "here")
    except ParserError as error:
        assert str(error).startswith("here: ") or "here: character" in str(error)
        return
    assert pl.Series(["x"]).str.contains(text).len() == 1
