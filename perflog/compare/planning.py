"""The noise of logs or saved campaigns, from their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from perflog.cases.choosing import chosen
from perflog.compare.noise import Noise, noise, with_campaigns
from perflog.compare.opening import database_of, open_sides
from perflog.errors import UsageError
from perflog.report.extractions import Extractions
from perflog.settings.config import Settings
from perflog.stats.verdict import MARGIN


def noise_of(
    names: Sequence[str], settings: Settings, extractions: Extractions, metric: str, detect: float | None = None,
    margin: float = MARGIN, history: bool = False, where: Mapping[str, str] | None = None,
) -> Noise:  # fmt: skip
    """The noise of every case of logs, or of labels of saved campaigns.

    Args:
        names: files and folders of logs, all one set; or, where one of them is a campaign's label, sides of their own.
        metric: one of :data:`perflog.compare.rule.METRICS`.
        detect: the change (a share) to plan for; None: none.
        margin: the change (a share) that does not matter.
        history: whether to look up in the history what campaigns of one version differ by.
        where: the cases with these values alone, as a comparison with the same ``where`` has them.

    Raises:
        UsageError: for a name that is neither, when there is no training log, for a change within the margin, or for a
            field or value of ``where`` that no case has.
    """
    if all(Path(name).exists() for name in names):
        cases, options = extractions.of(names, settings).cases, settings.options()
    else:
        opened = open_sides(names, settings, extractions)
        cases, options = [case for side in opened.sides for case in side.extraction.cases], opened.options
    if not cases:
        raise UsageError("no training log found; `perflog explain FILE` says why a file is none")
    if where:
        cases = chosen(cases, where)
    measured = noise(cases, options, metric, detect, margin)
    return with_campaigns(measured, database_of(settings)) if history else measured
