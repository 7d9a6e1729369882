"""What a document stands on: each set of logs is read once, however many tables and pictures are made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from perflog.cases.choosing import chosen
from perflog.errors import UsageError
from perflog.extraction import Extraction, Progress, extract_logs
from perflog.logs.find import LogFile, find_logs
from perflog.settings.config import Settings
from perflog.settings.options import Options

if TYPE_CHECKING:
    from perflog.cache.cache import Cache
    from perflog.runs.sight import Sight

#: Given the number of bytes to read, shows progress while it is entered; what it gives is called with each share read.
ProgressOf = Callable[[int], AbstractContextManager[Progress | None]]


def no_progress(total: int) -> AbstractContextManager[None]:  # noqa: ARG001 - nothing is shown
    """Progress that is not shown."""
    return nullcontext()


class Extractions:
    """Reads sets of logs and remembers what was extracted: a README's regions often stand on the same logs.

    Attributes:
        progress: shows how far the reading is.
        cache: keeps what is read, where the user asks for it.
        unread: by name, why a log could not be read: what was made of the others is without it.
    """

    def __init__(self, progress: ProgressOf = no_progress, cache: Cache | None = None) -> None:
        """``cache``: what keeps the outcomes of logs that have not changed, where the user asks for it."""
        self.progress = progress
        self.cache = cache
        self.unread: dict[str, str] = {}
        self._extractions: dict[str, Extraction] = {}

    def of(self, logs: Sequence[str], settings: Settings, where: Mapping[str, str] | None = None) -> Extraction:
        """The extraction of logs by these settings.

        Args:
            where: the values that its cases have (:func:`perflog.cases.choosing.chosen`).

        Raises:
            UsageError: when a path does not exist, an option is not right, or no case has such a value.
        """
        options = settings.options()
        key = repr((list(logs), settings.values["parser"], settings.values["parsers"], options, settings.parts))
        if key not in self._extractions:
            self._extractions[key] = self.seen(find_logs(logs), settings, options)
        whole = self._extractions[key]
        return replace(whole, cases=chosen(whole.cases, where)) if where else whole

    def require_all_read(self, done: str) -> None:
        """Let nothing be ``done`` (published, saved) without a log that could not be read.

        Raises:
            UsageError: where there is one.
        """
        for log, why in self.unread.items():
            raise UsageError(f"{log}: {why}; nothing is {done} without it: mend or remove it, or name the others")

    def seen(
        self, files: Sequence[LogFile], settings: Settings, options: Options, sight: Sight[Any] | None = None
    ) -> Extraction:
        """Files read with progress and by the cache, and not remembered.

        Args:
            options: those in force; a comparison's are not always the settings' own.
            sight: what is seen of each run beside its numbers.
        """
        with self.progress(sum(max(file.size, 0) for file in files)) as progress:
            extraction = extract_logs(
                list(files), options, settings.catalog(), progress, sight, self.cache, settings.parts
            )
        # a README in this folder names its logs from "."
        self.unread |= {one.log.name.removeprefix("./"): one.reason for one in extraction.skipped if one.failed}
        return extraction
