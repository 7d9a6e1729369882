"""Both engines: which one is in use, and that they find the same, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perflog.errors import UsageError
from perflog.matching import Engine, engine_description, engine_for, library
from perflog.matching.polars_engine import PolarsEngine
from tests.matching.test_matching import HIGH, LOW, parser, table
from tests.reading.support import catalog

NAN = float("nan")
needs_compiled = pytest.mark.skipif(bool(library.available()), reason=library.available())
FACT = {"name": "fact", "role": "metadata", "literal": "seed", "regex": "seed (?P<seed>[^\\n]+)"}
UNITS = {"name": "unit", "role": "step", "literal": "rate", "regex": "rate (?P<ips>{N}) (?P<unit>[a-z/]+)",
         "value": [{"group": "ips", "quantity": "rate"}]}  # fmt: skip
STAMP = {"name": "stamp", "role": "step", "literal": "clock", "regex": "clock (?P<timestamp>[0-9:]+)",
         "value": [{"group": "timestamp", "quantity": "timestamp", "unit": "s"}]}  # fmt: skip
SUMMARY = {
    "name": "sum",
    "role": "summary",
    "literal": "mean",
    "regex": "mean (?P<ips>{N})",
    "value": [{"group": "ips", "quantity": "rate", "unit": "img/s"}],
}
MADE = catalog(
    HIGH, LOW,
    parser(table("go (?P<step>{I}) {TO}ips: (?P<ips>{N})", literal="go ", also="loss (?P<loss>{N})"), FACT, UNITS, STAMP, SUMMARY,
           name="mid", priority=40),
)  # fmt: skip


@pytest.fixture(params=["compiled", "polars"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Engine:
    if request.param == "compiled" and library.available():
        pytest.skip(library.available())
    monkeypatch.setenv("PERFLOG_ENGINE", request.param)
    return engine_for(MADE)


def found(
    engine: Engine, *texts: str | bytes, at_end: bool = True
) -> dict[str, tuple[list[int], list[int], dict[str, list[object]]]]:
    """Texts, lines and columns of what each pattern matched."""
    batch = engine.match([text.encode() if isinstance(text, str) else text for text in texts], at_end)
    return {
        part.pattern.key: (
            part.text.tolist(),
            part.line.tolist(),
            {name: list(column) for name, column in part.columns.items()},
        )
        for part in batch.matches
        if len(part)
    }


def test_texts_and_lines_are_counted(engine: Engine) -> None:
    made = found(engine, "a\ngo 1 x ips: 5 y\n", "", "go 2 x ips: 6 y\n\ngo 3 x loss 0.5 ips: 7 y\n")
    text, line, columns = made["mid.step"]
    assert (text, line) == ([0, 2, 2], [1, 0, 2])
    assert (columns["step"], columns["ips"]) == ([1, 2, 3], [5, 6, 7])
    np.testing.assert_array_equal(np.array(columns["loss"], dtype=float), [NAN, NAN, 0.5])


def test_a_line_is_one_parsers(engine: Engine) -> None:
    made = found(engine, "step:1 ips: 5 x\neval step:2 ips: 5 x\n")
    assert {key: line for key, (_, line, _) in made.items()} == {"high.step": [0], "high.eval": [1]}


def test_facts_stay_text_and_summaries_too(engine: Engine) -> None:
    made = found(engine, "seed 007\nmean 1,5 x\nclock 10:00\n")
    assert made["mid.fact"][2] == {"seed": ["007"]}
    assert made["mid.sum"][2] == {"ips": ["1"]}
    assert made["mid.stamp"][2] == {"timestamp": ["10:00"]}


def test_units_are_told_by_text(engine: Engine) -> None:
    batch = engine.match([b"rate 5 img/s\nrate 6 img/s\nrate 7 seq/s\n", b"none\n", b"rate 5 x/s\n"], True)
    (units,) = [part for part in batch.matches if part.pattern.name == "unit"]
    assert dict(units.units) == {0: {"img/s", "seq/s"}, 2: {"x/s"}}
    assert "unit" not in units.columns
    assert units.candidates == {0: 3, 2: 1}


def test_ranks_and_ends(engine: Engine) -> None:
    batch = engine.match([b"[rank3]:go 1 x ips: 5 y\ngo 2 x ips: 5 y\n", b"go 1 x ips: 5"], True)
    (steps,) = [part for part in batch.matches if part.pattern.key == "mid.step" and len(part)]
    assert steps.rank.tolist() == [3, -1]
    assert (batch.lines.tolist(), batch.cut.tolist()) == ([2, 1], [False, True])
    assert engine.match([b"go 1 x ips: 5"], False).cut.tolist() == [False]


def test_what_terminals_and_other_encodings_leave_is_cleaned(engine: Engine) -> None:
    made = found(engine, b"\x1b[32mgo 1 x ips: 5 y\x1b[0m\ngo 2 \xff ips: 6 y\ngo\x00 3 x ips: 7 y\n")
    assert made["mid.step"][2]["step"][:2] == [1, 2]


def test_no_texts_and_nothing_in_them(engine: Engine) -> None:
    assert (engine.match([], True).lines.tolist(), found(engine, "", "\n\n")) == ([], {})
    batch = engine.match([b"", b"a\nb"], True)
    assert (batch.lines.tolist(), batch.cut.tolist()) == ([0, 2], [False, False])


@pytest.mark.parametrize(("asked", "described"), [("polars", "polars (PERFLOG_ENGINE=polars)")])
def test_the_engine_that_is_asked_for(asked: str, described: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLOG_ENGINE", asked)
    assert isinstance(engine_for(MADE), PolarsEngine)
    assert engine_description() == described


@needs_compiled
@pytest.mark.parametrize("asked", ["", "compiled"])
def test_the_compiled_engine_is_taken_where_it_is_at_hand(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLOG_ENGINE", asked)
    made = engine_for(MADE)
    assert type(made).__name__ == "CompiledEngine"
    assert engine_description() == "compiled"


def test_an_engine_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLOG_ENGINE", "rust")
    with pytest.raises(UsageError, match="PERFLOG_ENGINE='rust': expected one of compiled, polars"):
        engine_for(MADE)


def test_without_a_compiled_engine_polars_is_taken_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "available", lambda: "no library here")
    monkeypatch.setenv("PERFLOG_ENGINE", "")
    assert isinstance(engine_for(MADE), PolarsEngine)
    assert engine_description() == "polars (no library here)"
    monkeypatch.setenv("PERFLOG_ENGINE", "compiled")
    with pytest.raises(UsageError, match="the compiled engine is not to be had here: no library here"):
        engine_for(MADE)
