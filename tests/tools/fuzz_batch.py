"""One batch of mutated logs: made, extracted together, and checked (see :mod:`tests.tools.fuzz`)."""

from __future__ import annotations

import atexit
import gc
import json
import os
import random
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path

from perflog.extraction import Extraction
from perflog.settings.options import Options
from perflog.show.encoding import encoded
from tests.support import catalog
from tests.tools.engines import Engines
from tests.tools.fuzz_checks import Mutant, Tally, differences, faults_of, metric_faults
from tests.tools.fuzz_seeds import (
    GIVEN,
    SAME_TEXT,
    Places,
    Said,
    Seed,
    by_folder,
    extracted,
    logs,
    options_of,
    short_seeds,
    whole_seeds,
)
from tests.tools.mutations import MUTATIONS, Mutation

#: Logs of one extraction: about as many as perflog matches together.
TOGETHER = 384
#: So many of each batch are read alone too.
ALONE = 8
#: In how many of the batches all outputs are made; in how many both engines are compared, and on how many texts: the
#: engine without a compiler takes 40 times as long as the other.
OUTPUTS, ENGINES, ENGINE_TEXTS = 0.2, 1 / 48, 48
FORMATS = ("json", "csv", "markdown", "table")
#: In so many of those also the terminal's table, which takes as long as all else.
TABLES = 0.1
#: A batch that takes more seconds of processor time than this is reported: it takes one or two.
SLOW = 30.0
#: So many logs that say no number are among those that do.
WITHOUT_NUMBER = 0.05
#: So many logs are mutated whole, the others' beginnings; a short one is drawn more often than a long one: what a log
#: takes is proportional to its size and so many bytes.
WHOLE, AS_MANY_BYTES = 0.05, 2_000
#: Both engines are compared on texts up to this size.
_ENGINE_BYTES = 300_000
#: Where batches are written: in memory where the system has such a folder.
SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None
_WEIGHTS = [mutation.weight for mutation in MUTATIONS]

#: Takes a mutation's name, the kind of fault, its words and the log.
Report = Callable[[str, str, str, str], None]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Logs, and by which sums of weights they are drawn."""

    seeds: Sequence[Seed]
    sums: Sequence[float]

    @classmethod
    def of(cls, seeds: Sequence[Seed]) -> Drawn:
        return cls(seeds, list(accumulate(1 / (AS_MANY_BYTES + len(seed.data)) for seed in seeds)))

    def one(self, rng: random.Random) -> Seed:
        (seed,) = rng.choices(self.seeds, cum_weights=self.sums)
        return seed


@dataclass(frozen=True, slots=True)
class Sources:
    """Logs to be mutated: those with a number, by which of the options are given, and those without."""

    numbered: Sequence[Drawn]
    silent: Drawn

    @classmethod
    def of(cls, seeds: Sequence[Seed]) -> Sources:
        numbered = [[seed for seed in seeds if seed.said[given].values] for given in range(len(GIVEN))]
        silent = [seed for seed in seeds if not any(said.values for said in seed.said)]
        return cls([Drawn.of(each) for each in numbered], Drawn.of(silent))


@dataclass(frozen=True, slots=True)
class Laboratory:
    """What every batch needs."""

    places: Places
    short: Sources
    whole: Sources
    options: Sequence[Options]
    engines: Engines


@lru_cache(maxsize=1)
def laboratory() -> Laboratory:
    """The seeds, read once in each process; everything is written below a folder that ends with the process."""
    warnings.simplefilter("error")
    os.environ.setdefault("PERFLOG_THREADS", "1")
    folder = Path(tempfile.mkdtemp(dir=SCRATCH, prefix="perflog-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    lab = laboratory_in(folder, logs())
    # what was made so far stays: looking through it for what can be freed would take a third of the time
    gc.collect()
    gc.freeze()
    return lab


def laboratory_in(folder: Path, every: Mapping[str, bytes]) -> Laboratory:
    """A laboratory of these logs, by their paths; they and the mutated ones are written below ``folder``."""
    places = Places(folder)
    whole = whole_seeds(places, every)
    short = Sources.of(short_seeds(places, whole))
    return Laboratory(places, short, Sources.of(whole), [options_of(given) for given in GIVEN], Engines(catalog()))


def mutants(lab: Laboratory, seed: int, batch: int, together: int = TOGETHER) -> tuple[int, list[Mutant]]:
    """(which options, the mutated logs) of a batch."""
    rng = random.Random(f"{seed} {batch}")
    given = rng.randrange(len(GIVEN))
    made = []
    for _ in range(together):
        sources = lab.whole if rng.random() < WHOLE else lab.short
        is_silent = rng.random() < WITHOUT_NUMBER and bool(sources.silent.seeds)
        log = (sources.silent if is_silent else sources.numbered[given]).one(rng)
        other = sources.numbered[given].one(rng)
        (mutation,) = rng.choices(MUTATIONS, _WEIGHTS)
        made.append(Mutant(log, other, mutation, mutation.mutate(rng, log.data, other.data)))
    return given, made


def written(places: Places, made: Sequence[Mutant]) -> list[Path]:
    """Write each mutated log below a folder of its own, under the path that it has below its root; these folders."""
    return places.written((mutant.seed.path, mutant.data) for mutant in made)


def try_batch(lab: Laboratory, seed: int, batch: int, together: int = TOGETHER) -> Tally:
    """Extract a batch of so many logs and check everything."""
    tally, began = Tally(), time.process_time()
    given, made = mutants(lab, seed, batch, together)
    report = partial(tally.report, f"{seed} {batch}")
    trial = _Trial(lab, made, written(lab.places, made), lab.options[given], report)
    rng = random.Random(f"checks {seed} {batch}")
    try:
        _check_batch(trial, given, rng, tally)
    except Exception as error:
        report("all", "exception", f"{type(error).__name__}: {str(error)[:300]}", "")
    seconds = time.process_time() - began
    if seconds > SLOW:
        names = ", ".join(sorted({mutant.mutation.name for mutant in made}))
        report("all", "slow", f"{seconds:.0f} s of processor time: {names}", "")
    if rng.random() < ENGINES:
        _check_engines(trial, rng, tally)
    tally.seconds = time.process_time() - began
    return tally


@dataclass(frozen=True, slots=True)
class _Trial:
    """A batch's logs, where each was written, and the options that are given with all of them."""

    lab: Laboratory
    made: Sequence[Mutant]
    folders: Sequence[Path]
    chosen: Options
    report: Report

    def mutant_of(self, folder: str) -> Mutant:
        return self.made[[str(each) for each in self.folders].index(folder)]

    def mutation_of(self, folder: str) -> Mutation:
        return self.mutant_of(folder).mutation


def _check_batch(trial: _Trial, given: int, rng: random.Random, tally: Tally) -> None:
    said: dict[Path, Said] = {}
    with_outputs = rng.random() < OUTPUTS
    forms = () if not with_outputs else FORMATS if rng.random() < TABLES else FORMATS[:-1]
    for extraction, folders in _extractions(trial, trial.folders):
        said |= by_folder(extraction, folders)
        for key, kind, words in metric_faults(extraction):
            trial.report(trial.mutation_of(key).name, kind, words, key)
        for form in forms:
            _check_output(encoded(extraction, form, 200), form, trial.report)
    tally.also["batches in all outputs"] += with_outputs
    for mutant, folder in zip(trial.made, trial.folders, strict=True):
        name = mutant.mutation.name
        tally.tried[name] += 1
        tally.numbers[name] += folder in said and bool(said[folder].values)
        reread = partial(_reread, folder, mutant, trial.chosen)
        for kind, words in faults_of(mutant, said[folder], given, reread) if folder in said else ():
            trial.report(name, kind, words, f"{_short(folder)} ({mutant.seed.path})")
    for place in rng.sample(range(len(trial.folders)), ALONE):
        _check_alone(trial, place, said.get(trial.folders[place]))
    tally.also["logs alone too"] += ALONE


def _check_engines(trial: _Trial, rng: random.Random, tally: Tally) -> None:
    """Whether both engines find the same in some of a batch's texts."""
    short = [mutant.data for mutant in trial.made if len(mutant.data) < _ENGINE_BYTES]
    chosen = rng.sample(short, min(ENGINE_TEXTS, len(short)))
    tally.also["logs through both engines"] += len(chosen)
    for words in trial.lab.engines.differences(chosen):
        trial.report("all", "engines differ", words, "")


def _extractions(trial: _Trial, folders: Sequence[Path]) -> Iterator[tuple[Extraction, Sequence[Path]]]:
    """The extraction of all folders; where that fails, of its halves, down to the logs on which it does."""
    try:
        extraction = extracted(folders, trial.chosen)
    except Exception as error:
        if len(folders) == 1:
            mutant = trial.mutant_of(str(folders[0]))
            place = f"{_short(folders[0])} ({mutant.seed.path})"
            trial.report(mutant.mutation.name, "exception", f"{type(error).__name__}: {str(error)[:300]}", place)
            return
        half = len(folders) // 2
        yield from _extractions(trial, folders[:half])
        yield from _extractions(trial, folders[half:])
    else:
        yield extraction, folders


def _check_alone(trial: _Trial, place: int, together: Said | None) -> None:
    """Whether a log says by itself what it says among the others."""
    folder, mutant = trial.folders[place], trial.made[place]
    if together is None or any(SAME_TEXT in kind for kind in together.kinds):
        return
    alone = by_folder(extracted([folder], trial.chosen), [folder])[folder]
    for words in differences(together, alone):
        trial.report(mutant.mutation.name, "not alone", words, f"{_short(folder)} ({mutant.seed.path})")


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


def _short(folder: Path) -> str:
    """The last two parts of a folder's name, by which a replayed batch names it."""
    return f"{folder.parent.name}/{folder.name}"
