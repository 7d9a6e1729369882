"""A small share of ``tests.tools.others``: perflog keeps its promise on tables and histories where others break it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.support import ROOT
from tests.tools.others import IDENTICAL, SIMULATION, STEADY, Shares, history_shares, table_shares

#: What perflog promises: of tables of identical versions and of steady histories no more have a false verdict.
PROMISED = 0.05


def false_share(shares: Sequence[Shares], rule: str) -> float:
    return float(np.mean([of_one[rule][0] for of_one in shares]))


def test_identical_versions_are_called_changed_by_others_and_not_by_perflog() -> None:
    """64 tables: benchstat's rule, which adjusts for no rows, shows that the measure can fail."""
    rules = ("perflog", "benchstat")
    shares = [table_shares(np.random.default_rng([15, nth]), tables, 8, rules) for nth, tables in enumerate(IDENTICAL)]
    assert false_share(shares, "perflog") <= PROMISED
    assert false_share(shares, "benchstat") > 0.3


def test_steady_histories_show_no_change() -> None:
    """60 histories: PELT with a penalty for independent noise shows that the measure can fail."""
    rules = ("perflog", "ruptures, PELT l2, log(n) σ²")
    shares = [history_shares(np.random.default_rng([16, nth]), one, 20, rules) for nth, one in enumerate(STEADY)]
    assert false_share(shares, "perflog") <= PROMISED
    assert false_share(shares, rules[1]) > 0.2


def test_without_otava_the_text_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.tools.others.has_otava", lambda: False)
    monkeypatch.setattr("tests.tools.others.LEAST", 1)
    text = SIMULATION.part("histories", 0.0, SIMULATION.seed)
    assert text.endswith("Apache Otava is not installed here: its column is left out.\n")


def test_the_page_has_both_tables_with_otava() -> None:
    text = (ROOT / SIMULATION.page).read_text(encoding="utf-8")
    tables = text.partition(SIMULATION.start)[2].partition(SIMULATION.end)[0]
    assert "| tables | share with | perflog | benchstat |" in tables
    assert "| histories | share with | perflog | Apache Otava |" in tables
