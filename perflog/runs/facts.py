"""The facts about a run's configuration, from everything that says one."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace

from perflog.formats.catalog import Catalog
from perflog.formats.parser import SECTION
from perflog.formats.paths import PathPatterns, facts_of_path
from perflog.formats.vocabulary import Fact, normal
from perflog.logs.addresses import as_path
from perflog.logs.find import STANDARD_INPUT, LogFile
from perflog.reading.account import LogFact
from perflog.reading.reading import GENERIC, Reading
from perflog.runs.device_index import Stem, device_of
from perflog.runs.extent import Extent
from perflog.runs.machine import Machines, facts_of, store_of
from perflog.runs.mesh import facts_of_mesh, with_devices_of_batches
from perflog.runs.origin import FACTORS
from perflog.runs.products import batch_on_lines
from perflog.runs.programs import measuring_parsers
from perflog.runs.ratio import devices_by_ratio
from perflog.runs.run import RUNNERS
from perflog.runs.sections import in_their_sections
from perflog.runs.statements import Statement, in_force
from perflog.settings.options import Options

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
        self._programs = (
            frozenset(
                parser.name for parser in catalog.parsers if any(p.role in ("step", "summary") for p in parser.patterns)
            )
            - LIBRARIES
        )
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
            for fact in _facts_of_line(logged)
            if speakers.tell(logged.pattern.parser, fact.key, logged.line > extent.first_step)
            and not (fact.key in FACTORS and extent.serves_another(logged.line))
        ]  # fmt: skip
        failures = {logged.line for logged in settings if logged.pattern.parser == FAILED_STARTS}
        return in_force(statements, extent, _starts(reading, extent), failures)

    def _speakers(self, reading: Reading, parser: str, extent: Extent) -> Speakers:
        """The parsers whose settings count: of the same framework, or with other lines in the log.

        ``Model:`` may mean anything elsewhere. A parser that measured steps of its own speaks of its own program, and
        so do all of its framework where that is another one. For a factor, only formats of launchers and libraries
        count, which measure nothing; bars of any program (generic parsers) have no settings of theirs.
        What they say behind a run's first step is of another program, which spoke beside it or behind it. perflog's
        own runners say the same of every framework, and so do programs that name the CPU as their device.
        """
        framework = self._catalog.by_name[parser].framework
        others = measuring_parsers(reading) - {parser}
        foreign = {self._catalog.by_name[name].framework for name in others} - {framework, ""}
        same = {p.name for p in self._catalog.parsers if framework and p.framework == framework}
        speaking = {
            p.parser for key, p in reading.patterns.items() if p.role != "metadata" and reading.accounts[key].matches
        }
        spoken = {name for name in speaking if self._catalog.by_name[name].framework not in foreign}
        woven = any(
            account.first_line <= extent.last_step and account.last_line >= extent.first_step
            for key, account in reading.accounts.items()
            if account.matches and reading.patterns[key].parser in others and reading.patterns[key].role == "step"
        )
        helpers = same if self._catalog.by_name[parser].priority <= GENERIC else same - speaking - self._programs
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


def _facts_of_line(logged: LogFact) -> Iterable[Fact]:
    for key, value in _counted(logged.pattern.facts(logged.fields)).items():
        yield Fact(key, value, "log", f"line {logged.line}")


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
