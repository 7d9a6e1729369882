"""How often each pattern was tried on a log and matched; of plain logs counted only when that is asked for."""

from __future__ import annotations

from msgspec import Struct, field

from perflog.formats.parser import Pattern
from perflog.matching.matches import Ints
from perflog.reading.account import Account, Tried


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

        Of very many plain logs nobody asks: their accounts would take a tenth of the time.
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
        self._accounts.pop(key, None)
        self._patterns.pop(key, None)

    def parsers_that_matched(self) -> set[str]:
        """The parsers of which some line was found."""
        if self._tried is not None:
            tried, text = self._tried
            return {matches.pattern.parser for matches, low, high in tried.on(text) if high > low}
        return {pattern.parser for key, pattern in self._patterns.items() if self._accounts[key].matches}

    def unread(self, pattern: Pattern) -> tuple[int, int]:
        """(how often a pattern's literal occurs where no pattern of its parser matched, how often it matched itself).

        The first is a lower bound: what the parser's other patterns matched is taken to hold the literal too.
        """
        candidates = matches = of_parser = 0
        for other, tried, matched in self._numbers(pattern.parser):
            if other is pattern:
                candidates, matches = tried, matched
            if other.role != "metadata":
                of_parser += matched
        return max(candidates - of_parser, 0), matches

    def _numbers(self, parser: str) -> list[tuple[Pattern, int, int]]:
        """(pattern, how often it was tried, how often it matched) of each pattern of a parser."""
        if self._tried is None:
            return [(pattern, self._accounts[key].candidates, self._accounts[key].matches)
                    for key, pattern in self._patterns.items() if pattern.parser == parser]  # fmt: skip
        tried, text = self._tried
        return [
            (matches.pattern, matches.candidates[text], high - low)
            for matches, low, high in tried.on(text)
            if matches.pattern.parser == parser
        ]
