"""Claims: every number a report's tables give, with the configuration it is said to be of.

Tables of configuration are none: batch sizes that stand under the headings of a table of results.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from perflog import resources
from perflog.audit.document import Document, Table, TableRow, link_of, plain
from perflog.formats.printed import rate_unit
from perflog.formats.vocabulary import INTEGERS, Scalar, normal

# ----------------------------------------------------------------------------------------------------
# What the words of a report say: configurations, quantities and units, by the patterns of
# ``templates/audit/words.toml``.

#: A count has at most so many digits, a result so many, and an exponent so many: numbers beyond are damaged.
_COUNT_DIGITS, _RESULT_DIGITS, _EXPONENT_DIGITS = 9, 25, 2
#: Facts: the value of a key, or None where a text gives several.
Facts = dict[str, Scalar | None]
_RATE = re.compile(r"(?<![A-Za-z])([A-Za-z]{2,})\s*/\s*(?:seconds?|secs?|s)(?![A-Za-z])", re.IGNORECASE)
_NUMBER = re.compile(
    r"[~≈]?\s*([0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?(?![A-WYZa-wyz_])\s*(.*)", re.DOTALL
)
_MISSING = re.compile(r"[-—–/\s]*|n/?a|none|nan|oom|暂无|无|tbd|todo|x|✗|\?", re.IGNORECASE)
_NOTE = re.compile(r"\[([^\[\]]+)\]")
#: Precisions that reports name one for the other: how they differ is said by no table.
REDUCED = frozenset({"amp", "fp16", "pure_fp16"})


@dataclass(frozen=True, slots=True)
class _Fact:
    """A pattern that says a key's value: always ``value``, else one of ``values`` or its text."""

    key: str
    pattern: re.Pattern[str]
    value: Scalar | None
    values: Mapping[str, str]
    over: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Words:
    columns: Mapping[str, re.Pattern[str]]
    quantities: Mapping[str, re.Pattern[str]]
    facts: tuple[_Fact, ...]
    configuration: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Column:
    """A heading: the ``key`` its cells name (``text`` for free words, ``other`` for what is no result), or what they
    hold.
    """

    key: str = ""
    quantity: str = ""
    unit: str = ""
    facts: Facts = field(default_factory=dict)
    link: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as printed: its value, how many decimals, how many digits that count, and the words behind it."""

    value: float
    decimals: int
    digits: int
    text: str
    rest: str = ""

    @property
    def unit(self) -> float:
        """One in the last place printed."""
        return 10.0**-self.decimals

    @property
    def coarse(self) -> float:
        """What a whole number with zeros at its end may be rounded to."""
        digits = self.text.replace(",", "")
        if self.decimals or not digits.isdigit() or not self.value:
            return self.unit
        return 10.0 ** (len(digits) - len(digits.rstrip("0")))


@cache
def _words() -> _Words:
    data = tomllib.loads((resources.folder("templates") / "audit" / "words.toml").read_text(encoding="utf-8"))
    facts = tuple(
        _Fact(
            fact["key"], re.compile(fact["match"], re.IGNORECASE), fact.get("value"), fact.get("values", {}),
            tuple(fact.get("over", ())),
        )
        for fact in data["facts"]
    )  # fmt: skip
    configuration = re.compile(data["configuration"], re.IGNORECASE)
    return _Words(_compiled(data["columns"]), _compiled(data["quantities"]), facts, configuration)


def _compiled(patterns: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(text, re.IGNORECASE) for name, text in patterns.items()}


def facts_of(text: str) -> Facts:
    """What a text says; a key it gives two values for is None.

    >>> facts_of("V100-8卡 FP32 BS=256")["devices"], facts_of("FP32 / AMP")["precision"]
    (8, None)
    """
    facts: Facts = {}
    for fact in _words().facts:
        key = fact.key
        said = {
            fact.value if fact.value is not None else normal(key, fact.values.get(match[1]) or _as_named(key, match[1]))
            for match in fact.pattern.finditer(text)
        }
        if said:
            value = said.pop() if len(said) == 1 else None
            before = facts.get(key, value)
            facts[key] = value if before == value or before in fact.over else None
    return facts


def _as_named(key: str, text: str) -> str:
    if key == "model":
        return re.sub(r"[^a-z0-9]", "", text.lower())
    if key == "accelerator":
        return text.upper().replace(" ", "")
    return text.lower() if key in ("reader", "mode") else text


def nearest(texts: Iterable[Facts]) -> Facts:
    """Facts of texts, the nearest first: a nearer one hides what the farther say of its keys.

    A version is of the framework that is named with it, and of no other.
    """
    merged: Facts = {}
    for facts in texts:
        own = facts.get("framework", "")
        other = own is None or own != merged.get("framework", own)
        for key, value in facts.items():
            if not (own != "" and other and key == "framework_version"):
                merged.setdefault(key, value)
    return merged


def column(heading: str) -> Column:
    """What a column holds, by its heading."""
    text = plain(heading)
    for key, pattern in _words().columns.items():
        if pattern.fullmatch(text.strip().lower()):
            return Column(key=key, title=text)
    return Column(
        quantity=quantity_of(text), unit=unit_of(text), facts=facts_of(text), link=link_of(heading), title=text
    )


def quantity_of(text: str) -> str:
    """The first quantity that a text names; empty for none."""
    return next((name for name, pattern in _words().quantities.items() if pattern.search(text)), "")


def names_configuration(text: str) -> bool:
    """Whether a text announces how trainings were set up.

    >>> names_configuration("各框架的 batch size 如下"), names_configuration("FP32, batch size = 128")
    (True, False)
    """
    return bool(_words().configuration.search(text))


def unit_of(text: str) -> str:
    """The first rate unit in a text in its canonical form; empty for none."""
    for rate in _RATE.finditer(text):
        unit = rate_unit(f"{rate[1]}/s")
        if unit is not None and unit[1] == 1.0:
            return unit[0]
    return ""


def key_facts(key: str, cell: str) -> Facts:
    """What a cell of a column that names a configuration says.

    An annotation such as ``[W/O AccGrad]`` that says nothing known is its variant.
    """
    text = plain(cell)
    facts = facts_of(text)
    first = _NUMBER.match(text)
    count = first[1].replace(",", "") if first and not first[2] else ""
    if key in INTEGERS and count.isdigit() and len(count) <= _COUNT_DIGITS:
        facts = {**facts, key: int(count)}
    elif key not in ("text", "other", *INTEGERS) and text:
        facts = {key: normal(key, text), **facts}
    for note in _NOTE.findall(text):
        facts = {**facts, **(facts_of(note) or {"variant": note.strip().lower()})}
    return facts


def printed(cell: str) -> Printed | None:
    """The number a cell begins with; None where there is none."""
    text = plain(cell)
    number = _NUMBER.match(text)
    if not number:
        return None
    digits, power = number[1].replace(",", ""), number[2] or "0"
    if len(digits) > _RESULT_DIGITS or len(power.lstrip("+-")) > _EXPONENT_DIGITS:
        return None
    exponent = int(power)
    decimals = len(digits.partition(".")[2]) - exponent
    significant = len(digits.replace(".", "").lstrip("0"))
    return Printed(float(digits) * 10.0**exponent, decimals, significant, number[1], number[3].strip())


def missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return bool(_MISSING.fullmatch(plain(cell)))


#: A claim must give one of these for its log to be found.
SIZES = ("devices", "nodes")
#: A whole number of more digits is no batch size.
MOST_DIGITS = 6
#: Batch sizes above the first are multiples of the second: 24, 48, 96, 160, 208, 5120. So is one number in eight.
ANY_SIZE_TO, MULTIPLES_OF = 16, 8


@dataclass(frozen=True, slots=True)
class Claim:
    """One cell.

    Attributes:
        line, column, heading: where it is, the column counted from 1.
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
    named = {facts_of(line).get("accelerator", "") for line in document.lines} - {""}
    everywhere: Facts = {"accelerator": named.pop()} if len(named) == 1 else {}  # said once for all tables
    return [claim for table in document.tables for claim in _of_table(document, table, root, everywhere)]


@dataclass(frozen=True, slots=True)
class _Context:
    """What is around a table and holds for its cells where they say nothing else."""

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
    near, path = [*table.lead, *table.headings], document.path.resolve()
    inside = path.is_relative_to(root.resolve())  # the folders that it lies in, the nearest first
    folders = " ".join(path.relative_to(root.resolve()).parent.parts[::-1]) if inside else ""
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
    if not whole or any(
        number.decimals or number.value <= 0 or len(number.text.replace(",", "")) >= MOST_DIGITS for number in whole
    ):
        return False
    above = next(iter([*table.lead, *table.headings]), "")
    if names_configuration(above) and not quantity_of(above) and not unit_of(above):
        return True
    usual = all(number.value <= ANY_SIZE_TO or number.value % MULTIPLES_OF == 0 for number in whole)
    return usual and len(whole) > 1 and _of_no_batch_size(table, columns) and _of_any_devices(table, columns)


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
