"""Nothing of a picture leaves it or lies on something else: measured by matplotlib's own renderer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.transforms import Bbox

from perflog.cases.versions import compared
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.show.drawing import _SETTINGS, COLOURS, INK, INK_ON_WHITE, colour_of, rendered, text_width, wrapped
from perflog.show.picture import run_values_figure, versions_figure
from perflog.show.series import MOST_PANELS, MOST_SERIES, looks_of, scaling_figure, series_of
from perflog.show.steps import Trace, limits_of, steps_figure
from perflog.show.words import words_of
from tests.show.made import DEVICES, FRAMEWORKS, MODELS, extraction, many, run, traces

LONG = MODELS[2]


SETTINGS: Any = _SETTINGS


def drawn(kind: str, count: int) -> Any:
    with rc_context(SETTINGS):
        if kind == "scaling":
            return scaling_figure(many(count))
        if kind == "spread":
            return run_values_figure(many(count))
        if kind == "versions":
            return versions_figure(many(count, runs=1, versions=("2.4", "2.5")))
        cases = many(count, runs=1)
        return steps_figure(cases, traces(cases))


def boxes(figure: Any) -> tuple[Any, Any]:
    """A renderer, and the figure's own box in its pixels."""
    with rc_context(SETTINGS):
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        return canvas.get_renderer(), figure.bbox


def texts_beside_axes(figure: Any) -> Sequence[Any]:
    return [text for text in figure.texts if text.get_text().strip()]


@pytest.mark.parametrize("count", [1, 6, *(pytest.param(count, marks=pytest.mark.long) for count in (24, 100))])
@pytest.mark.parametrize("kind", ["scaling", "spread", "steps", "versions"])
def test_nothing_leaves_the_picture_or_lies_on_the_data(kind: str, count: int) -> None:
    figure = drawn(kind, count)
    renderer, whole = boxes(figure)
    frames = [axes.get_window_extent(renderer) for axes in figure.axes]
    outer = [axes.get_tightbbox(renderer) for axes in figure.axes]
    words = [(text.get_text(), text.get_window_extent(renderer)) for text in texts_beside_axes(figure)]
    marks = [artist.get_window_extent(renderer) for artist in figure.artists]
    for box in [*outer, *(box for _, box in words), *marks]:
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
    for text, box in words:
        assert [text for frame in frames if _overlap(box, frame)] == []
    for mark in marks:
        assert not any(_overlap(mark, frame) for frame in frames)
    for one, other in combinations(frames, 2):
        assert not _overlap(one, other)
    for (text, box), (other_text, other) in combinations(words, 2):
        assert not _overlap(box, other, 1.5), (text, other_text)


def _overlap(one: Bbox, other: Bbox, slack: float = 0.5) -> bool:
    """Whether boxes share more than ``slack`` pixels in both directions."""
    wide = min(one.x1, other.x1) - max(one.x0, other.x0)
    high = min(one.y1, other.y1) - max(one.y0, other.y0)
    return bool(wide > slack and high > slack)


@pytest.mark.parametrize("kind", ["scaling", "spread", "steps", "versions"])
def test_no_panel_is_empty(kind: str) -> None:
    for count in (1, 24):
        for axes in drawn(kind, count).axes:
            assert axes.has_data()
            assert [line for line in axes.lines if len(line.get_xdata()) > 0] or axes.patches


def test_a_long_name_is_wrapped_and_not_cut() -> None:
    lines = wrapped(f"PyTorch {LONG} fp32", 2.0, 8.0)
    assert "".join(lines).replace(" ", "") == f"PyTorch{LONG}fp32"
    assert max(text_width(line, 8.0) for line in lines) <= 2.0
    assert wrapped("模型" * 30, 1.0, 9.0) == ["模型" * 4] * 7 + ["模型" * 2]  # 8 characters of 9 points are 1 inch
    figure = scaling_figure(
        extraction([run({"framework": LONG, "model": "m", "devices": d}, 10.0 * d) for d in (1, 2)])
    )
    assert LONG in " ".join(text.get_text() for text in figure.texts).replace(" ", "")


def test_a_case_without_a_baseline_has_no_panel_of_speedup() -> None:
    alone = extraction([run({"framework": "PyTorch", "model": "m", "devices": d}, 10.0 * d) for d in (8, 16)])
    assert [axes.get_title() for axes in scaling_figure(alone).axes] == ["throughput (samples/s)"]
    scaled = extraction([run({"framework": "PyTorch", "model": "m", "devices": d}, 10.0 * d) for d in (1, 16)])
    titles = [axes.get_title() for axes in scaling_figure(scaled).axes]
    assert titles == ["throughput (samples/s)", "speedup over one device"]


def test_models_and_units_have_parts_of_their_own() -> None:
    runs = [run({"framework": "PyTorch", "model": "Bert", "devices": d}, 10.0 * d, "tokens/s") for d in (1, 2)]
    runs += [run({"framework": "PyTorch", "model": "ResNet-50", "devices": d}, 10.0 * d, "images/s") for d in (1, 2)]
    runs += [run({"framework": "MXNet", "model": "resnet50", "devices": d}, 9.0 * d, "images/s") for d in (1, 2)]
    texts = [text.get_text() for text in scaling_figure(extraction(runs)).texts]
    assert [text for text in texts if " · " in text] == ["Bert · tokens/s", "resnet50 · images/s"]


def many_series(count: int, frameworks: Sequence[str] = ("PyTorch",)) -> Extraction:
    wanted = [(f, b, d) for b in range(1, count + 1) for f in frameworks for d in (1, 2)]
    return extraction([run({"framework": f, "model": "m", "batch_size": b, "devices": d}, b * d) for f, b, d in wanted])


def test_more_than_eight_series_become_small_multiples() -> None:
    assert len(scaling_figure(many_series(MOST_SERIES)).axes) == 2
    assert len(scaling_figure(many_series(MOST_SERIES + 1)).axes) == MOST_SERIES + 1
    by_framework = scaling_figure(many_series(6, ("PyTorch", "MXNet")))  # 12 series: a panel for each batch size
    assert len(by_framework.axes) == 6
    colours = {line.get_color() for line in by_framework.axes[0].lines if line.get_marker() not in ("None", "|", "_")}
    assert colours == {colour_of("PyTorch"), colour_of("MXNet")}
    with pytest.raises(UsageError, match=rf"{MOST_PANELS + 1} series, one picture holds {MOST_PANELS}.*--where"):
        scaling_figure(many_series(MOST_PANELS + 1))


def test_a_framework_has_one_colour_wherever_frameworks_are_told_apart() -> None:
    assert len({colour_of(name) for name in FRAMEWORKS}) == len(FRAMEWORKS)
    for names in (FRAMEWORKS, FRAMEWORKS[::-1], FRAMEWORKS[1:3]):
        cases = extraction([run({"framework": f, "model": "m", "devices": d}, d) for f in names for d in (1, 2)]).cases
        looks = looks_of(series_of(cases, words_of()))
        assert {name: look["color"] for name, look in looks.items()} == {f: colour_of(f) for f in names}
        assert len({look["marker"] for look in looks.values()}) == len(names)


def test_no_two_series_of_a_panel_have_one_colour() -> None:
    """Six series of one framework beside two of another: the first of each has its framework's colour."""
    facts = [("PyTorch", batch) for batch in range(6)] + [("MXNet", batch) for batch in range(2)]
    runs = [run({"framework": f, "model": "m", "batch_size": b, "devices": d}, d) for f, b in facts for d in (1, 2)]
    series = series_of(extraction(runs).cases, words_of())
    colours = [look["color"] for look in looks_of(series).values()]
    assert len(colours) == len(set(colours)) == MOST_SERIES
    for framework in ("PyTorch", "MXNet"):
        names = [name for name, members in series.items() if members[0].key["framework"] == framework]
        assert looks_of(series)[names[0]]["color"] == colour_of(framework)


def test_every_colour_can_be_read_on_white_and_on_dark() -> None:
    svg = rendered(lambda: scaling_figure(many(24)), "svg")[0].decode()
    assert not re.search(r'<g id="patch_1">\s*<path[^>]*fill: #', svg)  # no ground
    for colour in {c.lower() for c in re.findall(r"#[0-9a-fA-F]{6}", svg.partition("<defs>")[2])}:
        assert min(contrast(colour, ground) for ground in ("#ffffff", "#0d1117")) > 3
    assert min(contrast(INK, ground) for ground in ("#ffffff", "#0d1117")) > 4
    assert contrast(INK_ON_WHITE, "#ffffff") > 7
    assert len(set(COLOURS)) == 8


def contrast(one: str, other: str) -> float:
    """The contrast of two colours (WCAG 2.2)."""
    low, high = sorted(_luminance(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def test_step_times_are_zoomed_and_each_run_stands_apart() -> None:
    cases = many(1, runs=3)
    known = traces(cases)
    figure: Any = steps_figure(cases, known)
    assert len(figure.axes) == 3
    low, high = limits_of(known)
    assert 0.2 < low < 0.23 < 0.30 < high < 0.4  # the first step takes 5.2 s, the warm-up 0.299 s, the others 0.23 s
    for axes, trace in zip(figure.axes, known, strict=True):
        assert axes.get_ylim() == (low, high)
        cuts = [line.get_xdata()[0] for line in axes.lines if len(set(line.get_xdata())) == 1]
        assert 20.0 in cuts and 40.0 in cuts  # the warm-up that is taken, and the one that the detector finds
        triangles = next(line for line in axes.lines if line.get_marker() == "^")
        assert list(triangles.get_xdata()) == [trace.steps[0]]
    assert sum("1 of 400 points beyond the axis, to 5.2 s" in text.get_text() for text in figure.texts) == 3


def test_a_steady_series_is_not_magnified_into_noise() -> None:
    one = many(1, runs=1).runs[0]
    steady = Trace(one, np.arange(1.0, 101), np.full(100, 0.25), (20.0, 100.0))
    low, high = limits_of([steady])
    assert low < 0.25 < high
    slow = Trace(one, np.arange(1.0, 101), np.r_[np.full(50, 9.0), np.full(50, 0.25)], (50.0, 100.0))
    assert limits_of([slow])[1] < 0.3  # half of the steps take 9 s, and what counts is still seen


def test_all_that_counts_of_a_few_points_is_shown_but_for_strays() -> None:
    one = many(1, runs=1).runs[0]
    few = Trace(one, np.arange(10.0, 60, 10), np.array([0.23, 0.046, 0.0458, 0.0457, 0.0463]), (20.0, 50.0))
    low, high = limits_of([few])
    assert low < 0.0457 < 0.0463 < high < 0.1  # what counts is inside, the start of 0.23 s is not
    rng = np.random.default_rng(3)
    noise = np.r_[0.25 * (1 + 0.01 * rng.standard_normal(1000)), 2.0]
    low, high = limits_of([Trace(one, np.arange(1.0, 1002), noise, (0.0, 1001.0))])
    assert low < noise.min() < noise[:-1].max() < high < 0.4  # noise has no strays, and the pause of 2 s is one


def test_numbers_behind_the_bars_of_versions_stay_inside_and_off_the_line() -> None:
    versions = {"2.4": 1.0, "2.5": 1.1, "2.6": 0.9, "2.7": 0.45}
    runs = [
        run({"framework": "PyTorch", "model": LONG, "framework_version": v, "devices": d, "repeat": r}, 98765.4 * d * f,
            "environment_steps/s")
        for v, f in versions.items() for d in (1, 8) for r in range(1, 2 + d)
    ]  # fmt: skip
    with rc_context(SETTINGS):
        figure = versions_figure(extraction(runs))
    renderer, whole = boxes(figure)
    (axes,) = figure.axes
    line = axes.transData.transform((1, 0))[0]
    numbers = [text.get_window_extent(renderer) for text in axes.texts]
    assert len(numbers) == len(versions) * 2
    assert all(box.x1 <= whole.x1 and not box.x0 <= line <= box.x1 for box in numbers)
    assert (
        max(box.x1 for box in numbers) > axes.get_window_extent(renderer).x1 - 0.4 * figure.dpi
    )  # and no room is lost


@pytest.mark.parametrize(("form_ink", "ground"), [(INK, "#ffffff"), (INK, "#0d1117"), (INK_ON_WHITE, "#ffffff")])
def test_an_interval_is_seen_on_its_bar(form_ink: str, ground: str) -> None:
    figure = versions_figure(many(6, runs=5, versions=("2.4", "2.5")))
    for bar in figure.axes[0].patches:
        red, green, blue, opacity = map(float, bar.get_facecolor())  # type: ignore[arg-type]
        under = [int(ground[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        seen = [opacity * own + (1 - opacity) * below for own, below in zip((red, green, blue), under, strict=True)]
        assert contrast(form_ink, "#" + "".join(f"{round(255 * part):02x}" for part in seen)) > 2


def test_versions_of_two_folders_are_paired_below_them() -> None:
    def side(folder: str, version: str, devices: Sequence[int]) -> list[Any]:
        facts = {"framework": "PyTorch", "framework_version": version, "model": "m"}
        runs = [run({**facts, "devices": count}, 10.0 * count, given=folder) for count in devices]
        for one in runs:
            one.label = f"{folder}/nightly"
        return runs

    (group,) = compared(extraction([*side("old", "2.4", [1]), *side("new", "2.5", [1])]).cases)
    assert list(group) == ["2.4", "2.5"]
    (group,) = compared(extraction([*side("old", "2.4", [1]), *side("new", "2.4", [1])]).cases)
    assert list(group) == ["new", "old"]
    with pytest.raises(UsageError, match=r"no case is there in two of 2\.4, 2\.5: .*devices is 2 and 1"):
        compared(extraction([*side("old", "2.4", [1]), *side("new", "2.5", [2])]).cases)


def test_more_versions_than_colours_have_a_row_each() -> None:
    versions = tuple(f"2.{minor}" for minor in range(9))
    figure = versions_figure(many(1, runs=1, versions=versions))
    names = [text.get_text() for text in figure.texts]
    assert [name for name in names if name.endswith(" 2.8") or name == "2.8"] != []
    assert len(figure.axes[0].patches) == len(versions)
    assert len(DEVICES) == 6


def test_versions_in_rows_of_their_own_have_their_frameworks_colour() -> None:
    runs = [
        run({"framework": framework, "framework_version": f"2.{minor}", "model": "m", "devices": 8}, 100.0 + minor)
        for framework in FRAMEWORKS[:2]
        for minor in range(MOST_SERIES + 1)
    ]
    bars = versions_figure(extraction(runs)).axes[0].patches
    assert {to_hex(bar.get_edgecolor()).upper() for bar in bars} == {colour_of(name) for name in FRAMEWORKS[:2]}


def test_many_rows_have_their_numbers_above_them_too() -> None:
    for count, above in ((24, False), (60, True)):
        figure = run_values_figure(many(count))
        (axes,) = figure.axes
        renderer, _ = boxes(figure)
        tops = [
            tick.label2.get_window_extent(renderer).y1
            for tick in axes.xaxis.get_major_ticks()
            if tick.label2.get_visible()
        ]
        assert bool(tops) is above
        title = figure.texts[0].get_window_extent(renderer)
        assert title.y0 > max(tops, default=0.0)


def test_the_ticks_of_a_run_do_not_touch_the_name_of_the_next() -> None:
    cases = many(1, runs=3)
    with rc_context(SETTINGS):
        figure = steps_figure(cases, traces(cases))
    renderer, _ = boxes(figure)
    tops = {text.get_text().partition(";")[0]: text.get_window_extent(renderer).y1 for text in figure.texts}
    for axes, name in zip(figure.axes[:2], ("2.log", "3.log"), strict=True):
        tick = axes.xaxis.get_major_ticks()[0].get_tick_padding() / 72 * figure.dpi
        assert axes.get_window_extent(renderer).y0 - tick - tops[name] >= 0.04 * figure.dpi


def test_words_stand_as_high_as_the_marks_beside_them() -> None:
    with rc_context(SETTINGS):
        figures = run_values_figure(many(3)), scaling_figure(many(6))
    renderer, _ = boxes(figures[0])
    (axes,) = figures[0].axes
    points = [point for line in axes.lines if line.get_marker() == "o" for point in np.asarray(line.get_xydata())]
    marks = sorted({round(float(axes.transData.transform(point)[1]), 3) for point in points})
    words = [text.get_window_extent(renderer) for text in figures[0].texts if text.get_text() == "n = 3"]
    middles = sorted((box.y0 + box.y1) / 2 for box in words)
    assert len(marks) == len(middles) == 3
    assert np.allclose(marks, middles, atol=1.5)
    renderer, _ = boxes(figures[1])
    mark = figures[1].artists[-1].get_window_extent(renderer)
    (ideal,) = (text.get_window_extent(renderer) for text in figures[1].texts if text.get_text() == "ideal")
    assert abs((mark.y0 + mark.y1) - (ideal.y0 + ideal.y1)) / 2 <= 1.5
