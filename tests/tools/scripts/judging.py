"""perflog's number of a script's log, held against the script's clock."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path

from perflog.extraction import Extraction, extract_paths
from perflog.formats.catalog import Catalog, load_catalog
from perflog.formats.printed import kind
from perflog.settings.options import Options
from tests.tools.scripts.loop import Holds, Loop, Script

#: How far a number may be from the truth.
NEAR = 0.02


class Verdict(Enum):
    """What perflog made of a log: whether that is right, and whether more could be had."""

    RIGHT = "right"
    MARKED = "wrong, marked, with the true number beside it"
    MISSED = "reason, though the log holds a number"
    REFUSED = "reason, rightly"
    NONE = "none expected and none given"
    WRONG = "wrong"
    INVENTED = "invented"

    @property
    def is_fault(self) -> bool:
        return self in (Verdict.WRONG, Verdict.INVENTED)


@dataclass(frozen=True, slots=True)
class Judged:
    """A script's log, read: ``said`` is each value with its unit and truth, or the first reason."""

    script: Script
    verdict: Verdict
    said: str
    #: Who read it: the names of the parsers.
    by: str

    @property
    def gave_a_number(self) -> bool:
        return self.verdict not in (Verdict.MISSED, Verdict.REFUSED, Verdict.NONE)


@lru_cache(maxsize=1)
def _catalog() -> Catalog:
    return load_catalog()


def judged(script: Script, folder: Path, seed: int = 0) -> Judged:
    """Train, write the log into a folder of its own, have it read, and judge."""
    loop = script.trained(seed)
    place = folder / f"{script.name}-{seed}"
    place.mkdir(parents=True, exist_ok=True)
    (place / "train.log").write_text(loop.text, encoding="utf-8")
    return _judge(script, loop, extract_paths([place], Options(), _catalog()))


def _judge(script: Script, loop: Loop, extraction: Extraction) -> Judged:
    values = [run for run in extraction.runs if run.value is not None]
    by = ", ".join(dict.fromkeys(run.parser for run in extraction.runs))
    if not values:
        reasons = [run.throughput.reason for run in extraction.runs] + [one.reason for one in extraction.skipped]
        return Judged(script, _without_a_value(script.holds), reasons[0] if reasons else "no reason", by)
    said, near, marked = [], [], []
    for run in values:
        assert run.value is not None
        counted = kind(run.throughput.unit).partition("/")[0]
        truths = _truths(script, loop, {"items": "samples"}.get(counted, counted))
        near.append(_near(run.value, truths))
        marked.append(near[-1] or any(_near(note.other, truths) for note in run.notes if note.undecided))
        said.append(f"{run.value:.5g} {run.throughput.unit} ({' or '.join(f'{t:.5g}' for t in truths) or 'no truth'})")
    verdict = Verdict.RIGHT if all(near) else Verdict.MARKED if all(marked) else Verdict.WRONG
    return Judged(script, Verdict.INVENTED if script.holds is Holds.NONE else verdict, "; ".join(said), by)


def _truths(script: Script, loop: Loop, unit: str) -> list[float]:
    """The true speeds in a unit: of the training, and of what no line tells from it."""
    kinds = ["training", *(["computing"] if script.computing else []), *(["loop"] if script.untold else [])]
    return [speed for of in kinds if (speed := loop.speeds(of).get(unit)) is not None]


def _near(value: float | None, truths: list[float]) -> bool:
    return value is not None and any(abs(value / truth - 1) <= NEAR for truth in truths)


def _without_a_value(holds: Holds) -> Verdict:
    if holds is Holds.NONE:
        return Verdict.NONE
    return Verdict.REFUSED if holds is Holds.OPTION else Verdict.MISSED
