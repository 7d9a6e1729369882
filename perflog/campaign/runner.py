"""Runners are data: a folder with a ``runner.toml`` that says what can be run, with which commands."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perflog.errors import UsageError
from perflog.resources import folder

FILE = "runner.toml"
#: How a job's processes are started: one, several on this node, several on each node, or all from the first node.
COMMANDS = ("one", "several", "each_node", "first_node", "mpirun")


@dataclass(frozen=True, slots=True)
class Cannot:
    """What does not work with this framework's release, and why."""

    when: Mapping[str, str]
    why: str


@dataclass(frozen=True, slots=True)
class Runner:
    """One framework's training script: commands with ``{fields}``, and the environment it needs."""

    name: str
    title: str
    framework: str
    here: Path
    models: tuple[str, ...]
    precisions: tuple[str, ...]
    commands: Mapping[str, tuple[str, ...]]
    arguments: tuple[str, ...]
    packages: tuple[str, ...] = ()
    facts: str = ""
    needs_environment: bool = True
    rank_logs: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    cannot: tuple[Cannot, ...] = ()

    @property
    def requirements(self) -> Path:
        return self.here / "requirements.txt"


def load_runner(here: Path) -> Runner:
    """Read a runner's folder.

    Raises:
        UsageError: with the file and what is wrong with it.
    """
    file = here / FILE
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        return _runner(data, here.resolve())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: {error}") from None
    except KeyError as error:
        raise UsageError(f"{file}: {error} is missing") from None


_KNOWN = {"title", "framework", "models", "precisions", "commands", "arguments", "packages", "facts", "rank_logs", "environment", "cannot"}


def _runner(data: Mapping[str, Any], here: Path) -> Runner:
    for key in data:
        if key not in _KNOWN:
            raise UsageError(f"{here / FILE}: unknown key '{key}' (known: {', '.join(sorted(_KNOWN))})")
    for key in data["commands"]:
        if key not in COMMANDS:
            raise UsageError(f"{here / FILE}: commands.{key}: expected one of {', '.join(COMMANDS)}")
    return Runner(
        name=here.name,
        title=data["title"],
        framework=data["framework"],
        here=here,
        models=tuple(data["models"]),
        precisions=tuple(data["precisions"]),
        commands={key: tuple(words) for key, words in data["commands"].items()},
        arguments=tuple(data["arguments"]),
        packages=tuple(data.get("packages", ())),
        facts=data.get("facts", ""),
        needs_environment=(here / "requirements.txt").is_file(),
        rank_logs=data.get("rank_logs", ""),
        environment={key: str(value) for key, value in data.get("environment", {}).items()},
        cannot=tuple(Cannot({k: str(v) for k, v in item["when"].items()}, item["why"]) for item in data.get("cannot", ())),
    )


def load_runners(more: Iterable[Path] = ()) -> dict[str, Runner]:
    """perflog's own runners, and those of further folders, by name."""
    shipped = sorted(file.parent for file in folder("runners").glob(f"*/{FILE}"))
    return {runner.name: runner for runner in map(load_runner, [*shipped, *more])}
