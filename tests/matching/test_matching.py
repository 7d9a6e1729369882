"""What the polars engine finds: lines split at literals, jumps, lines given to one parser, numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from perflog.errors import ParserError
from perflog.formats.load import parser_from
from perflog.formats.parser import Parser, Pattern
from perflog.matching.matches import Batch, Matches, in_turn, is_text, joined
from perflog.matching.matches import Texts as JoinedTexts
from perflog.matching.polars_engine import LAST_LINES, PolarsEngine
from perflog.matching.polars_lines import literals_in, numbers
from tests.reading.support import catalog

NAN = float("nan")


def parser(*tables: Mapping[str, Any], name: str = "t", **more: Any) -> Parser:
    return parser_from({"title": "t", "source": "s", "pattern": list(tables), **more}, Path(f"{name}.toml"))


def table(regex: str, **more: Any) -> dict[str, Any]:
    """A step pattern that begins with ``step:``."""
    value = {"group": "ips", "quantity": "rate", "unit": "samples/s"}
    return {"name": "step", "role": "step", "literal": "step:", "regex": regex, "value": [value], **more}


def pattern(regex: str, **more: Any) -> Pattern:
    return parser(table(regex, **more)).patterns[0]


JUMP = pattern("step:(?P<step>{I}) {TO}ips: (?P<ips>{N}) [a-z]+/s", also="loss: (?P<loss>{NN})")
STEP = pattern("step:(?P<step>{I}) ips: (?P<ips>{N})")
BY_LINE = pattern("(?P<epoch>{I}) step:(?P<step>{I}) ips: (?P<ips>{N})")


def hits(made: Pattern, *texts: str, at_end: bool = False) -> Matches:
    """What a pattern without others finds in texts."""
    alone = replace(parser(table(made.regex)), patterns=(made,))
    (found,) = PolarsEngine(catalog(alone)).match([text.encode() for text in texts], at_end).matches
    return found


def of_parser(made: Parser, text: str) -> list[Matches]:
    """What each pattern of a parser finds in a text that holds all their literals."""
    return PolarsEngine(catalog(made)).match([text.encode()], False).matches


def read(found: Matches) -> list[tuple[float, float]]:
    return list(zip(found.columns["step"].tolist(), found.columns["ips"].tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("step:1 a ips: 5 x/s\nstep:2 b ips: 6 x/s\n", [(1, 5), (2, 6)]),
        ("step:1 损失 ips: 5 x/s\n", [(1, 5)]),  # the jump counts bytes, not characters
        ("step:1 cut he\nother ips: 5 x/s\nstep:2 ips: 6 x/s\n", [(2, 6)]),
        ("step:1 cut he\nother ips: 5 x/s\n", []),
        ("step:1 a\rips: 5 x/s\n", []),
        ("step:1 a ips: 5 x/s step:2 glued ips: 6 x/s\n", [(1, 5), (2, 6)]),
        ("step:x a ips: 5 x/s\nstep:2 a ips: none\nstep:3 a ips: 7 x/s", [(3, 7)]),
    ],
)
def test_a_jump_stays_on_its_line(text: str, values: list[tuple[int, int]]) -> None:
    assert read(hits(JUMP, text)) == values


@pytest.mark.parametrize(
    "regex",
    [
        "step:(?P<step>{I}) {TO}(?P<ips>{N})",
        "step:(?P<step>{I}) ips: {TO}ips: (?P<ips>{N})",
        "step:{TO}a: {TO}ips: (?P<ips>{N})",
    ],
)
def test_a_jump_needs_a_text_of_its_own(regex: str) -> None:
    with pytest.raises(ParserError, match="TO}"):
        pattern(regex)


def test_hits_have_their_text_and_offset() -> None:
    first, second, third = "step:1 ips: 5\nstep:2 ips: 6\n", "no\n", "损step:3 ips: 7\n\nstep:x\nstep:4 ips: 8"
    found = hits(STEP, first, second, third)
    assert read(found) == [(1, 5), (2, 6), (3, 7), (4, 8)]
    assert found.text.tolist() == [0, 0, 2, 2]
    offsets = [
        text.encode().find(b"step:" + number)
        for text, number in ((first, b"1"), (first, b"2"), (third, b"3"), (third, b"4"))
    ]
    assert found.offset.tolist() == offsets
    assert found.candidates == {0: 2, 2: 3}


def test_a_pattern_that_reads_before_its_literal_is_matched_by_line() -> None:
    assert BY_LINE.tail is None
    text, other = "x\n7 step:1 ips: 5\nstep:2 ips: 6\r8 step:2 ips: 6\n", "9 step:3 ips: 7"
    found = hits(BY_LINE, text, "none\n", other)
    assert (read(found), found.columns["epoch"].tolist()) == ([(1, 5), (2, 6), (3, 7)], [7, 8, 9])
    assert (found.text.tolist(), found.candidates) == ([0, 0, 2], {0: 3, 2: 1})
    assert found.offset.tolist() == [text.find("7"), text.find("8"), 0]  # where the sub-lines begin


def test_a_regex_that_begins_with_a_line_does_so() -> None:
    made = pattern("^(?P<epoch>{I}) step:(?P<step>{I}) ips: (?P<ips>{N})")
    assert read(hits(made, "7 step:1 ips: 5\na 7 step:2 ips: 5\n")) == [(1, 5)]


def test_a_literal_that_does_not_occur() -> None:
    assert PolarsEngine(catalog(LOW)).match([b"nothing\n", b""], False).matches == []


def test_which_literals_a_line_holds() -> None:
    wanted = ["first", "irst", "other.", "o(ther", "nothing here"]
    found = literals_in([b"a first first", b"other. otherx", b"no"], wanted)
    assert [sorted(held) for held in found] == [["first", "irst"], ["other."], []]


def test_patterns_of_one_literal_take_turns() -> None:
    made = parser(
        table("step:(?P<step>{I}) ips: (?P<ips>{N})"),
        {**table("step:(?P<step>{I}) fast: (?P<ips>{N})"), "name": "fast"},
    )
    first, second = of_parser(made, "step:1 ips: 5\nstep:2 fast: 6\nstep:3 ips: 7\n")
    assert (read(first), read(second)) == ([(1, 5), (3, 7)], [(2, 6)])
    assert (first.candidates, second.candidates) == ({0: 3}, {0: 3})  # how often the literal occurs
    assert [len(found) for found in of_parser(made, "step:1 ips: 5\n")] == [1, 0]  # all are taken


def test_metadata_takes_nothing_away() -> None:
    fact = {"name": "fact", "role": "metadata", "literal": "step:", "regex": "step:(?P<seed>{I})"}
    made = parser(fact, table("step:(?P<step>{I}) ips: (?P<ips>{N})"))
    seeds, steps = of_parser(made, "step:1 ips: 5\n")
    assert (seeds.columns["seed"], read(steps)) == (["1"], [(1, 5)])


def test_a_blank_of_any_kind_does_not_cross_a_line() -> None:
    made = pattern(r"step:(?P<step>{I})\s+ips: (?P<ips>{N})")
    assert read(hits(made, "step:1\nips: 5\nstep:2 ips: 6\n")) == [(2, 6)]


def test_the_loss_is_read_from_each_texts_last_lines() -> None:
    text = "".join(f"step:{n} loss: {n}.5 ips: 5 x/s\n" for n in range(1, 2 * LAST_LINES + 1))
    for loss in np.split(hits(JUMP, text, text).columns["loss"], 2):
        assert np.isnan(loss[:LAST_LINES]).all()
        assert loss[LAST_LINES:].tolist() == [n + 0.5 for n in range(LAST_LINES + 1, 2 * LAST_LINES + 1)]


def test_the_loss_is_the_lines_own() -> None:
    text = "step:1 ips: 5 x/s\nloss: 9\nstep:2 ips: 6 x/s step:3 loss: 7 ips: 6 x/s\rloss: 8"
    np.testing.assert_array_equal(hits(JUMP, text).columns["loss"], [NAN, NAN, 7])


def test_texts_as_numbers() -> None:
    column = ["1.5", "1,234", None, "nan", "1-2", "-3e2", "+.5"]
    np.testing.assert_array_equal(numbers(column), [1.5, 1234, NAN, NAN, NAN, -300, 0.5])


# Which parser gets which line.

LOW = parser(table("step:(?P<step>{I}) ips: (?P<ips>{N})"), name="low", priority=20)
HIGH = parser(
    table("tep:(?P<step>{I}) ips: (?P<ips>{N})", literal="tep:"),
    {"name": "eval", "role": "ignore", "literal": "eval", "regex": "eval [^\\n]*"},
    name="high", priority=50,
)  # fmt: skip


def left(text: str, *parsers: Parser, at_end: bool = True) -> tuple[dict[str, list[int]], int, bool]:
    """(the lines that each pattern keeps, how many lines the text has, whether its last one may be cut)."""
    batch = PolarsEngine(catalog(*parsers)).match([text.encode()], at_end)
    kept = {found.pattern.key: found.line.tolist() for found in batch.matches}
    return kept, int(batch.lines[0]), bool(batch.cut[0])


def test_a_line_is_the_most_specific_parsers() -> None:
    text = "step:1 ips: 5\nstep:2 ips: 6\n"
    assert left(text, LOW) == ({"low.step": [0, 1]}, 2, False)
    both = {"low.step": [], "high.step": [0, 1]}
    assert (left(text, LOW, HIGH)[0], left(text, HIGH, LOW)[0]) == (both, both)


def test_lines_to_be_ignored_are_no_measurements() -> None:
    text = "eval step:1 ips: 5\nstep:2 ips: 6\reval x\n"
    kept = {"high.step": [1], "high.eval": [0, 1]}
    assert left(text, HIGH)[0] == kept
    assert left(text, HIGH, LOW)[0] == {**kept, "low.step": []}


@pytest.mark.parametrize(
    ("text", "kept", "cut"),
    [
        ("step:1 ips: 5\nstep:2 ips: 6", [0], True),
        ("step:1 ips: 5\nstep:2 ips: 6 x", [0, 1], False),
        ("step:1 ips: 5\nstep:2 ips: 6\n", [0, 1], False),
        ("step:1 ips: 5\nstep:2 ips: 6\r", [0, 1], False),
        ("step:1 ips: 5\nnumber 6", [0], False),  # nothing was read from it
        ("step:1 ips: 6", [], True),
    ],
)
def test_a_last_line_that_may_be_cut_inside_a_number(text: str, kept: list[int], cut: bool) -> None:
    assert left(text, LOW) == ({"low.step": kept}, text.count("\n") + (text[-1] != "\n"), cut)
    assert left(text, LOW, at_end=False)[2] is False


def test_a_last_line_of_many_digits_takes_a_time_in_proportion() -> None:
    """Looked for from each digit on, the end of a million of them would take hours."""
    text = "step:1 ips: 5\n" + "1" * 1_000_000
    assert left(text + "x", LOW)[2] is False
    assert left(text, LOW)[2] is False, "nothing was read from it"
    assert left(f"{text[:14]}{text[14:]} step:2 ips: 6", LOW)[2] is True


def test_ranks_are_of_sub_lines() -> None:
    text = "[rank1]:step:1 ips: 5\nstep:2 ips: 5\r[rank2]:step:3 ips: 5\n[default12]:step:4 ips: 5\n0: step:5 ips: 5\n"
    assert hits(STEP, text).rank.tolist() == [1, -1, 2, 12, -1]
    assert hits(STEP, "(w pid=7, ip=1.2.3.4) step:3 ips: 5\n(x) step:3 ips: 5\n").rank.tolist() == [7, -1]
    assert hits(STEP, "[1,3]<stdout>:step:3 ips: 5\nstep:1 ips: 5\n").rank.tolist() == [3, -1]
    assert hits(STEP, "step:1 ips: 5\n").rank.tolist() == [-1]


# What every engine gives.


def test_the_most_specific_parsers_take_their_turns_first() -> None:
    other = parser(table("step:(?P<step>{I})x (?P<ips>{N})"), name="also_low", priority=20)
    assert [made.parser for made in in_turn(catalog(LOW, HIGH, other))] == ["high", "high", "low", "also_low"]


def test_which_groups_stay_text() -> None:
    fact = parser({"name": "fact", "role": "metadata", "literal": "x", "regex": "x(?P<seed>{I})"}).patterns[0]
    assert [is_text(STEP, group) for group in ("step", "ips", "unit", "timestamp")] == [False, False, True, True]
    assert is_text(fact, "seed")


def test_matches_are_cut_and_taken() -> None:
    columns = {"step": np.array([1.0, 2, 3]), "unit": ["a", None, "b"]}
    matches = Matches(
        STEP,
        np.array([0, 0, 2]),
        np.array([4, 5, 0]),
        np.array([-1, 0, 1]),
        columns,
        {0: frozenset("a")},
        {0: 2, 1: 1, 2: 1},
    )
    batch = Batch([matches], np.array([6, 1, 1]), np.array([False, True, False]))
    (first,), lines, cut = batch.of_text(0)
    assert (first.line.tolist(), first.columns["unit"], first.units, first.candidates) == (
        [4, 5],
        ["a", None],
        {0: frozenset("a")},
        {0: 2},
    )
    assert (lines, cut) == (6, False)
    (second,), lines, cut = batch.of_text(1)  # tried, and never matched
    assert (len(second), second.candidates, second.units, cut) == (0, {1: 1}, {}, True)
    for which in (np.array([False, True, True]), np.array([1, 2])):
        taken = matches.take(which)
        assert (taken.line.tolist(), taken.rank.tolist(), taken.columns["unit"]) == ([5, 0], [0, 1], [None, "b"])
        assert taken.columns["step"].tolist() == [2, 3]
    assert Batch([], np.array([3]), np.array([False])).of_text(0) == ([], 3, False)


def test_texts_of_one_buffer() -> None:
    texts = JoinedTexts(bytearray(b"abcde"), [2, 2, 5])
    assert (len(texts), list(texts), texts[1:], texts[2]) == (3, [b"ab", b"", b"cde"], [b"", b"cde"], b"cde")
    assert [len(text) for text in JoinedTexts(b"", [])] == []


def matched(made: Pattern, text: list[int], line: list[int], units: dict[int, frozenset[str]]) -> Matches:
    n = len(text)
    columns: dict[str, Any] = {"step": np.array(line, dtype=float), "unit": [str(number) for number in line]}
    return Matches(made, np.array(text), np.array(line), np.full(n, -1), columns, units, dict.fromkeys(text, 9))


def test_texts_that_were_matched_apart_are_joined() -> None:
    other_pattern = HIGH.patterns[0]
    batch = Batch(
        [matched(STEP, [0, 0, 3], [1, 2, 7], {0: frozenset("a")})],
        np.array([5, 0, 0, 8]),
        np.array([False, False, False, True]),
    )
    apart = Batch(
        [matched(STEP, [0, 1], [4, 6], {1: frozenset("b")}), matched(other_pattern, [1], [3], {})],
        np.array([6, 7]),
        np.array([True, False]),
    )
    whole = joined(batch, apart, np.array([1, 2]))
    steps, others = whole.matches
    assert (steps.text.tolist(), steps.line.tolist()) == ([0, 0, 1, 2, 3], [1, 2, 4, 6, 7])
    assert (steps.columns["step"].tolist(), steps.columns["unit"]) == ([1, 2, 4, 6, 7], ["1", "2", "4", "6", "7"])
    assert dict(steps.units) == {0: {"a"}, 2: {"b"}}
    assert dict(steps.candidates) == {0: 9, 3: 9, 1: 9, 2: 9}
    assert (others.pattern, others.text.tolist(), others.line.tolist()) == (other_pattern, [2], [3])
    assert (whole.lines.tolist(), whole.cut.tolist()) == ([5, 6, 7, 8], [False, True, False, True])
    assert batch.lines.tolist() == [5, 0, 0, 8]
