"""Lines that are read again by one regex: both engines read the same, and say the same where a pattern gives up."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from perflog.matching import one_line
from perflog.matching.library import available
from perflog.matching.one_line import gave_up, holds_twice, read_line
from tests.support import catalog

pytestmark = pytest.mark.skipif(bool(available()), reason="needs the compiled scanner")

#: Every so many patterns: polars takes a millisecond for each line.
EVERY = 7


def both(monkeypatch: pytest.MonkeyPatch, what: object, *given: object) -> list[object]:
    found = []
    for engine in ("compiled", "polars"):
        monkeypatch.setenv("PERFLOG_ENGINE", engine)
        one_line.line_regex.cache_clear()
        found.append(what(*given))  # type: ignore[operator]
    return found


def test_both_engines_read_the_samples_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = [pattern for parser in catalog().parsers for pattern in parser.patterns][::EVERY]
    assert len(patterns) > 150
    for pattern in patterns:
        for line in [sample.line for sample in pattern.samples] + list(pattern.rejects):
            own, polars = both(monkeypatch, read_line, pattern, line)
            assert own == polars, (pattern.key, line)
            own, polars = both(monkeypatch, holds_twice, pattern, line)
            assert own == polars, (pattern.key, line)


def test_both_engines_give_up_at_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = [pattern for parser in catalog().parsers for pattern in parser.patterns if len(pattern.regex) < 120]
    for pattern in patterns[:: 10 * EVERY]:
        line = "é " + pattern.samples[0].line
        half = line[: max(line.find(pattern.literal) + len(pattern.literal), len(line) * 2 // 3)]
        own, polars = both(monkeypatch, gave_up, pattern, half)
        assert own == polars, (pattern.key, half)


def longest_beginning(regex: str, line: str) -> str:
    """What of a regex lies behind the longest beginning of it that matches in a line, found by trying all."""
    for size in range(len(regex), 0, -1):
        with suppress(ValueError):
            if one_line.line_regex(regex[:size]).end(line) > 0:
                return regex[size:]
    return regex


def test_the_longest_beginning_that_matches_is_found() -> None:
    rng = random.Random("gave up")
    patterns = [pattern for parser in catalog().parsers for pattern in parser.patterns][::EVERY]
    seen = set()
    for pattern in patterns:
        line = pattern.samples[0].line
        cut = rng.randrange(len(line) + 1)
        line = rng.choice([line[:cut], line[cut:], f"{line[:cut]}é{line[cut:]}"]) + pattern.literal
        behind = longest_beginning(pattern.regex, line)
        none = "the pattern does not match from its first character on"
        expected = none if behind == pattern.regex else f"expected here: {behind[:60]}"
        assert gave_up(pattern, line).endswith(expected), (pattern.key, line)
        seen.add(behind)
    assert len(seen) > 50


def test_few_beginnings_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a regex of a hundred parts eight are halved, not a hundred compiled."""
    compiled, own = [], one_line._Compiled
    one_line.line_regex.cache_clear()
    monkeypatch.setattr(one_line, "_Compiled", lambda regex: compiled.append(regex) or own(regex))  # type: ignore[func-returns-value]
    pattern = max((p for parser in catalog().parsers for p in parser.patterns), key=lambda p: len(p.regex))
    gave_up(pattern, pattern.samples[0].line[: len(pattern.samples[0].line) // 2] + pattern.literal)
    assert 0 < len(compiled) < 20 < len(pattern.regex)


def test_a_regex_that_is_none() -> None:
    for regex in ("(?P<a>", "[", "a{2", "a{,3}", "a{x}"):
        with pytest.raises(ValueError):
            one_line.line_regex(regex)
