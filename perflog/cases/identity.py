"""What tells configurations apart: all that is known of a run, but for spellings that mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from perflog.formats.vocabulary import Scalar
from perflog.runs.run import Run

#: Metadata that differs between runs of one case, or follows from other keys.
NOT_IN_CASE = frozenset({"repeat", "global_batch_size"})
#: So many devices may be in one machine; where no number of nodes is known, more may be in several.
MOST_IN_ONE_NODE = 8
#: Logs of one configuration may differ by this share in their measurements: a time limit ended them.
LENGTHS_ALIKE = 0.05

Identity = tuple[object, ...]


def identity(run: Run) -> Identity:
    """What runs of one case share."""
    return (*sorted(told_apart_by(run.values).items()), run.label, run.parser)


def told_apart_by(values: Mapping[str, Scalar]) -> dict[str, str]:
    """The facts that tell configurations apart, in the spelling that is compared."""
    facts = {key: str(value) for key, value in values.items() if key not in NOT_IN_CASE}
    if "model" in facts:
        facts["model"] = spelling(facts["model"])
    if is_one_node(values):
        facts.pop("nodes", None)
    return facts


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
    if metric.value is None or not metric.used or "time_to_train" in run.metrics:
        return None
    return metric.used + sum(count for why, count in metric.excluded.items() if why != "printed twice")


def most_known(runs: Iterable[Run], failures: str) -> Run:
    """The run whose facts stand for its case: the first that knows most, a failed one only where all are."""
    members = list(runs)
    measured = [run for run in members if run.parser != failures] or members
    return max(measured, key=lambda run: "nodes" in run.values)
