"""``perflog.toml``: a campaign's rule beside its logs.

Every option of extraction may stand there. The file is looked for from the logs upwards, then from the
working folder upwards; the command line always wins.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perflog.errors import UsageError

if TYPE_CHECKING:
    from perflog.settings.convention import Convention
    from perflog.settings.options import Options

FILE = "perflog.toml"
#: The environment variable that names the history's database.
DATABASE = "PERFLOG_DATABASE"
FORMATS = ("table", "markdown", "csv", "json", "parquet", "dlperf")

#: Where a value comes from that the user gave with the command.
_COMMAND_LINE = "command line"
#: Options and their defaults, in the order they are shown.
DEFAULTS: Mapping[str, Any] = {
    "warmup": "20", "steps": None, "last": None, "estimator": "total", "aggregate": "median", "baseline": {}, "set": {},
    "aliases": {}, "values": "differenced", "convention": None, "parser": [], "parsers": [], "format": "table",
    "database": None,
}  # fmt: skip
#: The options that a convention decides on, each with its name in words.
_OF_CONVENTIONS: Mapping[str, str] = {
    "warmup": "warm-up", "steps": "steps", "last": "last", "estimator": "estimator", "aggregate": "aggregate",
    "values": "values",
}  # fmt: skip
#: Options that choose a window in another way than those named with them: giving one takes the others' place.
_INSTEAD: Mapping[str, tuple[str, ...]] = {"last": ("warmup", "steps"), "warmup": ("last",), "steps": ("last",)}


@dataclass(frozen=True, slots=True)
class Settings:
    """Every option in force, and where it comes from.

    What a convention fixes comes from the convention, but for the options that are given beside it: on the command
    line, or in the config file that names the convention. Those adjust it, and :meth:`options` says which.
    """

    values: dict[str, Any]
    sources: dict[str, str]
    config_set: dict[str, str] = field(default_factory=dict)

    def options(self) -> Options:
        """The options of extraction.

        Raises:
            UsageError: for a value that is not right, naming the option.
        """
        from perflog.settings.amount import window_of
        from perflog.settings.options import AGGREGATES, ESTIMATORS, VALUES, Options

        values = self.values
        one_of("estimator", values["estimator"], ESTIMATORS)
        one_of("aggregate", values["aggregate"], AGGREGATES)
        one_of("values", values["values"], VALUES)
        if values["last"] is not None and self.sources["warmup"] == _COMMAND_LINE:
            raise UsageError(
                "--last and --warmup/--steps exclude each other: --last N takes the last N steps whatever the warm-up"
            )
        options = Options(
            window_of(values["warmup"], values["steps"], values["last"]),
            values["estimator"],
            values["aggregate"],
            dict(values["baseline"]),
            dict(values["set"]),
            dict(self.config_set),
            as_printed=values["values"] == "printed",
            aliases=dict(values["aliases"]),
        )
        if not values["convention"]:
            return options
        rule = _convention(values["convention"])
        adjusted = [_OF_CONVENTIONS[key] for key in rule.fixed if self.sources[key] != _source_of(rule.name)]
        return replace(options, digits=rule.options.get("digits", ""), convention=named(rule.name, adjusted))


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
    in_file: dict[str, Any] = {}
    file = find_config(paths)
    if file is not None:
        from perflog.settings.config_file import read_config

        in_file = read_config(file)
        sources |= dict.fromkeys(in_file, str(file))
        config_set = in_file.pop("set", {})
        values |= in_file
    if os.environ.get(DATABASE):
        values["database"], sources["database"] = os.environ[DATABASE], "environment"
    on_command_line = {key: value for key, value in given.items() if value is not None and value != [] and value != {}}
    values |= on_command_line
    sources |= dict.fromkeys(on_command_line, _COMMAND_LINE)
    if values["convention"]:
        beside = on_command_line if "convention" in on_command_line else {**in_file, **on_command_line}
        rule = _convention(values["convention"])
        fixed = _fixed_but_for(rule, beside)
        values |= fixed
        sources |= dict.fromkeys(fixed, _source_of(rule.name))
    return Settings(values, sources, config_set)


def _fixed_but_for(rule: Convention, beside: Mapping[str, Any]) -> dict[str, Any]:
    """What a convention fixes, without the options that are given beside it.

    A window that is given in another way than the convention's (its last records, say) takes the place of all of it.
    """
    fixed = {key: value for key, value in rule.fixed.items() if key not in beside}
    for key in beside:
        for other in _INSTEAD.get(key, ()):
            if other in fixed:
                fixed[other] = DEFAULTS[other]
    return fixed


def _source_of(convention_name: str) -> str:
    """Where an option comes from that a convention fixes."""
    return f"convention {convention_name}"


def named(convention_name: str, adjusted: Sequence[str]) -> str:
    """A convention's name, with what the options beside it adjusted.

    >>> named("mlperf", ["warm-up", "estimator"])
    'mlperf (adjusted: warm-up, estimator)'
    """
    return f"{convention_name} (adjusted: {', '.join(adjusted)})" if adjusted else convention_name


def _convention(name: str) -> Convention:
    """The convention of that name, by a module that is imported where one is named."""
    from perflog.settings.convention import convention

    return convention(name)


def find_config(paths: Sequence[str | os.PathLike[str]]) -> Path | None:
    """The nearest ``perflog.toml``: from the first path upwards, then from the working folder upwards."""
    starts = [Path(path).absolute() for path in paths[:1]] + [Path.cwd()]
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / FILE).is_file():
                return folder / FILE
    return None


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
