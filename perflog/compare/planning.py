"""The noise of logs or saved campaigns, from their names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perflog.compare.noise import Noise, noise, with_campaigns
from perflog.compare.opening import database_of, open_sides
from perflog.errors import UsageError
from perflog.report.extractions import Extractions
from perflog.settings.config import Settings
from perflog.stats.verdict import MARGIN


def noise_of(
    names: Sequence[str], settings: Settings, extractions: Extractions, metric: str, detect: float | None = None,
    margin: float = MARGIN, history: bool = False,
) -> Noise:  # fmt: skip
    """The noise of every case of logs, or of labels of saved campaigns.

    Args:
        names: files and folders of logs, all one set; or, where one of them is a campaign's label, sides of their own.
        metric: one of :data:`perflog.compare.rule.METRICS`.
        detect: the change (a share) to plan for; None: none.
        margin: the change (a share) that does not matter.
        history: whether to look up in the history what campaigns of one version differ by.

    Raises:
        UsageError: for a name that is neither, when there is no training log, or for a change within the margin.
    """
    if all(Path(name).exists() for name in names):
        cases, options = extractions.of(names, settings).cases, settings.options()
    else:
        opened = open_sides(names, settings, extractions)
        cases, options = [case for side in opened.sides for case in side.extraction.cases], opened.options
    if not cases:
        raise UsageError("no training log found; `perflog explain FILE` says why a file is none")
    measured = noise(cases, options, metric, detect, margin)
    return with_campaigns(measured, database_of(settings)) if history else measured
