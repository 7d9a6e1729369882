"""Reads folders of logs under every estimator, and keeps each number as it was before it was held against the evidence."""

from __future__ import annotations

import re
import shutil
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from perflog.evidence.witness import Verdict, sentence
from perflog.formats.catalog import Catalog
from perflog.logs.find import find_logs
from perflog.reading.account import LogFact
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.runs import build
from perflog.runs.corroborate import Measured
from perflog.runs.metadata import Metadata
from perflog.runs.run import Run, Skipped
from perflog.runs.throughput import Speed
from perflog.settings.options import ESTIMATORS, Options
from tests.support import CORPUS, FIXTURES, arguments, catalog, options

#: Parts of remarks that say what happened to a number, beside the verdict's doubts.
SAYS = ("alone holds", "outside the measurements", "print the same numbers")
#: A note moves the number where it changes it by this share or more.
LEAST_MOVE = 0.02
#: Two numbers are a factor apart from this one on.
A_FACTOR = 1.5
_REDRAWN = re.compile(rb"\r(?!\n)")
_WITHOUT = re.compile(r"without it the throughput is ([0-9.e+]+)")


class Doubt(NamedTuple):
    """What is said against a number: the sentence, and the other number that it gives (None where it gives none)."""

    text: str
    other: float | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """A run as one estimator makes it, and its number before evidence was heard (None where nothing was measured)."""

    run: Run
    raw: Speed | None

    @property
    def value(self) -> float | None:
        return self.run.throughput.value

    @property
    def doubts(self) -> list[Doubt]:
        """What is said against the number: by witnesses, by notes that move it, and by remarks of :data:`SAYS`."""
        found = [*self._of_witnesses()]
        for note in self.run.notes:
            text, move, other = str(note), getattr(note, "move", None), getattr(note, "other", None)
            without = _WITHOUT.search(text)
            if (move is not None and abs(move) >= LEAST_MOVE) or any(word in text for word in SAYS):
                found.append(Doubt(text, other if without is None else float(without[1])))
        return found

    def _of_witnesses(self) -> Iterator[Doubt]:
        verdict = self.run.evidence
        for witness in verdict.witnesses if verdict is not None and verdict.doubts else ():
            if witness.agreement in ("doubts", "contradicts") and self.value and witness.measured > 0 < witness.told:
                ratio = witness.told / witness.measured
                yield Doubt(sentence(witness), self.value * (ratio if witness.about == "throughput" else 1 / ratio))


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a log: why it has no run, or its runs by estimator, and what its lines told."""

    skipped: str
    runs: Mapping[str, Sequence[Made]]
    facts: Sequence[LogFact]


class Laboratory:
    """Reads folders of logs, and keeps each number as it was before it was held against the evidence."""

    def __init__(self, given: Mapping[str, dict[str, Any]], estimators: Sequence[str] = ESTIMATORS) -> None:
        """``given``: the options of each log, by its name below the folder."""
        self.given = given
        self.estimators = estimators
        self._heard = threading.local()

    def results(self, folder: Path, formats: Catalog, names: Sequence[str] | None = None) -> dict[str, Result]:
        """By the log's name below the folder; of all logs in it, or of those with some names."""
        builders: dict[tuple[str, str], build.RunBuilder] = {}

        def finish(reading: Reading) -> tuple[str, Result]:
            name = str(Path(reading.log.path).relative_to(folder))
            wanted = self.given.get(name, {})
            runs, skipped = {}, ""
            for estimator in self.estimators:
                key = repr(sorted(wanted.items())), estimator
                if key not in builders:
                    builders[key] = build.RunBuilder(formats, _options(wanted, estimator))
                self._heard.speeds = []
                outcome = builders[key].build(reading)
                if isinstance(outcome, Skipped):
                    skipped = outcome.reason
                    continue
                speeds = self._heard.speeds or [None] * len(outcome)
                runs[estimator] = [Made(run, speed) for run, speed in zip(outcome, speeds, strict=True)]
            return name, Result(skipped, runs, list(reading.facts))

        with self._listening():
            paths = [folder] if names is None else [folder / name for name in names]
            return dict(read_logs(find_logs(paths), formats, finish))

    def with_fault(
        self, chosen: Sequence[Subject], fault: Fault, folder: Path, keep: bool = False
    ) -> dict[str, tuple[Faulty, Result | None]]:
        """The logs that can have a fault, by name, each with what became of it; they are written below a folder."""
        faulty: dict[str, Faulty] = {}
        for subject in chosen:
            if (made := fault(subject)) is not None:
                faulty[subject.name] = made if isinstance(made, Faulty) else Faulty(made)
                (folder / subject.name).parent.mkdir(parents=True, exist_ok=True)
                (folder / subject.name).write_bytes(faulty[subject.name].text.encode("latin-1", "replace"))
        results = self.results(folder, catalog()) if faulty else {}
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        return {name: (made, results.get(name)) for name, made in faulty.items()}

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Every speed that a run is built from is kept, in the order of the runs."""
        original = getattr(build, "question_of")  # noqa: B009 - the name is not the module's own

        def listening(*given: Any) -> Any:
            self._heard.speeds.append(next(speed for speed in given if isinstance(speed, Speed)))
            return original(*given)

        setattr(build, "question_of", listening)  # noqa: B010
        try:
            yield
        finally:
            setattr(build, "question_of", original)  # noqa: B010


def _options(wanted: Mapping[str, Any], estimator: str) -> Options:
    return options(**{**wanted, "estimator": estimator})


def copied(folder: Path, roots: Sequence[Path] = (FIXTURES / "parsers", CORPUS)) -> dict[str, dict[str, Any]]:
    """Copies of the plain logs of fixtures and corpus in a folder, and the options that some of them need.

    What a terminal draws anew on one line is a line each, so that something can be put between two of them.
    """
    given = {}
    for root in roots:
        for source in sorted(root.rglob("*")) if root.is_dir() else ():
            name = f"{root.name}/{source.relative_to(root)}"
            if not source.is_file() or source.suffix in (".toml", ".md", ".csv", ".gz", ".zip", ".tar", ".zst"):
                continue
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            text = source.read_bytes()
            (folder / name).write_bytes(_REDRAWN.sub(b"\n", text) if text.count(b"\r") > text.count(b"\n") else text)
            side = source.with_name(source.name + ".toml")
            if side.is_file():
                given[name] = arguments(tomllib.loads(side.read_text(encoding="utf-8")).get("options", []))
    return given


@dataclass(frozen=True, slots=True)
class Subject:
    """A log with a number.

    Attributes:
        options: those that it needs.
        lines: its text, in the letters of latin-1, so that each is a byte.
        value, unit: by the total of its measurements.
        clean: its run by each estimator, the last one where there are several.
        runs: how many it has.
        verdict, measured, metadata, facts: of the last run, by the total.
    """

    name: str
    options: dict[str, Any]
    lines: list[str]
    value: float
    unit: str
    clean: Mapping[str, Made]
    runs: int
    verdict: Verdict | None
    measured: Measured
    metadata: Metadata
    facts: Sequence[LogFact]

    @property
    def interval(self) -> float:
        return self.measured.segment.count.interval

    @property
    def devices(self) -> int | None:
        return self.metadata.integer("devices")

    @property
    def is_witnessed(self) -> bool:
        """Whether something else in the log speaks of the number."""
        return self.verdict is not None and any(w.agreement != "silent" for w in self.verdict.witnesses)

    def truth(self, estimator: str) -> float | None:
        """What the estimator says of the clean log; None where that is nothing, or a factor from the total's."""
        made = self.clean.get(estimator)
        if made is None or made.value is None or made.run.throughput.unit != self.unit:
            return None
        return made.value if 1 / A_FACTOR < made.value / self.value < A_FACTOR else None


def subjects(folder: Path, given: Mapping[str, dict[str, Any]], results: Mapping[str, Result]) -> Iterator[Subject]:
    """The logs whose last run has a number by the total of its measurements."""
    for name, result in results.items():
        made = result.runs.get("total", ())
        measured = made[-1].raw.measured if made and made[-1].raw is not None else None
        if measured is None or made[-1].value is None:
            continue
        run = made[-1].run
        text = (folder / name).read_bytes().decode("latin-1")
        clean = {estimator: of_one[-1] for estimator, of_one in result.runs.items()}
        yield Subject(name, given.get(name, {}), text.split("\n"), made[-1].value, run.throughput.unit, clean, len(made),
                      run.evidence, measured, run.metadata, result.facts)  # fmt: skip


class Faulty(NamedTuple):
    """A log with a fault.

    Attributes:
        times: its speed is so many times that of the log that it was made of.
        also: another log whose numbers are as true.
    """

    text: str
    times: float = 1.0
    also: Subject | None = None


#: Makes of a log's text that with a fault; None where the log cannot have it.
Fault = Callable[[Subject], str | Faulty | None]
