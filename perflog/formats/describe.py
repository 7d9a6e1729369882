"""A parser as a page of text, and as plain data."""

from __future__ import annotations

from typing import Any

from perflog.formats.parser import Parser


def describe_parser(parser: Parser) -> str:
    """A parser as a page of text."""
    lines = [
        f"{parser.name}: {parser.title}",
        f"  source     {parser.source}",
        f"  framework  {parser.framework or '-'}",
        f"  priority   {parser.priority}",
        f"  file       {parser.file}",
    ]
    for pattern in parser.patterns:
        lines.append(f"{pattern.name} ({pattern.role}), literal {pattern.literal!r}")
        for value in pattern.values:
            span = (
                f"cumulative since the {value.since}'s beginning"
                if value.span == "cumulative"
                else f"window of {value.window}"
                if value.span == "window"
                else value.span
            )
            lines.append(
                f"  {value.group}: {value.quantity.replace('_', ' ')} {value.unit}".rstrip()
                + f", {span}, of the {value.scope}"
            )
        lines += [f"  sample: {sample.line}" for sample in pattern.samples[:2]]
    lines += [f"trap: {trap}" for trap in parser.traps]
    return "\n".join(lines)


def parser_document(parser: Parser) -> dict[str, Any]:
    """What the page says, as plain data."""
    return {
        "name": parser.name,
        "title": parser.title,
        "source": parser.source,
        "framework": parser.framework,
        "priority": parser.priority,
        "file": str(parser.file),
        "patterns": [
            {
                "name": pattern.name,
                "role": pattern.role,
                "literal": pattern.literal,
                "values": [
                    {
                        "group": value.group, "quantity": value.quantity, "unit": value.unit, "span": value.span,
                        "scope": value.scope,
                    }
                    for value in pattern.values
                ],
                "samples": [sample.line for sample in pattern.samples],
            }
            for pattern in parser.patterns
        ],
        "traps": list(parser.traps),
    }  # fmt: skip
