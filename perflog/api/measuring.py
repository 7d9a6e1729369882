"""Two sides measured in turn, until every case is decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perflog.api.options import PathLike, texts
from perflog.api.showing import Result, counted
from perflog.api.terms import in_python_terms

if TYPE_CHECKING:
    from perflog.campaign.deciding import Measured
    from perflog.campaign.looks import CaseLook
    from perflog.campaign.observer import RoundObserver
    from perflog.export.columns import TextTable

#: Changes of up to this share do not matter, as on the command line.
_MARGIN = 0.02


@dataclass(frozen=True, slots=True, repr=False)
class Measurement(Result):
    """Two sides that were measured in turn; its frame has a row for every case.

    Attributes:
        measured: the objects behind it (:class:`perflog.campaign.Measured`): ``rule``, ``looks``, ``spent`` …
        margin: changes of up to this share do not matter.
    """

    measured: Measured
    margin: float

    @property
    def cases(self) -> tuple[CaseLook, ...]:
        """Every case at its last look: its ``rounds``, and a ``look`` with ratio, interval and decision."""
        return self.measured.looks

    @property
    def decided(self) -> bool:
        """Whether every case is faster, slower, or the same within the margin."""
        return all(entry.look.decided and not entry.failed for entry in self.cases)

    @property
    def folders(self) -> tuple[Path, Path]:
        """The folders of the old and of the new side's logs, which ``perflog.compare`` takes."""
        return self.measured.root / "old", self.measured.root / "new"

    def _described(self) -> str:
        decided = sum(entry.look.decided and not entry.failed for entry in self.cases)
        failed = f", {len(self.measured.failed)} failed" if self.measured.failed else ""
        spent = f" when the budget of {self.measured.spent} was spent" if self.measured.spent else ""
        return f"{counted(len(self.cases), 'case')}: {decided} decided{failed}{spent}"

    def _tables(self) -> Sequence[TextTable]:
        from perflog.export.columns import TextTable

        rows = [[entry.case, entry.sentence(self.margin)] for entry in self.cases]
        caption = f"ratios new / old, margin {100 * self.margin:g} %, order of seed {self.measured.rule.seed}."
        return (TextTable(["case", "what was decided"], rows, [False, False], caption=caption),)

    def _rows(self) -> Iterable[Mapping[str, Any]]:
        return [_row(entry, self.margin) for entry in self.cases]


def _row(entry: CaseLook, margin: float) -> Mapping[str, Any]:
    ratio = entry.look.ratio
    return {
        "case": entry.case, "verdict": "failed" if entry.failed else entry.look.decision.verdict.value,
        "rounds": entry.rounds, "ratio": ratio.value, "low": ratio.low, "high": ratio.high, "level": ratio.level,
        "sentence": entry.sentence(margin),
    }  # fmt: skip


@in_python_terms
def measure(
    campaign: PathLike,
    against: PathLike,
    *,
    only: Mapping[str, Any] | None = None,
    logs: PathLike | None = None,
    margin: str | float = _MARGIN,
    max_runs: int | None = None,
    max_hours: float | None = None,
    seed: int | None = None,
    hostfile: PathLike | None = None,
    remote: Sequence[str] = (),
    retry_failed: bool = False,
    observer: RoundObserver | None = None,
) -> Measurement:
    """Measure two sides in turn until every case is decided (``perflog run CAMPAIGN --against OLD``).

    The same call goes on where an earlier one was cut off or its budget was spent.

    Args:
        campaign: the campaign file of the new side.
        against: the old side: another campaign file, this one again, or the folder of a Python environment.
        only: parts of the campaign alone: ``{"framework": "pytorch", "devices": "1n1g"}``.
        logs: the folder of both sides' logs; None: the campaign's.
        margin: changes within this share do not matter: 0.02, or ``"2%"``.
        max_runs: a case is undecided after so many runs a side; None: 30.
        max_hours: cases are undecided after so many hours of training; None: no limit.
        seed: of the random order within each round; None: drawn and recorded.
        hostfile: hosts of runs on several nodes, one a line.
        remote: the words that start a command on ``{host}``; none: ssh.
        retry_failed: run again what failed.
        observer: is told of every run and every look; None: nobody is.

    Returns:
        Every case with its verdict, ratio and interval, and the folders of the logs.

    Raises:
        perflog.errors.UsageError: for a campaign, a side or an option that is not right, a missing environment, or a
            folder that holds other logs or a measurement by another rule.
    """
    from perflog.campaign.deciding import measure as run_measurement
    from perflog.campaign.versus import MAX_RUNS, Budget, plan_measurement
    from perflog.compare.rule import share

    plan = plan_measurement(
        campaign, against, only=texts(only), logs=logs, hostfile=hostfile, remote=remote, seed=seed,
        budget=Budget(MAX_RUNS if max_runs is None else max_runs, max_hours), margin=share(margin, "margin"),
    )  # fmt: skip
    return Measurement(run_measurement(plan, retry_failed=retry_failed, observer=observer), plan.margin)
