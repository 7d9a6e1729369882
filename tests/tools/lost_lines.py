"""How many logs keep their number when one line of them is lost: ``python -m tests.tools.lost_lines``.

Of every log of the parsers' fixtures that has a number, one measured line is taken out: the one in the middle, or with
``--tenths`` one at each tenth, each in a log of its own. A number is kept where it stays within 1 %, or is that of the
other lines.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.support import FIXTURES, catalog
from tests.tools.faults import measured_lines
from tests.tools.faults_of_logs import line_lost, without_line
from tests.tools.laboratory import Doubt, Laboratory, Result, Subject, copied, subjects

#: A number that moved by no more than this share is kept.
SAME = 0.01
MIDDLE, TENTHS = (0.5,), tuple(tenth / 10 for tenth in range(1, 10))


class Loss(NamedTuple):
    """What became of a log without one line: its number before, its number now, why it has none, its doubts.

    ``line``: the number of the line, from 1; ``of``: how many lines of the log are measured; ``others``: the number of
    the other lines' measurements, which is another one where the lost line's steps took longer or less long.
    """

    name: str
    line: int
    of: int
    before: float
    others: float
    now: float | None
    reason: str
    doubts: Sequence[Doubt] = ()

    @property
    def kept(self) -> bool:
        return self.now is not None and any(abs(self.now / one - 1) <= SAME for one in (self.before, self.others))


def without_record(subject: Subject, line: int) -> float:
    """The throughput by the total of all measurements of a log but that of one line."""
    estimate, factor = subject.measured.taken.estimate, subject.measured.factor
    work, time = estimate.work, estimate.time
    for rows in subject.measured.segment.store.blocks():
        inside = rows[:, subject.measured.taken.holds(rows) & (rows[5] == line)]
        work, time = work - float(inside[4].sum()), time - float(inside[3].sum())
    return work / time * factor if time > 0 else 0.0


def losses(shares: Sequence[float], every: int = 1) -> Iterator[Loss]:
    """What becomes of each log of the fixtures, of each so many-th format, without its measured line at each of the
    shares.
    """
    with tempfile.TemporaryDirectory() as scratch:
        clean = Path(scratch) / "clean"
        lab = Laboratory(copied(clean, sorted((FIXTURES / "parsers").iterdir())[::every]), ["total"])
        chosen = list(subjects(clean, lab.given, lab.results(clean, catalog())))
        for share in shares:
            became_of = lab.with_fault(chosen, partial(line_lost, share=share), Path(scratch) / "lost")
            for subject in chosen:
                if subject.name in became_of and (lost := without_line(subject, share)):
                    _, result = became_of[subject.name]
                    assert result is not None, subject.name
                    yield _loss(subject, lost[0] + 1, result)


def _loss(subject: Subject, line: int, result: Result) -> Loss:
    loss = Loss(
        subject.name,
        line,
        len(measured_lines(subject)),
        subject.value,
        without_record(subject, line),
        None,
        result.skipped,
    )
    if not result.runs:
        return loss
    (*more, made) = result.runs["total"]
    metric = made.run.throughput
    if more:
        return loss._replace(reason=f"{len(more) + 1} runs")
    if metric.value is not None and metric.unit != subject.unit:
        return loss._replace(reason=f"in {metric.unit}")
    return loss._replace(now=metric.value, reason=metric.reason, doubts=made.doubts)


def report(found: Sequence[Loss]) -> Iterator[str]:
    """The logs that lose their number, by the reason with its numbers left out, the commonest reason first."""
    lost = [loss for loss in found if not loss.kept]
    yield f"{len(found)} logs, each without one line: {len(found) - len(lost)} keep their number ({1 - len(lost) / max(len(found), 1):.1%})"
    by_reason: defaultdict[str, list[Loss]] = defaultdict(list)
    for loss in lost:
        by_reason[re.sub(r"\d[\d.,e+]*", "#", loss.reason) if loss.now is None else "another number"].append(loss)
    for reason, of_reason in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        yield f"\n{len(of_reason)} × {reason}"
        for loss in of_reason:
            now = (
                loss.reason
                if loss.now is None
                else f"{loss.before:.6g} → {loss.now:.6g} ({loss.now / loss.before - 1:+.1%}) {loss.reason}{'; '.join(doubt.text for doubt in loss.doubts) or 'nothing is said'}"
            )
            yield f"  {loss.name} without line {loss.line} ({loss.of} are measured): {now}"


def main() -> int:
    arguments_of = argparse.ArgumentParser(description=__doc__)
    arguments_of.add_argument("--tenths", action="store_true", help="a line at each tenth of each log")
    found = list(losses(TENTHS if arguments_of.parse_args().tenths else MIDDLE))
    print("\n".join(report(found)))
    return int(any(not loss.kept for loss in found))


if __name__ == "__main__":
    sys.exit(main())
