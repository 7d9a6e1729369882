"""What a run was: which fact about its configuration counts, and what follows from the facts.

Precedence: command line, then config file, then the log's content, then the path, then the machine's facts beside
the logs, then what the parser declares for its format. When two sources disagree the first one counts and a note
says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from perflog.formats.paths import REPEAT, PathPatterns
from perflog.formats.vocabulary import CPU, SOURCES, Fact, Scalar, fitting, misfit, whole_count
from perflog.logs.find import LogFile

# ----------------------------------------------------------------------------------------------------
# Meshes of devices as programs print them: how many devices there are, and in how many parts a model is split.

#: The sizes of kinds of parallelism whose devices share the samples of one data-parallel rank.
MODEL_PARALLEL = ("tensor_parallel", "pipeline_parallel", "context_parallel", "model_parallel")
_AXES = {"tp": "tensor_parallel", "pp": "pipeline_parallel", "cp": "context_parallel"}
#: (A size has nine digits at most: more are no size.)
_NAME, _NUMBER = re.compile(r"[a-z][a-z_]*"), re.compile(r"(?<![A-Za-z0-9_])[0-9]{1,9}(?![0-9])")


def facts_of_mesh(mesh: str, axes: str = "") -> dict[str, str]:
    """The devices in a mesh, and its kinds of parallelism above 1 that split the model.

    >>> facts_of_mesh("pp=2, dp_shard=4, tp=1")
    {'devices': '8', 'pipeline_parallel': '2'}

    Args:
        mesh: the sizes of the axes, with or without their names.
        axes: the names of the axes in the order of the sizes, where they stand apart.
    """
    sizes = [int(text) for text in _NUMBER.findall(mesh)]
    if not sizes or 0 in sizes:
        return {}
    names = _NAME.findall(axes or mesh)
    facts = {"devices": str(prod(sizes))}
    if len(names) == len(sizes):
        facts |= {_AXES[name]: str(size) for name, size in zip(names, sizes, strict=True) if name in _AXES and size > 1}
    return facts


def with_devices_of_batches(values: Mapping[str, str]) -> dict[str, str]:
    """A line's facts, with a device's batch size as the run's too.

    >>> with_devices_of_batches({"device_batch_size": "16"})
    {'device_batch_size': '16', 'batch_size': '16'}
    """
    batch = values.get("device_batch_size")
    return dict(values) if batch is None else {**values, "batch_size": batch}


def devices_of_batches(values: Mapping[str, Scalar]) -> int | None:
    """The devices that share the job's batch, where a log says the batch of one device and optimizer step.

    >>> devices_of_batches({"device_batch_size": "16", "global_batch_size": 128})
    8
    """
    batch, total = (
        whole_count(str(values.get(key, "")).replace(",", "")) for key in ("device_batch_size", "global_batch_size")
    )
    return total // batch if batch and total and total % batch == 0 else None


def model_parallel(values: Mapping[str, Scalar]) -> int:
    """How many devices share one replica of the model, by the sizes that are known; 1 where none is."""
    sizes = [whole_count(str(values[key])) for key in MODEL_PARALLEL if key in values]
    return prod(size for size in sizes if size is not None)


#: The sources that are the user's own word.
_USERS = ("command line", "config")
#: How the version ends of a framework that is built for CPUs alone.
_CPU_BUILD = "+cpu"


@dataclass(slots=True)
class Metadata:
    """The facts that count, and the disagreements.

    Attributes:
        values, sources: each fact that counts, and who says so.
        doubts: disagreements in words.
        contradictions: of facts that the log gives two values for, both with their places; where such a fact is a
            factor of the run's number, there is none.
        above: of facts that nothing but a folder above the given path says, that folder's name.
        unfit: what does not fit the form of its fact, and so is none, each once and in words.
    """

    values: dict[str, Scalar] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    contradictions: dict[str, str] = field(default_factory=dict, compare=False)
    above: dict[str, str] = field(default_factory=dict, compare=False)
    unfit: list[str] = field(default_factory=list, compare=False)

    def with_repeat(self, repeat: Scalar) -> Metadata:
        """The same of another repeat of the same job."""
        values = {**self.values, REPEAT: repeat}
        return Metadata(values, self.sources, self.doubts, self.contradictions, self.above, self.unfit)

    def integer(self, key: str) -> int | None:
        value = self.values.get(key)
        return value if isinstance(value, int) else None

    @property
    def device(self) -> Scalar | None:
        """The device that trained; None where nothing says it. A framework that is built for CPUs has no other."""
        on_cpu = str(self.values.get("framework_version", "")).endswith(_CPU_BUILD)
        return self.values.get("accelerator", CPU if on_cpu else None)


def merge(facts: Iterable[Fact], own: Collection[str] = ()) -> Metadata:
    """Let the facts with the highest precedence count, derive what follows from them, note disagreements.

    What does not fit its fact's form is none; where nothing else says such a fact, the case lacks it, and a doubt says
    so.

    Args:
        own: the names that the user gave to values, which fit whatever they are.
    """
    result = Metadata()
    places: dict[str, Fact] = {}
    unfit: dict[str, str] = {}
    ranked = sorted(facts, key=lambda fact: SOURCES.index(fact.source))
    for fact in ranked:
        value = fitting(fact.key, fact.value, own)
        if value is None:
            if expected := misfit(fact.key, fact.value, own):
                said = f"{fact.key} {_quoted(fact.value)} ({fact.where}) does not count: {expected}"
                result.unfit += [said] if said not in result.unfit else []
                unfit.setdefault(fact.key, said)
            continue
        if fact.source == "parser" and fact.key in unfit:
            continue  # a format's default is no answer to what the log says otherwise
        if fact.key not in result.values:
            result.values[fact.key] = value
            result.sources[fact.key] = fact.source
            places[fact.key] = fact
            if fact.above:
                result.above[fact.key] = fact.where
        elif not _agree(result.values[fact.key], value):
            _disagree(result, fact, value, places[fact.key])
    result.doubts += [said for key, said in unfit.items() if key not in result.values]
    _without_accelerators_of_others(result)
    _derive(result)
    return result


def _quoted(value: Scalar, most: int = 60) -> str:
    """A value on one line, as a reader finds it in the log."""
    text = repr(str(value))
    return text if len(text) <= most else f"{text[: most - 1]}…'"


def _without_accelerators_of_others(result: Metadata) -> None:
    """Leave out the accelerator of a run whose framework is built for CPUs alone: path or machine name what it had not.

    Users know their device; where it is another one, a doubt says so.
    """
    version, device = (result.values.get(key) for key in ("framework_version", "accelerator"))
    if not str(version).endswith(_CPU_BUILD) or device in (CPU, None):
        return
    source = result.sources["accelerator"]
    result.doubts.insert(
        0, f"the framework, {version}, is built for CPUs alone; accelerator is {device} by the {source}"
    )
    if source not in _USERS:
        del result.values["accelerator"], result.sources["accelerator"]


def _agree(one: Scalar, other: Scalar) -> bool:
    return one == other or str(one).lower() == str(other).lower()


def _disagree(result: Metadata, fact: Fact, value: Scalar, first: Fact) -> None:
    source = result.sources[fact.key]
    if fact.source == "parser" or (fact.key == "repeat"):
        return
    if fact.source == source == "log":
        places = f"{result.values[fact.key]} ({first.where}) and {value} ({fact.where})"
        result.contradictions.setdefault(fact.key, f"the log gives two values for {fact.key} of this run: {places}")
        result.doubts.append(
            f"the log gives two values for {fact.key}: {result.values[fact.key]} and {value} ({fact.where})"
        )
        return
    if fact.source == source:
        return  # the nearest part of a path counts; its folders may say more general things
    shortened = {fact.source, source} == {"log", "path"} and fact.key in ("accelerator", "model", "framework_version")
    if shortened and CPU not in (value, result.values[fact.key]):
        return  # short names in paths, long ones in logs: no contradiction that could be told
    result.doubts.append(f"{fact.key} is {result.values[fact.key]} by the {source}, {value} by the {fact.source}")


def _derived(result: Metadata, key: str, value: int, source: str, *parts: str) -> None:
    """Take a value that follows from other facts (``parts``), unless something surer says another one."""
    values, sources = result.values, result.sources
    if key not in values:
        values[key], sources[key] = value, source
        above = [result.above[part] for part in parts if part in result.above]
        if above:
            result.above[key] = above[0]
    elif values[key] != value and SOURCES.index(sources[key]) > SOURCES.index(source):
        result.doubts.append(f"{key} is {value} by the {source}, {values[key]} by the {sources[key]}")
        values[key], sources[key] = value, source


def _derive(result: Metadata) -> None:
    values, sources = result.values, result.sources
    if (sharing := devices_of_batches(values)) is not None:
        _derived(result, "devices", sharing, sources["global_batch_size"], "global_batch_size")
    devices, nodes, per_node = (result.integer(k) for k in ("devices", "nodes", "devices_per_node"))
    if nodes and per_node:
        weaker = max(sources["nodes"], sources["devices_per_node"], key=SOURCES.index)
        if devices and devices != nodes * per_node and SOURCES.index(sources["devices"]) <= SOURCES.index(weaker):
            doubt = f"devices is {devices} by the {sources['devices']}, {nodes} × {per_node} by the {weaker}"
            result.doubts.append(doubt)
            if sources["devices"] == weaker == "log":
                result.contradictions["devices"] = f"the log contradicts itself: {doubt}"
        _derived(result, "devices", nodes * per_node, weaker, "nodes", "devices_per_node")
    elif devices and per_node and devices % per_node == 0:
        _derived(result, "nodes", devices // per_node, sources["devices"], "devices", "devices_per_node")
    elif devices == 1 and not nodes:
        _derived(result, "nodes", 1, sources["devices"], "devices")
    devices = result.integer("devices")
    split = model_parallel(values)
    _derive_batch(result, devices, split)
    batch, total = result.integer("batch_size"), result.integer("global_batch_size")
    if devices and total and not batch and total % devices == 0 and split == 1:
        _derived(result, "batch_size", total // devices, sources["global_batch_size"], "global_batch_size", "devices")
    elif devices and batch and total and batch * devices != total * split and sources["batch_size"] != "log":
        shared = f" / {split} that share a replica of the model" if split > 1 else ""
        product = f"batch size {batch} × {devices} devices{shared}"
        result.doubts.append(f"{product} is not the log's global batch size {total}")
    for part in ("devices_per_node", "device_batch_size"):
        values.pop(part, None)


def of_micro_batches(values: Mapping[str, Scalar]) -> int | None:
    """The samples of one device in a step that accumulates micro-batches; None where either number is unknown."""
    batch, steps = (
        whole_count(str(values.get(key, "")), least=0) for key in ("micro_batch_size", "gradient_accumulation_steps")
    )
    return None if batch is None or steps is None else batch * steps


def _derive_batch(result: Metadata, devices: int | None, split: int) -> None:
    """The batch size of a step that accumulates micro-batches, where the log says no other."""
    batch = of_micro_batches(result.values)
    if batch is None or split != 1 or {"batch_size", "global_batch_size"} & set(result.values):
        return
    parts = ("micro_batch_size", "gradient_accumulation_steps")
    source = max((result.sources[part] for part in parts), key=SOURCES.index)
    _derived(result, "batch_size", batch, source, *parts)
    if devices:
        source = max(source, result.sources["devices"], key=SOURCES.index)
        _derived(result, "global_batch_size", batch * devices, source, *parts, "devices")


# ----------------------------------------------------------------------------------------------------
# Numbers in names that say which device a log is of, not how many there were: gpu0.log, gpu1.log or gpu0/, gpu1/.

#: A folder, and a name without its number.
Stem = tuple[str, str]


class Device(NamedTuple):
    """The device that a log may be of: the names that differ in it alone, its number, and the part that says it."""

    stem: Stem
    number: int
    part: str


def indexed_by_device(logs: Iterable[LogFile], patterns: PathPatterns) -> frozenset[Stem]:
    """The names whose number is a device's: there is a log of the device 0 among them."""
    places = (device_of(log, patterns) for log in logs)
    return frozenset(place.stem for place in places if place is not None and place.number == 0)


def device_of(log: LogFile, patterns: PathPatterns) -> Device | None:
    """The device in which the name of a log or, if not, of its folder ends; None where neither does."""
    folder, name = log.folder_and_name
    index = patterns.facts_of_part(name, "file").index
    if index is not None:
        return Device((os.path.abspath(folder), index.stem), index.number, name)  # noqa: PTH100 - many paths
    above, _, own = folder.rpartition("/")
    index = patterns.facts_of_part(own, "folder").index if own else None
    if index is None:
        return None
    return Device((os.path.abspath(above), f"{index.stem}/{name}"), index.number, own)  # noqa: PTH100 - many paths
