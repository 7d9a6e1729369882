"""The facts about a run's configuration, from everything that says one."""

from __future__ import annotations

import os
from collections.abc import Iterable

from perflog.formats.catalog import Catalog
from perflog.formats.paths import facts_of_path
from perflog.formats.vocabulary import Fact, normal
from perflog.reading.account import LogFact
from perflog.reading.reading import Reading
from perflog.runs.machine import Machines, facts_of
from perflog.settings.options import Options

#: Of settings that a log gives several values for, so many contradictions are said.
MOST_CONTRADICTIONS = 3


class Facts:
    """Gathers the facts of many logs under one catalogue and one set of options."""

    def __init__(self, catalog: Catalog, options: Options, machines: Machines) -> None:
        self._catalog = catalog
        self._machines = machines
        self._given = [Fact(key, value, "command line", "--set") for key, value in options.set.items()]
        self._given += [Fact(key, value, "config", "perflog.toml") for key, value in options.config_set.items()]

    def of_run(self, reading: Reading, parser: str, span: tuple[int, int]) -> tuple[list[Fact], str]:
        """(the facts, the label: what no pattern understood of the path) of one run.

        Args:
            parser: whose measurements the run has.
            span: the first and the last line of the run.
        """
        owner = self._catalog.by_name[parser]
        from_path, label = facts_of_path(os.path.abspath(reading.log.place), self._catalog.path_patterns)  # noqa: PTH100 - 20,000 paths
        facts = [*self._given, *self._logged(reading, parser, span), *from_path]
        facts += facts_of(self._machines.of(reading.log.path))
        facts += [Fact(key, value, "parser", owner.name) for key, value in owner.default.items()]
        if owner.framework:
            facts.append(Fact("framework", owner.framework, "parser", owner.name))
        return facts, label

    def _logged(self, reading: Reading, parser: str, span: tuple[int, int]) -> list[Fact]:
        """What the log's own lines say of the run: those inside it first, then those before it."""
        settings = [fact for fact in reading.facts if fact.pattern.role == "metadata" and fact.line <= span[1]]
        if not settings:
            return []
        present = self._present(reading, parser)
        order = {pattern.key: place for place, pattern in enumerate(self._catalog.by_name[parser].patterns)}
        settings = [fact for fact in settings if fact.pattern.parser in present]
        settings.sort(key=lambda fact: (order.get(fact.pattern.key, len(order)), fact.line))
        inside: dict[str, Fact] = {}
        before: dict[str, Fact] = {}
        contradictions: list[Fact] = []
        for logged in settings:
            target = inside if logged.line >= span[0] else before
            for fact in _facts_of_line(logged):
                first = target.setdefault(fact.key, fact)
                own = target is inside and logged.pattern.key in order
                if own and normal(fact.key, fact.value) != normal(fact.key, first.value):
                    contradictions.append(fact)
        earlier = [fact for key, fact in before.items() if key not in inside]
        return [*inside.values(), *earlier, *contradictions[:MOST_CONTRADICTIONS]]

    def _present(self, reading: Reading, parser: str) -> set[str]:
        """The parsers whose settings count: of the same framework, or with other lines in the log.

        ``Model:`` may mean anything elsewhere.
        """
        framework = self._catalog.by_name[parser].framework
        present = {p.name for p in self._catalog.parsers if framework and p.framework == framework}
        spoken = {
            p.parser for key, p in reading.patterns.items() if p.role != "metadata" and reading.accounts[key].matches
        }
        return present | spoken | {parser}


def _facts_of_line(logged: LogFact) -> Iterable[Fact]:
    for key, value in {**_translated(logged), **logged.pattern.set}.items():
        yield Fact(key, value, "log", f"line {logged.line}")


def _translated(logged: LogFact) -> dict[str, str]:
    """A line's fields in perflog's words: by the pattern's tables, a list of devices as their number."""
    values: dict[str, str] = {}
    for key, value in logged.fields.items():
        if key == "device_list":
            names = [part for part in value.strip("[]() ").split(",") if part.strip()]
            if names:
                values["devices"] = str(len(names))
            continue
        table = logged.pattern.map.get(key)
        if table is None:
            values[key] = value
        elif value in table:
            values[key] = table[value]
    return values
