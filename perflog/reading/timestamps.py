"""Printed moments as seconds since 1970."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: How programs print a moment, with a point or a comma before its decimals; tried in this order for all of a block.
FORMS = ("%Y-%m-%d %H:%M:%S%.f", "%Y/%m/%d %H:%M:%S%.f")


def seconds_of_timestamps(printed: Sequence[str | None]) -> NDArray[np.float64]:
    """Moments as they were printed, in seconds, (n,); NaN where a line holds none."""
    import polars as pl

    texts = pl.Series(list(printed), dtype=pl.String)
    seconds = texts.cast(pl.Float64, strict=False)
    if seconds.null_count() == len(seconds):
        pointed = texts.str.replace(",", ".", literal=True)
        for form in FORMS:
            moments = pointed.str.to_datetime(form, strict=False, time_unit="us")
            if moments.null_count() < len(moments):
                seconds = moments.dt.timestamp("us").cast(pl.Float64) / 1e6
                break
    return seconds.fill_null(float("nan")).to_numpy()
