"""Regexes that allow for unknown digits: what they do not match, no line matches, whatever its digits are.

A line whose digits are not known has a wild character in place of each: :data:`FIRST_WILD` and the byte of the line in
which the digit stands. A class of all ten digits takes it too, and so no decision hangs on the digit. A class of some
digits takes it in a group of its own: the match is that of every line whose digits there are of the class.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from msgspec import Struct, field

#: Wild characters are for private use, and begin with one byte in UTF-8. A line that holds one of its own, or is longer
#: than there are some, is matched with its digits.
FIRST_WILD, LAST_WILD, WILD_LEAD = 0xE000, 0xEFFF, b"\xee"
WILD = re.compile(f"[{chr(FIRST_WILD)}-{chr(LAST_WILD)}]")
#: No digit, and all ten, as bits.
NONE, ALL = 0, 0b11_1111_1111

_DIGITS = range(ord("0"), ord("9") + 1)
#: A character that no clean line holds.
_NOTHING = (0, 0)
_ALL_WILD = rf"\x{{{FIRST_WILD:x}}}-\x{{{LAST_WILD:x}}}"
# Python's own parser reads the regex, as in perflog/formats/linear.py.
_parser: Any = re._parser  # type: ignore[attr-defined]
_codes: Any = re._constants  # type: ignore[attr-defined]
_CHARACTERS = frozenset({_codes.LITERAL, _codes.NOT_LITERAL, _codes.IN})
_NESTED = frozenset({_codes.SUBPATTERN, _codes.MAX_REPEAT, _codes.MIN_REPEAT})


class Widened(Struct, frozen=True):
    """A regex in Rust's syntax that takes wild characters.

    ``unsure``: by the number of a group that may have taken some, the digits that may stand there, as bits;
    :data:`NONE` where each must be known.
    """

    regex: str
    unsure: dict[int, int]


@lru_cache(maxsize=4096)
def widened(regex: str, at_start: bool) -> Widened:
    """A regex of the dialect (``perflog/formats/dialect.py``); ``at_start``: it must match where its text begins."""
    parsed = _parser.parse(regex)
    writer = _Writer({number: name for name, number in parsed.state.groupdict.items()})
    return Widened(with_mark(writer.sequence(parsed, repeated=False), at_start), writer.unsure)


def with_mark(regex: str, at_start: bool) -> str:
    """A regex in which an empty group ``matched_`` comes first."""
    anchor = "^" if at_start or regex.startswith("^") else ""
    return f"{anchor}(?P<matched_>){regex.removeprefix('^')}"


class _Writer(Struct):
    """Writes a regex that was read, from left to right, and counts the groups."""

    names: dict[int, str]
    unsure: dict[int, int] = field(default_factory=dict)
    groups: int = 1

    def sequence(self, parts: Any, repeated: bool) -> str:
        return "".join(self._part(code, given, repeated) for code, given in parts)

    def _part(self, code: Any, given: Any, repeated: bool) -> str:
        if code in _CHARACTERS:
            return self._character(code, given, repeated)
        if code is _codes.ANY:
            return "."
        if code is _codes.AT:
            return "^" if given is _codes.AT_BEGINNING else "$"
        if code is _codes.BRANCH:
            return f"(?:{'|'.join(self.sequence(branch, repeated) for branch in given[1])})"
        if code is _codes.SUBPATTERN:
            name = self.names.get(given[0])
            self.groups += name is not None
            return f"({'?:' if name is None else f'?P<{name}>'}{self.sequence(given[-1], repeated)})"
        return self._repeat(code, given, repeated)

    def _repeat(self, code: Any, given: Any, repeated: bool) -> str:
        """A repeat. Of what is repeated a group has the last time alone: all of it becomes a group where it matters."""
        least, most, parts = given
        often = most is _codes.MAXREPEAT or most > 1
        mark = f"{{{least},{'' if most is _codes.MAXREPEAT else most}}}{'?' * (code is _codes.MIN_REPEAT)}"
        if repeated or not often or not _tells_digits(parts):
            return f"(?:{self.sequence(parts, repeated or often)}){mark}"
        self.groups += 1
        self.unsure[self.groups] = NONE
        return f"((?:{self.sequence(parts, True)}){mark})"

    def _character(self, code: Any, given: Any, repeated: bool) -> str:
        if code is _codes.LITERAL and given not in _DIGITS and not FIRST_WILD <= given <= LAST_WILD:
            return rf"\x{{{given:x}}}"
        negated, ranges = _class(code, given)
        taken = _digits_in(negated, ranges)
        tame = [(low, min(high, FIRST_WILD - 1)) for low, high in ranges if low < FIRST_WILD]
        tame += [(max(low, LAST_WILD + 1), high) for low, high in ranges if high > LAST_WILD]
        inside = "".join(rf"\x{{{low:x}}}-\x{{{high:x}}}" for low, high in tame or [_NOTHING])
        if (taken == NONE) == negated:  # a class takes what it names, or all but that
            inside += _ALL_WILD
        text = f"[{'^' * negated}{inside}]"
        if taken in (NONE, ALL) or repeated:
            return text
        self.groups += 1
        self.unsure[self.groups] = taken
        return f"({text})"


def _class(code: Any, given: Any) -> tuple[bool, list[tuple[int, int]]]:
    """(whether it takes all but these, ranges of characters)."""
    if code is not _codes.IN:
        return code is _codes.NOT_LITERAL, [(given, given)]
    members = [(kind, value) for kind, value in given if kind is not _codes.NEGATE]
    ranges = [value if kind is _codes.RANGE else (value, value) for kind, value in members]
    return len(members) < len(given), ranges


def _digits_in(negated: bool, ranges: list[tuple[int, int]]) -> int:
    """The digits that a class takes, as bits."""
    named = 0
    for low, high in ranges:
        for digit in range(max(low, _DIGITS[0]), min(high, _DIGITS[-1]) + 1):
            named |= 1 << (digit - _DIGITS[0])
    return ALL & ~named if negated else named


def _tells_digits(parts: Any) -> bool:
    """Whether some part of a regex takes some digits and no others."""
    for code, given in parts:
        if code in _CHARACTERS:
            inside = _digits_in(*_class(code, given)) not in (NONE, ALL)
        elif code is _codes.BRANCH:
            inside = any(map(_tells_digits, given[1]))
        else:
            inside = code in _NESTED and _tells_digits(given[-1])
        if inside:
            return True
    return False
