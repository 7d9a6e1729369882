"""The JSON Schema of parsers' files holds what perflog itself takes, and refuses what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from perflog.formats.schema import TABLES, schema_of_formats

PARSERS = Path(__file__).parents[2] / "parsers"
FILES = sorted(file for file in PARSERS.glob("*.toml") if file.stem not in ("paths", "accelerators"))


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    found = schema_of_formats()
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


def read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def test_it_holds_every_parser(validator: Draft202012Validator) -> None:
    assert len(FILES) > 200
    for file in FILES:
        validator.validate(read(file))


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        ((), "titel", "a word that is no key"),
        ((), "priority", 1001),
        (("pattern", 0), "role", "steps"),
        (("pattern", 0), "step_base", 2),
        (("pattern", 0, "value", 0), "quantity", "speed"),
        (("pattern", 0, "value", 0), "window", -1),
    ],
)
def test_it_refuses_what_perflog_refuses(
    validator: Draft202012Validator, place: tuple[str | int, ...], key: str, value: object
) -> None:
    data: Any = read(PARSERS / "char_rnn.toml")
    validator.validate(data)
    table = data
    for part in place:
        table = table[part]
    table[key] = value
    with pytest.raises(ValidationError, match=key if key == "titel" else str(value)):
        validator.validate(data)


def test_every_key_says_what_it_is_for() -> None:
    found = schema_of_formats()["$defs"]
    for table in TABLES:
        for key, declared in found[table.__name__]["properties"].items():
            assert len(declared.get("description", "")) > 10, key


def test_the_command_prints_it() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "perflog", "parsers", "schema"], capture_output=True, text=True, check=True
    )
    assert json.loads(printed.stdout) == json.loads(json.dumps(schema_of_formats()))
