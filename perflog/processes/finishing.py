"""What becomes of finished readings: the same function in this process and in those that help it."""

from __future__ import annotations

from collections.abc import Sequence

from perflog.formats.catalog import Catalog
from perflog.inference.infer import inferred_runs
from perflog.logs.find import RUNNING, LogFile
from perflog.reading.reading import Reading
from perflog.runs.build import RunBuilder
from perflog.runs.metadata import Stem
from perflog.runs.run import Outcome, Skipped
from perflog.settings.options import Options


class Finishing:
    """Makes outcomes of readings, under one catalogue and one set of options. Threads may share it."""

    def __init__(self, catalog: Catalog, options: Options, indexed: frozenset[Stem]) -> None:
        """``indexed``: the names of logs whose number is a device's."""
        self._catalog, self._options = catalog, options
        self._builder = RunBuilder(catalog, options, indexed)

    def outcome(self, reading: Reading) -> Outcome:
        """What becomes of one reading.

        Raises:
            ParserError: when a parser that matched does not read its own samples as it promises.
        """
        return self.outcomes([reading])[0]

    def outcomes(self, readings: Sequence[Reading]) -> list[Outcome]:
        """What becomes of each reading, in their order.

        Raises:
            ParserError: when a parser that matched does not read its own samples as it promises.
        """
        finished = [reading for reading in readings if not _grows(reading.log)]
        built = iter(self._builder.build_all(finished))
        outcomes: list[Outcome] = []
        for reading in readings:
            outcome = _of_growing(reading.log) if _grows(reading.log) else next(built)
            if isinstance(outcome, Skipped) and not reading.problem and not _grows(reading.log):
                outcome = inferred_runs(reading, self._catalog, self._options) or outcome
            if reading.hashed is not None and not isinstance(outcome, Skipped):
                for run in outcome:
                    run.digest = reading.hashed.digest()
            outcomes.append(outcome)
        return outcomes


def _grows(log: LogFile) -> bool:
    """Whether a log's training has not ended."""
    return log.path.endswith(RUNNING)


def _of_growing(log: LogFile) -> Skipped:
    return Skipped(log, "its training has not ended (`perflog watch` shows it)")
