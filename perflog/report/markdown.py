"""The Markdown report: a README of regions that ``perflog readme`` keeps true.

The HTML report (``html.py``) shows the same: both are made from the same contents, lists and words
(``templates/reports/words.toml``).
"""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from perflog.cases.case import Case
from perflog.escaping import markdown as escaped
from perflog.extraction import Extraction
from perflog.logs.addresses import is_address
from perflog.report.contents import Choice, Contents, SectionContents, require_cases
from perflog.resources import folder
from perflog.runs.machine import described
from perflog.runs.sight import throttled_among
from perflog.settings.options import Amount, Window

_ENVIRONMENT = ("framework", "framework_version", "accelerator", "model", "precision", "batch_size", "nodes", "devices")
Words = Mapping[str, Mapping[str, str]]


@cache
def words(language: str) -> Words:
    """The words of reports in a language, by part of the report."""
    data = tomllib.loads((folder("templates") / "reports" / "words.toml").read_text(encoding="utf-8"))
    return data[language]  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is said of a framework, or of everything: a title, empty for what needs none, and names with texts."""

    title: str
    pairs: tuple[tuple[str, str], ...]


def environment(extraction: Extraction, language: str) -> list[Facts]:
    """What logs and paths say of the set-up: every value there is of each field, by framework where there are several.

    Raises:
        UsageError: without cases.
    """
    named, cases = words(language)["environment"], require_cases(extraction)
    frameworks = dict.fromkeys(str(case.key.get("framework", "")) for case in _sorted(cases, "framework"))
    counts = sorted({len(case.runs) for case in cases})
    runs = [run for case in cases for run in case.runs]
    machines = [(named["machine"], text) for text in described(run.machine for run in runs)]
    slowed = len(throttled_among(runs))
    throttled = [(named["throttled"], named["throttled_runs"].format(count=slowed, of_all=len(runs)))] if slowed else []
    of_all = (*machines, *throttled, (named["runs"], ", ".join(map(str, counts))))
    if len(frameworks) == 1:
        return [Facts("", (*_facts(cases, named, _ENVIRONMENT), *of_all))]
    groups = []
    for framework in sorted(frameworks, key=lambda name: (not name, name)):
        members = [case for case in cases if str(case.key.get("framework", "")) == framework]
        title = framework or named["no_framework"]
        groups.append(Facts(title, tuple(_known_facts(members, named, _ENVIRONMENT[1:]))))
    return [*groups, Facts(named["all"], of_all)]


def _facts(cases: Sequence[Case], named: Mapping[str, str], keys: Sequence[str]) -> list[tuple[str, str]]:
    """Every value that cases have of each field; of a field that none has, that the logs do not say it."""
    return [(named[key], _values(cases, key) or named["unknown"]) for key in keys]


def _known_facts(cases: Sequence[Case], named: Mapping[str, str], keys: Sequence[str]) -> list[tuple[str, str]]:
    """The fields that cases have, and last those that the logs do not say."""
    known = [(named[key], values) for key in keys if (values := _values(cases, key))]
    missing = [named[key] for key in keys if not _values(cases, key)]
    return [*known, *([(named["unsaid"], ", ".join(missing))] if missing else [])]


def _values(cases: Sequence[Case], key: str) -> str:
    return ", ".join(dict.fromkeys(str(case.key[key]) for case in _sorted(cases, key) if key in case.key))


def method(extraction: Extraction, language: str) -> list[tuple[str, str]]:
    """How the numbers were made: every choice that decides on them."""
    texts, options = words(language), extraction.options
    named = texts["method"]
    baseline = " ".join(f"{k}={v}" for k, v in options.baseline.items())
    lines = [
        (named["estimator"], f"{options.estimator}: {texts['estimators'][options.estimator]}"),
        (named["window"], window_text(options.window, language)),
        (named["aggregate"], f"{options.aggregate}: {texts['aggregates'][options.aggregate]}"),
        (named["speedup"], named["baseline"].format(baseline=baseline) if baseline else named["one_device"]),
    ]
    if options.convention:
        printed = f" ({named['as_printed']})" if options.as_printed else ""
        lines.append((named["convention"], options.convention + printed))
    facts = {**options.config_set, **options.set}
    return lines + ([(named["set"], ", ".join(f"{k}={v}" for k, v in facts.items()))] if facts else [])


def window_text(window: Window, language: str) -> str:
    """A window in words."""
    texts = words(language)
    named, units = texts["method"], texts.get("units", {})

    def shown(amount: Amount) -> str:
        return f"{amount.number:g} {units[amount.unit]}" if units else str(amount)

    if window.last is not None:
        return named["last"].format(amount=shown(window.last))
    skipped = named["skip"].format(amount=shown(window.warmup))
    return skipped + (named["then"].format(amount=shown(window.steps)) if window.steps else "")


def listed(groups: Sequence[Facts]) -> str:
    """Names and texts as a Markdown list; those with a title stand below it."""
    lines = []
    for group in groups:
        indent = "  " if group.title else ""
        lines += [f"- {escaped(group.title)}"] if group.title else []
        lines += [f"{indent}- {name}: {escaped(text)}" for name, text in group.pairs]
    return "\n".join(lines) + "\n"


def links(extraction: Extraction, base: Path) -> str:
    """Every case with links to its logs, relative to ``base``, as a Markdown list. Raises UsageError without cases."""
    lines = []
    for case in require_cases(extraction):
        logs = dict.fromkeys(run.log.path for run in case.runs)
        addresses = ", ".join(f"[{escaped(Path(log).name)}]({address(log, base)})" for log in logs)
        lines.append(f"- {escaped(case.name)}: {addresses}")
    return "\n".join(lines) + "\n"


def address(log: str, base: Path) -> str:
    """A log's address relative to ``base``, in the form that links take; that of a server's log is its own."""
    if is_address(log):
        return quote(log, safe=":/?…")
    return quote(os.fsencode(Path(os.path.relpath(log, base)).as_posix()))


def skeleton(recipe: Recipe, shown: Contents, output: Path, language: str, choice: Choice) -> str:
    """A report's text with empty regions; ``shown``: its sections and pictures."""
    from jinja2 import FileSystemLoader
    from jinja2.sandbox import SandboxedEnvironment

    texts = words(language)
    loader = FileSystemLoader(folder("templates") / "reports")
    templates = SandboxedEnvironment(loader=loader, trim_blocks=True, keep_trailing_newline=True)
    stems = _stems(shown.sections)
    return str(
        templates.get_template(f"{language}.md.j2").render(
            title=escaped(report_title(shown, language)),
            logs=shlex.join([*recipe.logs, *recipe.options]),
            recipe=shlex.join([*recipe.logs, *recipe.options, *where_words(choice.where)]),
            sections=[
                {
                    "heading": escaped(section_title(section, texts)) if len(shown.sections) > 1 else "",
                    "table": shlex.join(_table_words(recipe, section, choice)),
                    "plot": shlex.join(_section_words(recipe, section, choice)),
                    "picture": shlex.quote(f"{output.stem}{stem}-scaling.svg") if section.scaling else "",
                }
                for section, stem in zip(shown.sections, stems, strict=True)
            ],
            undrawn=shown.undrawn,
            steps=shlex.quote(f"{output.stem}-steps.svg") if shown.steps else "",
            file=shlex.join([*recipe.allowed, output.name]),
        )
    )


@dataclass(frozen=True, slots=True)
class Recipe:
    """The words of a report's recipes: logs and options of extraction, relative to the report's folder.

    Attributes:
        allowed: the options by which `perflog readme` lets these recipes lead out of the report's repository.
    """

    logs: Sequence[str]
    options: Sequence[str]
    allowed: Sequence[str]


def where_words(where: Mapping[str, str]) -> list[str]:
    """The options that choose cases."""
    return [word for name, text in where.items() for word in ("--where", f"{name}={text}")]


def _section_words(recipe: Recipe, section: SectionContents, choice: Choice) -> list[str]:
    """The logs and options that give the cases of a section."""
    return [*recipe.logs, *recipe.options, *where_words({**choice.where, **section.where})]


def _table_words(recipe: Recipe, section: SectionContents, choice: Choice) -> list[str]:
    columns = ["--columns", section.columns] if section.columns else []
    return [
        *_section_words(recipe, section, choice), "--rows", section.rows, *columns, "--value",
        ",".join(section.values),
    ]  # fmt: skip


def _stems(shown: Sequence[SectionContents]) -> list[str]:
    """What tells the names of the sections' pictures apart; nothing for a single section."""
    if len(shown) == 1:
        return [""]
    stems = [f"-{slug(' '.join([section.part.model, section.unit]))}" for section in shown]
    return [stem if stems.index(stem) == place else f"{stem}-{place}" for place, stem in enumerate(stems)]


def slug(text: str) -> str:
    """A text as a part of a file's name or an address: letters, digits and single hyphens."""
    return re.sub(r"[^\w.]+", "-", text, flags=re.ASCII).strip("-.").lower() or "cases"


def report_title(shown: Contents, language: str) -> str:
    """The title of a report."""
    texts = words(language)["title"]
    return texts["report"].format(title=shown.subject(texts["models"]))


def section_title(section: SectionContents, texts: Words) -> str:
    """A section's heading: the model and the unit, as far as they are known."""
    return " · ".join(filter(None, (section.part.model or texts["title"]["no_model"], section.unit)))


def _sorted(cases: Sequence[Case], key: str) -> list[Case]:
    """The cases by a field: numbers in their order, else texts."""

    def rank(case: Case) -> tuple[int, str]:
        value = case.key.get(key)
        return (value, "") if isinstance(value, int) else (0, str(value))

    return sorted(cases, key=rank)
