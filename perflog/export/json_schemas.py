"""The JSON Schemas of all documents that perflog prints, which lie beside this module as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from perflog.errors import UsageError

FOLDER = Path(__file__).with_name("schemas")
_ENDING = ".schema.json"


def schema_names() -> list[str]:
    """The names of the documents that there are schemas of."""
    return sorted(file.name.removesuffix(_ENDING) for file in FOLDER.glob(f"*{_ENDING}"))


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a document.

    Args:
        name: ``extraction``, ``comparison``, ``noise``, ``audit``, ``readme``, ``history`` …: what stands in the
            document's key ``schema`` between ``perflog/`` and the version.

    Returns:
        The schema as plain data, for any validator of JSON Schema.

    Raises:
        UsageError: for a document that there is not.
    """
    if name not in schema_names():
        raise UsageError(f"schema {name!r}: expected one of {', '.join(schema_names())}")
    schema: dict[str, Any] = json.loads((FOLDER / f"{name}{_ENDING}").read_text(encoding="utf-8"))
    return schema
