"""The sides of a comparison from their names: folders of logs, or campaigns saved in the history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from perflog.compare.sides import Side, side_of_campaign, side_of_logs
from perflog.errors import NoSuchPathError, UsageError
from perflog.report.extractions import Extractions
from perflog.settings.config import Settings
from perflog.settings.options import Options

if TYPE_CHECKING:
    from perflog.history import Campaign

#: Options that decide on the number of a run: where one is given, saved numbers must have been made by it.
_RULE = ("warmup", "steps", "last", "estimator", "values", "convention", "without_slow")


@dataclass(frozen=True, slots=True)
class OpenedSides:
    """The sides in the order of their names, and the options that the numbers of all of them were made by."""

    sides: tuple[Side, ...]
    options: Options


def open_sides(names: Sequence[str], settings: Settings, extractions: Extractions) -> OpenedSides:
    """Open every side, from logs or from the history.

    Saved numbers cannot be made anew: where no other rule is asked for, theirs is taken for the logs too.

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
        if name in saved:
            sides.append(side_of_campaign(name, saved[name]))
            continue
        side = side_of_logs(name, settings, options, extractions)
        if not side.extraction.cases:
            raise UsageError(f"{name}: no training log found; `perflog explain FILE` says why a file is none")
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
