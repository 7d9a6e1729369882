"""The options of extraction as Python gives them, and as the command line does."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar

from perflog.errors import PerflogError
from perflog.extras import plain
from perflog.logs.addresses import as_address
from perflog.settings.config import Settings, settings

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from perflog.show.extractions import Extractions
    from perflog.show.text import TextTable


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
    sampled: bool | None
    baseline: Mapping[str, Any] | None
    set: Mapping[str, Any] | None
    as_: str | list[str] | None
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
    for name in ("as_", "parser"):
        if isinstance(given.get(name), str):
            given[name] = [given[name]]
    if given.get("parsers") is not None:
        given["parsers"] = [os.fspath(folder) for folder in given["parsers"]]
    return given


def extractions_of(cache: bool | None) -> Extractions:
    """What one call reads its logs through, with the cache where it is asked for.

    Raises:
        UsageError: where there is no place for the cache.
    """
    from perflog.cache.place import cache_if_wanted
    from perflog.show.extractions import Extractions

    return Extractions(cache=cache_if_wanted(cache, _warn))


def _warn(remark: str) -> None:
    warnings.warn(remark, stacklevel=2)


def path_list(paths: Paths) -> list[str]:
    """One path or several as a list of texts."""
    return [as_address(os.fspath(path)) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]


def texts(facts: Mapping[str, Any] | None) -> dict[str, str]:
    """Facts with texts as values; none for None."""
    return {name: str(value) for name, value in (facts or {}).items()}


# ----------------------------------------------------------------------------------------------------
# Messages in Python's terms: what the command line calls ``--estimator`` is the argument ``estimator`` here.

_P = ParamSpec("_P")
_R = TypeVar("_R")
#: Options that arguments have other names for.
_NAMES = {
    "alias": "aliases", "lang": "language", "title": "titles", "name": "names", "all": "everything",
    "confidence": "level", "as": "as_",
}  # fmt: skip
#: Options that take ``key=value`` on the command line, and a mapping here.
_MAPPINGS = frozenset({"set", "baseline", "where", "digits", "title", "name", "case", "alias", "only"})
#: Options of the command line alone; sentences about them stay as they are.
_NO_ARGUMENTS = frozenset({"format", "quiet", "check", "verbose", "help", "wide", "watch", "from"})
_PAIR = re.compile(r"--([a-z]+(?:-[a-z]+)*)[ =]([A-Za-z_]\w*)=('[^']*'|\"[^\"]*\"|[^\s,;:)`]+)")
_FILE = re.compile(r"(?<!\S)-o (?=[\w./-]+\.\w)")
_NEGATED = re.compile(r"--no-([a-z]+)\b")
_OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?:(?<!')=(?=\S))?")


def python_terms(text: str) -> str:
    """A message with options as arguments.

    >>> python_terms("--estimator 'avg': expected one of total, mean")
    "estimator 'avg': expected one of total, mean"
    >>> python_terms("give --set devices=N, or --lang zh")
    "give set={'devices': N}, or language zh"
    """
    text = _PAIR.sub(_pair, text)
    text = _FILE.sub("", text)
    text = _NEGATED.sub(r"\1=False", text)
    return _OPTION.sub(_option, text)


def _pair(match: re.Match[str]) -> str:
    option, key, value = match[1], match[2], match[3].strip("'\"")
    if option not in _MAPPINGS:
        return match[0]
    shown = value if value == "N" or value.isdecimal() else repr(value)
    return f"{_NAMES.get(option, option)}={{{key!r}: {shown}}}"


def _option(match: re.Match[str]) -> str:
    option = match[1]
    if option in _NO_ARGUMENTS:
        return match[0]
    equals = "=" if match[0].endswith("=") else ""
    return _NAMES.get(option, option).replace("-", "_") + equals


def in_python_terms(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function whose errors of perflog are worded in Python's terms; they keep their classes and tracebacks.

    A package that an extra of the installation brings, and that is missing, is such an error too.
    """

    installed = plain(function)

    @wraps(function)
    def call(*arguments: _P.args, **options: _P.kwargs) -> _R:
        try:
            return installed(*arguments, **options)
        except PerflogError as error:
            error.args = tuple(python_terms(part) if isinstance(part, str) else part for part in error.args)
            raise

    return call


# ----------------------------------------------------------------------------------------------------
# What results have in common: one line in a console, tables in a notebook, frames of polars and pandas.

#: How many rows a notebook shows of a table.
MOST_ROWS = 60


class Result:
    """A result: ``repr`` is one line, notebooks show its tables, ``frame`` and ``to_pandas()`` are its rows."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<perflog.{type(self).__name__}: {self._described()}>"

    def _repr_html_(self) -> str:
        """The result as HTML, for notebooks."""
        from html import escape

        from perflog.escaping import visible
        from perflog.show.encoding import to_html

        return f"<p>{escape(visible(self._described()))}</p>\n" + "".join(
            to_html(table, MOST_ROWS) for table in self._tables()
        )

    @property
    def frame(self) -> pl.DataFrame:
        """The result's rows as a polars frame."""
        return frame_of(self._rows())

    @in_python_terms
    def to_pandas(self) -> pd.DataFrame:
        """The result's rows as a pandas frame.

        Raises:
            perflog.errors.PerflogError: when pandas is not installed.
        """
        return pandas_frame(self.frame)

    def _described(self) -> str:
        """What it is, in a few words."""
        raise NotImplementedError

    def _tables(self) -> Sequence[TextTable]:
        """The tables that people are shown."""
        return ()

    def _rows(self) -> Iterable[Mapping[str, Any]]:
        """The rows of the frame."""
        return ()


def frame_of(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows as a frame: what they nest becomes columns such as ``old_median``, and lists become texts."""
    import polars as pl

    flat = [dict(_flat(row)) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    return pl.DataFrame([{name: row.get(name) for name in names} for row in flat], infer_schema_length=None)


def _flat(row: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """The names and values of a row; the keys of a configuration (``case``) are columns of their own names."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, prefix if name in ("case", "configuration") else f"{prefix}{name}_")
        elif isinstance(value, list | tuple):
            if not any(isinstance(member, Mapping) for member in value):
                yield f"{prefix}{name}", "; ".join(map(str, value))
        else:
            yield f"{prefix}{name}", value


def pandas_frame(frame: pl.DataFrame) -> pd.DataFrame:
    """A polars frame as a pandas frame; where a column has gaps its numbers become floats, as pandas has them.

    Raises:
        PerflogError: when pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise PerflogError("to_pandas() needs the package pandas, which is not installed: pip install pandas") from None
    return pd.DataFrame(frame.to_dict(as_series=False))


def counted(count: int, noun: str) -> str:
    """``1 case``, ``2 cases``; ``1 series``, ``2 series``."""
    return f"{count} {noun}" if count == 1 or noun.endswith("s") else f"{count} {noun}s"
