"""What the tests of the audit share: most of them audit the same logs, which are read once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import pytest

from perflog.audit import auditing, evidence
from perflog.audit.evidence import Evidence, Members
from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile
from perflog.settings.options import Options
from perflog.show.extractions import ProgressOf, no_progress


def _state(logs: Sequence[LogFile]) -> tuple[object, ...]:
    """What tells logs, and their contents, from others."""
    stats = ((log, Path(log.path).stat()) for log in logs)
    return tuple((log, stat.st_ino, stat.st_size, stat.st_mtime_ns) for log, stat in stats)


def _formats(catalog: Catalog) -> tuple[int, ...]:
    """What tells a catalogue's formats from others, as long as it is kept."""
    return (*map(id, catalog.parsers), *map(id, catalog.path_patterns.patterns))


@pytest.fixture(autouse=True, scope="session")
def _logs_are_read_once() -> Iterator[None]:
    """The two functions that read logs, which depend on their arguments alone, keep what they gave."""
    kept: dict[tuple[object, ...], list[Evidence]] = {}
    catalogs: list[Catalog] = []  # kept too, so that no other can have the same identity
    read, read_more = evidence.read_evidence, evidence.with_more_rules

    def keeping(key: tuple[object, ...], compute: Callable[[], list[Evidence]]) -> list[Evidence]:
        if key not in kept:
            kept[key] = compute()
        return list(kept[key])

    def read_evidence(
        logs: Sequence[LogFile], catalog: Catalog, options: Options, progress: ProgressOf = no_progress
    ) -> list[Evidence]:
        catalogs.append(catalog)
        key = (_state(logs), _formats(catalog), repr(options))
        return keeping(key, lambda: read(logs, catalog, options, progress))

    def with_more_rules(
        cases: Sequence[Evidence],
        wanted: Collection[Members],
        logs: Sequence[LogFile],
        catalog: Catalog,
        options: Options,
    ) -> list[Evidence]:
        key = (_state(logs), _formats(catalog), repr(options), frozenset(wanted), *(id(case) for case in cases))
        return keeping(key, lambda: read_more(cases, wanted, logs, catalog, options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auditing, "read_evidence", read_evidence)
        patch.setattr(auditing, "with_more_rules", with_more_rules)
        yield
