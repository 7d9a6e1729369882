"""The words of pictures in a language (``templates/pictures/words.toml``); what comes from logs stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from perflog.plot.drawing import font_for, without_glyph
from perflog.resources import folder


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a language by their names, each a form whose places are filled."""

    language: str
    forms: Mapping[str, str]

    def __call__(self, name: str, /, **values: object) -> str:
        return self.forms[name].format(**values)

    def counted(self, count: object, noun: str) -> str:
        """``1 device``, ``8 devices``; the noun is that of the forms: ``devices``."""
        return self(f"one_{noun.removesuffix('s')}") if count == 1 else self(f"some_{noun}", count=count)


@cache
def words_of(language: str = "en") -> Words:
    """The words of a language, ``en`` or ``zh``."""
    import tomllib

    text = (folder("templates") / "pictures" / "words.toml").read_text(encoding="utf-8")
    return Words(language, tomllib.loads(text)[language])


def drawable_words(language: str, form: str) -> Words:
    """The words of a language, English ones in place of those for which no font is installed.

    An SVG holds its text as text, for which whoever shows it has a font.
    """
    words = words_of(language)
    if form == "svg":
        return words
    _, lacking = font_for(without_glyph("".join(words.forms.values())))
    return words_of() if lacking else words
