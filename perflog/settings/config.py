"""``perflog.toml``: a campaign's rule beside its logs.

Every option of extraction may stand there. The file is looked for from the logs upwards, then from the
working folder upwards; the command line always wins.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perflog.errors import UsageError
from perflog.settings.amount import Window, amount
from perflog.settings.convention import convention
from perflog.settings.options import AGGREGATES, ESTIMATORS, Options

FILE = "perflog.toml"
#: The environment variable that names the history's database.
DATABASE = "PERFLOG_DATABASE"
FORMATS = ("table", "markdown", "csv", "json", "parquet", "dlperf")

#: Options and their defaults, in the order they are shown.
DEFAULTS: Mapping[str, Any] = {
    "warmup": "20", "steps": None, "last": None, "estimator": "total", "aggregate": "median", "baseline": {}, "set": {},
    "convention": None, "parser": [], "parsers": [], "format": "table", "database": None,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """Every option in force, and where it comes from."""

    values: dict[str, Any]
    sources: dict[str, str]
    config_set: dict[str, str] = field(default_factory=dict)

    def options(self) -> Options:
        """The options of extraction.

        Raises:
            UsageError: for a value that is not right, naming the option.
        """
        values = self.values
        one_of("estimator", values["estimator"], ESTIMATORS)
        one_of("aggregate", values["aggregate"], AGGREGATES)
        window = Window(
            amount(values["warmup"], "--warmup"),
            amount(values["steps"], "--steps") if values["steps"] is not None else None,
            amount(values["last"], "--last") if values["last"] is not None else None,
        )
        if window.steps is not None and window.steps.unit not in ("steps", "records"):
            raise UsageError(f"--steps {values['steps']!r}: expected steps (100) or records (100records)")
        if window.last is not None and window.last.unit not in ("steps", "records"):
            raise UsageError(f"--last {values['last']!r}: expected steps (100) or records (25records)")
        if window.last is not None and (window.steps is not None or self.sources["warmup"] == "command line"):
            raise UsageError("--last and --warmup/--steps exclude each other: --last N takes the last N steps whatever the warm-up")
        if window.warmup.unit != "auto" and window.steps is not None and (window.steps.unit == "records") != (window.warmup.unit == "records"):
            raise UsageError("--warmup and --steps must both be in steps, or both in records")
        options = Options(window, values["estimator"], values["aggregate"], dict(values["baseline"]), dict(values["set"]), dict(self.config_set))
        if values["convention"]:
            own = [k for k in ("warmup", "steps", "last", "estimator") if self.sources[k] == "command line"]
            if own:
                raise UsageError(f"--convention and --{own[0]} exclude each other: the convention fixes it")
            options = convention(values["convention"]).apply(options)
            if self.sources["aggregate"] == "command line":
                options = replace(options, aggregate=values["aggregate"])
        return options


def settings(given: Mapping[str, Any], paths: Sequence[str | os.PathLike[str]] = ()) -> Settings:
    """Put the command line over the nearest config file over the defaults.

    Args:
        given: options from the command line; None or empty means not given.

    Raises:
        UsageError: for a config file that is not well formed, or an unknown option in it.
    """
    values: dict[str, Any] = dict(DEFAULTS)
    sources = dict.fromkeys(values, "default")
    config_set: dict[str, str] = {}
    file = find_config(paths)
    if file is not None:
        for key, value in read_config(file).items():
            if key == "set":
                config_set = {k: str(v) for k, v in value.items()}
            else:
                values[key] = value
            sources[key] = str(file)
    if os.environ.get(DATABASE):
        values["database"], sources["database"] = os.environ[DATABASE], "environment"
    for key, value in given.items():
        if value is not None and value != [] and value != {}:
            values[key] = value
            sources[key] = "command line"
    return Settings(values, sources, config_set)


def find_config(paths: Sequence[str | os.PathLike[str]]) -> Path | None:
    """The nearest ``perflog.toml``: from the first path upwards, then from the working folder upwards."""
    starts = [Path(path).absolute() for path in paths[:1]] + [Path.cwd()]
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / FILE).is_file():
                return folder / FILE
    return None


def read_config(file: Path) -> dict[str, Any]:
    """The options in a config file. Raises UsageError, naming the file and the option."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: {error}") from None
    for key, value in data.items():
        if key not in DEFAULTS:
            raise UsageError(f"{file}: unknown option '{key}' (known: {', '.join(DEFAULTS)})")
        if key in ("set", "baseline") and not isinstance(value, dict):
            raise UsageError(f"{file}: '{key}' must be a table, such as [{key}] followed by devices = 8")
        if key in ("parser", "parsers"):
            names = [value] if isinstance(value, str) else value
            data[key] = [str(file.parent / name) for name in names] if key == "parsers" else names
    if "database" in data:
        if not isinstance(data["database"], str):
            raise UsageError(f"{file}: 'database' must be a file's name or a URL in quotes")
        if "://" not in data["database"]:
            data["database"] = str(file.parent / Path(data["database"]).expanduser())
    if "format" in data:
        one_of("format", data["format"], FORMATS)
    return data


def one_of(option: str, value: Any, allowed: Sequence[str]) -> None:
    """Raise UsageError unless ``value`` is one of ``allowed``."""
    if value not in allowed:
        raise UsageError(f"--{option} {value!r}: expected one of {', '.join(allowed)}")


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """``key=value`` texts as a dict. Raises UsageError for one without ``=``."""
    out = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise UsageError(f"--{option} {text!r}: expected key=value, such as --{option} devices=8")
        out[key.strip().replace("-", "_")] = value.strip()
    return out
