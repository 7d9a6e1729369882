"""Printed moments as seconds since 1970."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def seconds_of_timestamps(columns: dict[str, NDArray[Any]]) -> None:
    """Printed moments as seconds since 1970."""
    column = columns.get("timestamp")
    if column is None or column.dtype != object:
        return
    import polars as pl

    texts = pl.Series(column.tolist(), dtype=pl.String)
    seconds = texts.cast(pl.Float64, strict=False)
    if seconds.null_count() == len(seconds):
        for form in ("%Y-%m-%d %H:%M:%S%.f", "%Y/%m/%d %H:%M:%S%.f", "%Y-%m-%d %H:%M:%S,%f"):
            moments = texts.str.to_datetime(form, strict=False, time_unit="us")
            if moments.null_count() < len(moments):
                seconds = moments.dt.timestamp("us").cast(pl.Float64) / 1e6
                break
    columns["timestamp"] = seconds.fill_null(float("nan")).to_numpy()
