"""Which case of one side is which of the other: equal in everything that is known but the framework's version.

What else varies is refused and named, unless asked for: a ratio across another batch size is no comparison of versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perflog.cases.case import Case
from perflog.formats.vocabulary import CASE_KEYS

#: What may always differ: it is what is compared.
VERSION = "framework_version"
#: A case is told as nearly another's when at most so many keys differ, its label aside.
NEARLY = 2


@dataclass(slots=True)
class Pair:
    """A case on both sides; ``across``: what differs between them and was asked for."""

    old: Case
    new: Case
    across: tuple[str, ...] = ()


@dataclass(slots=True)
class Unpaired:
    """A case of one side (``old`` or ``new``) and why it has no partner."""

    side: str
    case: Case
    reason: str


Key = dict[str, str]


def paired(old: Sequence[tuple[Case, str]], new: Sequence[tuple[Case, str]], across: Sequence[str] = ()) -> tuple[list[Pair], list[Unpaired]]:
    """Pair the cases of two sides, each given with its label, in the order of the old side.

    Args:
        across: keys that may differ (``label``, ``accelerator``, …).
    """
    keys = {"old": [_key(case, label) for case, label in old], "new": [_key(case, label) for case, label in new]}
    groups = {side: _grouped(found, across) for side, found in keys.items()}
    pairs: list[Pair] = []
    alone: list[Unpaired] = []
    for identity, at in groups["old"].items():
        partners = groups["new"].get(identity, [])
        if len(at) == len(partners) == 1:
            mine, theirs = keys["old"][at[0]], keys["new"][partners[0]]
            pairs.append(Pair(old[at[0]][0], new[partners[0]][0], tuple(_told(mine, theirs, [k for k in across if mine.get(k) != theirs.get(k)]))))
            continue
        for side, cases, places in (("old", old, at), ("new", new, partners)):
            reason = _ambiguous(keys, at, partners) if partners else ""
            alone += [Unpaired(side, cases[place][0], reason or _nearest(keys["old"][place], keys["new"])) for place in places]
    for identity, at in groups["new"].items():
        if identity not in groups["old"]:
            alone += [Unpaired("new", new[place][0], _nearest(keys["new"][place], keys["old"], here="new")) for place in at]
    return pairs, alone


def _key(case: Case, label: str) -> Key:
    out = {key: str(value).lower() for key, value in case.key.items() if key != VERSION}
    return {**out, "label": label} if label else out


def _grouped(keys: Sequence[Key], across: Sequence[str]) -> dict[tuple[tuple[str, str], ...], list[int]]:
    out: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for at, key in enumerate(keys):
        identity = tuple(sorted((k, v) for k, v in key.items() if k not in across))
        out.setdefault(identity, []).append(at)
    return out


def _ambiguous(keys: Mapping[str, Sequence[Key]], old: Sequence[int], new: Sequence[int]) -> str:
    side, places = ("old", old) if len(old) > 1 else ("new", new)
    found = [keys[side][place] for place in places]
    differ = [k for k in dict.fromkeys(k for key in found for k in key) if len({key.get(k) for key in found}) > 1]
    what = " and ".join(differ) if differ else VERSION
    return f"{len(places)} cases on the {side} side are alike but for {what}: choose with --where"


def _differing(one: Key, other: Key) -> list[str]:
    keys = [*CASE_KEYS, *(k for k in (*one, *other) if k not in CASE_KEYS)]
    return [k for k in dict.fromkeys(keys) if one.get(k) != other.get(k)]


def _nearest(mine: Key, others: Sequence[Key], here: str = "old") -> str:
    """What keeps a case from the one nearest to it on the other side."""
    there = "new" if here == "old" else "old"
    found = sorted((differ for other in others if (differ := _differing(mine, other))), key=len)
    if not found or len([key for key in found[0] if key != "label"]) > NEARLY:
        return f"not on the {there} side"
    other = next(o for o in others if _differing(mine, o) == found[0])
    return f"not on the {there} side; nearest: {', '.join(_told(mine, other, found[0]))} (--across {','.join(found[0])} pairs them)"


def _told(mine: Key, theirs: Key, differ: Sequence[str]) -> list[str]:
    return [f"{k} is {mine.get(k) or 'unknown'} and {theirs.get(k) or 'unknown'}" for k in differ]
