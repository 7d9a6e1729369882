"""An extraction in any of the formats of ``perflog extract``, as text or bytes."""

from __future__ import annotations

from dataclasses import replace

from perflog.export.case_table import Shown, case_table
from perflog.extraction import Extraction

#: Formats that are no text: they are written to files alone.
BINARY = frozenset({"parquet", "xlsx"})
#: The columns and notes that a format has by itself.
_DEFAULT = Shown()


def encoded(
    extraction: Extraction, form: str, width: int | None = None, colour: bool = False, shown: Shown = _DEFAULT
) -> str | bytes:
    """The extraction in one of the formats of ``perflog extract``, but for ``dlperf``.

    Args:
        width: how wide a table may be; None: as wide as its content.
        colour: whether a table has the colours of a terminal.
        shown: which columns and notes a table, Markdown and CSV have.

    Raises:
        PerflogError: for ``xlsx`` where the package that writes it is not installed.
        ValueError: for another format.
    """
    from perflog.export import document, frames, text

    if form == "table":
        return text.to_terminal(case_table(extraction, shown), width, colour)
    if form == "markdown":
        return text.to_markdown(case_table(extraction, replace(shown, wide=shown.wide or not shown.columns)))
    if form == "json":
        return document.to_json(extraction)
    if form == "csv":
        return frames.to_csv(frames.case_frame(extraction, shown.columns))
    if form in BINARY:
        return _binary(extraction, form)
    if form == "latex":
        from perflog.export.latex import to_latex

        return to_latex(case_table(extraction, shown))
    if form == "openmetrics":
        from perflog.export.openmetrics import to_openmetrics

        return to_openmetrics(extraction)
    raise ValueError(f"no format {form!r}")


def _binary(extraction: Extraction, form: str) -> bytes:
    """The extraction in one of :data:`BINARY`."""
    from perflog.export import frames

    if form == "xlsx":
        from perflog.export.xlsx import to_xlsx

        sheets = {
            "cases": frames.case_frame(extraction),
            "runs": frames.run_frame(extraction),
            "skipped": frames.skipped_frame(extraction),
        }
        return to_xlsx(sheets)
    import io

    buffer = io.BytesIO()
    frames.case_frame(extraction).write_parquet(buffer)
    return buffer.getvalue()
