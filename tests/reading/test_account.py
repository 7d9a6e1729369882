"""Facts: all of few, and of very many those that can count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perflog.matching.matches import Matches
from perflog.reading import account, reading
from perflog.reading.account import FACTS_KEPT, LogFact, facts_of, facts_that_count
from perflog.reading.records import START, seconds_of_timestamps
from tests.reading.support import BEGIN, STEPS, fact, formats, read

KEYS = formats(STEPS, fact("batch_size"))
PATTERN = KEYS.parsers[0].pattern("batch_size")


def matches(texts: Sequence[str | None], **more: Sequence[str | None]) -> Matches:
    n = len(texts)
    zeros = np.zeros(n, dtype=np.int64)
    return Matches(
        PATTERN,
        zeros,
        np.arange(n),
        zeros - 1,
        {"batch_size": list(texts), **{name: list(column) for name, column in more.items()}},
        {},
        {0: n},
    )


def test_few_facts_are_all_kept_without_what_a_line_lacks() -> None:
    kept = list(facts_of(matches(["1", None, "3"], model=[None, "a", "b"]), 10, []))
    assert [(found.line, found.rank, found.fields) for found in kept] == [
        (10, -1, {"batch_size": "1"}),
        (11, -1, {"model": "a"}),
        (12, -1, {"batch_size": "3", "model": "b"}),
    ]
    assert len(list(facts_of(matches(["1"] * (2 * FACTS_KEPT)), 1, []))) == 2 * FACTS_KEPT


def test_of_very_many_those_are_kept_that_can_count() -> None:
    texts = [str(500 + n % 7) for n in range(5000)]
    texts[2000], texts[2500], texts[3000] = "9,000", "1", "no number"
    names = ["a"] * 1500 + ["b"] * 1000 + ["c"] * 2500
    lines = [found.line for found in facts_of(matches(texts, model=names), 1, [1200, 4000, 6000])]
    assert lines == sorted(set(lines))
    assert set(lines) >= {*range(1, 401), *range(4601, 5001), 2001, 2501, 3001, 1500, 1501, 2500, 1200, 4000}
    assert len(lines) < 2 * FACTS_KEPT + 30


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=60), st.integers(0, 59), st.integers(5, 40), st.data())
def test_the_largest_and_the_smallest_are_kept_wherever_they_are(
    numbers: list[int], block: int, most: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(numbers) - 1))
    numbers = [*numbers]
    numbers[place] = data.draw(st.sampled_from([99, -99]))
    rows = [LogFact(PATTERN, n, -1, {"batch_size": str(number), "model": str(n)}) for n, number in enumerate(numbers)]
    kept = account.FACTS_KEPT
    account.FACTS_KEPT = 2
    try:
        facts: list[LogFact] = []
        for low in range(0, len(rows), block + 1):  # as a reading does it, block by block
            facts += rows[low : low + block + 1]
            if len(facts) > most:
                facts = facts_that_count(facts, [])
    finally:
        account.FACTS_KEPT = kept
    assert place in [found.line for found in facts]
    assert [found.line for found in facts] == sorted({found.line for found in facts})
    assert {facts[0].line, facts[-1].line} == {0, len(numbers) - 1}


def test_a_log_of_a_hundred_thousand_facts_keeps_few(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [str(1000 + n % 900) for n in range(100_000)]
    numbers[54_321] = "99999"
    blocks = [
        "".join(f"set batch_size={number}\n" for number in numbers[low : low + 20_000])
        for low in range(0, 100_000, 20_000)
    ]
    monkeypatch.setattr(reading, "MOST_FACTS", 1500)
    found = read(KEYS, *blocks)
    assert len(found.facts) < 5000
    assert found.accounts["made.batch_size"].matches == 100_000
    assert (found.facts[0].line, found.facts[-1].line) == (1, 100_000)
    assert [part.line for part in found.facts if part.fields["batch_size"] == "99999"] == [54_322]


def test_the_first_fact_of_each_run_is_kept() -> None:
    lines = ["set batch_size=7\n"] * 6000
    lines[3000:3000] = ["begin\n"]
    found = read(formats(STEPS, BEGIN, fact("batch_size")), "".join(lines))
    assert 3002 in [part.line for part in found.facts if part.pattern.name == "batch_size"]


@pytest.mark.parametrize(
    ("printed", "seconds"),
    [
        (["100.5", "101"], [100.5, 101]),
        (["1970-01-01 00:01:00.250", "1970-01-01 00:02:00"], [60.25, 120]),
        (["1970/01/01 00:01:00"], [60]),
        (["1970-01-02 00:00:01,500", "1970-01-02 00:00:02,250"], [86401.5, 86402.25]),
        (["1970/01/01 00:01:00,5"], [60.5]),
        (["1970-01-01 00:01:00", None, "soon"], [60, None, None]),
        (["soon", None], [None, None]),
        (["[23:59:59]", "[00:00:01]", "[00:00:03]"], [86_399, 86_401, 86_403]),
        (["[23:59:59]", "[00:00:01]", "[23:59:59]", "[00:00:01]"], [86_399, 86_401, 86_399, 86_401]),  # of two ranks
    ],
)
def test_printed_moments(printed: list[str | None], seconds: list[float | None]) -> None:
    assert [None if np.isnan(second) else second for second in seconds_of_timestamps(printed, START)[0]] == seconds


def test_midnight_between_two_blocks_has_passed() -> None:
    before, clock = seconds_of_timestamps(["[23:59:58]", "[23:59:59]"], START)
    after, _ = seconds_of_timestamps(["[00:00:01]", "[00:00:03]"], clock)
    assert [*before, *after] == [86_398, 86_399, 86_401, 86_403]
