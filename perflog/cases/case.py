"""A case: one configuration with its runs, their centre and interval, speedup and efficiency.

Runs share a case when everything that tells configurations apart is equal: the metadata of
``metadata.CASE_KEYS``, every label, the unit, and the rest of the path that nothing explained. So runs that
differ in anything known or unknown are never averaged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from perflog.formats.vocabulary import Scalar
from perflog.notes import Note
from perflog.runs.factor import PATH_ALONE
from perflog.runs.run import DATA, Run
from perflog.stats.quotient import QuotientInterval


@dataclass(slots=True)
class Summary:
    """A metric over the runs of a case.

    ``value`` is None when no run has one or the aggregate needs more runs; ``low``, ``high``, ``level``: the
    interval of the median with its true level.
    """

    name: str
    unit: str
    aggregate: str
    n: int
    value: float | None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    spread: float | None = None
    reason: str = ""


@dataclass(slots=True)
class Case:
    """One configuration.

    Attributes:
        mark: what stands in the cell of its throughput: the number that it may be by the notes of its runs.
        speedup: its throughput over that of ``base``; None without a baseline.
        speedup_interval: the interval of the speedup, with the noise of the case and of its baseline.
        no_interval: why there is a speedup without an interval; empty where there is one, or no speedup.
        efficiency: the speedup over the devices' ratio.
        baseline: the name of ``base``, the case that the speedup is relative to; it may be the case itself.
        machines: the cases of which each is one repeat (:mod:`.machines`); empty where each run is one.
        repeats_over: the keys in which they differ.
    """

    key: dict[str, Scalar]
    label: str
    runs: list[Run]
    metrics: dict[str, Summary]
    estimator: str
    window: str
    notes: list[Note] = field(default_factory=list)
    mark: Note | None = None
    speedup: float | None = None
    speedup_interval: QuotientInterval | None = None
    no_interval: str = ""
    efficiency: float | None = None
    baseline: str = ""
    base: Case | None = field(default=None, repr=False, compare=False)  # it may be the case itself
    machines: tuple[Case, ...] = ()
    repeats_over: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """One line, which a notebook shows of each of many; its fields hold every run."""
        s = self.metrics.get("throughput")
        value = "no value" if s is None or s.value is None else f"{s.value:.6g} {s.unit}"
        return f"<Case {self.name!r}: throughput {value}, {len(self.runs)} run{'' if len(self.runs) == 1 else 's'}>"

    @property
    def throughput(self) -> Summary:
        return self.metrics["throughput"]

    @property
    def is_open(self) -> bool:
        """Whether the logs leave open which of two numbers far apart is the throughput."""
        return self.mark is not None and self.mark.is_open

    @property
    def is_marked(self) -> bool:
        """Whether the speedup is made of a number that bears another one beside it."""
        if self.speedup is None or self.base is None or self.base is self:
            return False
        return self.mark is not None or self.base.mark is not None

    @property
    def other_speedup(self) -> float | None:
        """The speedup by the other numbers of the case and its baseline; None where neither has one."""
        if not self.is_marked or self.base is None:
            return None
        own, of_base = (case.mark.other if case.mark else case.throughput.value for case in (self, self.base))
        return own / of_base if own and of_base else None

    @property
    def efficiency_interval(self) -> QuotientInterval | None:
        """The interval of the efficiency: that of the speedup, times a number that is known."""
        if self.speedup_interval is None or not self.speedup or self.efficiency is None:
            return None
        return self.speedup_interval.scaled(self.efficiency / self.speedup)

    @property
    def name(self) -> str:
        """A short name: the parts that are known."""
        return name_of(self.key) or self.label or "unnamed"


def why_open(named: str) -> str:
    """Why nothing is made of a case whose throughput is one of two numbers; ``named``: the case, in words."""
    return (
        f"the logs leave open which of two numbers {named} has: --estimator total, --estimator median or "
        "--without-slow says which is meant"
    )


def name_of(key: Mapping[str, Scalar]) -> str:
    """A configuration's short name: the parts that are known."""
    parts = [str(key[k]) for k in ("framework", "model", "precision") if k in key]
    if "batch_size" in key:
        parts.append(f"bs{key['batch_size']}")
    if "devices" in key:
        parts.append(f"{key['devices']} devices" if key["devices"] != 1 else "1 device")
    return " ".join(parts)


def data_of(cases: Iterable[Case]) -> str:
    """The data that all these cases were trained on, in words; empty where they differ, or one does not say."""
    told = {str(case.key.get(DATA, "")) for case in cases}
    return told.pop() if len(told) == 1 else ""


def said_of_all(cases: Iterable[Case]) -> list[str]:
    """What is said once of all cases: which factors of their numbers nothing but names of files tells."""
    said = {note.text for case in cases for run in case.runs for note in run.notes}
    return [note for note in PATH_ALONE.values() if note in said]


def short_labels(cases: Sequence[Case]) -> list[str]:
    """The cases' labels without what all of them share in front.

    A label begins so many folders above its log, so that one may begin farther up than another: they are laid side by
    side where their folders are the same.
    """
    parts = [case.label.split("/") for case in cases]
    if len(parts) < 2:
        return [one[-1] for one in parts]
    first = parts[0]
    starts = [_start_beside(first, one) for one in parts]  # of each label, where it begins in the first one
    above = min(starts)
    shared = max(starts) - above
    whole = [["" for _ in range(start - above)] + one for start, one in zip(starts, parts, strict=True)]
    while all(len(one) > shared + 1 for one in whole) and len({one[shared] for one in whole}) == 1:
        shared += 1
    short = ["/".join(one[shared:]) for one in whole]
    return short if len(set(short)) == len({case.label for case in cases}) else ["/".join(one) for one in parts]


#: Labels begin at most so many folders farther up than one another.
_FARTHER = 3


def _start_beside(first: Sequence[str], other: Sequence[str]) -> int:
    """Where a label begins in the first one for most of their folders to be the same; 0 for labels that share none."""

    def shared(start: int) -> int:
        mine, theirs = first[max(start, 0) : -1], other[max(-start, 0) : -1]
        equal = [here == there for here, there in zip(mine, theirs, strict=False)]  # as far as the shorter one goes
        return [*equal, False].index(False)

    return max(sorted(range(-_FARTHER, _FARTHER + 1), key=abs), key=shared)


# ----------------------------------------------------------------------------------------------------
# What tells configurations apart: all that is known of a run, but for spellings that mean the same.

#: Metadata that differs between runs of one case, or follows from other keys.
NOT_IN_CASE = frozenset({"repeat", "global_batch_size"})
#: So many devices may be in one machine; where no number of nodes is known, more may be in several.
MOST_IN_ONE_NODE = 8
#: Logs of one configuration may differ by this share in their measurements: a time limit ended them.
LENGTHS_ALIKE = 0.05

Identity = tuple[object, ...]


def identity(run: Run) -> Identity:
    """What runs of one case share."""
    return (*_told_apart(tuple(run.values.items())), run.label, run.parser)


def told_apart_by(values: Mapping[str, Scalar]) -> dict[str, str]:
    """The facts that tell configurations apart, in the spelling that is compared, in the order of their names."""
    return dict(_told_apart(tuple(values.items())))


@lru_cache(maxsize=4096)
def _told_apart(items: tuple[tuple[str, Scalar], ...]) -> tuple[tuple[str, str], ...]:
    """The same of the items of such facts, which very many runs share."""
    values = dict(items)
    facts = {key: str(value) for key, value in values.items() if key not in NOT_IN_CASE}
    if "model" in facts:
        facts["model"] = spelling(facts["model"])
    if is_one_node(values):
        facts.pop("nodes", None)
    return tuple(sorted(facts.items()))


def spelling(name: str) -> str:
    """A model's name without what its spellings differ in: ``ResNet-50``, ``resnet50`` and ``resnet_50`` are one.

    Between digits a separator means something: ``llama-2-7b`` is no ``llama-27b``.
    """
    plain = name.strip().lower()
    if plain.isalnum():
        return plain
    return re.sub(r"(?<=\d)-(?!\d)|(?<!\d)-", "", re.sub(r"[-_\s]+", "-", plain))


def is_one_node(values: Mapping[str, Scalar]) -> bool:
    """Whether a run was on one node: it says so, or says nothing of nodes and has no more devices than one holds."""
    nodes, devices = values.get("nodes"), values.get("devices")
    if nodes is not None:
        return nodes == 1 and (not isinstance(devices, int) or devices <= MOST_IN_ONE_NODE)
    return not isinstance(devices, int) or devices <= MOST_IN_ONE_NODE


def by_length(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs of one identity in groups whose logs are equally long, the largest group first.

    Runs without a number belong to the largest group; where a target ended the training, any length does.
    """
    lengths = sorted((length, place) for place, run in enumerate(runs) if (length := records_of(run)) is not None)
    groups: list[list[int]] = []
    least = 0
    for length, place in lengths:
        if groups and length <= least * (1 + LENGTHS_ALIKE):
            groups[-1].append(place)
        else:
            groups.append([place])
            least = length
    if len(groups) < 2:
        return [list(runs)]
    groups.sort(key=len, reverse=True)
    unknown = set(range(len(runs))).difference(*groups)
    groups[0] = [*groups[0], *unknown]
    return [[runs[place] for place in sorted(group)] for group in groups]


def records_of(run: Run) -> int | None:
    """How many measurements a run's log holds, in the window or not; None where none is used or a target ended it."""
    metric = run.throughput
    if metric.value is None or not metric.used or "time_to_train" in run.metric_names:
        return None
    return metric.used + sum(count for why, count in metric.excluded.items() if why != "printed twice")


def most_known(runs: Iterable[Run], failures: str) -> Run:
    """The run whose facts stand for its case: the first that knows most, a failed one only where all are."""
    members = list(runs)
    measured = [run for run in members if run.parser != failures] or members
    return max(measured, key=lambda run: "nodes" in run.values)
