"""A whole report as a README of regions, so that ``perflog readme`` keeps it true, and the regions only it has."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from perflog.case import Case
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.output.columns import escaped
from perflog.resources import folder

_ENVIRONMENT = ("framework", "framework_version", "accelerator", "model", "precision", "batch_size", "nodes", "devices")
_WORDS = {
    "en": {"framework": "Framework", "framework_version": "Version", "accelerator": "Accelerator", "model": "Model", "precision": "Precision",
           "batch_size": "Batch size per device", "nodes": "Nodes", "devices": "Devices", "runs": "Runs per case", "unknown": "not said by the logs"},
    "zh": {"framework": "框架", "framework_version": "版本", "accelerator": "加速卡", "model": "模型", "precision": "精度",
           "batch_size": "单卡 batch size", "nodes": "节点数", "devices": "卡数", "runs": "每组重复次数", "unknown": "日志未说明"},
}  # fmt: skip


def environment(extraction: Extraction, language: str) -> str:
    """What logs and paths say of the set-up: every value there is of each field."""
    words, cases = _WORDS[language], extraction.cases
    if not cases:
        raise UsageError("no training log found; `perflog explain FILE` says why a file is none")
    lines = []
    for key in _ENVIRONMENT:
        values = list(dict.fromkeys(str(c.key[k]) for c in sorted(cases, key=lambda c: _number(c, key)) for k in (key,) if k in c.key))
        lines.append(f"- {words[key]}: {escaped(', '.join(values)) if values else words['unknown']}")
    counts = sorted({len(c.runs) for c in cases})
    lines.append(f"- {words['runs']}: {', '.join(map(str, counts))}")
    return "\n".join(lines) + "\n"


def links(extraction: Extraction, base: Path) -> str:
    """Every case with links to its logs, relative to ``base``."""
    if not extraction.cases:
        raise UsageError("no training log found; `perflog explain FILE` says why a file is none")
    lines = []
    for case in extraction.cases:
        logs = dict.fromkeys(run.log.path for run in case.runs)
        parts = [f"[{escaped(Path(log).name)}]({quote(Path(os.path.relpath(log, base)).as_posix())})" for log in logs]
        lines.append(f"- {escaped(case.name)}: {', '.join(parts)}")
    return "\n".join(lines) + "\n"


def skeleton(extraction: Extraction, logs: Sequence[str], options: Sequence[str], output: Path, language: str) -> str:
    """A report's text with empty regions; ``logs`` and ``options`` are words of the recipes, relative to ``output``."""
    from jinja2 import FileSystemLoader
    from jinja2.sandbox import SandboxedEnvironment

    cases = extraction.cases
    if not cases:
        raise UsageError("no training log found; `perflog explain FILE` says why a file is none")
    models, frameworks = ({str(c.key[k]) for c in cases if k in c.key} for k in ("model", "framework"))
    columns = [k for k in ("framework", "model", "precision", "batch_size") if len({str(c.key.get(k)) for c in cases}) > 1]
    extra = [k for k in dict.fromkeys(k for c in cases for k in c.key) if k not in _ENVIRONMENT and len({str(c.key.get(k)) for c in cases}) > 1]
    values = ["throughput"] + ["speedup"] * any(c.speedup is not None for c in cases)
    values += [name for name in ("accuracy", "time_to_train") if any(name in c.metrics for c in cases)]
    environment_ = SandboxedEnvironment(loader=FileSystemLoader(folder("templates") / "reports"), trim_blocks=True, keep_trailing_newline=True)
    recipe = shlex.join([*logs, *options])
    return str(
        environment_.get_template(f"{language}.md.j2").render(
            title=escaped(" ".join([*sorted(frameworks), *sorted(models)]) or "perflog"),
            recipe=recipe,
            rows="devices" if any("devices" in c.key for c in cases) else "label",
            columns=",".join([*columns, *extra]),
            values=",".join(values),
            picture=f"{output.stem}-scaling.svg" if any("devices" in c.key for c in cases) else "",
            steps=f"{output.stem}-steps.svg" if any("step_time" in c.metrics for c in cases) and len(cases) <= 12 else "",
            command=f"perflog extract {recipe}",
        )
    )


def _number(case: Case, key: str) -> tuple[int, str]:
    value = case.key.get(key)
    return (value, "") if isinstance(value, int) else (0, str(value))
