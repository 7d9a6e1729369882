"""What results have in common: one line in a console, tables in a notebook, frames of polars and pandas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perflog.api.terms import in_python_terms
from perflog.errors import PerflogError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from perflog.export.columns import TextTable

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
        from perflog.export.encoding import to_html

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
