"""A parser as a page: what its lines look like, what they give, and its traps; for people, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perflog.formats.parser import Parser, Pattern, Value

#: Quantities that measure the speed of a training as times.
_TIMES = ("step_time", "interval_time", "time_per_work", "elapsed", "timestamp")
#: Groups that place or read a line, and are no facts of a run.
_NO_FACTS = (
    *("epoch", "step", "first_step", "covers", "epoch_steps", "run_steps", "rank", "loss", "memory", "timestamp"),
    *("unit", "mark", "section", "track"),
)


def gives(parser: Parser) -> dict[str, list[str]]:
    """What logs of a parser may give: ``measured``, ``summary``, ``metrics`` and ``facts``, each a list of names."""
    steps = [pattern for pattern in parser.patterns if pattern.role == "step"]
    ends = [pattern for pattern in parser.patterns if pattern.role == "summary"]
    facts = [key for pattern in parser.patterns for key in _facts(pattern)]
    found = {
        "measured": [name for pattern in steps for value in pattern.values for name in _speeds(value)],
        "summary": [name for pattern in ends for value in pattern.values for name in _speeds(value)],
        "metrics": [name for pattern in (*steps, *ends) for name in _metrics(pattern)],
        "facts": [*facts, *parser.default],
    }
    return {part: list(dict.fromkeys(names)) for part, names in found.items()}


def _speeds(value: Value) -> Iterator[str]:
    if value.quantity == "rate":
        yield value.unit or "a rate in the unit that the line prints"
    elif value.quantity in _TIMES:
        yield "the moments of the lines" if value.quantity == "timestamp" else "the time of steps"


def _metrics(pattern: Pattern) -> Iterator[str]:
    for value in pattern.values:
        if value.quantity == "metric":
            yield value.metric or value.group
        elif value.quantity in ("time_to_train", "accuracy"):
            yield value.metric or value.quantity
    yield from (group for group in ("loss", "memory") if group in (*pattern.groups, *pattern.also_groups))


def _facts(pattern: Pattern) -> Iterator[str]:
    measured = {value.group for value in pattern.values}
    if pattern.role in ("step", "summary", "position", "metadata"):
        yield from (group for group in pattern.groups if group not in measured and group not in _NO_FACTS)
    yield from pattern.set


def meaning(value: Value) -> str:
    """What a number of a line is, in a sentence's part: ``step time ms, interval, of the rank``."""
    span = {"cumulative": f"cumulative since the {value.since}'s beginning", "window": f"window of {value.window}"}
    whose = "of whom no line says" if value.scope == "unknown" else f"of the {value.scope}"
    return (
        f"{value.quantity.replace('_', ' ')} {value.unit}".rstrip() + f", {span.get(value.span, value.span)}, {whose}"
    )


def describe_parser(parser: Parser) -> str:
    """A parser as a page of text."""
    lines = [
        f"{parser.name}: {parser.title}",
        f"  source     {parser.source}",
        f"  framework  {parser.framework or '-'}",
        *(f"  {part:<9}  {', '.join(names)}" for part, names in gives(parser).items() if names),
        f"  priority   {parser.priority}",
        f"  file       {parser.file}",
    ]
    for pattern in parser.patterns:
        lines.append(f"{pattern.name} ({pattern.role}), literal {pattern.literal!r}")
        lines += [f"  {value.group}: {meaning(value)}" for value in pattern.values]
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
