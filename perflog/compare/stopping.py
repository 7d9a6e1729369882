"""The rule that stops the runs of a measurement of two sides, as ``machine.json`` keeps it; opens and reads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

#: The key of the rule among the facts of a ``machine.json``.
KEY = "sequential"


@dataclass(frozen=True, slots=True)
class Stopping:
    """The rule that the runs of one side were made by.

    Attributes:
        campaign: what tells this measurement from all others.
        side: ``old`` or ``new``.
        seed: of the order of the runs within each round.
        cases: the configurations that were measured, by name; each was looked at after every round.
        margin: changes up to this share did not matter.
        level: the chance that all verdicts of the table are right, a share.
    """

    campaign: str
    side: str
    seed: int
    cases: tuple[str, ...]
    margin: float
    level: float

    def facts(self) -> dict[str, Any]:
        """The rule as plain data for ``machine.json``."""
        return {**asdict(self), "cases": list(self.cases)}


def stopping_of(facts: Mapping[str, Any] | None) -> Stopping | None:
    """The rule among a machine's facts; None where there is none, or none that this perflog understands."""
    table = facts.get(KEY) if facts is not None else None
    if not isinstance(table, Mapping):
        return None
    try:
        return Stopping(
            str(table["campaign"]), str(table["side"]), int(table["seed"]), tuple(map(str, table["cases"])),
            float(table["margin"]), float(table["level"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        return None
