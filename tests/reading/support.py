"""Small formats, and readings of texts written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perflog.formats.catalog import Catalog
from perflog.formats.parser import Parser
from perflog.formats.paths import PathPatterns
from perflog.logs.find import LogFile
from perflog.matching import engine_for
from perflog.reading.reading import Reading
from tests.measurements.support import RATE, parser, table

#: ``row step=1 ips=5``; ``begin`` says that a run begins; ``set key=value`` states a fact; ``sum ips=5`` sums up.
STEPS = table("step ips", RATE, sample=[{"line": "row step=1 ips=5", "expect": {"step": 1, "ips": 5}}])
BEGIN = {
    "name": "begin", "role": "metadata", "literal": "begin", "regex": "begin(?: at (?P<precision>[a-z0-9]+))?",
    "starts_run": True, "sample": [{"line": "begin at fp16"}],
}  # fmt: skip


def fact(key: str, **more: Any) -> dict[str, Any]:
    """A pattern that reads ``set key=value``."""
    regex = f"set {key}=(?P<{key}>[^ \\n]+)"
    return {
        "name": key,
        "role": "metadata",
        "literal": f"set {key}=",
        "regex": regex,
        "sample": [{"line": f"set {key}=8"}],
        **more,
    }


def summary(*values: Mapping[str, Any], keys: str = "", **more: Any) -> dict[str, Any]:
    """A pattern that reads ``sum key=8 group=5``."""
    regex = "sum" + "".join(f" {key}=(?P<{key}>[0-9]+)" for key in keys.split())
    regex += "".join(f" {value['group']}=(?P<{value['group']}>[^\\n]+)" for value in values)
    line = "sum" + "".join(f" {key}=8" for key in keys.split()) + "".join(f" {value['group']}=5" for value in values)
    return {
        "name": "sum", "role": "summary", "literal": "sum", "regex": regex, "value": list(values),
        "sample": [{"line": line}], **more,
    }  # fmt: skip


def formats(*tables: Mapping[str, Any], **more: Any) -> Catalog:
    """A catalogue of one format."""
    return catalog(parser(*tables, **more))


def catalog(*parsers: Parser) -> Catalog:
    return Catalog(tuple(sorted(parsers, key=lambda made: -made.priority)), PathPatterns(()))


def read(formats: Catalog, *blocks: str, as_printed: bool = False, path: str = "logs/x.log") -> Reading:
    """The reading of a log in blocks."""
    reading = Reading(LogFile(path, sum(map(len, blocks))), as_printed)
    engine = engine_for(formats)
    for number, block in enumerate(blocks, 1):
        reading.add(*engine.match([block.encode()], at_end=number == len(blocks)).of_text(0))
        reading.bytes += len(block)
    reading.settle(formats)
    return reading


def steps(*numbers: int, ips: float = 5, tag: str = "") -> str:
    """Lines of steps."""
    return "".join(f"{tag}row step={number} ips={ips:g}\n" for number in numbers)
