"""Evidence: what the logs at hand give, by every rule that published reports are known to have used.

A plain rule takes all records of a log, or all but the first so many, under one estimator, differenced or as printed.
Their numbers of records left out are those that reports have used, not any number: with a free search every number of
four digits would be found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import structs

from perflog.audit.claims import Facts, facts_of, nearest
from perflog.audit.document import Link
from perflog.cases.build import build_cases
from perflog.cases.case import Case
from perflog.cases.copies import without_copies, without_second_accounts
from perflog.cases.repeats import of_first_ranks, settled
from perflog.formats.catalog import Catalog
from perflog.formats.printed import rate_unit
from perflog.formats.vocabulary import INTEGERS, Scalar, normal
from perflog.logs.find import LogFile
from perflog.measurements.rows import Store
from perflog.measurements.segment import Segment
from perflog.measurements.series import RankSeries
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.runs.build import RunBuilder
from perflog.runs.metadata import Metadata, indexed_by_device
from perflog.runs.reported import summary_metrics
from perflog.runs.run import Run, Skipped
from perflog.settings.convention import load_conventions
from perflog.settings.options import Amount, Options, Window
from perflog.show.extractions import ProgressOf, no_progress

#: The rule of perflog itself, beside the conventions.
OWN = "perflog"
#: Work over time of all but the first record, and of everything measured: for logs that are shorter than a warm-up.
LATER, WHOLE = "all but the first record", "the whole log"
#: One record, whatever is left out before it.
LAST = "the last record"
#: What the program itself printed as its result.
REPORTED = "the program's own report"
#: How many records plain rules leave out: those of the conventions (PaddlePaddle/Perf, DLPerf) and round numbers.
LEFT_OUT = (0, 1, 2, 3, 5, 10, 20, 50, 100)
#: The estimators of plain rules, with what a sentence calls them. Work over time needs no name.
_ESTIMATORS: Mapping[str, str] = {
    "total": "", "mean": "the mean of ", "median": "the median of ", "trimmed": "the trimmed mean of ",
}  # fmt: skip

#: What a case's key says that reports compare.
KEYS = (
    "framework", "framework_version", "model", "precision", "batch_size", "global_batch_size", "nodes", "devices",
    "threads", "accelerator",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RuleValue:
    """What one rule makes of a case: value and unit, or None and the reason.

    Attributes:
        lines: those of the first run's log that it comes from.
        n: the runs with a value.
        plain: whether it is one of many that are tried: of a plain rule, of one of several runs, or of a log's runs as
            one sequence.
        of: what it was made of in place of the case, in words; ``source``: the path of that log.
        facts: the configuration that the log gives it for.
        repeat: whether it is one of several logs' alone: it bears a number out that it gives to the last digit, and
            says nothing of one that is near, as repeats scatter.
    """

    rule: str
    quantity: str
    value: float | None
    unit: str
    lines: tuple[int, int] = (0, 0)
    n: int = 1
    reason: str = ""
    plain: bool = False
    of: str = ""
    source: str = ""
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    repeat: bool = False


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


@dataclass(slots=True)
class _Found:
    """What logs hold, by each rule: their runs; those of logs with several as one; what their programs report of a
    configuration that they name, by log.
    """

    parser: str = ""
    runs: _ByRule = field(default_factory=dict)
    joined: _ByRule = field(default_factory=dict)
    reports: dict[str, list[RuleValue]] = field(default_factory=dict)

    def add(self, other: _Found) -> None:
        """Add what another log holds."""
        for mine, theirs in ((self.runs, other.runs), (self.joined, other.joined)):
            for name, runs in theirs.items():
                mine.setdefault(name, []).extend(runs)
        self.reports |= other.reports


def read_evidence(
    logs: Sequence[LogFile], catalog: Catalog, options: Options, progress: ProgressOf = no_progress
) -> list[Evidence]:
    """All cases of the logs with the values that perflog's own rule and the conventions give."""
    rules = known_rules(options)
    runs = _found(logs, catalog, rules, progress=progress).runs
    left_out = _copies_and_other_ranks(runs.get(OWN, []), catalog, options)
    cases: dict[Members, Evidence] = {}
    for name, rule in rules.items():
        for case in _cases((run for run in runs.get(name, ()) if run.log not in left_out), catalog, rule):
            known = cases.get(_members(case)) or _without_values(case)
            cases[_members(case)] = replace(known, values=(*known.values, *_values(case, name)))
    return list(cases.values())


def with_more_rules(
    evidence: Sequence[Evidence],
    wanted: Collection[Members],
    logs: Sequence[LogFile],
    catalog: Catalog,
    options: Options,
) -> list[Evidence]:
    """The evidence, its cases among ``wanted`` with all values that no rule has given yet.

    These are the plain rules'; those of each of several runs alone, and of all runs of a log as one sequence, as the
    scripts of published reports read a file; and what a program reports of a configuration that it names.
    """
    often = Counter(name for log in evidence for name, _ in log.members)
    several = {name for log in evidence for name, _ in log.members if len(log.members) > 1 or often[name] > 1}
    names, plain = {name for members in wanted for name, _ in members}, plain_rules(options)
    found, of_cases, of_runs = _Found(), dict[Members, list[RuleValue]](), dict[Members, list[tuple[str, Rule, Run]]]()
    for part, rules in ((names & several, known_rules(options) | plain), (names - several, plain)):
        read = _found([log for log in logs if log.name in part], catalog, rules, everything=True)
        found.add(read)
        for name, rule in rules.items():
            for case in _cases(read.runs.get(name, ()), catalog, rule):
                of_cases.setdefault(_members(case), []).extend(_values(case, name, rule.plain))
                for run, member in zip(case.runs, _members(case), strict=True):
                    of_runs.setdefault((member,), []).append((name, rule, run))
    more = []
    for log in evidence:
        values, files = list(of_cases.get(log.members, ())), Counter(name for name, _ in log.members)
        for member in log.members if log.members in wanted else ():
            several_logs = len(files) > 1 and files[member[0]] == 1
            for name, rule, run in of_runs.get((member,), ()):
                if not (several_logs and rule.plain):
                    of = "one run alone" if len(log.members) > 1 else ""
                    values += _values_of_run(run, name, of, rule.plain or bool(of), several_logs)
        joined = ((name, run) for name, runs in found.joined.items() for run in runs if run.log.name in files)
        values += (value for name, run in joined for value in _values_of_run(run, name, "all runs of the log as one"))
        values += (value for name in files for value in found.reports.get(name, ()))
        more.append(_with_new(log, values) if log.members in wanted else log)
    return more


def _with_new(log: Evidence, more: Iterable[RuleValue]) -> Evidence:
    """A case with more values, of several that are equal the first."""
    there = {(value.quantity, value.value) for value in log.values}
    new = {(v.quantity, v.value): v for v in reversed(list(more)) if v.value is not None}
    return replace(log, values=(*log.values, *(v for key, v in reversed(new.items()) if key not in there)))


def _found(
    logs: Sequence[LogFile],
    catalog: Catalog,
    rules: Mapping[str, Rule],
    everything: bool = False,
    progress: ProgressOf = no_progress,
) -> _Found:
    """What logs hold by each rule; ``everything``: more than their runs.

    Rules that take numbers as printed need a second reading: of the training logs alone that such a rule is for.
    """
    total = _Found()
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
        finish_all = partial(_found_in, builders=builders, everything=everything)
        finish = partial(_found_in_one, builders=builders, everything=everything)
        with progress(sum(max(log.size, 0) for log in asked)) as tell:
            read = list(read_logs(asked, catalog, finish, printed, tell, finish_all=finish_all))
        for log, found in zip(asked, read, strict=True):
            if found is not None:
                parsers[log] = found.parser
                total.add(found)
    return total


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


def _found_in_one(reading: Reading, builders: Mapping[str, tuple[RunBuilder, Rule]], everything: bool) -> _Found | None:
    return _found_in([reading], builders, everything)[0]


def _found_in(
    readings: Sequence[Reading], builders: Mapping[str, tuple[RunBuilder, Rule]], everything: bool
) -> list[_Found | None]:
    """What each log holds by each rule for its parser; None for a file that is no training log."""
    found: list[_Found | None] = [_Found() for _ in readings]
    joined = [_as_one(reading) if everything else None for reading in readings]
    for name, (builder, rule) in builders.items():
        asked = [(n, log) for n, log in enumerate(found) if log and (not log.parser or _is_for(rule, log.parser))]
        for (place, log), outcome in zip(asked, builder.build_all([readings[n] for n, _ in asked]), strict=True):
            if isinstance(outcome, Skipped):
                found[place] = None
                continue
            log.parser = outcome[0].parser
            if not _is_for(rule, log.parser):
                continue
            log.runs[name] = outcome
            one = joined[place]
            if one is not None and rule.options.convention:
                whole = builder.build(one)
                log.joined[name] = [] if isinstance(whole, Skipped) or len(whole) > 1 else whole
    if everything:
        for log_of, reading in zip(found, readings, strict=True):
            if log_of is not None and (reports := _reports(reading)):
                log_of.reports[reading.log.name] = reports
    return found


def _as_one(reading: Reading) -> Reading | None:
    """A log with all runs of a rank as one sequence of records; None where no rank has several.

    So the scripts of published reports read a file: line by line, whatever begins between them.
    """
    if all(len(series.segments) == 1 for ranks in reading.series.values() for series in ranks.values()):
        return None
    series = {
        key: {rank: RankSeries(one.pattern, one.as_printed, _joined(one.segments)) for rank, one in ranks.items()}
        for key, ranks in reading.series.items()
    }
    return structs.replace(reading, series=series)


def _joined(segments: Sequence[Segment]) -> Segment:
    """Segments as one: steps and epochs are counted on."""
    measured = [segment for segment in segments if segment.store.count and not segment.refused]
    if len(measured) < 2:
        return next(iter(measured), segments[0])
    store, end, epochs = Store(), 0.0, 0.0
    for segment in measured:
        shift = np.array([[end], [end], [epochs]])
        for block in segment.store.blocks():
            rows = block.copy()
            rows[[0, 1, 6]] += shift
            store.append(rows)
            end, epochs = float(rows[1, -1]), float(rows[6, -1]) + 1
    last = measured[-1].last_line
    return structs.replace(measured[0], last_line=last, store=store, taken=None)


def _reports(reading: Reading) -> list[RuleValue]:
    """The rates that a program reports of a configuration that it names, such as the rows of its own table."""
    values = []
    for fact in (fact for fact in reading.facts if fact.pattern.role == "summary"):
        said = {key: normal(key, fact.fields.get(key) or "") for key in INTEGERS - {"repeat"}}
        named: dict[str, Scalar] = {key: number for key, number in said.items() if number is not None}
        metrics, _ = summary_metrics(reading, Metadata(named), (fact.line, fact.line)) if named else ({}, [])
        if (own := metrics.get("reported")) is not None and own.value is not None:
            where = (fact.line, fact.line), reading.log.path
            value = RuleValue(REPORTED, "throughput", own.value, own.unit, where[0], source=where[1], facts=named)
            values.append(value)
    return values


def _facts(case: Case) -> dict[str, Scalar]:
    facts = {key: case.key[key] for key in KEYS if key in case.key}
    path = nearest([facts_of(part) for part in reversed(Path(case.runs[0].log.path).parts[-4:])])
    for key in ("reader", "mode", "accelerator", "xla", "framework", "model"):
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


def _values_of_run(run: Run, rule: str, of: str, plain: bool = True, repeat: bool = False) -> list[RuleValue]:
    """The throughputs that one rule makes of one run, or of several that were joined to one (``of`` says which)."""
    values = []
    for name, metric in run.metrics.items():
        label, quantity = _meaning(rule, name, metric.unit)
        if quantity == "throughput" and (name == "throughput" or rule == OWN):
            lines = (metric.first_line, metric.last_line)
            made = RuleValue(label, quantity, metric.value, metric.unit, lines, reason=metric.reason, plain=plain)
            values.append(replace(made, of=of, source=run.log.path, repeat=repeat))
    return values


def _meaning(rule: str, metric: str, unit: str) -> tuple[str, str]:
    """(the rule, the quantity) of a metric: a second throughput that the program prints is its own report too."""
    if metric == "reported":
        return REPORTED, "throughput"
    if metric != "throughput" and rate_unit(unit) is not None:
        return f"{REPORTED} of {metric}", "throughput"
    return rule, metric


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its options, the parsers it is for (none: all), and whether it is one of the many plain ones."""

    options: Options
    parsers: tuple[str, ...] = ()
    plain: bool = False


def known_rules(options: Options) -> dict[str, Rule]:
    """perflog's own rule, those for short logs and the conventions by name, in the order in which they are tried."""
    rules = {OWN: Rule(options)}
    rules |= {records(left_out): Rule(_plain(options, left_out, "total", records(left_out))) for left_out in (1, 0)}
    for name, convention in load_conventions().items():  # a cell may print more digits than its family does
        rules[name] = Rule(replace(convention.apply(options), digits=""), convention.parsers)
    return rules


def plain_rules(options: Options) -> dict[str, Rule]:
    """The plain rules by name. They are many: they are tried where no other rule gives a number."""
    rules: dict[str, Rule] = {}
    for left_out in LEFT_OUT:
        for estimator, words in _ESTIMATORS.items():
            for printed in (False, True):
                name = words + records(left_out, bool(words)) + (", as printed" if printed else "")
                plain = replace(_plain(options, left_out, estimator, name), as_printed=printed)
                rules[name] = Rule(plain, plain=True)
    for printed in (False, True):
        name = LAST + (", as printed" if printed else "")
        rules[name] = Rule(replace(_plain(options, 0, "last", name), as_printed=printed), plain=True)
    return rules


def _plain(options: Options, left_out: int, estimator: str, name: str) -> Options:
    """The options of a plain rule. It counts as a convention: what reproduces a report is not refused."""
    return replace(options, window=Window(Amount(left_out, "records")), estimator=estimator, convention=name)


def records(left_out: int, of: bool = False) -> str:
    """What a plain rule takes, in words.

    >>> records(0), records(0, of=True), records(1), records(10)
    ('the whole log', 'all records', 'all but the first record', 'all but the first 10 records')
    """
    if not left_out:
        return "all records" if of else WHOLE
    return LATER if left_out == 1 else f"all but the first {left_out} records"
