"""What the words of a report say: configurations, quantities and units, by the patterns of
``templates/audit/words.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from perflog import resources
from perflog.audit.document import link_of, plain
from perflog.formats.printed import rate_unit
from perflog.formats.vocabulary import INTEGERS, Scalar, normal

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
            fact.value if fact.value is not None else normal(key, fact.values.get(match[1]) or _named(key, match[1]))
            for match in fact.pattern.finditer(text)
        }
        if said:
            value = said.pop() if len(said) == 1 else None
            before = facts.get(key, value)
            facts[key] = value if before == value or before in fact.over else None
    return facts


def _named(key: str, text: str) -> str:
    if key == "model":
        return re.sub(r"[^a-z0-9]", "", text.lower())
    return (
        text.upper().replace(" ", "") if key == "accelerator" else text.lower() if key in ("reader", "mode") else text
    )


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
