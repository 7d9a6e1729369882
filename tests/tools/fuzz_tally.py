"""What mutated logs were tried and what was found in them (see :mod:`tests.tools.fuzz`)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.tools.mutations import MUTATIONS


@dataclass(slots=True)
class Tally:
    """What was tried and what was found, by mutation.

    Attributes:
        tried: logs; ``numbers``: those with a throughput.
        found: what should not be, by mutation and kind; ``lines``: the same in words, with the batch of each.
        also: what else was tried.
        seconds: the processor time that it took.
    """

    tried: Counter[str] = field(default_factory=Counter)
    numbers: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    also: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: Tally) -> None:
        for mine, theirs in ((self.tried, other.tried), (self.numbers, other.numbers), (self.found, other.found),
                             (self.also, other.also)):  # fmt: skip
            mine.update(theirs)
        self.lines += other.lines
        self.seconds += other.seconds

    def report(self, batch: str, mutation: str, kind: str, words: str, place: str) -> None:
        """Note something that should not be."""
        self.found[f"{mutation}|{kind}"] += 1
        self.lines.append(f"batch {batch} {place}: {mutation}: {kind}: {words}")

    def summary(self) -> str:
        """So many logs and findings in one line."""
        rate = self.tried.total() / self.seconds if self.seconds else 0.0
        return (
            f"{self.tried.total()} logs, {self.numbers.total()} with a number, {self.found.total()} findings, "
            f"{rate:.0f} logs per second of processor time"
        )


def table(tally: Tally) -> Iterator[str]:
    """The table of a run, in Markdown."""
    kinds = sorted({key.split("|")[1] for key in tally.found})
    yield "| group | mutation | logs | with a number | " + "".join(f"{kind} | " for kind in kinds)
    yield "|---|---|--:|--:|" + "--:|" * len(kinds)
    for mutation in MUTATIONS:
        counts = "".join(f"{tally.found[f'{mutation.name}|{kind}']} | " for kind in kinds)
        yield (
            f"| {mutation.group} | {mutation.name} | {tally.tried[mutation.name]} | {tally.numbers[mutation.name]} "
            f"| {counts}"
        )
    totals = "".join(f"{sum(n for key, n in tally.found.items() if key.endswith(f'|{kind}'))} | " for kind in kinds)
    yield f"| | all | {tally.tried.total()} | {tally.numbers.total()} | {totals}"


def load(state: Path | None, seed: int, together: int) -> tuple[int, Tally]:
    """(the next batch, the counts so far) of a state's file; nothing where there is none.

    Raises:
        SystemExit: where the file is of another seed, or its batches were of another size.
    """
    if state is None or not state.is_file():
        return 0, Tally()
    kept = json.loads(state.read_text())
    if (kept["seed"], kept["together"]) != (seed, together):
        raise SystemExit(
            f"{state} counts batches of {kept['together']} logs with seed {kept['seed']}, not of {together} with seed "
            f"{seed}: name that seed, or another file"
        )
    counts = [Counter(kept[name]) for name in ("tried", "numbers", "found", "also")]
    return kept["next"], Tally(counts[0], counts[1], counts[2], counts[3], kept["lines"], kept["seconds"])


def keep(state: Path, seed: int, together: int, following: int, tally: Tally) -> None:
    """Write the counts; the file is always whole, the old or the new one."""
    document: Mapping[str, object] = {
        "seed": seed, "together": together, "next": following, "tried": tally.tried, "numbers": tally.numbers,
        "found": tally.found, "also": tally.also, "lines": tally.lines, "seconds": tally.seconds,
    }  # fmt: skip
    new = state.with_suffix(".new")
    new.write_text(json.dumps(document))
    new.replace(state)
