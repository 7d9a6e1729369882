"""What machine a side ran on, from the ``machine.json`` beside its logs, and what differs between two."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from perflog.case import Case

FILE = "machine.json"
#: How many folders above a log are looked at.
ABOVE = 6
#: Facts that change from moment to moment, or that name what is compared.
_FLEETING = re.compile(r"time|date|uptime|load|free|available|used|pid|before|after|hostname|commit|framework|package|command", re.IGNORECASE)


def facts_of(cases: Iterable[Case]) -> dict[str, set[str]]:
    """Every fact of the machines of the cases' runs, by dotted name, with all the values there are."""
    out: dict[str, set[str]] = {}
    for case in cases:
        for run in case.runs:
            for key, value in _nearest(str(Path(run.log.path).parent.absolute())):
                out.setdefault(key, set()).add(value)
    return out


def differences(old: dict[str, set[str]], new: dict[str, set[str]]) -> list[str]:
    """Notes on facts that both sides know and that differ."""
    return [
        f"{key} is {', '.join(sorted(old[key]))} and {', '.join(sorted(new[key]))}"
        for key in old
        if key in new and old[key] != new[key] and not _FLEETING.search(key)
    ]


@lru_cache(maxsize=4096)
def _nearest(folder: str) -> tuple[tuple[str, str], ...]:
    for place in [Path(folder), *Path(folder).parents][:ABOVE]:
        file = place / FILE
        if file.is_file():
            try:
                data = json.loads(file.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                return ()
            return tuple(_flat(data, ""))
    return ()


def _flat(data: Any, name: str) -> Iterable[tuple[str, str]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _flat(value, f"{name}.{key}" if name else str(key))
    elif isinstance(data, list):
        yield name, ", ".join(str(value) for value in data)
    elif data is not None:
        yield name, str(data)
