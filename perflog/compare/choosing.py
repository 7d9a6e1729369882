"""Names and values that a user gives to choose cases by: each must be one that some case has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perflog.cases.case import Case
from perflog.cases.choosing import near
from perflog.cases.identity import spelling
from perflog.errors import UsageError
from perflog.formats.vocabulary import CASE_KEYS, normal
from perflog.runs.facts import ALIASED
from perflog.settings.config import names_in

#: What may vary beside the keys of a case: what is left of its path.
LABEL = "label"


def names(text: str, option: str, known: Sequence[str] = ()) -> list[str]:
    """``a,b`` as a list; with ``known`` each must be one of them.

    Raises:
        UsageError: for a name that is not known, naming those near it.
    """
    given = list(names_in(text))
    for name in given:
        if known and name not in known:
            raise UsageError(f"--{option} {name!r}: no such name{near(name, known)}")
    return given


def require_known(cases: Sequence[Case], across: Sequence[str], wanted: Mapping[str, str]) -> None:
    """Every key must be one that a case has, and every value wanted one that a case has.

    Args:
        cases: of all sides.
        across: keys that may vary between the cases of a pair.
        wanted: the values that cases are chosen by, several of a key with ``:`` between them.

    Raises:
        UsageError: for a key or a value that no case has, naming those near it.
    """
    keys = list(dict.fromkeys((*CASE_KEYS, *(key for case in cases for key in case.key))))
    for name in across:
        if name not in keys and name != LABEL:
            raise UsageError(f"--across {name!r}: no case has such a key{near(name, [*keys, LABEL])}")
    for key, texts in wanted.items():
        if key not in keys:
            raise UsageError(f"--where {key}={texts}: no case has such a key{near(key, keys)}")
        values = {str(case.key[key]) for case in cases if key in case.key}
        lowered = {value.lower() for value in values}
        for text in texts.split(":"):
            if str(normal(key, text)).lower() not in lowered:
                raise UsageError(f"--where {key}={text}: no case has that value{near(text, sorted(values))}")


def require_alias(cases: Sequence[Case], aliases: Mapping[str, str]) -> None:
    """Every alias given must be a name that a case has.

    Raises:
        UsageError: for an alias that no case has, naming those near it.
    """
    values = sorted({str(case.key[key]) for case in cases for key in ALIASED if key in case.key})
    spellings = {spelling(value) for value in values}
    for alias, name in aliases.items():
        if spelling(alias) not in spellings:
            what = "no case has a model, framework, accelerator or precision of that name"
            raise UsageError(f"--alias {alias}={name}: {what}{near(alias, values)}")
