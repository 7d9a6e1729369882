"""The scanner's own matcher of regexes: what Python's ``re`` finds, in a time in proportion to the text."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perflog.matching import library
from perflog.matching.compiled import Kind, Program, Rule, RuleError
from tests.support import examples

pytestmark = pytest.mark.skipif(bool(library.available()), reason=library.available())

#: Parts of regexes, of all forms that a parser may have.
PIECES = (
    "a", "b", " ", "abcd", "bcda", r"\.", r"\t", "[ab]", "[^a]", "[0-9]", r"[-+.0-9]", "é", ".", "(?:ab|c)", "(?:ba|)",
    "(?P<NAME>[0-9]+)", "(?P<NAME>a|b)", "(?P<NAME>a|ab)(?P<MORE>c|bcd)?", "(?:a(?:b|[0-9])c)", "[a-c]", r"[\]x]",
    "[^é]", "[é-ü]", "(?:(?P<NAME>a)|b)", "(?:a|ab)", "$",
)  # fmt: skip
QUANTIFIERS = ("", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}", "{2,3}?", "{0}")
SUBJECTS = st.text(alphabet="aabbcd01. .-+é]x\t", max_size=14)


def regex_of(parts: list[tuple[str, str]]) -> str:
    """The parts behind each other, each with its quantifier; what has a name is not repeated, and each name is new."""
    made = ""
    for place, (piece, quantifier) in enumerate(parts):
        repeats = (len(piece) == 1 or piece[0] in "[(\\") and piece != "$" and "(?P<" not in piece
        made += piece.replace("NAME", f"g{place}").replace("MORE", f"h{place}") + (quantifier if repeats else "")
    return made


def found_by(kind: Kind, regex: str, subjects: list[str]) -> list[tuple[int, dict[str, str | None]]]:
    """The lines that a rule of the scanner matches, each ``key=`` and a subject, and its groups."""
    names = re.compile(regex).groupindex
    rule = Rule(
        literal=b"key=", parser=0, priority=0, role="other", kind=kind, regex=regex,
        groups=tuple((name, "text") for name in names),
    )  # fmt: skip
    text = "".join(f"key={subject}\n" for subject in subjects)
    rows = []
    for found in Program([rule]).scan([text.encode()]).found:
        columns = [found.text_column(name) for name in names]
        rows += [
            (line, dict(zip(names, row, strict=True))) for line, *row in zip(found.line.tolist(), *columns, strict=True)
        ]
    return rows


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(QUANTIFIERS)), min_size=1, max_size=7),
    st.lists(SUBJECTS, min_size=1, max_size=12),
)
@example([("[ab]", "*"), ("abcd", "")], ["x", "ababcd", "abcd", "babcd"])
@example([("(?:ab|c)", "?"), ("[0-9]", "+"), ("a", "")], ["x", "1a", "ab1a", "c11a", "aba"])
@example([("(?P<NAME>a|ab)(?P<MORE>c|bcd)?", ""), ("$", "")], ["abcd", "ac", "ab"])
@example([("[^a]", "+"), ("a", "")], ["a", "éba", "ba"])
def test_the_same_match_as_pythons(parts: list[tuple[str, str]], subjects: list[str]) -> None:
    """The same lines match, with the same groups: at the subject's beginning, or anywhere in the line."""
    regex = regex_of(parts)
    compiled = re.compile(regex, re.ASCII)
    at_start = [(n, found.groupdict()) for n, line in enumerate(subjects) if (found := compiled.match(line))]
    assert found_by("tail", regex, subjects) == at_start
    anywhere = [(n, found.groupdict()) for n, line in enumerate(subjects) if (found := compiled.search(f"key={line}"))]
    assert found_by("line", regex, subjects) == anywhere


@pytest.mark.parametrize(
    "regex", ["(?:a|aa)+c[0-9]", "(?:a+)+b", "(?:.*a){12}c", "(?:a|b|ab)*?c", "(?:a{0,30}){0,30}c"]
)
def test_no_regex_takes_for_ever(regex: str) -> None:
    """Threads go through the text once, however many ways there are to match it."""
    start = process_time()
    assert found_by("tail", regex, ["a" * 100_000]) == []
    assert process_time() - start < 60  # a matcher that goes back would need years


@pytest.mark.parametrize(
    ("regex", "wrong"),
    [
        ("(b", "another kind"), ("(?:b", "not closed"), ("b)", "closes no group"), (r"\b", "escape"), (r"\1", "escape"), ("(?=a)", "another kind"),
        ("[b", "not closed"), ("[b-a]", "not understood"), ("*a", "repeat"), ("a{3,1}", "wrong way round"),
        ("(?P<a", "name"), ("(?:" * 200 + "a" + ")" * 200, "too deep"), ("(?:a{1000}){1000}", "too large"),
    ],
)  # fmt: skip
def test_what_is_no_regex_is_refused(regex: str, wrong: str) -> None:
    rule = Rule(literal=b"a", parser=0, priority=0, role="other", kind="tail", regex=regex)
    with pytest.raises(RuleError, match=wrong):
        Program([rule], check=True)


def test_repeats_of_repeats_are_compiled_in_no_time() -> None:
    start = process_time()
    assert found_by("tail", "(?:" * 90 + "a" + ")?" * 90 + "b", ["ab", "b", "aab"]) == [(0, {}), (1, {})]
    assert process_time() - start < 10  # where each level is read twice it takes 2^90 steps
