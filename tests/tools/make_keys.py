"""The tables of keys in docs/parsers.md, from their declarations: ``python -m tests.tools.make_keys docs/parsers.md``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from msgspec import Struct
from msgspec.structs import fields

from perflog.formats.language import Key, ParserKeys, PatternKeys, Sample, ValueKeys, keys_of
from perflog.formats.schema import docs_of

_TABLES: dict[type[Struct], str] = {
    ParserKeys: "of a file", PatternKeys: "`[[pattern]]`", ValueKeys: "`[[pattern.value]]`", Sample: "`[[pattern.sample]]`"
}  # fmt: skip
_PLACE = re.compile(
    r"(?<=<!-- below: python -m tests.tools.make_keys docs/parsers.md -->\n).*?(?=<!-- above: )", re.DOTALL
)


def tables() -> str:
    """A table for each table of a parser's file: its keys, what reads them, and what each is for."""
    parts = []
    for table, title in _TABLES.items():
        docs, keys = docs_of(table), keys_of(table)
        rows = [f"| `{key}` | {_readers(keys[key])} | {_cell(docs[key])} |" for key in _names(table)]
        parts.append("\n".join([f"| {title} | of | meaning |", "|---|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def written(page: str) -> str:
    """A page with the tables as they are now."""
    return _PLACE.sub(lambda _: tables(), page)


def _names(table: type[Struct]) -> list[str]:
    """The keys of a table as they are called in a file; the tables in it have rows of their own."""
    return [each.encode_name for each in fields(table) if each.encode_name not in ("pattern", "value", "sample")]


def _cell(text: str) -> str:
    return text.removesuffix(".").replace("|", "\\|")


def _readers(key: Key) -> str:
    return ", ".join((*key.of, *(f"`{quantity}`" for quantity in key.quantities))) or "any"


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(written(file.read_text(encoding="utf-8")), encoding="utf-8")
