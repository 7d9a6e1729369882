"""The words of documents in a language, and the templates that they stand in.

Templates stand in ``templates/pages`` and ``templates/reports``. Escaping is always on in pages: what logs and paths
say is text in a page and never markup. A page loads nothing, and says so to the browser (its Content Security Policy).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from perflog.escaping import visible
from perflog.resources import folder
from perflog.settings.config import one_of
from perflog.settings.options import Amount, Window

Words = Mapping[str, Mapping[str, str]]
#: What a page of perflog begins with: one may be written over.
BEGINNING = "<!DOCTYPE html>\n<!-- made by perflog"
#: The languages of documents, and the name of each for browsers.
LANGUAGES = {"en": "en", "zh": "zh-Hans"}


def page_templates() -> Any:
    """The Jinja2 environment of all pages: sandboxed, with escaping on, and an error for a name that is not given."""
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    class Environment(SandboxedEnvironment):
        """A sandbox in which ``a.b`` is the entry of a plain dictionary: a page of many cases asks for 150,000."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            return obj[attribute] if type(obj) is dict and attribute in obj else super().getattr(obj, attribute)

    templates = folder("templates")
    loader = FileSystemLoader([templates / name for name in ("reports", "pages", "view", "vendor")])
    return Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_seen
    )


def _seen(value: Any) -> Any:
    """A value of the page; what cannot be seen in a text, or acts, is made visible."""
    return visible(value, lines=True) if isinstance(value, str) and not hasattr(value, "__html__") else value


def require_language(language: str) -> None:
    """Raise UsageError for a language that there is not."""
    one_of("lang", language, list(LANGUAGES))


@cache
def words(kind: Literal["pages", "pictures", "reports", "view"], language: str) -> Words:
    """The words of a kind of documents in a language (:data:`LANGUAGES`), by part of the document."""
    return _read(f"{kind}/words.toml")[language]  # type: ignore[no-any-return]


def _read(file: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads((folder("templates") / file).read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class PictureWords:
    """The words of a language by their names, each a form whose places are filled."""

    language: str
    forms: Mapping[str, str]

    def __call__(self, name: str, /, **values: object) -> str:
        return self.forms[name].format(**values)

    def counted(self, count: object, noun: str) -> str:
        """``1 device``, ``8 devices``; the noun is that of the forms: ``devices``."""
        return self(f"one_{noun.removesuffix('s')}") if count == 1 else self(f"some_{noun}", count=count)


@cache
def words_of(language: str = "en") -> PictureWords:
    """The words of pictures in a language, ``en`` or ``zh``; what comes from logs stays as it is."""
    forms: Any = words("pictures", language)
    return PictureWords(language, forms)


def window_text(window: Window, language: str) -> str:
    """A window in words."""
    texts = words("reports", language)
    named, units = texts["method"], texts.get("units", {})

    def shown(amount: Amount) -> str:
        return f"{amount.number:g} {units[amount.unit]}" if units else str(amount)

    if window.last is not None:
        return named["last"].format(amount=shown(window.last))
    skipped = named["skip"].format(amount=shown(window.warmup))
    return skipped + (named["then"].format(amount=shown(window.steps)) if window.steps else "")


# ----------------------------------------------------------------------------------------------------
# Notes in another language than English, as ``templates/reports/notes.<language>.toml`` has them.

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
    if language in LEFT_IN_ENGLISH:
        made = f"{'；'.join(shown(part, language) for part in made.removesuffix('.').split('; '))}。"
    return made, in_language(notes, language)


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
    found = []
    for entry in _read(f"reports/notes.{language}.toml")["note"]:
        names = [f"(?P<{name}>{_TEXT if star else _NUMBER})" for star, name in _NAME.findall(entry["en"])]
        texts = map(re.escape, _NAME.sub("\0", entry["en"]).split("\0"))
        pattern = "".join(text + name for text, name in zip(texts, [*names, ""], strict=True))
        found.append((re.compile(pattern, re.DOTALL), entry[language]))
    return tuple(found)
