"""Fixtures of several modules of tests: the databases that a history may be in."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import postgresql

# A busy machine makes examples slow; that is no fault of what they test.
settings.register_profile("perflog", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("perflog")

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The socket's folder of a server that this session has to itself."""
    pytest.importorskip("psycopg", reason="psycopg is not installed (pip install -e '.[dev]')")
    with postgresql.server() as folder:
        if folder is None:
            pytest.skip(postgresql.MISSING)
        yield folder


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "history.sqlite")
    return postgresql.create(request.getfixturevalue("postgresql_server"), f"history{next(_NUMBERS)}")
