"""Cases in sections: those of one model whose throughput counts one kind of thing fit one table and one picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from perflog.cases.case import Case
from perflog.cases.identity import spelling
from perflog.formats.units import kind
from perflog.logs.find import natural


@dataclass(frozen=True, slots=True)
class Section:
    """Cases of one model and one kind of unit.

    Attributes:
        model: the model's name as its first case has it; empty where it is not known.
        unit: the unit of the throughput, or several of one kind, with commas; empty where no case says one.
        cases: in the order of the extraction.
    """

    model: str
    unit: str
    cases: tuple[Case, ...]

    @property
    def models(self) -> list[str]:
        """The model's spellings; an empty one stands for cases that name none."""
        return list(dict.fromkeys(str(case.key.get("model", "")) for case in self.cases))

    @property
    def units(self) -> list[str]:
        """The units of the cases' throughput."""
        return list(dict.fromkeys(filter(None, (case.throughput.unit for case in self.cases))))


def sections(cases: Iterable[Case]) -> list[Section]:
    """The cases by model and unit: models in natural order, cases without a model last.

    A case that has no unit, because it has no value, stands with the others of its model.
    """
    by_model: dict[str, dict[str, list[Case]]] = {}
    for case in cases:
        model = spelling(str(case.key.get("model", "")))
        by_model.setdefault(model, {}).setdefault(_kind(case), []).append(case)
    in_order = sorted(by_model.items(), key=lambda named: (not named[0], natural(named[0])))
    return [_section(members) for _, by_unit in in_order for members in _joined(by_unit)]


def _kind(case: Case) -> str:
    """The kind of a case's unit; empty where it has none."""
    return kind(case.throughput.unit) if case.throughput.unit else ""


def _joined(by_unit: Mapping[str, Sequence[Case]]) -> list[list[Case]]:
    """The cases of one model by their unit's kind, those without one among the first others."""
    named = [list(cases) for unit, cases in by_unit.items() if unit]
    without = list(by_unit.get("", ()))
    if not named:
        return [without]
    return [named[0] + without, *named[1:]]


def _section(cases: Sequence[Case]) -> Section:
    units = dict.fromkeys(filter(None, (case.throughput.unit for case in cases)))
    return Section(str(cases[0].key.get("model", "")), ", ".join(units), tuple(cases))
