"""``perflog.toml``: a campaign's rule beside its logs.

Every option of extraction may stand there. The file is looked for from the logs upwards, then from the
working folder upwards; the command line always wins.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, structs

from perflog.errors import UsageError
from perflog.formats.toml import Scalar, convert, read_toml, texts
from perflog.settings.amount import window_of
from perflog.settings.convention import convention
from perflog.settings.options import AGGREGATES, ESTIMATORS, Aggregate, Estimator, Options

FILE = "perflog.toml"
#: The environment variable that names the history's database.
DATABASE = "PERFLOG_DATABASE"
FORMATS = ("table", "markdown", "csv", "json", "parquet", "dlperf")

#: Where a value comes from that the user gave with the command.
_COMMAND_LINE = "command line"
#: Options and their defaults, in the order they are shown.
DEFAULTS: Mapping[str, Any] = {
    "warmup": "20", "steps": None, "last": None, "estimator": "total", "aggregate": "median", "baseline": {}, "set": {},
    "convention": None, "parser": [], "parsers": [], "format": "table", "database": None,
}  # fmt: skip


_Count = Annotated[str | int | float, Meta(description="an amount such as 100, '10records' or '2epochs'")]
_Names = Annotated[str | tuple[str, ...], Meta(description="a name, or a list of names")]
_Facts = Annotated[dict[str, Scalar], Meta(description="a table, such as { devices = 8 }")]


class _ConfigFile(Struct, frozen=True, forbid_unknown_fields=True):
    """What may stand in ``perflog.toml``; what is left out is None."""

    warmup: _Count | None = None
    steps: _Count | None = None
    last: _Count | None = None
    estimator: Estimator | None = None
    aggregate: Aggregate | None = None
    baseline: _Facts | None = None
    set: _Facts | None = None
    convention: str | None = None
    parser: _Names | None = None
    parsers: _Names | None = None
    format: Literal["table", "markdown", "csv", "json", "parquet", "dlperf"] | None = None
    database: Annotated[str, Meta(description="a file's name or a URL in quotes")] | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """Every option in force, and where it comes from.

    What a convention fixes comes from the convention, unless the command line gives it too: :meth:`options` then
    refuses it, except for the aggregate, where the command line wins.
    """

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
        self._refuse_conflicts()
        window = window_of(values["warmup"], values["steps"], values["last"])
        options = Options(
            window,
            values["estimator"],
            values["aggregate"],
            dict(values["baseline"]),
            dict(values["set"]),
            dict(self.config_set),
        )
        if not values["convention"]:
            return options
        return replace(convention(values["convention"]).apply(options), aggregate=values["aggregate"])

    def _refuse_conflicts(self) -> None:
        given = [key for key in ("warmup", "steps", "last", "estimator") if self.sources[key] == _COMMAND_LINE]
        if self.values["convention"] and given:
            raise UsageError(f"--convention and --{given[0]} exclude each other: the convention fixes it")
        if self.values["last"] is not None and self.sources["warmup"] == _COMMAND_LINE:
            raise UsageError(
                "--last and --warmup/--steps exclude each other: --last N takes the last N steps whatever the warm-up"
            )


def settings(given: Mapping[str, Any], paths: Sequence[str | os.PathLike[str]] = ()) -> Settings:
    """Put the command line over the convention over the nearest config file over the defaults.

    Args:
        given: options from the command line; None or empty means not given.

    Raises:
        UsageError: for a config file that is not well formed, an unknown option in it, or an unknown convention.
    """
    values: dict[str, Any] = dict(DEFAULTS)
    sources = dict.fromkeys(values, "default")
    config_set: dict[str, str] = {}
    file = find_config(paths)
    if file is not None:
        config = read_config(file)
        sources |= dict.fromkeys(config, str(file))
        config_set = config.pop("set", {})
        values |= config
    if os.environ.get(DATABASE):
        values["database"], sources["database"] = os.environ[DATABASE], "environment"
    on_command_line = {key: value for key, value in given.items() if value is not None and value != [] and value != {}}
    values |= on_command_line
    sources |= dict.fromkeys(on_command_line, _COMMAND_LINE)
    if values["convention"]:
        rule = convention(values["convention"])
        fixed = {key: value for key, value in rule.fixed.items() if key not in on_command_line}
        values |= fixed
        sources |= dict.fromkeys(fixed, f"convention {rule.name}")
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
    """The options in a config file; paths in it are relative to its folder.

    Raises:
        UsageError: with the file, the option, what is expected there and what was found.
    """
    table = convert(read_toml(file, UsageError), _ConfigFile, str(file), UsageError, noun="option")
    options = {key: value for key, value in structs.asdict(table).items() if value is not None}
    for key in ("set", "baseline"):
        if key in options:
            options[key] = texts(options[key])
    for key in ("parser", "parsers"):
        if key in options:
            options[key] = [options[key]] if isinstance(options[key], str) else list(options[key])
    if "parsers" in options:
        options["parsers"] = [str(file.parent / name) for name in options["parsers"]]
    if "database" in options and "://" not in options["database"]:
        options["database"] = str(file.parent / Path(options["database"]).expanduser())
    return options


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
