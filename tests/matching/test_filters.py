"""What the scanner tells of a subject without PCRE2, which may never keep a match away: against Python's ``re``."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perflog.matching import library
from perflog.matching.compiled import Kind, Program, Rule
from tests.support import examples

pytestmark = pytest.mark.skipif(bool(library.available()), reason=library.available())

#: Parts of regexes, of all forms that the scanner follows and of some that it does not.
PIECES = (
    "a", "b", " ", "abcd", "bcda", r"\.", r"\t", "[ab]", "[^a]", "[0-9]", r"[-+.0-9]", "é", ".", "(?:ab|c)", "(?:ba|)",
    "(?P<NAME>[0-9]+)", "(?P<NAME>a|b)", "(?:a(?:b|[0-9])c)", "[a-c]", r"[\]x]", "(?:^|b)", r"\b", r"\d", "(?=a)", "$",
)  # fmt: skip
QUANTIFIERS = ("", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}")
SUBJECTS = st.text(alphabet="aabbcd01. .-+é]x\t", max_size=14)


def regex_of(parts: list[tuple[str, str]]) -> str:
    """The parts behind each other, each with its quantifier; of zero width none is repeated, and each name is new."""
    once = {"", r"\b", "(?=a)", "$"}
    return "".join(
        piece.replace("NAME", f"g{place}")
        + ("" if piece in once else f"{quantifier}" if len(piece) == 1 or piece[0] in "[(\\" else "")
        for place, (piece, quantifier) in enumerate(parts)
    )


def lines_that_match(kind: Kind, regex: str, subjects: list[str]) -> list[int]:
    """The lines that a rule of the scanner matches, each ``key=`` and a subject."""
    rule = Rule(literal=b"key=", parser=0, priority=0, role="other", kind=kind, regex=regex)
    text = "".join(f"key={subject}\n" for subject in subjects)
    return [line for found in Program([rule]).scan([text.encode()]).found for line in found.line.tolist()]


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(QUANTIFIERS)), min_size=1, max_size=7),
    st.lists(SUBJECTS, min_size=1, max_size=12),
)
@example([("[ab]", "*"), ("abcd", "")], ["x", "ababcd", "abcd", "babcd"])
@example([("(?:ab|c)", "?"), ("[0-9]", "+"), ("a", "")], ["x", "1a", "ab1a", "c11a", "aba"])
@example([("a", "?"), ("a", "")], ["b", "a", "aa"])
@example([("[^a]", ""), ("b", "")], ["a", "éb", "bb"])
@example([("[^a]", "+"), ("a", "")], ["a", "éba", "ba"])
@pytest.mark.long
def test_a_filter_keeps_no_match_away(parts: list[tuple[str, str]], subjects: list[str]) -> None:
    """The same lines match as with ``re``, at the subject's beginning and, for a rule by line, anywhere in the line."""
    regex = regex_of(parts)
    missing = "~"  # the first subject matches nothing nearly always, so that those behind it are filtered
    lines = [missing, *subjects, missing, *subjects]
    compiled = re.compile(regex, re.ASCII)
    begins = [place for place, line in enumerate(lines) if compiled.match(line)]
    assert lines_that_match("tail", regex, lines) == begins
    anywhere = [place for place, line in enumerate(lines) if compiled.search(f"key={line}")]
    assert lines_that_match("line", regex, lines) == anywhere


@pytest.mark.parametrize(
    "regex",
    [
        " +Iteration *: *(?P<step>[0-9]+) +train\\.loss *: *(?P<loss>[-+]?(?:[0-9.][-+0-9.eE]*|nan)) ",
        " +(?:lr|Iteration) : ?[0-9]+ .*?train\\.loss",
        "[^\\n]*?Iteration *: *[0-9]{1,3} +train",
    ],
)
def test_a_line_that_matches_after_many_that_do_not(regex: str) -> None:
    good = "  Iteration : 12  train.loss : 0.5 x"
    bad = [
        "",
        " ",
        "  Iteration",
        "  Iteration : x",
        "  Iteration : 12  valid.loss : 0.5 x",
        " epoch : 12 train.loss x",
    ]
    assert lines_that_match("tail", regex, [*bad, good, *bad, good]) == [len(bad), 2 * len(bad) + 1]
