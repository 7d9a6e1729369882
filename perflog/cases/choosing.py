"""Cases chosen by values of their fields: ``model=rn50``, ``devices=1:8``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from perflog.cases.case import Case, spelling
from perflog.errors import UsageError
from perflog.formats.printed import kind
from perflog.formats.vocabulary import CASE_KEYS, Scalar, normal
from perflog.logs.find import natural
from perflog.spelling import did_you_mean_or_list

#: What takes the cases that do not say a field.
UNKNOWN = "unknown"


def fields_of(case: Case) -> dict[str, Scalar]:
    """What a case can be chosen by: its key, its label, its unit, and what follows from them."""
    fields: dict[str, Scalar] = dict(case.key)
    if case.label:
        fields["label"] = case.label
    if case.throughput.unit:
        fields["unit"] = case.throughput.unit
    nodes, devices = case.key.get("nodes"), case.key.get("devices")
    if isinstance(nodes, int) and isinstance(devices, int) and devices % nodes == 0:
        fields["devices_per_node"] = devices // nodes
        fields["case"] = f"{nodes}n{devices // nodes}g"
    return fields


def takes(fields: Mapping[str, Scalar], where: Mapping[str, str]) -> bool:
    """Whether all fields have one of the values wanted.

    Args:
        where: by field, a value, or several with ``:`` between them; ``unknown`` takes what has no such field.
    """
    return all(_is_one_of(fields.get(name), name, texts) for name, texts in where.items())


def _is_one_of(value: Scalar | None, name: str, texts: str) -> bool:
    if value is None:
        return UNKNOWN in texts.split(":")
    return str(value).lower() in {_normal(name, text) for text in (texts, *texts.split(":"))}


def _normal(name: str, text: str) -> str:
    return str(normal(name, text)).lower()


def chosen(cases: Sequence[Case], where: Mapping[str, str]) -> list[Case]:
    """The cases with these values.

    Args:
        where: by field, a value, or several with ``:`` between them; ``unknown`` takes the cases without that field.

    Raises:
        UsageError: for a field or a value that no case has, naming those near it.
    """
    fields = [fields_of(case) for case in cases]
    for name, texts in where.items():
        require_known(name, texts, fields)
    taken = [case for case, of_case in zip(cases, fields, strict=True) if takes(of_case, where)]
    if cases and not taken:
        wanted = " and ".join(f"{name}={texts}" for name, texts in where.items())
        raise UsageError(f"--where: no case has {wanted} at once; see `perflog extract` for the cases there are")
    return taken


def require_known(name: str, texts: str, fields: Sequence[Mapping[str, Scalar]]) -> None:
    """A field must be one that can be known of a case, and each value of it one that a case has.

    Args:
        texts: a value of the field, or several with ``:`` between them.
        fields: of every case.

    Raises:
        UsageError: for a field or a value that no case has, naming those near it.
    """
    if not fields:
        return
    known = dict.fromkeys((*CASE_KEYS, *(key for of_case in fields for key in of_case)))
    if name not in known:
        raise UsageError(f"--where {name}={texts}: no case has a field {name!r}{near(name, known)}")
    values = dict.fromkeys(str(of_case[name]) for of_case in fields if name in of_case)
    lowered = {value.lower() for value in values}
    if _normal(name, texts) in lowered:
        return
    for text in texts.split(":"):
        if text != UNKNOWN and _normal(name, text) not in lowered:
            raise UsageError(f"--where {name}={text}: no case has that value{near(text, values)}")


def near(name: str, known: Iterable[str]) -> str:
    """``; did you mean model?``, or what there is; empty where nothing is."""
    return did_you_mean_or_list(name, known)


#: What may stand behind a model's name without making another model of it; bert-large is another model than bert.
_SAME_MODEL = re.compile(r"[-_ ]?base$")


def names_of_one(cases: Iterable[Case]) -> dict[str, str]:
    """Names of models that may be one, each with the shortest of them; nothing is merged by that.

    They differ in case, in separators, or by ``base`` at the end. Where a third size of the model is among the cases
    (``bert``, ``bert_base``, ``bert_large``), the name without a size may be any of them, and is no other's.
    """
    names = list(dict.fromkeys(str(case.key["model"]) for case in cases if "model" in case.key))
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(spelling(_SAME_MODEL.sub("", name.lower())), []).append(name)
    sizes = {
        spelling(re.sub(r"[-_ ]?(tiny|mini|small|medium|large|huge|xl|xxl)$", "", name.lower()))
        for name in names
        if re.search(r"[-_ ]?(tiny|mini|small|medium|large|huge|xl|xxl)$", name.lower())
    }
    offered: dict[str, str] = {}
    for base, members in groups.items():
        first = min(members, key=lambda name: (len(name), name))
        is_sized = len({spelling(name) for name in members}) > 1
        if len(members) > 1 and base and not (is_sized and base in sizes):
            offered |= {name: first for name in members if name.lower() != first.lower()}
            offered |= {name.lower(): first for name in members if name != first and name.lower() == first.lower()}
    return offered


# ----------------------------------------------------------------------------------------------------
# Cases in sections: those of one model whose throughput counts one kind of thing fit one table and one picture.


class Section(Struct, frozen=True):
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
