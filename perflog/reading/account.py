"""What a log says beside its measurements: facts, and how often each pattern occurred and matched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct, field

from perflog.formats.parser import Pattern
from perflog.matching.matches import Ints, Matches

#: Of one pattern's fact lines in a block, so many of the first and of the last are kept, beside all that can count.
FACTS_KEPT = 400


class LogFact(Struct):
    """A summary, event or metadata line: what it says and where."""

    pattern: Pattern
    line: int
    rank: int
    fields: dict[str, str]


class Account(Struct):
    """How often a pattern's literal was seen and its regex matched, and at which lines."""

    candidates: int = 0
    matches: int = 0
    first_line: int = 0
    last_line: int = 0


class Tried(Struct, frozen=True):
    """The patterns that were tried on a batch of texts.

    ``of_text``: for each text those that count there, with the bounds of each one's matches in it; generic ones do not
    count where a parser that is not generic measured something.
    """

    of_text: Sequence[Sequence[tuple[Matches, int, int]]]

    def on(self, text: int) -> Sequence[tuple[Matches, int, int]]:
        """The patterns that were tried on a text and count there, each with the bounds of its matches in it."""
        return self.of_text[text]


def facts_of(matches: Matches, first_line: int, starts: Sequence[int]) -> Iterator[LogFact]:
    """The facts on a pattern's lines in one block.

    Of very many lines those are kept that can count: the first and the last ones, those with the smallest and the
    largest number of every group, the first and the last with each text, and the first after each run's beginning.

    Args:
        first_line: the number of the block's first line.
        starts: the lines, as numbers in the log, where a run may begin.
    """
    if len(matches) > 2 * FACTS_KEPT:
        rows = _that_count(matches.columns, matches.line + first_line, starts)
        matches = matches.take(np.array(rows, dtype=np.int64))
    lines = (matches.line + first_line).tolist()
    for line, rank, *values in zip(lines, matches.rank.tolist(), *matches.columns.values(), strict=True):
        fields = {name: str(value) for name, value in zip(matches.columns, values, strict=True) if value is not None}
        yield LogFact(matches.pattern, line, rank, fields)


def facts_that_count(facts: Sequence[LogFact], starts: Sequence[int]) -> list[LogFact]:
    """Of very many facts of one pattern, in the order of their lines, those that can count (see :func:`facts_of`)."""
    names = list(dict.fromkeys(name for fact in facts for name in fact.fields))
    columns = {name: [fact.fields.get(name) for fact in facts] for name in names}
    lines = np.array([fact.line for fact in facts], dtype=np.int64)
    return [facts[row] for row in _that_count(columns, lines, starts)]


def _that_count(columns: Mapping[str, Sequence[str | None]], lines: Ints, starts: Sequence[int]) -> list[int]:
    n = len(lines)
    kept = {*range(FACTS_KEPT), *range(n - FACTS_KEPT, n)}
    kept.update(row for row in np.searchsorted(lines, np.asarray(starts, dtype=np.int64)).tolist() if row < n)
    for column in columns.values():
        numbers = np.array([_number(text) for text in column])
        finite = np.flatnonzero(np.isfinite(numbers))
        if len(finite):
            kept.update((int(finite[np.argmin(numbers[finite])]), int(finite[np.argmax(numbers[finite])])))
        first: dict[str | None, int] = {}
        last: dict[str | None, int] = {}
        for row, text in enumerate(column):
            first.setdefault(text, row)
            last[text] = row
        if len(first) <= FACTS_KEPT:  # names and settings; numbers that differ on every line are no such
            kept.update(first.values(), last.values())
    return sorted(kept)


def _number(text: str | None) -> float:
    try:
        return float(text.replace(",", "")) if text else float("nan")
    except ValueError:
        return float("nan")


# ----------------------------------------------------------------------------------------------------
# How often each pattern was tried on a log and matched; of logs that are read together counted when it is needed.


class Counts(Struct):
    """The accounts of all patterns whose literals occur in a log, by their keys."""

    _accounts: dict[str, Account] = field(default_factory=dict)
    _patterns: dict[str, Pattern] = field(default_factory=dict)
    _tried: tuple[Tried, int] | None = None

    @property
    def accounts(self) -> dict[str, Account]:
        if self._tried is not None:
            tried, text = self._tried
            self._tried = None
            for matches, low, high in tried.on(text):
                self.add(matches.pattern, matches.candidates[text], matches.line[low:high] + 1)
        return self._accounts

    @property
    def patterns(self) -> dict[str, Pattern]:
        if self._tried is not None and not self._patterns:
            tried, text = self._tried
            self._patterns = {matches.pattern.key: matches.pattern for matches, _, _ in tried.on(text)}
        return self._patterns

    def tried_on(self, tried: Tried, text: int) -> None:
        """Say which patterns were tried on this log, a text of a batch: they are counted when that is asked for.

        Of most logs nobody asks: their accounts would take a tenth of the time.
        """
        self._tried = tried, text

    def add(self, pattern: Pattern, tried: int, lines: Ints) -> None:
        """Count how often a pattern was tried in a block, and the lines that it matched."""
        account = self._accounts.get(pattern.key)
        if account is None:
            account = self._accounts[pattern.key] = Account()
            self._patterns[pattern.key] = pattern
        account.candidates += tried
        account.matches += len(lines)
        if len(lines):
            account.first_line = account.first_line or int(lines[0])
            account.last_line = int(lines[-1])

    def forget(self, key: str) -> None:
        """Let a pattern go that does not count in this log."""
        self.accounts.pop(key, None)  # counted by now, so that it is not counted again
        self._patterns.pop(key, None)

    def parsers(self) -> set[str]:
        """The parsers of which some pattern was tried."""
        return {pattern.parser for pattern, _, _ in self._numbers()}

    def parsers_that_matched(self) -> set[str]:
        """The parsers of which some line was found."""
        return {pattern.parser for pattern, _, matched in self._numbers() if matched}

    def parsers_that_measured(self) -> set[str]:
        """The parsers of which some line was found that measures steps."""
        return {pattern.parser for pattern, _, matched in self._numbers() if matched and pattern.role == "step"}

    def parsers_that_speak(self) -> set[str]:
        """The parsers of which some line was found that is no setting."""
        return {pattern.parser for pattern, _, matched in self._numbers() if matched and pattern.role != "metadata"}

    def matched(self, key: str) -> bool:
        """Whether a line of a pattern was found."""
        if self._tried is None:
            return key in self._accounts and self._accounts[key].matches > 0
        return any(matched for pattern, _, matched in self._numbers() if pattern.key == key)

    def unread(self, pattern: Pattern) -> tuple[int, int]:
        """(how often a pattern's literal occurs where no pattern of its parser matched, how often it matched itself).

        The first is a lower bound: what the parser's other patterns matched is taken to hold the literal too.
        """
        candidates = matches = of_parser = 0
        for other, tried, matched in self._numbers():
            if other.parser != pattern.parser:
                continue
            if other is pattern:
                candidates, matches = tried, matched
            if other.role != "metadata":
                of_parser += matched
        return max(candidates - of_parser, 0), matches

    def _numbers(self) -> list[tuple[Pattern, int, int]]:
        """(pattern, how often it was tried, how often it matched) of each pattern that was tried."""
        if self._tried is None:
            pairs = [(pattern, self._accounts[key]) for key, pattern in self._patterns.items()]
            return [(pattern, account.candidates, account.matches) for pattern, account in pairs]
        tried, text = self._tried
        return [(matches.pattern, matches.candidates[text], high - low) for matches, low, high in tried.on(text)]
