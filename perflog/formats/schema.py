"""The format language as a JSON Schema (draft 2020-12), by which editors complete and check parsers' files."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from msgspec import Struct
from msgspec.json import schema
from msgspec.structs import fields

from perflog.formats.language import ParserKeys, PatternKeys, Sample, ValueKeys

#: The tables of a parser's file.
TABLES: tuple[type[Struct], ...] = (ParserKeys, PatternKeys, ValueKeys, Sample)


def docs_of(table: type[Struct]) -> dict[str, str]:
    """What each key of a table is for, in Markdown, by its name in a file: the text below its declaration."""
    (declared,) = ast.parse(inspect.getsource(table)).body
    assert isinstance(declared, ast.ClassDef)
    names = {each.name: each.encode_name for each in fields(table)}
    docs = {}
    for key, text in zip(declared.body, declared.body[1:], strict=False):
        if isinstance(key, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            assert isinstance(key.target, ast.Name)
            docs[names[key.target.id]] = " ".join(str(text.value.value).split())
    return docs


def schema_of_formats() -> dict[str, Any]:
    """The schema of a parser's file, each key with what it is for."""
    found = schema(ParserKeys)
    for table in TABLES:
        properties = found["$defs"][table.__name__]["properties"]
        for key, text in docs_of(table).items():
            properties[key]["description"] = text
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A parser of perflog", **found}
