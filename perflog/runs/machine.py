"""The machine that logs come from, where a ``machine.json`` beside or above them tells; and whether two are the same.

The nearest one counts, in the log's folder or above. Any JSON object will do; one that is none is told, and never
passed over for another further up. What differs between two of them by nature is not the machine: dates,
temperatures, and the software that is measured, whose changes are what a benchmark is for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from perflog.border import keep_inside
from perflog.errors import UsageError
from perflog.files import LONGEST_FACTS, read_limited
from perflog.formats.vocabulary import CPU, Fact, Scalar
from perflog.logs.addresses import Address, is_address
from perflog.logs.find import MACHINE, STANDARD_INPUT, LogFile
from perflog.logs.streams import UnreadableError
from perflog.spelling import some_of

if TYPE_CHECKING:
    from perflog.logs.stores import Store

#: Facts with such a word as a part of their name say nothing about which machine it was.
NOT_THE_MACHINE = frozenset({
    "date", "time", "timestamp", "recorded", "uptime", "load", "free", "used", "temperature", "power", "before",
    "after", "pid", "pids", "processes", "framework", "frameworks", "framework_version", "versions", "packages",
    "git", "commit", "environment", "env", "python", "command", "sequential", "throttled",
})  # fmt: skip
Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Machine:
    """What a ``machine.json`` says.

    ``file``: its path. ``folders``: the names of the folders between it and the log, from the log upwards.
    ``problem``: what is wrong with the file; it has no facts then.
    """

    file: str
    facts: Facts = field(hash=False)
    folders: tuple[str, ...] = ()
    problem: str = ""


class Machines:
    """The machines of the logs of one extraction: each folder is looked at once. Threads may share it."""

    def __init__(self) -> None:
        self._by_folder: dict[str, Machine | None] = {}
        self._by_given: dict[str, Machine | None] = {}
        self._reading = Lock()

    def of(self, path: str, store: Store | None = None) -> Machine | None:
        """The machine of the log at ``path``; None where no ``machine.json`` stands in its folder or above.

        Args:
            store: where the log is an object, the store that holds it.
        """
        if path == STANDARD_INPUT:  # the working folder is not a stream's
            return None
        given = os.path.dirname(path)  # noqa: PTH120 - plain texts and one look-up: every log of 20,000 asks
        if given not in self._by_given:
            if is_address(given):
                return None if store is None else self._of_object(given, store)
            folder = os.path.abspath(given)  # noqa: PTH100
            with self._reading:
                if folder not in self._by_folder:
                    self._look(folder)
            self._by_given[given] = self._by_folder[folder]
        return self._by_given[given]

    def _of_object(self, given: str, store: Store) -> Machine | None:
        """The machine of a folder's objects: that of the nearest file, in the folder or above it in its bucket."""
        with self._reading:
            if given not in self._by_given:
                folder, machine = given, machine_in_store(given, store)
                names: tuple[str, ...] = ()
                while machine is None and Address(folder).key:
                    folder, _, name = folder.rpartition("/")
                    names = (*names, name)
                    machine = machine_in_store(folder, store)
                self._by_given[given] = None if machine is None else replace(machine, folders=names)
            return self._by_given[given]

    def _look(self, folder: str) -> None:
        """Know a folder, and all above it up to the first that is known, has the file or is a repository's root.

        What lies above a repository tells nothing of its logs, and a pull request's are read without it.
        """
        unknown: list[str] = []
        machine: Machine | None = None
        while True:
            if folder in self._by_folder:
                machine = self._by_folder[folder]
                break
            unknown.append(folder)
            machine = machine_in(folder)
            above = os.path.dirname(folder)  # noqa: PTH120
            if machine is not None or above == folder or os.path.lexists(os.path.join(folder, ".git")):  # noqa: PTH118
                self._by_folder[unknown.pop()] = machine
                break
            folder = above
        for below in reversed(unknown):
            if machine is not None:
                name = os.path.basename(below)  # noqa: PTH119
                machine = Machine(machine.file, machine.facts, (name, *machine.folders), machine.problem)
            self._by_folder[below] = machine


def store_of(log: LogFile) -> Store | None:
    """The store that holds a log; None for a file."""
    return None if log.stored is None else log.stored.store


def machine_in(folder: str) -> Machine | None:
    """What the ``machine.json`` in a folder says; None where there is none."""
    file = os.path.join(folder, MACHINE)  # noqa: PTH118
    if not os.path.lexists(file):
        return None
    keep_inside(file, "the file beside the logs")
    return _machine(file, lambda: read_limited(Path(file), LONGEST_FACTS))


def machine_in_store(folder: str, store: Store) -> Machine | None:
    """The same of a folder of a store."""
    file = f"{folder}/{MACHINE}"
    try:
        content = store.content_beside(folder, MACHINE)
    except UnreadableError as error:
        return Machine(file, {}, problem=f"{file}: expected a JSON object, which cannot be read: {error}")
    return None if content is None else _machine(file, lambda: content)


def _machine(file: str, read: Callable[[], bytes]) -> Machine:
    """What the content of a ``machine.json`` says."""
    try:
        facts = json.loads(read().decode("utf-8"), parse_constant=_refuse)
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return Machine(file, {}, problem=f"{file}: expected a JSON object, which cannot be read: {reason}")
    if not isinstance(facts, dict):
        kind = type(facts).__name__
        problem = f'{file}: expected a JSON object such as {{"driver": "550.54"}}, found {kind}'
        return Machine(file, {}, problem=problem)
    return Machine(file, facts)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def known_facts(machine: Machine | None) -> Facts | None:
    """The facts of a run's machine; None where it has none.

    Raises:
        UsageError: when its file is no JSON object.
    """
    if machine is None:
        return None
    if machine.problem:
        raise UsageError(machine.problem)
    return machine.facts


def facts_of(machine: Machine | None) -> list[Fact]:
    """What a machine says of a run's configuration: the version of the framework in its runner's environment.

    What devices a machine has is no fact of its runs: a framework that was built for CPUs, or that found no driver,
    trains on a GPU machine's CPU. Only files that ``perflog run`` wrote say so in a known way; they name the runner's
    folder.
    """
    version = _framework_version(machine) if machine is not None and "cpus" in machine.facts else None
    return [Fact("framework_version", version, "machine", MACHINE)] if version else []


def note_of_devices(machine: Machine | None, device: Scalar | None) -> str:
    """What is said of a run on a machine with accelerators whose log does not say that one of them trained.

    Args:
        device: what is known of the run's device; None for nothing.
    """
    names = _accelerators(machine.facts) if machine is not None and "cpus" in machine.facts else []
    if not names or device not in (CPU, None):
        return ""
    if device == CPU:
        return f"trained on the CPU, not on the machine's {', '.join(names)} ({MACHINE})"
    return f"the log does not say whether the machine's {', '.join(names)} ({MACHINE}) trained, or its CPU"


def _framework_version(machine: Machine) -> str | None:
    """The version of the first package of the runner whose folder the log lies in."""
    runners = machine.facts.get("frameworks")
    if not isinstance(runners, dict):
        return None
    runner = next((runners[name] for name in runners if name in machine.folders), None)
    packages = runner.get("packages") if isinstance(runner, dict) else None
    version = next(iter(packages.values()), None) if isinstance(packages, dict) else None
    return version if isinstance(version, str) else None


def _accelerators(facts: Facts) -> list[str]:
    """The different accelerators, by name; ``gpus`` has ``name, memory, bus`` of each."""
    gpus = facts.get("gpus")
    if not isinstance(gpus, list):
        return []
    return sorted({gpu.split(",")[0].strip() for gpu in gpus if isinstance(gpu, str)})


def described(machines: Iterable[Machine | None]) -> list[str]:
    """The machines that ``perflog run`` recorded, each in one line."""
    lines: dict[str, None] = {}
    for machine in machines:
        if machine is not None and "cpus" in machine.facts:
            lines[_line(machine.facts)] = None
    return list(lines)


def _line(facts: Facts) -> str:
    known = {key: facts.get(key) for key in ("cpu", "cpus", "memory_gib", "system", "kernel")}
    names = _accelerators(facts)
    parts = [", ".join(names)] if names else []
    if facts.get("driver"):
        parts.append(f"driver {facts['driver']}")
    return ", ".join([*parts, "{cpu} × {cpus}, {memory_gib} GiB, {system}, Linux {kernel}".format(**known)])


def identity(facts: Facts, ignored: Collection[str] = ()) -> dict[str, str]:
    """The facts that say which machine it was, each by its full name: ``gpus.0.name``."""
    without = NOT_THE_MACHINE | {name.lower() for name in ignored}
    return {
        name: text
        for name, text in _leaves(facts, "")
        if name.lower() not in without and without.isdisjoint(name.lower().split("."))
    }


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, (dict, list)):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from _leaves(part, f"{name}.{key}" if name else str(key))
    else:
        yield name, "" if value is None else str(value)


def differences(old: Mapping[str, str], new: Mapping[str, str], most: int = 3) -> str:
    """In what two identities differ, in words; empty when in nothing."""
    names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    return some_of([f"{name} {_short(old.get(name))} → {_short(new.get(name))}" for name in names], most)


def _short(text: str | None) -> str:
    if text is None:
        return "unknown"
    line = " ".join(text.split())
    return (line if len(line) <= 40 else f"{line[:39]}…") or "empty"
