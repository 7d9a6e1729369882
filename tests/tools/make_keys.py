"""The tables of keys in docs/parsers.md, from their declarations: ``python -m tests.tools.make_keys docs/parsers.md``."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path

from msgspec import Struct
from msgspec.structs import fields

from perflog.formats.language import Key, ParserKeys, PatternKeys, Sample, ValueKeys, keys_of

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
        docs, keys = _docs(table), keys_of(table)
        rows = [f"| `{key}` | {_readers(keys[key])} | {docs[name]} |" for name, key in _names(table)]
        parts.append("\n".join([f"| {title} | of | meaning |", "|---|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def written(page: str) -> str:
    """A page with the tables as they are now."""
    return _PLACE.sub(lambda _: tables(), page)


def _names(table: type[Struct]) -> list[tuple[str, str]]:
    """The keys of a table, as attributes and as they are called in a file; the tables in it have rows of their own."""
    return [
        (each.name, each.encode_name)
        for each in fields(table)
        if each.encode_name not in ("pattern", "value", "sample")
    ]


def _readers(key: Key) -> str:
    return ", ".join((*key.of, *(f"`{quantity}`" for quantity in key.quantities))) or "any"


def _docs(table: type[Struct]) -> dict[str, str]:
    """The text below each declaration of a class."""
    (declared,) = ast.parse(inspect.getsource(table)).body
    assert isinstance(declared, ast.ClassDef)
    docs = {}
    for key, text in zip(declared.body, declared.body[1:], strict=False):
        if isinstance(key, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            assert isinstance(key.target, ast.Name)
            docs[key.target.id] = " ".join(str(text.value.value).split()).removesuffix(".").replace("|", "\\|")
    return docs


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(written(file.read_text(encoding="utf-8")), encoding="utf-8")
