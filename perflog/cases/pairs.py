"""Which case of one side is which of the other: equal in everything that is known but the framework's version.

What else varies is refused and named, unless asked for: a ratio across another batch size is no comparison of versions.
Spellings of one model, one node that a side does not name, and names that the user says are one, are taken for equal,
which is said.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perflog.cases.case import Case, spelling, told_apart_by
from perflog.formats.paths import REPEAT
from perflog.formats.vocabulary import CASE_KEYS
from perflog.runs.facts import ALIASED
from perflog.runs.run import DATA
from perflog.stats.verdict import Better

#: What may always differ: it is what is compared.
VERSION = "framework_version"
#: What tells cases apart that are equal in all that is known.
_FORMAT = "the format of their logs"
#: A case is named as nearly another's when at most so many keys differ, its label aside.
NEARLY = 2
#: Cases that differ in one of these do other work for a sample or a step: pairing them is never suggested.
OTHER_WORK = {"model", "batch_size", "global_batch_size", "sequence_length", "parameters"}


@dataclass(frozen=True, slots=True)
class Pair:
    """A case on both sides.

    ``across``: what differs between them and was asked for; ``alike``: what differs in its spelling alone.
    """

    old: Case
    new: Case
    across: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unpaired:
    """A case of one side (``old`` or ``new``) and why it has no partner."""

    side: str
    case: Case
    reason: str


Key = dict[str, str]
#: What may be written differently and be taken for the same all the same.
_MAY_BE_ALIKE = (*(key for key in CASE_KEYS if key in ALIASED), "nodes")
#: The number of a log at the end of a label.
_NUMBER = re.compile(r"(?:^|[-_/ ])(?P<number>\d{1,3})$")
#: The cases of one side, each with its label.
_Cases = Sequence[tuple[Case, str]]


def paired(
    old: _Cases, new: _Cases, across: Sequence[str] = (), aliases: Mapping[str, str] | None = None
) -> tuple[list[Pair], list[Unpaired]]:
    """Pair the cases of two sides, each given with its label, in the order of the old side.

    Args:
        across: keys that may differ (``label``, ``accelerator``, …).
        aliases: names of models, frameworks, accelerators and precisions, each with the name that it is another one
            of: ``{"resnet50v1.5": "resnet50"}``.

    Returns:
        The pairs, and the cases of both sides that have no partner.
    """
    cases = {"old": old, "new": new}
    names = {spelling(alias): spelling(name) for alias, name in (aliases or {}).items()}
    keys = dict(zip(cases, _keys_of_sides(old, new, names), strict=True))
    groups = {side: _grouped(side_keys, across) for side, side_keys in keys.items()}
    pairs: list[Pair] = []
    alone: list[Unpaired] = []
    for identity, places in groups["old"].items():
        partners = groups["new"].get(identity, [])
        if len(places) == len(partners) == 1:
            mine, theirs = keys["old"][places[0]], keys["new"][partners[0]]
            differing = _differences(mine, theirs, [k for k in across if mine.get(k) != theirs.get(k)])
            (old_case, old_label), (new_case, new_label) = old[places[0]], new[partners[0]]
            alike = () if "label" in across else _labels_alike(old_label, new_label)
            alike = (*_alike(old_case, new_case, across), *alike)
            pairs.append(Pair(old_case, new_case, tuple(differing), alike))
            continue
        reason = _ambiguous(cases, places, partners) if partners else ""
        for side, side_places in (("old", places), ("new", partners)):
            alone += [
                Unpaired(side, cases[side][place][0], reason or _nearest(keys["old"][place], keys["old"], keys["new"]))
                for place in side_places
            ]
    for identity, places in groups["new"].items():
        if identity not in groups["old"]:
            alone += [
                Unpaired("new", new[place][0], _nearest(keys["new"][place], keys["new"], keys["old"], here="new"))
                for place in places
            ]
    return pairs, alone


def _keys_of_sides(old: _Cases, new: _Cases, names: Mapping[str, str]) -> tuple[list[Key], list[Key]]:
    """The keys of both sides' cases; a lone log's number is no label where it is among the other side's repeats.

    Args:
        names: the other names of a thing, each with the one that it is known by here, both in the spelling that is
            compared.
    """
    keys = [_key(case, label, names) for case, label in old], [_key(case, label, names) for case, label in new]
    numberless = tuple(
        [_without_number(key, case, others, of_others) for key, (case, _) in zip(mine, members, strict=True)]
        for mine, members, others, of_others in ((keys[0], old, keys[1], new), (keys[1], new, keys[0], old))
    )
    return numberless[0], numberless[1]


def _key(case: Case, label: str, names: Mapping[str, str]) -> Key:
    key = {name: value.lower() for name, value in told_apart_by(case.key).items() if name != VERSION}
    key |= {name: names[spelling(key[name])] for name in ALIASED if name in key and spelling(key[name]) in names}
    return {**key, "label": label} if label else key


def _without_number(key: Key, case: Case, others: Sequence[Key], of_others: _Cases) -> Key:
    """A case's key without the number that its only log is named with, where the other side has that repeat."""
    number = _NUMBER.search(key.get("label", ""))
    if number is None or len(case.runs) != 1 or key in others:
        return key
    rest = key["label"][: number.start()]
    bare = {name: value for name, value in key.items() if name != "label"} | ({"label": rest} if rest else {})
    same = (other for other, other_key in zip(of_others, others, strict=True) if other_key == bare)
    repeats = {run.values.get(REPEAT) for other, _ in same for run in other.runs}
    return bare if int(number["number"]) in repeats else key


def _alike(old: Case, new: Case, across: Sequence[str]) -> tuple[str, ...]:
    """What is written differently on the two sides and taken for the same."""
    return tuple(
        f"{name} is {old.key.get(name, 'unknown')} and {new.key.get(name, 'unknown')}, taken for equal"
        for name in _MAY_BE_ALIKE
        if name not in across and str(old.key.get(name, "")).lower() != str(new.key.get(name, "")).lower()
    )


def _labels_alike(old: str, new: str) -> tuple[str, ...]:
    return () if old == new else (f"label is {old or 'unknown'} and {new or 'unknown'}, taken for repeats of one case",)


def _grouped(keys: Sequence[Key], across: Sequence[str]) -> dict[tuple[tuple[str, str], ...], list[int]]:
    """The places of the keys that are equal in everything but ``across``."""
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for place, key in enumerate(keys):
        identity = tuple(sorted((k, v) for k, v in key.items() if k not in across))
        groups.setdefault(identity, []).append(place)
    return groups


#: What is offered where cases of a side are alike but for their label: folders of machines.
_AS_REPEATS = "--repeats-over label takes each for one repeat, where each is a machine"


def _ambiguous(cases: Mapping[str, _Cases], old: Sequence[int], new: Sequence[int]) -> str:
    """Why cases of one identity have no partner: what tells them apart before numbers and other names are left out."""
    side, places = ("old", old) if len(old) > 1 else ("new", new)
    alike = [{**told_apart_by(case.key), "label": label} for case, label in (cases[side][place] for place in places)]
    differing = [k for k in dict.fromkeys(k for key in alike for k in key) if len({key.get(k) for key in alike}) > 1]
    how = "choose with --where" if {*differing} - {"label"} else "give the logs of one of them alone"
    if differing == ["label"]:
        how += f", or {_AS_REPEATS}"
    return f"{len(places)} cases on the {side} side are alike but for {' and '.join(differing) or _FORMAT}: {how}"


#: So many keys at most may differ between cases that are offered as partners, and so many ways to pair are tried.
_MOST_DIFFERING, _MOST_TRIED = 4, 50
#: The version of a model behind its name: ``v1.5`` of ``resnet50v1.5``; bert-large is another model than bert.
_VARIANT = re.compile(r"[-_ ]?v\d[\d.]*")


@dataclass(frozen=True, slots=True)
class Way:
    """What pairs cases that differ: keys that may, names that are other ones, how many pairs they make, and the keys in
    which cases of a side are repeats.
    """

    across: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...]
    count: int
    repeats_over: tuple[str, ...] = ()

    @property
    def options(self) -> str:
        """The options of ``perflog compare``: ``--across framework,label --alias resnet50v1.5=resnet50``."""
        across = ["--across", ",".join(self.across)] if self.across else []
        aliases = [word for alias, name in self.aliases for word in ("--alias", f"{alias}={name}")]
        repeats = ["--repeats-over", ",".join(self.repeats_over)] if self.repeats_over else []
        return shlex.join([*across, *aliases, *repeats])  # names of logs are a stranger's words


def way_to_pair(old: _Cases, new: _Cases) -> Way | None:
    """What pairs most cases of two sides none of which has a partner, by the fewest keys; None for nothing.

    A model's name may have a version behind it that the other side does not say. Cases of other work are never paired.
    """
    mine, theirs = _keys_of_sides(old, new, {})
    tried = dict.fromkeys(way for one in mine for other in theirs if (way := _between(one, other)) is not None)
    counted = [
        Way(across, aliases, len(paired(old, new, across, dict(aliases))[0]))
        for across, aliases in list(tried)[:_MOST_TRIED]
    ]
    if (("label",), ()) in tried:
        groups = [_grouped(keys, ["label"]) for keys in (mine, theirs)]
        shared = len(groups[0].keys() & groups[1].keys())
        counted.append(Way((), (), shared, ("label",)))  # a side's folders are its machines
    able = [way for way in counted if way.count]
    return min(
        able, key=lambda way: (-way.count, len(way.repeats_over), len(way.across) + len(way.aliases)), default=None
    )


def _between(mine: Key, theirs: Key) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]] | None:
    """The keys in which two cases differ, and the names that may be one; None for other work, or for too many."""
    differing = _differing(mine, theirs)
    short, long = sorted((mine.get("model", ""), theirs.get("model", "")), key=len)
    is_variant = bool(short) and long.startswith(short) and _VARIANT.fullmatch(long[len(short) :])
    aliases = ((long, short),) if is_variant else ()
    across = [key for key in differing if not (aliases and key == "model")]
    if not differing or len(across) > _MOST_DIFFERING or _is_other_work(mine, theirs, across):
        return None
    return tuple(across), aliases


def _differing(mine: Key, theirs: Key) -> list[str]:
    keys = [*CASE_KEYS, *(k for k in (*mine, *theirs) if k not in CASE_KEYS)]
    return [k for k in dict.fromkeys(keys) if mine.get(k) != theirs.get(k)]


def _nearest(mine: Key, beside: Sequence[Key], others: Sequence[Key], here: str = "old") -> str:
    """What keeps a case from the one nearest to it on the other side; ``beside``: the cases of its own side."""
    there = "new" if here == "old" else "old"
    candidates = [(differing, other) for other in others if (differing := _differing(mine, other))]
    differing, nearest = min(candidates, key=lambda candidate: len(candidate[0]), default=([], {}))
    if not differing or len([key for key in differing if key != "label"]) > NEARLY:
        return f"not on the {there} side"
    differences = ", ".join(_differences(mine, nearest, differing))
    if _is_other_work(mine, nearest, differing):
        return f"not on the {there} side; nearest: {differences}, which is other work"
    several = any(len(group) > 1 for keys in (beside, others) for group in _grouped(keys, differing).values())
    how = f"--across {','.join(differing)} pairs them"
    if several and differing == ["label"]:
        how = _AS_REPEATS
    elif several:
        how = f"several are alike but for {' and '.join(differing)}: choose one of a side with --where"
    return f"not on the {there} side; nearest: {differences} ({how})"


def _is_other_work(mine: Key, theirs: Key, differing: Sequence[str]) -> bool:
    """Whether no option should be offered that pairs two cases: 1 and 32 devices are no two versions of one number,
    nor are made-up and real data."""
    both_say = any(key in differing and key in mine and key in theirs for key in ("devices", DATA))
    return both_say or bool(OTHER_WORK & {*differing})


def _differences(mine: Key, theirs: Key, differing: Sequence[str]) -> list[str]:
    return [f"{k} is {mine.get(k) or 'unknown'} and {theirs.get(k) or 'unknown'}" for k in differing]


# ----------------------------------------------------------------------------------------------------
# What is known of a metric by its name, for comparisons and histories.


@dataclass(frozen=True, slots=True)
class MetricKind:
    """What is known of a metric.

    Attributes:
        better: the direction that is better; None where it is not known.
        is_compared: whether cases can be compared by it.
        is_derived: whether it is a case's throughput over that of its baseline.
        is_windowed: whether its values depend on the window of steps; others are what the program printed.
        changes: the words for a change to the better and to the worse.
        names: what trackers, trainers and benchmarks call the same quantity. It is given in its own unit: throughput is
            samples, tokens or steps a second, as the log says, of all devices.
    """

    better: Better | None = None
    is_compared: bool = False
    is_derived: bool = False
    is_windowed: bool = False
    changes: tuple[str, str] = ("faster", "slower")
    names: tuple[str, ...] = ()


#: The metrics of which anything is known.
KINDS: Mapping[str, MetricKind] = {
    "throughput": MetricKind(Better.HIGHER, is_compared=True, is_windowed=True),
    "step_time": MetricKind(
        Better.LOWER, is_compared=True, is_windowed=True,
        names=(
            "iteration_time", "iteration-time", "time_per_step", "train_step_timing in s", "time_metrics/end_to_end(s)",
        ),
    ),
    "data_time": MetricKind(
        Better.LOWER, is_compared=True, is_windowed=True, names=("data_loading_time", "time_metrics/data_loading(s)")
    ),
    "time_to_train": MetricKind(Better.LOWER, is_compared=True),
    "speedup": MetricKind(Better.HIGHER, is_compared=True, is_derived=True),
    "efficiency": MetricKind(Better.HIGHER, is_compared=True, is_derived=True),
    "reported": MetricKind(Better.HIGHER, is_compared=True),
    "memory": MetricKind(Better.LOWER, is_compared=True, changes=("less", "more")),
    "accuracy": MetricKind(Better.HIGHER),
    "loss": MetricKind(Better.LOWER),
    "tokens_per_second": MetricKind(
        Better.HIGHER, names=("tokens_per_sec", "throughput/tokens_per_sec")
    ),
    "tokens_per_second_per_device": MetricKind(
        Better.HIGHER,
        names=(
            "tokens_per_second_per_gpu", "tokens_per_sec_per_gpu", "throughput/device/tokens_per_sec",
            "throughput/device/tokens_per_second", "throughput/device/TPS", "throughput(tps)",
        ),
    ),
    "tflops_per_device": MetricKind(
        Better.HIGHER, names=("tflops_per_gpu", "model_tflops_per_gpu", "tflops_per_sec_per_gpu")
    ),
    "mfu": MetricKind(
        Better.HIGHER, names=("mfu(%)", "throughput/device/mfu", "throughput/device/MFU", "model_flops_utilization")
    ),
}  # fmt: skip
#: The sections of trackers that a training's metrics stand in.
_SECTIONS = ("train/", "perf/")
_NAMED = {name: metric for metric, kind in KINDS.items() for name in kind.names}


def metrics_named(names: str) -> str:
    """Names of metrics with commas, each that a tracker or trainer uses for the same quantity as perflog's own name.

    >>> metrics_named("throughput,-tokens_per_second_per_gpu"), metrics_named("mfu(%)"), metrics_named("perf/mfu")
    ('throughput,-tokens_per_second_per_device', 'mfu', 'mfu')
    """
    parts = [(name, name.strip().removeprefix("-")) for name in names.split(",")]
    return ",".join(name.replace(bare, _metric_named(bare)) if bare else name for name, bare in parts)


def _metric_named(name: str) -> str:
    """perflog's own name; a name that means nothing here as it is."""
    section = next((section for section in _SECTIONS if name.startswith(section)), "")
    inner = name.removeprefix(section)
    return _NAMED.get(inner, inner if inner in KINDS else name)


def metric_kind(name: str) -> MetricKind:
    """What is known of a metric; nothing of one that is not among :data:`KINDS`."""
    return KINDS.get(name, MetricKind())
