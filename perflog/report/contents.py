"""What a report shows: a section for each model and unit, with the rows and columns that tell its cases apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perflog.cases.case import Case, spelling
from perflog.cases.choosing import UNKNOWN, Section, sections
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS
from perflog.plot.scaling import panels_of
from perflog.plot.steps import MOST_CASES, MOST_RUNS

#: Fields of the columns where they vary; all other fields stand in the rows.
_COLUMNS = ("precision", "batch_size")
#: Fields that are no dimension of their own: sections are made by the model, and the others follow from devices.
_NO_DIMENSION = frozenset({"model", "nodes", "devices"})
#: A table is not wider than so many columns, and at least this share of its cells holds a case.
_MOST_COLUMNS, _LEAST_FILLED = 8, 0.5
#: A report draws panels up to this number, which takes a few seconds, and names so many models in its title.
MOST_PANELS, _MOST_NAMED = 24, 3


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

    @property
    def unit(self) -> str:
        """The unit of the section's throughput; empty where no case says one."""
        return self.part.unit


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

    def subject(self, several: str) -> str:
        """What the report is about, for its title; ``several``: a form for the number of many models."""
        many = len(self.models) > _MOST_NAMED
        models = [several.format(count=len(self.models))] if many else self.models
        names = [", ".join(self.frameworks), ", ".join(models)]
        return (" · " if many or len(self.frameworks) > 1 else " ").join(filter(None, names)) or "perflog"


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
    drawn = _drawn(panels)
    models = {spelling(name): name for part in reversed(parts) for name in reversed(part.models) if name}
    return Contents(
        tuple(sorted({str(case.key["framework"]) for case in cases if "framework" in case.key})),
        tuple(sorted(models.values())),
        tuple(_section(part, _where(part, parts), scaling, choice) for part, scaling in zip(parts, drawn, strict=True)),
        _has_steps(cases),
        sum(count > 0 for count in panels) - sum(drawn),
    )


def _has_steps(cases: Sequence[Case]) -> bool:
    """Whether a report draws the step times of these cases: where there are some, and one picture holds all runs."""
    few = len(cases) <= MOST_CASES and sum(len(case.runs) for case in cases) <= MOST_RUNS
    return few and any("step_time" in case.metrics for case in cases)


def _drawn(panels: Sequence[int]) -> list[bool]:
    """Which sections have a picture, by the panels that it would have: in their order, as many as a report draws."""
    drawn = []
    left = MOST_PANELS
    for count in panels:
        drawn.append(0 < count <= left)
        left -= count if drawn[-1] else 0
    return drawn


def require_cases(extraction: Extraction) -> list[Case]:
    """The cases of an extraction. Raises UsageError when there is none."""
    if not extraction.cases:
        raise UsageError("no training log found; `perflog explain FILE` says why a file is none")
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
    rows, columns = _dimensions(part.cases)
    values = ["throughput"] + ["speedup"] * any(case.speedup is not None for case in part.cases)
    values += [name for name in ("accuracy", "time_to_train") if any(name in case.metrics for case in part.cases)]
    if choice.rows or choice.columns:
        rows, columns = ([choice.rows] if choice.rows else rows), [choice.columns] if choice.columns else []
    return SectionContents(part, where, ",".join(rows), ",".join(columns), tuple(values), scaling)


def dimensions(cases: Sequence[Case]) -> tuple[str, str]:
    """The fields of the rows and of the columns of a table that holds these cases, as options name them."""
    rows, columns = _dimensions(cases)
    return ",".join(rows), ",".join(columns)


def _dimensions(cases: Sequence[Case]) -> tuple[list[str], list[str]]:
    """The fields of a table's rows and of its columns, which tell all its cases apart."""
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
    return rows, columns


def _is_sparse(cases: Sequence[Case], rows: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether most cells of a table would be empty, or it would be too wide."""
    width = _told_apart(cases, columns)
    return width > _MOST_COLUMNS or len(cases) < _LEAST_FILLED * width * _told_apart(cases, rows)


def _told_apart(cases: Sequence[Case], shown: Sequence[str]) -> int:
    return len({tuple(_text(case, key) for key in shown) for case in cases})


def _text(case: Case, name: str) -> str:
    return case.label if name == "label" else str(case.key.get(name))
