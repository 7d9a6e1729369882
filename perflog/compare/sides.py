"""One side of a comparison: a campaign's cases, and what the runs' own series say, where the logs are at hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from perflog.cases.case import Case, spelling
from perflog.cases.choosing import near
from perflog.cases.machines import LABEL
from perflog.cases.pairs import Pair
from perflog.cases.versions import root_of
from perflog.errors import NoSuchPathError, UsageError
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS, normal
from perflog.logs.find import find_logs
from perflog.measurements.window import rows_of
from perflog.runs.factor import factor_of, seconds_scale
from perflog.runs.facts import ALIASED
from perflog.runs.machine import differences, identity, known_facts
from perflog.runs.run import Run
from perflog.runs.sight import Sight, throttled_among
from perflog.runs.throughput import RunMeasurements
from perflog.settings.config import Settings, names_in
from perflog.settings.options import Options
from perflog.show.extractions import Extractions
from perflog.stats.arrays import middle

if TYPE_CHECKING:
    from perflog.history import Campaign


#: A run's series is kept up to so many measurements.
KEPT = 50_000
Floats = NDArray[np.float64]
#: What a :class:`RunSeries` holds: columns as bytes of float64 (the second empty where it is the first), two numbers.
_SeenSeries = tuple[bytes, bytes, float, float]
#: A run, by its log and first line.
RunKey = tuple[str, int]


@dataclass(slots=True)
class RunSeries:
    """A run's measurements in its window.

    Attributes:
        times: per step, (n,), in the log's unit: of two runs they compare only where one format has both.
        printed: the numbers as printed, (n,), in the log's unit.
        rate: the median of the rates, in the unit of the run's throughput; NaN where that is unknown.
        step: the median of the times per step, in seconds; NaN where that is unknown.
    """

    times: Floats
    printed: Floats
    rate: float = float("nan")
    step: float = float("nan")


@dataclass(slots=True)
class Side:
    """A campaign: its ``name`` as given, its cases, and the folder that its labels are relative to.

    ``date``: of a campaign out of the history; None for logs, whose own clocks tell.
    """

    name: str
    extraction: Extraction
    root: str = ""
    observed: dict[RunKey, RunSeries] = field(default_factory=dict)
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
        observed[run_key(run)] = RunSeries(times, printed, *seen[2:])

    sight = Sight("series", _SeenSeries, _series_of, take)
    extraction = extractions.seen(find_logs([name]), settings, options, sight)
    read = [*(run.log for run in extraction.runs), *(skipped.log for skipped in extraction.skipped)]  # not the parts
    return Side(name.rstrip("/"), extraction, root_of([log.path for log in read]), observed)


def _series_of(its: RunMeasurements) -> _SeenSeries | None:
    """What :class:`RunSeries` holds of a run; None where its window has no measurements."""
    segment, basis = its.segment, its.segment.basis
    first, last = its.run.throughput.first_step, its.run.throughput.last_step
    if first is None or last is None or not segment.store.count or basis is None:
        return None
    rows = rows_of(segment, KEPT)
    rows = rows[:, (rows[0] >= first) & (rows[1] <= last)]
    with np.errstate(divide="ignore", invalid="ignore"):  # a clock in whole seconds tells a time of 0 of short records
        times, rates = rows[3] / rows[2], rows[4] / rows[3]
    printed = rates.tobytes() if basis.is_rate else b""
    if not len(times):
        return times.tobytes(), printed, np.nan, np.nan
    factor = factor_of(its.reading, its.pattern, basis, its.run.metadata)
    scale = seconds_scale(its.reading, its.pattern, basis, its.run.metadata)
    rate = np.nan if factor.reason else float(middle(rates)) * factor.value
    return times.tobytes(), printed, rate, np.nan if scale is None else float(middle(times)) * scale


def machines(cases: Iterable[Case]) -> list[dict[str, str]]:
    """The different machines that the runs of cases were made on, as far as a ``machine.json`` tells."""
    different: list[dict[str, str]] = []
    for case in cases:
        for run in case.runs:
            facts = known_facts(run.machine)
            if facts is not None and (machine := identity(facts)) not in different:
                different.append(machine)
    return different


def machine_notes(pairs: Sequence[Pair]) -> list[str]:
    """What differs between the machines of two sides, or that a side ran on several; how many runs were throttled."""
    old_machines, new_machines = machines(pair.old for pair in pairs), machines(pair.new for pair in pairs)
    notes = [
        f"the runs of the {word} side are of {len(several)} machines"
        for word, several in (("old", old_machines), ("new", new_machines))
        if len(several) > 1
    ]
    if len(old_machines) == len(new_machines) == 1:
        changed = differences(old_machines[0], new_machines[0], most=6)
        notes += [f"the machine changed: {changed}"] if changed else []
    old = [run for pair in pairs for run in pair.old.runs]
    new = [run for pair in pairs for run in pair.new.runs]
    of_old, of_new = len(throttled_among(old)), len(throttled_among(new))
    if of_old or of_new:
        counts = f"{of_old} of {len(old)} runs of the old side and {of_new} of {len(new)} of the new one"
        notes.append(f"{counts} were throttled while they ran: what differs may be the state of the hardware")
    return notes


def where(cases: Sequence[Case], wanted: Mapping[str, str]) -> list[Case]:
    """The cases with these values: ``{"devices": "1:8"}`` takes both."""
    values = {key: {str(normal(key, text)).lower() for text in texts.split(":")} for key, texts in wanted.items()}
    return [case for case in cases if all(str(case.key.get(key, "")).lower() in own for key, own in values.items())]


# ----------------------------------------------------------------------------------------------------
# The sides of a comparison from their names: folders of logs, or campaigns saved in the history.

#: Options that decide on the number of a run: where one is given, saved numbers must have been made by it.
_RULE = ("warmup", "steps", "last", "estimator", "values", "convention", "without_slow", "as_", "sampled")


@dataclass(frozen=True, slots=True)
class OpenedSides:
    """The sides in the order of their names, and the options that the numbers of all of them were made by."""

    sides: tuple[Side, ...]
    options: Options


def open_sides(names: Sequence[str], settings: Settings, extractions: Extractions) -> OpenedSides:
    """Open every side, from logs or from the history.

    Saved numbers cannot be made anew: where no other rule is requested, theirs is taken for the logs too.

    Args:
        names: files and folders of logs, or labels of saved campaigns.
        settings: the options, with the history's database.
        extractions: what logs are read through.

    Raises:
        UsageError: for a name that is neither, a side without a training log, or numbers made by different rules.
    """
    saved = {name: _campaign(name, settings) for name in names if not Path(name).exists() and "/" not in name}
    options = _common_options(saved, settings)
    sides = []
    for name in names:
        if name in saved:  # its numbers as they were made then; the series of its runs are not kept there
            extraction = saved[name].extraction
            root = root_of([run.log.path for run in extraction.runs])
            sides.append(Side(name, extraction, root, date=saved[name].date))
            continue
        side = side_of_logs(name, settings, options, extractions)
        if not side.extraction.cases:
            raise UsageError(f"{name}: {side.extraction.why_none}")
        sides.append(side)
    return OpenedSides(tuple(sides), options)


def _common_options(saved: Mapping[str, Campaign], settings: Settings) -> Options:
    """The options that hold for all sides. Raises UsageError where saved numbers were made by others."""
    options = settings.options()
    if saved and not any(settings.sources[key] == "command line" for key in _RULE):
        first = next(iter(saved.values())).extraction.options
        options = replace(
            options, window=first.window, estimator=first.estimator, as_printed=first.as_printed,
            convention=first.convention, digits=first.digits, without_slow=first.without_slow, decided=first.decided,
            said=first.said, sampled=first.sampled,
        )  # fmt: skip
    for name, campaign in saved.items():
        own = _rule_text(campaign.extraction.options)
        if own != _rule_text(options):
            rule = _rule_text(options)
            hint = "one rule must hold for all sides; save its logs anew"
            raise UsageError(f"{name} was saved with {own}, which is not {rule}: {hint}")
    return options


def database_of(settings: Settings) -> str:
    """The history's database: the option's, the environment's, the config file's, or the default.

    Raises:
        UsageError: for a config file that names one which may not be taken from it.
    """
    from perflog.history.place import default_database

    if settings.refused_database:
        raise UsageError(settings.refused_database)
    return str(settings.values["database"] or default_database())


@dataclass(frozen=True, slots=True)
class History:
    """The history that cases are judged with.

    Attributes:
        database: where its campaigns are; empty for none.
        asked: whether it was asked for, and not only named: then two campaigns of a version are enough to say what
            campaigns differ by, and one that cannot be read is an error.
    """

    database: str = ""
    asked: bool = False


NO_HISTORY = History()


def history_of(settings: Settings, asked: bool | None) -> History:
    """The history of the settings.

    Args:
        asked: whether the history was asked for; None: not said. Then cases remember where a database is named.
    """
    if asked:
        return History(database_of(settings), True)
    return History(str(settings.values["database"] or "")) if asked is None else NO_HISTORY


def _campaign(name: str, settings: Settings) -> Campaign:
    from perflog.history import load

    try:
        return load(database_of(settings), name)
    except UsageError as error:
        raise NoSuchPathError(f"no such file or folder: {name!r}, and no saved campaign: {error}") from None


def _rule_text(options: Options) -> str:
    convention = f", convention {options.convention}" if options.convention else ""
    printed = " (values as printed)" if options.as_printed else ""
    return f"estimator {options.estimator}, {options.window}{convention}{printed}"


# ----------------------------------------------------------------------------------------------------
# Names and values that a user gives to choose cases by: each must be one that some case has.


def names(text: str, option: str, known: Sequence[str] = ()) -> list[str]:
    """``a,b`` as a list; with ``known`` each must be one of them.

    Raises:
        UsageError: for a name that is not known, naming those near it.
    """
    given = list(names_in(text))
    for name in given:
        if known and name not in known:
            raise UsageError(f"--{option} {name!r}: no such name{near(name, known)}")
    return given


def require_known(
    cases: Sequence[Case], across: Sequence[str], wanted: Mapping[str, str], over: Sequence[str] = ()
) -> None:
    """Every key must be one that a case has, and every value wanted one that a case has.

    Args:
        cases: of all sides.
        across: keys that may vary between the cases of a pair.
        wanted: the values that cases are chosen by, several of a key with ``:`` between them.
        over: keys that tell machines apart, each of which is one repeat.

    Raises:
        UsageError: for a key or a value that no case has, naming those near it.
    """
    keys = list(dict.fromkeys((*CASE_KEYS, *(key for case in cases for key in case.key))))
    for option, names in (("across", across), ("repeats-over", over)):
        for name in names:
            if name not in keys and name != LABEL:
                raise UsageError(f"--{option} {name!r}: no case has such a key{near(name, [*keys, LABEL])}")
    for key, texts in wanted.items():
        if key not in keys:
            raise UsageError(f"--where {key}={texts}: no case has such a key{near(key, keys)}")
        values = {str(case.key[key]) for case in cases if key in case.key}
        lowered = {value.lower() for value in values}
        for text in texts.split(":"):
            if str(normal(key, text)).lower() not in lowered:
                raise UsageError(f"--where {key}={text}: no case has that value{near(text, sorted(values))}")


def require_alias(cases: Sequence[Case], aliases: Mapping[str, str]) -> None:
    """Every alias given must be a name that a case has.

    Raises:
        UsageError: for an alias that no case has, naming those near it.
    """
    values = sorted({str(case.key[key]) for case in cases for key in ALIASED if key in case.key})
    spellings = {spelling(value) for value in values}
    for alias, name in aliases.items():
        if spelling(alias) not in spellings:
            what = "no case has a model, framework, accelerator or precision of that name"
            raise UsageError(f"--alias {alias}={name}: {what}{near(alias, values)}")
