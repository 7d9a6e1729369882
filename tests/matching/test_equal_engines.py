"""Both engines find the same, to the last bit: in all fixtures, in the corpus, and in mutated logs.

``make fuzz`` tries 20,000 mutated logs; a part of them is tried here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from perflog.logs.containers import UnreadableError, open_small
from perflog.logs.find import find_logs
from perflog.matching import library
from tests.support import CAMPAIGN, CORPUS, FIXTURES, catalog, needs_corpus
from tests.tools.engines import Engines
from tests.tools.fuzz import texts

pytestmark = pytest.mark.skipif(bool(library.available()), reason=library.available() or "the compiled engine is here")
#: How many mutated logs are tried.
MUTATED = [24, pytest.param(160, marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def engines() -> Engines:
    return Engines(catalog())


def batches(folder: Path, step: int) -> Iterator[dict[str, bytes]]:
    """The texts of each ``step``-th log by their names, so many together as the engines are called for less often."""
    batch: dict[str, bytes] = {}
    for log in find_logs([folder])[::step]:
        try:
            data = open_small(log, 64 << 20)
        except UnreadableError as error:
            data = error.data
        if data:
            batch[log.name] = data
        if len(batch) == (1 if CAMPAIGN else 24):
            yield batch
            batch = {}
    yield batch


def differences(engines: Engines, folder: Path, step: int = 1) -> dict[tuple[str, ...], list[str]]:
    """By the names of logs, in what the engines differ on them."""
    every = ((tuple(batch), engines.differences(list(batch.values()))) for batch in batches(folder, step) if batch)
    return {names: told for names, told in every if told}


@pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.long)])
def test_fixtures(step: int, engines: Engines) -> None:
    assert differences(engines, FIXTURES / "parsers", step) == {}


@needs_corpus
@pytest.mark.long
def test_corpus(engines: Engines) -> None:
    assert differences(engines, CORPUS) == {}


@pytest.mark.parametrize("count", MUTATED)
def test_mutated_logs(count: int, engines: Engines) -> None:
    assert {seed: told for seed, batch in texts(7, count) if (told := engines.differences(batch))} == {}


def test_the_comparison_can_fail(engines: Engines) -> None:
    """A digit changed on one side only is told."""
    from tests.tools.engines import differences as between

    log = (FIXTURES / "parsers/paddleclas/static.log").read_bytes()
    changed = re.sub(rb"ips: [0-9]", b"ips: 0", log)
    one, other = engines.compiled.match([log], True), engines.polars.match([changed], True)
    assert any("ips" in line for line in between(one, other))
