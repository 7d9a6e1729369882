"""Shares and their parts as Python functions."""

from __future__ import annotations

from pathlib import Path

import pytest

import perflog
from perflog.errors import UsageError
from tests.support import FIXTURES

LOGS = FIXTURES / "campaign" / "short" / "pytorch"


def test_shares_together_are_what_extract_gives(tmp_path: Path) -> None:
    counts = [
        perflog.extract_share(LOGS, f"{number}/3", tmp_path / f"part{number}.parquet", warmup=10)
        for number in (1, 2, 3)
    ]
    assert sum(counts) == 6
    merged = perflog.merge(tmp_path, aggregate="mean")
    assert merged.document() == perflog.extract(LOGS, warmup=10, aggregate="mean").document()


def test_errors_name_the_argument(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"such as 3/10"):
        perflog.extract_share(LOGS, "0/3", tmp_path / "part.parquet")
    with pytest.raises(UsageError, match=r"no part in"):
        perflog.merge(tmp_path)
