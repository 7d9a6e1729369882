"""The columns of a pattern's matches as numbers: texts read, parts of one number put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perflog.formats.parser import Pattern, Value
from perflog.formats.printed import LARGEST, SMALLEST, number_in, rate_unit, seconds_in

Floats = NDArray[np.float64]


def with_numbers(pattern: Pattern, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns in which what is printed for people is a number, sums are made, and one number is in one column.

    Args:
        columns: captures by group, (n,): numbers, or lists of texts with None.
    """
    made = {
        name: _numbers(column, pattern.forms[name]) if isinstance(column, list) and name in pattern.forms else column
        for name, column in columns.items()
    }
    for value in pattern.values:
        if value.plus and value.group in made:
            parts = [made.get(group) for group in value.plus]
            lacking = np.full(len(made[value.group]), np.nan)
            made[value.group] = made[value.group] + sum(lacking if part is None else part for part in parts)
    for value in pattern.values:
        if value.inverse and value.group in made:
            with np.errstate(divide="ignore", over="ignore"):
                amount = made.get(value.amount, np.nan) if value.amount else 1.0
                made[value.group] = amount / (made[value.group] * value.inverse)
    for first, others in _same(pattern).items():
        for other in others:
            made |= _joined(first, other, made)
    return {name: column if isinstance(column, list) else _within_bounds(column) for name, column in made.items()}


def _within_bounds(numbers: Floats) -> Floats:
    """The same numbers, (n,), with NaN for those that no log can mean (infinite, 1e308, 1e-320)."""
    if not len(numbers) or (np.fmin.reduce(numbers) >= SMALLEST and np.fmax.reduce(numbers) <= LARGEST):
        return numbers  # nearly always, and soon seen
    size = np.abs(numbers)
    absurd = (size > LARGEST) | ((size < SMALLEST) & (size > 0))
    return np.where(absurd, np.nan, numbers) if absurd.any() else numbers


def _numbers(printed: Sequence[str | None], form: str) -> Floats:
    """Printed texts as numbers, (n,); NaN where there is none."""
    known = {text: None if text is None else number_in(text, form) for text in set(printed)}
    return np.array([known[text] for text in printed], dtype=np.float64)  # None becomes NaN


def _same(pattern: Pattern) -> dict[Value, list[Value]]:
    """The values that are one number in several units: the first of each name, and the others."""
    firsts: dict[str, Value] = {}
    others: dict[Value, list[Value]] = {}
    for value in pattern.values:
        if value.same and value.same in firsts:
            others.setdefault(firsts[value.same], []).append(value)
        elif value.same:
            firsts[value.same] = value
    return others


def _joined(first: Value, other: Value, columns: Mapping[str, Any]) -> dict[str, Floats]:
    """The columns of two values in which the first one holds the other's numbers too, and the other none."""
    if first.group not in columns or other.group not in columns:
        return {}
    mine, theirs = columns[first.group], columns[other.group]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        seconds = (
            1 / (theirs * _steps_per_second(other)) if other.quantity == "rate" else theirs * seconds_in(other.unit)
        )
        number = (
            1 / (seconds * _steps_per_second(first)) if first.quantity == "rate" else seconds / seconds_in(first.unit)
        )
    return {first.group: np.where(np.isnan(mine), number, mine), other.group: np.full(len(mine), np.nan)}


def _steps_per_second(value: Value) -> float:
    parsed = rate_unit(value.unit)
    return parsed[1] if parsed is not None else float("nan")
