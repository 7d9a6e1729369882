"""Whether what a parser's file says makes sense: what passes here can be measured, whatever its lines print.

The types of the keys are checked before (:mod:`perflog.formats.toml`), the sample lines after
(:mod:`perflog.matching.checks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from perflog.errors import ParserError
from perflog.formats.parser import LAST_GROUPS, RESERVED_GROUPS, SECTION, WINDOW_SIZE, Parser, Pattern, Value
from perflog.formats.printed import is_time, is_work, rate_unit
from perflog.formats.toml import near
from perflog.formats.vocabulary import misfit

#: Quantities that measure a step, and those whose unit is a time's.
MEASURING = frozenset({"rate", "step_time", "interval_time", "elapsed", "timestamp"})
TIMES = frozenset({"step_time", "interval_time", "elapsed", "timestamp", "time_to_train"})
#: Over what a quantity can be a mean; any span for those not named.
_SPANS = {
    "interval_time": ("interval", "last"),
    "elapsed": ("interval", "cumulative"),
    "timestamp": ("interval", "cumulative"),
}
#: Reserved groups that a value may say more about: of a moment its unit, of the others nothing.
_VALUED = frozenset({"timestamp", "value"})
#: Metrics that perflog makes itself.
_OWN_METRICS = frozenset({"throughput", "step_time"})
#: The parser of the lines that `perflog run` writes below a training that failed, and the group of its reason.
_FAILURES, _FAILURE = "perflog_run", "failure"

Faults = Iterator[str]


def check_meaning(parser: Parser) -> None:
    """Check a parser.

    Raises:
        ParserError: with the file, the pattern and the key that makes no sense, and what would.
    """
    names = [pattern.name for pattern in parser.patterns]
    for pattern in parser.patterns:
        if names.count(pattern.name) > 1:
            raise ParserError(f"{parser.file}: two patterns are named '{pattern.name}'; names must differ")
        for check in _CHECKS:
            for fault in check(parser, pattern):
                raise ParserError(f"{parser.file}: pattern {pattern.name!r}: {fault}")
    for fault in _misfits("default", parser.default.items()):
        raise ParserError(f"{parser.file}: {fault}")


def _of_literal(_parser: Parser, pattern: Pattern) -> Faults:
    if "\n" in pattern.literal or "\r" in pattern.literal:
        yield "literal: a match never crosses a line; take a part of one line"


def _of_values(_parser: Parser, pattern: Pattern) -> Faults:
    for number, value in enumerate(pattern.values):
        if value.group in [other.group for other in pattern.values[:number]]:
            yield f"two values are of group '{value.group}'; a group has one meaning"
        for check in (_group_of, _metric_of, _span_of, _rules_of, _unit_of):
            for fault in check(pattern, value):
                yield f"value {value.group!r}: {fault}"


def _group_of(pattern: Pattern, value: Value) -> Faults:
    if value.group not in pattern.groups:
        yield f"not a named group of the regex (groups: {', '.join(pattern.groups)}){near(value.group, pattern.groups)}"
    elif value.group in RESERVED_GROUPS - _VALUED:
        yield "a group of this name has a fixed meaning already; give the group another name"
    elif value.group == "timestamp" and value.quantity != "timestamp":
        yield f"quantity = {value.quantity!r}: a group named 'timestamp' is a moment; give the group another name"
    elif pattern.role in ("event", "position") and value.quantity != "timestamp":
        yield f"quantity = {value.quantity!r}: a pattern with role {pattern.role} has no value but a timestamp"
    elif pattern.role in ("metadata", "ignore"):
        yield f"a pattern with role {pattern.role} has no values"


def _metric_of(_pattern: Pattern, value: Value) -> Faults:
    if value.quantity == "metric" and not value.metric:
        yield "quantity 'metric' needs metric = \"<its name>\""
    if value.definition and not value.metric:
        yield 'definition: only a metric has one; name it with metric = "<its name>"'
    if value.metric in _OWN_METRICS:
        yield f"metric = {value.metric!r}: perflog makes a metric of this name itself; choose another"


def _span_of(pattern: Pattern, value: Value) -> Faults:
    if (value.span == "window") != (value.window > 0):
        yield (
            f"span = {value.span!r}, window = {value.window}: "
            "span 'window' needs the number of its steps (window = 20), no other has one"
        )
    if value.span not in _SPANS.get(value.quantity, (value.span,)) and pattern.role != "summary":
        spans = ", ".join(_SPANS[value.quantity])
        yield f"span = {value.span!r}: expected one of {spans} for quantity '{value.quantity}'"
    if value.span == "run" and pattern.role == "step":
        yield "span = 'run': a value of the whole run stands in a pattern with role summary"
    if value.since == "epoch" and value.span not in ("cumulative", "window", "interval"):
        yield "since = 'epoch': only a mean over several steps may begin anew with the epoch"
    if value.since == "start" and value.span != "cumulative":
        yield "since = 'start': only a cumulative value counts from the start of the process"
    if value.offset and value.span != "cumulative":
        yield f"offset = {value.offset}: only a cumulative value leaves steps out"


def _rules_of(pattern: Pattern, value: Value) -> Faults:
    if value.window_from and (value.span != "window" or value.window_from != WINDOW_SIZE):
        yield f"window_from = {value.window_from!r}: a value with span 'window' takes its length from {WINDOW_SIZE!r}"
    means = ("step_time", "interval_time", "rate")
    if value.holds_pauses and (value.span in ("window", "run") or value.quantity not in means):
        yield "holds_pauses: a step or a mean holds them; of a mean over a window or the run they cannot be taken out"
    if value.amount and not value.inverse:
        yield "amount: only a time per work (quantity 'time_per_work') is of an amount of it"
    if value.amount and value.amount not in pattern.groups:
        yield f"amount = {value.amount!r}: not a named group of the regex{near(value.amount, pattern.groups)}"
    if value.partial and value.quantity != "samples":
        yield "partial: only work of a step (quantity 'samples') tells whether a record is whole"


def _unit_of(pattern: Pattern, value: Value) -> Faults:
    if value.quantity in TIMES and value.unit and not is_time(value.unit):
        yield f"unit = {value.unit!r}: expected a time: s, ms, us, ns, min or h"
    if value.quantity == "rate" and value.unit and rate_unit(value.unit) is None:
        yield f"unit = {value.unit!r}: expected work per time, such as images/s or Ktokens/s"
    if value.quantity == "rate" and not value.unit and "unit" not in pattern.groups:
        yield "unit is missing: a rate needs unit = \"images/s\", or a group named 'unit' that reads it from the line"
    if value.quantity == "samples" and value.unit and not is_work(value.unit):
        yield f"unit = {value.unit!r}: expected work, such as samples or tokens"


def _of_groups(_parser: Parser, pattern: Pattern) -> Faults:
    named = {value.group for value in pattern.values} | RESERVED_GROUPS
    named |= {group for value in pattern.values for group in (*value.plus, value.amount) if group}
    if pattern.role in ("step", "position", "summary"):
        for group in pattern.groups:
            if group not in named:
                yield f"nothing says what group '{group}' means; add a [[pattern.value]] for it, or write (?:…)"
    if pattern.role == "step" and not pattern.block and not any(v.quantity in MEASURING for v in pattern.values):
        quantities = ", ".join(sorted(MEASURING))
        yield f"role = 'step': no value measures; expected a [[pattern.value]] with quantity {quantities}"
    if pattern.role == "position" and not {"step", "epoch"} & set(pattern.groups):
        yield "role = 'position': expected a group named 'step' or 'epoch' in the regex"
    if pattern.role == "event" and "timestamp" not in pattern.groups:
        yield "role = 'event': expected a group named 'timestamp' in the regex"


def _of_also(_parser: Parser, pattern: Pattern) -> Faults:
    read = set(pattern.also_groups)
    if pattern.also and (pattern.role != "step" or not read or read - set(LAST_GROUPS)):
        yield f"'also' reads {' and '.join(LAST_GROUPS)} of a pattern with role step, nothing else"
    if read & set(pattern.groups):
        yield f"'also' reads {', '.join(sorted(read & set(pattern.groups)))}, which the regex reads already"


def _of_position(parser: Parser, pattern: Pattern) -> Faults:
    if pattern.position_once and not pattern.position:
        yield 'position_once: no position is named; add position = "<the name of a pattern with role position>"'
    if not pattern.position:
        return
    roles = {other.name: other.role for other in parser.patterns}
    above = next((other for other in parser.patterns if other.name == pattern.position), None)
    if pattern.role not in ("step", "position"):
        yield f"position: a pattern with role {pattern.role} has no measurements to place"
    elif pattern.role == "position" and above is not None and ("epoch" not in above.groups or above.position):
        yield f"position = {pattern.position!r}: a position takes its epoch from a line that tells the epoch itself"
    elif pattern.position not in roles:
        hint = near(pattern.position, roles)
        yield f"takes its position from '{pattern.position}', which is not a pattern of this file{hint}"
    elif roles[pattern.position] != "position":
        yield f"takes its position from '{pattern.position}', which has role {roles[pattern.position]}, not position"


def _of_block(parser: Parser, pattern: Pattern) -> Faults:
    if not pattern.block:
        return
    roles = {other.name: other.role for other in parser.patterns}
    if pattern.role != "step":
        yield f"block: a pattern with role {pattern.role} is no part of a record"
    elif roles.get(pattern.block) != "position":
        yield f"block = {pattern.block!r}: expected the name of a pattern of this file with role position"
    if pattern.position:
        yield "block, position: a part of a record takes its position from the record's head; name one of them"


def _of_other_lines(parser: Parser, pattern: Pattern) -> Faults:
    names = {other.name: other.role for other in parser.patterns}
    for key in ("only_with", "never_with", "told_by", "ticks_told_by"):
        for name in (name for both in getattr(pattern, key) for name in both.split("+")):
            if names.get(name) not in ("metadata", "ignore"):
                yield f"{key}: {name!r} is not a pattern of this file with role metadata or ignore{near(name, names)}"
    if pattern.role == "metadata" and any(names[name] != "metadata" for name in pattern.never_with):
        yield "never_with: a fact is ruled out by patterns with role metadata"
    if pattern.ticks_told_by and "step" not in pattern.groups:
        yield "ticks_told_by: a group 'step' counts the ticks of a bar; this pattern has none"
    if pattern.only_with and not pattern.track:
        yield "only_with: chooses among the bars of a track, and this pattern has none; did you mean told_by?"


def _of_marks(_parser: Parser, pattern: Pattern) -> Faults:
    if pattern.track and pattern.track not in pattern.groups:
        yield f"track = {pattern.track!r}: not a named group of the regex{near(pattern.track, pattern.groups)}"
    clocks = [value for value in pattern.values if value.quantity == "elapsed"]
    if (pattern.restarts or pattern.first_is_start) and not clocks:
        yield "restarts, first_is_start: no value is a clock (quantity 'elapsed')"
    if bool(pattern.assumed_covers) != bool(pattern.assumption):
        yield "assumed_covers, assumption: a number of steps that no line says needs a sentence that says so"
    counters = [value for value in pattern.values if value.quantity == "samples" and value.span == "cumulative"]
    if pattern.step_counts == "samples" and (not counters or "step" in pattern.groups):
        yield "step_counts = 'samples': steps follow from a value of quantity 'samples' and span 'cumulative' alone"
    if pattern.ends_epoch and ("epoch" not in pattern.groups or pattern.step_per == "epoch"):
        yield "ends_epoch: a line at the end of each epoch needs the group epoch; a step beside it is one of the run"
    if pattern.step_rounded and pattern.forms.get("step") != "scaled":
        yield 'step_rounded: a counter in whole thousands needs scaled = ["step"]'
    for group in pattern.forms:
        if group not in pattern.groups:
            yield f"scaled: {group!r} is not a named group of the regex{near(group, pattern.groups)}"


def _of_facts(_parser: Parser, pattern: Pattern) -> Faults:
    if pattern.role == "event" and not pattern.event:
        yield "event is missing: expected one of run_start, run_stop, run_failed"
    if pattern.role != "event" and pattern.event:
        yield f"event = {pattern.event!r}: only a pattern with role event has one"
    if pattern.role != "metadata" and (pattern.set or pattern.map or pattern.note):
        yield "set, map, note: only a pattern with role metadata gives facts"
    if pattern.role != "metadata" and any(sample.facts is not None for sample in pattern.samples):
        yield "sample: only a pattern with role metadata gives facts"
    for key in pattern.map:
        if key not in pattern.groups:
            groups = ", ".join(pattern.groups)
            yield f"map.{key}: not a named group of the regex (groups: {groups}){near(key, pattern.groups)}"
        yield from _misfits("map", ((key, word) for word in pattern.map[key].values()))
    yield from _misfits("set", pattern.set.items())


def _misfits(where: str, facts: Iterable[tuple[str, str]]) -> Faults:
    """The facts of a file that do not fit their forms, so that no run would ever have them."""
    for key, word in facts:
        if expected := misfit(key, word):
            yield f"{where}.{key} = {word!r}: {expected}"


def _of_speech(parser: Parser, pattern: Pattern) -> Faults:
    """When a fact counts: in the parser's own logs alone, where nothing surer is said, inside a section."""
    if pattern.role != "metadata" and (pattern.own or pattern.weak or pattern.section):
        yield "own, weak, section: only a pattern with role metadata gives facts"
    openers = [other for other in parser.patterns if other.role == "metadata" and SECTION in other.groups]
    if pattern.section and not openers:
        yield f"section = {pattern.section!r}: no pattern with role metadata has a group named '{SECTION}'"


def _of_failures(parser: Parser, pattern: Pattern) -> Faults:
    if parser.name == _FAILURES and pattern.role != "ignore" and _FAILURE not in pattern.groups:
        yield f"a pattern of {_FAILURES} says why a training failed: expected a group named '{_FAILURE}' in the regex"


_CHECKS: tuple[Callable[[Parser, Pattern], Faults], ...] = (
    _of_literal, _of_values, _of_groups, _of_also, _of_position, _of_block, _of_other_lines, _of_marks,
    _of_facts, _of_speech, _of_failures,
)  # fmt: skip


# ----------------------------------------------------------------------------------------------------
# A parser as a page of text, and as plain data.


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
