"""Say what was read from one log and by which parser, and, on request, why other parsers were rejected."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from shlex import quote
from typing import Any

from perflog.errors import UsageError
from perflog.formats.catalog import Catalog
from perflog.formats.line import plain_text
from perflog.formats.parser import Parser, Pattern
from perflog.inference.infer import frequent_tables, inferred_outcome
from perflog.logs.clean import clean_block
from perflog.logs.containers import UnreadableError, blocks_of
from perflog.logs.find import LogFile, find_logs
from perflog.matching.one_line import gave_up, read_line
from perflog.matching.tables import Table
from perflog.parts import ENDING
from perflog.reading.account import Account
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.runs.build import RunBuilder
from perflog.runs.run import Metric, Outcome, Run, Skipped
from perflog.settings.config import Settings
from perflog.settings.options import Options
from perflog.show.text import counted
from perflog.spelling import did_you_mean

SCHEMA = "perflog/explanation/2"
#: How many lines that were not understood are shown per pattern.
SHOWN = 2
#: What asks why each parser was rejected.
ALL = "all"
#: So many parsers are named of which no literal occurs in the log.
MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was read from one log.

    Attributes:
        log: the log's name.
        text: what was read, by which parser, and why those parsers were rejected that the caller asked about.
        complete: whether the log has a run and every run has a value.
        data: the same as plain data, for machines, with every parser.
    """

    log: str
    text: str = field(repr=False)  # pages of text, which no notebook need show
    complete: bool
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)


def explain_logs(
    paths: Sequence[str | os.PathLike[str]], settings: Settings, why_not: str = "", with_data: bool = True
) -> Iterator[Explanation]:
    """Explain the logs at and below paths, one after the other.

    Args:
        why_not: the name of a parser of which the text says why it was rejected; ``all``; or empty for none.
        with_data: give the data too, which takes as long as the reasons of all parsers.

    Raises:
        UsageError: for the name of no parser, when a path does not exist or is a part, whose log lines are elsewhere,
            or an option is not right.
    """
    options, catalog = settings.options(), settings.catalog()
    if why_not not in ("", ALL) and why_not not in catalog.by_name:
        raise UsageError(f"--why-not {why_not!r}: no such parser{did_you_mean(why_not, catalog.by_name)}")
    logs = find_logs(paths)
    for log in logs:
        if not log.path.endswith(ENDING):
            continue
        from perflog.parts.part import is_part  # 10 ms, which no log needs

        if is_part(log):
            raise UsageError(
                f"{log.name} is a part of logs that were read elsewhere, and holds none of their lines: name the log "
                "itself, where it lies"
            )
    yield from explained(logs, catalog, options, why_not, with_data)


def to_json(explanations: Sequence[Explanation]) -> str:
    """Explanations as a JSON document."""
    from perflog.escaping import json_text

    return json_text(document(explanations)) + "\n"


def document(explanations: Sequence[Explanation]) -> dict[str, Any]:
    """Explanations in the schema of docs/json.md."""
    return {"schema": SCHEMA, "logs": [dict(explanation.data) for explanation in explanations]}


def explained(
    logs: Sequence[LogFile], catalog: Catalog, options: Options, why_not: str = "", with_data: bool = True
) -> Iterator[Explanation]:
    """Explain logs that were found, one after the other; the arguments are those of :func:`explain_logs`."""
    builder = RunBuilder(catalog, options)

    def finish_all(readings: Sequence[Reading]) -> list[tuple[Reading, Outcome]]:
        finished = []
        for reading, outcome in zip(readings, builder.build_all(readings), strict=True):
            finished.append((reading, inferred_outcome(reading, outcome, catalog, options).outcome))
        return finished

    def finish(reading: Reading) -> tuple[Reading, Outcome]:
        return finish_all([reading])[0]

    for reading, outcome in read_logs(logs, catalog, finish, options.as_printed, finish_all=finish_all):
        yield _explanation(reading, outcome, catalog, why_not, with_data)


def _explanation(reading: Reading, outcome: Outcome, catalog: Catalog, why_not: str, with_data: bool) -> Explanation:
    log = reading.log
    lines = [f"{log.name}: {counted(reading.lines, 'line')}, {counted(reading.bytes, 'byte')}"]
    shapes: list[Table] = []
    if isinstance(outcome, Skipped):
        lines.append(f"no training log: {outcome.reason}")
        if not reading.problem:
            shapes = frequent_tables(log)
            lines.extend(_shapes(shapes, log.name, has_option="give --" in outcome.reason))
    else:
        for number, run in enumerate(outcome, 1):
            lines.extend(_run(run, number, len(outcome), _cells(run)))
    shown = list(_parsers(reading, catalog, why_not))
    complete = not isinstance(outcome, Skipped) and all(run.throughput.value is not None for run in outcome)
    data: dict[str, Any] = {}
    if with_data:
        parsers = shown if why_not == ALL else list(_parsers(reading, catalog, ALL))
        data = _data(reading, outcome, shapes, parsers, complete)
    return Explanation(log.name, "\n".join([*lines, "parsers", *shown]), complete, data)


def _shapes(shapes: Sequence[Table], name: str, has_option: bool) -> Iterator[str]:
    """The most frequent lines of a log that no parser knows, and what to do next.

    Args:
        has_option: whether the reason that stands above gives an option ready made: another one would contradict it.
    """
    if shapes:
        yield "its most frequent lines, # for a number"
    for frequent in shapes:
        yield f"  {len(frequent):>6} × {_short(frequent.outline)}"
        yield f"           line {int(frequent.lines[0])}: {_short(frequent.first)}"
    if shapes and not has_option:
        yield (
            f"next: `perflog extract {quote(name)} --as {quote(plain_text(_short(shapes[0].first)))}`, with {{step}}, "
            "{step_time:s} or {rate:samples/s} in place of the numbers that count; docs/any-log.md says how"
        )
    word = "or" if shapes or has_option else "next"
    yield f"{word}: `perflog parsers new NAME --from {name}` writes a parser to correct; docs/parsers.md says how"


def _short(text: str, most: int = 120) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _data(
    reading: Reading, outcome: Outcome, shapes: Sequence[Table], parsers: Sequence[str], complete: bool
) -> dict[str, Any]:
    """An explanation as plain data."""
    from perflog.escaping import exact
    from perflog.show.document import reason_code, run_document

    runs = [] if isinstance(outcome, Skipped) else outcome
    return {
        "file": exact(reading.log.path),
        "member": exact(reading.log.member) or None,
        "lines": reading.lines,
        "bytes": reading.bytes,
        "complete": complete,
        "reason": outcome.reason if isinstance(outcome, Skipped) else None,
        "reason_code": reason_code(outcome.reason, outcome.failed) if isinstance(outcome, Skipped) else None,
        "runs": [run_document(run) for run in runs],
        "no_facts": list(dict.fromkeys(said for run in runs for said in run.metadata.unfit)),
        "frequent_lines": [
            {"count": len(entry), "line": int(entry.lines[0]), "outline": entry.outline, "text": entry.first}
            for entry in shapes
        ],
        "parsers": [line.strip() for line in parsers],
        "next": "perflog parsers new NAME --from LOG" if shapes else None,
    }


def _cells(run: Run) -> str:
    """Which cells of a notebook a run's lines are of; empty for other logs."""
    if not run.log.place.endswith(".ipynb") or run.log.pipe is not None:
        return ""
    from perflog.logs.notebooks import cells_of_lines

    try:
        first, last = cells_of_lines((load() for load in blocks_of(run.log)), (run.first_line, run.last_line))
    except UnreadableError:  # it was there a moment ago
        return ""
    return f" (cell {first})" if first == last else f" (cells {first} to {last})"


def _run(run: Run, number: int, total: int, cells: str) -> Iterator[str]:
    """``cells``: what is said of the cells that the run's lines are of."""
    title = f"run {number} of {total}" if total > 1 else "run"
    lines = (
        f"line {run.first_line}" if run.first_line == run.last_line else f"lines {run.first_line} to {run.last_line}"
    )
    yield f"{title}: parser {run.parser}, {lines}{cells}, {run.window}"
    by_source: dict[str, list[str]] = {}
    for key, value in run.values.items():
        by_source.setdefault(run.metadata.sources.get(key, "derived"), []).append(f"{key} {value}")
    for source, facts in by_source.items():
        yield f"  {f'by {source}':<18} {', '.join(facts)}"
    for said in run.metadata.unfit:
        yield f"  no fact            {run.log.name}: {said}"
    for metric in run.metrics.values():
        yield f"  {metric.name:<18} {_metric(metric)}"
    yield from _evidence(run)
    for note in run.notes:
        yield f"  note: {note}"


def _evidence(run: Run) -> Iterator[str]:
    if run.evidence is None:
        return
    if not run.evidence.witnesses:
        yield "  evidence           uncorroborated: nothing else in the log speaks of this number"
    for witness in run.evidence.witnesses:
        first, last = witness.lines
        place = f"line {first}" if first == last else f"lines {first} to {last}"
        told = f"{witness.about} {witness.told:.5g} {witness.unit}, measured {witness.measured:.5g}"
        yield f"  evidence           {witness.agreement}: {witness.name} ({place}): {told}"
    if run.throughput.rounding is not None:
        low, high = run.throughput.rounding
        yield f"  rounding           the printed digits allow {low:.5g} to {high:.5g} {run.throughput.unit}"


def _metric(metric: Metric) -> str:
    if metric.value is None:
        return f"no value: {metric.reason}"
    text = f"{metric.value:.10g} {metric.unit}".rstrip() + f"  ({metric.estimator}"
    if metric.used:
        text += f", {metric.used} measurement{'s' if metric.used != 1 else ''}"
    if metric.first_line:
        several = f", lines {metric.first_line} to {metric.last_line}"
        text += f", line {metric.first_line}" if metric.first_line == metric.last_line else several
    if metric.excluded:
        text += "; left out: " + ", ".join(f"{count} {why}" for why, count in metric.excluded.items())
    return text + ")"


def _parsers(reading: Reading, catalog: Catalog, why_not: str) -> Iterator[str]:
    """What matched first, then why the parser of a name was rejected, or all others, or how to ask for that."""
    rejected: list[str] = []
    silent: list[str] = []
    others = matched = 0
    of_log = reading.accounts
    seen = {reading.patterns[key].parser for key in of_log}
    beginning = _Beginning(reading.log)
    for parser in catalog.parsers:
        accounts = [(p, of_log[p.key]) for p in parser.patterns if p.key in of_log] if parser.name in seen else []
        is_asked = why_not in (ALL, parser.name)
        if any(a.matches and p.role != "metadata" for p, a in accounts):
            matched += 1
            yield from _matched(reading, beginning, parser, accounts, is_asked)
        elif not is_asked:
            others += 1
        elif any(a.candidates for _, a in accounts):
            rejected.extend(_rejected(beginning, parser, accounts))
        else:
            silent.append(parser.name)
    yield from rejected
    if silent:
        named = ", ".join(silent) if len(silent) <= MOST_NAMED else f"{len(silent)} parsers"
        yield f"  rejected because none of their literals occurs: {named}"
    elif others and not why_not:
        those = counted(others, "other parser" if matched else "parser")
        yield f"  {those} rejected: --why-not NAME or --why-not all says why"


def _matched(
    reading: Reading,
    beginning: _Beginning,
    parser: Parser,
    accounts: list[tuple[Pattern, Account]],
    with_lines: bool,
) -> Iterator[str]:
    """``with_lines``: each pattern on a line of its own, and the lines that were not understood."""
    matched = [(pattern, account) for pattern, account in accounts if account.matches]
    if not with_lines:
        yield f"  {parser.name}: matched {', '.join(_place(*one) for one in matched)}"
        return
    yield f"  {parser.name}: matched"
    for pattern, account in matched:
        ends = f"first {account.first_line}, last {account.last_line}"
        place = f"{account.matches} lines, {ends}" if account.matches > 1 else f"line {account.first_line}"
        yield f"    {pattern.name:<18} {pattern.role:<9} {place}{_units(reading, pattern)}"
    literals = {p.literal for p, a in accounts if a.matches}
    for pattern, account in accounts:
        if not account.matches and pattern.literal not in literals and account.candidates:
            yield from _not_understood(beginning, pattern, account.candidates)


def _place(pattern: Pattern, account: Account) -> str:
    """A pattern with its lines: ``step (40 lines, 6 to 45)``."""
    if account.matches == 1:
        return f"{pattern.name} (line {account.first_line})"
    return f"{pattern.name} ({account.matches} lines, {account.first_line} to {account.last_line})"


def _rejected(beginning: _Beginning, parser: Parser, accounts: list[tuple[Pattern, Account]]) -> Iterator[str]:
    pattern, account = max(accounts, key=lambda pa: pa[1].candidates)
    if account.matches:
        yield f"  {parser.name}: rejected, only settings match, or a more specific parser has the lines"
        return
    lines = _hold(account.candidates, repr(pattern.literal))
    yield f"  {parser.name}: rejected, {lines}, none matches '{pattern.name}'"
    yield from _not_understood(beginning, pattern, account.candidates)


def _hold(count: int, what: str) -> str:
    return f"{counted(count, 'line')} {'holds' if count == 1 else 'hold'} {what}"


def _units(reading: Reading, pattern: Pattern) -> str:
    units = sorted(u for u in reading.units.get(pattern.key, set()) if u)
    return f", unit {', '.join(units)}" if units else ""


def _not_understood(beginning: _Beginning, pattern: Pattern, count: int) -> Iterator[str]:
    shown = 0
    for number, line in beginning.lines_with(pattern.literal):
        if read_line(pattern, line) is None:
            short = line if len(line) < 400 else line[:400]
            if shown == 0:
                are = "is" if count == 1 else "are"
                problem = f"{_hold(count, 'its literal')} and {are} not understood"
                yield f"    {pattern.name}: {problem}, such as line {number}:"
            yield "\n".join("      " + part for part in gave_up(pattern, short).splitlines())
            shown += 1
            if shown == SHOWN:
                return


class _Beginning:
    """The lines of a log's first block, read when they are first needed."""

    def __init__(self, log: LogFile) -> None:
        self._log = log

    @cached_property
    def _lines(self) -> list[tuple[int, bytes]]:
        try:
            data = clean_block(next(blocks_of(self._log))())
        except (StopIteration, UnreadableError):
            return []
        return [(number, part) for number, line in enumerate(data.split(b"\n"), 1) for part in line.split(b"\r")]

    def lines_with(self, literal: str) -> Iterator[tuple[int, str]]:
        """The lines that hold a text, with their numbers."""
        wanted = literal.encode()
        return ((number, line.decode("utf-8", "replace")) for number, line in self._lines if wanted in line)
