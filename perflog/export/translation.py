"""Notes in another language than English, as ``templates/reports/notes.<language>.toml`` has them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from perflog.resources import folder

#: What stands below a table where a note could not be translated, by language.
LEFT_IN_ENGLISH = {"zh": "未译出的说明为英文原文"}
#: The longest note that is looked for, in characters: others hold text of logs.
LONGEST = 500
_NAME = re.compile(r"\{(\*?)(\w+)\}")
#: What stands for a number, and for any text.
_NUMBER, _TEXT = r"-?\d[\d.,]*", ".+?"


def translated(text: str, language: str) -> str | None:
    """A note in a language; None where it is not known there.

    >>> translated("warm-up 20 steps", "zh")
    '预热 20 步'
    """
    for pattern, form in _notes(language) if len(text) <= LONGEST else ():
        if match := pattern.fullmatch(text):
            return form.format_map(match.groupdict())
    return None


def shown(text: str, language: str) -> str:
    """A note in a language; in English where it is not known there."""
    return text if language not in LEFT_IN_ENGLISH else translated(text, language) or text


def told(made: str, notes: Sequence[str], language: str) -> tuple[str, list[str]]:
    """What stands below a table in a language: how its numbers were made, and its notes.

    Args:
        made: parts that a semicolon separates, with a full stop at the end.
    """
    if language not in LEFT_IN_ENGLISH:
        return made, list(notes)
    parts = [shown(part, language) for part in made.removesuffix(".").split("; ")]
    return f"{'；'.join(parts)}。", in_language(notes, language)


def in_language(notes: Sequence[str], language: str) -> list[str]:
    """Notes in a language, in their order, and behind them that some are left in English, where that is so."""
    if language not in LEFT_IN_ENGLISH:
        return list(notes)
    known = [translated(note, language) for note in notes]
    shown = [note if own is None else own for note, own in zip(notes, known, strict=True)]
    return [*shown, *([LEFT_IN_ENGLISH[language]] if None in known else [])]


@cache
def _notes(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """The notes that a language has: what the English ones look like, and their forms there."""
    import tomllib

    text = (folder("templates") / "reports" / f"notes.{language}.toml").read_text(encoding="utf-8")
    return tuple((_pattern_of(entry["en"]), entry[language]) for entry in tomllib.loads(text)["note"])


def _pattern_of(form: str) -> re.Pattern[str]:
    """A regex for the notes of one form, whose names stand for numbers or texts."""
    names = [f"(?P<{name}>{_TEXT if star else _NUMBER})" for star, name in _NAME.findall(form)]
    texts = map(re.escape, _NAME.sub("\0", form).split("\0"))
    return re.compile("".join(text + name for text, name in zip(texts, [*names, ""], strict=True)), re.DOTALL)
