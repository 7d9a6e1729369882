"""Pictures: they say what they show, and the same logs give the same bytes."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.font_manager import fontManager

from perflog.cases.versions import compared
from perflog.errors import UsageError
from perflog.extraction import extract_logs
from perflog.logs.find import find_logs
from perflog.measurements.rows import Store
from perflog.measurements.segment import Segment
from perflog.reading.reading import Reading
from perflog.runs.run import Metric
from perflog.runs.throughput import RunMeasurements
from perflog.show.drawing import CHINESE_FONTS, font_for, without_glyph
from perflog.show.picture import described, picture
from perflog.show.steps import POINTS, seen_trace, sight_of_traces, trace_from
from tests.show import made
from tests.support import FIXTURES, another_training, catalog, extracted, options

ONE = FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log"

SEED = FIXTURES / "seed004"


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("scaling", ["samples/s", "ideal", "fp16 bs256", "fp32 bs128", "n = 5"]),
        ("spread", ["32 devices", "1 device", "n = 5"]),
    ],
)
def test_a_picture_says_what_it_shows(kind: str, texts: list[str]) -> None:
    extraction = extracted(SEED, warmup=100, steps=100)
    drawn = picture(extraction, kind, "svg").data.decode()
    assert [text for text in texts if text not in drawn] == []
    assert picture(extraction, kind, "svg").data.decode() == drawn
    assert picture(extraction, kind, "png").data.startswith(b"\x89PNG")
    assert "n = 5" in described(extraction, kind)


def test_a_series_without_a_name_has_no_entry_in_the_legend(tmp_path: Path) -> None:
    for devices, rate in ((1, 100), (2, 190)):
        lines = (f"Step {step} | loss {step / 7:.3f} | {rate + step % 7}.5 samples/s\n" for step in range(1, 90))
        (tmp_path / f"{devices}gpu.log").write_text("".join(lines))
    read = extracted(tmp_path, as_=["Step {step} | loss 0.1 | {rate:samples/s:last} samples/s"])
    drawn = picture(read, "scaling", "svg").data.decode()
    legend = drawn[drawn.index("speedup over") : drawn.index(">ideal<")]
    assert legend.count('id="line2d') == 1, "no mark stands there without a word"


def test_a_panel_that_stands_alone_has_the_width_of_the_picture() -> None:
    cases = made.extraction([made.run({"devices": d}, 100 - d, "steps/s") for d in (1, 2)])
    drawn = picture(cases, "scaling", "svg").data.decode()
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', drawn)[1])  # type: ignore[index]
    below = float(re.search(r'x="([\d.]+)"[^>]*>devices<', drawn)[1])  # type: ignore[index]
    assert below == pytest.approx(width / 2, rel=0.1)


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(UsageError, match="no case has a value"):
        picture(extracted(FIXTURES / "seed001", warmup=100000), "scaling", "svg")


def versions(folder: Path, *cases: tuple[str, str]) -> Path:
    """The fp32 campaign's logs as those of framework versions; a later version's steps take 0.8 of the time."""
    for version, devices in cases:
        out = folder / f"mindspore-{version}/resnet50/bz128" / devices
        out.mkdir(parents=True)
        for log in (SEED / "logs_fp32/mindspore/resnet50/bz128" / devices).iterdir():
            text = log.read_text(encoding="utf-8")
            faster = re.sub(r"time: ([0-9.]+)", lambda t: f"time: {0.8 * float(t[1]):.3f}", text)
            (out / log.name).write_text(text if version == "1.1.0" else faster, encoding="utf-8")
    return folder


def test_versions_stand_side_by_side(tmp_path: Path) -> None:
    logs = versions(
        tmp_path, ("1.1.0", "1n1g"), ("1.1.0", "1n8g"), ("1.1.0", "4n8g"), ("1.10.2", "1n1g"), ("1.10.2", "1n8g")
    )
    extraction = extracted(logs, warmup=100, steps=100)
    groups = compared(extraction.cases)
    assert [list(group) for group in groups] == [["1.1.0", "1.10.2"]] * 2
    assert [group["1.1.0"].key["devices"] for group in groups] == [1, 8]
    old, new = (groups[1][v].throughput.value for v in ("1.1.0", "1.10.2"))
    assert old and new and new / old == pytest.approx(1.25, rel=1e-4)
    drawn = picture(extraction, "versions", "svg").data.decode()
    for text in (
        "1.1.0",
        "1.10.2",
        "1 device",
        "8 devices",
        f"{old:.2f} samples/s",
        f"{new:.2f} samples/s",
        "interval of each median",
        "n = 5",
    ):
        assert text in drawn
    assert "32 devices" not in drawn
    assert picture(extraction, "versions", "svg").data.decode() == drawn
    assert picture(extraction, "versions", "png").data.startswith(b"\x89PNG")
    assert described(extraction, "versions").startswith("Throughput of versions 1.1.0, 1.10.2 of MindSpore rn50 fp32: ")


def test_a_folder_of_versions_is_told_to_be_named_by_its_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for version in ("v1", "v2"):
        for log in sorted((SEED / "logs_fp32/mindspore/resnet50/bz128/1n1g").glob("*.log")):
            another_training(log, tmp_path / "all" / version / "1n1g" / log.name)
    with pytest.raises(UsageError, match=r"If each folder holds a version, name the folders: all/v1 all/v2$"):
        picture(extracted("all"), "versions", "svg")
    with pytest.raises(UsageError, match=r"name the logs of both$"):
        picture(extracted("all/v1"), "versions", "svg")


def test_versions_need_two_of_a_case(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two framework versions are compared and there is none"):
        picture(extracted(SEED / "logs_fp32", warmup=100), "versions", "svg")
    with pytest.raises(UsageError, match=r"1\.1\.0 is the only one"):
        picture(extracted(versions(tmp_path / "a", ("1.1.0", "1n1g")), warmup=100), "versions", "svg")
    differing = r"no case is there in two of 1\.1\.0, 1\.10\.2: .*nearest: devices is 2 and 1"
    with pytest.raises(UsageError, match=differing):
        picture(
            extracted(versions(tmp_path / "b", ("1.1.0", "1n1g"), ("1.10.2", "1n2g")), warmup=100), "versions", "svg"
        )


def test_a_name_with_dollars_is_no_formula_and_breaks_no_picture() -> None:
    extraction = extracted(SEED / "logs_fp32", warmup=100, set={"framework": "a$\\frac{$b\x1f<&"})
    drawn = picture(extraction, "scaling", "svg").data.decode()
    ElementTree.fromstring(drawn)
    assert "a$\\frac{$b\\x1f&lt;&amp;" in drawn


def test_step_times_shade_what_is_left_out() -> None:
    logs = find_logs([SEED / "logs_fp32/mindspore/resnet50/bz128/1n8g"])
    sight, found = sight_of_traces()
    extraction = extract_logs(logs, options(warmup=100, steps=100), catalog(), sight=sight)
    assert len(found) == 5
    for trace in found:
        assert trace.window == (100, 200)
        inside = (trace.steps > 100) & (trace.steps <= 200)
        step_time = trace.run.metrics["step_time"].value
        assert step_time is not None
        assert trace.seconds[inside].mean() == pytest.approx(step_time, rel=1e-9)
    drawn = picture(extraction, "steps", "svg", found).data.decode()
    assert "left out" in drawn
    assert "(5 runs)" in drawn
    assert [trace.run.log.name.rpartition("/")[2] in drawn for trace in found] == [True] * 5


def test_a_long_run_is_thinned_out_and_keeps_its_time() -> None:
    store = Store()
    n = 10 * POINTS + 7
    rows = np.ones((7, n))
    rows[0], rows[1] = np.arange(n), np.arange(n) + 1
    store.append(rows)
    run = extracted(ONE, warmup=20).runs[0]
    run.throughput.first_step, run.throughput.last_step = 0.0, float(n)
    run.metrics["step_time"] = Metric("step_time", 0.5, "s", "total")
    pattern = next(iter(catalog().by_name[run.parser].patterns))
    seen = seen_trace(RunMeasurements(run, Reading(run.log), pattern, {0: Segment(store=store)}))
    assert seen is not None
    thin = trace_from(run, seen)
    assert len(thin.steps) <= POINTS
    assert np.allclose(thin.seconds, 0.5)


def test_chinese_in_a_png_without_a_font_for_it_is_said() -> None:
    """The texts that no font has are named; a font that has them takes their place beside the usual one."""
    models = ("\u6b8b\u5dee", "rn50")
    cases = made.extraction([made.run({"model": m, "devices": n}, 100.0 * n) for m in models for n in (1, 2)])
    drawn = picture(cases, "scaling", "png")
    installed = {entry.name for entry in fontManager.ttflist} & set(CHINESE_FONTS)
    assert drawn.gaps == ("" if installed else "\u5dee\u6b8b")
    assert picture(cases, "scaling", "svg").gaps == ""
    assert picture(made.many(6), "scaling", "png").gaps == ""


def test_the_characters_that_a_font_lacks() -> None:
    assert without_glyph("a \u6b8b\u5dee\u6b8b \u00b1") == "\u5dee\u6b8b"
    assert font_for("") == ("", "")
