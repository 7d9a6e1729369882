"""Lines of one shape: what was decided of the first holds for all others, and is what a scan of each alone finds."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from perflog.matching import library
from perflog.matching.compiled import CUT, DIRTY_NUL, NO_LINE_END, Found, GroupKind, Program, Role, Rule
from tests.support import examples

pytestmark = pytest.mark.skipif(bool(library.available()), reason=library.available())


def rule(regex: str, literal: bytes = b"key=", role: Role = "other", parser: int = 0) -> Rule:
    kinds: tuple[tuple[str, GroupKind], ...] = (("a", "number"), ("b", "number"), ("t", "text"))
    groups = tuple((name, kind) for name, kind in kinds if f"<{name}>" in regex)
    return Rule(literal=literal, parser=parser, priority=-parser, role=role, kind="tail", regex=regex, groups=groups)


def rows_of(found: Found, of: Rule, lines: int = 0, bytes_before: int = 0) -> list[tuple[object, ...]]:
    """A rule's rows in one text as (line, offset, rank, captures ...), with absent numbers as None."""
    columns: list[list[object]] = []
    for name, kind in of.groups:
        if kind == "number":
            columns.append([None if math.isnan(value) else value for value in found.numbers[name].tolist()])
        else:
            columns.append(list(found.text_column(name)))
    places = zip(found.line.tolist(), found.offset.tolist(), found.rank.tolist(), strict=True)
    heads = [(line + lines, offset + bytes_before, rank) for line, offset, rank in places]
    return [(*head, *captures) for head, *captures in zip(heads, *columns, strict=True)]


def found_together(rules: Sequence[Rule], lines: Sequence[bytes]) -> dict[int, tuple[list[tuple[object, ...]], int]]:
    """Each rule's rows and candidates in the lines as one text."""
    scan = Program(rules).scan([b"".join(lines)])
    return {of.rule: (rows_of(of, rules[of.rule]), sum(of.candidates.values())) for of in scan.found}


def found_alone(rules: Sequence[Rule], lines: Sequence[bytes]) -> dict[int, tuple[list[tuple[object, ...]], int]]:
    """The same by a program of each line's own, which knows no shape yet."""
    start = 0
    whole: dict[int, tuple[list[tuple[object, ...]], int]] = {}
    for number, line in enumerate(lines):
        for of in Program(rules).scan([line], at_end=False).found:
            rows, candidates = whole.get(of.rule, ([], 0))
            more = rows_of(of, rules[of.rule], number, start)
            whole[of.rule] = [*rows, *more], candidates + sum(of.candidates.values())
        start += len(line)
    return whole


#: Regexes to which all digits are one, and some that tell one digit, or one number of digits, from another.
REGEXES = (
    "(?P<a>[0-9]+)",  "(?P<a>[0-9.]+) (?P<b>[-+0-9.e]+)", r"(?P<a>[0-9]{2})", "(?P<t>[^ ]+)", "(?P<t>.*?) k",
    "(?P<a>[1-9][0-9]*)", "(?P<t>fp16|fp32)", "(?P<a>[0-5])", "(?P<a>[0-9]+)(?: (?P<b>[0-9]+))?", "7(?P<a>[0-9]*)",
    "(?P<a>[0-9]+?)(?P<b>[0-9]*)", r"(?:\[1,[0-9]{1,5}\]<stdout>:|)(?P<a>[0-9]+)", r"\x31(?P<a>[0-9]*)",
    "(?P<t>[^0-9]*)", "(?P<t>[a-f0-4]+)", "(?P<a>[0-9]{2,4})[^0-9]", "(?P<t>[^|]*)[|]", "(?P<t>[█▌]*)",
    "[^|]*[|] ?(?P<a>[0-9]+)", "(?P<t>█+)(?P<b>[0-9])?", "(?P<a>[0-9])*", "(?:1|12|(?P<a>123))[0-9]*",
)  # fmt: skip
#: Regexes that are searched in the whole line.
SEARCHED = (
    "(?P<a>[0-9]+) k", "(?P<a>[0-9]+)$", "(?P<a>0[0-9]*) ", "^(?P<t>[^=]*)=", "(?:^|[^0-9])(?P<a>[0-9]{3})(?:[^0-9]|$)",
    "(?P<t>[█]+)", "(?P<a>[1-9][0-9]*)[.](?P<b>[0-9]+)", "(?P<a>[0-9]+?)0", "[|](?P<t>.*)[|]", "[0-9]+(?P<a>[0-9])",
)  # fmt: skip
LITERALS = ("key=", "k2=", "1", " 1", "y=1", "=", "0 k", "█", "▌|", "12", "|")
PIECES = st.sampled_from(
    [
        "key=",
        "k2=",
        "1",
        "20",
        " ",
        "7",
        "0.5",
        "fp16",
        "abcdefgh",
        "é",
        "[rank3]: ",
        "[1,",
        "\t",
        "x",
        "|",
        "█",
        "▌",
        "|█|",
        "1 k",
    ]
)


def any_rule(number: int, literal: str, regex: str, searched: bool, role: Role) -> Rule:
    made = rule(regex, literal.encode(), role, parser=number)
    return replace(made, kind="line") if searched else made


RULES = st.tuples(
    st.sampled_from(LITERALS),
    st.sampled_from([(regex, False) for regex in REGEXES] + [(regex, True) for regex in SEARCHED]),
    st.sampled_from(["other", "other", "metadata", "position", "ignore"]),
)


@settings(max_examples=examples(37), deadline=None)
@given(
    st.lists(RULES, min_size=1, max_size=4),
    st.lists(st.lists(PIECES, min_size=1, max_size=9), min_size=1, max_size=3),
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.lists(st.text("0123456789", min_size=1, max_size=4), min_size=4, max_size=4),
            st.lists(st.text("█▌", min_size=1, max_size=3), min_size=2, max_size=2),
        ),
        max_size=12,
    ),
)
@example([("key=", ("(?P<a>[1-9][0-9]*)", False), "other")], [["key=", "7"]], [(0, list("0705"), ["█", "█"])] * 3)
@example(
    [(" 1", ("(?P<a>[0-9]+)", False), "other")],
    [["k2=", " ", "1"]],
    [(0, ["0", end, "0", "0"], ["█", "█"]) for end in ("1", "10")],
)
@example(
    [("▌|", ("(?P<t>[^ ]+)", False), "other")],
    [["|█|", "k2=", "|█|"]],
    [(0, list("0000"), [bar, "█"]) for bar in ("▌", "█▌")],
)
def test_lines_of_a_shape_are_found_as_each_alone(
    patterns: list[tuple[str, tuple[str, bool], Role]],
    shapes: list[list[str]],
    order: list[tuple[int, list[str], list[str]]],
) -> None:
    """Numbers of other sizes and bars of other lengths, in lines that share their text."""
    rules = [
        any_rule(n, literal, regex, searched, role) for n, (literal, (regex, searched), role) in enumerate(patterns)
    ]
    lines = [_with_tokens("".join(shape), ["1", "20", "3", "0"], ["█", "▌"]) for shape in shapes]
    lines += [_with_tokens("".join(shapes[n % len(shapes)]), digits, bars) for n, digits, bars in order]
    assert found_together(rules, lines) == found_alone(rules, lines)


def _with_tokens(shape: str, numbers: Sequence[str], bars: Sequence[str]) -> bytes:
    """A shape's line with these in turn in place of its runs of digits and of blocks."""
    count = iter(range(len(shape)))

    def other(found: re.Match[str]) -> str:
        of = numbers if found[0].isdigit() else bars
        return of[next(count) % len(of)]

    return (re.sub("[0-9]+|[█▌]+", other, shape) + "\n").encode()


def test_numbers_and_texts_are_each_lines_own() -> None:
    rules = [rule("(?P<a>[0-9.]+) (?P<t>[^ ]+) (?P<b>[0-9]+)$")]
    lines = [b"2026-01-02 key=%d.5 v%d 9\n" % (10 + n, n % 10) for n in range(40)]
    found = {0: ([(n, 25 * n + 11, -1, 10.5 + n, 9.0, f"v{n % 10}") for n in range(40)], 40)}
    assert found_together(rules, lines) == found


@pytest.mark.parametrize(
    ("regex", "digits", "matching"),
    [
        ("(?P<a>[1-9][0-9]*) ", "5550503", [0, 1, 2, 4, 6]),
        ("[0-9]fp16 | ?7", "55575", [3]),
        (r"\x37", "55575", [3]),
        ("(?:[0-9]| )(?P<a>[0-46-9])?", "5555", [0, 1, 2, 3]),
        (r"(?:\[1,[0-9]{1,5}\]<stdout>:)?(?P<a>[0-9]) ", "123456", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_regex_that_tells_digits_apart(regex: str, digits: str, matching: list[int]) -> None:
    lines = [b"2026 step key=%s padding of words\n" % digit.encode() for digit in digits]
    found = found_together([rule(regex)], lines)
    assert [row[0] for row in found[0][0]] == matching
    assert found == found_alone([rule(regex)], lines)


def test_a_literal_with_digits_stands_only_where_its_digits_do() -> None:
    rules = [rule("", b"run 2"), rule("(?P<a>[0-9]+)", b"=", parser=1)]
    years = [2021, 2022, 2023, 1999, 2024, 3000, 2025, 2026]
    lines = [b"the run %d said at last x=%d\n" % (year, year) for year in years]
    found = found_together(rules, lines)
    assert [row[0] for row in found[0][0]] == [0, 1, 2, 4, 6, 7]
    assert found[0][1] == 6
    assert [row[-1] for row in found[1][0]] == [1999, 3000]  # the other lines are the first parser's


def test_ranks_of_launchers_tags() -> None:
    ranks = [0, 1, 2, 0, 1, 2, 3]
    lines = [b"[rank%d]: a line with key=5 and words\n" % rank for rank in ranks]
    assert [row[2] for row in found_together([rule("(?P<a>[0-9])")], lines)[0][0]] == ranks


def test_what_an_owner_ignores() -> None:
    rules = [rule("[0-9]+ eval", role="ignore"), rule("(?P<a>[0-9]+)"), rule("(?P<t>.*)", b"said", "metadata", 1)]
    lines = [b"key=%d eval and key=4 was said: %d\n" % (n, n) for n in range(10, 40)]
    found = found_together(rules, lines)
    assert found == found_alone(rules, lines)
    assert [len(found[index][0]) for index in range(3)] == [30, 0, 30]
    assert [found[index][1] for index in range(3)] == [60, 60, 30]


def test_texts_count_their_own_literals() -> None:
    line = b"a line that ends with key=%d\n"
    good = b"".join(line % (n % 10) for n in range(30))
    dirty = good + b"a NUL \x00\n" + b"x" * 20_000
    scan = Program([rule("(?P<a>[0-9])$")]).scan([good, dirty, good + good, b"nothing of a key\n" * 9, good])
    (found,) = scan.found
    assert found.candidates == {0: 30, 2: 60, 4: 30}
    assert found.text.tolist() == [0] * 30 + [2] * 60 + [4] * 30
    assert found.numbers["a"].tolist() == [n % 10 for n in range(30)] * 4
    assert scan.flags.tolist() == [0, DIRTY_NUL, 0, 0, 0]
    assert scan.line_feeds.tolist() == [30, 0, 60, 9, 30]


def test_a_last_line_that_may_be_cut() -> None:
    lines = [b"a line that ends with key=%d\n" % (n % 10) for n in range(30)]
    (found,) = (scan := Program([rule("(?P<a>[0-9])$")]).scan([b"".join(lines)[:-1]])).found
    assert len(found) == 29
    assert scan.flags.tolist() == [CUT | NO_LINE_END]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_of_all_ends_and_sizes(end: bytes) -> None:
    rules = [rule("(?P<a>[0-9]+)"), rule("(?P<a>[0-9]+)", b"=", parser=1)]
    sizes = [0, 1, 5, 6, 7, 23, 300, 495, 496, 497, 498, 499, 500, 501, 502, 503, 504, 505, 600, 17_000] * 3
    text = b"".join(b"." * size + b"key=%d" % (n % 9) + end for n, size in enumerate(sizes))
    (found,) = (scan := Program(rules).scan([text])).found[:1]
    assert found.numbers["a"].tolist() == [n % 9 for n in range(60)]
    assert found.offset.tolist() == [sum(sizes[:n]) + n * (5 + len(end)) + sizes[n] for n in range(60)]
    assert scan.line_feeds.tolist() == [60 if end != b"\r" else 0]


def test_jumps_units_and_what_is_wanted_of_the_last_lines() -> None:
    jump = Rule(
        literal=b"step:", parser=0, priority=0, role="other", kind="jump", regex=" *(?P<step>[0-9]+) ", jump=b" cost ",
        tail="(?P<cost>[0-9.]+) (?P<unit>[a-z0-9]+)", also="loss (?P<loss>[0-9]+)", also_groups=("loss",),
        groups=(("step", "number"), ("cost", "number"), ("unit", "unit")),
    )  # fmt: skip
    lines = [b"step: %03d loss %d cost 0.%d s%d\n" % (n, n % 7, 1 + n % 9, n // 50) for n in range(100)]
    (found,) = Program([jump]).scan([b"".join(lines)]).found
    assert found.numbers["step"].tolist() == list(range(100))
    assert found.numbers["cost"].tolist() == [(1 + n % 9) / 10 for n in range(100)]
    assert found.units == {"unit": [(0, "s0"), (0, "s1")]}
    assert found.numbers["loss"].tolist()[36:] == [n % 7 for n in range(36, 100)]
    assert all(math.isnan(loss) for loss in found.numbers["loss"].tolist()[:36])


@pytest.mark.parametrize("whole", [1, 2, 7, 8, 9, 16])
@pytest.mark.parametrize("decimals", [0, 1, 6, 7, 8, 9, 12])
def test_numbers_of_all_sizes(whole: int, decimals: int) -> None:
    printed = [
        "".join(str((3 * n + 7 * place * place + n * place) % 10) for place in range(whole + decimals))
        for n in range(30)
    ]
    printed += ["9" * (whole + decimals), "0" * (whole + decimals)]
    numbers = [text[:whole] + "." * (decimals > 0) + text[whole:] for text in printed]
    lines = [f"a line with key={number} s\n".encode() for number in numbers]
    (found,) = Program([rule("(?P<a>[0-9.]+) ")]).scan([b"".join(lines)]).found
    assert found.numbers["a"].tolist() == [float(number) for number in numbers]


@pytest.mark.parametrize("size", [17, 31, 32, 33, 48, 60])
def test_one_other_byte_makes_another_line(size: int) -> None:
    """Wherever it stands: the literal is no more, or the regex finds another text."""
    rules = [rule("(?P<t>.*)"), rule("", b"tail")]
    line = b"a key=5 of words that go on and on until they end with tail"
    line = line[: size - 5] + b"tail\n"
    lines = [line] * 3
    for place in range(size - 1):
        lines += [line[:place] + b"Z" + line[place + 1 :], line]
    found = found_together(rules, lines)
    assert found == found_alone(rules, lines)
    assert found[0][1] == len(lines) - 4


def test_sub_lines_are_counted_for_a_rule_by_line() -> None:
    of_line = Rule(literal=b"key=", parser=0, priority=0, role="other", kind="line", regex="key=[0-9] and key=[0-9]")
    lines = [b"a line with key=%d and key=%d\n" % (n, 9 - n) for n in range(10)]
    (found,) = Program([of_line]).scan([b"".join(lines)]).found
    assert list(found.candidates.values()) == [10]
    assert found.line.tolist() == list(range(10))


@pytest.mark.parametrize("other", [b"0", b"9", b"/", b":", b"x", b" ", b"\r"])
def test_a_line_of_the_same_size_is_another_where_a_byte_is(other: bytes) -> None:
    """Lines are compared eight bytes at a time: each place of one is changed in turn."""
    rules = [rule("(?P<a>[0-9.]+) (?P<t>[a-z]+) (?P<b>[0-9]+)$", b"key="), rule("(?P<a>[0-9])", b"=1", parser=1)]
    line = b"2026-01-02 12:30 key=10.25 words 1234 end=17 x\n"
    for place in range(len(line) - 1):
        changed = line[:place] + other + line[place + 1 :]
        lines = [line, line, line, changed, line, changed]
        assert found_together(rules, lines) == found_alone(rules, lines), changed
