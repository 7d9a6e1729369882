"""What a run was: which fact about its configuration counts, and what follows from the facts.

Precedence: command line, then config file, then the log's content, then the path, then the machine's facts beside
the logs, then what the parser declares for its format. When two sources disagree the first one counts and a note
says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from perflog.formats.vocabulary import CPU, SOURCES, Fact, Scalar, fitting, misfit, whole_count
from perflog.runs.mesh import devices_of_batches, model_parallel

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
