"""The options of extraction as Python gives them, and as the command line does."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from perflog.logs.addresses import as_address
from perflog.settings.config import Settings, settings

if TYPE_CHECKING:
    from perflog.report.extractions import Extractions

PathLike = str | os.PathLike[str]
Paths = PathLike | Iterable[PathLike]


class ExtractionOptions(TypedDict, total=False):
    """The options of extraction (see the module's table)."""

    warmup: str | int | None
    steps: str | int | None
    last: str | int | None
    estimator: str | None
    aggregate: str | None
    values: str | None
    without_slow: bool | None
    baseline: Mapping[str, Any] | None
    set: Mapping[str, Any] | None
    convention: str | None
    parser: str | list[str] | None
    parsers: list[PathLike] | None


def settings_of(options: ExtractionOptions, logs: Sequence[str], database: PathLike | None = None) -> Settings:
    """The options in force: those given, over the config file beside the logs, over the defaults."""
    place = None if database is None else os.fspath(database)
    return settings({**given_options(options), "database": place}, logs)


def given_options(options: ExtractionOptions) -> dict[str, Any]:
    """Options as the command line gives them: names in lists, facts and amounts as texts."""
    unknown = options.keys() - ExtractionOptions.__annotations__.keys()
    if unknown:
        known = ", ".join(ExtractionOptions.__annotations__)
        raise TypeError(f"there is no option {', '.join(sorted(unknown))} (there are: {known})")
    given: dict[str, Any] = dict(options)
    given |= {name: str(given[name]) for name in ("warmup", "steps", "last") if given.get(name) is not None}
    given |= {name: texts(given.get(name)) for name in ("baseline", "set")}
    if isinstance(given.get("parser"), str):
        given["parser"] = [given["parser"]]
    if given.get("parsers") is not None:
        given["parsers"] = [os.fspath(folder) for folder in given["parsers"]]
    return given


def extractions_of(cache: bool | None) -> Extractions:
    """What one call reads its logs through, with the cache where it is asked for.

    Raises:
        UsageError: where there is no place for the cache.
    """
    from perflog.cache.place import cache_if_wanted
    from perflog.report.extractions import Extractions

    return Extractions(cache=cache_if_wanted(cache, _warn))


def _warn(remark: str) -> None:
    warnings.warn(remark, stacklevel=2)


def path_list(paths: Paths) -> list[str]:
    """One path or several as a list of texts."""
    return [as_address(os.fspath(path)) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]


def texts(facts: Mapping[str, Any] | None) -> dict[str, str]:
    """Facts with texts as values; none for None."""
    return {name: str(value) for name, value in (facts or {}).items()}
