"""Fixtures of several modules of tests: the databases that a history may be in."""

from __future__ import annotations

import gc
import itertools
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import browser as browsers
from tests import kept, postgresql
from tests.support import CAMPAIGN

# An error in the program is an error of the test, and no log's reason (perflog.reading.gather).
os.environ["PERFLOG_DEBUG"] = "1"
kept.keep()
# A busy machine makes examples slow; that is no fault of what they test.
settings.register_profile("perflog", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("campaign", settings.get_profile("perflog"), max_examples=1000)
settings.load_profile("campaign" if CAMPAIGN else "perflog")
#: What takes longest, and is begun first: a worker that is done then takes over short tests from the other.
_FIRST = (
    "test_two_hosts",
    "test_artefact",
    "campaign/",
    "test_hostile_text",
    "test_docs",
    "report/",
    "history/",
    "test_equal_engines",
    "pipeline/",
    "logs/",
    "audit/",
    "plot/",
)

_NUMBERS = itertools.count(1)
#: Numbers of folders by the names of their tests.
_FOLDERS: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)


def pytest_configure(config: pytest.Config) -> None:
    """Let the processes that the tests fork be measured too, where coverage is."""
    if config.getoption("cov_source", None):
        os.environ["PERFLOG_COVERAGE"] = str(config.rootpath / ".coverage")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long tests first."""

    def turn(item: pytest.Item) -> int:
        return next((turn for turn, part in enumerate(_FIRST) if part in item.nodeid), len(_FIRST))

    items.sort(key=turn)


def pytest_collection_finish() -> None:
    """Let the garbage collector leave out what is there before the first test: the modules, and the tests themselves."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder, named as pytest names it, which looks through the folders of all tests before for the number."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}-{next(_FOLDERS[name])}", numbered=False)


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


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Chromium that all tests share (``tests/browser.py``)."""
    yield from browsers.started(tmp_path_factory.mktemp("profile"))
