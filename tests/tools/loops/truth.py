"""What is true of a made log, and whether a given number is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: ``yes``: the log holds an honest number, and to refuse it is a loss; ``may``: its own lines leave more than one
#: meaning open, so that a reason is as good as the truth; ``no``: whoever gives a number has invented it.
Holds = Literal["yes", "may", "no"]

#: (what is counted, of what) → stretches of what is true, each (lowest, highest) per second.
Rates = dict[tuple[str, str], tuple[tuple[float, float], ...]]

_WORK = {
    "steps": "steps", "iterations": "steps", "iters": "steps", "batches": "steps", "updates": "steps",
    "samples": "samples", "images": "samples", "examples": "samples", "sequences": "samples", "sentences": "samples",
    "records": "samples", "items": "samples", "frames": "frames", "env_steps": "frames", "timesteps": "frames", "tokens": "tokens", "words": "tokens",
    "epochs": "epochs", "episodes": "episodes",
}  # fmt: skip
_SCOPES = {"rank": "rank", "device": "rank", "gpu": "rank", "npu": "rank", "process": "rank"}


def quantity(unit: str) -> tuple[str, str]:
    """(what is counted, of what) of a unit: ``images/s/rank`` counts samples of one rank.

    >>> quantity("images/s/rank"), quantity("tokens/s")
    (('samples', 'rank'), ('tokens', ''))
    """
    work, _, rest = unit.partition("/")
    _, _, scope = rest.partition("/")
    return _WORK.get(work, work), _SCOPES.get(scope, scope)


@dataclass(frozen=True, slots=True)
class Truth:
    """What may be given for a log.

    Attributes:
        slack: by which share a number may lie outside: the digits that were printed, the scatter of the steps that the
            log tells of, and 2 %.
        why: why the log holds a number, or does not.
    """

    holds: Holds
    rates: Rates = field(default_factory=dict)
    slack: float = 0.02
    why: str = ""

    def allows(self, value: float, unit: str) -> bool:
        """Whether a number is true of the log."""
        low, high = 1 - self.slack, 1 + self.slack
        return any(least * low <= value <= most * high for least, most in self.rates.get(quantity(unit), ()))

    def __str__(self) -> str:
        rates = "; ".join(
            f"{' or '.join(_stretch(*each) for each in stretches)} {work}/s{'/' + scope if scope else ''}"
            for (work, scope), stretches in self.rates.items()
        )
        return f"holds a number: {self.holds} ({self.why}); {rates or 'none is true'}; within {self.slack:.1%}"


def _stretch(low: float, high: float) -> str:
    return f"{low:.5g}" if high - low <= 1e-4 * high else f"{low:.5g} to {high:.5g}"


@dataclass(frozen=True, slots=True)
class Made:
    """A made log: its class, its text, its truth, and what was drawn for it by the name of each dimension."""

    kind: str
    text: str
    truth: Truth
    chosen: Mapping[str, str]
