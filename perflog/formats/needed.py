"""What every match of a regex needs: texts of which at least one stands in it.

Looking for a text is a thousand times quicker than compiling a regex, and a name has few of the words that the patterns
of paths ask for: those whose words it lacks are neither tried nor compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

# Python's own parser reads the pattern, so that its syntax means what it means there (as in formats/linear.py).
_parser: Any = re._parser  # type: ignore[attr-defined]
_codes: Any = re._constants  # type: ignore[attr-defined]


def needed_literals(regex: str) -> tuple[str, ...]:
    """Texts in small letters: one of them is in every ASCII text, in small letters, that the regex matches.

    Returns:
        The texts, sorted; none where nothing is known to be needed.

    Raises:
        re.error: for what is no regex.
    """
    return tuple(sorted(_of_sequence(_parser.parse(regex))))


def may_match(literals: Sequence[str], text: str) -> bool:
    """Whether a regex that needs one of these may match in a text; always for one that is not ASCII.

    Letters beyond ASCII may match others than those that they become as small letters (ſ matches s).
    """
    if not literals or not text.isascii():
        return True
    small = text.lower()
    return any(literal in small for literal in literals)


def _of_sequence(nodes: Iterable[tuple[Any, Any]]) -> frozenset[str]:
    """The most telling of what the parts of a sequence need."""
    choices: list[frozenset[str]] = []
    literal = ""
    for code, value in nodes:
        if code is _codes.LITERAL and value < 128:
            literal += chr(value).lower()
            continue
        choices += [frozenset({literal}), _of_node(code, value)]
        literal = ""
    choices.append(frozenset({literal}))
    return max((choice for choice in choices if choice and "" not in choice), key=_worth, default=frozenset())


def _worth(literals: frozenset[str]) -> tuple[int, int]:
    """Long texts are rare, and few are soon looked for."""
    return min(map(len, literals)), -len(literals)


def _of_node(code: Any, value: Any) -> frozenset[str]:
    if code is _codes.BRANCH:
        branches = [_of_sequence(branch) for branch in value[1]]
        return frozenset().union(*branches) if all(branches) else frozenset()
    if code is _codes.SUBPATTERN:
        return _of_sequence(value[3])
    if code is _codes.ASSERT:  # what stands before or behind a match stands in the text too
        return _of_sequence(value[1])
    if code in (_codes.MAX_REPEAT, _codes.MIN_REPEAT) and value[0] > 0:
        return _of_sequence(value[2])
    return frozenset()
