"""What a report shows and says: a section for each model and unit, with the rows and columns that tell its cases apart;
the set-up, the method and the logs as lists.

The Markdown report and the page are made from the same contents, lists and words (``templates/reports/words.toml``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from perflog.cases.case import Case, spelling
from perflog.cases.choosing import UNKNOWN, Section, sections
from perflog.errors import UsageError
from perflog.escaping import markdown as escaped
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS
from perflog.logs.addresses import is_address
from perflog.runs.machine import described
from perflog.runs.sight import throttled_among
from perflog.show.series import panels_of
from perflog.show.steps import MOST_CASES, MOST_RUNS
from perflog.show.words import window_text, words

#: Fields of the columns where they vary; all other fields stand in the rows.
_COLUMNS = ("precision", "batch_size")
#: Fields that are no dimension of their own: sections are made by the model, and the others follow from devices.
_NO_DIMENSION = frozenset({"model", "nodes", "devices"})
#: A table is not wider than so many columns, and at least this share of its cells holds a case.
_MOST_COLUMNS, _LEAST_FILLED = 8, 0.5
#: A report draws panels up to this number, which takes a few seconds, and names so many models and frameworks in its
#: title.
MOST_PANELS, _MOST_NAMED, _MOST_FRAMEWORKS = 24, 3, 5


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user chose of a report.

    Attributes:
        where: the values that its cases have.
        rows, columns: the fields of its tables; empty: those that tell the cases apart.
    """

    where: Mapping[str, str] = field(default_factory=dict)
    rows: str = ""
    columns: str = ""


@dataclass(frozen=True, slots=True)
class SectionContents:
    """A section of a report.

    Attributes:
        part: its cases.
        where: what chooses its cases among all of the report; empty where the report has one section.
        rows, columns, values: what its table shows, as options of `perflog table`.
        scaling: whether it has a picture of throughput and speedup against devices.
    """

    part: Section
    where: Mapping[str, str]
    rows: str
    columns: str
    values: tuple[str, ...]
    scaling: bool

    def title(self, language: str) -> str:
        """The section's heading: the model and the unit, as far as they are known."""
        model = self.part.model or words("reports", language)["title"]["no_model"]
        return " · ".join(filter(None, (model, self.part.unit)))

    @property
    def slug(self) -> str:
        """The model and the unit as a part of a file's name or an address."""
        return slug(f"{self.part.model} {self.part.unit}")


@dataclass(frozen=True, slots=True)
class Contents:
    """A report of certain cases.

    Attributes:
        frameworks, models: their names, each once.
        sections: in order; a report of no case has none.
        steps: whether it has a picture of all step times.
        undrawn: how many sections have no picture of their scaling, because there would be too many.
    """

    frameworks: tuple[str, ...]
    models: tuple[str, ...]
    sections: tuple[SectionContents, ...]
    steps: bool
    undrawn: int

    def title(self, language: str) -> str:
        """The title of the report: what it is about."""
        texts, many = words("reports", language)["title"], len(self.models) > _MOST_NAMED
        models = [texts["models"].format(count=len(self.models))] if many else self.models
        frameworks: Sequence[str] = self.frameworks
        if len(frameworks) > _MOST_FRAMEWORKS:
            frameworks = [texts["frameworks"].format(count=len(frameworks))]
        names = filter(None, [", ".join(frameworks), ", ".join(models)])
        subject = (" · " if many or len(self.frameworks) > 1 else " ").join(names) or "perflog"
        return texts["report"].format(title=subject)


def contents(extraction: Extraction, choice: Choice | None = None) -> Contents:
    """Choose sections, rows, columns, values and pictures by what varies between the cases.

    Args:
        extraction: all cases.
        choice: what the user chose of the report.

    Raises:
        UsageError: when there is no case.
    """
    cases = require_cases(extraction)
    choice = choice or Choice()
    parts = sections(cases)
    panels = [panels_of(part.cases) for part in parts]
    drawn: list[bool] = []  # in the sections' order, as many as a report draws
    left = MOST_PANELS
    for count in panels:
        drawn.append(0 < count <= left)
        left -= count if drawn[-1] else 0
    few = len(cases) <= MOST_CASES and sum(len(case.runs) for case in cases) <= MOST_RUNS
    models = {spelling(name): name for part in reversed(parts) for name in reversed(part.models) if name}
    return Contents(
        tuple(sorted({str(case.key["framework"]) for case in cases if "framework" in case.key})),
        tuple(sorted(models.values())),
        tuple(_section(part, _where(part, parts), scaling, choice) for part, scaling in zip(parts, drawn, strict=True)),
        few and any("step_time" in case.metrics for case in cases),
        sum(count > 0 for count in panels) - sum(drawn),
    )


def require_cases(extraction: Extraction) -> list[Case]:
    """The cases of an extraction. Raises UsageError when there is none."""
    if not extraction.cases:
        raise UsageError(extraction.why_none)
    return extraction.cases


def _where(part: Section, parts: Sequence[Section]) -> dict[str, str]:
    """What chooses the cases of a section among those of all sections."""
    if len(parts) == 1:
        return {}
    where = {"model": ":".join(model or UNKNOWN for model in part.models)}
    same = [other for other in parts if other is not part and set(other.models) & set(part.models)]
    if not same:
        return where
    without = any(not case.throughput.unit for case in part.cases)
    return {**where, "unit": ":".join([*part.units, *([UNKNOWN] if without else [])])}


def _section(part: Section, where: Mapping[str, str], scaling: bool, choice: Choice) -> SectionContents:
    rows, columns = dimensions(part.cases)
    values = ["throughput"] + ["speedup"] * any(case.speedup is not None for case in part.cases)
    values += [name for name in ("accuracy", "time_to_train") if any(name in case.metrics for case in part.cases)]
    if choice.rows or choice.columns:
        rows, columns = choice.rows or rows, choice.columns
    return SectionContents(part, where, rows, columns, tuple(values), scaling)


def dimensions(cases: Sequence[Case]) -> tuple[str, str]:
    """The fields of a table's rows and of its columns, as options name them, which tell all its cases apart."""
    keys = dict.fromkeys((*CASE_KEYS, *(key for case in cases for key in case.key)))
    varying = [key for key in keys if key not in _NO_DIMENSION and len({_text(case, key) for case in cases}) > 1]
    columns = [key for key in _COLUMNS if key in varying]
    rows = [key for key in varying if key not in columns]
    rows.append("devices" if any("devices" in case.key for case in cases) else "label")
    for further in ("nodes", "label"):
        shown = (*rows, *columns)
        if further not in rows and _told_apart(cases, shown) < _told_apart(cases, (*shown, further)):
            rows.append(further)
    for key in [key for key in rows if key not in ("framework", "devices", "nodes", "label")]:
        rest = [other for other in rows if other != key]
        if key in rows and _told_apart(cases, (*rest, *columns)) == _told_apart(cases, (*rows, *columns)):
            rows = rest  # what follows from the other fields is said in a note
    while columns and _is_sparse(cases, rows, columns):
        rows.insert(-1, columns.pop())
    return ",".join(rows), ",".join(columns)


def _is_sparse(cases: Sequence[Case], rows: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether most cells of a table would be empty, or it would be too wide."""
    width = _told_apart(cases, columns)
    return width > _MOST_COLUMNS or len(cases) < _LEAST_FILLED * width * _told_apart(cases, rows)


def _told_apart(cases: Sequence[Case], shown: Sequence[str]) -> int:
    return len({tuple(_text(case, key) for key in shown) for case in cases})


def _text(case: Case, name: str) -> str:
    return case.label if name == "label" else str(case.key.get(name))


def slug(text: str) -> str:
    """A text as a part of a file's name or an address: letters, digits and single hyphens."""
    return re.sub(r"[^\w.]+", "-", text, flags=re.ASCII).strip("-.").lower() or "cases"


# ----------------------------------------------------------------------------------------------------
# What is said of the set-up, the method and the logs, as lists.

_ENVIRONMENT = ("framework", "framework_version", "accelerator", "model", "precision", "batch_size", "nodes", "devices")


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
    named, cases = words("reports", language)["environment"], require_cases(extraction)
    by_framework: dict[str, list[Case]] = {}
    for case in cases:
        by_framework.setdefault(str(case.key.get("framework", "")), []).append(case)
    counts = sorted({len(case.runs) for case in cases})
    runs = [run for case in cases for run in case.runs]
    machines = [(named["machine"], text) for text in described(run.machine for run in runs)]
    slowed = len(throttled_among(runs))
    throttled = [(named["throttled"], named["throttled_runs"].format(count=slowed, of_all=len(runs)))] if slowed else []
    of_all = (*machines, *throttled, (named["runs"], ", ".join(map(str, counts))))
    if len(by_framework) == 1:
        facts = [(named[key], _values(cases, key) or named["unknown"]) for key in _ENVIRONMENT]
        return [Facts("", (*facts, *of_all))]
    groups = []
    for framework, members in sorted(by_framework.items(), key=lambda item: (not item[0], item[0])):
        values = {named[key]: _values(members, key) for key in _ENVIRONMENT[1:]}
        known = [(name, texts) for name, texts in values.items() if texts]
        missing = ", ".join(name for name, texts in values.items() if not texts)
        unsaid = [(named["unsaid"], missing)] if missing else []
        groups.append(Facts(framework or named["no_framework"], (*known, *unsaid)))
    return [*groups, Facts(named["all"], of_all)]


def _values(cases: Sequence[Case], key: str) -> str:
    """The values that cases have of a field, each once: numbers in their order, else texts."""
    values = [case.key[key] for case in cases if key in case.key]
    in_order = sorted(values, key=lambda value: (value, "") if isinstance(value, int) else (0, str(value)))
    return ", ".join(dict.fromkeys(map(str, in_order)))


def method(extraction: Extraction, language: str) -> list[tuple[str, str]]:
    """How the numbers were made: every choice that decides on them."""
    texts, options = words("reports", language), extraction.options
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
