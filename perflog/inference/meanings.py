"""What a number of a shape may mean, by the words beside it and by how it goes on from line to line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from perflog.formats.printed import clock_seconds, scaled_number
from perflog.formats.units import rate_unit
from perflog.inference.shapes import Shape

_STEP = re.compile(
    r"(?:^|[^A-Za-z])(?:global[_ ]?)?(?:steps?|iters?|iterations?|it|batch(?:es)?|updates?)[\s:=#\[(]*$", re.I
)
_EPOCH = re.compile(r"(?:^|[^A-Za-z])epochs?[\s:=#\[(]*$", re.I)
_STEP_WORD = r"(?:it|iter|iteration|step|batch|update)s?"
_PER_STEP = re.compile(rf"^\s*(ms|s|sec|secs|seconds?)\s*/\s*{_STEP_WORD}\b(?!\s*[:=])", re.I)
_RATE = re.compile(
    rf"^\s*((?:k|m)?(?:tokens?|tok|img|imgs|images?|samples?|sequences?|seqs?|examples?|records?|{_STEP_WORD}))\s*/\s*"
    r"(?:s|sec|secs|second)\b(\s*/\s*(?:gpu|device|rank))?(?!\s*[:=])", re.I
)  # fmt: skip
_TIME_UNIT = re.compile(r"^\s*(ms|s|sec|secs|seconds?)\b(?!\s*[/:=])", re.I)
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_/. ]*?)\s*(?:\(([a-z/]+)\))?\s*[:=]?\s*$")
_TIME_KEY = re.compile(
    rf"^(?:.*[_ ./])?(?:dt|time|t|{_STEP_WORD}[_ ]?time|time[_ ]?per[_ ]?{_STEP_WORD}|{_STEP_WORD}[_ ]?ms|duration)"
    r"(?:[_ ](ms|s|sec))?$", re.I
)  # fmt: skip
_RATE_KEY = re.compile(
    r"^(?:.*[_ ])?(tokens?|tok|samples?|images?|imgs?|sequences?|examples?)[_ /]*(?:per[_ ])?/?(?:s|sec|secs|second)$",
    re.I,
)
_ELAPSED_KEY = re.compile(r"(?:elapsed|total[_ ]?time|train[_ ]?time|time[_ ]?elapsed|wall[_ ]?time)", re.I)
#: What a bare time may be: of a step, of the last one, or of all steps since the line before.
_TIMES = (("step_time", "interval"), ("step_time", "last"), ("interval_time", "interval"))
_EVALUATES = re.compile(r"(?:^|[^a-z])(?:eval|evaluat|valid|val|test|infer)", re.I)


@dataclass(frozen=True, slots=True)
class Meaning:
    """A column's meaning: ``kind`` is step, epoch, or a quantity of the format language with its unit and span."""

    place: int
    kind: str
    unit: str = ""
    span: str = ""
    scope: str = "job"


def meanings_of(shape: Shape) -> list[list[Meaning]]:
    """For each column of a shape that may mean something, its possible meanings; empty for lines of no training."""
    if any(_EVALUATES.search(word) for word in shape.words):
        return []
    step = _step_of(shape)
    if step is None:
        return []
    found = [[step]]
    epoch = next((p for p in range(len(shape.words) - 1) if _EPOCH.search(shape.words[p]) and p != step.place), None)
    if epoch is not None and all(text.isdigit() for text in shape.column(epoch)):
        found.append([Meaning(epoch, "epoch")])
    for place in range(len(shape.words) - 1):
        if place not in (step.place, epoch):
            possible = _measures(shape, place)
            if possible:
                found.append(possible)
    return found


def _step_of(shape: Shape) -> Meaning | None:
    """The column that counts steps: whole numbers that rise from line to line."""
    for place in range(len(shape.words) - 1):
        column = shape.column(place)
        if not (_STEP.search(shape.words[place]) and all(text.replace(",", "").isdigit() for text in column)):
            continue
        numbers = [int(text.replace(",", "")) for text in column]
        rises = sum(later > earlier for earlier, later in pairwise(numbers))
        if rises >= 0.9 * (len(numbers) - 1):
            return Meaning(place, "step")
    return None


def _measures(shape: Shape, place: int) -> list[Meaning]:
    before, after = shape.words[place], shape.words[place + 1]
    per_step = _PER_STEP.match(after)
    if per_step:
        return [Meaning(place, "step_time", _seconds(per_step[1]), span) for span in ("interval", "last")]
    rate = _RATE.match(after)
    if rate:
        return _rates(place, f"{rate[1]}/s", "device" if rate[2] else "job")
    key = _KEY.search(before)
    if key is None:
        return []
    name, unit = key[1].strip(), key[2] or ""
    per_step = _PER_STEP.match(name) or _PER_STEP.match(unit)
    if per_step:
        return [Meaning(place, "step_time", _seconds(per_step[1]), span) for span in ("interval", "last")]
    rising = _rises(shape.column(place))
    if _ELAPSED_KEY.search(name) and rising:
        clock = all(":" in text for text in shape.column(place))
        unit_after = _TIME_UNIT.match(after)
        return [
            Meaning(
                place, "elapsed", "clock" if clock else _seconds(unit_after[1] if unit_after else "s"), "cumulative"
            )
        ]
    by_key = _RATE_KEY.match(name)
    if by_key or (unit and rate_unit(unit)):
        return _rates(place, unit or f"{by_key[1] if by_key else ''}/s", "job")
    time = _TIME_KEY.match(name)
    if time and not rising:
        unit_after = _TIME_UNIT.match(after)
        printed = unit or time[1] or (unit_after[1] if unit_after else "")
        units = [_seconds(printed)] if printed else ["s", "ms"]
        return [Meaning(place, kind, unit, span) for unit in units for kind, span in _TIMES]
    return []


def _rates(place: int, unit: str, scope: str) -> list[Meaning]:
    if rate_unit(unit) is None:
        return []
    return [Meaning(place, "rate", unit, span, scope) for span in ("interval", "last")]


def _seconds(unit: str) -> str:
    return "ms" if unit.lower() == "ms" else "s"


def _rises(column: Sequence[str]) -> bool:
    numbers = [clock_seconds(text) if ":" in text else scaled_number(text) for text in column]
    known = [number for number in numbers if number is not None]
    return len(known) > 2 and all(later >= earlier for earlier, later in pairwise(known)) and known[-1] > known[0]
