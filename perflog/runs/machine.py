"""The machine that logs come from, where a ``machine.json`` beside or above them tells; and whether two are the same.

Any JSON object will do. What differs between two of them by nature is not the machine: dates, temperatures, and the
software that is measured, whose changes are what a benchmark is for.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from perflog.errors import UsageError
from perflog.logs.find import MACHINE, LogFile

#: Facts with such a word as a part of their name say nothing about which machine it was.
NOT_THE_MACHINE = frozenset({
    "date", "time", "timestamp", "recorded", "uptime", "load", "free", "used", "temperature", "power", "before", "after", "pid", "pids", "processes",
    "framework", "frameworks", "framework_version", "versions", "packages", "git", "commit", "environment", "env", "python", "command",
})  # fmt: skip
Facts = Mapping[str, Any]


def machine_of(log: LogFile) -> Facts | None:
    """The facts in the ``machine.json`` nearest to a log: in its folder or above. None where there is none.

    Raises:
        UsageError: for one that holds no JSON object, naming it.
    """
    return _above(Path(log.path).absolute().parent)


@lru_cache(maxsize=4096)
def _above(folder: Path) -> Facts | None:
    file = folder / MACHINE
    if file.is_file():
        return _read(file)
    return _above(folder.parent) if folder.parent != folder else None


def forget() -> None:
    """Read the files anew: a process may run several commands (tests do)."""
    _above.cache_clear()


def _read(file: Path) -> Facts:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    try:
        facts = json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{file}: {error}") from None
    if not isinstance(facts, dict):
        raise UsageError(f'{file}: expected a JSON object such as {{"driver": "550.54"}}, found {type(facts).__name__}')
    return facts


def identity(facts: Facts, ignored: Collection[str] = ()) -> dict[str, str]:
    """The facts that say which machine it was, each by its full name: ``gpus.0.name``."""
    without = NOT_THE_MACHINE | {name.lower() for name in ignored}
    return {name: text for name, text in _leaves(facts, "") if name.lower() not in without and without.isdisjoint(name.lower().split("."))}


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
    told = [f"{name} {_short(old.get(name))} → {_short(new.get(name))}" for name in names[:most]]
    return ", ".join(told) + (f" and {len(names) - most} more" if len(names) > most else "")


def _short(text: str | None) -> str:
    if text is None:
        return "unknown"
    line = " ".join(text.split())
    return (line if len(line) <= 40 else f"{line[:39]}…") or "empty"
