"""The picture of a comparison: what it shows, and that its legend and names lie on no data and inside of the picture."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.transforms import Bbox

from perflog.compare.page import comparison_figure, described, picture
from perflog.compare.rows import Comparison, compared_cases, mean_of
from perflog.compare.rule import Rule
from perflog.errors import UsageError
from perflog.settings.options import Options
from perflog.show.drawing import _SETTINGS
from tests.tools.tables_of_runs import Sides, normal, table

SETTINGS: Any = _SETTINGS
#: One faster, one slower, the others unchanged; a quiet machine, so that the verdicts are true.
CHANGES = (0.10, -0.10)


def comparison(rows: int, runs: int = 5, metric: str = "throughput") -> Comparison:
    pairs = table(np.random.default_rng(rows), normal, rows, Sides((runs, runs), (0.002, 0.002)), CHANGES[:rows])
    compared = compared_cases(pairs, Rule(metric))
    return Comparison("old", "new", Rule(metric), Options(), tuple(compared), (), mean_of(compared, [], 0.95))


def drawn(*comparisons: Comparison) -> tuple[Any, Any]:
    """The figure, and a renderer that has drawn it."""
    with rc_context(SETTINGS):
        figure: Any = comparison_figure(comparisons)
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        return figure, canvas.get_renderer()


def overlap(one: Bbox, other: Bbox, slack: float) -> bool:
    """Whether boxes share more than ``slack`` pixels in both directions."""
    wide, high = min(one.x1, other.x1) - max(one.x0, other.x0), min(one.y1, other.y1) - max(one.y0, other.y0)
    return bool(wide > slack and high > slack)


@pytest.mark.parametrize("rows", [1, 6, 24, pytest.param(100, marks=pytest.mark.long)])
def test_legend_and_names_lie_on_no_data_and_inside_of_the_picture(rows: int) -> None:
    figure, renderer = drawn(comparison(rows), comparison(rows, runs=6))
    frames = [axes.get_window_extent(renderer) for axes in figure.axes]
    words = [text.get_window_extent(renderer) for text in figure.texts if text.get_text().strip()]
    marks = [artist.get_window_extent(renderer) for artist in figure.artists]
    outer = [axes.get_tightbbox(renderer) for axes in figure.axes]
    whole = figure.bbox
    assert (len(figure.axes), bool(marks)) == (2, True)
    assert all(axes.get_legend() is None for axes in figure.axes)
    for box in (*words, *marks, *outer):
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
    assert not any(overlap(box, frame, 0.5) for box in (*words, *marks) for frame in frames)
    assert not any(overlap(one, other, 1.5) for one, other in combinations(words, 2))
    assert not any(overlap(mark, word, 0.5) for mark in marks for word in words)


def test_each_row_stands_at_its_change_in_the_colour_of_its_verdict() -> None:
    one = comparison(6)
    figure, _ = drawn(one)
    (axes,) = figure.axes
    points = [line for line in axes.lines if line.get_marker() in ("^", "v", "o", "s")]
    shown = {round(float(line.get_ydata()[0]), 3): line for line in points}
    heights = sorted(shown)
    assert len(heights) == 6
    for row, height in zip(one.rows, heights, strict=True):
        assert row.ratio.value is not None
        assert shown[height].get_xdata()[0] == pytest.approx(100 * (row.ratio.value - 1))
    assert [shown[height].get_marker() for height in heights] == ["^", "v", "o", "o", "o", "o"]
    texts = [text.get_text() for text in figure.texts]
    assert texts[:3] == ["faster", "slower", "same within 2 %"]
    assert any(text.startswith(("+10.", "+9.")) for text in texts)
    assert described([one]) == "throughput of new against old: 1 faster, 1 slower, 4 same within 2 %"


def test_more_rows_than_a_picture_holds_are_refused() -> None:
    with pytest.raises(UsageError, match="301 cases, one picture holds 300: choose some with --where"):
        picture([comparison(301)], "svg")
