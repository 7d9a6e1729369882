"""What is seen of a log beside its numbers, for pictures and comparisons: made while its measurements are at hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile
from perflog.notes import Note
from perflog.reading.reading import Reading
from perflog.runs.machine import Machine
from perflog.runs.run import Outcome, Run, Skipped
from perflog.runs.throughput import RunMeasurements, measurements_of

T = TypeVar("T")


class Sight(Generic[T]):
    """Sees the measurements of each run that has any, before its reading is let go, and hands on what was seen.

    What is seen goes through bytes, so that a cache can give it again without a reading.

    Attributes:
        kind: what is seen; a cache keeps each kind by itself.
        growing: whether trainings that have not ended are seen too, as runs without a number.
    """

    def __init__(
        self, kind: str, form: Any, of_run: Callable[[RunMeasurements], T | None], take: Callable[[Run, T], None],
        growing: bool = False,
    ) -> None:  # fmt: skip
        """Make a sight.

        Args:
            form: the type of what is seen of a run, of plain values and bytes.
            of_run: sees a run; None where there is nothing to see.
            take: is given what was seen of a run; it may be called from several threads.
        """
        self.kind, self.growing = kind, growing
        self._of_run, self._take = of_run, take
        self._decoder = msgspec.msgpack.Decoder(list[tuple[int, form]])
        self._waiting: dict[LogFile, bytes] = {}

    def see(self, log: LogFile, reading: Reading, outcome: Outcome, catalog: Catalog) -> None:  # noqa: ARG002
        """See a log's runs, and hand on what is seen of them."""
        self.take(outcome, self.decoded(self._seen(reading, outcome, catalog)))

    def see_for_later(self, log: LogFile, reading: Reading, outcome: Outcome, catalog: Catalog) -> None:
        """See a log's runs, and keep what is seen for :meth:`content_of`."""
        self._waiting[log] = self._seen(reading, outcome, catalog)

    def content_of(self, log: LogFile) -> bytes | None:
        """What was seen of a log that was just read, and is handed out once; None where it was not seen."""
        return self._waiting.pop(log, None)

    def decoded(self, content: bytes) -> Sequence[tuple[int, T]]:
        """What was seen of a log, by the numbers of its runs.

        Raises:
            msgspec.MsgspecError: where the bytes are none.
        """
        return self._decoder.decode(content)

    def take(self, outcome: Outcome, seen: Sequence[tuple[int, T]]) -> None:
        """Hand on what was seen of a log."""
        if isinstance(outcome, Skipped):
            return
        for number, of_run in seen:
            self._take(outcome[number], of_run)

    def _seen(self, reading: Reading, outcome: Outcome, catalog: Catalog) -> bytes:
        of_runs = ((number, self._of_run(its)) for number, its in measurements_of(reading, outcome, catalog))
        return msgspec.msgpack.encode([(number, seen) for number, seen in of_runs if seen is not None])


# ----------------------------------------------------------------------------------------------------
# What slowed the hardware while a run was made, told by the ``machine.json`` of ``perflog run``, as a run's note.

#: The key of the throttled runs among a machine's facts: their names, each with findings in words.
KEY = "throttled"
#: What stands between a run's name and what throttled it; a saved campaign keeps the note alone.
_WAS = " was throttled while it ran: "
#: So many findings are named, each with so many characters: any JSON may stand in a machine.json.
_MOST_FINDINGS, _MOST_CHARACTERS = 8, 120
_SAMPLES = re.compile(r" in \d+ of \d+ samples$")


def throttling_note(machine: Machine | None, path: str) -> str:
    """The note of a run that something slowed, such as ``rn50_1 was throttled while it ran: GPU 0: power cap in …``.

    Args:
        machine: of the run's log.
        path: the log's.

    Returns:
        An empty text where nothing is known to have slowed it.
    """
    throttled = None if machine is None else machine.facts.get(KEY)
    if machine is None or not throttled or not isinstance(throttled, dict):
        return ""
    name = path.rpartition("/")[2].rpartition(".log")[0]
    findings = throttled.get("/".join((*reversed(machine.folders), name)))
    if not isinstance(findings, list):
        return ""
    texts = [" ".join(text.split())[:_MOST_CHARACTERS] for text in findings if isinstance(text, str)]
    return f"{name}{_WAS}{'; '.join(texts[:_MOST_FINDINGS])}" if texts else ""


def throttling_of(run: Run) -> list[str]:
    """In words what slowed a run, without how often; empty where nothing is known to have."""
    return findings_in(run.notes)


def findings_in(notes: Iterable[Note | str]) -> list[str]:
    """In words what slowed a run that has these notes, without how often; empty where nothing is known to have."""
    texts = (str(note).partition(_WAS)[2] for note in notes)
    return [_SAMPLES.sub("", finding) for text in texts if text for finding in text.split("; ")]


def throttled_among(runs: Iterable[Run]) -> list[Run]:
    """The runs that are known to have been throttled."""
    return [run for run in runs if throttling_of(run)]
