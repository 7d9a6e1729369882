"""A note where the runs of one side spread much more than those of the other."""

from __future__ import annotations

from collections.abc import Sequence

from perflog.stats.power import coefficient_of_variation

#: From this ratio of standard deviations on the spreads of two sides are called unequal: between five and five runs
#: with the same spread it is exceeded in 6 % of rows, between ten and ten in 0.3 % (the F distribution).
UNEQUAL = 3.0
#: With so many runs the wider side is known well enough, whatever its noise looks like: of eight runs in two states
#: seven are in one with a chance of 6.3 %, and Welch's t takes them for a change; of nine, eight are with 3.5 %.
_ENOUGH_RUNS = 9


def unequal_spreads(old: Sequence[float], new: Sequence[float], margin: float) -> str:
    """What to say of a row whose wider side has few runs; empty where the spreads are alike or too small to matter.

    Args:
        old: the values of the old side's runs.
        new: those of the new side.
        margin: the change, a share, that does not matter: spreads below half of it do not matter either.
    """
    if min(len(old), len(new)) >= _ENOUGH_RUNS:
        return ""
    spreads = {"old": coefficient_of_variation(old), "new": coefficient_of_variation(new)}
    if not all(spreads.values()):
        return ""
    (narrow, least), (wide, most) = sorted(spreads.items(), key=lambda item: item[1] or 0.0)
    assert least is not None and most is not None
    runs = len(old) if wide == "old" else len(new)
    if most <= UNEQUAL * least or most < margin / 2 or runs >= _ENOUGH_RUNS:
        return ""
    measured = (
        f"the {wide} side's runs spread by {100 * most:.2g} %, {most / least:.1f} times as much as the {narrow}'s"
    )
    return f"{measured}; {runs} such runs may all be fast or all slow by chance, so make more of them"
