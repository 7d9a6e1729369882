"""What all HTML pages of perflog have in common: how they begin, how their text is escaped, and their words.

Templates stand in ``templates/pages`` and ``templates/reports``. Escaping is always on: what logs and paths say is text
in a page and never markup. A page loads nothing, and says so to the browser (its Content Security Policy).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

from perflog.escaping import visible
from perflog.resources import folder

#: What a page of perflog begins with: one may be written over.
BEGINNING = "<!DOCTYPE html>\n<!-- made by perflog"
#: The languages of pages, and the name of each for browsers.
LANGUAGES = {"en": "en", "zh": "zh-Hans"}


def environment() -> Any:
    """The Jinja2 environment of all pages: sandboxed, with escaping on, and an error for a name that is not given."""
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    class Environment(SandboxedEnvironment):
        """A sandbox in which ``a.b`` is the entry of a plain dictionary: a page of many cases asks for 150,000."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            return obj[attribute] if type(obj) is dict and attribute in obj else super().getattr(obj, attribute)

    templates = folder("templates")
    loader = FileSystemLoader([templates / "reports", templates / "pages"])
    return Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_seen
    )


def _seen(value: Any) -> Any:
    """A value of the page; what cannot be seen in a text, or acts, is made visible."""
    return visible(value, lines=True) if isinstance(value, str) and not hasattr(value, "__html__") else value


@cache
def words(language: str) -> Mapping[str, Mapping[str, str]]:
    """The words of pages in a language (:data:`LANGUAGES`), by page."""
    data = tomllib.loads((folder("templates") / "pages" / "words.toml").read_text(encoding="utf-8"))
    return data[language]  # type: ignore[no-any-return]
