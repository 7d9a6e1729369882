"""A campaign's plan: ``campaign.toml`` → jobs, every configuration's first run before any second one."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any

from perflog.campaign.runner import Runner, load_runners
from perflog.errors import UsageError

_LAYOUT = re.compile(r"(\d+)n(\d+)g")
_NAME = re.compile(r"[a-z][a-z0-9.]*")


@dataclass(frozen=True, slots=True)
class Job:
    """One training: a configuration and the number of its repeat."""

    framework: str
    model: str
    precision: str
    batch_size: int
    nodes: int
    per_node: int
    repeat: int

    @property
    def processes(self) -> int:
        return self.nodes * self.per_node

    @property
    def layout(self) -> str:
        return f"{self.nodes}n{self.per_node}g"

    @property
    def log(self) -> Path:
        """Its log below the campaign's folder, in the layout of DLPerf's reports."""
        name = f"{self.model}_b{self.batch_size}_{self.precision}_{self.repeat}.log"
        return Path(self.framework, self.model, f"bz{self.batch_size}", self.layout, name)

    @property
    def name(self) -> str:
        return str(self.log.with_suffix(""))


@dataclass(slots=True)
class Campaign:
    """Everything a campaign file says."""

    file: Path
    logs: Path
    frameworks: list[str]
    models: list[str]
    precisions: list[str]
    batch_sizes: list[int]
    devices: list[str]
    repeats: int = 5
    steps: int = 200
    log_interval: int = 10
    warmup: int = 20
    time_limit: float = 3600.0
    arguments: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    runners: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    hostfile: str = ""
    launcher: str = ""
    remote: list[str] = field(default_factory=lambda: ["ssh", "-o", "BatchMode=yes", "{host}"])
    pythons: dict[str, str] = field(default_factory=dict)

    def known(self) -> dict[str, Runner]:
        return load_runners(self.file.parent / name for name in self.runners)


def load_campaign(file: Path) -> Campaign:
    """Read a campaign file.

    Raises:
        UsageError: with the file, the key and what was expected.
    """
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: {error}") from None
    kinds = {f.name: f for f in fields(Campaign) if f.name != "file"}
    for key in data:
        if key not in kinds:
            raise UsageError(f"{file}: unknown key '{key}' (known: {', '.join(kinds)})")
    for key in ("frameworks", "models", "precisions", "batch_sizes", "devices"):
        if not isinstance(data.get(key), list) or not data[key]:
            raise UsageError(f"{file}: '{key}' must be a list, such as {_EXAMPLES[key]}")
    for key, kind in _TYPES.items():
        if key in data and (not isinstance(data[key], kind) or isinstance(data[key], bool)):
            raise UsageError(f"{file}: {key} = {data[key]!r}: expected {' or '.join(t.__name__ for t in kind)}")
    data["logs"] = Path(os.path.normpath(file.parent / data.get("logs", "logs")))
    data["environment"] = {key: str(value) for key, value in data.get("environment", {}).items()}
    campaign = Campaign(file=file, **data)
    _check(campaign)
    return campaign


_EXAMPLES = {
    "frameworks": '["pytorch"]', "models": '["resnet50"]', "precisions": '["fp32", "amp"]', "batch_sizes": "[64, 128]", "devices": '["1n1g", "1n8g"]',
}  # fmt: skip
_TYPES: dict[str, tuple[type, ...]] = {
    "logs": (str,), "repeats": (int,), "steps": (int,), "log_interval": (int,), "warmup": (int,), "time_limit": (int, float), "arguments": (list,),
    "environment": (dict,), "runners": (list,), "hosts": (list,), "hostfile": (str,), "launcher": (str,), "remote": (list,), "pythons": (dict,),
}  # fmt: skip


def _check(campaign: Campaign) -> None:
    known = campaign.known()
    for name in campaign.frameworks:
        if name not in known:
            raise UsageError(f"{campaign.file}: no runner '{name}' (known: {', '.join(known)})")
    for layout in campaign.devices:
        if not isinstance(layout, str) or not _LAYOUT.fullmatch(layout):
            raise UsageError(f"{campaign.file}: devices: {layout!r}: expected nodes and devices per node, such as '2n8g'")
    for model in campaign.models:
        if not isinstance(model, str) or not _NAME.fullmatch(model):
            raise UsageError(f"{campaign.file}: models: {model!r}: expected a name of small letters and digits, such as 'resnet50'")
    for size in campaign.batch_sizes:
        if not isinstance(size, int) or size < 1:
            raise UsageError(f"{campaign.file}: batch_sizes: {size!r}: expected a whole number of samples per device")
    if campaign.steps <= campaign.warmup:
        raise UsageError(f"{campaign.file}: steps = {campaign.steps} must be more than warmup = {campaign.warmup}")
    if campaign.launcher not in ("", "mpirun"):
        raise UsageError(f"{campaign.file}: launcher = {campaign.launcher!r}: expected 'mpirun', or none for the framework's own")


def jobs(campaign: Campaign, only: Mapping[str, str] | None = None, repeats: int | None = None) -> list[Job]:
    """All jobs, interleaved: a machine's drift over hours falls on all configurations alike."""
    layouts = [tuple(map(int, _LAYOUT.fullmatch(text).groups())) for text in campaign.devices]  # type: ignore[union-attr]
    every = [
        Job(framework, model, precision, size, nodes, per_node, repeat)
        for repeat in range(1, (repeats or campaign.repeats) + 1)
        for framework, model, precision, size, (nodes, per_node) in product(
            campaign.frameworks, campaign.models, campaign.precisions, campaign.batch_sizes, layouts
        )
    ]
    return [job for job in every if all(_is(job, key, value) for key, value in (only or {}).items())]


ONLY = ("framework", "model", "precision", "batch_size", "nodes", "devices", "repeat")


def _is(job: Job, key: str, value: str) -> bool:
    if key not in ONLY:
        raise UsageError(f"--only {key}={value}: expected one of {', '.join(ONLY)}")
    if key == "devices":
        return value in (job.layout, str(job.processes))
    return str(getattr(job, key)) == value


def refusals(campaign: Campaign, wanted: Sequence[Job], gpus: int) -> dict[Job, str]:
    """The jobs that cannot work, and why."""
    known = campaign.known()
    out = {}
    for job in wanted:
        runner = known[job.framework]
        said: dict[str, Any] = {
            "model": job.model, "precision": job.precision, "device": "gpu" if gpus else "cpu",
            "nodes": "several" if job.nodes > 1 else "one", "processes": "several" if job.processes > 1 else "one",
        }  # fmt: skip
        why = next((c.why for c in runner.cannot if all(said.get(k) == v for k, v in c.when.items())), "")
        if job.model not in runner.models:
            why = f"{runner.title}'s runner has no model '{job.model}' (it has {', '.join(runner.models)})"
        elif job.precision not in runner.precisions and not why:
            why = f"{runner.title}'s runner has no precision '{job.precision}' (it has {', '.join(runner.precisions)})"
        if why:
            out[job] = why
    return out
