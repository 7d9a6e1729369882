"""Evidence: what the logs at hand give, by every rule that published reports are known to have used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from perflog.audit.document import Link
from perflog.audit.rules import OWN, REPORTED, Rule, known_rules, plain_rules
from perflog.audit.words import Facts, facts_of, nearest
from perflog.cases.build import build_cases
from perflog.cases.case import Case
from perflog.cases.copies import without_copies
from perflog.cases.repeats import of_first_ranks, settled
from perflog.cases.twice import without_second_accounts
from perflog.formats.catalog import Catalog
from perflog.formats.units import rate_unit
from perflog.formats.vocabulary import Scalar
from perflog.logs.find import LogFile
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.report.extractions import ProgressOf, no_progress
from perflog.runs.build import RunBuilder
from perflog.runs.device_index import indexed_by_device
from perflog.runs.run import Run, Skipped
from perflog.settings.options import Options

#: What a case's key says that reports compare.
KEYS = (
    "framework", "framework_version", "model", "precision", "batch_size", "global_batch_size", "nodes", "devices",
    "threads", "accelerator",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RuleValue:
    """What one rule makes of a case: value and unit, or None and the reason.

    ``lines``: those of the first run's log that it stands on; ``n``: the runs with a value; ``plain``: whether the
    rule is a plain one, of which many are tried.
    """

    rule: str
    quantity: str
    value: float | None
    unit: str
    lines: tuple[int, int] = (0, 0)
    n: int = 1
    reason: str = ""
    plain: bool = False


#: Which runs a case is of, whatever the rule: log and line of each.
Members = tuple[tuple[str, int], ...]


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
        members: the log and line of each of its runs, which tell it whatever the rule.
    """

    facts: dict[str, Scalar]
    paths: tuple[str, ...]
    parser: str = ""
    values: tuple[RuleValue, ...] = ()
    also: tuple[Facts, ...] = ()
    links: tuple[tuple[Path, Link], ...] = ()
    places: tuple[Path, ...] = ()
    members: Members = ()

    @property
    def linked_from(self) -> set[Path]:
        """The documents that link to it."""
        return {document for document, _ in self.links}

    @property
    def there(self) -> bool:
        """Whether its log is at hand."""
        return bool(self.parser)


#: A log's runs, by the name of the rule that made their numbers.
_ByRule = dict[str, list[Run]]


def read_evidence(
    logs: Sequence[LogFile], catalog: Catalog, options: Options, progress: ProgressOf = no_progress
) -> list[Evidence]:
    """All cases of the logs with the values that perflog's own rule and the conventions give."""
    rules = known_rules(options)
    runs = _runs_of(logs, catalog, rules, progress)
    left_out = _copies_and_other_ranks(runs[OWN], catalog, options)
    cases: dict[Members, Evidence] = {}
    for name, rule in rules.items():
        for case in _cases((run for run in runs[name] if run.log not in left_out), catalog, rule):
            known = cases.get(_members(case)) or _without_values(case)
            cases[_members(case)] = replace(known, values=(*known.values, *_values(case, name)))
    return list(cases.values())


def with_plain_rules(
    evidence: Sequence[Evidence],
    wanted: Collection[Members],
    logs: Sequence[LogFile],
    catalog: Catalog,
    options: Options,
) -> list[Evidence]:
    """The evidence, its cases among ``wanted`` with the values of plain rules that no other rule gives."""
    names = {name for members in wanted for name, _ in members}
    rules = plain_rules(options)
    runs = _runs_of([log for log in logs if log.name in names], catalog, rules)
    more: dict[Members, list[RuleValue]] = {}
    for name, rule in rules.items():
        for case in _cases(runs[name], catalog, rule):
            more.setdefault(_members(case), []).extend(_values(case, name, plain=True))
    return [_with_new(log, more.get(log.members, ())) if log.members in wanted else log for log in evidence]


def _with_new(log: Evidence, more: Iterable[RuleValue]) -> Evidence:
    """A case with more values, of several that are equal the first."""
    there = {(value.quantity, value.value) for value in log.values}
    new = {(v.quantity, v.value): v for v in reversed(list(more)) if v.value is not None}
    return replace(log, values=(*log.values, *(v for key, v in reversed(new.items()) if key not in there)))


def _runs_of(
    logs: Sequence[LogFile], catalog: Catalog, rules: Mapping[str, Rule], progress: ProgressOf = no_progress
) -> _ByRule:
    """The runs of logs by each rule.

    Rules that take numbers as printed need a second reading: of the training logs alone that such a rule is for.
    """
    runs: _ByRule = {name: [] for name in rules}
    indexed = indexed_by_device(logs, catalog.path_patterns)
    parsers: dict[LogFile, str] = {}
    for printed in (False, True):
        builders = {
            name: (RunBuilder(catalog, rule.options, indexed), rule)
            for name, rule in rules.items()
            if rule.options.as_printed == printed
        }
        asked = logs if not printed else [
            log for log, parser in parsers.items() if any(_is_for(rule, parser) for _, rule in builders.values())
        ]  # fmt: skip
        if not asked:
            continue
        finish, finish_all = partial(_runs_of_log, builders=builders), partial(_runs_by_rule, builders=builders)
        with progress(sum(max(log.size, 0) for log in asked)) as tell:
            read = list(read_logs(asked, catalog, finish, printed, tell, finish_all=finish_all))
        for log, found in zip(asked, read, strict=True):
            if found is not None:
                parsers[log] = found[0]
                for name, of_log in found[1].items():
                    runs[name] += of_log
    return runs


def _is_for(rule: Rule, parser: str) -> bool:
    """Whether a rule is for the logs of a parser."""
    return not rule.parsers or parser in rule.parsers


def _cases(runs: Iterable[Run], catalog: Catalog, rule: Rule) -> list[Case]:
    return build_cases(settled(list(runs), catalog.path_patterns), rule.options)


def _members(case: Case) -> Members:
    return tuple((run.log.name, run.first_line) for run in case.runs)


def _copies_and_other_ranks(runs: Sequence[Run], catalog: Catalog, options: Options) -> set[LogFile]:
    """The logs that count for no case: copies of another of the same case, second accounts and other ranks' of one run.

    A copy under a name of another configuration is kept: a report that names it claims it for that configuration.
    """
    kept, seconds = without_second_accounts(runs)
    kept, other_ranks = of_first_ranks(kept, catalog.path_patterns)
    cases = build_cases(settled(kept, catalog.path_patterns), options)
    copies = [entry for case in cases for entry in without_copies(case.runs)[1]]
    return {entry.log for entry in (*copies, *seconds, *other_ranks)}


def _without_values(case: Case) -> Evidence:
    paths = tuple(dict.fromkeys(run.log.path for run in case.runs))
    places = tuple(Path(path).resolve() for path in paths)
    return Evidence(_facts(case), paths, case.runs[0].parser, places=places, members=_members(case))


def _runs_of_log(reading: Reading, builders: Mapping[str, tuple[RunBuilder, Rule]]) -> tuple[str, _ByRule] | None:
    return _runs_by_rule([reading], builders)[0]


def _runs_by_rule(
    readings: Sequence[Reading], builders: Mapping[str, tuple[RunBuilder, Rule]]
) -> list[tuple[str, _ByRule] | None]:
    """For each log its parser, and its runs by each rule for that parser; None for a file that is no training log."""
    parsers: list[str | None] = [""] * len(readings)
    runs: list[_ByRule] = [{} for _ in readings]
    for name, (builder, rule) in builders.items():
        asked = [place for place, parser in enumerate(parsers) if parser == "" or (parser and _is_for(rule, parser))]
        for place, outcome in zip(asked, builder.build_all([readings[place] for place in asked]), strict=True):
            if isinstance(outcome, Skipped):
                parsers[place] = None
                continue
            parsers[place] = outcome[0].parser
            if _is_for(rule, outcome[0].parser):
                runs[place][name] = outcome
    return [None if parser is None else (parser, of_log) for parser, of_log in zip(parsers, runs, strict=True)]


def _facts(case: Case) -> dict[str, Scalar]:
    facts = {key: case.key[key] for key in KEYS if key in case.key}
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


def _values(case: Case, rule: str, plain: bool = False) -> list[RuleValue]:
    """What one rule makes of a case; its other metrics are the same under every rule, and are perflog's own."""
    values = []
    for name, summary in case.metrics.items():
        if name != "throughput" and rule != OWN:
            continue
        metric = case.runs[0].metrics.get(name)
        lines = (metric.first_line, metric.last_line) if metric is not None else (0, 0)
        label, quantity = _meaning(rule, name, summary.unit)
        values.append(RuleValue(label, quantity, summary.value, summary.unit, lines, summary.n, summary.reason, plain))
    if rule == OWN:
        values.append(RuleValue(rule, "speedup", case.speedup, "", (0, 0), case.throughput.n))
        values.append(RuleValue(rule, "efficiency", case.efficiency, "fraction", (0, 0), case.throughput.n))
    return values


def _meaning(rule: str, metric: str, unit: str) -> tuple[str, str]:
    """(the rule, the quantity) of a metric: a second throughput that the program prints is its own report too."""
    if metric == "reported":
        return REPORTED, "throughput"
    if metric != "throughput" and rate_unit(unit) is not None:
        return f"{REPORTED} of {metric}", "throughput"
    return rule, metric
