"""A folder of logs, extracted with the cache and without."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from perflog.cache.cache import Cache
from perflog.cache.printed import with_kept
from perflog.extraction import Extraction, _outcomes, extract_logs
from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile, find_logs
from perflog.runs.run import Outcome
from perflog.settings.options import Options
from perflog.show.document import json_pieces
from tests.support import ROOT, another_training, catalog, options

SOURCE = ROOT / "fixtures" / "campaign" / "short" / "pytorch" / "cnn" / "bz16" / "1n1g" / "cnn_b16_fp32_1.log"
#: The last running mean in a log, and another one of the same length, which is another throughput.
PRINTED, OTHER = b"( 0.034706)", b"( 0.054706)"
#: How far a clock is ahead under which files that were written just now were written long ago.
AHEAD_NS = 10_000_000_000


def later() -> int:
    """The time, as a clock tells it that is ahead."""
    return time.time_ns() + AHEAD_NS


def logs_in(folder: Path, count: int = 3) -> list[Path]:
    """So many logs of trainings of their own."""
    files = [folder / f"1n{2**n}g" / f"cnn_b16_fp32_{n}.log" for n in range(count)]
    for file in files:
        another_training(SOURCE, file)
    return files


def document(extraction: Extraction) -> bytes:
    return b"".join(json_pieces(extraction))


class Place:
    """A folder of logs and a cache.

    ``said``: what the cache remarked; ``read``: the names of the logs that the last extraction read.
    """

    def __init__(self, folder: Path, clock: Callable[[], int] = later) -> None:
        self.logs = folder / "logs"
        self.cache = folder / "cache"
        self.said: list[str] = []
        self.read: list[str] = []
        self._clock = clock

    @property
    def file(self) -> Path:
        return self.cache / "perflog-cache-1.sqlite"

    def opened(self, limit: int = 1 << 30) -> Cache:
        return Cache(self.cache, self.said.append, self._clock, limit)

    def with_cache(self, chosen: Options | None = None, parsers: Catalog | None = None) -> bytes:
        """The extraction with the cache, as JSON."""
        chosen, parsers = chosen or options(), parsers or catalog()
        logs = find_logs([self.logs])
        self.read = []

        def read(changed: Sequence[LogFile]) -> Iterable[Outcome]:
            self.read = [Path(log.path).name for log in changed]
            return _outcomes(changed, logs, chosen, parsers, None, None)

        for _ in with_kept(self.opened(), logs, logs, chosen, parsers, read):
            pass
        return document(extract_logs(logs, chosen, parsers, cache=self.opened()))

    def without(self, chosen: Options | None = None, parsers: Catalog | None = None) -> bytes:
        """The extraction without it."""
        return document(extract_logs(find_logs([self.logs]), chosen or options(), parsers or catalog()))

    def require_equal(self, chosen: Options | None = None, parsers: Catalog | None = None) -> list[str]:
        """The logs that were read by an extraction that gave what one without the cache gives."""
        assert self.with_cache(chosen, parsers) == self.without(chosen, parsers)
        return self.read
