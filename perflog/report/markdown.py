"""What a report shows, and the Markdown report: a README of regions that ``perflog readme`` keeps true.

The HTML report (``html.py``) shows the same: both are made from the same contents, lists and words
(``templates/reports/words.toml``).
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from perflog.cases.case import Case
from perflog.errors import UsageError
from perflog.escaping import markdown as escaped
from perflog.extraction import Extraction
from perflog.plot.series import scaling_series
from perflog.plot.steps import MOST_CASES
from perflog.resources import folder
from perflog.runs.machine import described
from perflog.settings.amount import Amount, Window

_ENVIRONMENT = ("framework", "framework_version", "accelerator", "model", "precision", "batch_size", "nodes", "devices")
_COLUMNS = ("framework", "framework_version", "accelerator", "model", "precision", "batch_size")
Words = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Contents:
    """What a report of certain cases shows: its subject, its table's rows, columns and values, its pictures' kinds."""

    subject: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[str, ...]
    pictures: tuple[str, ...]


def contents(extraction: Extraction) -> Contents:
    """Choose rows, columns, values and pictures by what varies between the cases.

    Raises:
        UsageError: when there is no case.
    """
    cases = _cases(extraction)
    models, frameworks = ({str(c.key[k]) for c in cases if k in c.key} for k in ("model", "framework"))
    extra = [k for k in dict.fromkeys(k for c in cases for k in c.key) if k not in _ENVIRONMENT]
    columns = [k for k in (*_COLUMNS, *extra) if len({str(c.key.get(k)) for c in cases}) > 1]
    rows = ["devices" if any("devices" in c.key for c in cases) else "label"]
    for field in ("nodes", "label"):  # only where nothing else tells two cases apart
        shown = (*rows, *columns)
        if field not in rows and _told_apart(cases, shown) < _told_apart(cases, (*shown, field)):
            rows.append(field)
    values = ["throughput"] + ["speedup"] * any(c.speedup is not None for c in cases)
    values += [name for name in ("accuracy", "time_to_train") if any(name in c.metrics for c in cases)]
    pictures = ["scaling"] * _scales(extraction)
    pictures += ["steps"] * (any("step_time" in c.metrics for c in cases) and len(cases) <= MOST_CASES)
    subject = " ".join([*sorted(frameworks), *sorted(models)]) or "perflog"
    return Contents(subject, tuple(rows), tuple(columns), tuple(values), tuple(pictures))


def _scales(extraction: Extraction) -> bool:
    try:
        return bool(scaling_series(extraction))
    except UsageError:  # no values, no devices, or cases that only a table can tell apart
        return False


def _told_apart(cases: Sequence[Case], shown: Sequence[str]) -> int:
    return len({tuple(_field(c, k) for k in shown) for c in cases})


def _field(case: Case, name: str) -> str:
    return case.label if name == "label" else str(case.key.get(name))


@cache
def words(language: str) -> Words:
    """The words of reports in a language, by part of the report."""
    data = tomllib.loads((folder("templates") / "reports" / "words.toml").read_text(encoding="utf-8"))
    return data[language]  # type: ignore[no-any-return]


def environment(extraction: Extraction, language: str) -> list[tuple[str, str]]:
    """What logs and paths say of the set-up: every value there is of each field. Raises UsageError without cases."""
    named, cases = words(language)["environment"], _cases(extraction)
    lines = []
    for key in _ENVIRONMENT:
        values = dict.fromkeys(str(case.key[key]) for case in _sorted(cases, key) if key in case.key)
        lines.append((named[key], ", ".join(values) or named["unknown"]))
    lines += [(named["machine"], machine) for machine in described(run.machine for case in cases for run in case.runs)]
    counts = sorted({len(c.runs) for c in cases})
    return [*lines, (named["runs"], ", ".join(map(str, counts)))]


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


def listed(pairs: Sequence[tuple[str, str]]) -> str:
    """Names and texts as a Markdown list."""
    return "\n".join(f"- {name}: {escaped(text)}" for name, text in pairs) + "\n"


def links(extraction: Extraction, base: Path) -> str:
    """Every case with links to its logs, relative to ``base``, as a Markdown list. Raises UsageError without cases."""
    lines = []
    for case in _cases(extraction):
        logs = dict.fromkeys(run.log.path for run in case.runs)
        addresses = ", ".join(f"[{escaped(Path(log).name)}]({address(log, base)})" for log in logs)
        lines.append(f"- {escaped(case.name)}: {addresses}")
    return "\n".join(lines) + "\n"


def address(log: str, base: Path) -> str:
    """A log's address relative to ``base``, in the form that links take."""
    return quote(os.fsencode(Path(os.path.relpath(log, base)).as_posix()))


def skeleton(
    extraction: Extraction, logs: Sequence[str], options: Sequence[str], allowed: Sequence[str], output: Path,
    language: str,
) -> str:  # fmt: skip
    """A report's text with empty regions.

    Args:
        logs, options: words of the recipes, relative to the folder of ``output``.
        allowed: the options by which `perflog readme` lets these recipes lead out of the report's repository.
    """
    from jinja2 import FileSystemLoader
    from jinja2.sandbox import SandboxedEnvironment

    chosen = contents(extraction)
    loader = FileSystemLoader(folder("templates") / "reports")
    templates = SandboxedEnvironment(loader=loader, trim_blocks=True, keep_trailing_newline=True)
    return str(
        templates.get_template(f"{language}.md.j2").render(
            title=escaped(words(language)["title"]["report"].format(title=chosen.subject)),
            recipe=shlex.join([*logs, *options]),
            rows=",".join(chosen.rows),
            columns=",".join(chosen.columns),
            values=",".join(chosen.values),
            picture=f"{output.stem}-scaling.svg" if "scaling" in chosen.pictures else "",
            steps=f"{output.stem}-steps.svg" if "steps" in chosen.pictures else "",
            file=shlex.join([*allowed, output.name]),
        )
    )


def _cases(extraction: Extraction) -> list[Case]:
    if not extraction.cases:
        raise UsageError("no training log found; `perflog explain FILE` says why a file is none")
    return extraction.cases


def _sorted(cases: Sequence[Case], key: str) -> list[Case]:
    """The cases by a field: numbers in their order, else texts."""

    def rank(case: Case) -> tuple[int, str]:
        value = case.key.get(key)
        return (value, "") if isinstance(value, int) else (0, str(value))

    return sorted(cases, key=rank)
