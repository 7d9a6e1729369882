"""Mutated logs through the whole extraction and both engines: ``python -m tests.tools.fuzz --count 20000 --seed 0``.

Batches of 24 logs (:mod:`tests.tools.mutations`) are extracted together, in 20 % of them with all outputs; one log of
each is extracted by itself too, and the texts of one batch in 96 go through both engines. Prints a table of what was
tried, and everything that should not be, with the batch that makes it again; exit status 1 where there is any.
``--state FILE`` keeps the counts and goes on where the last call ended; ``--replay BATCH FOLDER`` writes a batch's logs.
"""

from __future__ import annotations

import argparse
import atexit
import json
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path

from perflog.export.encoding import encoded
from perflog.formats.catalog import load_catalog
from perflog.settings.options import Options
from tests.tools.engines import Engines
from tests.tools.fuzz_checks import Mutant, differences, faults_of, metric_faults
from tests.tools.fuzz_seeds import GIVEN, Said, Seed, by_folder, extracted, letters, logs, options_of, seeds
from tests.tools.mutations import MUTATIONS

#: Logs of one extraction; in how many of them all outputs are made; of how many both engines are compared.
TOGETHER, OUTPUTS, ENGINES = 24, 0.2, 1 / 96
FORMATS = ("json", "csv", "markdown", "table")
#: In so many of those also the terminal's table, which takes as long as all else.
TABLES = 0.1
#: A batch that takes more seconds of processor time than this is reported.
SLOW = 60.0
#: So many logs that say no number are among those that do.
WITHOUT_NUMBER = 0.05
#: Both engines are compared on texts up to this size.
_ENGINE_BYTES = 300_000
#: Where batches are written: in memory where the system has such a folder.
_SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None


#: Takes a mutation's name, the kind of fault, its words and the log.
Report = Callable[[str, str, str, str], None]


@dataclass(frozen=True, slots=True)
class Laboratory:
    """What every batch needs."""

    folder: Path
    numbered: Sequence[Sequence[Seed]]
    silent: Sequence[Seed]
    options: Sequence[Options]
    engines: Engines


@dataclass(slots=True)
class Tally:
    """What was tried and what was found, by mutation."""

    tried: Counter[str] = field(default_factory=Counter)
    numbers: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    also: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for mine, theirs in ((self.tried, other.tried), (self.numbers, other.numbers), (self.found, other.found),
                             (self.also, other.also)):  # fmt: skip
            mine.update(theirs)
        self.lines += other.lines


def texts(seed: int, count: int) -> Iterator[tuple[str, list[bytes]]]:
    """Batches of mutated logs, each with its name, for programs that take texts (:mod:`tests.tools.sanitize`)."""
    sources = list(logs().values())
    for number in range(0, count, TOGETHER):
        rng = random.Random(f"texts {seed} {number}")
        batch = []
        for _ in range(min(TOGETHER, count - number)):
            (mutation,) = rng.choices(MUTATIONS, [each.weight for each in MUTATIONS])
            log, other = rng.choice(sources)[:20_000], rng.choice(sources)[:20_000]
            batch.append(mutation.mutate(rng, log, other))
        yield f"{seed} {number}", batch


def mutants(lab: Laboratory, seed: int, batch: int) -> tuple[int, list[Mutant]]:
    """(which options, the mutated logs) of a batch."""
    rng = random.Random(f"{seed} {batch}")
    given = rng.randrange(len(GIVEN))
    made = []
    for _ in range(TOGETHER):
        source = lab.silent if rng.random() < WITHOUT_NUMBER else lab.numbered[given]
        log, other = rng.choice(source), rng.choice(lab.numbered[given])
        (mutation,) = rng.choices(MUTATIONS, [each.weight for each in MUTATIONS])
        made.append(Mutant(log, other, mutation, mutation.mutate(rng, log.data, other.data)))
    return given, made


def written(folder: Path, batch: Sequence[Mutant]) -> list[Path]:
    """Write each log below a folder of its own, under the path that it has below its root; these folders."""
    folders = []
    for place, mutant in enumerate(batch):
        file = folder / letters(place) / mutant.seed.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(mutant.data)
        folders.append(folder / letters(place))
    return folders


def try_batch(lab: Laboratory, seed: int, batch: int) -> Tally:
    """Extract a batch and check everything."""
    tally = Tally()
    given, made = mutants(lab, seed, batch)
    rng = random.Random(f"checks {seed} {batch}")
    with tempfile.TemporaryDirectory(dir=lab.folder) as scratch:
        folders = written(Path(scratch), made)
        began = time.process_time()
        try:
            _check_batch(lab, made, folders, given, rng, partial(_report, tally, f"{seed} {batch}"), tally)
        except Exception as error:
            _report(tally, f"{seed} {batch}", "all", "exception", f"{type(error).__name__}: {str(error)[:300]}", "")
        seconds = time.process_time() - began
    if seconds > SLOW:
        names = ", ".join(sorted({mutant.mutation.name for mutant in made}))
        _report(tally, f"{seed} {batch}", "all", "slow", f"{seconds:.0f} s of processor time: {names}", "")
    return tally


def _report(tally: Tally, name: str, mutation: str, kind: str, words: str, place: str) -> None:
    tally.found[f"{mutation}|{kind}"] += 1
    tally.lines.append(f"batch {name} {place}: {mutation}: {kind}: {words}")


def _check_batch(
    lab: Laboratory, made: Sequence[Mutant], folders: Sequence[Path], given: int, rng: random.Random, report: Report,
    tally: Tally,
) -> None:  # fmt: skip
    extraction = extracted(folders, lab.options[given])
    said = by_folder(extraction, folders)
    for mutant, folder in zip(made, folders, strict=True):
        name, place = mutant.mutation.name, f"{folder.name} ({mutant.seed.path})"
        tally.tried[name] += 1
        tally.numbers[name] += bool(said[folder].values)
        reread = partial(_reread, folder, mutant, lab.options[given])
        for kind, words in faults_of(mutant, said[folder], given, reread):
            report(name, kind, words, place)
    names = {str(folder): mutant for folder, mutant in zip(folders, made, strict=True)}
    for key, kind, words in metric_faults(extraction):
        report(names[key].mutation.name, kind, words, f"{Path(key).name} ({names[key].seed.path})")
    if rng.random() < OUTPUTS:
        tally.also["batches in all outputs"] += 1
        for form in FORMATS if rng.random() < TABLES else FORMATS[:-1]:
            _check_output(encoded(extraction, form, 200), form, report)
    picked = rng.randrange(len(folders))
    alone = by_folder(extracted([folders[picked]], lab.options[given]), [folders[picked]])
    tally.also["logs alone too"] += 1
    if "same text" not in "".join(said[folders[picked]].kinds):
        for words in differences(said[folders[picked]], alone[folders[picked]]):
            report(made[picked].mutation.name, "not alone", words, folders[picked].name)
    if rng.random() < ENGINES:
        short = [mutant.data for mutant in made if len(mutant.data) < _ENGINE_BYTES]
        tally.also["logs through both engines"] += len(short)
        for words in lab.engines.differences(short):
            report("all", "engines differ", words, "")


def _reread(folder: Path, mutant: Mutant, chosen: Options, data: bytes) -> Said:
    """What other bytes say under a mutant's path."""
    file = folder / mutant.seed.path
    file.write_bytes(data)
    said = by_folder(extracted([folder], chosen), [folder])[folder]
    file.write_bytes(mutant.data)
    return said


def _check_output(output: str | bytes, form: str, report: Report) -> None:
    text = output if isinstance(output, str) else output.decode("utf-8")
    if form == "json":
        json.loads(text, parse_constant=lambda name: report("all", "no number", f"{name} in JSON", ""))


@lru_cache(maxsize=1)
def laboratory() -> Laboratory:
    """The seeds, read once in each process; everything is written below a folder that ends with the process."""
    warnings.simplefilter("error")
    folder = Path(tempfile.mkdtemp(dir=_SCRATCH, prefix="perflog-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    known = seeds(folder / "seeds")
    numbered = [[seed for seed in known if seed.said[given].values] for given in range(len(GIVEN))]
    silent = [seed for seed in known if not any(said.values for said in seed.said)]
    return Laboratory(folder, numbered, silent, [options_of(given) for given in GIVEN], Engines(load_catalog()))


def _tried_in_a_process(seed: int, batch: int) -> Tally:
    return try_batch(laboratory(), seed, batch)


def tallies(seed: int, batches: range, processes: int) -> Iterator[Tally]:
    """The tally of each batch, in their order."""
    if processes <= 1:
        yield from (try_batch(laboratory(), seed, batch) for batch in batches)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield from pool.map(partial(_tried_in_a_process, seed), batches, chunksize=4)


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


def load(state: Path | None, seed: int) -> tuple[int, Tally]:
    """(the next batch, the counts so far) of a state's file; nothing where there is none, or of another seed."""
    if state is None or not state.is_file():
        return 0, Tally()
    kept = json.loads(state.read_text())
    if kept["seed"] != seed:
        return 0, Tally()
    counts = [Counter(kept[name]) for name in ("tried", "numbers", "found", "also")]
    return kept["next"], Tally(counts[0], counts[1], counts[2], counts[3], kept["lines"])


def keep(state: Path, seed: int, following: int, tally: Tally) -> None:
    document: Mapping[str, object] = {
        "seed": seed, "next": following, "tried": tally.tried, "numbers": tally.numbers, "found": tally.found,
        "also": tally.also, "lines": tally.lines,
    }  # fmt: skip
    new = state.with_suffix(".new")
    new.write_text(json.dumps(document))
    new.replace(state)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="how many mutated logs (default: 20000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the first batch of 24, to go on where another run ended")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--state", type=Path, help="a file that keeps the counts of several runs")
    parser.add_argument("--replay", nargs=2, metavar=("BATCH", "FOLDER"), help="write a batch's logs and try them")
    given = parser.parse_args()
    if given.replay:
        return replay(given.seed, int(given.replay[0]), Path(given.replay[1]))
    first, tally = load(given.state, given.seed)
    first = max(first, given.first)
    began = time.monotonic()
    batches = range(first, first + -(-given.count // TOGETHER))
    for batch, result in zip(batches, tallies(given.seed, batches, given.processes), strict=True):
        tally.add(result)
        print("\n".join(result.lines), end="\n" if result.lines else "", flush=True)
        if given.state and ((batch + 1) % 20 == 0 or batch == batches[-1]):
            keep(given.state, given.seed, batch + 1, tally)
    seconds = time.monotonic() - began
    print("\n".join(table(tally)))
    print("; ".join(f"{name}: {count}" for name, count in tally.also.items()))
    print(f"seed {given.seed}, batches {first} to {batches.stop - 1}, {len(batches) * TOGETHER / seconds:.0f} logs/s")
    return 1 if tally.found else 0


def replay(seed: int, batch: int, folder: Path) -> int:
    """Write the logs of a batch into a folder, and say what is found in them."""
    chosen, made = mutants(laboratory(), seed, batch)
    for place, mutant in zip(written(folder, made), made, strict=True):
        print(f"{place.name}: {mutant.mutation.name}: {mutant.seed.path}")
    print(f"options: {GIVEN[chosen]}")
    result = try_batch(laboratory(), seed, batch)
    print("\n".join(result.lines))
    return 1 if result.found else 0


if __name__ == "__main__":
    sys.exit(main())
