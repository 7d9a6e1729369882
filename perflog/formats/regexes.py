"""The regexes of parsers: their macros, and how a regex is parted at its literal."""

from __future__ import annotations

import re
from collections.abc import Mapping

from perflog.errors import ParserError
from perflog.formats.dialect import translate
from perflog.formats.parser import Jump

#: Written ``{N}`` in a regex. Short classes keep Rust's one-pass matcher in use (docs/performance.md);
#: what is not a number after all becomes null when it is cast, and is counted as not understood.
MACROS: Mapping[str, str] = {
    "{I}": r"[0-9]+",
    "{N}": r"[-+0-9.][-+0-9.eE]*",
    "{NN}": r"[-+]?(?:[0-9.][-+0-9.eE]*|nan|inf|NaN|Inf)",
    "{ETA}": r"(?:[0-9]+ days?, )?[0-9:]+",
    "{NS}": r"[-+]?[0-9][0-9,.]*(?:[eE][-+]?[0-9]+)?[kKmMbBgGtTpPqQE]?",
    "{CLOCK}": r"(?:[0-9]+ days?, *)?[0-9]+(?::[0-9]+)*(?:\.[0-9]+)?",
    "{TO}": r".*?",
}


def expand(regex: str, where: str) -> str:
    r"""Replace the macros, such as ``{I}`` and ``{TO}``, and classes such as ``\s``.

    Raises:
        ParserError: with ``where``, for a regex that the engines would not read alike (:mod:`perflog.formats.dialect`).
    """
    for macro, text in MACROS.items():
        regex = regex.replace(macro, text)
    return translate(regex, where)


def tail_after(literal: str, regex: str) -> str | None:
    """The rest of ``regex`` when it begins with ``literal`` to the letter, else None.

    Such a pattern is found by splitting text at the literal and matching the rest at the start of each
    piece, which reads every byte once and finds several events that were glued to one line.
    """
    at = 0
    for char in literal:
        if regex[at : at + 1] == "\\" and regex[at + 1 : at + 2] == char and not char.isalnum():
            at += 2
        elif regex[at : at + 1] == char and char not in r"\.[](){}*+?|^$":
            at += 1
        else:
            return None
    rest = regex[at:]
    if rest[:1] in ("*", "+", "?") or re.match(r"\{[0-9]", rest):
        return None  # the quantifier would belong to the literal's last character
    return rest


_PLAIN_TEXT = re.compile(r"(?:[^\\.\[\](){}*+?|^$]|\\[^A-Za-z0-9])+")


def jump_in(tail: str, where: str) -> Jump | None:
    """The parts of a regex (macros not yet replaced) around its one ``{TO}``; None when it has none.

    Raises:
        ParserError: when no plain text follows, or the text also stands before.
    """
    if "{TO}" not in tail:
        return None
    head, rest = tail.split("{TO}", 1)
    found = _PLAIN_TEXT.match(rest)
    text = found[0] if found else ""
    if found and re.match(r"[*+?]|\{[0-9]", rest[found.end() :]):
        text = text[:-1].removesuffix("\\")
    literal = re.sub(r"\\(.)", r"\1", text)
    if len(literal) < 3 or "{TO}" in rest:
        raise ParserError(f"{where}: {{TO}} may stand once, before three or more characters of plain text")
    if text in head or literal in head:
        raise ParserError(f"{where}: the text after {{TO}}, {literal!r}, also stands before it; choose more of it")
    return Jump(
        expand(head, f"{where}, before {{TO}}"),
        literal,
        expand(rest[len(text) :], f"{where}, after the text that follows {{TO}}"),
    )
