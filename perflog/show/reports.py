"""Whole files that perflog writes for the user: a README of regions with its pictures, an HTML page, a perflog.toml.

A README's regions are kept true by ``perflog readme``.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perflog.border import keep_inside
from perflog.cases.choosing import chosen
from perflog.errors import UsageError
from perflog.escaping import markdown as escaped
from perflog.escaping import visible
from perflog.extraction import Extraction
from perflog.files import is_written_into, missing_folder, write_atomically
from perflog.logs.addresses import Address, is_address
from perflog.resources import folder
from perflog.runs.factor import FACTORS, PATH_ALONE
from perflog.runs.run import Run
from perflog.settings.config import DEFAULTS, settings
from perflog.show.contents import Choice, Contents, address, contents
from perflog.show.extractions import Extractions
from perflog.show.options import words_of
from perflog.show.page import page
from perflog.show.provenance import read_with_lines
from perflog.show.regions import Recipes, confined, filled
from perflog.show.steps import MOST_RUNS
from perflog.show.text import counted
from perflog.show.words import BEGINNING


@dataclass(frozen=True, slots=True)
class Report:
    """A report that is not written yet.

    Attributes:
        files: what each file is to hold: the report's own, and those of its pictures.
        described: what it holds, in words.
    """

    files: Mapping[Path, bytes]
    described: str

    def write(self) -> None:
        """Write the files, each whole or not at all."""
        for file, data in self.files.items():
            write_atomically(file, data)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A report that is requested.

    Attributes:
        logs: paths of logs.
        given: the options of extraction that were given; the report says them.
        output: where the report will lie: its links to logs are relative to that folder.
        language: ``en`` or ``zh``.
        choice: its cases, and the rows and columns of its tables.
    """

    logs: Sequence[str]
    given: Mapping[str, Any]
    output: Path
    language: str
    choice: Choice

    @property
    def words(self) -> list[str]:
        """The logs and options as words of a command in the report's folder, but for those that choose cases."""
        base, parsers = self.output.parent, self.given.get("parsers")
        near = {**self.given, "parsers": _near(parsers, base) if parsers else None}
        return [*_near(self.logs, base), *words_of(near)]


def _page(wanted: Wanted, extractions: Extractions, view: Path | None) -> Report:
    """One HTML page that holds everything; ``view``: the page of runs over time that it leads to."""
    given, choice, base = settings(wanted.given, wanted.logs), wanted.choice, wanted.output.parent
    read = read_with_lines(wanted.logs, given, extractions, None if choice.where else MOST_RUNS)
    extraction = replace(read.extraction, cases=chosen(read.extraction.cases, choice.where))
    own = [*wanted.words, *_where(choice.where)]
    dimensions = [*_given("--rows", choice.rows), *_given("--columns", choice.columns)]
    in_language = ["--lang", wanted.language] if wanted.language != "en" else []
    commands = [
        shlex.join(["perflog", "extract", *own]),
        shlex.join(["perflog", "report", *own, *dimensions, *in_language, "-o", wanted.output.name]),
    ]
    shown = contents(extraction, choice)
    in_page = "" if view is None else address(str(view), base)
    data = page(replace(read, extraction=extraction), shown, commands, base, wanted.language, in_page)
    pictures = sum(section.scaling for section in shown.sections) + shown.steps
    described = f"{counted(len(extraction.cases), 'case')}, {counted(pictures, 'picture')}, {len(data) / 1000:,.0f} kB"
    return Report({wanted.output: data}, described)


def _readme(wanted: Wanted, extractions: Extractions) -> Report:
    """A README of regions, all made, with its pictures."""
    logs, given, output = wanted.logs, wanted.given, wanted.output
    extraction = extractions.of(logs, settings(given, logs), wanted.choice.where)
    _require_writable([*logs, output.name, *wanted.choice.where.values()])
    shown = contents(extraction, wanted.choice)
    if any(run.log.pipe is not None for run in extraction.runs):  # of a part or a pipe: not read again for step times
        shown = replace(shown, steps=False)
    empty = _skeleton(wanted, shown, logs if extraction.parts else ())
    recipes = Recipes(output.parent, extractions, None)  # the recipes say what the user named
    text, regions = filled(empty, str(output), recipes.make)
    described = f"{counted(regions, 'region')}, {counted(len(recipes.pictures), 'picture')}"
    return Report({**recipes.pictures, output: text.encode("utf-8")}, described)


def _given(flag: str, text: str) -> list[str]:
    """An option as words of a command; nothing where it was not given."""
    return [flag, text] if text else []


def _require_writable(names: Sequence[str]) -> None:
    """Raise UsageError for a name that no recipe can hold: it would not stand on one line of UTF-8 text."""
    for name in names:
        if isinstance(name, Address) and name != name.whole:
            raise UsageError(
                f"a recipe cannot hold the address {str(name)!r}, whose query or user is left out; "
                "write a page with --html"
            )
        if visible(name) != name:
            raise UsageError(
                f"a recipe cannot hold the name {name!r}: expected UTF-8 text on one line; name a folder above it, "
                "or write a page with --html"
            )


def _near(logs: Sequence[str], base: Path) -> list[str]:
    """The logs' paths relative to ``base``."""
    return [log if is_address(log) else Path(os.path.relpath(log, base)).as_posix() for log in logs]


def _where(where: Mapping[str, str]) -> list[str]:
    """The options that choose cases."""
    return [word for name, text in where.items() for word in ("--where", f"{name}={text}")]


def _skeleton(wanted: Wanted, shown: Contents, parts: Sequence[str]) -> str:
    """A README's text with empty regions.

    Args:
        shown: its sections and pictures.
        parts: those of its logs that are parts, which `perflog readme` must be allowed to read.
    """
    from jinja2 import FileSystemLoader
    from jinja2.sandbox import SandboxedEnvironment

    output, where, several = wanted.output, wanted.choice.where, len(shown.sections) > 1
    paths, confinement = [*wanted.logs, *(wanted.given.get("parsers") or ())], confined(output.parent)
    outside = [path for path in paths if not confinement.holds(path) or path in parts]
    allowed = [word for path in _near(outside, output.parent) for word in ("--allow", path)]
    slugs = [section.slug for section in shown.sections]
    stems = [f"-{slug}" if slugs.index(slug) == place else f"-{slug}-{place}" for place, slug in enumerate(slugs)]
    parts_of_text = []
    for section, stem in zip(shown.sections, stems if several else [""], strict=True):
        own = [*wanted.words, *_where({**where, **section.where})]
        columns, values = _given("--columns", section.columns), ",".join(section.values)
        parts_of_text.append({
            "heading": escaped(section.title(wanted.language)) if several else "",
            "table": shlex.join([*own, "--rows", section.rows, *columns, "--value", values]),
            "plot": shlex.join(own),
            "picture": shlex.quote(f"{output.stem}{stem}-scaling.svg") if section.scaling else "",
        })  # fmt: skip
    loader = FileSystemLoader(folder("templates") / "reports")
    templates = SandboxedEnvironment(loader=loader, trim_blocks=True, keep_trailing_newline=True)
    text = templates.get_template(f"{wanted.language}.md.j2").render(
        title=escaped(shown.title(wanted.language)),
        logs=shlex.join(wanted.words),
        recipe=shlex.join([*wanted.words, *_where(where)]),
        sections=parts_of_text,
        undrawn=shown.undrawn,
        steps=shlex.quote(f"{output.stem}-steps.svg") if shown.steps else "",
        file=shlex.join([*allowed, output.name]),
    )
    return str(text)


def make_report(
    logs: Sequence[str], given: Mapping[str, Any], output: Path, language: str, html: bool, extractions: Extractions,
    choice: Choice | None = None, view: Path | None = None,
) -> Report:  # fmt: skip
    """A report, as a page or as a README; its files are not written yet.

    Args:
        view: the page of runs over time that a page leads to; None for none. A README leads to none.

    Raises:
        UsageError: when there is no case, or the cases do not fit one table.
        PerflogError: when a region cannot be made.
    """
    if view is not None and not html:
        raise UsageError("a README has no links to runs: a view goes with an HTML page, such as report.html")
    wanted = Wanted(logs, given, output, language, choice or Choice())
    if html:
        return _page(wanted, extractions, view)
    if reason := missing_folder(output):  # the recipes' paths lead through it
        raise UsageError(f"cannot write {str(output)!r}: {reason}")
    return _readme(wanted, extractions)


def refusal(output: Path, html: bool) -> str:
    """Why a report may not be written over what is at ``output``; empty when it may be written."""
    keep_inside(output, "the output")
    if is_written_into(output) or not output.exists():
        return ""
    hint = f"`perflog readme {output}` makes its regions true"
    if html:
        hint = "only a page that perflog made is written over"
        with output.open("rb") as opened:
            if opened.read(len(BEGINNING)) == BEGINNING.encode():
                return ""
    return f"{output} exists: {hint}; name another file"


# ----------------------------------------------------------------------------------------------------
# The text of a first ``perflog.toml``: what was found in the logs, and which facts are missing, and why.

#: The facts that a table of results needs: an example of each, and what lacks without it.
_WANTED: Mapping[str, tuple[str, str]] = {
    "model": ('"resnet50"', "cases of different models could not be told apart"),
    "precision": ('"fp32"', "cases of different precisions could not be told apart"),
    "batch_size": ("32", "times alone give steps/s, not samples/s"),
    "devices": ("8", "a rate stays one device's or rank's, and there is no speedup"),
}
_OPTIONS = ("warmup", "steps", "last", "estimator", "aggregate", "convention", "values", "without_slow")
#: So many of the options that reasons offer are written down.
MOST_OFFERS = 3
_OFFER = re.compile(r"""(?:--as (?:'(?:[^']|'"'"')*'|[^\s'",;\\]+) ?)+""")
_NUMBER = re.compile("[0-9]+")
_INTRODUCTION = """\
# Written by `perflog init`, to be corrected and kept beside the logs. `perflog config LOGS` shows what is in force;
# the command line wins over what stands here.
"""


def config_text(extraction: Extraction, given: Mapping[str, Any], place: str) -> str:
    """The text of a config file for the logs of an extraction.

    Args:
        given: the options that the user gave with the command, which the file sets.
        place: the logs, as the user named them.
    """
    runs = extraction.runs
    lines = [_INTRODUCTION, *_found(extraction, place), ""]
    for name, default in DEFAULTS.items():
        if given.get(name) and name != "set":
            lines.append(f"{name.rstrip('_')} = {_toml(given[name])}")
        elif name in _OPTIONS and default is not None:
            lines.append(f"# {name} = {_toml(default)}   # the default")
    if not given.get("as_"):
        lines += _offered(extraction)
    detected = Counter(note.text.partition(":")[0] for run in runs for note in run.notes if "the detector" in note.text)
    lines += [f"# {counted(count, 'run')}: {note}" for note, count in detected.most_common(2)]
    return "\n".join([*lines, "", *_facts(runs, given.get("set") or {})]) + "\n"


def _found(extraction: Extraction, place: str) -> list[str]:
    """What was found, as comments."""
    runs = extraction.runs
    parsers = Counter(run.parser for run in runs)
    formats = ", ".join(f"{name} ({counted(count, 'run')})" for name, count in parsers.most_common())
    metrics = sorted({name for run in runs for name, metric in run.metrics.items() if metric.value is not None})
    cases, skipped = counted(len(extraction.cases), "case"), counted(len(extraction.skipped), "file")
    lines = [
        f"# Found in {place}: {counted(len(runs), 'run')} in {cases}; {skipped} skipped.",
        f"# Formats: {formats or 'none'}.",
        f"# Metrics: {', '.join(metrics) or 'none'}.",
    ]
    reasons = Counter(run.throughput.reason for run in runs if run.throughput.value is None)
    lines += [f"# {counted(count, 'run')} without throughput: {reason}." for reason, count in reasons.most_common(3)]
    return [visible(" ".join(line.split())) for line in lines]


def _offered(extraction: Extraction) -> list[str]:
    """What the reasons of logs without a number offer as ``--as``, commented out, the most frequent first."""
    reasons = [run.throughput.reason for run in extraction.runs if run.value is None]
    reasons += [left_out.reason for left_out in extraction.skipped]
    offers: dict[str, list[str]] = {}  # logs that differ in the numbers of a line are offered one
    for reason in reasons:
        for found in _OFFER.findall(reason):
            offers.setdefault(_NUMBER.sub("#", found), []).append(found)
    often = sorted(offers.values(), key=len, reverse=True)[:MOST_OFFERS]
    lines = [
        f"# as = {_toml(shlex.split(alike[0])[1::2])}   # {counted(len(alike), 'log')} without a number: if this is so"
        for alike in often
    ]
    return [line for line in lines if visible(line) == line]


def _facts(runs: Sequence[Run], given: Mapping[str, Any]) -> list[str]:
    """The table of facts: those that were given, and the missing ones commented out with why."""
    lines = ["# Facts that neither the logs nor their paths tell: take the # away and say them.", "[set]"]
    lines += [f"{key} = {_toml(value)}" for key, value in given.items()]
    for key, (example, consequence) in _WANTED.items():
        without = [run for run in runs if key not in run.values]
        if without and key not in given:
            where = "no run" if len(without) == len(runs) else f"{len(without)} of {counted(len(runs), 'run')} do not"
            verb = "says it" if len(without) == len(runs) else "say it"
            lines.append(f"# {key} = {example}   # {where} {verb}: {consequence}")
    said = {note.text for run in runs for note in run.notes}
    for key in FACTORS:
        if PATH_ALONE.get(key) in said and key not in given:
            values = sorted(
                {str(run.values[key]) for run in runs if key in run.values}, key=lambda text: (len(text), text)
            )
            lines.append(f"# {key}: known from names of files and folders alone ({', '.join(values)})")
    return lines


def _toml(value: Any) -> str:
    """A value as it stands in a config file; a text that is a whole number is one."""
    import tomlkit

    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        return table.as_string()
    is_whole = isinstance(value, str) and value.isascii() and value.isdigit()
    return tomlkit.item(int(value) if is_whole else value).as_string()
