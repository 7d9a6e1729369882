"""A shape and the meanings of its numbers as the tables of a parser's file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from perflog.inference.meanings import Meaning
from perflog.inference.shapes import NUMBER, Shape

#: The shortest text that tells lines of one shape from others.
LEAST_LITERAL = 3
_CLOCK, _WHOLE, _NUMBER = "(?P<{}>[0-9:.]+)", "(?P<{}>[0-9,]+)", "(?P<{}>[-+0-9.,eEnaifNAIF]+)"
_ANY = r"[-+0-9.,:eEnaifNAIF]+"


def tables_of(shape: Shape, meanings: Sequence[Meaning], name: str) -> dict[str, Any] | None:
    """A parser's file as tables, None where no text long enough to find the lines by stands before their numbers."""
    by_place = {meaning.place: meaning for meaning in meanings}
    first, last = min(by_place), max(by_place)
    start = next((place for place in range(first + 1) if len(shape.words[place].strip()) >= LEAST_LITERAL), first)
    opening = shape.words[start].strip()
    regex = _escaped(opening) + (r"[ \t]*" if shape.words[start].endswith(" ") else "")
    for place in range(start, last + 1):
        meaning = by_place.get(place)
        regex += _ANY if meaning is None else _group(meaning)
        following = shape.words[place + 1]
        regex += _escaped(following if place < last else following.rstrip()[:12])
    literal = _literal(shape, start, last)
    if literal is None:
        return None
    pattern: dict[str, Any] = {
        "name": "step", "role": "step", "literal": literal, "regex": regex, "step_base": _base(shape, meanings),
        "value": [_value(meaning) for meaning in meanings if meaning.kind not in ("step", "epoch")],
        "sample": [{"line": shape.first, "expect": _expected(shape, meanings)}],
    }  # fmt: skip
    scaled = [_name(m) for m in meanings if m.unit != "clock" and any("," in text for text in shape.column(m.place))]
    if scaled:
        pattern["scaled"] = scaled
    if any(meaning.kind == "epoch" for meaning in meanings) and _restarts(shape, meanings):
        pattern["step_per"] = "epoch"
    return {"title": name, "source": "inferred from a log", "pattern": [pattern]}


def _literal(shape: Shape, start: int, last: int) -> str | None:
    """A text between blanks that lines hold once from their first column on, the one there if it can be; else None."""
    words, numbers = NUMBER.split(shape.first), NUMBER.findall(shape.first)
    rest = "".join(number + word for number, word in zip(numbers[start:], words[start + 1 :], strict=True))
    opening = words[start].lstrip()
    parts = (part for place in range(start, last + 1) for part in words[place].split())
    able = (word for word in (opening.rstrip(), opening, *parts) if len(word.strip()) >= LEAST_LITERAL)
    return next((word for word in able if (opening + rest).count(word) == 1), None)


def _escaped(text: str) -> str:
    parts = re.split(r"( )", text)
    return "".join(r"[ \t]*" if part == " " else re.sub(r"([\\.\[\](){}*+?|^$])", r"\\\1", part) for part in parts)


def _group(meaning: Meaning) -> str:
    form = _CLOCK if meaning.unit == "clock" else _WHOLE if meaning.kind in ("step", "epoch") else _NUMBER
    return form.format(_name(meaning))


def _name(meaning: Meaning) -> str:
    return meaning.kind if meaning.kind in ("step", "epoch") else f"{meaning.kind}_{meaning.place}"


def _value(meaning: Meaning) -> Mapping[str, Any]:
    value = {"group": _name(meaning), "quantity": meaning.kind, "unit": meaning.unit, "span": meaning.span}
    return {**value, **({"scope": meaning.scope} if meaning.scope != "job" else {})}


def _expected(shape: Shape, meanings: Sequence[Meaning]) -> dict[str, Any]:
    numbers = NUMBER.findall(shape.first)
    return {_name(meaning): numbers[meaning.place] for meaning in meanings}


def _base(shape: Shape, meanings: Sequence[Meaning]) -> int:
    step = next(meaning for meaning in meanings if meaning.kind == "step")
    return 0 if shape.numbers[0][step.place] == "0" else 1


def _restarts(shape: Shape, meanings: Sequence[Meaning]) -> bool:
    step = next(meaning for meaning in meanings if meaning.kind == "step")
    return any(later <= earlier for earlier, later in pairwise(shape.whole_numbers(step.place) or ()))
