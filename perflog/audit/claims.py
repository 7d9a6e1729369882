"""Claims: every number a report's tables give, with the configuration it is said to be of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perflog.audit.document import Document, Row, Table, plain
from perflog.audit.words import Column, Facts, Printed, column, facts_of, key_facts, missing, nearest, printed, quantity_of, unit_of
from perflog.formats.vocabulary import Scalar

#: What a claim must say for its log to be told: one of these.
SIZES = ("devices", "nodes")


@dataclass(slots=True)
class Claim:
    """One cell.

    Attributes:
        line, column, heading: where it stands, the column counted from 1.
        number: as printed; None where the cell or its column is not understood, and ``reason`` says why.
        quantity, unit: what is claimed; the unit is empty where nothing says it.
        facts: the configuration.
        link: a log or folder that the cell or its heading links to, as a path.
        topic: words that may name the model: headings, title, folders.
        row: the table's line and the row's line, which tell the cells that arithmetic may join.
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
    return [claim for table in document.tables for claim in _of_table(document, table, root)]


def _of_table(document: Document, table: Table, root: Path) -> Iterator[Claim]:
    columns = [column(cell) for cell in table.header.cells]
    columns = [_by_cells(one, at, table.rows) for at, one in enumerate(columns)]
    near = [*table.lead, *table.headings]
    folders = " ".join(_folders(document.path, root))
    around = nearest([*(facts_of(text) for text in near), facts_of(document.title), facts_of(folders)])
    context = [*table.lead, *table.section, *table.headings, document.title]
    unit = next(filter(None, map(unit_of, context)), "")
    quantity = next(filter(None, (quantity_of(text) or ("throughput" if unit_of(text) else "") for text in context)), "")
    topic = " ".join([*near, document.title, folders])
    for row in table.rows:
        own = nearest(key_facts(one.key, cell) for one, cell in zip(columns, row.cells, strict=False) if one.key)
        for at, (one, cell) in enumerate(zip(columns, row.cells, strict=False)):
            if one.key or missing(cell):
                continue
            number = printed(cell)
            said = key_facts("text", number.rest) if number else {}
            facts = _complete(nearest([said, own, one.facts, around]))
            claim = Claim(
                document.path, row.line, at + 1, one.title, plain(cell), number, one.quantity, one.unit or unit, facts,
                link=one.link, topic=topic, table=table.header.line, column_facts=one.facts,
            )  # fmt: skip
            claim.quantity, claim.reason = _quantity(claim, one, quantity)
            yield claim


def _by_cells(one: Column, at: int, rows: Sequence[Row]) -> Column:
    """A column whose heading says nothing, and whose cells are words, names the rows."""
    if one.key or one.quantity or one.unit:
        return one
    cells = [row.cells[at] for row in rows if at < len(row.cells) and not missing(row.cells[at])]
    words = sum(printed(cell) is None for cell in cells)
    return Column(key="text", title=one.title) if words * 2 > len(cells) else one


def _quantity(claim: Claim, one: Column, context: str) -> tuple[str, str]:
    if claim.number is None:
        return one.quantity, f"the cell holds no number: {claim.text[:40]!r}"
    quantity = one.quantity or ("throughput" if one.unit else "")
    if not quantity and (one.facts or one.link or not one.title):
        quantity = context  # what the nearest line above says stands for columns that name configurations
    if not quantity:
        return "", f"what the column {one.title!r} holds is not said"
    if not any(key in claim.facts for key in SIZES) and not claim.link:
        return quantity, "how many devices or nodes it is of is not said"
    return quantity, ""


def _complete(facts: Facts) -> dict[str, Scalar]:
    """Known facts, and the number of devices that follows from them."""
    out = {key: value for key, value in facts.items() if value is not None}
    nodes, each = out.get("nodes"), out.get("devices_per_node")
    if "devices" not in out and isinstance(each, int) and isinstance(nodes, int):
        out["devices"] = nodes * each
    return out


def _folders(path: Path, root: Path) -> list[str]:
    """The folders a document lies in, the nearest first."""
    try:
        return list(path.resolve().relative_to(root.resolve()).parent.parts)[::-1]
    except ValueError:
        return []
