"""Who is told how a campaign goes on; imports nothing that reads logs, so that a command line can name it early."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perflog.campaign.completion import Completion
    from perflog.campaign.looks import CaseLook
    from perflog.campaign.plan import Job
    from perflog.campaign.versus import Versus
    from perflog.compare.rule import Stopping


class Observer:
    """Is told how a campaign goes on. This one does nothing; a caller gives one of its own."""

    def tell(self, text: str) -> None:
        """At any moment: something odd about the campaign as a whole, in one line."""

    def begin(self, total: int, done: int, cut: int) -> None:
        """Before the first job: of ``total`` jobs ``done`` are in the folder, and ``cut`` were cut off before."""

    def begin_job(self, job: Job, seconds: Mapping[Job, float]) -> None:
        """Before a job; ``seconds``: what it and those behind it may take, empty where nothing is known yet."""

    def tick(self) -> None:
        """Several times a second while a job runs."""

    def end_job(self, job: Job, completion: Completion) -> None:
        """After a job's log has got its final name."""

    def end(self) -> None:
        """After the last job, also when one could not be started or the campaign is interrupted."""


class RoundObserver(Observer):
    """Is told how a measurement of two sides goes on. This one does nothing; a caller gives one of its own."""

    def begin_measurement(self, plan: Versus, rule: Stopping, looks: Sequence[CaseLook], cut: int) -> None:
        """Before the first round; ``cut``: runs that were cut off before."""

    def begin_round(self, number: int, cases: Sequence[str]) -> None:
        """Before a round of these cases."""

    def begin_run(self, side: str, job: Job) -> None:
        """Before a run."""

    def end_run(self, side: str, job: Job, completion: Completion) -> None:
        """After a run's log has got its final name."""

    def end_round(self, number: int, looks: Sequence[CaseLook]) -> None:
        """After a round: what is decided now."""
