"""Runs of texts written by hand."""

from __future__ import annotations

from typing import Any

from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile
from perflog.reading.reading import Reading
from perflog.runs.build import build_runs
from perflog.runs.metadata import Metadata
from perflog.runs.run import Run
from perflog.settings.options import Amount, Options, Window
from tests.reading.support import read

ALL = Window(Amount(0))


def options(**given: Any) -> Options:
    """Options without a warm-up."""
    return Options(**{"window": ALL, **given})


def known(**values: Any) -> Metadata:
    """Facts that the log says."""
    return Metadata(dict(values), dict.fromkeys(values, "log"))


def runs(formats: Catalog, *blocks: str, path: str = "/logs/x.log", **given: Any) -> list[Run]:
    """The runs of a log in blocks."""
    reading = read(formats, *blocks, path=path, as_printed=bool(given.get("as_printed")))
    outcome = build_runs(reading, formats, options(**given))
    assert isinstance(outcome, list), outcome.reason
    return outcome


def run(formats: Catalog, *blocks: str, **given: Any) -> Run:
    """The one run of a log."""
    (made,) = runs(formats, *blocks, **given)
    return made


def reading_of_units(*units: str) -> Reading:
    """A reading whose lines print units."""
    return Reading(LogFile("made.log", 0), units={"made.step": set(units)})


def steps(*numbers: int, ips: float = 5, tag: str = "") -> str:
    """Lines of steps, printed with so many digits that rounding bounds them to less than anything is said of."""
    return "".join(f"{tag}row step={number} ips={ips:.3f}\n" for number in numbers)
