"""A parser as a page of text."""

from __future__ import annotations

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
