"""The fields of a case that a table can show and be ordered by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from perflog.cases.case import Case, short_labels
from perflog.errors import UsageError
from perflog.formats.vocabulary import CASE_KEYS
from perflog.logs.find import natural
from perflog.settings.config import names_in
from perflog.spelling import did_you_mean

#: What a table may show of a case beside its keys and metrics.
OF_CASES = ("n", "throughput", "unit", "interval", "speedup", "efficiency", "notes", "log")

Item = TypeVar("Item")


def known_fields(cases: Sequence[Case]) -> list[str]:
    """All names of columns that these cases have."""
    keys = (key for case in cases for key in case.key)
    return list(dict.fromkeys((*CASE_KEYS, *keys, *OF_CASES, *(name for case in cases for name in case.metrics))))


def unknown_name(option: str, name: str, known: Sequence[str]) -> UsageError:
    """The error for a name that there is not, with the one that is nearest."""
    hint = did_you_mean(name, known, otherwise=f"there are {', '.join(known)}")
    return UsageError(f"--{option} {name!r}: no case has such a field{hint}")


def require_columns(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise UsageError for a column that there is not, with the nearest one."""
    for name in names:
        if name not in known:
            raise unknown_name("columns", name, known)


def in_order(cases: Sequence[Case], order: str) -> list[Case]:
    """Cases by the fields that ``order`` names: ``devices,-throughput``; ``-`` turns a field's order round.

    Raises:
        UsageError: for a field that no case has, with the nearest one.
    """
    labels = dict(zip(map(id, cases), short_labels(cases), strict=True))

    def value(case: Case, name: str) -> float | str | None:
        return labels[id(case)] if name == "log" else value_of_case(case, name)

    known = [name for name in known_fields(cases) if name not in ("notes", "interval")]
    return ordered(cases, order, known, value)


def ordered(
    items: Sequence[Item], order: str, known: Sequence[str], value: Callable[[Item, str], float | str | None]
) -> list[Item]:
    """What has fields by those that ``order`` names.

    Numbers stand by their size, texts in natural order, and what has not the field stands last either way.

    Args:
        known: the fields that there are.
        value: an item's value of a field; None where it has none.

    Raises:
        UsageError: for a field that there is not, with the nearest one.
    """
    sorted_items = list(items)
    for part in reversed(names_in(order)):
        name, backwards = part.removeprefix("-"), part.startswith("-")
        if name not in known:
            raise unknown_name("sort", name, known)
        valued = [(item, value(item, name)) for item in sorted_items]
        have = [(item, own) for item, own in valued if own is not None]
        have.sort(
            key=lambda pair: (0, pair[1], []) if isinstance(pair[1], int | float) else (1, 0.0, natural(pair[1])),
            reverse=backwards,
        )
        sorted_items = [item for item, _ in have] + [item for item, own in valued if own is None]
    return sorted_items


def value_of_case(case: Case, name: str) -> float | str | None:
    """A case's value of one field; None where it has none."""
    own: dict[str, float | str | None] = {
        "n": case.throughput.n, "unit": case.throughput.unit, "speedup": case.speedup, "efficiency": case.efficiency
    }  # fmt: skip
    if name in own:
        return own[name]
    if name in case.metrics:
        return case.metrics[name].value
    return case.key.get(name)
