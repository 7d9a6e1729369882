"""Mutated logs through both engines, and through the whole extraction: ``python -m tests.tools.fuzz --count 20000``.

Prints what was tried and every difference with the seed that makes it again; exit status 1 where there is one.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator

from perflog.formats.catalog import load_catalog
from tests.support import CORPUS, FIXTURES
from tests.tools.engines import Engines
from tests.tools.mutate import mutated

#: Logs longer than this are begun with a part of so many bytes: many small ones find more.
LONGEST = 20_000
#: Texts of one call: a fault at the border between two texts is found too.
TOGETHER = 8


def logs() -> list[bytes]:
    """All logs at hand to be mutated: the parsers' fixtures, and the corpus where it is."""
    places = [*sorted((FIXTURES / "parsers").rglob("*")), *(sorted(CORPUS.rglob("*")) if CORPUS.is_dir() else ())]
    files = [file for file in places if file.is_file() and file.suffix not in (".toml", ".md", ".csv", ".png")]
    return [data for file in files if (data := file.read_bytes()) and b"\x00" not in data[:100]]


def texts(seed: int, count: int) -> Iterator[tuple[str, list[bytes]]]:
    """Batches of mutated logs, each with the seed that makes it again."""
    sources = logs()
    for number in range(0, count, TOGETHER):
        rng = random.Random(f"{seed} {number}")
        batch = []
        for _ in range(min(TOGETHER, count - number)):
            log = rng.choice(sources)
            start = rng.randrange(max(1, len(log) - LONGEST))
            batch.append(mutated(log[start : start + LONGEST], rng.choice(sources)[:LONGEST], rng))
        yield f"{seed} {number}", batch


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="how many mutated logs (default: 20000)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    engines = Engines(load_catalog())
    faults = tried = 0
    for name, batch in texts(arguments.seed, arguments.count):
        tried += len(batch)
        for difference in engines.differences(batch):
            faults += 1
            print(f"seed {name}: {difference}", flush=True)
    print(f"{tried} mutated logs through both engines: {faults} differences")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
