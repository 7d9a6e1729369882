"""An extraction in any of the formats of ``perflog extract``, as text or bytes."""

from __future__ import annotations

from perflog.export.columns import case_table
from perflog.extraction import Extraction


def encoded(extraction: Extraction, form: str, width: int | None = None, colour: bool = False) -> str | bytes:
    """The extraction as ``table``, ``markdown``, ``json``, ``csv`` or ``parquet``.

    Args:
        width: how wide a table may be; None: as wide as its content.
        colour: whether a table has the colours of a terminal.

    Raises:
        ValueError: for another format.
    """
    from perflog.export import document, frames, text

    if form == "table":
        return text.to_terminal(case_table(extraction), width, colour)
    if form == "markdown":
        return text.to_markdown(case_table(extraction))
    if form == "json":
        return document.to_json(extraction)
    if form == "csv":
        return frames.to_csv(frames.case_frame(extraction))
    if form == "parquet":
        import io

        buffer = io.BytesIO()
        frames.case_frame(extraction).write_parquet(buffer)
        return buffer.getvalue()
    raise ValueError(f"no format {form!r}")
