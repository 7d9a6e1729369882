"""The facts about a run's configuration, from everything that says one."""

from __future__ import annotations

from perflog.formats.catalog import Catalog
from perflog.formats.paths import facts_of_path
from perflog.formats.vocabulary import Fact, normal
from perflog.reading.account import LogFact
from perflog.reading.reading import Reading
from perflog.runs.machine_facts import facts_of_machine
from perflog.settings.options import Options


def facts_of_run(reading: Reading, catalog: Catalog, options: Options, parser: str, span: tuple[int, int]) -> tuple[list[Fact], str]:
    facts = [Fact(k, v, "command line", "--set") for k, v in options.set.items()]
    facts += [Fact(k, v, "config", "perflog.toml") for k, v in options.config_set.items()]
    here: dict[str, Fact] = {}
    earlier: dict[str, Fact] = {}
    order = {p.key: n for n, p in enumerate(catalog.by_name[parser].patterns)}
    # settings count for formats of the same framework, and those whose other lines are in the log:
    # `Model:` may mean anything elsewhere
    framework = catalog.by_name[parser].framework
    present = {p.name for p in catalog.parsers if p.name == parser or (framework and p.framework == framework)} | {
        p.parser for key, p in reading.patterns.items() if p.role != "metadata" and reading.accounts[key].matches
    }
    logged = [f for f in reading.facts if f.pattern.role == "metadata" and f.line <= span[1] and f.pattern.parser in present]
    logged.sort(key=lambda f: (order.get(f.pattern.key, 999), f.line))
    same: list[Fact] = []
    for fact in logged:
        for key, value in {**_translated(fact), **fact.pattern.set}.items():
            made = Fact(key, value, "log", f"line {fact.line}")
            target = here if fact.line >= span[0] else earlier
            if key not in target:
                target[key] = made
            elif target is here and fact.pattern.key in order and normal(key, value) != normal(key, target[key].value):
                same.append(made)
    facts += list(here.values()) + [f for k, f in earlier.items() if k not in here] + same[:3]
    from_path, label = facts_of_path(_absolute(reading.log.place), catalog.path_patterns)
    facts += from_path + facts_of_machine(_absolute(reading.log.path))
    owner = catalog.by_name[parser]
    facts += [Fact(k, v, "parser", owner.name) for k, v in owner.default.items()]
    if owner.framework:
        facts.append(Fact("framework", owner.framework, "parser", owner.name))
    return facts, label


def _absolute(path: str) -> str:
    import os

    return os.path.abspath(path)  # noqa: PTH100 - 20,000 paths


def _translated(fact: LogFact) -> dict[str, str]:
    out: dict[str, str] = {}
    for key, value in fact.fields.items():
        if key == "device_list":
            names = [part for part in value.strip("[]() ").split(",") if part.strip()]
            if names:
                out["devices"] = str(len(names))
            continue
        table = fact.pattern.map.get(key)
        if table is None:
            out[key] = value
        elif value in table:
            out[key] = table[value]
    return out
