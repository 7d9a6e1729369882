"""Print docs/formats.md: the parsers that perflog ships, what corroborates them, and the conventions."""

from __future__ import annotations

from collections import defaultdict

from perflog.evidence.witness import Witness
from perflog.formats.catalog import load_catalog
from perflog.formats.parser import Parser
from perflog.settings.convention import load_conventions
from tests.support import arguments, extracted, parser_fixtures

_INTRODUCTION = """\
# Formats and conventions

Made by `python -m tests.tools.make_formats > docs/formats.md`. `perflog parsers show NAME` prints a parser as a page.
The last column names the witnesses ([evidence.md](evidence.md)) that agree with the parser's numbers in its fixtures;
where it says *none*, nothing in them does.
"""


def main() -> None:
    witnesses = _witnesses()
    parsers = sorted(load_catalog().parsers, key=lambda parser: parser.name)
    print(f"{_INTRODUCTION}\n| parser | framework | format | corroborated by |\n|---|---|---|---|")
    for parser in parsers:
        told = ", ".join(sorted(witnesses[parser.name])) or "none"
        print(f"| `{parser.name}` | {parser.framework or 'any'} | {parser.title} | {told} |")
    print("\n## Sources, releases covered, and traps\n")
    for parser in parsers:
        print("\n".join(_page(parser)))
    print("\n## Conventions of published reports\n\n| convention | rule |\n|---|---|")
    for name, rule in load_conventions().items():
        print(f"| `{name}` | {rule.title} |")


def _page(parser: Parser) -> list[str]:
    return [f"- `{parser.name}`: {parser.source}", *(f"  - {trap}" for trap in parser.traps)]


def _witnesses() -> dict[str, set[str]]:
    """The kinds of witnesses that agree in each parser's fixtures."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, log, side in parser_fixtures():
        for run in extracted(log, **arguments(side.get("options", []))).runs:
            if run.parser == name and run.evidence is not None:
                found[name] |= {_kind(witness) for witness in run.evidence.witnesses if witness.agreement == "agrees"}
    return found


def _kind(witness: Witness) -> str:
    if "times" in witness.name:
        return "rate times time"
    if "on the lines" in witness.name:
        return "a second number on the line"
    if witness.name.startswith("the program's own"):
        return "the program's summary"
    return witness.name.removeprefix("the ")


if __name__ == "__main__":
    main()
