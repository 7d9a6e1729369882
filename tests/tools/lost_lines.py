"""How many logs keep their number when one line of them is lost: ``python -m tests.tools.lost_lines``.

Of every log of the parsers' fixtures that has a number, one measured line is taken out: the one in the middle, or with
``--tenths`` one at each tenth, each in a log of its own. A number is kept where it stays within 1 %.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support import FIXTURES, catalog
from tests.tools.faults import measured_lines
from tests.tools.faults_of_logs import without_line
from tests.tools.laboratory import Doubt, Laboratory, copied, subjects

#: A number that moved by no more than this share is kept.
SAME = 0.01
MIDDLE, TENTHS = (0.5,), tuple(tenth / 10 for tenth in range(1, 10))


class Loss(NamedTuple):
    """What became of a log without one line: its number before, its number now, why it has none, its doubts.

    ``line``: the number of the line, from 1; ``of``: how many lines of the log are measured.
    """

    name: str
    line: int
    of: int
    before: float
    now: float | None
    reason: str
    doubts: Sequence[Doubt] = ()

    @property
    def kept(self) -> bool:
        return self.now is not None and abs(self.now / self.before - 1) <= SAME


def losses(shares: Sequence[float]) -> Iterator[Loss]:
    """What becomes of each log of the fixtures without its measured line at each of the shares."""
    with tempfile.TemporaryDirectory() as scratch:
        clean = Path(scratch) / "clean"
        lab = Laboratory(copied(clean, [FIXTURES / "parsers"]), ["total"])
        chosen = list(subjects(clean, lab.given, lab.results(clean, catalog())))
        for share in shares:
            folder = Path(scratch) / "lost"
            lines: dict[str, tuple[int, int]] = {}
            for subject in chosen:
                lost = without_line(subject, share)
                if lost is not None:
                    (folder / subject.name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / subject.name).write_bytes(lost[1].encode("latin-1"))
                    lines[subject.name] = lost[0] + 1, len(measured_lines(subject))
            results = lab.results(folder, catalog())
            for subject in chosen:
                if subject.name not in lines:
                    continue
                result = results[subject.name]
                if not result.runs:
                    yield Loss(subject.name, *lines[subject.name], subject.value, None, result.skipped)
                    continue
                made = result.runs["total"]
                metric = made[-1].run.throughput
                several = f"{len(made)} runs" if len(made) > 1 else ""
                now = metric.value if metric.unit == subject.unit else None
                unit = "" if metric.unit == subject.unit or metric.value is None else f"in {metric.unit}"
                yield Loss(
                    subject.name,
                    *lines[subject.name],
                    subject.value,
                    now,
                    metric.reason or unit or several,
                    made[-1].doubts,
                )
            shutil.rmtree(folder)


def report(found: Sequence[Loss]) -> Iterator[str]:
    """The logs that lose their number, by the reason with its numbers left out, the commonest reason first."""
    lost = [loss for loss in found if not loss.kept]
    yield f"{len(found)} logs, each without one line: {len(found) - len(lost)} keep their number within 1 % ({1 - len(lost) / max(len(found), 1):.1%})"
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
