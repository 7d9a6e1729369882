"""Evidence: what the logs at hand give, by every rule that published reports are known to have used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
_KEYS = (
    "framework", "framework_version", "model", "precision", "batch_size", "global_batch_size", "nodes", "devices",
    "threads", "accelerator",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RuleValue:
    """What one rule makes of a case: value and unit, or None and the reason.

    ``lines``: those of the first run's log that it stands on; ``n``: the runs with a value.
    """

    rule: str
    quantity: str
    value: float | None
    unit: str
    lines: tuple[int, int] = (0, 0)
    n: int = 1
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A case of the logs, or a log that a report links to and that is not there.

    Attributes:
        facts: what log and path say.
        paths: its logs.
        parser: the parser that read them; empty for a log that is not there, which has no values.
        values: what each rule makes of it.
        also: what links' texts say of it; ``links``: the documents and links that lead to it.
        places: ``paths`` without symbolic links.
    """

    facts: dict[str, Scalar]
    paths: tuple[str, ...]
    parser: str = ""
    values: tuple[RuleValue, ...] = ()
    also: tuple[Facts, ...] = ()
    links: tuple[tuple[Path, Link], ...] = ()
    places: tuple[Path, ...] = ()

    @property
    def linked_from(self) -> set[Path]:
        """The documents that link to it."""
        return {document for document, _ in self.links}

    @property
    def there(self) -> bool:
        """Whether its log is at hand."""
        return bool(self.parser)


#: A rule's name, with its options and the parsers it is for; none: for all.
_Rules = dict[str, tuple[Options, tuple[str, ...]]]


def read_evidence(logs: Sequence[LogFile], catalog: Catalog, options: Options) -> list[Evidence]:
    """All cases of the logs with the values that the conventions of their formats and perflog's own rule give."""
    rules = _rules(options)
    runs: dict[str, list[Run]] = {name: [] for name in rules}
    for printed in (False, True):
        chosen = {name: rule for name, rule in rules.items() if rule[0].as_printed == printed}
        for by_rule in read_logs(logs, catalog, partial(_runs_by_rule, catalog=catalog, rules=chosen), printed):
            for name, of_log in by_rule.items():
                runs[name] += of_log
    cases: dict[tuple[tuple[str, int], ...], Evidence] = {}
    for name, (rule, _) in rules.items():
        for case in build_cases(runs[name], rule):
            key = tuple((run.log.name, run.first_line) for run in case.runs)
            paths = tuple(dict.fromkeys(run.log.path for run in case.runs))
            known = cases.get(key)
            if known is None:
                places = tuple(Path(path).resolve() for path in paths)
                known = Evidence(_facts(case), paths, case.runs[0].parser, places=places)
            cases[key] = replace(known, values=(*known.values, *_values(case, name)))
    return list(cases.values())


def _rules(options: Options) -> _Rules:
    """perflog's own rule, those for short logs, and the conventions, in the order in which they are tried."""
    later, whole = (replace(options, window=Window(Amount(count, "records"))) for count in (1, 0))
    rules: _Rules = {OWN: (options, ()), LATER: (later, ()), WHOLE: (whole, ())}
    for name, convention in load_conventions().items():  # a cell may print more digits than its family does
        rules[name] = (replace(convention.apply(options), digits=""), convention.parsers)
    return rules


def _runs_by_rule(reading: Reading, catalog: Catalog, rules: _Rules) -> dict[str, list[Run]]:
    """A log's runs by each rule that is for its parser; none for a file that is no training log."""
    runs: dict[str, list[Run]] = {}
    parser = ""
    for name, (rule, parsers) in rules.items():
        if parsers and parser and parser not in parsers:
            continue
        outcome = build_runs(reading, catalog, rule)
        if isinstance(outcome, Skipped):
            return {}
        parser = outcome[0].parser
        if not parsers or parser in parsers:
            runs[name] = outcome
    return runs


def _facts(case: Case) -> dict[str, Scalar]:
    facts = {key: case.key[key] for key in _KEYS if key in case.key}
    path = nearest([facts_of(part) for part in reversed(Path(case.runs[0].log.path).parts[-4:])])
    for key in ("reader", "mode", "accelerator", "xla"):
        value = path.get(key)
        if value is not None:
            facts.setdefault(key, value)
    for key in ("framework", "accelerator"):
        short = facts_of(str(facts.get(key, ""))).get(key)
        if short is not None:
            facts[key] = short
    return facts


def _values(case: Case, rule: str) -> list[RuleValue]:
    values = []
    for name, summary in case.metrics.items():
        if name != "throughput" and rule != OWN:
            continue
        metric = case.runs[0].metrics.get(name)
        lines = (metric.first_line, metric.last_line) if metric is not None else (0, 0)
        label, quantity = (REPORTED, "throughput") if name == "reported" else (rule, name)
        values.append(RuleValue(label, quantity, summary.value, summary.unit, lines, summary.n, summary.reason))
    if rule == OWN:
        values.append(RuleValue(rule, "speedup", case.speedup, "", (0, 0), case.throughput.n))
        values.append(RuleValue(rule, "efficiency", case.efficiency, "fraction", (0, 0), case.throughput.n))
    return values


def link_up(evidence: Sequence[Evidence], documents: Iterable[Document], catalog: Catalog) -> list[Evidence]:
    """The cases with what links say of them, and behind them the logs that are linked and not there."""
    by_path: dict[str, list[int]] = {}
    for index, log in enumerate(evidence):
        for place in log.places:
            by_path.setdefault(str(place), []).append(index)
    linked = list(evidence)
    absent: list[Evidence] = []
    for document, link, place in _links(documents):
        indices = by_path.get(str(place), [])
        missing = not place.exists()
        if not indices and missing:
            indices = _moved(document, link, place, by_path, evidence)
        for index in indices:
            log = linked[index]
            links = (*log.links, (document.path, link))
            linked[index] = replace(log, also=(*log.also, facts_of(link.text)), links=links)
        if not indices and missing:
            absent += _absent(document, link, place, catalog)
    return linked + absent


def _links(documents: Iterable[Document]) -> Iterator[tuple[Document, Link, Path]]:
    """The links of documents that lead to a file or folder, each with that."""
    for document in documents:
        for link in document.links:
            place = target_of(document.path, link.target)
            if place is not None:
                yield document, link, place


def _words_of(link: Link, place: Path) -> Facts:
    """What a link's text says, and the folders that it leads through."""
    return nearest([facts_of(link.text), *(facts_of(part) for part in reversed(place.parts[-4:]))])


def _moved(
    document: Document, link: Link, place: Path, by_path: Mapping[str, list[int]], evidence: Sequence[Evidence]
) -> list[int]:
    """The cases of a log that was moved into another folder: its name still tells it, where only one has it."""
    named = [path for path in by_path if Path(path).name == place.name]
    named = [path for path in named if document.path.resolve().parent in Path(path).parents] or named
    if len(named) != 1:
        return []
    words = _words_of(link, place)
    return [index for index in by_path[named[0]] if not _conflict(words, evidence[index].facts)]


def _absent(document: Document, link: Link, place: Path, catalog: Catalog) -> list[Evidence]:
    """The log that a link names, where it is told of how many devices or nodes it is."""
    facts = _facts_of_absent(document, link, place, catalog)
    if "devices" not in facts and "nodes" not in facts:
        return []
    links = ((document.path, link),)
    return [Evidence(facts, (str(place),), also=(facts_of(link.text),), links=links, places=(place,))]


def _conflict(words: Facts, facts: Mapping[str, Scalar]) -> bool:
    compared = {key: value for key, value in words.items() if key not in ("precision", "model") and value is not None}
    return any(key in facts and str(facts[key]) != str(value) for key, value in compared.items())


def _facts_of_absent(document: Document, link: Link, place: Path, catalog: Catalog) -> dict[str, Scalar]:
    from_path, _ = facts_of_path(str(place), catalog.path_patterns)
    facts = {key: value for key, value in merge(from_path).values.items() if key in _KEYS}
    words = nearest([_words_of(link, place), facts_of(document.title)])
    for key, value in words.items():
        if value is not None and (key not in facts or key in ("framework", "accelerator")):
            facts[key] = value
    return facts


def target_of(document: Path, target: str) -> Path | None:
    """The file or folder a link leads to; None for one that leads out of the project or within the page."""
    if not target or "://" in target or target.startswith(("#", "mailto:")):
        return None
    return (document.parent / unquote(target.partition("#")[0])).resolve()
