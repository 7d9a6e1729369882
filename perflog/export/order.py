"""The order in which cases are shown, as the user asks for it."""

from __future__ import annotations

from collections.abc import Sequence

from perflog.cases.case import Case, short_labels
from perflog.export.case_table import OF_CASES, unknown_name
from perflog.formats.vocabulary import CASE_KEYS
from perflog.logs.find import natural
from perflog.settings.config import names_in


def in_order(cases: Sequence[Case], order: str) -> list[Case]:
    """Cases by the fields that ``order`` names: ``devices,-throughput``; ``-`` turns a field's order round.

    Numbers stand by their size, texts in natural order, and a case without the field stands last either way.

    Raises:
        UsageError: for a field that no case has, with the nearest one.
    """
    known = _known(cases)
    sorted_cases = list(cases)
    for part in reversed(names_in(order)):
        name, backwards = part.removeprefix("-"), part.startswith("-")
        if name not in known:
            raise unknown_name("sort", name, known)
        labels = dict(zip(map(id, cases), short_labels(cases), strict=True))
        values = {id(case): labels[id(case)] if name == "log" else _value(case, name) for case in cases}
        have = [case for case in sorted_cases if values[id(case)] is not None]
        without = [case for case in sorted_cases if values[id(case)] is None]
        have.sort(key=lambda case: _place(values[id(case)]), reverse=backwards)
        sorted_cases = have + without
    return sorted_cases


def _known(cases: Sequence[Case]) -> list[str]:
    metrics = (name for case in cases for name in case.metrics)
    keys = (key for case in cases for key in case.key)
    unsorted = ("notes", "interval")
    return [name for name in dict.fromkeys((*CASE_KEYS, *keys, *OF_CASES, *metrics)) if name not in unsorted]


def _value(case: Case, name: str) -> float | str | None:
    """A case's value of one field; None where it has none."""
    own: dict[str, float | str | None] = {
        "n": case.throughput.n, "unit": case.throughput.unit, "speedup": case.speedup, "efficiency": case.efficiency
    }  # fmt: skip
    if name in own:
        return own[name]
    if name in case.metrics:
        return case.metrics[name].value
    return case.key.get(name)


def _place(value: float | str | None) -> tuple[int, float, list[str | int]]:
    if isinstance(value, int | float):
        return 0, value, []
    return 1, 0.0, natural(str(value))
