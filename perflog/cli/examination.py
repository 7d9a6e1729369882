"""What ``perflog doctor`` finds: the installation, its extras, and the files and variables in force."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from perflog.extras import EXTRAS

SCHEMA = "perflog/doctor/1"
#: What is always needed, as the package registries call it.
_NEEDED = ("polars", "numpy", "msgspec", "typer", "rich", "jinja2", "tabulate", "tomlkit", "matplotlib", "scipy")
#: Variables that change what perflog does.
_VARIABLES = (
    "PERFLOG_DATABASE", "PERFLOG_ENGINE", "PERFLOG_THREADS", "PERFLOG_ENVIRONMENTS", "PERFLOG_DEBUG", "NO_COLOR",
)  # fmt: skip


def examined(logs: Sequence[str]) -> dict[str, Any]:
    """What is installed and in force for some logs, as plain data."""
    from perflog._version import __version__
    from perflog.history.place import without_password
    from perflog.matching import engine_description

    return {
        "schema": SCHEMA,
        "perflog": __version__,
        "folder": str(Path(__file__).resolve().parents[1]),
        "python": platform.python_version(),
        "executable": sys.executable,
        "system": platform.platform(),
        "engine": engine_description(),
        "libraries": {name: _version_of(name) for name in _NEEDED},
        "extras": [_extra(name) for name in dict.fromkeys(extra.name for extra in EXTRAS.values())],
        "config": _config(logs),
        "parsers": _parsers(logs),
        "variables": {name: without_password(os.environ[name]) for name in _VARIABLES if name in os.environ},
    }


def _version_of(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _extra(name: str) -> dict[str, Any]:
    """The state of an extra: what it is for, which of its packages are missing, and what installs them."""
    packages = [package for package, extra in EXTRAS.items() if extra.name == name]
    missing = [package for package in packages if find_spec(package) is None]
    command = f"{sys.executable} -m pip install 'perflog[{name}]'" if missing else None
    purpose = next(extra.purpose for extra in EXTRAS.values() if extra.name == name)
    return {"name": name, "for": purpose, "installed": not missing, "missing": missing, "command": command}


def _config(logs: Sequence[str]) -> dict[str, Any]:
    """The config file in force and what it sets; or what is wrong with it."""
    from perflog.errors import PerflogError
    from perflog.history.place import without_password
    from perflog.settings.config import find_config, settings

    file = find_config(logs)
    if file is None:
        return {"file": None, "sets": {}, "fault": None}
    try:
        chosen = settings({}, logs)
        chosen.options()
    except PerflogError as error:
        return {"file": str(file), "sets": {}, "fault": str(error)}
    sets = {key: chosen.values[key] for key, source in chosen.sources.items() if source == str(file) and key != "set"}
    if "database" in sets:
        sets["database"] = without_password(str(sets["database"]))
    sets |= {f"set.{key}": value for key, value in chosen.config_set.items()}
    return {"file": str(file), "sets": sets, "fault": chosen.refused_database or None}


def _parsers(logs: Sequence[str]) -> dict[str, Any]:
    """How many formats are known, and the user's folder of more; or what is wrong with one."""
    from perflog.errors import PerflogError
    from perflog.formats.catalog import load_catalog, user_folder
    from perflog.settings.config import settings

    folder = user_folder()
    try:
        catalog = load_catalog(settings({}, logs).values["parsers"])
    except PerflogError as error:
        return {"count": None, "own_folder": str(folder), "fault": str(error)}
    return {"count": len(catalog.parsers), "own_folder": str(folder), "fault": None}


def text_of(found: Mapping[str, Any]) -> str:
    """The same for people."""
    from perflog.export.text import counted

    lines = [
        f"perflog {found['perflog']} in {found['folder']}",
        f"Python {found['python']}, {found['executable']}, {found['system']}",
        f"engine: {found['engine']}",
        "libraries: " + ", ".join(f"{name} {version or 'MISSING'}" for name, version in found["libraries"].items()),
        "extras",
    ]
    for extra in found["extras"]:
        state = "installed" if extra["installed"] else f"not installed ({extra['for']}): {extra['command']}"
        lines.append(f"  {extra['name']:<11} {state}")
    config, parsers = found["config"], found["parsers"]
    lines.append(f"config file: {config['file'] or 'none (no perflog.toml above the logs or the working folder)'}")
    lines += [f"  {key} = {value}" for key, value in config["sets"].items()]
    lines += [f"  wrong: {config['fault']}"] if config["fault"] else []
    known = f"parsers: {counted(parsers['count'], 'format')} known" if parsers["count"] else "parsers"
    there = "" if Path(parsers["own_folder"]).exists() else " (not there)"
    lines.append(f"{known}; your own folder: {parsers['own_folder']}{there}")
    lines += [f"  wrong: {parsers['fault']}"] if parsers["fault"] else []
    lines += [f"variable {name}={value}" for name, value in found["variables"].items()]
    return "\n".join(lines) + "\n"
