"""One function for each border: what comes out is seen, does nothing, and says which text it was."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.escaping import csv_cell, decodable, exact, json_text, markdown, named, visible, workflow, xml_text

#: Any text that Python holds, rich in what matters here.
PIECES = ["\x1b[31m", "\x1b]0;t\x07", "\x9b", "\x85", "\u202e", "\u2066", "\u2028", "\n", "\r", "\t", "\x7f", "\udcff", "\udc80", "\ud800", "\\", "\\x", "\\xff", "\\n", "\\u202e", "x", "ff", "n", "é", "中", "::error::", "##[group]", "=1", "-5", "|", "<b>", "$", "`"]  # fmt: skip
TEXT = st.lists(st.one_of(st.sampled_from(PIECES), st.characters(codec=None, exclude_categories=())), max_size=12).map(
    "".join
)
NAME = TEXT.map(
    lambda text: "".join(c for c in text if not "\ud800" <= c <= "\udc7f" and not "\udd00" <= c <= "\udfff")
)
ACTS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def test_by_hand() -> None:
    assert visible("a\x1b]0;x\x07\n\t\u202eb\x9b\udcffé中") == r"a\x1b]0;x\x07\n\t\u202eb\u009b\xffé中"
    assert visible("a\n\tb\r\x1b", lines=True) == "a\n\tb\\r\\x1b"
    assert exact("a\udcff\n") == "a\\xff\n"
    assert exact("a\\xff") == "a\\\\xff" and exact("a\\b\\n") == "a\\b\\n"
    assert decodable("a\\xff") == "a\\xff"
    assert named("a\nb\\nc") == r"a\nb\\nc"
    assert markdown("a|b <i> $x$ ~~y~~\n\x1b") == r"a\|b &lt;i&gt; \$x\$ \~\~y\~\~\\n\\x1b"
    assert xml_text("<a>&\x00\n\ufffe\uffff\udcff") == r"<a>&\x00\n\ufffe\uffff\xff"
    assert json_text({"a": ["\x1b\u202e\x7f\x9b", 1.5]}, None) == r'{"a": ["\u001b\u202e\u007f\u009b", 1.5]}'


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("=1+1", "'=1+1"), ("+cmd", "'+cmd"), ("@SUM(A1)", "'@SUM(A1)"), ("-2+3", "'-2+3"), (" =1", "' =1"), ("＝1", "'＝1"),
        ("\t=1", r"\t=1"), ("\r=1", r"\r=1"), ("-5", "-5"), ("+3.5e-7", "+3.5e-7"), ("-.5", "-.5"), ("-", "-"), ("-inf", "-inf"),
        ("a=1", "a=1"), ("", ""), (-5.0, -5.0), (None, None), (True, True), ("-5%", "'-5%"), ("--5", "'--5"), ("-1\n", r"'-1\n"),
    ],
)  # fmt: skip
def test_cells_of_csv(cell: object, shown: object) -> None:
    assert csv_cell(cell) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", r":\u003aerror::x"), ("a\n  ::add-mask::y", "a\n  :\\u003aadd-mask::y"), ("a ::error::", "a ::error::"),
        ("| ##[set-env name=a]b", r"| ##\u005bset-env name=a]b"), ("+::warning::", r"+:\u003awarning::"), ("# [x]", "# [x]"),
        ("\u200d::error::", "\u200d:\\u003aerror::"), ("a::b", "a::b"),
    ],
)  # fmt: skip
def test_commands_of_github(text: str, shown: str) -> None:
    assert workflow(text) == shown
    for place in range(len(text)):  # whatever a text is written in
        first, second = text[:place], text[place:]
        assert workflow(first) + workflow(second, first) == shown


@given(TEXT)
def test_nothing_acts_at_any_border(text: str) -> None:
    for border in (visible, named, markdown, csv_cell):
        assert not ACTS.search(border(text))
    assert not ACTS.search(visible(text, lines=True).replace("\n", "").replace("\t", ""))
    document = json_text({text: [text]})
    assert not ACTS.search(document.replace("\n", ""))
    assert json.loads(document) == {decodable(text): [decodable(text)]}
    decodable(text).encode()
    out = io.StringIO()
    csv.writer(out).writerow([csv_cell(text), 1])
    ((cell, _),) = csv.reader(io.StringIO(out.getvalue()))
    assert cell[:1] not in tuple("=+@") or re.fullmatch(r"[+-]?[0-9.eE+-]+|[+-](inf|nan)", cell)
    assert not re.search(r"(?m)^\s*::|##\[", workflow(text))


@given(NAME)
def test_exact_names_are_the_names(name: str) -> None:
    assert from_exact(exact(name)) == name


@given(NAME, NAME)
def test_two_names_never_look_alike(one: str, other: str) -> None:
    assert (named(one) == named(other)) == (one == other)
    assert from_named(named(one)) == one


def from_exact(text: str) -> str:
    """What docs/json.md says of names."""

    def read(found: re.Match[str]) -> str:
        backslashes = "\\" * (len(found[1]) // 2)
        return backslashes + (chr(0xDC00 + int(found[2], 16)) if len(found[1]) % 2 else f"x{found[2]}")

    return _halved(re.sub(r"(\\+)x([89a-f][0-9a-f])", read, text))


def _halved(text: str) -> str:
    return re.sub(r"\\+(?=ud[89a-f][0-9a-f]{2})", lambda found: "\\" * (len(found[0]) // 2), text)


def from_named(text: str) -> str:
    short = {"t": "\t", "n": "\n", "r": "\r"}

    def read(found: re.Match[str]) -> str:
        backslashes, code = "\\" * (len(found[1]) // 2), found[2]
        if len(found[1]) % 2 == 0:
            return backslashes + code
        number = int(code[1:], 16) if code not in short else 0
        if code[0] == "x" and number >= 0x80:
            number += 0xDC00
        return backslashes + short.get(code, chr(number))

    return re.sub(r"(\\+)([tnr]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})", read, text)
