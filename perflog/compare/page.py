"""Comparisons as an HTML page that holds everything and loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from perflog._version import __version__
from perflog.compare.columns import columns_of
from perflog.compare.names import names_of
from perflog.compare.output import caption, comparison_table, units_of
from perflog.compare.rows import CaseComparison, Comparison, centre
from perflog.compare.sentences import explanations, opening
from perflog.export.case_table import Shown
from perflog.export.columns import TextTable
from perflog.report.pages import BEGINNING, LANGUAGES, environment, words
from perflog.settings.gate import GateResult
from perflog.stats.verdict import Verdict

#: The classes of the page's style sheet by verdict.
_LOOKS = {Verdict.FASTER: "faster", Verdict.SLOWER: "slower", Verdict.SAME: "same"}
#: The size of a row's picture, in the units of its own.
_WIDTH, _HEIGHT = 180.0, 20.0


def page(comparisons: Sequence[Comparison], result: GateResult | None = None) -> bytes:
    """The whole page.

    Args:
        comparisons: of one command.
        result: what the gate says; None where there is none.
    """
    names = " and ".join(comparison.new for comparison in comparisons)
    title = f"{comparisons[0].rule.metric}: {names} against {comparisons[0].old}"
    text = environment().get_template("compare.html.j2").render(
        beginning=BEGINNING, version=__version__, language=LANGUAGES["en"], title=title, words=words("en")["compare"],
        gate=result, parts=[_part(comparison) for comparison in comparisons],
    )  # fmt: skip
    return str(text).encode("utf-8", "backslashreplace")


def _part(comparison: Comparison) -> dict[str, Any]:
    """What the page says of one comparison."""
    bare = replace(comparison, unpaired=())  # they are all listed below
    table = comparison_table(bare)
    first, *others = opening(comparison, apart_first=False)
    numbered = sum(note[:1].isdigit() for note in table.footnotes)
    *verdicts, interval = explanations(comparison)
    names = names_of([unpaired.case for unpaired in comparison.unpaired]) if comparison.unpaired else []
    sides = {"old": comparison.old, "new": comparison.new}
    return {
        "title": f"{comparison.new} against {comparison.old}",
        "opening": first,
        "warnings": others,
        "columns": _columns(table),
        "rows": _rows(comparison, table),
        "made": caption(comparison, units_of([comparison])),
        "notes": [note.partition(". ")[2] for note in table.footnotes[:numbered]],
        "below": table.footnotes[numbered:],
        "alone": [
            (sides[unpaired.side], name, unpaired.reason)
            for unpaired, name in zip(comparison.unpaired, names, strict=True)
        ],
        "explained": [tuple(text.split(": ", 1)) for text in verdicts],
        "interval_explained": interval,
    }


def _columns(table: TextTable) -> list[dict[str, Any]]:
    """The headings: the verdict and the change come first, the change's picture has none."""
    right = dict(zip(table.titles, table.right, strict=True))
    order = ["case", "verdict", "change", "", "interval", "n", *table.titles[2:4], "adjusted p"]
    return [
        {"title": title, "right": right.get(title, False), "numeric": title not in ("case", "verdict")}
        for title in order
    ]


def _rows(comparison: Comparison, table: TextTable) -> list[dict[str, Any]]:
    scale = _scale(comparison)
    names = columns_of(comparison, Shown(), has_notes=True)
    rows = []
    for row, cells in zip(comparison.rows, table.rows, strict=True):
        texts = dict(zip(names, cells, strict=True))
        old, new = (f"{texts[name]} {texts.get('unit', '')}".strip() for name in ("median_old", "median_new"))
        numbers = (
            (texts["n"], row.ratio.n_old), (old, centre(row.old)), (new, centre(row.new)),
            (texts["adjusted_p"], row.adjusted_p),
        )  # fmt: skip
        rows.append({
            "name": texts["case"],
            "verdict": texts["verdict"],
            "look": _LOOKS.get(row.verdict, "open"),
            "marks": [mark for mark in texts["notes"].split(",") if mark],
            "change": _cell(texts["change"], row.ratio.value),
            "chart": _chart(row, comparison.rule.margin, scale),
            "chart_sort": "" if row.ratio.low is None else repr(row.ratio.low),
            "interval": texts["interval"],
            "numbers": [_cell(text, value) for text, value in numbers],
        })  # fmt: skip
    return rows


def _cell(text: str, value: float | None) -> dict[str, str]:
    """A cell's text and what it is sorted by."""
    return {"text": text, "sort": "" if value is None else repr(value)}


def _scale(comparison: Comparison) -> float:
    """The change, a share, at the ends of all rows' pictures: the farthest end of an interval, twice the margin at
    least and 50 % at most.
    """
    ends = [abs(end - 1) for row in comparison.rows for end in (row.ratio.low, row.ratio.high) if end is not None]
    return min(max([2 * comparison.rule.margin, 0.01, *ends]), 0.5) * 1.05


def _chart(row: CaseComparison, margin: float, scale: float) -> Any:
    """A row's change with its interval as a small picture: grey is the margin, the dashed line is no change."""
    from markupsafe import Markup

    ratio = row.ratio
    if ratio.value is None:
        return ""

    def place(change: float) -> float:
        return round(_WIDTH / 2 * (1 + max(-1.0, min(1.0, change / scale))), 1)

    middle = _HEIGHT / 2
    left, right = place(-margin), place(margin)
    parts = [
        f'<rect class="band" x="{left:g}" y="0" width="{right - left:g}" height="{_HEIGHT:g}"/>',
        f'<line class="zero" x1="{place(0):g}" y1="0" x2="{place(0):g}" y2="{_HEIGHT:g}"/>',
    ]
    if ratio.low is not None and ratio.high is not None:
        low, high = place(ratio.low - 1), place(ratio.high - 1)
        parts.append(f'<line class="range" x1="{low:g}" y1="{middle:g}" x2="{high:g}" y2="{middle:g}"/>')
    parts.append(f'<circle class="mark" cx="{place(ratio.value - 1):g}" cy="{middle:g}" r="4"/>')
    head = f'<svg class="bar-chart" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" aria-hidden="true">'
    return Markup(head + "".join(parts) + "</svg>")
