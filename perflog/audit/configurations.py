"""Tables of configuration: batch sizes that stand under the headings of a table of results, and are none."""

from __future__ import annotations

from collections.abc import Sequence

from perflog.audit.document import Table
from perflog.audit.words import Column, Printed, key_facts, names_configuration, nearest, printed, quantity_of, unit_of

#: A whole number of more digits is no batch size.
MOST_DIGITS = 6
#: Batch sizes above the first are multiples of the second: 24, 48, 96, 160, 208, 5120. So is one number in eight.
ANY_SIZE_TO, MULTIPLES_OF = 16, 8


def is_configuration(table: Table, columns: Sequence[Column]) -> bool:
    """Whether a table says how trainings were set up, not how fast they were.

    Its numbers are whole, and no heading names a quantity. Either the line above names what is set up, or all numbers
    are usual batch sizes and either the same for other numbers of devices, or of no number of devices.
    """
    if any(heading.quantity or heading.unit for heading in columns):
        return False
    numbers = [
        (index, printed(cell))
        for row in table.rows
        for index, (heading, cell) in enumerate(zip(columns, row.cells, strict=False))
        if not heading.key
    ]
    whole = [number for _, number in numbers if number is not None]
    if not whole or any(not _is_whole(number) for number in whole):
        return False
    above = next(iter([*table.lead, *table.headings]), "")
    if names_configuration(above) and not quantity_of(above) and not unit_of(above):
        return True
    usual = all(number.value <= ANY_SIZE_TO or number.value % MULTIPLES_OF == 0 for number in whole)
    return usual and len(whole) > 1 and _of_no_batch_size(table, columns) and _of_any_devices(table, columns)


def _is_whole(number: Printed) -> bool:
    return not number.decimals and number.value > 0 and len(number.text.replace(",", "")) < MOST_DIGITS


def _of_no_batch_size(table: Table, columns: Sequence[Column]) -> bool:
    """Whether neither rows nor columns say a batch size: of batch sizes they would not."""
    keys = ("batch_size", "global_batch_size")
    if any(key in heading.facts or heading.key == key for heading in columns for key in keys):
        return False
    return not any(key in _facts(row.cells, columns) for row in table.rows for key in keys)


def _of_any_devices(table: Table, columns: Sequence[Column]) -> bool:
    """Whether the rows say no number of devices, or those of several numbers hold the same numbers."""
    by_size: dict[object, set[tuple[float, ...]]] = {}
    for row in table.rows:
        facts = _facts(row.cells, columns)
        size = facts.get("devices", facts.get("nodes"))
        cells = zip(columns, row.cells, strict=False)
        values = (printed(cell) for heading, cell in cells if not heading.key)
        by_size.setdefault(size, set()).add(tuple(number.value for number in values if number is not None))
    if set(by_size) == {None}:
        return not any("devices" in heading.facts or "nodes" in heading.facts for heading in columns)
    return len(by_size) > 1 and len({frozenset(rows) for rows in by_size.values()}) == 1


def _facts(cells: Sequence[str], columns: Sequence[Column]) -> dict[str, object]:
    named = (key_facts(heading.key, cell) for heading, cell in zip(columns, cells, strict=False) if heading.key)
    return dict(nearest(named))
