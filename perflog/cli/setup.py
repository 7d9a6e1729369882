"""Commands that set perflog up: example, init, doctor, cache."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from perflog.cli.base import app, examples
from perflog.cli.options import READING, Configured, Given, Logs, Output, Quiet, TextOrJson, extraction_options
from perflog.cli.output import emit, prose
from perflog.errors import PerflogError, UsageError
from perflog.extras import EXTRAS
from perflog.settings.config import FILE, find_config, settings
from perflog.show.options import format_for

Place = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FOLDER",
        help="The folder that the perflog.toml is written into. [default: the folder of the logs]",
        show_default=False,
    ),
]  # fmt: skip
Clear = Annotated[bool, typer.Option("--clear", help="Remove everything that is kept.")]
_SCHEMA = "perflog/doctor/1"
#: What is always needed, as the package registries call it.
_NEEDED = ("polars", "numpy", "msgspec", "typer", "rich", "jinja2", "tabulate", "tomlkit", "matplotlib", "scipy")
#: Variables that change what perflog does.
_VARIABLES = (
    "PERFLOG_DATABASE", "PERFLOG_ENGINE", "PERFLOG_THREADS", "PERFLOG_ENVIRONMENTS", "PERFLOG_DEBUG", "NO_COLOR",
)  # fmt: skip


@app.command(
    epilog=examples("perflog example", "perflog example /tmp/try", more="Exit status: 0; 2 the folder is not empty.")
)
def example(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="A folder that is empty or not there yet.")] = Path(
        "perflog-example"
    ),
) -> None:
    """Write 64 small logs to try perflog with."""
    import shlex

    from perflog.example import write_example

    counts = write_example(folder)
    quoted = shlex.quote(str(folder))
    what = ", ".join(f"{folder / name} ({count} logs)" for name, count in counts.items())
    print(f"wrote {what}")
    print(f"next: perflog extract {quoted}/scaling")


@app.command(
    epilog=examples(
        "perflog init logs/",
        "perflog init logs/ --warmup 100 -o .",
        more="Exit status: 0 written; 2 there is a perflog.toml, which is never overwritten, or no training log.",
    )
)
@extraction_options(needed=READING)
def init(logs: Logs, given: Given, output: Place = None, quiet: Quiet = False) -> None:
    """Look at a folder of logs and write its perflog.toml: what was found, and which facts are missing, and why."""
    from perflog.cli.progress import extractions
    from perflog.files import write_atomically
    from perflog.show.reports import config_text

    first = Path(logs[0])
    folder = output or (first if first.is_dir() else first.parent)
    file = folder / FILE
    if file.exists() or file.is_symlink():
        raise UsageError(f"{file}: is there already, and is never overwritten; `perflog config {logs[0]}` shows it")
    extraction = extractions(quiet).of(logs, settings(given, logs))
    if not extraction.runs and not any(" --as " in left_out.reason for left_out in extraction.skipped):
        raise UsageError(f"{first}: {extraction.why_none}")
    write_atomically(file, config_text(extraction, given, ", ".join(logs)))
    if not quiet:
        print(f"{file}: written; `perflog config {logs[0]}` shows what is in force")


@app.command(epilog=examples("perflog doctor", "perflog doctor logs/ --format json"))
def doctor(
    logs: Configured = None,
    format_: TextOrJson = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Say what is installed, which engine reads the logs, what is missing, and which files are in force."""
    from perflog.escaping import json_text

    form = format_for(output, format_, ("text", "json"), "text")
    found = examined(logs or [])
    emit(json_text(found) + "\n" if form == "json" else prose(text_of(found), output), output, quiet)


def examined(logs: Sequence[str]) -> dict[str, Any]:
    """What is installed and in force for some logs, as plain data."""
    import platform

    from perflog._version import __version__
    from perflog.history.place import without_password
    from perflog.matching import engine_description

    return {
        "schema": _SCHEMA,
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
    from importlib import metadata

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
    from perflog.history.place import without_password

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
    from perflog.formats.catalog import load_catalog, user_folder

    folder = user_folder()
    try:
        catalog = load_catalog(settings({}, logs).values["parsers"])
    except PerflogError as error:
        return {"count": None, "own_folder": str(folder), "fault": str(error)}
    return {"count": len(catalog.parsers), "own_folder": str(folder), "fault": None}


def text_of(found: Mapping[str, Any]) -> str:
    """The same for people."""
    from perflog.show.text import counted

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


@app.command(epilog=examples("perflog cache", "perflog cache --clear"))
def cache(clear: Clear = False, quiet: Quiet = False) -> None:
    """Say where `perflog extract --cache` keeps what it read, and how much that is."""
    from perflog.cache.cache import EntryFile, sizes_of
    from perflog.cache.place import folder_of_cache
    from perflog.escaping import named

    file = EntryFile(folder_of_cache())
    count, size = sizes_of(file)
    held = "damaged, or not perflog's" if count is None else f"{count} {'entry' if count == 1 else 'entries'}"
    described = f"{named(str(file.path))}: {held}, {size / 1e6:.1f} MB"
    if clear:
        try:
            file.remove()
        except OSError as error:
            raise PerflogError(f"cannot remove '{named(str(file.path))}': {error.strerror}") from None
        described += ", removed"
    if not quiet:
        print(described)
