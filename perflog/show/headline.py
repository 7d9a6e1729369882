"""What a section of the page says first, in words: which case is fastest, how far it scales, what has no sure number.

Nothing is said that is not known. Cases are ranked where the logs name one model and one unit, and the first one is
called the fastest where its whole range (its interval, and the other number that a mark gives) is above that of each
other case and every case has an interval.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from perflog.cases.case import Case
from perflog.cases.choosing import Section
from perflog.formats.printed import is_of_job
from perflog.show.series import devices_of, value_of

#: A part of a sentence: a text, and the case and the value that it leads to; None for plain words.
Part = tuple[str, Case | None, str]
#: So many cases that cannot be told from the fastest one are named; more are counted.
_MOST_NAMED = 2
_PLACE = re.compile(r"\{(\w+)\}")
_Value = str | Sequence[Part]


def headline(
    section: Section, name: Callable[[Case], str], shown: Callable[[Case, str], str], words: Mapping[str, str]
) -> list[list[Part]]:
    """The sentences of a section, each in parts.

    Args:
        section: its cases.
        name: a case's name on the page.
        shown: a case's ``throughput`` or ``speedup`` as its table shows it, with its warning and without its unit.
        words: the forms of the sentences, by their names.
    """

    def named(case: Case) -> Part:
        return name(case), case, ""

    def number(case: Case, value: str) -> Part:
        return shown(case, value), case, value

    sentences = []
    valued = [case for case in section.cases if case.throughput.value is not None]
    if valued:
        best = max(valued, key=value_of)
        values: dict[str, _Value] = {
            "name": [named(best)], "value": [number(best, "throughput")], "unit": best.throughput.unit,
            "count": str(len(valued)),
        }  # fmt: skip
        form = ranking(section, valued)
        if form == "alike":
            values["others"] = _listed([named(case) for case in not_below(best, valued)], words)
        without = sum(case.throughput.low is None for case in valued)
        sentences.append(_filled(words[form], {**values, "without": str(without), "units": section.unit}))
    if scaled := most_scaled(section.cases):
        low, high = (choose(scaled, key=lambda case: case.speedup or 0.0) for choose in (min, max))
        sentences.append(
            _filled(
                words["scales" if low is high else "scale"],
                {
                    "name": [named(high)], "low": [number(low, "speedup")], "high": [number(high, "speedup")],
                    "ideal": f"{_ideal(high):.4g}", "devices": str(devices_of(high)),
                },
            )
        )  # fmt: skip
    for form, count in (("marked", len(marked_of(section.cases))), ("without", len(section.cases) - len(valued))):
        if count:
            sentences.append(_filled(words[form], {"count": str(count), "all": str(len(section.cases))}))
    return sentences


def ranking(section: Section, valued: Sequence[Case]) -> str:
    """Which sentence the highest of a section's throughputs allows: the name of its form.

    ``one``: there is no other case. ``no_job``: steps, or one device's work, do not grow with what more devices do: the
    slowest job may have the highest number, so none is named. ``no_model``, ``no_unit``: the cases may be of different
    models, or count different things, and are not ranked. ``alike``: the range of another case reaches that of the
    highest. ``unsure``: a case has no interval. ``fastest``: else.
    """
    if len(valued) == 1:
        return "one"
    if any(case.throughput.unit and not is_of_job(case.throughput.unit) for case in valued):
        return "no_job"
    if not section.model:
        return "no_model"
    if len(section.units) > 1 or any(not case.throughput.unit for case in valued):
        return "no_unit"
    if not_below(max(valued, key=value_of), valued):
        return "alike"
    return "unsure" if any(case.throughput.low is None for case in valued) else "fastest"


def not_below(best: Case, cases: Sequence[Case]) -> list[Case]:
    """The other cases whose range reaches the lower end of the best one's, the highest first."""
    reaching = [case for case in cases if case is not best and max(_range(case)) >= min(_range(best))]
    return sorted(reaching, key=value_of, reverse=True)


def _range(case: Case) -> list[float]:
    """The throughputs that a case may have: its number, the ends of its interval, and the other number of its mark."""
    other = case.mark.other if case.mark is not None else None
    return [end for end in (value_of(case), case.throughput.low, case.throughput.high, other) if end is not None]


def most_scaled(cases: Sequence[Case]) -> list[Case]:
    """The cases on the most devices that have a speedup over another case; of these, those with the highest ideal."""
    scaled = [case for case in cases if case.base is not case and devices_of(case) and _ideal(case)]
    most = max(map(devices_of, scaled), default=0)
    scaled = [case for case in scaled if devices_of(case) == most]
    ideal = max(map(_ideal, scaled), default=0.0)
    return [case for case in scaled if math.isclose(_ideal(case), ideal)]


def _ideal(case: Case) -> float:
    """The speedup that a case would have if each device did as much as its baseline's; 0 where it has no speedup."""
    return case.speedup / case.efficiency if case.speedup and case.efficiency else 0.0


def marked_of(cases: Sequence[Case]) -> list[Case]:
    """The cases whose throughput or speedup bears another number beside it."""
    return [case for case in cases if case.mark is not None or case.is_marked]


def _listed(named: Sequence[Part], words: Mapping[str, str]) -> list[Part]:
    """The first names with what stands between them, and how many more there are."""
    listed: list[Part] = []
    for part in named[:_MOST_NAMED]:
        listed += [(words["comma"], None, ""), part] if listed else [part]
    more = len(named) - _MOST_NAMED
    return [*listed, (words["more"].format(count=more), None, "")] if more > 0 else listed


def _filled(form: str, values: Mapping[str, _Value]) -> list[Part]:
    """A form whose places are filled: texts and parts in their order."""
    parts: list[Part] = []
    for place, text in enumerate(_PLACE.split(form)):
        value = values[text] if place % 2 else text
        parts += [(value, None, "")] if isinstance(value, str) else value
    return [part for part in parts if part[0]]
