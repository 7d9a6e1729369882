"""Whether what a parser's file says makes sense: what passes here can be measured, whatever its lines print.

A function for each key that has something to check; :mod:`perflog.formats.language` names it where it declares the key.
The types of the keys are checked before (:mod:`perflog.formats.toml`), the sample lines after
(:mod:`perflog.matching.checks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from perflog.formats.printed import is_time, is_work, rate_unit
from perflog.formats.toml import near
from perflog.formats.vocabulary import STEP_PARTS, misfit

if TYPE_CHECKING:
    from perflog.formats.language import PatternKeys
    from perflog.formats.parser import Parser, Pattern, Value

#: Groups whose last value is a metric of the run.
LAST_GROUPS = ("loss", "memory")
#: The group of a metadata line that opens a section of a configuration, with its name.
SECTION = "section"
#: The group of a metadata line that tells over how many steps a mean looks back.
WINDOW_SIZE = "window_size"
#: Named groups with a fixed meaning; every other group must be named by a value or be metadata.
RESERVED_GROUPS = frozenset(
    {"epoch", "step", "first_step", "epoch_steps", "run_steps", "covers", "rank", "loss", "memory", "timestamp", "unit",
     "global_batch_size", "value", "devices", "nodes", "batch_size", "mark"}
)  # fmt: skip
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


# ----------------------------------------------------------------------------------------------------
# Keys of a value.


def of_group(pattern: Pattern, value: Value) -> Faults:
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


def of_metric(pattern: Pattern, value: Value) -> Faults:
    if value.quantity == "metric" and not value.metric:
        yield "quantity 'metric' needs metric = \"<its name>\""
    if value.metric and value.quantity != "metric" and pattern.role != "summary":
        yield f"metric = {value.metric!r}: read of a value with quantity 'metric', and in a pattern with role summary"
    if value.metric in STEP_PARTS:
        yield from _of_part(pattern, value)
    if value.metric in _OWN_METRICS:
        yield f"metric = {value.metric!r}: perflog makes a metric of this name itself; choose another"


def _of_part(pattern: Pattern, value: Value) -> Faults:
    """A part of a step's time stands beside that time, and means the same steps in the same unit."""
    wholes = [other for other in pattern.values if other.quantity in MEASURING]
    if [whole.quantity for whole in wholes] != ["step_time"]:
        yield f"metric = {value.metric!r}: a part of a step's time stands beside one value of quantity 'step_time'"
    elif (value.span, value.window, value.window_from) != (wholes[0].span, wholes[0].window, wholes[0].window_from):
        yield f"span = {value.span!r}: {value.metric!r} is of the steps that {wholes[0].group!r} is of, its whole"
    elif value.unit not in ("", "s") or wholes[0].unit not in ("", "s"):
        yield f"unit = {value.unit!r}: {value.metric!r} and {wholes[0].group!r}, whose part it is, are in seconds"


def of_definition(_pattern: Pattern, value: Value) -> Faults:
    if value.definition and not value.metric:
        yield 'definition: only a metric has one; name it with metric = "<its name>"'


def of_span(pattern: Pattern, value: Value) -> Faults:
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


def of_since(_pattern: Pattern, value: Value) -> Faults:
    if value.since == "epoch" and value.span not in ("cumulative", "window", "interval"):
        yield "since = 'epoch': only a mean over several steps may begin anew with the epoch"
    if value.since == "start" and value.span != "cumulative":
        yield "since = 'start': only a cumulative value counts from the start of the process"


def of_offset(_pattern: Pattern, value: Value) -> Faults:
    if value.offset and value.span != "cumulative":
        yield f"offset = {value.offset}: only a cumulative value leaves steps out"


def of_plus(pattern: Pattern, value: Value) -> Faults:
    for group in value.plus:
        if group not in pattern.groups:
            known = f"(groups: {', '.join(pattern.groups)}){near(group, pattern.groups)}"
            yield f"plus names {group!r}, which is not a named group of the regex {known}"


def of_window(_pattern: Pattern, value: Value) -> Faults:
    if value.window_from and (value.span != "window" or value.window_from != WINDOW_SIZE):
        yield f"window_from = {value.window_from!r}: a value with span 'window' takes its length from {WINDOW_SIZE!r}"


def of_pauses(_pattern: Pattern, value: Value) -> Faults:
    if value.holds_pauses and value.span in ("window", "run"):
        yield "holds_pauses: a step or a mean holds them; of a mean over a window or the run they cannot be taken out"


def of_amount(pattern: Pattern, value: Value) -> Faults:
    if value.amount and value.amount not in pattern.groups:
        yield f"amount = {value.amount!r}: not a named group of the regex{near(value.amount, pattern.groups)}"


def of_unit(pattern: Pattern, value: Value) -> Faults:
    if value.quantity in TIMES and value.unit and not is_time(value.unit):
        yield f"unit = {value.unit!r}: expected a time: s, ms, us, ns, min or h"
    if value.quantity == "rate" and value.unit and rate_unit(value.unit) is None:
        yield f"unit = {value.unit!r}: expected work per time, such as images/s or Ktokens/s"
    if value.quantity == "rate" and not value.unit and "unit" not in pattern.groups:
        yield "unit is missing: a rate needs unit = \"images/s\", or a group named 'unit' that reads it from the line"
    if value.quantity == "samples" and value.unit and not is_work(value.unit):
        yield f"unit = {value.unit!r}: expected work, such as samples or tokens"


# ----------------------------------------------------------------------------------------------------
# Keys of a pattern.


def of_values(_parser: Parser, pattern: Pattern) -> Faults:
    groups = [value.group for value in pattern.values]
    for group in dict.fromkeys(groups):
        if groups.count(group) > 1:
            yield f"two values are of group '{group}'; a group has one meaning"


def of_literal(_parser: Parser, pattern: Pattern) -> Faults:
    if "\n" in pattern.literal or "\r" in pattern.literal:
        yield "literal: a match never crosses a line; take a part of one line"


def of_regex(parser: Parser, pattern: Pattern) -> Faults:
    """Each group means something, and what a line of the role must tell is there."""
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
    if parser.name == _FAILURES and pattern.role != "ignore" and _FAILURE not in pattern.groups:
        yield f"a pattern of {_FAILURES} says why a training failed: expected a group named '{_FAILURE}' in the regex"


def of_also(_parser: Parser, pattern: Pattern) -> Faults:
    read = set(pattern.also_groups)
    if pattern.also and (not read or read - set(LAST_GROUPS)):
        yield f"'also' reads {' and '.join(LAST_GROUPS)} of a pattern with role step, nothing else"
    if read & set(pattern.groups):
        yield f"'also' reads {', '.join(sorted(read & set(pattern.groups)))}, which the regex reads already"


def numbered_by_position(table: PatternKeys) -> str:
    """Why the pattern's own ``step_base`` is not read: its lines print no step, and another pattern's lines do."""
    return "" if "(?P<step>" in table.regex else _counted_elsewhere(table)


def counted_by_position(table: PatternKeys) -> str:
    """Why the pattern's own ``step_per`` is not read."""
    return "a clock that restarts counts each epoch" if table.restarts else _counted_elsewhere(table)


def _counted_elsewhere(table: PatternKeys) -> str:
    other = table.position or table.block
    if not other or table.role == "position":  # the steps that a position pattern places are counted as it says
        return ""
    return f"steps are counted as pattern {other!r} says; write it there"


def of_position(parser: Parser, pattern: Pattern) -> Faults:
    if not pattern.position:
        return
    roles = _roles(parser)
    above = next((other for other in parser.patterns if other.name == pattern.position), None)
    if pattern.role == "position" and above is not None and ("epoch" not in above.groups or above.position):
        yield f"position = {pattern.position!r}: a position takes its epoch from a line that tells the epoch itself"
    elif above is None:
        hint = near(pattern.position, roles)
        yield f"takes its position from '{pattern.position}', which is not a pattern of this file{hint}"
    elif above.role != "position":
        yield f"takes its position from '{pattern.position}', which has role {above.role}, not position"


def of_position_once(_parser: Parser, pattern: Pattern) -> Faults:
    if pattern.position_once and not pattern.position:
        yield 'position_once: no position is named; add position = "<the name of a pattern with role position>"'


def of_block(parser: Parser, pattern: Pattern) -> Faults:
    if pattern.block and _roles(parser).get(pattern.block) != "position":
        yield f"block = {pattern.block!r}: expected the name of a pattern of this file with role position"
    if pattern.block and pattern.position:
        yield "block, position: a part of a record takes its position from the record's head; name one of them"


def _roles(parser: Parser) -> dict[str, str]:
    return {other.name: other.role for other in parser.patterns}


def names_lines(key: str) -> Callable[[Parser, Pattern], Faults]:
    """The check of a key that names patterns whose lines say whether others count."""

    def check(parser: Parser, pattern: Pattern) -> Faults:
        roles = _roles(parser)
        for name in (name for both in getattr(pattern, key) for name in both.split("+")):
            if roles.get(name) not in ("metadata", "ignore"):
                yield f"{key}: {name!r} is not a pattern of this file with role metadata or ignore{near(name, roles)}"

    return check


def of_never_with(parser: Parser, pattern: Pattern) -> Faults:
    yield from names_lines("never_with")(parser, pattern)
    if pattern.role == "metadata" and any(_roles(parser)[name] != "metadata" for name in pattern.never_with):
        yield "never_with: a fact is ruled out by patterns with role metadata"


def of_ticks_told_by(parser: Parser, pattern: Pattern) -> Faults:
    yield from names_lines("ticks_told_by")(parser, pattern)
    if pattern.ticks_told_by and "step" not in pattern.groups:
        yield "ticks_told_by: a group 'step' counts the ticks of a bar; this pattern has none"


def of_only_with(parser: Parser, pattern: Pattern) -> Faults:
    yield from names_lines("only_with")(parser, pattern)
    if pattern.only_with and not pattern.track:
        yield "only_with: chooses among the bars of a track, and this pattern has none; did you mean told_by?"


def of_track(_parser: Parser, pattern: Pattern) -> Faults:
    if pattern.track and pattern.track not in pattern.groups:
        yield f"track = {pattern.track!r}: not a named group of the regex{near(pattern.track, pattern.groups)}"


def of_clock(_parser: Parser, pattern: Pattern) -> Faults:
    clocks = [value for value in pattern.values if value.quantity == "elapsed"]
    if (pattern.restarts or pattern.first_is_start) and not clocks:
        yield "restarts, first_is_start: no value is a clock (quantity 'elapsed')"


def of_assumption(_parser: Parser, pattern: Pattern) -> Faults:
    if bool(pattern.assumed_covers) != bool(pattern.assumption):
        yield "assumed_covers, assumption: a number of steps that no line says needs a sentence that says so"


def of_step_counts(_parser: Parser, pattern: Pattern) -> Faults:
    counters = [value for value in pattern.values if value.quantity == "samples" and value.span == "cumulative"]
    if pattern.step_counts == "samples" and (not counters or "step" in pattern.groups):
        yield "step_counts = 'samples': steps follow from a value of quantity 'samples' and span 'cumulative' alone"


def of_ends_epoch(_parser: Parser, pattern: Pattern) -> Faults:
    if pattern.ends_epoch and ("epoch" not in pattern.groups or pattern.step_per == "epoch"):
        yield "ends_epoch: a line at the end of each epoch needs the group epoch; a step beside it is one of the run"


def of_step_rounded(_parser: Parser, pattern: Pattern) -> Faults:
    if pattern.step_rounded and pattern.forms.get("step") != "scaled":
        yield 'step_rounded: a counter in whole thousands needs scaled = ["step"]'


def of_scaled(_parser: Parser, pattern: Pattern) -> Faults:
    for group in pattern.forms:
        if group not in pattern.groups:
            yield f"scaled: {group!r} is not a named group of the regex{near(group, pattern.groups)}"


def of_event(_parser: Parser, pattern: Pattern) -> Faults:
    if pattern.role == "event" and not pattern.event:
        yield "event is missing: expected one of run_start, run_stop, run_failed"


def of_map(_parser: Parser, pattern: Pattern) -> Faults:
    for key in pattern.map:
        if key not in pattern.groups:
            groups = ", ".join(pattern.groups)
            yield f"map.{key}: not a named group of the regex (groups: {groups}){near(key, pattern.groups)}"
        yield from misfits("map", ((key, word) for word in pattern.map[key].values()))


def of_set(_parser: Parser, pattern: Pattern) -> Faults:
    yield from misfits("set", pattern.set.items())


def misfits(where: str, facts: Iterable[tuple[str, str]]) -> Faults:
    """The facts of a file that do not fit their forms, so that no run would ever have them."""
    for key, word in facts:
        if expected := misfit(key, word):
            yield f"{where}.{key} = {word!r}: {expected}"


def of_section(parser: Parser, pattern: Pattern) -> Faults:
    openers = [other for other in parser.patterns if other.role == "metadata" and SECTION in other.groups]
    if pattern.section and not openers:
        yield f"section = {pattern.section!r}: no pattern with role metadata has a group named '{SECTION}'"
