"""TOML files of users, checked against a schema: what is wrong is told with its place and what is expected there.

A schema is a frozen ``Struct`` with ``forbid_unknown_fields``. Types are strict: ``"3"`` is no whole number.
A field's ``Meta(description=…)`` replaces the words for what is expected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from perflog.border import keep_inside
from perflog.errors import PerflogError
from perflog.lazy_regex import lazy_regex
from perflog.spelling import did_you_mean

Schema = TypeVar("Schema")
#: What a table of facts may hold: it is read as text.
Scalar = str | int | float | bool
Text = Annotated[str, Meta(min_length=1)]
#: The longest file of options or of a format, in bytes, and the most parts of a key.
LONGEST, MOST_PARTS = 256 * 1024, 50
#: A key of more parts. Parts of more than 100 characters are not seen, of which the longest file has few.
_DEEP_KEY = lazy_regex(
    r"""(?:(?:[\w-]{1,100}+|"(?:[^"\\\n]|\\.){0,100}+"|'[^'\n]{0,100}+')[ \t]*+\.[ \t]*+)"""
    f"{{{MOST_PARTS}}}"
)
#: Keys that name a table in a list of tables, in the order in which they are looked for.
_NAMES = ("name", "group")
#: The table whose values may be secrets, and stand in no message.
_UNSHOWN = "environment"
_WORDS: Mapping[Any, str] = {
    str: "a text in quotes", int: "a whole number", float: "a number", bool: "true or false"
}  # fmt: skip


class Place(Struct, frozen=True):
    """A place in a file: tables in lists by their names, then the keys that lead to a value.

    >>> str(Place("my.toml", ("pattern 'step'",), ("map", "precision")))
    "my.toml: pattern 'step': map.precision"
    """

    file: str
    tables: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    noun: str = "key"

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, ", ".join(self.tables), ".".join(self.keys)) if part)

    def below(self, key: str) -> Place:
        return replace(self, keys=(*self.keys, key))

    def table(self, number: int, item: Any) -> Place:
        """The place of a list's item; ``number`` counts from 1."""
        key = ".".join(self.keys)
        names = item if isinstance(item, dict) else {}
        name = next((names[word] for word in _NAMES if isinstance(names.get(word), str)), None)
        return replace(self, tables=(*self.tables, f"{key} {number if name is None else repr(name)}"), keys=())


def read_toml(file: Path, error: type[PerflogError]) -> dict[str, Any]:
    """The data in a TOML file.

    Raises:
        PerflogError: as ``error``, naming the file, when it cannot be read or is no TOML, and when it is longer than
            :data:`LONGEST` or has a key of more than :data:`MOST_PARTS` parts: Python's reader takes time and memory by
            the square of these, and the file may be a stranger's.
    """
    import tomllib  # most commands read no TOML file

    keep_inside(file, "the file")
    try:
        with file.open("rb") as stream:
            content = stream.read(LONGEST + 1)
        if len(content) > LONGEST:
            raise error(f"{file}: expected at most {LONGEST:,} bytes, as no file of options or formats has more")
        text = content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        if _DEEP_KEY.search(text):
            raise error(f"{file}: expected keys of at most {MOST_PARTS} parts, with dots between them")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise error(f"{file}: there is no such file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as fault:
        raise error(f"{file}: not a readable TOML file: {fault}") from None
    except ValueError:
        raise error(f"{file}: not a readable TOML file: a number of thousands of digits") from None


def decode(file: Path, schema: type[Schema], error: type[PerflogError]) -> Schema:
    """A TOML file as a ``schema``; raises ``error`` as :func:`read_toml` and :func:`convert` do."""
    return convert(read_toml(file, error), schema, str(file), error)


def convert(
    data: Mapping[str, Any], schema: type[Schema], file: str, error: type[PerflogError], noun: str = "key"
) -> Schema:
    """TOML data as a ``schema``.

    Args:
        noun: what the keys of the file are called in messages.

    Raises:
        PerflogError: as ``error``, with the file, the key with the tables it stands in, what is expected there and
            what was found; and for an unknown key or word the name that is nearest.
    """
    try:
        return msgspec.convert(data, schema)
    except msgspec.ValidationError as fault:
        told = next(_faults(data, schema, Place(file, noun=noun)), f"{file}: {fault}")
        raise error(told) from None


def texts(table: Mapping[str, Scalar]) -> dict[str, str]:
    """A table of facts with its values as text (``8`` → ``"8"``)."""
    return {key: str(value) for key, value in table.items()}


def near(name: str, names: Collection[str]) -> str:
    """``; did you mean 'steps'?``, or nothing where no name is near."""
    return did_you_mean(name, names, most=1, quoted=True)


def _faults(value: Any, hint: Any, place: Place) -> Iterator[str]:
    """What is wrong in a value, the innermost first."""
    hint = _without_none(hint)
    bare = _without_none(get_args(hint)[0]) if get_origin(hint) is Annotated else hint
    if isinstance(bare, type) and issubclass(bare, Struct) and isinstance(value, dict):
        yield from _faults_of_table(value, bare, place)
    elif get_origin(bare) in (tuple, list) and isinstance(value, list):
        for number, item in enumerate(value, 1):
            yield from _faults(item, get_args(bare)[0], place.table(number, item))
    elif get_origin(bare) in (dict, Mapping) and isinstance(value, dict):
        for key, item in value.items():
            yield from _faults(item, get_args(bare)[1], place.below(key))
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError:
        choices = get_args(bare) if isinstance(value, str) and get_origin(bare) is Literal else ()
        words = [choice for choice in choices if isinstance(choice, str)]
        shown = "…" if _UNSHOWN in place.keys else _shown(value)
        yield f"{place} = {shown}: expected {expected(hint)}{near(value, words) if words else ''}"


def _faults_of_table(table: Mapping[str, Any], schema: type[Struct], place: Place) -> Iterator[str]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(schema)}
    for key in table:
        if key not in fields:
            known = ", ".join(sorted(fields))
            yield f"{place}: unknown {place.noun} '{key}'{near(key, fields)} (known: {known})"
    for key, field in fields.items():
        if key not in table and field.required:
            yield f"{place}: '{key}' is missing: expected {expected(field.type)}"
    for key, item in table.items():
        yield from _faults(item, fields[key].type, place.below(key))


def _without_none(hint: Any) -> Any:
    """The type of a key that may be left out: TOML itself has no null."""
    parts = [part for part in get_args(hint) if part is not NoneType]
    is_optional = get_origin(hint) in (Union, UnionType) and len(parts) == 1
    return parts[0] if is_optional else hint


def expected(hint: Any) -> str:
    """What a type asks for, in words.

    >>> expected(Annotated[int, msgspec.Meta(ge=1)]), expected(tuple[str, ...])
    ('a whole number of 1 or more', 'a list, each item a text in quotes')
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _constrained(arguments[0], [part for part in arguments[1:] if isinstance(part, msgspec.Meta)])
    if origin is Literal:
        return f"one of {', '.join(str(word) for word in arguments)}"
    if origin in (tuple, list):
        return f"a list, each item {expected(arguments[0])}"
    if origin in (Union, UnionType):
        return " or ".join(expected(part) for part in arguments if part is not NoneType)
    return _WORDS.get(hint, "a table")


def _constrained(bare: Any, limits: list[msgspec.Meta]) -> str:
    words = expected(bare)
    for limit in limits:
        if limit.description:
            return limit.description
        if limit.ge is not None:
            words += f" of {limit.ge:g} or more"
        if limit.gt is not None:
            words += f" above {limit.gt:g}"
        if limit.min_length:
            words += " that is not empty"
    return words


def _shown(value: Any) -> str:
    """A value as it stands in a file, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
