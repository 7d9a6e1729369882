"""One side of a comparison: a campaign's cases, and what the runs' own series say, where the logs are at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from perflog.cases.case import Case
from perflog.cases.pairs import Pair
from perflog.cases.versions import root_of
from perflog.extraction import Extraction
from perflog.formats.vocabulary import Scalar, normal
from perflog.logs.find import find_logs
from perflog.measurements.segment import Segment
from perflog.measurements.window import rows_of
from perflog.runs.machine import Facts, differences, identity, known_facts
from perflog.runs.run import Run
from perflog.runs.sight import Sight
from perflog.runs.throttled import throttled_among
from perflog.settings.options import Options

if TYPE_CHECKING:
    from perflog.history import Campaign
    from perflog.report.extractions import Extractions
    from perflog.settings.config import Settings

#: A run's series is kept up to so many measurements.
KEPT = 50_000
Floats = NDArray[np.float64]
#: The two columns of a run's series, as bytes of float64; the second is empty where it is the first.
_SeenSeries = tuple[bytes, bytes]
#: A run, by its log and first line.
RunKey = tuple[str, int]


@dataclass(slots=True)
class RunSeries:
    """A run's measurements in its window: times per step (n,) and the numbers as printed (n,), in the log's units."""

    times: Floats
    printed: Floats


@dataclass(slots=True)
class Side:
    """A campaign: its ``name`` as given, its cases, the folder that its labels are relative to, and its machines.

    ``date``: of a campaign out of the history; None for logs, whose own clocks tell.
    """

    name: str
    extraction: Extraction
    root: str = ""
    observed: dict[RunKey, RunSeries] = field(default_factory=dict)
    machine: Callable[[Run], Facts | None] = field(default=lambda run: known_facts(run.machine))
    date: datetime | None = None

    def series(self, case: Case) -> list[RunSeries]:
        """The series of the case's runs, as far as they are known."""
        return [self.observed[run_key(run)] for run in case.runs if run_key(run) in self.observed]


def run_key(run: Run) -> RunKey:
    """What a run is known by."""
    return (run.log.name, run.first_line)


def side_of_logs(name: str, settings: Settings, options: Options, extractions: Extractions) -> Side:
    """Extract a side, keeping the series of its runs for notes.

    Args:
        name: the path of its logs.
        options: those of all sides.

    Raises:
        UsageError: for a path that there is not.
    """
    observed: dict[RunKey, RunSeries] = {}

    def take(run: Run, seen: _SeenSeries) -> None:
        times, printed = (np.frombuffer(column) for column in (seen[0], seen[1] or seen[0]))
        observed[run_key(run)] = RunSeries(times, printed)

    sight = Sight("series", _SeenSeries, _series_of, take)
    extraction = extractions.seen(find_logs([name]), settings, options, sight)
    read = [*(run.log for run in extraction.runs), *(skipped.log for skipped in extraction.skipped)]  # not the parts
    return Side(name.rstrip("/"), extraction, root_of([log.path for log in read]), observed)


def _series_of(run: Run, segment: Segment) -> _SeenSeries | None:
    """A run's times per step and the numbers as printed; None where its window has no measurements."""
    first, last = run.throughput.first_step, run.throughput.last_step
    if first is None or last is None or not segment.store.count or segment.basis is None:
        return None
    rows = rows_of(segment, KEPT)
    rows = rows[:, (rows[0] >= first) & (rows[1] <= last)]
    return (rows[3] / rows[2]).tobytes(), (rows[4] / rows[3]).tobytes() if segment.basis.is_rate else b""


def side_of_campaign(name: str, campaign: Campaign) -> Side:
    """A side out of the history: its numbers as they were made then; the series of its runs are not kept there."""
    root = root_of([run.log.path for run in campaign.extraction.runs])
    return Side(name, campaign.extraction, root, date=campaign.date)


def machines(side: Side, cases: Iterable[Case]) -> list[dict[str, str]]:
    """The different machines that the runs of cases were made on, as far as a ``machine.json`` tells."""
    different: list[dict[str, str]] = []
    for case in cases:
        for run in case.runs:
            facts = side.machine(run)
            if facts is not None and (machine := identity(facts)) not in different:
                different.append(machine)
    return different


def machine_notes(old: Side, new: Side, pairs: Sequence[Pair]) -> list[str]:
    """What differs between the machines of two sides, or that a side ran on several."""
    old_machines = machines(old, [pair.old for pair in pairs])
    new_machines = machines(new, [pair.new for pair in pairs])
    notes = [
        f"the runs of the {word} side are of {len(several)} machines"
        for word, several in (("old", old_machines), ("new", new_machines))
        if len(several) > 1
    ]
    if len(old_machines) == len(new_machines) == 1:
        changed = differences(old_machines[0], new_machines[0], most=6)
        notes += [f"the machine changed: {changed}"] if changed else []
    return [*notes, *_throttling_note(pairs)]


def _throttling_note(pairs: Sequence[Pair]) -> list[str]:
    """How many runs of each side are known to have been throttled; nothing where none is."""
    old = [run for pair in pairs for run in pair.old.runs]
    new = [run for pair in pairs for run in pair.new.runs]
    of_old, of_new = len(throttled_among(old)), len(throttled_among(new))
    if not of_old and not of_new:
        return []
    counts = f"{of_old} of {len(old)} runs of the old side and {of_new} of {len(new)} of the new one"
    return [f"{counts} were throttled while they ran: what differs may be the state of the hardware"]


def where(cases: Sequence[Case], wanted: Mapping[str, str]) -> list[Case]:
    """The cases with these values: ``{"devices": "1:8"}`` takes both."""

    def matches(case: Case, key: str, texts: str) -> bool:
        value: Scalar = case.key.get(key, "")
        return str(value).lower() in {str(normal(key, text)).lower() for text in texts.split(":")}

    return [case for case in cases if all(matches(case, key, texts) for key, texts in wanted.items())]
