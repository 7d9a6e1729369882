"""How a table looks, as data: ``templates/NAME.toml`` (``docs/tables.md``) and the words of a language."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from perflog.border import keep_inside
from perflog.errors import UsageError
from perflog.export.columns import number as plain
from perflog.formats.toml import convert, read_toml
from perflog.report.grid import Number
from perflog.resources import folder
from perflog.spelling import did_you_mean

#: A style's name is a file's, never a path.
_NAME = re.compile(r"[\w.-]+")
#: So many styles extend one another at most.
DEEPEST = 8
_FORM = re.compile(r"%(?:\.[0-9]{1,2})?[fge](?: (?:trim|one|nobase|comma))*")
_Words = Annotated[dict[str, str], Meta(description='a table of texts, such as { throughput = "samples/s" }')]

#: (a number's unit, the style's): the factor between them.
_SCALES = {
    ("fraction", "%"): 100.0,
    ("", "%"): 100.0,
    ("s", "ms"): 1000.0,
    ("GiB", "MiB"): 1024.0,
    ("MiB", "GiB"): 1 / 1024,
    ("MB", "MiB"): 1e6 / 2**20,
    ("MB", "GiB"): 1e6 / 2**30,
}


class _StyleFile(Struct, frozen=True, forbid_unknown_fields=True):
    """What may stand in a style's file (see :class:`Style`)."""

    title: str = ""
    extends: Annotated[str, Meta(min_length=1, description="the name of a style")] | None = None
    layout: str = ""
    missing: str = ""
    row: str = ""
    row_title: str = ""
    column: str = ""
    cell: str = ""
    header_end: str = ""
    row_end: str = ""
    digits: _Words = {}
    titles: dict[str, _Words] = {}
    units: _Words = {}


@dataclass(frozen=True, slots=True)
class Style:
    """One table style.

    Attributes:
        layout: ``tabulate``, or a Jinja2 file in ``templates/layouts``.
        missing: what a cell without a number prints.
        row, row_title: a Jinja2 text for all row fields in one cell, and its heading; empty: a column per field.
        column: a Jinja2 text for the heading of a column from its fields, and ``value``, the value's own heading.
        cell: a Jinja2 text around ``text``, the formatted number.
        digits: per value a printf form, with ``trim`` (no trailing zeros), ``one`` (exactly 1 is printed 1),
            ``nobase`` (exactly 1, a baseline's speedup, is printed as missing) or ``comma`` (thousands).
        titles: headings of fields and values, by language.
        units: per value the unit it is converted to (``%`` for fractions, ``ms`` for seconds).
    """

    name: str
    layout: str = "tabulate"
    missing: str = "-"
    row: str = ""
    row_title: str = ""
    column: str = ""
    cell: str = ""
    header_end: str = " |"
    row_end: str = " |"
    digits: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)


def load_style(name: str, folders: Sequence[str] = ()) -> Style:
    """Read a style by name; the user's folders come before perflog's own.

    Raises:
        UsageError: for a name or a file that is not right.
    """
    for place in folders:
        keep_inside(place, "--templates")
    data = _merged(name, [*map(Path, folders), folder("templates")])
    for form in data.get("digits", {}).values():
        digits_form(form, f"style {name}: digits {form!r}")
    return Style(name=name, **{k: v for k, v in data.items() if k not in ("title", "extends")})


def styles(folders: Sequence[str] = ()) -> list[str]:
    """The names there are."""
    return sorted({file.stem for place in [*map(Path, folders), folder("templates")] for file in place.glob("*.toml")})


def digits_form(form: str, where: str) -> str:
    """A checked printf form such as ``%.2f`` or ``%.2f trim``. Raises UsageError for others."""
    if not _FORM.fullmatch(form):
        raise UsageError(f"{where}: expected a form such as %.2f, %.6g, '%.2f trim', '%.2f one' or '%.2f nobase'")
    return form


def _merged(name: str, places: Sequence[Path], below: tuple[str, ...] = ()) -> dict[str, Any]:
    """A style's data over those of the style that it extends; ``below`` are the styles that extend this one."""
    file = next((place / f"{name}.toml" for place in places if (place / f"{name}.toml").is_file()), None)
    if file is None or not _NAME.fullmatch(name):
        known = styles([str(p) for p in places])
        raise UsageError(f"--style {name!r}: there are {', '.join(known)}{did_you_mean(name, known)}")
    if len(below) >= DEEPEST:
        raise UsageError(f"{file}: expected at most {DEEPEST} styles that extend one another, found more")
    if name in below:
        raise UsageError(
            f"{file}: extends = {below[-1]!r}: a style cannot extend itself ({' → '.join((*below, name))})"
        )
    data = read_toml(file, UsageError)
    extends = convert(data, _StyleFile, str(file), UsageError).extends
    base = _merged(extends, places, (*below, name)) if extends is not None else {}
    return _over(base, data)


def _over(base: dict[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    return {**base, **{k: _over(base.get(k, {}), v) if isinstance(v, dict) else v for k, v in data.items()}}


def scale_to(unit: str, wanted: str) -> float:
    """The factor from one unit to another; 1 where there is none."""
    return _SCALES.get((unit, wanted), 1.0)


def formatted(number: Number, form: str, unit: str, missing: str = "") -> str:
    """A number as text: by ``form``, else with the digits its interval supports (two of the half-width)."""
    value = number.value
    assert value is not None
    scale = scale_to(number.unit, unit)
    value *= scale
    if not form:
        return _supported(value, number, scale)
    printf, _, flags = form.partition(" ")
    text = printf % value
    if "comma" in flags:
        whole, dot, rest = text.partition(".")
        text = f"{int(whole):,}{dot}{rest}"
    if value == 1 and "nobase" in flags:
        return missing
    if value == 1 and "one" in flags:
        return "1"
    return text.rstrip("0").rstrip(".") if "trim" in flags and "." in text and "e" not in text else text


def _supported(value: float, number: Number, scale: float) -> str:
    if number.low is None or number.high is None or number.high <= number.low:
        return plain(value)
    half = (number.high - number.low) / 2 * scale
    decimals = 1 - math.floor(math.log10(half))
    return f"{value:.{max(0, decimals)}f}"
