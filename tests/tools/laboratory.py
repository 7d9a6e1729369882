"""Reads folders of logs, and keeps each number as it was before it was held against the evidence."""

from __future__ import annotations

import shutil
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflog.formats.catalog import Catalog
from perflog.logs.find import find_logs
from perflog.notes import texts
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.runs import build, throughput
from perflog.runs.corroborate import Question
from perflog.runs.metadata import Metadata
from perflog.runs.run import Run
from perflog.runs.throughput import Speed
from perflog.settings.options import Options
from tests.support import CORPUS, FIXTURES, arguments, options
from tests.tools.faults import Subject

#: Remarks that say what happened, beside the verdict's doubts.
SAYS = ("alone holds", "outside the measurements", "print the same numbers")


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a log: its last run, the number before evidence was heard, and what was measured."""

    run: Run
    raw: Speed
    metadata: Metadata
    facts: Sequence[Any]

    @property
    def doubted(self) -> bool:
        return bool(self.run.evidence and self.run.evidence.doubts)

    @property
    def remarks(self) -> set[str]:
        """What is said of records, stamps and ranks that stand out."""
        return {note for note in texts(self.run.notes) if any(word in note for word in SAYS)}


class Laboratory:
    """Reads folders of logs, and keeps each number as it was before it was held against the evidence."""

    def __init__(self, given: Mapping[str, dict[str, Any]]) -> None:
        """``given``: the options of each log, by its name below the folder."""
        self.given = given
        self._heard = threading.local()

    def results(self, folder: Path, formats: Catalog) -> dict[str, Result]:
        """By the log's name below the folder; logs without a measured run are left out."""
        builders: dict[str, build.RunBuilder] = {}

        def finish(reading: Reading) -> tuple[str, Result | None]:
            name = str(Path(reading.log.path).relative_to(folder))
            wanted = self.given.get(name, {})
            key = repr(sorted(wanted.items()))
            if key not in builders:
                builders[key] = build.RunBuilder(formats, options(**wanted) if wanted else Options())
            self._heard.speeds = []
            outcome = builders[key].build(reading)
            if not isinstance(outcome, list) or not self._heard.speeds:
                return name, None
            speed, metadata = self._heard.speeds[-1]
            return name, Result(outcome[-1], speed, metadata, list(reading.facts))

        original = throughput.question_of

        def listening(reading: Reading, chosen: Options, speed: Speed, metadata: Metadata, own: Any) -> Question | None:
            self._heard.speeds.append((speed, metadata))
            return original(reading, chosen, speed, metadata, own)

        setattr(build, "question_of", listening)  # noqa: B010 - the name is not the module's own
        try:
            logs = find_logs([folder])
            return {name: result for name, result in read_logs(logs, formats, finish) if result is not None}
        finally:
            setattr(build, "question_of", original)  # noqa: B010


def copied(folder: Path) -> dict[str, dict[str, Any]]:
    """Copies of the plain logs of fixtures and corpus in a folder, and the options that some of them need."""
    given = {}
    for root in (FIXTURES / "parsers", CORPUS):
        for source in sorted(root.rglob("*")) if root.is_dir() else ():
            name = f"{root.name}/{source.relative_to(root)}"
            if not source.is_file() or source.suffix in (".toml", ".md", ".csv", ".gz", ".zip", ".tar", ".zst"):
                continue
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, folder / name)
            side = source.with_name(source.name + ".toml")
            if side.is_file():
                given[name] = arguments(tomllib.loads(side.read_text(encoding="utf-8")).get("options", []))
    return given


def subjects(folder: Path, given: Mapping[str, dict[str, Any]], results: Mapping[str, Result]) -> Iterator[Subject]:
    """The logs with a number that some witness speaks of."""
    for name, result in results.items():
        verdict, value = result.run.evidence, result.run.throughput.value
        if verdict is None or value is None or result.raw.measured is None:
            continue
        if all(witness.agreement == "silent" for witness in verdict.witnesses):
            continue
        text = (folder / name).read_bytes().decode("latin-1")
        yield Subject(name, given.get(name, {}), text.split("\n"), value, result.run.throughput.unit, verdict,
                      result.raw.measured, result.metadata, result.facts, frozenset(result.remarks))  # fmt: skip
