"""Claims: every number a report's tables give, with the configuration it is said to be of.

Tables of configuration are none: batch sizes that stand under the headings of a table of results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perflog.audit.document import Document, Table, TableRow, plain
from perflog.audit.words import (
    Column,
    Facts,
    Printed,
    column,
    facts_of,
    key_facts,
    missing,
    names_configuration,
    nearest,
    printed,
    quantity_of,
    unit_of,
)
from perflog.formats.vocabulary import Scalar

#: What a claim must say for its log to be told: one of these.
SIZES = ("devices", "nodes")
#: A whole number of more digits is no batch size.
MOST_DIGITS = 6
#: Batch sizes above the first are multiples of the second: 24, 48, 96, 160, 208, 5120. So is one number in eight.
ANY_SIZE_TO, MULTIPLES_OF = 16, 8


@dataclass(frozen=True, slots=True)
class Claim:
    """One cell.

    Attributes:
        line, column, heading: where it stands, the column counted from 1.
        number: as printed; None where the cell or its column is not understood, and ``reason`` says why.
        quantity, unit: what is claimed; the unit is empty where nothing says it.
        facts: the configuration.
        link: a log or folder that the cell or its heading links to, as a path.
        topic: words that may name the model: headings, title, folders.
        table: the line that the table begins on, which tells the cells that arithmetic may join.
        column_facts: what the column's heading says of the configuration.
    """

    path: Path
    line: int
    column: int
    heading: str
    text: str
    number: Printed | None
    quantity: str
    unit: str
    facts: dict[str, Scalar]
    link: str = ""
    topic: str = ""
    table: int = 0
    reason: str = ""
    column_facts: Facts = field(default_factory=dict)

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    @property
    def subject(self) -> str:
        return str(self.facts.get("model", ""))


def claims(document: Document, root: Path) -> list[Claim]:
    """All claims of a document; ``root``: paths below it may name model and framework."""
    everywhere = _everywhere(document)
    return [claim for table in document.tables for claim in _of_table(document, table, root, everywhere)]


def _everywhere(document: Document) -> Facts:
    """What a document says once for all of its tables: the accelerator, where it names one alone."""
    named = (facts_of(line).get("accelerator", "") for line in document.lines)
    accelerators = {name for name in named if name != ""}
    return {"accelerator": accelerators.pop()} if len(accelerators) == 1 else {}


@dataclass(frozen=True, slots=True)
class _Context:
    """What stands around a table and holds for its cells where they say nothing else."""

    facts: Facts
    unit: str
    quantity: str
    topic: str


def _of_table(document: Document, table: Table, root: Path, everywhere: Facts) -> Iterator[Claim]:
    headings = [column(cell) for cell in table.header.cells]
    columns = [_by_cells(heading, index, table.rows) for index, heading in enumerate(headings)]
    if is_configuration(table, columns):
        return
    context = _context(document, table, root, everywhere)
    for row in table.rows:
        own = nearest(key_facts(c.key, cell) for c, cell in zip(columns, row.cells, strict=False) if c.key)
        for index, (heading, cell) in enumerate(zip(columns, row.cells, strict=False)):
            if not heading.key and not missing(cell):
                yield _claim(document.path, table, row, index, heading, own, context)


def _context(document: Document, table: Table, root: Path, everywhere: Facts) -> _Context:
    near = [*table.lead, *table.headings]
    folders = " ".join(_folders(document.path, root))
    facts = nearest([*(facts_of(text) for text in near), facts_of(document.title), facts_of(folders), everywhere])
    around = [*table.lead, *table.section, *table.headings, document.title]
    unit = next(filter(None, map(unit_of, around)), "")
    named = (quantity_of(text) or ("throughput" if unit_of(text) else "") for text in around)
    return _Context(facts, unit, next(filter(None, named), ""), " ".join([*near, document.title, folders]))


def _claim(
    path: Path, table: Table, row: TableRow, index: int, heading: Column, own: Facts, context: _Context
) -> Claim:
    """The claim of a cell; ``own``: what the row says of the configuration."""
    cell = row.cells[index]
    number = printed(cell)
    facts = _complete(nearest([key_facts("text", number.rest) if number else {}, own, heading.facts, context.facts]))
    quantity, reason = _quantity(number, plain(cell), facts, heading, context.quantity)
    return Claim(
        path, row.line, index + 1, heading.title, plain(cell), number, quantity, heading.unit or context.unit, facts,
        link=heading.link, topic=context.topic, table=table.header.line, reason=reason, column_facts=heading.facts,
    )  # fmt: skip


def _by_cells(heading: Column, index: int, rows: Sequence[TableRow]) -> Column:
    """A column whose heading says nothing, and whose cells are words, names the rows.

    So does one whose heading may name a result, but no cell of which holds a number (精度: accuracy, or precision).
    """
    if heading.key:
        return heading
    cells = [row.cells[index] for row in rows if index < len(row.cells) and not missing(row.cells[index])]
    words = sum(printed(cell) is None for cell in cells)
    if heading.unit or heading.quantity not in ("", "accuracy"):
        return heading
    if heading.quantity:
        return Column(key="text", title=heading.title) if cells and words == len(cells) else heading
    return Column(key="text", title=heading.title) if words * 2 > len(cells) else heading


def _quantity(
    number: Printed | None, text: str, facts: Mapping[str, Scalar], heading: Column, context: str
) -> tuple[str, str]:
    """What a cell claims, and the reason where that is not understood."""
    if number is None:
        return heading.quantity, f"the cell holds no number: {text[:40]!r}"
    quantity = heading.quantity or ("throughput" if heading.unit else "")
    if not quantity and (heading.facts or heading.link or not heading.title):
        quantity = context  # what the nearest line above says stands for columns that name configurations
    if not quantity:
        return "", f"what the column {heading.title!r} holds is not said"
    if not any(key in facts for key in SIZES) and not heading.link:
        return quantity, "how many devices or nodes it is of is not said"
    return quantity, ""


def _complete(facts: Facts) -> dict[str, Scalar]:
    """Known facts, and the number of devices that follows from them."""
    known = {key: value for key, value in facts.items() if value is not None}
    nodes, per_node = known.get("nodes"), known.get("devices_per_node")
    if "devices" not in known and isinstance(per_node, int) and isinstance(nodes, int):
        known["devices"] = nodes * per_node
    return known


def _folders(path: Path, root: Path) -> list[str]:
    """The folders a document lies in, the nearest first."""
    try:
        return list(path.resolve().relative_to(root.resolve()).parent.parts)[::-1]
    except ValueError:
        return []


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
    return not any(key in _named(row.cells, columns) for row in table.rows for key in keys)


def _of_any_devices(table: Table, columns: Sequence[Column]) -> bool:
    """Whether the rows say no number of devices, or those of several numbers hold the same numbers."""
    by_size: dict[object, set[tuple[float, ...]]] = {}
    for row in table.rows:
        facts = _named(row.cells, columns)
        size = facts.get("devices", facts.get("nodes"))
        cells = zip(columns, row.cells, strict=False)
        values = (printed(cell) for heading, cell in cells if not heading.key)
        by_size.setdefault(size, set()).add(tuple(number.value for number in values if number is not None))
    if set(by_size) == {None}:
        return not any("devices" in heading.facts or "nodes" in heading.facts for heading in columns)
    return len(by_size) > 1 and len({frozenset(rows) for rows in by_size.values()}) == 1


def _named(cells: Sequence[str], columns: Sequence[Column]) -> dict[str, object]:
    named = (key_facts(heading.key, cell) for heading, cell in zip(columns, cells, strict=False) if heading.key)
    return dict(nearest(named))
