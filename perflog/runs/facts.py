"""The facts about a run's configuration, from everything that says one."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from perflog.formats.catalog import Catalog
from perflog.formats.parser import SECTION
from perflog.formats.paths import REPEAT, PathPatterns, facts_of_path
from perflog.formats.vocabulary import Fact, normal
from perflog.logs.addresses import as_path
from perflog.logs.find import STANDARD_INPUT, LogFile
from perflog.reading.account import LogFact
from perflog.reading.reading import Reading
from perflog.runs.factor import FACTORS
from perflog.runs.machine import Machines, facts_of, store_of
from perflog.runs.metadata import Metadata, Stem, device_of, facts_of_mesh, merge, with_devices_of_batches
from perflog.runs.products import Extent, batch_on_lines, devices_by_ratio, prints_two_scopes
from perflog.runs.programs import measuring_parsers
from perflog.runs.run import RUNNERS
from perflog.settings.options import Options

# ----------------------------------------------------------------------------------------------------
# Sections of a printed configuration: the batch size of training stands beside that of validation.
#
# A line with a group ``section`` opens a section, which ends where the next one of the same parser begins. A pattern
# with ``section`` counts inside sections of that name alone.


def in_their_sections(facts: Sequence[LogFact]) -> list[LogFact]:
    """The facts of a log, in the order of its lines, but for those that stand outside the section they count in."""
    if not any(fact.pattern.section for fact in facts):
        return list(facts)
    openers: dict[tuple[str, int], tuple[list[int], list[str]]] = {}
    for fact in facts:
        if SECTION in fact.fields:
            lines, names = openers.setdefault((fact.pattern.parser, fact.rank), ([], []))
            lines.append(fact.line)
            names.append(fact.fields[SECTION])
    return [fact for fact in facts if not fact.pattern.section or _section_of(fact, openers) == fact.pattern.section]


def _section_of(fact: LogFact, openers: dict[tuple[str, int], tuple[list[int], list[str]]]) -> str:
    """The name of the section that a fact's line stands in; empty for one outside all."""
    lines, names = openers.get((fact.pattern.parser, fact.rank), ([], []))
    place = bisect_right(lines, fact.line) - 1
    return names[place] if place >= 0 else ""


# ----------------------------------------------------------------------------------------------------
# Which of a log's statements about a run are in force, and which contradict them.
#
# In force is the last statement before the run's first step. A program that failed and was started again says its
# configuration again; what the failed start said is no part of the run: a traceback between the two tells it, two lines
# that begin a start, or settings that are said again in the same order. Two statements of one start that differ are a
# contradiction: nothing tells which of them the measured steps had. What is said behind the last step is no part of it.

#: Of settings that a log gives several values for, so many contradictions are said.
MOST_CONTRADICTIONS = 3
#: What a program says of itself once in a start; a data loader's settings may stand there several times.
ONCE_A_START = frozenset({
    "devices", "nodes", "devices_per_node", "model", "framework_version", "accelerator", "precision",
})  # fmt: skip


class Statement(Struct, frozen=True):
    """One fact on a line of the log.

    Attributes:
        rank: the place of its pattern among those of the run's parser, which come before all others.
        pattern: the pattern's key.
        parser: the pattern's parser; ``own``: whether that is the run's.
        weak: whether it counts only where no surer pattern of its parser says the same key.
        ruled_out: lines by which it does not count, where one is of the same start or of a later one
            (``use_amp: False`` beside ``level: O1``).
    """

    fact: Fact
    line: int
    rank: int
    pattern: str
    parser: str
    own: bool
    weak: bool = False
    ruled_out: Sequence[int] = ()


def in_force(
    statements: Sequence[Statement], extent: Extent, starts: Sequence[int], failures: Collection[int] = ()
) -> list[Fact]:
    """The facts in force, one a key, and behind them those that contradict them.

    Args:
        statements: those up to the run's end, in any order.
        starts: the lines from the run's begin to its first step that say that a run begins.
        failures: those among them that say that a start failed.
    """
    last_start = _last_start(statements, extent, starts, failures)
    statements = _without_weaker(_not_ruled_out(statements, extent, last_start), extent)
    by_key: dict[str, list[Statement]] = {}
    for statement in sorted(statements, key=lambda s: (s.rank, s.line)):
        by_key.setdefault(statement.fact.key, []).append(statement)
    chosen = {key: _chosen(of_key, extent, last_start) for key, of_key in by_key.items()}
    contradictions = [
        statement.fact
        for key, of_key in by_key.items()
        for statement in of_key
        if max(extent.begin, last_start + 1) <= statement.line <= extent.last_step
        and _contradicts(statement, chosen[key])
    ]
    inside = [s.fact for s in chosen.values() if s.line >= extent.begin]
    before = [s.fact for s in chosen.values() if s.line < extent.begin]
    return [*inside, *before, *contradictions[:MOST_CONTRADICTIONS]]


def _not_ruled_out(statements: Sequence[Statement], extent: Extent, last_start: int) -> Sequence[Statement]:
    """The statements but for those that another line of their start, or of a later one, rules out."""

    def start_of(line: int) -> tuple[bool, bool]:
        return line >= extent.begin, line > last_start

    def ruled_out(s: Statement) -> bool:
        latest = max(extent.first_step, s.line)  # what a test behind the first step prints is of the test
        return any(line <= latest and start_of(line) >= start_of(s.line) for line in s.ruled_out)

    return [s for s in statements if not ruled_out(s)]


def _without_weaker(statements: Sequence[Statement], extent: Extent) -> Sequence[Statement]:
    """The statements but for weak ones of which the same parser says something surer, of this run or of those before.

    ``use_amp: True`` beside ``level: O2`` is no contradiction: the second says what kind.
    """
    if not any(statement.weak for statement in statements):
        return statements
    surer = {
        (s.parser, s.fact.key, inside) for s in statements if not s.weak for inside in (False, s.line >= extent.begin)
    }
    return [s for s in statements if not s.weak or (s.parser, s.fact.key, s.line >= extent.begin) not in surer]


def _chosen(statements: Sequence[Statement], extent: Extent, last_start: int) -> Statement:
    """Of statements of one key, those of the first pattern first, the one in force.

    The last before the first step, in the last start or else in those before it; else the first behind the first step;
    else the last of the runs before.
    """
    inside = [s for s in statements if s.line >= extent.begin]
    before_step = [s for s in inside if s.line <= extent.first_step]
    of_start = [s for s in before_step if s.line > last_start]
    candidates = of_start or before_step
    if not candidates and inside:
        return inside[0]
    candidates = candidates or list(statements)
    return max((s for s in candidates if s.rank == candidates[0].rank), key=lambda s: s.line)


def _contradicts(statement: Statement, chosen: Statement) -> bool:
    """Whether a statement says another value than the one in force, in a way that is as sure."""
    as_sure = statement.own or statement.parser == chosen.parser
    key = chosen.fact.key
    return as_sure and normal(key, statement.fact.value) != normal(key, chosen.fact.value)


def _last_start(
    statements: Iterable[Statement], extent: Extent, starts: Sequence[int], failures: Collection[int]
) -> int:
    """The line behind which the start that came to measure says its settings; 0 where there was one start."""
    lines: dict[str, list[int]] = {}
    once: set[str] = set()
    for statement in sorted(statements, key=lambda s: s.line):
        if extent.begin <= statement.line <= extent.first_step:
            of_pattern = lines.setdefault(statement.pattern, [])
            if not of_pattern or of_pattern[-1] != statement.line:
                of_pattern.append(statement.line)
            if statement.fact.key in ONCE_A_START:
                once.add(statement.pattern)
    failed = _last_failure(lines, failures)
    begun = [start for start in starts if start not in failures]
    starts = _apart(begun, {line for of_pattern in lines.values() for line in of_pattern})
    if len(starts) > 1:
        said_since = any(of_pattern[-1] > starts[-1] for of_pattern in lines.values())
        return max(failed, starts[-1] if said_since else starts[-2])
    return max(failed, _block_said_again(lines, once))


def _last_failure(lines: Mapping[str, Sequence[int]], failures: Iterable[int]) -> int:
    """The last failure with settings before it that are said again behind it; 0 where there is none.

    Programs go on behind many a traceback: without settings said again it tells nothing.
    """
    again = [(of_pattern[0], of_pattern[-1]) for of_pattern in lines.values()]
    return max((line for line in failures if any(first < line < last for first, last in again)), default=0)


def _apart(starts: Sequence[int], said: Collection[int]) -> list[int]:
    """The lines that begin a start, each but the first behind a line that says a setting since the one before it."""
    pairs = pairwise(starts)
    return [*starts[:1], *(start for before, start in pairs if any(before < line < start for line in said))]


def _block_said_again(lines: Mapping[str, Sequence[int]], once: Iterable[str]) -> int:
    """The last line of a block of settings that a later block repeats; 0 where none does.

    Args:
        lines: of each pattern, by its key.
        once: the patterns that say what is said once in a start.
    """
    last = 0
    for one in once:
        for other in lines:
            if other == one or len(lines[one]) < 2 or len(lines[other]) < 2:
                continue
            (one_old, one_new), (other_old, other_new) = lines[one][-2:], lines[other][-2:]
            if one_old < other_old < one_new < other_new or other_old < one_old < other_new < one_new:
                last = max(last, one_old, other_old)
    return last


#: Groups of metadata lines that tell of the log and not of the run.
NO_FACTS = frozenset(
    {SECTION, "step", "epoch", "run_steps", "epoch_steps", "window_size", "print_interval", "mesh_axes"}
)
#: The parser of lines that say that a start failed.
FAILED_STARTS = "failed_starts"
#: The facts that tell the samples of a step.
_BATCHES = frozenset({"batch_size", "global_batch_size", "micro_batch_size"})
#: What these parsers read says a library of the program that trains with it.
LIBRARIES = frozenset({"deepspeed"})
#: The parsers of what programs of every framework print of themselves: perflog's runners, and those on the CPU.
OF_EVERY_PROGRAM = frozenset({RUNNERS, "trained_on_cpu"})
#: The facts whose values may have other names.
ALIASED = frozenset({"model", "framework", "accelerator", "precision"})


class Speakers(Struct, frozen=True):
    """The parsers whose settings count for a run.

    Attributes:
        of_all: those whose settings count that are no factors.
        of_factors: those whose word is enough for a factor, where it stands before the run's first step.
        own: the one whose word is enough everywhere.
    """

    of_all: AbstractSet[str]
    of_factors: AbstractSet[str]
    own: str

    def tell(self, parser: str, key: str, late: bool) -> bool:
        """Whether a setting counts that a line of a parser says; ``late``: behind the run's first step."""
        if key not in FACTORS:
            return parser in self.of_all
        return parser == self.own or (not late and parser in self.of_factors)


class Facts:
    """Gathers the facts of many logs under one catalogue and one set of options."""

    def __init__(
        self, catalog: Catalog, options: Options, machines: Machines, indexed: frozenset[Stem] = frozenset()
    ) -> None:
        """``indexed``: the names of logs whose number is a device's."""
        self._catalog = catalog
        self._machines = machines
        self._indexed = indexed
        self._helpers = catalog.launchers | LIBRARIES
        self._of_framework: defaultdict[str, set[str]] = defaultdict(set)
        for parser in catalog.parsers:
            if parser.framework:
                self._of_framework[parser.framework].add(parser.name)
        self._aliases = {alias.lower(): name for alias, name in options.aliases.items()}
        self.own_names = frozenset(options.aliases.values())
        self._given = [Fact(key, value, "command line", "--set") for key, value in options.set.items()]
        self._given += [Fact(key, value, "config", "perflog.toml") for key, value in options.config_set.items()]

    def of_run(self, reading: Reading, parser: str, extent: Extent) -> tuple[list[Fact], str]:
        """(the facts, the label: what no pattern understood of the path) of one run.

        Args:
            parser: whose measurements the run has.
            extent: the lines of the run.
        """
        owner = self._catalog.by_name[parser]
        patterns = self._catalog.path_patterns
        from_path, label = path_facts(reading.log, patterns)
        if self._indexed and (device := device_of(reading.log, patterns)) is not None and device.stem in self._indexed:
            from_path = [fact for fact in from_path if (fact.key, fact.where) != ("devices", device.part)]
            label = f"{label}/device {device.number}"
        measured = devices_by_ratio(reading, parser, extent)
        logged = self._logged(reading, parser, extent) + ([] if measured is None else [measured])
        if not any(fact.key in _BATCHES for fact in (*self._given, *logged)):
            logged += batch_on_lines(reading, parser, extent)
        facts = [*self._given, *logged, *from_path]
        facts += facts_of(self._machines.of(reading.log.path, store_of(reading.log)))
        facts += [Fact(key, value, "parser", owner.name) for key, value in owner.default.items()]
        if owner.framework:
            facts.append(Fact("framework", owner.framework, "parser", owner.name))
        elif (launched := self._launched(reading, extent)) is not None:
            facts.append(launched)
        return [self._by_its_name(fact) for fact in facts] if self._aliases else facts, label

    def _by_its_name(self, fact: Fact) -> Fact:
        """A fact with the name that its value is an alias of."""
        if fact.key not in ALIASED:
            return fact
        names = (self._aliases.get(str(value).lower()) for value in (fact.value, normal(fact.key, fact.value)))
        name = next((name for name in names if name is not None), None)
        return fact if name is None else replace(fact, value=name)

    def _logged(self, reading: Reading, parser: str, extent: Extent) -> list[Fact]:
        """What the log's own lines say of the run: what is in force first, then what contradicts it."""
        settings = [
            fact
            for fact in in_their_sections(reading.facts)
            if fact.pattern.role == "metadata"
            and extent.program <= fact.line <= extent.end
            and not (fact.pattern.own and fact.pattern.parser != parser)
        ]
        if not settings:
            return []
        speakers = self._speakers(reading, parser, extent)
        lines: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for logged in settings:
            lines[logged.pattern.parser, logged.pattern.name].append(logged.line)
        order = {pattern.key: place for place, pattern in enumerate(self._catalog.by_name[parser].patterns)}
        statements = [
            Statement(
                fact, logged.line, order.get(logged.pattern.key, len(order)), logged.pattern.key,
                logged.pattern.parser, logged.pattern.key in order, logged.pattern.weak,
                [line for switch in logged.pattern.never_with for line in lines[logged.pattern.parser, switch]],
            )
            for logged in settings
            if logged.pattern.tells_facts
            for fact in _facts_of_line(logged)
            if speakers.tell(logged.pattern.parser, fact.key, logged.line > extent.first_step)
            and not (fact.key in FACTORS and extent.serves_another(logged.line))
        ]  # fmt: skip
        failures = {logged.line for logged in settings if logged.pattern.parser == FAILED_STARTS}
        return in_force(statements, extent, _starts(reading, extent), failures)

    def _launched(self, reading: Reading, extent: Extent) -> Fact | None:
        """The framework whose launcher started a run, by the lines before its end; None where none or several did."""
        by_name = self._catalog.by_name
        found = {
            by_name[fact.pattern.parser].framework: fact.line
            for fact in reversed(reading.facts)
            if fact.pattern.parser in self._catalog.launchers and extent.program <= fact.line <= extent.end
        }
        found.pop("", None)
        if len(found) != 1:
            return None
        ((framework, line),) = found.items()
        return Fact("framework", framework, "log", f"line {line}")

    def _speakers(self, reading: Reading, parser: str, extent: Extent) -> Speakers:
        """The parsers whose settings count: of the same framework, or with other lines in the log.

        ``Model:`` may mean anything elsewhere. A parser that measured steps of its own speaks of its own program, and
        so do all of its framework where that is another one. For a factor, only formats of launchers and libraries
        count, which measure nothing; bars of any program (generic parsers) have no settings of theirs.
        What they say behind a run's first step is of another program, which spoke beside it or behind it. perflog's
        own runners say the same of every framework, and so do programs that name the CPU as their device.
        """
        launched = None if self._catalog.by_name[parser].framework else self._launched(reading, extent)
        framework = self._catalog.by_name[parser].framework if launched is None else str(launched.value)
        others = measuring_parsers(reading) - {parser}
        foreign = {self._catalog.by_name[name].framework for name in others} - {framework, ""}
        same = self._of_framework.get(framework, set())
        if launched is not None:  # what its own lines say no format knows
            same = same & self._helpers
        speaking = reading.counts.parsers_that_speak()
        spoken = {name for name in speaking if self._catalog.by_name[name].framework not in foreign}
        woven = bool(others) and any(
            account.first_line <= extent.last_step and account.last_line >= extent.first_step
            for key, account in reading.accounts.items()
            if account.matches and reading.patterns[key].parser in others and reading.patterns[key].role == "step"
        )
        helpers = same if parser in self._catalog.generic else (same - speaking) & self._helpers
        of_factors = {parser} if woven else (helpers - others) | {parser}
        return Speakers((same | spoken | OF_EVERY_PROGRAM | {parser}) - others, of_factors, parser)


def path_facts(log: LogFile, patterns: PathPatterns) -> tuple[list[Fact], str]:
    """(what a log's path says, its label); what folders above the path given by the user alone say is marked so.

    A stream has no path: the working folder's name says nothing of it.
    """
    if log.place == STANDARD_INPUT:
        return [], ""
    place = os.path.abspath(log.place)  # noqa: PTH100 - 20,000 paths
    facts, label = facts_of_path(place, patterns)
    if not log.given:
        return facts, label
    above = os.path.dirname(os.path.abspath(as_path(log.given)))  # noqa: PTH100, PTH120
    *folders, name = place[len(above) :].strip("/").split("/")
    below = {fact.where for fact in facts} & {name, *folders}
    return [fact if fact.where in below else replace(fact, above=True) for fact in facts], label


def _starts(reading: Reading, extent: Extent) -> list[int]:
    """The lines of a run up to its first step that say that a run begins."""
    return reading.starts_between(extent.begin, extent.first_step)


def _facts_of_line(logged: LogFact) -> list[Fact]:
    told = _counted(logged.pattern.facts(logged.fields))
    return [Fact(key, value, "log", f"line {logged.line}") for key, value in told.items()]


def _counted(said: Mapping[str, str]) -> dict[str, str]:
    """The facts on a line, with a list or mesh of devices as their number."""
    values: dict[str, str] = {}
    for key, value in said.items():
        if key in NO_FACTS:
            continue
        if key == "device_list":
            names = [part for part in value.strip("[]() ").split(",") if part.strip()]
            if names:
                values["devices"] = str(len(names))
        elif key == "device_mesh":
            values |= facts_of_mesh(value, said.get("mesh_axes", ""))
        else:
            values[key] = value
    return with_devices_of_batches(values)


# ----------------------------------------------------------------------------------------------------
# What a run was, from all that says so; found out once for logs that differ in the number of their repeat alone.


#: What so many different sets of facts come to is kept.
MOST_MERGES = 10_000


class Identities:
    """The metadata of many logs' runs under one catalogue and one set of options."""

    def __init__(
        self, catalog: Catalog, options: Options, machines: Machines, indexed: frozenset[Stem] = frozenset()
    ) -> None:
        """``indexed``: the names of logs whose number is a device's."""
        self._facts = Facts(catalog, options, machines, indexed)
        self._patterns = catalog.path_patterns
        self._repeat_is_given = REPEAT in options.set or REPEAT in options.config_set
        self._known: dict[tuple[object, ...], tuple[Metadata, str]] = {}
        self._merges: dict[tuple[object, ...], Metadata] = {}
        self._folders: dict[str, str] = {}

    def of_run(self, reading: Reading, parser: str, extent: Extent) -> tuple[Metadata, str]:
        """(the metadata, the label: what no pattern understood of the path) of one run.

        Args:
            parser: whose measurements the run has.
            extent: the lines of the run.
        """
        says = any(fact.pattern.role == "metadata" for fact in reading.facts) or prints_two_scopes(reading, parser)
        if self._repeat_is_given or says:
            facts, label = self._facts.of_run(reading, parser, extent)
            return self._merged(facts), label
        folder, name = self._folder_and_name(reading.log.place)
        own = self._patterns.facts_of_part(name, "file")
        rest = tuple(item for item in own.values.items() if item[0] != REPEAT)
        printed = own.values.get(REPEAT)
        repeat = normal(REPEAT, printed) if printed is not None else None
        log = reading.log
        given = log.given != log.path and log.given  # of what was given nothing but its folder counts
        printed_batch = tuple(batch_on_lines(reading, parser, extent))
        place = (folder, os.path.dirname(log.path), given)  # noqa: PTH120
        key = (*place, parser, own.label, rest, repeat is None, printed_batch)
        known = self._known.get(key)
        if known is None:
            facts, label = self._facts.of_run(reading, parser, extent)
            known = self._known[key] = self._merged(facts), label
        metadata, label = known
        if repeat is not None and metadata.values.get(REPEAT) != repeat:
            metadata = metadata.with_repeat(repeat)
        return metadata, label

    def _folder_and_name(self, place: str) -> tuple[str, str]:
        """(the whole path of the folder of a log's place, the log's name)."""
        if "\\" in place:  # a member of an archive that was made on Windows
            folder, _, name = os.path.abspath(place).replace("\\", "/").rpartition("/")  # noqa: PTH100
            return folder, name
        above, name = os.path.split(place)
        folder = self._folders.get(above, "")
        if not folder:
            folder = self._folders[above] = os.path.abspath(above).rstrip("/")  # noqa: PTH100 - once for many logs
        return folder, name

    def of_failure(self, reading: Reading, parser: str) -> tuple[Metadata, str]:
        """The same of a training that failed before its first measurement: the line that says so is no fact."""
        facts, label = self._facts.of_run(reading, parser, Extent(1, reading.lines, reading.lines, reading.lines))
        return self._merged(fact for fact in facts if fact.key != "failure"), label

    def _merged(self, facts: Iterable[Fact]) -> Metadata:
        """What some facts come to: found out once for all runs that the same is known of, but for their repeats.

        Where a fact stands matters to nothing but the words of a doubt, and what has any is made anew.
        """
        facts = list(facts)
        at = [place for place, fact in enumerate(facts) if fact.key == REPEAT]
        repeat = normal(REPEAT, facts[at[0]].value) if len(at) == 1 and not facts[at[0]].above else None
        if repeat is not None:
            facts[at[0]] = Fact(REPEAT, 1, facts[at[0]].source)
        key = tuple((fact.key, fact.value, fact.source, fact.above and fact.where) for fact in facts)
        known = self._merges.get(key)
        if known is None:
            known = merge(facts, self._facts.own_names)
            if len(self._merges) < MOST_MERGES and not (known.doubts or known.contradictions or known.unfit):
                self._merges[key] = known
        return known if repeat is None else known.with_repeat(repeat)
