"""The polars engine's parts: texts split at literals, jumps, lines given to one parser, numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from perflog.errors import ParserError
from perflog.formats.load import parser_from
from perflog.formats.parser import Parser, Pattern
from perflog.matching.matches import Batch, Matches, in_turn, is_text, joined
from perflog.matching.matches import Texts as JoinedTexts
from perflog.matching.polars_engine import LAST_LINES, claimed, numbers_of_also
from perflog.matching.polars_texts import Hits, Texts, numbers
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


def hits(made: Pattern, *texts: str) -> Hits:
    found = Texts([text.encode() for text in texts]).match(made)
    assert found is not None
    return found


def read(found: Hits) -> list[tuple[float, float]]:
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
    texts = Texts([b"nothing\n", b""])
    assert (texts.match(STEP), texts.match(BY_LINE)) == (None, None)


def test_which_literals_occur_is_found_at_the_ends_and_in_the_middle() -> None:
    middle = b"x\n" * 20_000
    texts = Texts([b"first\n" + middle + b"inner\n" + middle + b"last\n", b"other.\n"])
    wanted = ["first", "inner", "last", "other.", "o(ther", "nothing here"]
    assert texts.literals(wanted) == {"first", "inner", "last", "other."}
    assert texts.literals(["first", "last"]) == {"first", "last"}


def test_patterns_of_one_literal_take_turns() -> None:
    made = parser(
        table("step:(?P<step>{I}) ips: (?P<ips>{N})"),
        {**table("step:(?P<step>{I}) fast: (?P<ips>{N})"), "name": "fast"},
    )
    texts = Texts([b"step:1 ips: 5\nstep:2 fast: 6\nstep:3 ips: 7\n"])
    first, second = (texts.match(part) for part in made.patterns)
    assert first is not None and second is not None
    assert (read(first), read(second)) == ([(1, 5), (3, 7)], [(2, 6)])
    assert (first.candidates, second.candidates) == ({0: 3}, {0: 3})  # how often the literal occurs
    texts = Texts([b"step:1 ips: 5\n"])
    assert texts.match(made.patterns[0]) is not None
    nothing = texts.match(made.patterns[1])  # all are taken
    assert nothing is None or len(nothing) == 0


def test_metadata_takes_nothing_away() -> None:
    fact = {"name": "fact", "role": "metadata", "literal": "step:", "regex": "step:(?P<seed>{I})"}
    made = parser(fact, table("step:(?P<step>{I}) ips: (?P<ips>{N})"))
    texts = Texts([b"step:1 ips: 5\n"])
    seeds, steps = (texts.match(part) for part in made.patterns)
    assert seeds is not None and steps is not None
    assert (seeds.columns["seed"].tolist(), read(steps)) == (["1"], [(1, 5)])


def test_a_blank_of_any_kind_does_not_cross_a_line() -> None:
    made = pattern(r"step:(?P<step>{I})\s+ips: (?P<ips>{N})")
    assert read(hits(made, "step:1\nips: 5\nstep:2 ips: 6\n")) == [(2, 6)]


def test_the_loss_is_read_from_each_texts_last_lines() -> None:
    text = "".join(f"step:{n} loss: {n}.5 ips: 5 x/s\n" for n in range(1, 2 * LAST_LINES + 1)).encode()
    found = hits(JUMP, text.decode())
    loss = numbers_of_also(JUMP, text, found.offset)["loss"]
    assert np.isnan(loss[:LAST_LINES]).all()
    assert loss[LAST_LINES:].tolist() == [n + 0.5 for n in range(LAST_LINES + 1, 2 * LAST_LINES + 1)]


def test_the_loss_is_the_lines_own() -> None:
    text = "step:1 ips: 5 x/s\nloss: 9\nstep:2 ips: 6 x/s step:3 loss: 7 ips: 6 x/s\rloss: 8"
    loss = numbers_of_also(JUMP, text.encode(), hits(JUMP, text).offset)["loss"]
    np.testing.assert_array_equal(loss, [NAN, NAN, 7])


def test_texts_as_numbers() -> None:
    column = pl.Series(["1.5", "1,234", None, "nan", "1-2", "-3e2", "+.5"], dtype=pl.String)
    np.testing.assert_array_equal(numbers(column), [1.5, 1234, NAN, NAN, NAN, -300, 0.5])


# Which parser gets which line.

LOW = parser(table("step:(?P<step>{I}) ips: (?P<ips>{N})"), name="low", priority=20)
HIGH = parser(
    table("tep:(?P<step>{I}) ips: (?P<ips>{N})", literal="tep:"),
    {"name": "eval", "role": "ignore", "literal": "eval", "regex": "eval [^\\n]*"},
    name="high", priority=50,
)  # fmt: skip
PRIORITY = {"low": 20, "high": 50}


def left(text: str, *patterns: Pattern, at_end: bool = True) -> tuple[list[list[int]], int, bool]:
    """(the lines that each pattern keeps, how many lines the text has, whether its last one may be cut)."""
    data = text.encode()
    texts = Texts([data])
    found = [part for made in patterns if (part := texts.match(made)) is not None]
    given = claimed(data, found, PRIORITY, at_end)
    return [given.line_of(part.offset).tolist() for part in given.hits], given.lines, given.cut


def test_a_line_is_the_most_specific_parsers() -> None:
    text = "step:1 ips: 5\nstep:2 ips: 6\n"
    assert left(text, LOW.patterns[0]) == ([[0, 1]], 2, False)
    assert left(text, LOW.patterns[0], HIGH.patterns[0])[0] == [[], [0, 1]]
    assert left(text, HIGH.patterns[0], LOW.patterns[0])[0] == [[0, 1], []]


def test_lines_to_be_ignored_are_no_measurements() -> None:
    text = "eval step:1 ips: 5\nstep:2 ips: 6\reval x\n"
    assert left(text, *HIGH.patterns)[0] == [[1], [0, 1]]
    assert left(text, *HIGH.patterns, LOW.patterns[0])[0] == [[1], [0, 1], []]


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
    assert left(text, LOW.patterns[0]) == ([kept], text.count("\n") + (text[-1] != "\n"), cut)
    assert left(text, LOW.patterns[0], at_end=False)[2] is False


def test_a_last_line_of_many_digits_takes_a_time_in_proportion() -> None:
    """Looked for from each digit on, the end of a million of them would take hours."""
    text = "step:1 ips: 5\n" + "1" * 1_000_000
    assert left(text + "x", LOW.patterns[0])[2] is False
    assert left(text, LOW.patterns[0])[2] is False, "nothing was read from it"
    assert left(f"{text[:14]}{text[14:]} step:2 ips: 6", LOW.patterns[0])[2] is True


def test_ranks_are_of_sub_lines() -> None:
    text = b"[rank1]:step:1 ips: 5\nstep:2 ips: 5\r[rank2]:step:3 ips: 5\n[default12]:step:4 ips: 5\n0: step:5 ips: 5\n"
    found = Texts([text]).match(STEP)
    assert found is not None
    given = claimed(text, [found], {"t": 50}, True)
    assert given.rank_of(text, found.offset).tolist() == [1, -1, 2, 12, -1]
    plain = b"step:1 ips: 5\n"
    alone = Texts([plain]).match(STEP)
    assert alone is not None
    assert claimed(plain, [alone], {"t": 50}, True).rank_of(plain, alone.offset).tolist() == [-1]


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
