"""Comparisons as an HTML page that holds everything and loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from perflog._version import __version__
from perflog.compare.opening import opening
from perflog.compare.rows import CaseComparison, Comparison, centre
from perflog.compare.rule import VERDICTS, per_cent, verdict_words
from perflog.compare.table import (
    NUMBERS,
    caption,
    columns_of,
    comparison_table,
    explanations,
    units_of,
)
from perflog.errors import UsageError
from perflog.settings.convention import GateResult
from perflog.show.case_table import Shown
from perflog.show.drawing import (
    COLOURS,
    LINE,
    SHADE,
    Block,
    Entry,
    Row,
    figure_of,
    legend_block,
    rendered,
    rows_block,
    text_block,
)
from perflog.show.links import link_to
from perflog.show.text import TextTable
from perflog.show.words import BEGINNING, LANGUAGES, page_templates, words
from perflog.stats.verdict import Better, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: The size of a row's picture, in the units of its own.
_WIDTH, _HEIGHT = 180.0, 20.0


def html_page(comparisons: Sequence[Comparison], result: GateResult | None = None, view: str = "") -> bytes:
    """The whole page.

    Args:
        comparisons: of one command.
        result: what the gate says; None where there is none.
        view: the address of the page of both sides' runs over time; empty for none.
    """
    names = " and ".join(comparison.new for comparison in comparisons)
    title = f"{comparisons[0].rule.metric}: {names} against {comparisons[0].old}"
    text = page_templates().get_template("compare.html.j2").render(
        beginning=BEGINNING, version=__version__, language=LANGUAGES["en"], title=title,
        words=words("pages", "en")["compare"], gate=result, parts=[_part(one, view) for one in comparisons],
    )  # fmt: skip
    return str(text).encode("utf-8", "backslashreplace")


def _part(comparison: Comparison, view: str) -> dict[str, Any]:
    """What the page says of one comparison."""
    bare = replace(comparison, unpaired=())  # they are all listed below
    table = comparison_table(bare)
    first, *others = opening(comparison, apart_first=False)
    numbered = sum(note[:1].isdigit() for note in table.footnotes)
    *verdicts, interval = explanations(comparison)
    sides = {"old": comparison.old, "new": comparison.new}
    return {
        "title": f"{comparison.new} against {comparison.old}",
        "opening": first,
        "warnings": others,
        "columns": _columns(table),
        "rows": _rows(comparison, table, view),
        "made": caption(comparison, units_of([comparison])),
        "notes": [note.partition(". ")[2] for note in table.footnotes[:numbered]],
        "below": table.footnotes[numbered:],
        "alone": [(sides[unpaired.side], name, unpaired.reason) for unpaired, name in comparison.named_unpaired],
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


def _rows(comparison: Comparison, table: TextTable, view: str) -> list[dict[str, Any]]:
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
            "view": link_to(view, _logs(row), "overlay") if view else "",
            "verdict": texts["verdict"],
            "look": VERDICTS[row.verdict].look,
            "marks": [mark for mark in texts["notes"].split(",") if mark],
            "change": _cell(texts["change"], row.ratio.value),
            "chart": _chart(row, comparison.rule.margin, scale),
            "chart_sort": "" if row.ratio.low is None else repr(row.ratio.low),
            "interval": texts["interval"],
            "numbers": [_cell(text, value) for text, value in numbers],
        })  # fmt: skip
    return rows


def _logs(row: CaseComparison) -> list[str]:
    """The logs of both sides, the old side's first."""
    return [run.log.name for case in (row.pair.old, row.pair.new) for run in case.runs]


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


# ----------------------------------------------------------------------------------------------------
# A picture of comparisons: each case's ratio with its interval, the margin shaded.


def picture(comparisons: Sequence[Comparison], form: str) -> bytes:
    """The ratios as SVG or PNG, a part for every side.

    Raises:
        UsageError: when no row has a ratio, or a side has more rows than a picture holds.
    """
    if not any(_drawable(comparison) for comparison in comparisons):
        raise UsageError("no case has a ratio to draw: see `perflog compare` for the reasons")
    return rendered(lambda: comparison_figure(comparisons), form)[0]


def comparison_figure(comparisons: Sequence[Comparison]) -> Figure:
    """A legend of the verdicts, then each side against the first: a row for every case that has a ratio."""
    verdicts = {row.verdict for comparison in comparisons for row in _drawable(comparison)}
    rule = comparisons[0].rule
    present = [verdict for verdict in Verdict if verdict in verdicts]
    legend = legend_block(
        [Entry(verdict_words(verdict, rule.margin, rule.metric), _look(verdict)) for verdict in present]
    )
    parts = [block for comparison in comparisons for block in _side(comparison)]
    foot = f"{caption(comparisons[0], units_of(comparisons))} Grey: within the margin."
    return figure_of([legend, *parts, text_block(foot, 8)])


def _drawable(comparison: Comparison) -> list[CaseComparison]:
    """The rows that have a ratio."""
    return [row for row in comparison.rows if row.ratio.value is not None]


def _side(comparison: Comparison) -> list[Block]:
    """One side against the first; nothing but its title where no case has a ratio."""
    rule = comparison.rule
    named = [(row, name) for row, name in comparison.named if row.ratio.value is not None]
    title = text_block(comparison.title, 10)
    if not named:
        return [title, text_block("No case has a ratio.", 8)]

    def draw(axes: Axes, middles: list[float]) -> None:
        axes.axvspan(-100 * rule.margin, 100 * rule.margin, color=SHADE, alpha=0.22, linewidth=0)
        axes.axvline(0, color=LINE, linewidth=1, linestyle="--")
        for (row, _), middle in zip(named, middles, strict=True):
            value, low, high = row.ratio.value or 1.0, row.ratio.low, row.ratio.high
            if low is None or high is None:
                low = high = value
            errors = [[100 * (value - low)], [100 * (high - value)]]
            axes.errorbar([100 * (value - 1)], [middle], xerr=errors, capsize=3, **_look(row.verdict))

    count = NUMBERS["n"].text
    direction = "right" if rule.better is Better.HIGHER else "left"
    rows = [Row(f"{name} (n = {count(row, comparison)})", per_cent(row.ratio.value or 0.0)) for row, name in named]
    return [title, rows_block(rows, f"change of {rule.metric} (%), better to the {direction}", draw)]


def _look(verdict: Verdict) -> dict[str, Any]:
    """How a verdict's marks look, in colours that the colour-blind tell apart."""
    shown = VERDICTS[verdict]
    colour = LINE if shown.colour is None else COLOURS[shown.colour]
    return {"color": colour, "marker": shown.marker, "markersize": 6, "linewidth": 1.4}


def described(comparisons: Sequence[Comparison]) -> str:
    """What the picture shows, in words."""
    return "; ".join(
        f"{comparison.rule.metric} of {comparison.new} against {comparison.old}: {comparison.counts}"
        for comparison in comparisons
    )
