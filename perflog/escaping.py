"""Text of logs and paths at the borders of the program: what it must become before it stands anywhere else.

Names of files and contents of logs may hold anything: control characters and escape sequences that command a
terminal, marks that turn the direction of writing, line breaks that begin a line of their own, bytes that are no
text. One function for each border; each gives text in which everything can be seen and nothing acts.

==================  ==================================================================================
:func:`decodable`   every border that holds any Unicode text: Parquet, JSON
:func:`exact`       names of files for machines: :func:`decodable`, and back again
:func:`visible`     people: terminals, pictures, HTML, and what the functions below begin with
:func:`named`       names of files for people: :func:`visible`, and back again
:func:`markdown`    cells and lines of Markdown, and of HTML in it
:func:`csv_cell`    cells of CSV, which spreadsheets open
:func:`latex`       cells and lines of LaTeX
:func:`json_text`   JSON documents
:func:`xml_text`    XML documents: reports of tests, feeds
:func:`workflow`    the log of GitHub Actions, where lines may be commands
==================  ==================================================================================
"""

from __future__ import annotations

import json
import re
from typing import Any

from perflog.lazy_regex import lazy_regex

#: Bytes of a name that are no UTF-8, as Python holds them (PEP 383), and halves of pairs that are no text either.
_SURROGATE = lazy_regex(r"[\ud800-\udfff]")
#: Control characters, marks of direction, line and paragraph separators, and characters that cannot be seen at all.
_UNSEEN_CONTROLS = r"\x00-\x1f"
_UNSEEN_OTHERS = (
    r"\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f"
)
_UNSEEN_CLASS = _UNSEEN_CONTROLS + _UNSEEN_OTHERS
_UNSEEN = lazy_regex(f"[{_UNSEEN_CLASS}]")
_UNSEEN_BUT_LINES = lazy_regex(f"[\\x00-\\x08\\x0b-\\x1f{_UNSEEN_OTHERS}]")
#: Those of them that may stand in JSON as they are, and are written in its ASCII form all the same.
_UNSEEN_IN_JSON = lazy_regex(f"[{_UNSEEN_OTHERS}]")
#: Backslashes that could be taken for ours: those before what looks like one of our escapes, or will become one.
_BEFORE_BYTES = lazy_regex(r"\\(?=\\*(?:x[89a-f][0-9a-f]|ud[89a-f][0-9a-f]{2}|[\ud800-\udfff]))")
_BEFORE_ESCAPES = lazy_regex(rf"\\(?=\\*(?:[tnr]|x[0-9a-f]{{2}}|u[0-9a-f]{{4}}|U[0-9a-f]{{8}}|[{_UNSEEN_CLASS}]))")
_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}
#: What Markdown and HTML take for markup, and GitHub for a formula.
_MARKUP = lazy_regex(r"[\\|<>`*_\[\]~$]")
_ENTITIES = {"<": "&lt;", ">": "&gt;"}
#: What a spreadsheet takes for the beginning of a formula, and what is a number all the same.
_FORMULA = lazy_regex(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_NUMBER = lazy_regex(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-](?:inf|nan)|-")
#: What XML 1.0 has no form for, beside what cannot be seen: the last two code points of the first plane.
_NO_XML = lazy_regex("[\ufffe\uffff]")
#: What LaTeX takes for commands, and what joins to the character before it. Numbers of characters are the same in all
#: of its font encodings that have them, and mean themselves whatever a language's package makes of the characters.
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"{\char34}", "`": r"{\char96}", "'": r"{\char39}", "[": "{[}", "]": "{]}", "*": "{*}",
    "-": "-{}",
}  # fmt: skip
_LATEX_SPECIAL = lazy_regex(r"""[\\{}$&#%_^~<>|"`'\[\]*]|-(?=-)""")
#: Where a line of GitHub's log begins a command: ``::name`` at its start, ``##[name]`` anywhere (actions/runner,
#: ``ActionCommand.cs``); its search does not see some characters, such as joiners.
_COMMAND = lazy_regex(r"^[^\w\n]*?:[\u034f\u200c\u200d\ufe00-\ufe0f]*(:)|#[^\w\n]?#[^\w\n\[]*(\[)", re.MULTILINE)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if found[0] in _SHORT:
        return _SHORT[found[0]]
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def decodable(text: str) -> str:
    """Text that every encoding of Unicode holds: a byte that is no UTF-8 stands as ``\\xff`` in it."""
    return text if text.isascii() or _SURROGATE.search(text) is None else exact(text)


def exact(path: str) -> str:
    """A path as :func:`decodable` gives it, where backslashes that could be taken for ours are doubled.

    In what it gives, an odd number of backslashes before ``x``, and two digits from ``80`` on, are half as many
    backslashes and a byte; an even number is half as many backslashes.
    """
    if "\\" in path:
        path = _BEFORE_BYTES.sub(r"\\\\", path)
    return path if path.isascii() else _SURROGATE.sub(_escape, path)


def visible(text: str, lines: bool = False) -> str:
    """Text in which everything is seen and nothing acts: an escape stands as ``\\x1b`` in it, a line feed as ``\\n``.

    Args:
        lines: leave line feeds and tabs as they are, in a text of several lines.
    """
    if text.isascii() and text.isprintable():
        return text
    return (_UNSEEN_BUT_LINES if lines else _UNSEEN).sub(_escape, text)


def named(path: str) -> str:
    """A file's name as people see it, on one line; no two names look alike, since backslashes that could be taken for
    ours are doubled.
    """
    if "\\" in path:
        path = _BEFORE_ESCAPES.sub(r"\\\\", path)
    return visible(path)


def markdown(text: object) -> str:
    """Text that means itself in Markdown, on one line, and in HTML."""
    plain = visible(str(text)).replace("&", "&amp;")
    return _MARKUP.sub(lambda found: _ENTITIES.get(found[0], "\\" + found[0]), plain)


def csv_cell(value: Any) -> Any:
    """A cell of CSV: a text that a spreadsheet would compute begins with an apostrophe. Numbers stay numbers."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def latex(text: object) -> str:
    """Text that means itself in LaTeX, on one line, in a table's cell too: no command, no comment, no other column."""
    return _LATEX_SPECIAL.sub(lambda found: _LATEX[found[0]], visible(str(text)))


def json_text(value: Any, indent: int | None = 1) -> str:
    """Plain data as a JSON document that holds any text of logs and paths.

    Raises:
        ValueError: for a number that is not finite.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    if not text.isascii() and _SURROGATE.search(text):
        text = json.dumps(decodable_data(value), ensure_ascii=False, indent=indent, allow_nan=False)
    return json_visible(text)


def json_visible(document: str) -> str:
    """The same JSON document, with what cannot be seen in the form ``\\u202e``, which means the same."""
    if document.isascii() and "\x7f" not in document:
        return document
    return _UNSEEN_IN_JSON.sub(lambda found: json.dumps(found[0])[1:-1].replace("\x7f", r"\u007f"), document)


def decodable_data(value: Any) -> Any:
    """Plain data with all its texts as :func:`decodable` gives them."""
    if isinstance(value, str):
        return decodable(value)
    if isinstance(value, dict):
        return {decodable_data(key): decodable_data(member) for key, member in value.items()}
    return [decodable_data(member) for member in value] if isinstance(value, list | tuple) else value


def xml_text(text: str) -> str:
    """Text that XML 1.0 holds, on one line; the program that writes the document escapes its markup."""
    return _NO_XML.sub(_escape, visible(text))


def workflow(text: str, before: str = "") -> str:
    """Text in which no line is a command to GitHub Actions.

    Args:
        before: what already stands on the line that the text goes on with.
    """
    whole, start = before + text, len(before)
    pieces = []
    for command in _COMMAND.finditer(whole):
        place = command.start(command.lastindex or 0)
        if place >= start:
            pieces += [whole[start:place], f"\\u{ord(whole[place]):04x}"]
            start = place + 1
    return "".join([*pieces, whole[start:]])
