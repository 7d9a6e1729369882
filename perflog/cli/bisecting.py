"""``perflog history bisect``: what it prints of the commits between which cases got worse, and of those it measures."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from perflog.escaping import visible
from perflog.show.text import counted

if TYPE_CHECKING:
    from perflog.campaign.halving import Halved, Measurement, Search
    from perflog.history.bisecting import Suspects


def tell(found: Suspects) -> None:
    """Print between which commits cases got worse."""
    for change in found.changes:
        print(f"{change.series.name}: worse at {change.shift.point.campaign}")
    good, bad = (f"{point.code.commit} ({point.campaign})" for point in (found.good, found.bad))
    count = "" if found.commits is None else f", {counted(found.commits, 'commit')} behind the first"
    print(f"  good {good}, bad {bad}{count}")


def tell_next(found: Suspects) -> None:
    """Print what to measure next, where nothing is measured now."""
    if found.next:
        print(f"  next: {found.next}")
        print("  measure it in turn with the good one: perflog run NEW.toml --against OLD.toml; or let --run do it all")
    elif found.commits == 1:
        print(f"  it is the bad one: {found.bad.code.commit}")
    elif found.commits is None:
        print("  --repository FOLDER names the commit that halves them")


def search(found: Suspects, template: Search, quiet: bool) -> Halved:
    """Measure the commits between, telling of each; then what was found.

    Args:
        template: what is searched, but for its ends.
    """
    from perflog.campaign.halving import halve
    from perflog.cli.versus import RoundTeller

    what = replace(template, good=found.good.code.commit or "", bad=found.bad.code.commit or "")
    halved = halve(what, None if quiet else RoundTeller(), lambda made: _told(made, what.margin))
    print(f"  {_outcome(halved)}")
    return halved


def _told(made: Measurement, margin: float) -> None:
    print(f"  {made.answer.value}: {visible(made.title)}")
    for look in made.looks:
        print(f"    {visible(look.case)}  {look.sentence(margin)}")
    sys.stdout.flush()


def _outcome(halved: Halved) -> str:
    from perflog.campaign.halving import Answer

    if halved.first_bad is not None:
        return f"first bad: {visible(halved.first_bad.title)}"
    last = halved.measurements[-1]
    if len(halved.measurements) > 1:
        return f"not found: {visible(last.title)} is undecided (--max-runs); {counted(halved.left, 'commit')} left"
    if last.answer is Answer.GOOD:
        return "not found: measured in turn, the bad commit is not slower today: what changed is not in the code"
    return "not found: the bad commit is undecided (--max-runs)"
