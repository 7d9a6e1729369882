"""Short names of cases and sides: what tells them apart, and nothing more."""

from __future__ import annotations

from collections.abc import Sequence

from perflog.cases.case import Case, short_labels
from perflog.formats.vocabulary import CASE_KEYS


def keys_of(cases: Sequence[Case]) -> list[str]:
    """The fields that cases have, in the order in which they are shown."""
    own = {key for case in cases for key in case.key}
    return [key for key in dict.fromkeys((*CASE_KEYS, *(key for case in cases for key in case.key))) if key in own]


def names_of(cases: Sequence[Case]) -> list[str]:
    """Short names: what tells the cases apart, or all that is known of a single one."""
    keys = [k for k in keys_of(cases) if k != "framework_version"]
    varying = [k for k in keys if len({str(c.key.get(k)) for c in cases}) > 1]
    told_apart = len({tuple(str(c.key.get(k)) for k in varying) for c in cases}) == len(cases)
    with_label = len({c.label for c in cases}) > 1 and not told_apart
    labels = short_labels(cases) if with_label else [""] * len(cases)
    words = ([*(_word(k, c) for k in varying if k in c.key), label] for c, label in zip(cases, labels, strict=True))
    return [" ".join(filter(None, of_case)) or c.name for of_case, c in zip(words, cases, strict=True)]


def _word(key: str, case: Case) -> str:
    value = case.key[key]
    if key == "batch_size":
        return f"bs{value}"
    if isinstance(value, int):
        return f"{value} {key.removesuffix('s') if value == 1 else key}"
    return str(value)


def short_names(names: Sequence[str]) -> list[str]:
    """The last parts of the sides' names, as many as tell them apart; numbered where nothing does."""
    parts = [name.split("/") for name in names]
    for count in range(1, max(map(len, parts)) + 1):
        short = ["/".join(part[-count:]) for part in parts]
        if len(set(short)) == len(short):
            return short
    return [f"{number}. {name}" for number, name in enumerate(names, 1)]
