"""The dialect of parsers' regexes, their macros, and how a regex is parted at its literal and its jump."""

from __future__ import annotations

import polars as pl
import pytest

from perflog.errors import ParserError
from perflog.formats.dialect import TAG, expand, jump_in, tail_after
from perflog.formats.parser import Jump


@pytest.mark.parametrize(
    ("regex", "text"),
    [
        ("{I}", "[0-9]+"),
        (r"a\s+b", r"a[ \t\x0b\x0c]+b"),
        (r"\d{2}\w", "[0-9]{2}[0-9A-Za-z_]"),
        (r"\S\D\W", r"[^ \t\x0b\x0c\n\r][^0-9\n\r][^0-9A-Za-z_\n\r]"),
        (r"[\d.]", "[0-9.]"),
        (r"[^0-9\s]", r"[^0-9 \t\x0b\x0c]"),
        (r"[^\n,]", r"[^\n,]"),
        (r"\\s \[\d\]", r"\\s \[[0-9]\]"),
        (r"(?:^|x)(?P<n>[-+]?{I})$", f"(?:^{TAG}|x)(?P<n>[-+]?[0-9]+)$"),
        ("a{2}b{2,}c{2,3}?", "a{2}b{2,}c{2,3}?"),
    ],
)
def test_what_a_regex_stands_for(regex: str, text: str) -> None:
    assert expand(regex, "here") == text


@pytest.mark.parametrize(
    ("regex", "line", "matches"),
    [
        (r"^\s$", "\x0b", True),
        (r"^\s$", "\n", False),
        (r"^\s$", "\u00a0", False),
        (r"^\d$", "٣", False),
        (r"^\w$", "é", False),
        (r"^\S$", "é", True),
        (r"^\S$", "\r", False),
    ],
)
def test_classes_are_ascii_and_stay_within_a_line(regex: str, line: str, matches: bool) -> None:
    assert pl.Series([line]).str.contains(expand(regex, "here"))[0] is matches


@pytest.mark.parametrize(
    ("regex", "place", "message"),
    [
        ("a(?=b)", 2, "(?=…: a look-around; match what stands there instead"),
        ("(?!a)", 1, "(?!…: a look-around"),
        ("(?<=a)b", 1, "(?<=…: a look-around"),
        ("(?<!a)b", 1, "(?<!…: a look-around"),
        (r"(?P<n>a)\1", 9, "a back-reference; spell the text out"),
        ("(?P<n>a)(?P=n)", 9, "(?P=…: a back-reference; spell the text out"),
        ("(?>a)", 1, "(?>…: an atomic group; write (?:…)"),
        ("a++", 3, "nothing to repeat, or a repeat of a repeat"),
        ("*a", 1, "nothing to repeat"),
        ("[a&&b]", 1, "'&&' in a class"),
        ("[a--b]", 1, "'--' in a class"),
        ("[a~~b]", 1, "'~~' in a class"),
        ("[[ab]", 1, "write \\[ for the character"),
        ("[[:alpha:]]", 1, "write \\[ for the character"),
        ("[:alpha:]", 1, "a class such as [:alpha:]"),
        ("[]a]", 1, "a class begins with ']'; write \\]"),
        (r"[^\W]", 1, "\\W in a class; write the characters themselves"),
        (r"[\d-x]", 1, "a range between classes; put the '-' last, or write \\-"),
        ("[z-a]", 1, "a range whose ends are the wrong way round"),
        ("[ab", 1, "a class that is not closed; write \\[ for the character"),
        (r"\pL", 1, "\\p is read differently by the engines; write a class such as [A-Za-z]"),
        (r"\Aab", 1, "write ^ at the beginning"),
        (r"ab\z", 3, "write $"),
        (r"ab\Z", 3, "write $"),
        (r"\Gab", 1, "write the characters themselves"),
        (r"a\Kb", 2, "write the characters themselves"),
        (r"\R", 1, "write the characters themselves"),
        (r"\X", 1, "write the characters themselves"),
        (r"a\hb", 2, "write [ \\t]"),
        (r"\Qa\E", 1, "write the characters themselves"),
        (r"\bab", 1, "write a character class for what stands before or after, such as (?:^|[^0-9A-Za-z_])"),
        (r"ab\B", 3, "write a character class for what stands before or after"),
        (r"a\<b", 2, "write the character alone, without a backslash"),
        (r"a\nb", 2, "a match never crosses a line"),
        ("a\nb", 2, "a line's end; write $ at the end of the regex"),
        ("(?i)a", 1, "(?…: an inline flag; write both letters instead, such as [Aa]"),
        ("(?s:a)", 1, "an inline flag"),
        ("(?<n>a)", 1, "a named group of another dialect; write (?P<name>…)"),
        ("(a)", 1, "a group without a name; write (?:…), or (?P<name>…)"),
        ("(*UTF)a", 1, "a command to one engine"),
        (f"(?P<{'n' * 33}>a)", 1, "at most 32 of them"),
        ("(?P<1>a)", 1, "begins with no digit"),
        ("(?P<n>a)(?P<n>b)", 9, "two groups are named 'n'; names must differ"),
        ("(?P<n>a)+", 9, "a named group is repeated"),
        ("a{1001}", 2, "more than 1000 repeats"),
        ("(?:a{100}){11}", 11, "more than 1000 repeats, counting those of groups in it"),
        ("a{3,2}", 2, "the bounds of the repeat are the wrong way round"),
        ("a{3,0}", 2, "the bounds of the repeat are the wrong way round"),
        ("a{,3}", 2, "a brace that is no repeat such as {2} or {2,5}; write \\{"),
        ("{x", 1, "a brace that is no repeat"),
        ("a^b", 2, "^ stands at the beginning of a regex alone; write \\^ for the character"),
        ("(?:a|b^)c", 7, "^ stands at the beginning"),
        ("a|b", 2, "a choice of whole regexes; write (?:…|…)"),
        ("(?:a", 5, "a group is not closed; a ')' is missing"),
        ("a)", 2, "a ')' without its '('; write \\)"),
        ("a\\", 2, "a backslash at the end"),
    ],
)
def test_what_the_engines_do_not_read_alike_is_refused(regex: str, place: int, message: str) -> None:
    with pytest.raises(ParserError) as error:
        expand(regex, "my.toml: pattern 'p': regex")
    assert str(error.value).startswith(f"my.toml: pattern 'p': regex: character {place}, ")
    assert message in str(error.value)


@pytest.mark.parametrize("regex", ["[(?P<n>]", r"\(?P<n>"])
def test_what_looks_like_a_group_is_refused(regex: str) -> None:
    with pytest.raises(ParserError, match=r"here: '\(\?P<' that opens no group"):
        expand(regex, "here")


def test_repeats_up_to_a_thousand() -> None:
    assert expand("(?:a{100}){10}", "here") == "(?:a{100}){10}"
    assert pl.Series(["a" * 1000]).str.contains("^(?:a{100}){10}$")[0]


@pytest.mark.parametrize(
    ("literal", "regex", "tail"),
    [
        ("ips: ", "ips: {N}", "{N}"),
        ("a.b", r"a\.b\s", r"\s"),
        ("a.b", r"a.b\s", None),
        ("ab", "ab*", None),
        ("ab", "ab{2}", None),
        ("ab", "ab{N}", "{N}"),
        ("d", r"\d", None),
    ],
)
def test_what_follows_the_literal_is_left_as_it_is_written(literal: str, regex: str, tail: str | None) -> None:
    assert tail_after(literal, regex) == tail


@pytest.mark.parametrize(
    ("tail", "jump"),
    [
        ("{I} x", None),
        (r"(?P<n>\d) {TO}ips: {N}", Jump("(?P<n>[0-9]) ", "ips: ", "[-+0-9.][-+0-9.eE]*")),
        (r"{TO}\(ms\)\s", Jump("", "(ms)", r"[ \t\x0b\x0c]")),
        ("{TO}time: +x", Jump("", "time:", " +x")),
    ],
)
def test_a_jump(tail: str, jump: Jump | None) -> None:
    assert jump_in(tail, "here") == jump


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("{TO}ab", "here: {TO} may stand once, before three or more characters of plain text"),
        ("{TO}abc{TO}def", "here: {TO} may stand once"),
        ("abc {TO}abc", "here: the text after {TO}, 'abc', also stands before it; choose more of it"),
        ("(?:a{TO}bcd)", "here, before {TO}: character 5, '': a group is not closed; a ')' is missing"),
        ("a{TO}bcd)", "here, after the text that follows {TO}: character 1, ')': a ')' without its '('; write \\)"),
    ],
)
def test_a_jump_that_is_wrong(tail: str, message: str) -> None:
    with pytest.raises(ParserError) as error:
        jump_in(tail, "here")
    assert str(error.value).startswith(message)
