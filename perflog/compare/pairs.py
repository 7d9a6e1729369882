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
#: A case is named as nearly another's when at most so many keys differ, its label aside.
NEARLY = 2


@dataclass(frozen=True, slots=True)
class Pair:
    """A case on both sides; ``across``: what differs between them and was asked for."""

    old: Case
    new: Case
    across: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unpaired:
    """A case of one side (``old`` or ``new``) and why it has no partner."""

    side: str
    case: Case
    reason: str


Key = dict[str, str]
#: The cases of one side, each with its label.
_Cases = Sequence[tuple[Case, str]]


def paired(old: _Cases, new: _Cases, across: Sequence[str] = ()) -> tuple[list[Pair], list[Unpaired]]:
    """Pair the cases of two sides, each given with its label, in the order of the old side.

    Args:
        across: keys that may differ (``label``, ``accelerator``, …).

    Returns:
        The pairs, and the cases of both sides that have no partner.
    """
    cases = {"old": old, "new": new}
    keys = {side: [_key(case, label) for case, label in members] for side, members in cases.items()}
    groups = {side: _grouped(side_keys, across) for side, side_keys in keys.items()}
    pairs: list[Pair] = []
    alone: list[Unpaired] = []
    for identity, places in groups["old"].items():
        partners = groups["new"].get(identity, [])
        if len(places) == len(partners) == 1:
            mine, theirs = keys["old"][places[0]], keys["new"][partners[0]]
            differing = _differences(mine, theirs, [k for k in across if mine.get(k) != theirs.get(k)])
            pairs.append(Pair(old[places[0]][0], new[partners[0]][0], tuple(differing)))
            continue
        reason = _ambiguous(keys, places, partners) if partners else ""
        for side, side_places in (("old", places), ("new", partners)):
            alone += [
                Unpaired(side, cases[side][place][0], reason or _nearest(keys["old"][place], keys["new"]))
                for place in side_places
            ]
    for identity, places in groups["new"].items():
        if identity not in groups["old"]:
            alone += [
                Unpaired("new", new[place][0], _nearest(keys["new"][place], keys["old"], here="new"))
                for place in places
            ]
    return pairs, alone


def _key(case: Case, label: str) -> Key:
    key = {name: str(value).lower() for name, value in case.key.items() if name != VERSION}
    return {**key, "label": label} if label else key


def _grouped(keys: Sequence[Key], across: Sequence[str]) -> dict[tuple[tuple[str, str], ...], list[int]]:
    """The places of the keys that are equal in everything but ``across``."""
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for place, key in enumerate(keys):
        identity = tuple(sorted((k, v) for k, v in key.items() if k not in across))
        groups.setdefault(identity, []).append(place)
    return groups


def _ambiguous(keys: Mapping[str, Sequence[Key]], old: Sequence[int], new: Sequence[int]) -> str:
    side, places = ("old", old) if len(old) > 1 else ("new", new)
    alike = [keys[side][place] for place in places]
    differing = [k for k in dict.fromkeys(k for key in alike for k in key) if len({key.get(k) for key in alike}) > 1]
    what = " and ".join(differing) if differing else VERSION
    return f"{len(places)} cases on the {side} side are alike but for {what}: choose with --where"


def _differing(mine: Key, theirs: Key) -> list[str]:
    keys = [*CASE_KEYS, *(k for k in (*mine, *theirs) if k not in CASE_KEYS)]
    return [k for k in dict.fromkeys(keys) if mine.get(k) != theirs.get(k)]


def _nearest(mine: Key, others: Sequence[Key], here: str = "old") -> str:
    """What keeps a case from the one nearest to it on the other side."""
    there = "new" if here == "old" else "old"
    candidates = [(differing, other) for other in others if (differing := _differing(mine, other))]
    differing, nearest = min(candidates, key=lambda candidate: len(candidate[0]), default=([], {}))
    if not differing or len([key for key in differing if key != "label"]) > NEARLY:
        return f"not on the {there} side"
    differences = ", ".join(_differences(mine, nearest, differing))
    return f"not on the {there} side; nearest: {differences} (--across {','.join(differing)} pairs them)"


def _differences(mine: Key, theirs: Key, differing: Sequence[str]) -> list[str]:
    return [f"{k} is {mine.get(k) or 'unknown'} and {theirs.get(k) or 'unknown'}" for k in differing]
