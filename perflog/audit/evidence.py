"""Evidence: what the logs at hand give, by every rule that published reports are known to have used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote

from perflog.audit.document import Document, Link
from perflog.audit.words import Facts, facts_of, nearest
from perflog.cases.build import build_cases
from perflog.cases.case import Case
from perflog.formats.catalog import Catalog
from perflog.formats.paths import facts_of_path
from perflog.formats.vocabulary import Scalar
from perflog.logs.find import LogFile
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.runs.build import build_runs
from perflog.runs.metadata import merge
from perflog.runs.run import Run, Skipped
from perflog.settings.amount import Amount, Window
from perflog.settings.convention import load_conventions
from perflog.settings.options import Options

#: The rule of perflog itself, beside the conventions.
OWN = "perflog"
#: For logs that are shorter than a warm-up: all but the first record, and everything measured.
LATER, WHOLE = "all but the first record", "the whole log"
#: What the program itself printed as its result.
REPORTED = "the program's own report"
_KEYS = ("framework", "framework_version", "model", "precision", "batch_size", "global_batch_size", "nodes", "devices", "threads", "accelerator")


@dataclass(frozen=True, slots=True)
class Value:
    """What one rule makes of a case: value and unit, or None and the reason; the lines of the first run's log it stands on."""

    rule: str
    quantity: str
    value: float | None
    unit: str
    lines: tuple[int, int] = (0, 0)
    n: int = 1
    reason: str = ""


@dataclass(slots=True)
class Evidence:
    """A case of the logs, or a log that a report links to and that is not there (``paths`` then names it, no values).

    ``facts``: what log and path say; ``also``: what links' texts say of it; ``places``: its paths without links.
    """

    facts: dict[str, Scalar]
    paths: tuple[str, ...]
    parser: str = ""
    values: list[Value] = field(default_factory=list)
    also: list[Facts] = field(default_factory=list)
    linked_from: set[Path] = field(default_factory=set)
    links: list[tuple[Path, Link]] = field(default_factory=list)
    places: list[Path] = field(init=False)

    def __post_init__(self) -> None:
        self.places = [Path(path).resolve() for path in self.paths]

    @property
    def there(self) -> bool:
        return bool(self.parser)


def read_evidence(logs: Sequence[LogFile], catalog: Catalog, options: Options) -> list[Evidence]:
    """All cases of the logs with the values that the conventions of their formats and perflog's own rule give."""
    later, whole = (replace(options, window=Window(Amount(count, "records"))) for count in (1, 0))
    rules: dict[str, tuple[Options, tuple[str, ...]]] = {OWN: (options, ()), LATER: (later, ()), WHOLE: (whole, ())}
    rules |= {
        name: (replace(one.apply(options), digits=""), one.parsers)  # a cell may print more digits than its family does
        for name, one in load_conventions().items()
    }
    runs: dict[str, list[Run]] = {name: [] for name in rules}
    for printed in (False, True):
        chosen = {name: rule for name, rule in rules.items() if rule[0].as_printed == printed}

        def finish(reading: Reading, chosen: dict[str, tuple[Options, tuple[str, ...]]] = chosen) -> dict[str, list[Run]]:
            out = {}
            parser = ""
            for name, (rule, parsers) in chosen.items():
                if parsers and parser and parser not in parsers:
                    continue
                found = build_runs(reading, catalog, rule)
                if isinstance(found, Skipped):
                    return {}
                parser = found[0].parser
                if not parsers or parser in parsers:
                    out[name] = found
            return out

        for found in read_logs(logs, catalog, finish, printed):
            for name, some in found.items():
                runs[name] += some
    made: dict[tuple[tuple[str, int], ...], Evidence] = {}
    for name, (rule, _) in rules.items():
        for case in build_cases(runs[name], rule):
            key = tuple((run.log.name, run.first_line) for run in case.runs)
            if key not in made:
                made[key] = Evidence(_facts(case), tuple(dict.fromkeys(run.log.path for run in case.runs)), case.runs[0].parser)
            made[key].values += _values(case, name)
    return list(made.values())


def _facts(case: Case) -> dict[str, Scalar]:
    out = {key: case.key[key] for key in _KEYS if key in case.key}
    path = nearest([facts_of(part) for part in reversed(Path(case.runs[0].log.path).parts[-4:])])
    for key in ("reader", "mode", "accelerator", "xla"):
        value = path.get(key)
        if value is not None:
            out.setdefault(key, value)
    for key in ("framework", "accelerator"):
        short = facts_of(str(out.get(key, ""))).get(key)
        if short is not None:
            out[key] = short
    return out


def _values(case: Case, rule: str) -> list[Value]:
    out = []
    for name, summary in case.metrics.items():
        if name != "throughput" and rule != OWN:
            continue
        metric = case.runs[0].metrics.get(name)
        lines = (metric.first_line, metric.last_line) if metric is not None else (0, 0)
        label = REPORTED if name == "reported" else rule
        out.append(Value(label, "throughput" if name == "reported" else name, summary.value, summary.unit, lines, summary.n, summary.reason))
    if rule == OWN:
        out.append(Value(rule, "speedup", case.speedup, "", (0, 0), case.throughput.n))
        out.append(Value(rule, "efficiency", case.efficiency, "fraction", (0, 0), case.throughput.n))
    return out


def link_up(evidence: list[Evidence], documents: Iterable[Document], catalog: Catalog) -> list[Evidence]:
    """Tell each case what links say of it; the logs that are linked and not there, as evidence without values."""
    by_path: dict[str, list[Evidence]] = {}
    for one in evidence:
        for own in one.places:
            by_path.setdefault(str(own), []).append(one)
    absent: list[Evidence] = []
    for document in documents:
        for link in document.links:
            place = target_of(document.path, link.target)
            if place is None:
                continue
            said = nearest([facts_of(link.text), *(facts_of(part) for part in reversed(place.parts[-4:]))])
            found = by_path.get(str(place), [])
            if not found and not place.exists():  # moved into another folder: its name still tells it
                named = [path for path in by_path if Path(path).name == place.name]
                named = [path for path in named if document.path.resolve().parent in Path(path).parents] or named
                found = [one for one in by_path[named[0]] if not _conflict(said, one.facts)] if len(named) == 1 else []
            for one in found:
                one.also.append(facts_of(link.text))
                one.linked_from.add(document.path)
                one.links.append((document.path, link))
            if not found and not place.exists():
                facts = _facts_of_absent(document, link, place, catalog)
                if "devices" in facts or "nodes" in facts:
                    absent.append(Evidence(facts, (str(place),), linked_from={document.path}, links=[(document.path, link)], also=[facts_of(link.text)]))
    return absent


def _conflict(said: Facts, facts: dict[str, Scalar]) -> bool:
    return any(key in facts and value is not None and str(facts[key]) != str(value) for key, value in said.items() if key not in ("precision", "model"))


def _facts_of_absent(document: Document, link: Link, place: Path, catalog: Catalog) -> dict[str, Scalar]:
    said, _ = facts_of_path(str(place), catalog.path_patterns)
    by_path = {key: value for key, value in merge(said).values.items() if key in _KEYS}
    words = nearest([facts_of(link.text), *(facts_of(part) for part in reversed(place.parts[-4:])), facts_of(document.title)])
    out: dict[str, Scalar] = {**by_path, **{key: value for key, value in words.items() if value is not None and key not in by_path}}
    for key in ("framework", "accelerator"):
        value = words.get(key)
        if value is not None:
            out[key] = value
    return out


def target_of(document: Path, target: str) -> Path | None:
    """The file or folder a link leads to; None for one that leads out of the project or within the page."""
    if not target or "://" in target or target.startswith(("#", "mailto:")):
        return None
    return (document.parent / unquote(target.partition("#")[0])).resolve()
