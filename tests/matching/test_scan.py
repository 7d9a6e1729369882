"""The compiled scanner: its rules one by one, on texts whose truth was written by hand, and against Python's ``re``."""

from __future__ import annotations

import math
import re
import struct
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from perflog.formats.printed import number_in
from perflog.logs.clean import clean_block, valid_utf8
from perflog.matching import compiled, library
from perflog.matching.compiled import Found, Program, Rule, RuleError, Scan, ScanError
from tests.support import FIXTURES, examples

pytestmark = pytest.mark.skipif(bool(library.available()), reason=library.available())


def tail(literal: str, regex: str, *groups: str, **more: object) -> Rule:
    return rule(literal, "tail", regex, *groups, **more)


def rule(literal: str, kind: compiled.Kind, regex: str, *groups: str, **more: object) -> Rule:
    """A rule whose groups are numbers, or as ``name:kind`` says."""
    named = tuple((name, what or "number") for name, _, what in (group.partition(":") for group in groups))
    values = {"parser": 0, "priority": 50, "role": "other", **more}
    return Rule(literal=literal.encode(), kind=kind, regex=regex, groups=named, **values)  # type: ignore[arg-type]


def scan_one(rules: Rule | Sequence[Rule], text: str | bytes, at_end: bool = True, cleaned: bool = False) -> Scan:
    data = text.encode() if isinstance(text, str) else text
    return Program([rules] if isinstance(rules, Rule) else rules).scan([data], at_end, cleaned)


def rows(scan: Scan, index: int = 0) -> list[tuple[object, ...]]:
    """Line, offset and captures of each row of one rule."""
    for found in scan.found:
        if found.rule == index:
            columns: list[Iterable[object]] = [column.tolist() for column in found.numbers.values()]
            columns += [found.text_column(name) for name in found.strings]
            return list(zip(found.line.tolist(), found.offset.tolist(), *columns, strict=True))
    return []


def candidates(scan: Scan, index: int = 0) -> list[tuple[int, int]]:
    for found in scan.found:
        if found.rule == index:
            return list(found.candidates.items())
    return []


STEP = tail("step ", "(?P<n>[0-9]+)", "n")


# ------------------------------------------------------------------------------------------------ places


def test_lines_offsets_and_values() -> None:
    scan = scan_one(STEP, "step 1\nnothing\n  step 22, step x\n")
    assert rows(scan) == [(0, 0, 1.0), (2, 17, 22.0)]
    assert candidates(scan) == [(0, 3)]
    assert scan.line_feeds.tolist() == [3]
    assert scan.flags.tolist() == [0]


def test_literal_at_the_very_start_and_end() -> None:
    assert rows(scan_one(tail("ab", ""), "ab\nxab", at_end=False)) == [(0, 0), (1, 4)]
    assert rows(scan_one(tail("ab", "$"), "ab")) == [(0, 0)]


@pytest.mark.parametrize("size", range(1, 12))
def test_a_literal_of_every_length_at_every_place(size: int) -> None:
    literal = "qXzJvWkYjQp"[:size]
    program = Program([tail(literal, "")])
    for place in range(70):
        for end in ("", "\n", "." * 5, "." * 100):
            assert rows(program.scan([("." * place + literal + end).encode()])) == [(0, place)]


def test_a_literal_across_the_scanners_pieces() -> None:
    for size in (3, 8, 20):
        literal = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:size]
        program = Program([tail(literal, " (?P<n>[0-9])", "n")])
        for place in range(16384 - 30, 16384 + 10):
            text = b"." * place + literal.encode() + b" 7\n"
            assert rows(program.scan([text])) == [(0, place, 7.0)]
            assert rows(program.scan([b"\n" * place + text])) == [(place, 2 * place, 7.0)]


@pytest.mark.parametrize("place", range(70))
def test_a_short_literal_beside_a_long_one_on_the_next_line(place: int) -> None:
    rules = [tail("iteration ", "(?P<n>[0-9]+)", "n"), tail("%|", "(?P<n>[0-9]+)", "n")]
    text = "." * place + "%|1\niteration 2\n%|3 iteration 4\n"
    scan = scan_one(rules, text)
    assert [row[::2] for row in rows(scan, 0)] == [(1, 2.0), (2, 4.0)]
    assert [row[:2] for row in rows(scan, 1)] == [(0, place), (2, text.index("%|3"))]


def test_short_literals_with_more_rarest_bytes_than_are_looked_for_at_once() -> None:
    literals = ["%|", "% ", "#", "~:", "^>", "\u00e9", "  "]
    rules = [tail(literal, "(?P<n>[0-9]+)", "n") for literal in literals]
    text = "".join(f"{'.' * n}{literal}{n}\n" for n, literal in enumerate(literals))
    scan = scan_one(rules, text)
    assert [[row[::2] for row in rows(scan, n)] for n in range(len(literals))] == [[(n, float(n))] for n in range(7)]


def test_a_short_literal_at_the_very_end() -> None:
    for text in ("%", "%|", "x" * 15 + "%|", "x" * 16 + "%"):
        assert candidates(scan_one(tail("%|", ""), text)) == ([(0, 1)] if "|" in text else [])
        assert candidates(scan_one(tail("  ", ""), text.replace("%", " ").replace("|", " "))) == (
            [(0, 1)] if "|" in text else []
        )


def test_line_numbers_in_a_long_text() -> None:
    text = "".join(f"step {n}\n" + "x\n" * (n % 7) for n in range(20000))
    wanted, at = [], 0
    for n in range(20000):
        wanted.append(at)
        at += 1 + n % 7
    (found,) = scan_one(STEP, text).found
    assert found.line.tolist() == wanted
    assert found.numbers["n"].tolist() == list(range(20000))


def test_glued_events_are_two() -> None:
    assert rows(scan_one(STEP, "step 1step 2step 3\n")) == [(0, 0, 1.0), (0, 6, 2.0), (0, 12, 3.0)]


def test_a_subject_ends_at_the_next_occurrence() -> None:
    assert rows(scan_one(tail("ep", ":(?P<n>[0-9]*).*$", "n"), "ep:1 and ep:2\n")) == [(0, 0, 1.0), (0, 9, 2.0)]
    assert rows(scan_one(tail("ep", ".*x"), "ep ep x\n")) == [(0, 3)]


def test_occurrences_right_behind_each_other() -> None:
    assert rows(scan_one(tail("ab", "(?P<t>.*)$", "t:text"), "abab12\n")) == [(0, 0, ""), (0, 2, "12")]


def test_overlapping_occurrences_of_one_literal() -> None:
    scan = scan_one(tail("aa", ""), "aaaaa\n")
    assert rows(scan) == [(0, 0), (0, 2)]
    assert candidates(scan) == [(0, 2)]


def test_literals_that_are_part_of_others() -> None:
    scan = scan_one([tail("it", ""), tail("iter", ""), tail("iteration", ""), tail("ration", "")], "iteration\n")
    assert [rows(scan, n) for n in range(4)] == [[(0, 0)], [(0, 0)], [(0, 0)], [(0, 3)]]


def test_sub_lines() -> None:
    scan = scan_one(tail("s ", r"(?P<n>[0-9]+)(?P<rest>.*)$", "n", "rest:text"), "s 1 a\rs 2\r\ns 3\n\r\rs 4\n")
    assert rows(scan) == [(0, 0, 1.0, " a"), (0, 6, 2.0, ""), (1, 11, 3.0, ""), (2, 17, 4.0, "")]
    assert scan.line_feeds.tolist() == [3]


def test_no_pattern_crosses_a_line_end() -> None:
    for end in ("\n", "\r", "\r\n"):
        assert rows(scan_one(tail("a", "[ \\t]+b"), f"a {end}b\n")) == []
        assert rows(scan_one(rule("b", "line", r"a[^x]*b"), f"a {end}b\n")) == []


def test_anchors_see_the_subject_only() -> None:
    assert rows(scan_one(tail("x", "^b"), "xb\n")) == [(0, 0)]
    assert rows(scan_one(tail("x", "b$"), "xbxb\n")) == [(0, 0), (0, 2)]


# ------------------------------------------------------------------------------------------------ kinds


def test_jump() -> None:
    jumping = rule("Train: ", "jump", r"(?P<n>[0-9]+)", "n", "t", jump=b"Time:", tail=r" +(?P<t>[0-9.]+)s")
    scan = scan_one(
        jumping,
        "Train: 5 Time: 0.5s\nTrain: 6 x Time: -\nTrain: 7\nTime: 1s\nTrain: z Time: 1s\nTrain: 8 Train: 9 Time: 2s Time: 3s\n",
    )
    assert rows(scan) == [(0, 0, 5.0, 0.5), (5, 84, 9.0, 2.0)]
    assert candidates(scan) == [(0, 6)]


def test_a_jumps_literal_may_be_in_its_heads_reach() -> None:
    jumping = rule("a", "jump", ".*", jump=b"b", tail="c")
    assert rows(scan_one(jumping, "abc\nabbc\n")) == [(0, 0)]  # the first b is the one


def test_line_kind() -> None:
    at_start = rule("loss", "line", r"^(?P<n>[0-9]+) (?:loss=(?P<l>[0-9.]+))", "n", "l")
    scan = scan_one(at_start, "1 loss=2.5 loss\n x 1 loss=3\n\n7 loss=8\r9 loss=10\n")
    assert rows(scan) == [(0, 0, 1.0, 2.5), (3, 29, 7.0, 8.0), (3, 38, 9.0, 10.0)]
    assert candidates(scan) == [(0, 4)]


def test_line_kind_takes_the_first_match_only() -> None:
    assert rows(scan_one(rule("=", "line", "(?P<n>[0-9])", "n"), "1=2=3\n")) == [(0, 0, 1.0)]


# ------------------------------------------------------------------------------------------------ turns and claims


def test_patterns_of_one_literal_take_turns() -> None:
    scan = scan_one(
        [tail("e:", "a"), tail("e:", "a?b"), tail("e:", ""), tail("e:", "a", role="metadata")], "e:a\ne:ab\ne:b\ne:\n"
    )
    assert [rows(scan, n) for n in range(4)] == [[(0, 0), (1, 4)], [(2, 9)], [(3, 13)], [(0, 0), (1, 4)]]
    assert [candidates(scan, n) for n in range(4)] == [[(0, 4)]] * 4  # whether or not a rule was tried


def test_metadata_takes_nothing() -> None:
    scan = scan_one([tail("e:", "a", role="metadata"), tail("e:", "a")], "e:a\n")
    assert rows(scan, 0) == rows(scan, 1) == [(0, 0)]


def test_line_patterns_do_not_take_part_in_taking() -> None:
    scan = scan_one([rule("e:", "line", "a"), tail("e:", "a"), rule("e:", "line", "a")], "e:a\n")
    assert [rows(scan, n) for n in range(3)] == [[(0, 0)]] * 3


def test_the_highest_priority_owns_a_line() -> None:
    rules = [
        tail("c", "", parser=1, priority=30),
        tail("b", "", parser=2, priority=20),
        tail("a", "", parser=3, priority=10),
    ]
    scan = scan_one(rules, "a\nab\nabc\n")
    assert [rows(scan, n) for n in range(3)] == [[(2, 7)], [(1, 3)], [(0, 0)]]
    assert [candidates(scan, n) for n in range(3)] == [[(0, 1)], [(0, 2)], [(0, 3)]]


def test_a_rule_that_does_not_match_owns_nothing() -> None:
    rules = [tail("e", "1", parser=1), rule("e", "line", "^x", parser=1), tail("e", "2", parser=2)]
    scan = scan_one(rules, "e2\ne1e2\nxe2\n")
    assert [rows(scan, n) for n in range(3)] == [[(1, 3)], [(2, 8)], [(0, 0)]]
    assert [candidates(scan, n) for n in range(3)] == [[(0, 4)], [(0, 3)], [(0, 4)]]


def test_another_parsers_rule_does_not_take_from_the_owner() -> None:
    rules = [tail("x", "", parser=1), tail("e", "1", parser=1), tail("e", "", parser=2)]
    scan = scan_one(rules, "x e1 e2\ne1 e2\ne2\n")
    assert [rows(scan, n) for n in range(3)] == [[(0, 0)], [(0, 2), (1, 8)], [(2, 14)]]


def test_rules_must_come_by_priority() -> None:
    with pytest.raises(RuleError, match="higher than that of the rule before") as caught:
        Program([tail("a", "", priority=1), tail("b", "", priority=1), tail("c", "", priority=2)])
    assert caught.value.rule == 2


def test_of_equal_priorities_the_earlier_owns_a_line() -> None:
    scan = scan_one([tail("a", "", parser=1), tail("b", "", parser=2)], "ba\nb\n")
    assert [rows(scan, n) for n in range(2)] == [[(0, 1)], [(1, 3)]]


def test_an_owner_may_ignore_a_line() -> None:
    rules = [
        tail("b", "", parser=2, priority=70),
        tail("zz", "", parser=2, priority=70, role="ignore"),
        tail("a", "", parser=1, priority=60),
        tail("no", "", parser=1, priority=60, role="ignore"),
        tail("m", "", parser=1, priority=60, role="metadata"),
        tail("qq", "", parser=3, priority=10, role="ignore"),
    ]
    scan = scan_one(rules, "a m\na no m\na no b\na zz\nb zz\na qq\nqq\n")
    assert [rows(scan, n) for n in range(6)] == [
        [(2, 16)],
        [(3, 20), (4, 25)],
        [(0, 0), (5, 28)],
        [(1, 6)],
        [(0, 2), (1, 9)],
        [(6, 33)],
    ]


def test_a_position_beside_anothers_line_takes_its_literal_from_its_own_parser_alone() -> None:
    rules = [
        tail("step ", "(?P<n>[0-9]+)", "n", parser=1, priority=60),
        tail("at ", "(?P<n>[0-9]+)", "n", parser=2, priority=20, role="position"),
        tail("at ", "(?P<n>[0-9])", "n", parser=2, priority=20, role="position"),
        tail("at ", "(?P<n>[0-9]{2})", "n", parser=3, priority=10, role="position"),
        tail("at ", "(?P<n>[0-9])", "n", parser=4, priority=5),
    ]
    scan = scan_one(rules, "step 1 at 22\n")
    assert [rows(scan, index) for index in range(5)] == [[(0, 0, 1.0)], [(0, 7, 22.0)], [], [(0, 7, 22.0)], []]


def test_metadata_is_kept_on_a_line_of_another() -> None:
    scan = scan_one([tail("a", "", parser=1, role="metadata"), tail("b", "", parser=2)], "ab\n")
    assert rows(scan, 0) == [(0, 0)] and rows(scan, 1) == [(0, 1)]


def test_claims_are_of_sub_lines() -> None:
    scan = scan_one([tail("a", "", parser=1), tail("b", "", parser=2)], "b\ra\rba\n")
    assert [rows(scan, n) for n in range(2)] == [[(0, 2), (0, 5)], [(0, 0)]]


def test_what_is_dropped_leaves_no_units_and_texts() -> None:
    kept = tail("v", "(?P<unit>[a-z])(?P<name>[a-z])", "unit:unit", "name:text")
    scan = scan_one([kept, tail("!", "", role="ignore")], "vab\nvcd!\nvef\nvag\n")
    found = scan.found[0]
    assert found.units == {"unit": [(0, "a"), (0, "e")]}
    assert found.text_column("name") == ["b", "f", "g"]


# ------------------------------------------------------------------------------------------------ also, ends, ranks


def test_also_reads_a_texts_last_64_matches() -> None:
    also = tail("s=", "(?P<n>[0-9]+)", "n", also="loss (?P<loss>[0-9.]+)", also_groups=("loss",))
    text = "".join(f"s={n} loss {n}.5\n" for n in range(100)).encode()
    scan = Program([also]).scan([text, b"s=1 s=2 loss 3\rloss 4\ns=5\nloss 6\n", b"s=7 loss nothing"])
    (found,) = scan.found
    loss = found.numbers["loss"]
    assert np.isnan(loss[:36]).all()
    assert loss[36:100].tolist() == [n + 0.5 for n in range(36, 100)]
    assert found.numbers["n"][100:].tolist() == [1, 2, 5, 7]
    assert [None if math.isnan(x) else x for x in loss[100:].tolist()] == [None, 3.0, None, None]


@pytest.mark.parametrize(
    ("text", "at_end", "kept", "cut"),
    [
        ("n 1\nn 2", True, 1, True),
        ("n 1\nn 2", False, 2, False),
        ("n 1\nn 2\n", True, 2, False),
        ("n 1\nn 2\r", True, 2, False),
        ("n 1\nn 2 ", True, 2, False),
        ("n 1\nn 2e", True, 1, True),
        ("n 1\nn 2.5e-", True, 1, True),
        ("n 1\nn 2 e", True, 2, False),
        ("n 1\nn 2 -", True, 2, False),
        ("n 1\nx 2", True, 1, False),
        ("n 1\rn 2", True, 1, True),
        ("n 2", True, 0, True),
    ],
)
def test_a_cut_last_line(text: str, at_end: bool, kept: int, cut: bool) -> None:
    scan = scan_one([tail("n ", "(?P<n>[0-9]+)", "n"), tail("n ", "", role="metadata")], text, at_end)
    assert len(rows(scan, 0)) == kept
    assert len(rows(scan, 1)) == kept
    assert bool(scan.flags[0] & compiled.CUT) == cut
    assert bool(scan.flags[0] & compiled.NO_LINE_END) == (not text.endswith("\n"))


@pytest.mark.parametrize(
    ("start", "rank"),
    [
        ("", -1),
        ("[1,17]<stdout>:", 17),
        ("[1,17]<stderr>:", -1),
        ("[2,17]<stdout>:", -1),
        ("[1,]<stdout>:", -1),
        ("[rank3]:", 3),
        ("[rank3] ", -1),
        ("[rank]:", -1),
        ("[default12]:", 12),
        ("[defaul12]:", -1),
        ("0: ", -1),  # a program's own number, for all that the line tells
        ("   12345: ", -1),
        ("(pid=7)", 7),
        ("(train pid=7, ip=10.0.0.1) ", 7),
        ("(train pid=7, ip=) ", -1),
        ("(train xpid=7) ", -1),
        ("(train pid=x pid=8) ", 8),
        ("(train (pid=8) ", -1),
        ("(a-pid=8)", 8),
        ("[rank123456789012345678]:", 123456789012345678),
        ("[rank1234567890123456789]:", -1),
        ("[" * 3, -1),
        ("(" + "x" * 120 + " pid=1)", 1),
        ("(" + "x" * 121 + " pid=1)", -1),
    ],
)
def test_ranks(start: str, rank: int) -> None:
    for before in ("", "x\n", "y\r"):
        (found,) = scan_one(STEP, f"{before}{start}step 1\n", cleaned=True).found
        assert found.rank.tolist() == [rank]
        assert found.ranked == (rank >= 0)


# ------------------------------------------------------------------------------------------------ cleaning


@pytest.mark.parametrize(
    ("piece", "flag"),
    [
        (b"\x00", compiled.DIRTY_NUL),
        (b"\x1b[0m", compiled.DIRTY_ESCAPE),
        (b"\x08", compiled.DIRTY_BACKSPACE),
        (b"[1,0]<stdout>:", compiled.DIRTY_TAG),
        (b" [repeated 3x across cluster]", compiled.DIRTY_REPEATED),
        (b"\xff", compiled.DIRTY_UTF8),
        (b"\xe4\xbd", compiled.DIRTY_UTF8),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 7, 63, 64, 15_000, 16_383, 16_384, 40_000])
def test_dirty_texts_are_left_to_python(piece: bytes, flag: int, place: int) -> None:
    filler = (b"step 1 u\n" * 5000)[:place]
    program = Program([tail("step ", "(?P<n>[0-9]+) (?P<unit>u)(?P<t>)", "n", "unit:unit", "t:text"), STEP])
    clean = b"step 7 u\n"
    scan = program.scan([clean, filler + piece, clean, filler + piece + b"step 2\n" * 5000])
    assert scan.flags.tolist() == [0, flag, 0, flag]
    assert [found.text.tolist() for found in scan.found if len(found)] == [[0, 2]]
    assert list(scan.found[0].candidates) == [0, 2]
    assert scan.found[0].units == {"unit": [(0, "u"), (2, "u")]}
    assert scan.found[0].text_column("t") == ["", ""]


#: What needs cleaning, whole and in parts, and what it may stand beside.
_CLEANED = [
    *[b"[1,0]<stdout>:", b"[1,12]<stderr>:", b"[3]<stdout>:", b"[host@7,3]<stdout>:", b"[1,mpirank:6,algo-1]<stdout>:"],
    *[b"]<std", b"[", b"[5,", b"mpirank:", b"2,a-1", b"]<stdout>:", b"out>:", b"@", b"Fri Apr  9 10:16:52 2021"],
    *[
        b"\x1b[32m",
        b"\x1b[",
        b"\x1b]0;t",
        b"\x07",
        b"\x1b\\",
        b"\x1b",
        b"]",
        b"\x00",
        b"\x08",
        b"\x08\x08",
        b"\r",
        b"\r\n",
    ],
    *[
        b"\n",
        b"(W pid=7) ",
        b" pid=",
        b" [repeated 3x across cluster]",
        b" [repeated 3x acr",
        b"oss cluster]",
        b" [repeated ",
    ],
    *[
        b"1",
        b"1.5e-3",
        b",",
        b"loss ",
        b" ",
        "µ\ufffd▏😀".encode(),
        b"\xff",
        b"\xc0",
        b"\xc3",
        b"\xe0\x80",
        b"\xe2\x96",
    ],
    *[b"\xed\xa0\x80", b"\xef\xbf", b"\xbd", b"\xf0\x9f\x98", b"\xf4\x90"],
]


@given(st.lists(st.sampled_from(_CLEANED) | st.binary(max_size=2), max_size=30).map(b"".join))
@settings(max_examples=examples(500), deadline=None)
def test_the_scanner_cleans_as_python_does(text: bytes) -> None:
    assert compiled.cleaned(text) == valid_utf8(clean_block(text))


def test_the_scanner_cleans_all_fixtures_as_python_does() -> None:
    for file in sorted(FIXTURES.rglob("*")):
        if file.is_file():
            text = file.read_bytes()
            assert compiled.cleaned(text) == valid_utf8(clean_block(text)), file


def test_many_ranks_on_a_line_take_time_in_proportion_to_it() -> None:
    text = b"".join(b"[1,%d]<stdout>:%d" % (n % 20_000, n) for n in range(40_000))
    assert compiled.cleaned(text) == clean_block(text)


def test_harmless_bytes_are_not_dirty() -> None:
    assert scan_one(
        STEP, "\t\x01\x07\x0b\x0c\x0e\x1a\x1c\x1f\x7f[]<st x across cluster ] é 中 😀\n"
    ).flags.tolist() == [0]


def test_cleaned_texts_are_not_dirty_but_must_be_utf8() -> None:
    scan = scan_one(STEP, b"[1,3]<stdout>:step 1\x1b\x00\x08 [repeated 3x across cluster]\n", cleaned=True)
    assert rows(scan) == [(0, 14, 1.0)] and scan.found[0].rank.tolist() == [3] and scan.flags.tolist() == [0]
    with pytest.raises(ScanError, match="not UTF-8") as caught:
        Program([STEP]).scan([b"", b"step 1\xff"], cleaned=True)
    assert (caught.value.rule, caught.value.text) == (-1, 1)


# ------------------------------------------------------------------------------------------------ very long lines

UNIT = tail("step ", "(?P<n>[0-9]+) (?P<unit>u)(?P<t>)", "n", "unit:unit", "t:text", priority=60)
BY_LINE = rule("loss", "line", "loss (?P<l>[0-9])", "l", priority=60)


def test_long_lines_are_matched() -> None:
    text = "step 5 u" + " " * 1_000_000 + "\n" + " " * 1_000_000 + "loss 1\n" + "step 7 u"
    assert rows(scan_one([UNIT, BY_LINE], text)) == [(0, 0, 5.0, ""), (2, 2_000_016, 7.0, "")]
    assert rows(scan_one([UNIT, BY_LINE], text), 1) == [(1, 1_000_009, 1.0)]


def test_dirt_behind_a_very_long_line_is_told() -> None:
    text = b"loss 1" + b" " * 100_000 + b"\n" * 50_000
    assert scan_one(BY_LINE, text + b"\x00").flags.tolist() == [compiled.DIRTY_NUL]
    assert scan_one(BY_LINE, text + b"[1,0]<stdout>:").flags.tolist() == [compiled.DIRTY_TAG]
    assert rows(scan_one(BY_LINE, text + b"\x00", cleaned=True)) == [(0, 0, 1.0)]


def test_many_literals_on_a_line() -> None:
    count = 1_000_000
    assert candidates(scan_one(tail("a", "a?"), b"a" * count)) == [(0, count)]


def test_also_is_searched_in_a_long_subject() -> None:
    also = tail("s=", "(?P<n>[0-9])", "n", also="loss (?P<loss>[0-9])", also_groups=("loss",))
    assert rows(scan_one(also, b"s=1" + b" " * 100_000 + b"loss 2\n")) == [(0, 0, 1.0, 2.0)]


# ------------------------------------------------------------------------------------------------ characters


@pytest.mark.parametrize(
    "data",
    [
        b"", b"a", b"\x7f", b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc2\x80", b"\xc2", b"\xc2\x7f", b"\xc2\xc0", b"\xdf\xbf", b"\xe0\x9f\xbf", b"\xe0\xa0\x80",
        b"\xe0\xa0", b"\xec\xbf\xbf", b"\xed\x9f\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xee\x80\x80", b"\xef\xbf\xbf", b"\xf0\x8f\xbf\xbf", b"\xf0\x90\x80\x80",
        b"\xf0\x90\x80", b"\xf3\xbf\xbf\xbf", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xff", b"\xfe", b"\xef\xbb\xbf",
    ],
)  # fmt: skip
def test_utf8(data: bytes) -> None:
    for before in (b"", b"1234567", b"12345678", "é".encode() * 5):
        for after in (b"", b"x", b"12345678", b"\x80"):
            assert compiled.is_utf8(before + data + after) == _decodes(before + data + after)


@pytest.mark.long
@given(st.binary(max_size=40) | st.text(max_size=20).map(str.encode))
def test_utf8_is_what_python_decodes(data: bytes) -> None:
    assert compiled.is_utf8(data) == _decodes(data)


def _decodes(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@given(st.integers(0, 40_000), st.sampled_from(["é", "中", "😀"]), st.booleans())
@settings(max_examples=examples(15), deadline=None)
def test_characters_across_the_scanners_pieces(place: int, char: str, whole: bool) -> None:
    data = b"x" * place + (char.encode() if whole else char.encode()[:-1]) + b"x" * 300
    assert Program([STEP]).scan([data]).flags[0] == (compiled.NO_LINE_END if whole else compiled.DIRTY_UTF8)


def test_a_class_takes_a_character_not_a_byte() -> None:
    assert rows(scan_one(tail("a", "[^x]$"), "aé\n")) == [(0, 0)]
    assert rows(scan_one(tail("a", ".$"), "a中\n")) == [(0, 0)]
    assert rows(scan_one(tail("━ ", "(?P<t>.)", "t:text"), "━━ é\n")) == [(0, 3, "é")]


# ------------------------------------------------------------------------------------------------ captures

ODD_NUMBERS = [
    "1.", ".5", "+1", "-1", "1e5", "1E5", "1e+5", "1e-5", "1e", "1e+", "--1", "+-1", "1_0", "0x10", "nan", "NaN", "NAN", "-nan", "+nan", "inf", "-inf", "+inf", "INF",
    "Infinity", "-infinity", "infinit", "1e400", "-1e400", "1e-400", "", " 1", "1 ", "1.2.3", "9" * 400, "0." + "0" * 400 + "1", "5e-324", "2.4703282292062327e-324",
    "2.4703282292062328e-324", ".", "+.", "-", "+", ".e5", "1.e5", ".5e5", "e5", "1e5.0", "1e99999999999999999999", "0e99999999999999999999", "-0", "-0.0", "00012", "1\t",
    "1f", "1L", "snan", "nan(1)", "1e0000000000000000000000001", "0." + "0" * 54 + "1e60", "9007199254740993", "9007199254740992.5", "9007199254740993.0000001", "1e22", "1e23",
    "1.7976931348623159e308", "1.7976931348623158e308", "18446744073709551615", "18446744073709551616", "123456789012345678901234567890e-10", "1" + "0" * 400 + "e-400",
    "2.2250738585072011e-308", "0.1", "0.30000000000000004", "8.41e21", "9223372036854775807e-27", "6929001713869936e+236", "1٣", "true", "i", "n", "0" * 30 + "1.5",
]  # fmt: skip


def _same(a: float, b: float) -> bool:
    return struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b))


def _cast(text: str) -> float:
    """What perflog's other engine reads."""
    values = pl.Series([text], dtype=pl.String)
    number = values.cast(pl.Float64, strict=False)[0]
    if number is None:
        number = values.str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False)[0]
    return math.nan if number is None else float(number)


@pytest.mark.parametrize("text", ODD_NUMBERS)
def test_odd_numbers(text: str) -> None:
    assert _same(compiled.number(text.encode()), _cast(text))


@given(
    st.text(alphabet="0123456789.eE+-,naif", max_size=30)
    | st.from_regex(r"[+-]?[0-9]{0,25}\.?[0-9]{0,25}(?:[eE][+-]?[0-9]{1,3})?", fullmatch=True)
)
@settings(max_examples=examples(125))
@example("1,234.5")
@example("1,2,3e4")
@example(",")
@example("na,n")
def test_numbers_are_those_of_the_other_engine(text: str) -> None:
    assert _same(compiled.number(text.encode()), _cast(text))


@given(
    st.lists(
        st.sampled_from([*"0159:.,-+eEkMbqdhmsDS ", "days", "1 day, ", "min", "seconds", "and ", "it", "12:34", "99999999999999999999",
                         "2.05", "ms", "us", "µs", "\xa0", "\u2003", "\u212a", "İ", "٣", "\x1f"]),
        max_size=8,
    ).map("".join),
    st.sampled_from(["clock", "scaled"]),
)  # fmt: skip
@settings(max_examples=examples(500))
@example("18m 42s", "clock")
@example("14 minutes and 44.12 seconds", "clock")
@example("1 day, 2:03:11,5", "clock")
@example("1,048.5Kit", "scaled")
def test_numbers_for_people_are_those_of_python(text: str, form: Literal["clock", "scaled"]) -> None:
    wanted, found = number_in(text, form), compiled.number(text.encode(), form)
    assert math.isnan(found) if wanted is None else found == wanted


@given(st.floats(), st.sampled_from(["{!r}", "{:.3f}", "{:.6e}", "{:.17g}", "{:.20f}", "{:g}"]))
@settings(max_examples=examples(125))
def test_numbers_are_those_of_python(value: float, form: str) -> None:
    text = form.format(value)
    assert _same(compiled.number(text.encode()), float(text))


@given(st.integers(0, 2**64 + 1000), st.integers(-30, 30))
@settings(max_examples=examples(250))
@example((1 << 53) + 1, 0)
@example(((1 << 53) + 1) * 5, -1)
@example(9007199254740993, 1)
def test_numbers_of_up_to_20_digits(mantissa: int, power: int) -> None:
    text = f"{mantissa}e{power}"
    assert _same(compiled.number(text.encode()), float(text))


@given(st.floats(1e-6, 1e15))
@settings(max_examples=examples(250))
def test_numbers_next_to_the_middle_of_two_doubles(value: float) -> None:
    middle = (Fraction(value) + Fraction(math.nextafter(value, math.inf))) / 2
    power = 18 - math.floor(math.log10(value))
    for digits in (math.floor(middle * 10**power) + n for n in (-1, 0, 1, 2)):
        text = f"{digits}e{-power}"
        assert _same(compiled.number(text.encode()), float(text))


def test_groups_that_take_no_part() -> None:
    optional = tail("x", "(?P<n>[0-9])?(?P<t>[a-z])?(?P<unit>[%!])?", "n", "t:text", "unit:unit")
    scan = scan_one(optional, "x1\nxa\nx!\nx1b%\nx\nx!\n")
    found = scan.found[0]
    assert [None if math.isnan(n) else n for n in found.numbers["n"].tolist()] == [1.0, None, None, 1.0, None, None]
    assert found.text_column("t") == [None, "a", None, "b", None, None]
    assert found.units == {"unit": [(0, "!"), (0, "%")]}


def test_empty_text_captures_are_not_absent_ones() -> None:
    assert scan_one(tail("x", "(?P<t>a*)", "t:text"), "x\nxaa\nx\n").found[0].text_column("t") == ["", "aa", ""]
    assert scan_one(tail("x", "(?P<t>a*)", "t:text"), "x\n").found[0].text_column("t") == [""]


def test_captures_of_any_length() -> None:
    text = "x" + "ab" * 300_000 + "\n"
    assert scan_one(tail("x", "(?P<t>[ab]*)", "t:text"), text).found[0].text_column("t") == ["ab" * 300_000]
    assert scan_one(tail("x", "(?P<n>[0-9]*)", "n"), "x" + "9" * 100_000 + "\n").found[0].numbers["n"].tolist() == [
        math.inf
    ]


def test_many_units() -> None:
    texts = ["".join(f"u{n % (50 * (k + 1))};\n" for n in range(2000)) for k in range(4)]
    (found,) = Program([tail("u", "(?P<unit>[0-9]*);", "unit:unit")]).scan([text.encode() for text in texts]).found
    assert found.units["unit"] == [(k, str(n)) for k in range(4) for n in range(50 * (k + 1))]


# ------------------------------------------------------------------------------------------------ programs and errors


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (tail("", "a"), "literal must have"),
        (tail("a\nb", "a"), "holds a line's end"),
        (tail("a\r", "a"), "holds a line's end"),
        (tail("a", "(?:b"), "a group that is not closed"),
        (tail("a", "(?P<n>b)", "m"), "has no group 'm'"),
        (tail("a", "b", also_groups=("m",)), "not given"),
        (tail("a", "b", also="c", also_groups=("m",)), "has no group 'm'"),
        (rule("a", "jump", "b"), "a jump needs a literal"),
    ],
)
def test_bad_rules(bad: Rule, message: str) -> None:
    with pytest.raises(RuleError, match=message) as caught:
        Program([STEP, bad], check=True)
    assert caught.value.rule == 1


def test_a_bad_regex_is_told_when_it_is_tried() -> None:
    program = Program([STEP, tail("a", "(?:b")])
    assert rows(program.scan([b"step 1\n"])) == [(0, 0, 1.0)]
    for _ in range(2):
        with pytest.raises(RuleError, match="a group that is not closed") as caught:
            program.scan([b"step 1 a\n"])
        assert caught.value.rule == 1


def test_no_rules_and_no_texts() -> None:
    assert Program([]).scan([b"abc\n"]).line_feeds.tolist() == [1]
    scan = Program([STEP]).scan([])
    assert scan.found == [] and len(scan.flags) == 0
    assert Program([STEP]).scan([b"", b""]).flags.tolist() == [0, 0]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_buffer_and_its_ends(kind: Callable[[bytes], compiled.Buffer]) -> None:
    data = b"step 1\nstep 2\nstep 3\nbeyond"
    (found,) = Program([STEP]).scan((kind(data), [7, 7, 21]), [True, True, True]).found
    assert list(zip(found.text.tolist(), found.line.tolist(), found.offset.tolist(), strict=True)) == [
        (0, 0, 0),
        (2, 0, 0),
        (2, 1, 7),
    ]


def test_bad_calls() -> None:
    program = Program([STEP])
    with pytest.raises(ValueError, match="the last text ends at 5"):
        program.scan((b"abc", [5]))
    with pytest.raises(ScanError, match="ends before it begins"):
        program.scan((b"abc", [2, 1, 3]))
    with pytest.raises(ValueError, match="for 1 texts, not 2"):
        program.scan([b"abc"], [True, False])


def test_arrays_outlive_the_scan_and_the_program() -> None:
    found = Program([STEP]).scan([b"step 1\n" * 1000]).found[0]
    column, text = found.numbers["n"], found.text
    del found
    for _ in range(50):
        Program([STEP]).scan([b"step 2\n" * 1000])
    assert column.tolist() == [1.0] * 1000 and text.tolist() == [0] * 1000


def test_two_threads_with_one_program() -> None:
    program = Program([STEP, rule("loss", "line", r"loss (?P<l>[0-9.]+)", "l")])
    texts = ["".join(f"step {n * k} loss {n}.{k}\n" for n in range(3000)).encode() for k in range(1, 9)]
    wanted = [_as_data(program.scan([text])) for text in texts]
    program = Program(program.rules)  # whose regexes are compiled when two threads try them
    wrong: list[int] = []

    def work(shift: int) -> None:
        for n in range(20):
            k = (n + shift) % len(texts)
            if _as_data(program.scan([texts[k]])) != wanted[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(shift,)) for shift in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ------------------------------------------------------------------------------------------------ the reference


@dataclass
class Expected:
    """What one rule finds in one text: rows of line, offset, rank and captures; how often its literal is there; units."""

    rows: list[tuple[object, ...]] = field(default_factory=list)
    candidates: int = 0
    units: dict[str, list[str]] = field(default_factory=dict)


_RANK = re.compile(rb"^(?:\[1,([0-9]+)\]<stdout>:|\[(?:rank|default)([0-9]+)\]:)")
_RAY = re.compile(rb"^\((?:[^()]*?)\bpid=([0-9]+)(?:, ip=[0-9.]+)?\)")


def reference(rules: Sequence[Rule], text: bytes, at_end: bool) -> tuple[list[Expected], int, int]:
    """The rules as they are described, without any haste: what they find, line feeds and flags of a clean text."""
    expected = [Expected() for _ in rules]
    flags = compiled.NO_LINE_END if text and not text.endswith(b"\n") else 0
    start = 0
    lines = text.split(b"\n")
    for number, line in enumerate(lines):
        for last, sub_line in _with_last(line.split(b"\r")):
            cut = (
                at_end and last and number == len(lines) - 1 and re.search(rb"[0-9][-+0-9.eE]*\Z", sub_line) is not None
            )
            kept = _match(rules, sub_line, expected)
            if cut and any(kept):
                flags |= compiled.CUT
            elif not cut:
                rank = _rank(sub_line[:128])
                for n, found in enumerate(_claimed(rules, kept)):
                    expected[n].rows += [
                        (number, start + at, rank, captures, subject) for at, captures, _, subject in found
                    ]
                    _add_units(expected[n].units, [unit for _, _, units, _ in found for unit in units])
            start += len(sub_line) + 1
    for n, rule_ in enumerate(rules):
        rows_: list[tuple[object, ...]] = []
        for back, (number_, offset, rank_, captures_, subject_) in zip(
            range(len(expected[n].rows), 0, -1), expected[n].rows, strict=True
        ):
            assert isinstance(captures_, tuple) and isinstance(subject_, bytes)
            rows_.append((number_, offset, rank_, *captures_, *_also(rule_, subject_ if back <= 64 else b"")))
        expected[n].rows = rows_
    return expected, text.count(b"\n"), flags


def _add_units(distinct: dict[str, list[str]], units: list[tuple[str, str | None]]) -> None:
    for name, unit in units:
        if unit is not None and unit not in distinct.setdefault(name, []):
            distinct[name].append(unit)


_Row = tuple[int, tuple[object, ...], list[tuple[str, str | None]], bytes]


def _match(rules: Sequence[Rule], line: bytes, expected: list[Expected]) -> list[list[_Row]]:
    kept: list[list[_Row]] = [[] for _ in rules]
    for literal in {rule_.literal for rule_ in rules}:
        if literal not in line:
            continue
        pieces = line.split(literal)
        at = len(pieces[0])
        of_literal = [(n, rule_) for n, rule_ in enumerate(rules) if rule_.literal == literal]
        for n, rule_ in of_literal:
            expected[n].candidates += 1 if rule_.kind == "line" else len(pieces) - 1
            kept[n] += _match_line(rule_, line) if rule_.kind == "line" else []
        for piece in pieces[1:]:
            taken = False
            for n, rule_ in of_literal:
                if rule_.kind == "line" or (taken and rule_.role != "metadata"):
                    continue
                good = _match_piece(rule_, piece)
                if good:
                    kept[n].append((at, *_captures(rule_, *good), piece))
                    taken = taken or rule_.role != "metadata"
            at += len(literal) + len(piece)
    return kept


def _match_line(rule_: Rule, line: bytes) -> list[_Row]:
    found = re.search(rule_.regex, line.decode(), re.ASCII)
    return [(0, *_captures(rule_, found), line)] if found else []


def _match_piece(rule_: Rule, piece: bytes) -> list[re.Match[str]]:
    """The matches of a rule's regexes behind its literal; none where one of them does not match."""
    matches = [re.match(rule_.regex, piece.decode(), re.ASCII)]
    if rule_.kind == "jump":
        _, jump, after = piece.partition(rule_.jump)
        matches.append(re.match(rule_.tail, after.decode(), re.ASCII) if jump else None)
    good = [match for match in matches if match is not None]
    return good if len(good) == len(matches) else []


def _captures(rule_: Rule, *matches: re.Match[str]) -> tuple[tuple[object, ...], list[tuple[str, str | None]]]:
    texts = {name: value for match in matches for name, value in match.groupdict().items()}
    numbers = [_number(texts[name]) for name, kind in rule_.groups if kind == "number"]
    return (*numbers, *(texts[name] for name, kind in rule_.groups if kind == "text")), [
        (name, texts[name]) for name, kind in rule_.groups if kind == "unit"
    ]


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    for form in (text, text.replace(",", "")):
        if re.fullmatch(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:[+-]?(?:inf|infinity))", form):
            return float(form)
    return None


def _claimed(rules: Sequence[Rule], kept: list[list[_Row]]) -> list[list[_Row]]:
    claiming = [n for n, found in enumerate(kept) if found and rules[n].role != "metadata"]
    if not claiming:
        return kept
    owner = rules[max(claiming, key=lambda n: (rules[n].priority, -n))].parser
    ignored = any(rules[n].role == "ignore" and rules[n].parser == owner for n in claiming)
    return [
        found
        if rules[n].role == "metadata" or (rules[n].parser == owner and (not ignored or rules[n].role == "ignore"))
        else []
        for n, found in enumerate(kept)
    ]


def _also(rule_: Rule, subject: bytes) -> list[float | None]:
    found = re.search(rule_.also, subject.decode(), re.ASCII) if rule_.also else None
    return [_number(found[name]) if found else None for name in rule_.also_groups]


def _rank(line: bytes) -> int:
    found, ray = _RANK.match(line), _RAY.match(line)
    digits = (found[1] or found[2] or found[3]) if found else ray[1] if ray else b""
    return int(digits) if 0 < len(digits) <= 18 else -1


def _with_last(parts: list[bytes]) -> list[tuple[bool, bytes]]:
    return [(n == len(parts) - 1, part) for n, part in enumerate(parts)]


def as_expected(scan: Scan, rules: Sequence[Rule], n_texts: int) -> list[list[Expected]]:
    """A scan in the reference's form, per text."""
    result = [[Expected() for _ in rules] for _ in range(n_texts)]
    for found in scan.found:
        for text, count in found.candidates.items():
            result[text][found.rule].candidates = count
        for name, units in found.units.items():
            for text, unit in units:
                result[text][found.rule].units.setdefault(name, []).append(unit)
        rule_ = rules[found.rule]
        columns: list[Iterable[object]] = [_plain(found, name) for name, kind in rule_.groups if kind == "number"]
        columns += [found.text_column(name) for name, kind in rule_.groups if kind == "text"]
        columns += [_plain(found, name) for name in rule_.also_groups]
        for text, *row in zip(
            found.text.tolist(), found.line.tolist(), found.offset.tolist(), found.rank.tolist(), *columns, strict=True
        ):
            result[text][found.rule].rows.append(tuple(row))
    return result


def _plain(found: Found, name: str) -> list[float | None]:
    return [None if math.isnan(value) else value for value in found.numbers[name].tolist()]


def _as_data(scan: Scan) -> list[tuple[object, ...]]:
    return [
        (
            f.rule,
            f.text.tolist(),
            f.line.tolist(),
            f.offset.tolist(),
            {k: v.tolist() for k, v in f.numbers.items()},
            f.strings,
        )
        for f in scan.found
    ]


#: Rules with literals that overlap, of four parsers and all kinds.
POOL = [
    tail("ab", " ?(?P<n>[0-9.,e+-]*)", "n", parser=0),
    tail("ab", "a(?P<t>[^b]*)$", "t:text", parser=1),
    tail("b", "(?P<unit>[a-z])?1", "unit:unit", parser=1),
    tail("b", "", parser=2, role="metadata"),
    tail("ba", "(?P<n>[0-9]+)(?P<t>é)?", "n", "t:text", parser=2, also="(?P<loss>[0-9]+)", also_groups=("loss",)),
    tail("aab", ".*1", parser=0, role="ignore"),
    tail("aba", " *$", parser=1, role="ignore"),
    tail("é", "(?P<t>.)", "t:text", parser=2),
    tail("a", "", parser=3),
    rule("ab", "line", "^(?P<t>[^a]*)ab", "t:text", parser=0),
    rule("1", "line", "(?P<n>[0-9]+)$", "n", parser=3, also="a(?P<loss>[0-9])", also_groups=("loss",)),
    rule("ba", "line", "(?:^|[1é])ba", parser=2, role="metadata"),
    rule("a", "jump", "(?P<n>[0-9]*)", "n", "m", jump=b"b1", tail="(?P<m>[0-9]+)", parser=1),
    rule("1 ", "jump", "(?P<t>.)", "t:text", "m", jump="é".encode(), tail="(?P<m>[0-9])?", parser=0),
]  # fmt: skip
TOKENS = [
    "a",
    "b",
    "ab",
    "ba",
    "aab",
    "1",
    "2",
    "1 ",
    " ",
    "é",
    "\n",
    "\r",
    "\r\n",
    ",",
    ".",
    "e",
    "abab",
    "b1",
    "[rank7]:",
    "3: ",
    "." * 61,
    "a" * 130,
]


def in_turn(drawn: tuple[list[Rule], list[int], list[int]]) -> list[Rule]:
    """The rules by their parsers' priorities, and those of equal ones by the parsers' places."""
    rules, priorities, places = drawn
    rules = [replace(rule_, priority=priorities[rule_.parser]) for rule_ in rules]
    return sorted(rules, key=lambda rule_: (-rule_.priority, places[rule_.parser]))


rule_sets = st.tuples(
    st.lists(st.sampled_from(POOL), min_size=1, max_size=8, unique=True),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.permutations(range(4)),
).map(in_turn)
texts = st.lists(st.sampled_from(TOKENS), max_size=60).map(lambda tokens: "".join(tokens).encode())


@given(rule_sets, st.lists(st.tuples(texts, st.booleans()), max_size=4))
@settings(max_examples=examples(100), deadline=None)
def test_all_is_as_the_reference_says(rules: list[Rule], batch: list[tuple[bytes, bool]]) -> None:
    scan = Program(rules).scan([text for text, _ in batch], [at_end for _, at_end in batch])
    got = as_expected(scan, rules, len(batch))
    for n, (text, at_end) in enumerate(batch):
        expected, feeds, flags = reference(rules, text, at_end)
        assert got[n] == expected
        assert (scan.line_feeds[n], scan.flags[n]) == (feeds, flags)


@given(rule_sets, st.lists(texts | st.sampled_from([b"ab 1\x00", b"ba12\xff\n", b"a b1 \x1b"]), max_size=6))
@settings(max_examples=examples(37), deadline=None)
def test_a_batch_is_as_each_text_alone(rules: list[Rule], batch: list[bytes]) -> None:
    program = Program(rules)
    scan = program.scan(batch)
    together = as_expected(scan, rules, len(batch))
    for n, text in enumerate(batch):
        alone = program.scan([text])
        assert as_expected(alone, rules, 1)[0] == together[n]
        assert (alone.flags[0], alone.line_feeds[0]) == (scan.flags[n], scan.line_feeds[n])


def test_the_dump_is_a_programs_text(tmp_path: Path) -> None:
    dumped = tmp_path / "program"
    Program([tail("é", "(?P<n>a)", "n:unit", also="(?P<m>b)", also_groups=("m",))]).dump(dumped)
    assert (
        dumped.read_bytes()
        == b"perflog-scan 1 1\n0 50 2 0 2\n2:\xc3\xa9\n8:(?P<n>a)\n0:\n0:\n8:(?P<m>b)\n2 0 0\n1:n\n0 0 2\n1:m\n"
    )
