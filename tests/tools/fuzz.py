"""Mutated logs through the whole extraction and both engines: ``python -m tests.tools.fuzz --count 20000 --seed 0``.

Batches of 384 logs (:mod:`tests.tools.mutations`) are extracted together, in 20 % of them with all outputs; eight logs
of each are extracted by themselves too, and 48 texts of one batch in 48 go through both engines. Prints a table of
what was tried, and everything that should not be, with the batch that makes it again; exit status 1 where there is any.
``--state FILE`` keeps the counts after each batch and goes on where the last call ended, by SIGTERM too;
``--replay BATCH FOLDER`` writes a batch's logs.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.tools.fuzz_batch import TOGETHER, laboratory, mutants, try_batch, written
from tests.tools.fuzz_checks import Tally, keep, load, table
from tests.tools.fuzz_seeds import GIVEN, logs
from tests.tools.mutations import MUTATIONS

#: A line says how far a run is after so many batches.
SAID_EVERY = 25
#: Logs of one batch of :func:`texts`.
_TEXTS_TOGETHER = 24


def texts(seed: int, count: int) -> Iterator[tuple[str, list[bytes]]]:
    """Batches of mutated logs, each with its name, for programs that take texts (:mod:`tests.tools.sanitize`)."""
    sources = list(logs().values())
    for number in range(0, count, _TEXTS_TOGETHER):
        rng = random.Random(f"texts {seed} {number}")
        batch = []
        for _ in range(min(_TEXTS_TOGETHER, count - number)):
            (mutation,) = rng.choices(MUTATIONS, [each.weight for each in MUTATIONS])
            log, other = rng.choice(sources)[:20_000], rng.choice(sources)[:20_000]
            batch.append(mutation.mutate(rng, log, other))
        yield f"{seed} {number}", batch


class Ending:
    """Whether the run was asked to end, by SIGTERM or Ctrl-C: it does so after the batch that it is at."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._ask())

    def _ask(self) -> None:
        self.asked = True


def _tried_in_a_process(seed: int, batch: int) -> Tally:
    return try_batch(laboratory(), seed, batch)


def tallies(seed: int, batches: range, processes: int) -> Iterator[Tally]:
    """The tally of each batch, in their order."""
    if processes <= 1:
        yield from (try_batch(laboratory(), seed, batch) for batch in batches)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        try:
            yield from pool.map(partial(_tried_in_a_process, seed), batches)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="how many mutated logs (default: 20000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the first batch, to go on where another run ended")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--state", type=Path, help="a file that keeps the counts of several runs")
    parser.add_argument("--replay", nargs=2, metavar=("BATCH", "FOLDER"), help="write a batch's logs and try them")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.replay:
        return replay(given.seed, int(given.replay[0]), Path(given.replay[1]))
    ending = Ending()
    first, tally = load(given.state, given.seed, TOGETHER)
    first = max(first, given.first)
    batches = range(first, first + -(-given.count // TOGETHER))
    began, last = time.monotonic(), first - 1
    for last, result in zip(batches, tallies(given.seed, batches, given.processes), strict=True):
        tally.add(result)
        print("\n".join(result.lines), end="\n" if result.lines else "", flush=True)
        if given.state:
            keep(given.state, given.seed, TOGETHER, last + 1, tally)
        if (last + 1) % SAID_EVERY == 0:
            print(f"after batch {last}: {tally.summary()}", flush=True)
        if ending.asked:
            break
    print("\n".join(table(tally)))
    print("; ".join(f"{name}: {count}" for name, count in tally.also.items()))
    minutes = (time.monotonic() - began) / 60
    print(f"seed {given.seed}, batches {first} to {last} in {minutes:.1f} minutes; in all {tally.summary()}")
    return 1 if tally.found else 0


def replay(seed: int, batch: int, folder: Path) -> int:
    """Write the logs of a batch into a folder, each under the name that is reported, and say what is found in them."""
    chosen, made = mutants(laboratory(), seed, batch)
    for place, mutant in zip(written(laboratory().places, made), made, strict=True):
        name = Path(*place.parts[-2:])
        shutil.copytree(place, folder / name)
        print(f"{name}: {mutant.mutation.name}: {mutant.seed.path}")
    print(f"options: {GIVEN[chosen]}")
    result = try_batch(laboratory(), seed, batch)
    print("\n".join(result.lines))
    return 1 if result.found else 0


if __name__ == "__main__":
    sys.exit(main())
