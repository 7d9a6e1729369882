"""An old program held against this one, from the log to the JSON: ``python -m tests.tools.against OLD_CHECKOUT``.

Mutated logs, 384 at a time, are extracted by both, with all that ``--format json`` gives of them: facts, notes, lines,
evidence, reasons. Some of each batch are extracted alone too, and explained. ``--whole`` takes the logs at hand as they
are instead, each under every estimator. Prints every difference with its place in the JSON, keeps the mutated logs that
differ, and ends with a count; exit status 1 where there is any difference.

Each program is a checkout, with its compiled scanner where it has one, run by this interpreter: it imports once, and
forks for each command (:mod:`tests.forks`).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from perflog.settings.options import ESTIMATORS
from tests import forks
from tests.support import CORPUS, FIXTURES, ROOT, SHARED, parser_fixtures
from tests.tools.fuzz_batch import AS_MANY_BYTES, SCRATCH, TOGETHER
from tests.tools.fuzz_seeds import BEGINNINGS, GIVEN, LONGEST, Places, beginning, logs
from tests.tools.mutations import MUTATIONS, odd_words

#: So many of each batch are extracted alone too, and so many explained.
ALONE, EXPLAINED = 4, 8
#: The shares of logs that stay as they are, and of those with a few odd words in them.
UNHARMED, LITTLE = 0.05, 0.25
WHOLE = (FIXTURES, ROOT / "tests" / "upstream" / "logs", CORPUS, SHARED / "seeds")

#: A log, empty where it is all of them, and in what it differs.
Difference = tuple[str, str]


class Programs:
    """Both programs, run beside each other with the same arguments in the same folder."""

    def __init__(self, old: Path, folder: Path, within: float) -> None:
        self.folder, self._checkouts, self._within = folder, (old, ROOT), within
        self._pool = ThreadPoolExecutor(2)

    def differences(self, *arguments: str) -> list[Difference]:
        """In what a command's JSON, status and messages differ."""
        old, new = self._pool.map(lambda checkout: self._ran(checkout, arguments), self._checkouts)
        one, other = by_log(old.stdout), by_log(new.stdout)
        one[""] |= {"status": old.returncode, "stderr": old.stderr}
        other[""] |= {"status": new.returncode, "stderr": new.stderr}
        every = dict.fromkeys([*one, *other])
        return [(log, words) for log in every for words in changes(one.get(log), other.get(log), self._within)]

    def _ran(self, checkout: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        env = {"PERFLOG_THREADS": "1", "PERFLOG_DEBUG": ""}
        return forks.perflog(*arguments, "--format", "json", cwd=self.folder, env=env, checkout=checkout)


def by_log(text: str) -> dict[str, Any]:
    """A document by the logs that it is about; under no name what is about all of them, and their order."""
    try:
        document = json.loads(text)
    except ValueError:
        return {"": {"output": text}}
    document.pop("perflog", None)
    found: defaultdict[str, Any] = defaultdict(lambda: defaultdict(list))
    order: list[list[str]] = []
    document["order"] = order
    for case in document.pop("cases", ()):
        runs = case.pop("runs")
        order.append([_name(run["source"]) for run in runs])
        found[order[-1][0]]["cases"].append(case)
        for run in runs:
            found[_name(run["source"])]["runs"].append(run)
    for kind in ("skipped", "logs"):
        for log in document.pop(kind, ()):
            order.append([_name(log)])
            found[_name(log)][kind].append(log)
    return {**found, "": document}


def _name(source: dict[str, Any]) -> str:
    return f"{source['file']}:{source['member']}" if source["member"] else str(source["file"])


def changes(old: Any, new: Any, within: float = 0.0, place: str = "") -> Iterator[str]:
    """What differs between two values of JSON, a line each: the path, and both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from changes(old.get(key, "lacking"), new.get(key, "lacking"), within, f"{place}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from changes(one, other, within, f"{place}[{number}]")
    elif isinstance(old, float) and isinstance(new, float) and math.isclose(old, new, rel_tol=within):
        return
    elif type(old) is not type(new) or old != new:
        yield f"{place.lstrip('.')}: {json.dumps(old, ensure_ascii=False)} → {json.dumps(new, ensure_ascii=False)}"


def batch_of(seed: int, number: int, together: int, sources: Sequence[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """(path, bytes) of each mutated log of a batch; short logs are drawn more often than long ones."""
    rng = random.Random(f"against {seed} {number}")
    weights = [1 / (AS_MANY_BYTES + len(data)) for _, data in sources]
    batch = []
    for _ in range(together):
        (path, log), (_, other) = rng.choices(sources, weights, k=2)
        log, other = (beginning(data, rng.choice((*BEGINNINGS, LONGEST))) for data in (log, other))
        kind = rng.random()
        if UNHARMED <= kind < UNHARMED + LITTLE:
            log = odd_words(rng, log, other)
        elif kind >= UNHARMED:
            (mutation,) = rng.choices(MUTATIONS, [each.weight for each in MUTATIONS])
            log = mutation.mutate(rng, log, other)
        batch.append((path, log))
    return batch


def try_mutated(programs: Programs, kept: Path, seed: int, count: int) -> Iterator[list[str]]:
    """The differences of each batch, a line each; the logs that differ are kept in a folder of the batch."""
    folder, places, sources = programs.folder, Places(programs.folder), list(logs().items())
    for number, start in enumerate(range(0, count, TOGETHER)):
        batch = batch_of(seed, number, min(TOGETHER, count - start), sources)
        folders = [str(place.relative_to(folder)) for place in places.written(batch)]
        rng = random.Random(f"choices {seed} {number}")
        chosen = [word for key, value in rng.choice(GIVEN).items() for word in ("-s", f"{key}={value}")]
        calls = [["extract", *folders]] + [["extract", log] for log in rng.sample(folders, min(ALONE, len(folders)))]
        calls.append(["explain", *rng.sample(folders, min(EXPLAINED, len(folders)))])
        differences = []
        for call in calls:
            found = programs.differences(*call, *chosen)
            how = " ".join([call[0], "alone" if call[0] == "extract" and len(call) == 2 else "together", *chosen])
            for log in {log for log, _ in found if log}:
                _keep(folder, log, kept / f"{seed}-{number}")
            differences += [f"{kept / f'{seed}-{number}' / log} {how}: {words}" for log, words in found]
        yield differences


def _keep(folder: Path, log: str, kept: Path) -> None:
    file = log if (folder / log).is_file() else log.rpartition(":")[0]  # without the member of an archive
    (kept / file).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / file, kept / file)


def try_whole(programs: Programs, estimators: Sequence[str]) -> Iterator[list[str]]:
    """The differences in the logs as they are, and in fixtures with the options that each asks for."""
    calls: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for root in filter(Path.is_dir, WHOLE):
        calls[(str(root),)].append(str(root))
    for _, log, side in parser_fixtures():
        if wanted := side.get("options"):
            calls[tuple(wanted)].append(str(log))
    for wanted, these in calls.items():
        given = [] if these == [*wanted] else [*wanted]
        for estimator in estimators:
            chosen = given if "--estimator" in given else [*given, "--estimator", estimator]
            found = programs.differences("extract", *these, *chosen)
            yield [f"{log or these[0]} {' '.join(chosen)}: {words}" for log, words in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD_CHECKOUT", type=Path)
    parser.add_argument("--count", type=int, default=20_000, help="how many mutated logs (default: 20000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whole", action="store_true", help="the logs at hand as they are, under every estimator")
    parser.add_argument(
        "--estimators", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS), help="those that the old program has"
    )
    parser.add_argument(
        "--within", type=float, default=0.0, help="numbers as near as this share are equal (default: 0)"
    )
    parser.add_argument("--keep", metavar="FOLDER", type=Path, default=Path("build/against"), help="(build/against)")
    given = parser.parse_args()
    count = 0
    with tempfile.TemporaryDirectory(dir=SCRATCH, prefix="perflog-against-") as name:
        programs = Programs(given.old.resolve(), Path(name), given.within)
        mutated_logs = partial(try_mutated, programs, given.keep, given.seed, given.count)
        for differences in try_whole(programs, given.estimators) if given.whole else mutated_logs():
            count += len(differences)
            print("\n".join(differences), end="\n" if differences else "", flush=True)
    print(f"{count} differences in {'the logs at hand' if given.whole else f'{given.count} mutated logs'}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
