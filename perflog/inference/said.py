"""A log's tables as the user says them (``--as``), and the line to paste where a log leaves open what numbers mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perflog.formats.line import Said, Token, plain_text
from perflog.inference.columns import Columns, columns_of, columns_with
from perflog.inference.formats import Value, plain_pattern, with_total
from perflog.inference.measures import Kind, Meaning, key_of
from perflog.inference.pairs import Pair
from perflog.lazy_regex import lazy_regex
from perflog.matching.tables import Table

_KINDS: Mapping[str, Kind] = {
    "step": "step", "epoch": "epoch", "rate": "rate", "step_time": "duration", "interval_time": "duration",
    "elapsed": "elapsed",
}  # fmt: skip
#: So many tables are looked at for the line that fits farthest, and so many keys are named.
_MOST = 40
_SHOWN = 24


class SaidTable(Struct, frozen=True):
    """A table that fits what a user says.

    Attributes:
        values: what its numbers are, where the user says of which steps all of them are; ``why``: why they are none.
        total: how many steps its bar has, where that tells it from others.
    """

    table: Table
    columns: Columns
    values: tuple[Value, ...] = ()
    why: str = ""
    total: str = ""


def said_tables(tables: Sequence[Table], said: Said) -> list[SaidTable]:
    """The tables that fit what a user says, those with most rows first."""
    if said.bar:
        return [one for bar in bars_of(tables) if (one := _said_bar(bar, said.bar)) is not None]
    fitting = [(table, places) for table in tables if (places := _places(table, said)) is not None]
    return [_said_table(table, said, places) for table, places in fitting]


def _places(table: Table, said: Said) -> tuple[int, ...] | None:
    """The places of what is said in a table, in the order of the tokens; None where the table does not fit."""
    of_line: list[int] = []
    if said.line:
        row = table.row(0)
        fit = said.fit(row)
        if fit.parts < len(said.line):
            return None
        begins = {table.offsets(place)[0]: place for place in range(len(table.kinds))}
        starts = [len(row[:start].encode()) for start in fit.starts]
        if not begins.keys() >= set(starts):
            return None
        of_line = [begins[start] for start in starts]
    keys = _keys(table)
    if not all(token.key in keys for token in said.keys):
        return None
    return (*of_line, *(keys[token.key] for token in said.keys))


def _keys(table: Table) -> dict[str, int]:
    """The places of a table's numbers by the words before them, and by the last of these."""
    keys: dict[str, int] = {}
    for place, kind in enumerate(table.kinds):
        key = key_of(table.words[place])[0] if kind in ("number", "clock") else ""
        for name in (key, key.rpartition(" ")[2]):
            if name:
                keys.setdefault(name, place)
    return keys


def _said_table(table: Table, said: Said, places: Sequence[int]) -> SaidTable:
    own = columns_of(table)
    told = [(token, _meaning(table, own, token, place)) for token, place in zip(said.tokens, places, strict=True)]
    columns = columns_with(table, own, [meaning for _, meaning in told])
    if columns.step is None:
        return SaidTable(table, columns, why="no column of the line that --as says counts steps: say which, as {step}")
    measures = [(token, meaning) for token, meaning in told if meaning.kind in ("rate", "duration")]
    unknown = next((token.name for token, meaning in measures if not meaning.unit), "")
    if unknown:
        example = f"{{{unknown}:{'samples/s' if unknown == 'rate' else 'ms'}}}"
        return SaidTable(table, columns, why=f"no line says the unit of {unknown}: say it in --as, such as {example}")
    values = [
        Value(meaning, token.name, token.span or "interval") for token, meaning in measures
        if token.span or token.name == "interval_time"
    ]  # fmt: skip
    if len(values) < len(measures):
        return SaidTable(table, columns)  # of which steps the others are, the log must show
    elapsed = columns.of_kind("elapsed") if any(token.name == "elapsed" for token in said.tokens) else []
    values += [Value(meaning, "elapsed", "cumulative") for meaning in elapsed]
    return SaidTable(table, columns, tuple(values))


def _meaning(table: Table, own: Columns, token: Token, place: int) -> Meaning:
    """A token as the meaning of a column; a unit that is not said is the log's."""
    by_log = next((meaning for meaning in own.measures if meaning.place == place), None)
    kind = _KINDS[token.name]
    same = by_log is not None and by_log.kind == kind
    unit = token.unit or (by_log.unit if by_log is not None and same else "")
    if kind == "elapsed" and not unit:
        unit = "clock" if table.kinds[place] == "clock" else "s"
    is_devices = token.is_devices or (by_log is not None and same and by_log.scope == "device")
    steps = 1 if token.name == "step_time" else 0
    return Meaning(place, kind, unit, "device" if is_devices else "job", steps, key=key_of(table.words[place])[0])


#: What the rate of a bar says that it counts, and what that is where it is steps.
_UNIT = lazy_regex(r"[0-9?] ?([A-Za-z]+)/s(?![A-Za-z])|[0-9?] ?m?s/([A-Za-z]+)")
_OF_STEPS = lazy_regex("(?:it|iter|iteration|step|batch|ba|b|mini-?batch|update)(?:e?s)?", re.I)


class Bar(Struct, frozen=True):
    """Lines that draw a progress bar: its name, and where its steps, their total and the time since its start stand.

    ``clock``: -1 where it tells none.
    """

    table: Table
    name: str
    step: int
    total: int
    clock: int

    @property
    def totals(self) -> list[str]:
        """The totals of the bars that are drawn so, each once."""
        return list(dict.fromkeys(self.table.column(self.total).texts))


def bars_of(tables: Sequence[Table]) -> list[Bar]:
    """The tables whose lines draw a bar of so many steps."""
    return [bar for table in tables if (bar := _bar_of(table)) is not None]


def _bar_of(table: Table) -> Bar | None:
    kinds = table.kinds
    begin = kinds.index("bar") if "bar" in kinds else next((n for n, w in enumerate(table.words) if w[:1] == "%"), -1)
    beside = begin - 2 if begin > 1 and table.words[begin - 1].strip() == "/" else begin + 1  # 60/195 [====>....]
    step = next((n for n in range(max(beside, 0), len(kinds) - 1) if table.words[n + 1].strip() == "/"), -1)
    if begin < 0 or step < 0 or kinds[step : step + 2] != ("number", "number"):
        return None
    clock = next((n for n in range(step + 2, len(kinds)) if kinds[n] == "clock"), -1)
    return Bar(table, _name_of(table), step, step + 1, clock)


def _name_of(table: Table) -> str:
    """The name of the bar that a table's lines draw: the words before it."""
    begin = table.kinds.index("bar") if "bar" in table.kinds else len(table.kinds)
    behind = next((n for n in range(min(begin + 1, len(table.kinds))) if table.words[n + 1].lstrip()[:1] == "%"), begin)
    return "".join(table.words[: behind + 1]).strip(" \t:|-")


def other_unit(table: Table) -> str:
    """What a bar says that it counts, where that is no steps; else empty."""
    unit = _UNIT.search(table.row(0))
    said = "" if unit is None else unit[1] or unit[2]
    return "" if _OF_STEPS.fullmatch(said) else said


def _said_bar(bar: Bar, said: str) -> SaidTable | None:
    """A bar as the training's, where it has the name or the total that a user says."""
    table, total = bar.table, ""
    if said.lower() != bar.name.lower():
        if said not in bar.totals:
            return None
        table, total = table.where(np.array([text == said for text in table.column(bar.total).texts])), said
    clock = Meaning(bar.clock, "elapsed", "clock")
    columns = columns_with(table, columns_of(table), [Meaning(bar.step, "step"), clock])
    columns = replace(columns, total=bar.total, is_bar=True)
    if other := other_unit(table):
        return SaidTable(table, columns, why=f"the bar {said} counts {other} and no steps")
    if bar.clock < 0:
        return SaidTable(table, columns, why=f"the bar {said} tells no time since its start")
    return SaidTable(table, columns, (Value(replace(clock, key=f"bar {said}"), "elapsed", "cumulative"),), total=total)


def other_bars(tables: Sequence[Table], own: Table, own_total: str) -> list[dict[str, Any]]:
    """Patterns of the bars that are not the training's: where one begins, something else happens.

    A pattern that the training's own lines would fit is left out.
    """
    row, patterns, name = own.row(0), list[dict[str, Any]](), _name_of(own)
    for bar in bars_of(tables):
        groups = {bar.step: "step", bar.total: "run_steps"}
        is_own = bar.table.outline == own.outline
        totals = [total for total in bar.totals if total != own_total]
        if (is_own and not (own_total and totals)) or (not is_own and bar.name == name and not totals):
            continue
        table = bar.table.where(np.isin(bar.table.column(bar.total).texts, totals)) if is_own else bar.table
        pattern = plain_pattern(table, groups, f"bar_{len(patterns) + 1}", "ignore")
        if pattern is not None and is_own:
            pattern["regex"] = with_total(pattern["regex"], "|".join(totals))
        if pattern is not None and _fits(pattern) and not re.search(pattern["regex"], row):
            patterns.append(pattern)
    return patterns[:_MOST]


def _fits(pattern: Mapping[str, Any]) -> bool:
    """Whether a pattern fits its own sample: counts in thousands (``440M/440M``) are no steps."""
    return re.search(pattern["regex"], pattern["sample"][0]["line"]) is not None


def why_none(tables: Sequence[Table], said: Said) -> str:
    """Why no table fits what a user says: the line that fits farthest and the column where it stops, or the keys."""
    if said.bar:
        known = dict.fromkeys(name for bar in bars_of(tables) for name in (bar.name, *bar.totals) if name)
        names = f"; there are {', '.join(list(known)[:_MOST])}" if known else "; the log draws none of known steps"
        return f"no bar is called {said.bar!r} or has that total, as --as says{names}"
    if said.line:
        able = [(said.fit(table.row(0)), table) for table in tables[:_MOST]]
        fit, table = max(able, key=lambda one: one[0].parts, default=(None, None))
        if fit is None or table is None or fit.parts == 0:
            return "no line fits what --as says, from its first word on"
        if fit.parts < len(said.line):
            row, part = table.row(0), said.line[fit.parts]
            expected = f"a number for {{{part}}}" if isinstance(part, Token) else repr(part)
            return (
                f"no line fits what --as says: line {int(table.lines[0])} does up to column {fit.end}, where "
                f"{expected} is expected and {row[fit.end : fit.end + _SHOWN]!r} found"
            )
    known = dict.fromkeys(key for table in tables[:_MOST] for key in _keys(table) if " " not in key)
    missing = next((token.key for token in said.keys if token.key not in known), "")
    if missing:
        names = ", ".join(list(known)[:_MOST])
        return f"no number stands behind {missing!r}, which --as says{f'; there are {names}' if names else ''}"
    return "no line holds all that --as says as numbers of their own"


def to_paste(table: Table, tokens: Mapping[int, Token]) -> str:
    """The option that says what a table's numbers are, to be pasted behind a command: by their keys in rows and JSON.

    Args:
        tokens: by their places in the line. Of a record of two lines no option says it, and the answer is a format's.
    """
    if isinstance(table, Pair):
        return "a format (`perflog parsers new`)"
    keys = {place: key_of(table.words[place])[0].rpartition(" ")[2] for place in tokens}
    if (table.words[0].startswith("row ") or '"' in table.text) and all(keys.values()):
        return " ".join(f"--as {quote(f'{token}={keys[place]}')}" for place, token in tokens.items())
    line, between = "", ""
    for place in range(max(tokens) + 1):
        between += table.words[place]
        if place in tokens:
            line, between = f"{line}{plain_text(between)}{{{tokens[place]}}}", ""
        else:
            between += table.column(place).texts[0]
    behind = re.match(r"\s?[^\s,;|]*", table.words[max(tokens) + 1])
    line += plain_text(behind[0] if behind else "")
    return f"--as {quote(line.strip())}"
