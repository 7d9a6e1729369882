"""Lines of one layout: what was decided for it holds for each of them, and is what a line whose digits are known gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perflog.formats.catalog import Catalog
from perflog.formats.language import Role
from perflog.formats.parser import Jump, Pattern
from perflog.matching import layouts
from perflog.matching.layouts import Cut, Layouts
from perflog.matching.matches import Batch
from perflog.matching.polars_engine import PolarsEngine
from perflog.matching.widened import ALL, FIRST_WILD, LAST_WILD, NONE, WILD, widened
from tests.matching.test_shapes import LITERALS, PIECES, REGEXES, SEARCHED
from tests.support import examples
from tests.tools.engines import differences

#: (literal, regex, whether it is searched in the whole line, role, what it jumps to, what the last lines are asked).
Asked = tuple[str, str, bool, str, str, str]
PATTERNS = st.tuples(
    st.sampled_from(LITERALS),
    st.sampled_from(REGEXES),
    st.booleans(),
    st.sampled_from(["step", "step", "summary", "metadata", "position", "ignore"]),
    st.sampled_from(["", "", "k2=", "abc1"]),
    st.sampled_from(["", "", "(?P<loss>[-+.0-9]+)$", "fp1(?P<loss>[0-9])"]),
).map(lambda asked: (asked[0], SEARCHED[REGEXES.index(asked[1]) % len(SEARCHED)] if asked[2] else asked[1], *asked[2:]))
LINES = st.lists(PIECES, min_size=1, max_size=9).map("".join)
CHANGES = st.lists(st.text("0123456789", min_size=6, max_size=6), max_size=8)


def pattern_of(number: int, literal: str, regex: str, searched: bool, role: str, jump: str, also: str) -> Pattern:
    groups = tuple(name for name in "abt" if f"<{name}>" in regex)
    return Pattern(
        parser=f"p{number}", name="x", role=cast(Role, role), literal=literal, regex=regex, groups=groups, scaled=("t",),
        tail=None if searched else regex, jump=Jump(regex, jump, "[0-9]?") if jump and not searched else None,
        also=also, also_groups=("loss",) if also else (),
    )  # fmt: skip


def engine(patterns: Sequence[Pattern]) -> PolarsEngine:
    parsers = [SimpleNamespace(name=made.parser, priority=-n, patterns=(made,)) for n, made in enumerate(patterns)]
    return PolarsEngine(cast(Catalog, SimpleNamespace(parsers=parsers)))


def with_digits(line: str, digits: str) -> str:
    """A line with these digits, in turn, in place of its own."""
    turn = iter(digits * 8)
    return re.sub("[0-9]", lambda found: next(turn, found[0]), line)


@settings(max_examples=examples(37), deadline=None)
@given(st.lists(PATTERNS, min_size=1, max_size=4), st.lists(st.tuples(LINES, CHANGES), min_size=1, max_size=3))
@example([("key=", "(?P<a>[1-9][0-9]*)", False, "step", "", "")], [("key=7", ["0" * 6, "5" * 6])])
@example([("1", "(?:1|12|(?P<a>123))[0-9]*", False, "step", "", "")], [("11231", ["112301", "122301", "512345"])])
def test_lines_of_a_layout_are_found_as_with_known_digits(
    asked: list[Asked], lines: list[tuple[str, list[str]]]
) -> None:
    patterns = [pattern_of(n, *given) for n, given in enumerate(asked)]
    every = [with_digits(line, digits) for line, changes in lines for digits in ("", *changes)]
    texts = [f"{line}\n".encode() for line in every] + ["\r".join(every).encode()]
    known = with_known_digits(patterns, texts)
    made = engine(patterns)
    assert list(differences(known, made.match(texts, True))) == []
    assert list(differences(known, made.match(texts, True))) == [], "by layouts that are known now"


def with_known_digits(patterns: Sequence[Pattern], texts: Sequence[bytes]) -> Batch:
    """What the engine finds where no digit is wild and no regex is widened."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layouts, "LAST_WILD", FIRST_WILD - 1)  # each line is too long for them
        return engine(patterns).match(texts, True)


def layouts_of(patterns: Sequence[Pattern], text: str) -> tuple[list[int], int]:
    """(the layout of each line, how many there are where something is found)."""
    made = Layouts(patterns, {pattern.parser: 0 for pattern in patterns})
    return made.of(Cut.of([text.encode()])).tolist(), len(made.layouts) - 1


def simple(regex: str, **more: Any) -> Pattern:
    return pattern_of(0, **{"literal": "key=", "regex": regex, "searched": False, "role": "step", "jump": "",
                            "also": "", **more})  # fmt: skip


def test_digits_that_no_pattern_tells_apart_are_one_layout() -> None:
    assert layouts_of([simple("(?P<a>[0-9]+)")], "key=12\nkey=90\nkey=1\nno key\n") == ([1, 1, 2, 0], 2)


def test_digits_that_a_pattern_tells_apart_are_looked_at() -> None:
    regex = "(?P<a>[1-9][0-9])"
    assert layouts_of([simple(regex)], "key=12\nkey=90\nkey=01\nkey=02\n") == ([1, 1, 2, 2], 2)
    # of a literal's digits each is known
    assert layouts_of([simple(regex, literal="k2")], "k2=12\nk1=90\nk2=77\n")[0] == [2, 0, 2]


def test_layouts_are_forgotten_beyond_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "MOST_LAYOUTS", 2)
    made = Layouts([simple("(?P<a>[0-9]+)")], {"p0": 0})
    found = [made.of(Cut.of([b"key=%d\n" % 10**n])).tolist() for n in (1, 2, 3, 4, 1)]
    assert found == [[1], [2], [3], [1], [2]]


@pytest.mark.parametrize(
    ("regex", "matched", "unsure"),
    [
        ("[0-9]+", True, []),
        ("[^0-9]", False, []),
        (".", True, []),
        ("[^ ]", True, []),
        ("[^1]", True, [ALL & ~0b10]),
        ("[1-9]", True, [0b1111111110]),
        ("5", True, [1 << 5]),
        ("(?:a|0)+", True, [NONE]),
        ("(?:a|0)?", True, [1]),
        ("[é-\U0010ffff]", False, []),
        ("[^é-\U0010ffff]", True, []),
    ],
)
def test_a_widened_regex(regex: str, matched: bool, unsure: list[int]) -> None:
    made = widened(regex, at_start=True)
    found = re.match(
        re.sub(r"\\x\{([0-9a-f]+)\}", lambda code: f"\\U{int(code[1], 16):08x}", made.regex), chr(FIRST_WILD + 3)
    )
    assert (found is not None, list(made.unsure.values())) == (matched, unsure)
    assert WILD.fullmatch(chr(LAST_WILD))


@pytest.mark.parametrize("line", ["key=\ue041 5", "key=5 \uefff", "x" * 70_000 + "key=5"])
def test_a_line_with_characters_of_that_plane_and_a_long_one_are_matched_by_their_digits(line: str) -> None:
    asked, texts = [simple("(?P<t>[^ ]+)", role="metadata"), simple("(?P<a>[0-9]).*", role="step")], [line.encode()]
    assert list(differences(with_known_digits(asked, texts), engine(asked).match(texts, True))) == []
