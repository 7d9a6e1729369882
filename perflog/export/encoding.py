"""An extraction in any of the formats of ``perflog extract``, as text or bytes."""

from __future__ import annotations

from perflog.export.case_table import Shown, case_table
from perflog.extraction import Extraction

#: Formats that are no text: they are written to files alone.
BINARY = frozenset({"parquet", "xlsx"})


def encoded(
    extraction: Extraction, form: str, width: int | None = None, colour: bool = False, shown: Shown | None = None
) -> str | bytes:
    """The extraction in one of the formats of ``perflog extract``, but for ``dlperf``.

    Args:
        width: how wide a table may be; None: as wide as its content.
        colour: whether a table has the colours of a terminal.
        shown: which columns a table, Markdown and CSV have; None: those that the format has by itself.

    Raises:
        PerflogError: for ``xlsx`` where the package that writes it is not installed.
        ValueError: for another format.
    """
    from perflog.export import document, frames, text

    if form == "table":
        return text.to_terminal(case_table(extraction, shown or Shown()), width, colour)
    if form == "markdown":
        return text.to_markdown(case_table(extraction, shown or Shown(wide=True)))
    if form == "json":
        return document.to_json(extraction)
    if form == "csv":
        return frames.to_csv(frames.case_frame(extraction, shown.columns if shown else ()))
    if form in BINARY:
        return _binary(extraction, form)
    if form == "latex":
        from perflog.export.latex import to_latex

        return to_latex(case_table(extraction, shown or Shown()))
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
