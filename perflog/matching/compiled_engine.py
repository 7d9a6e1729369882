"""The compiled engine: patterns as rules of the scanner in C, and what it found as matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perflog.errors import ParserError
from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern
from perflog.matching.columns import with_numbers
from perflog.matching.compiled import (
    CUT,
    DIRTY,
    NO_LINE_END,
    Found,
    GroupKind,
    Kind,
    Program,
    Role,
    Rule,
    RuleError,
    Scan,
    ScanError,
    cleaned,
)
from perflog.matching.matches import NO_OFFSETS, UNIT, Batch, Ints, Matches, Samples, Texts, in_turn, is_text, joined
from perflog.matching.sampling import Sampling

ROLES: dict[str, Role] = {"metadata": "metadata", "ignore": "ignore", "position": "position"}


class CompiledEngine:
    """Finds all patterns of a catalogue in one pass over every byte."""

    def __init__(self, catalog: Catalog) -> None:
        self._patterns = in_turn(catalog)
        self._turn = {pattern.key: turn for turn, pattern in enumerate(self._patterns)}
        numbers = {parser.name: number for number, parser in enumerate(catalog.parsers)}
        priority = {parser.name: parser.priority for parser in catalog.parsers}
        rules = [_rule(p, numbers[p.parser], priority[p.parser]) for p in self._patterns]
        self.program = Program(rules)

    def dump(self, file: Path) -> None:
        """Write the rules as the scanner reads them, for ``tests/tools/scan_fuzz.c``."""
        self.program.dump(file)

    def match(self, texts: Sequence[bytes], at_end: bool) -> Batch:
        """See :class:`perflog.matching.matches.Engine`."""
        batch, dirty = self._matched(texts, at_end, cleaned=False)
        if len(dirty):
            clean = [cleaned(texts[text]) for text in dirty.tolist()]
            again = self._matched(clean, at_end, cleaned=True)[0]
            batch = again if len(dirty) == len(texts) else self._with(batch, again, dirty)
        return batch

    def _matched(self, texts: Sequence[bytes], at_end: bool, cleaned: bool) -> tuple[Batch, Ints]:
        """(the matches in the texts, those texts that have none yet because they need cleaning)."""
        scan = self._scan(texts, at_end, cleaned)
        lines = scan.line_feeds + ((scan.flags & NO_LINE_END) != 0)
        batch = Batch([self._matches(found, texts) for found in scan.found], lines, (scan.flags & CUT) != 0)
        return batch, np.flatnonzero(scan.flags & DIRTY)

    def _with(self, batch: Batch, other: Batch, numbers: Ints) -> Batch:
        """A batch with the matches in some more of its texts."""
        both = joined(batch, other, numbers)
        in_turn_order = sorted(both.matches, key=lambda matches: self._turn[matches.pattern.key])
        return Batch(in_turn_order, both.lines, both.cut)

    def _scan(self, texts: Sequence[bytes], at_end: bool, cleaned: bool) -> Scan:
        given = (texts.buffer, texts.ends) if isinstance(texts, Texts) else texts
        try:
            return self.program.scan(given, at_end, cleaned)
        except (RuleError, ScanError) as error:
            name = self._patterns[error.rule].key if error.rule >= 0 else "the scanner"
            raise ParserError(f"{name}: its regex cannot be used: {error.message}") from None

    def _matches(self, found: Found, texts: Sequence[bytes]) -> Matches:
        pattern = self._patterns[found.rule]
        measures = pattern.role in ("step", "position")
        if not len(found):  # of most patterns whose literal occurs
            columns: dict[str, Any] = {**found.numbers, **{group: [] for group in found.strings}}
            return Matches(pattern, NO_OFFSETS, NO_OFFSETS, NO_OFFSETS, columns, candidates=found.candidates)
        owner = found.text.astype(np.int64)
        columns = {**found.numbers, **{group: found.text_column(group) for group in found.strings}}
        units: dict[int, set[str]] = {}
        for text, unit in found.units.get(UNIT, ()):
            units.setdefault(text, set()).add(unit)
        samples: Mapping[int, Samples] = {}
        if measures:
            columns = with_numbers(pattern, columns)
            samples = Sampling(owner, found.line, found.rank, found.offset, columns, texts)
        return Matches(
            pattern,
            owner,
            found.line,
            found.rank,
            columns,
            {text: frozenset(printed) for text, printed in units.items()},
            found.candidates,
            samples,
            found.offset,
        )


def _rule(pattern: Pattern, parser: int, priority: int) -> Rule:
    groups = tuple((group, _kind(pattern, group)) for group in pattern.groups)
    kind: Kind = "line" if pattern.tail is None else "tail"
    regex, jump, tail = pattern.tail if pattern.tail is not None else pattern.regex, b"", ""
    if pattern.jump is not None:
        kind, regex = "jump", pattern.jump.head
        jump, tail = pattern.jump.literal.encode(), pattern.jump.tail
    return Rule(
        literal=pattern.literal.encode(),
        parser=parser,
        priority=priority,
        role=ROLES.get(pattern.role, "other"),
        kind=kind,
        regex=regex,
        groups=groups,
        jump=jump,
        tail=tail,
        also=pattern.also,
        also_groups=pattern.also_groups,
    )


def _kind(pattern: Pattern, group: str) -> GroupKind:
    if not is_text(pattern, group):
        return "number"
    if pattern.role not in ("step", "position"):
        return "text"
    if group == UNIT or group not in pattern.forms:
        return "unit" if group == UNIT else "text"
    return "clock" if pattern.forms[group] == "clock" else "scaled"
