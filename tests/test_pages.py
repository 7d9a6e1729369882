"""Pages in a browser, all kinds alike: at a desk's width and a phone's, light and dark, by keyboard, and judged by axe.

What is each page's own (sorting, the panel of a number, two campaigns side by side) stands with its other tests.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from perflog.cli import app
from perflog.escaping import csv_cell, markdown
from perflog.history import series
from perflog.show.text import number
from tests.browser import (
    HEIGHTS,
    LOOKS,
    beyond,
    complaints,
    find,
    findings_of_axe,
    keys,
    needs_browser,
    opened,
    pinched,
    tabbed_to,
    waiting_of,
)
from tests.history.test_level_changes import saved
from tests.support import FIXTURES

SEED = FIXTURES / "seed004"
KINDS = ("report", "report of many", "comparison", "history", "history of a case", "history beside")
#: The first number of each kind of page: on the first screen.
FIRST = {
    "report": ".headline a[href$='/throughput']", "report of many": ".headline a[href$='/throughput']",
    "comparison": ".table td.number", "history": ".table td.number", "history beside": ".table td.number",
}  # fmt: skip
#: What else is on a desk's first screen.
ROW = {"report": ".results tbody tr", "report of many": ".results tbody tr"}


def _made(*words: str) -> None:
    done = CliRunner().invoke(app, [*words, "-q"])
    assert done.exit_code == 0, done.output + str(done.exception)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    _made("report", str(SEED), "-w", "100", "-n", "100", "-o", str(folder / "one.html"))
    several = [str(FIXTURES / f"seed00{seed}") for seed in (1, 2, 3)]
    _made("report", *several, "-w", "20", "-o", str(folder / "many.html"))
    releases = FIXTURES / "campaign/releases"
    _made("compare", str(releases / "2.12.1"), str(releases / "2.13.0"), "-o", str(folder / "compared.html"))
    _made("history", "--database", saved(folder / "h.sqlite", moved=20), "-o", f"{folder / 'site'}/")
    site = folder / "site"
    (case,) = site.glob("cases/*bert*.html")
    files: list[str | Path] = ["one.html", "many.html", "compared.html", "site/index.html", case, "site/campaigns.html"]
    return {kind: folder / file for kind, file in zip(KINDS, files, strict=True)}


@needs_browser
def test_the_helpers_find_what_is_wrong(browser: Any, tmp_path: Path) -> None:
    """A page with faults: else tests that find none would say nothing."""
    page = tmp_path / "faults.html"
    page.write_text(
        "<!DOCTYPE html><html lang=en><meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; "
        "style-src 'unsafe-inline'\"><title>Faults</title><main><h1>Faults</h1><input>"
        "<p style='color: #bbb; background: #fff'>pale</p><div style='width: 500px'>wide</div></main>"
    )
    opened(browser, page, 390)
    found = findings_of_axe(browser)
    assert {text.partition(":")[0] for text in found} == {"color-contrast", "label"}, found
    assert findings_of_axe(browser, "h1") == []
    assert beyond(browser, 390) > 100


@needs_browser
@pytest.mark.parametrize(("width", "dark"), LOOKS)
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_and_the_first_number_is_on_the_first_screen(
    browser: Any, pages: Mapping[str, Path], kind: str, width: int, dark: bool
) -> None:
    opened(browser, pages[kind], width, dark)
    assert beyond(browser, width) == 0
    assert findings_of_axe(browser) == []
    if kind in FIRST:
        box = find(browser, FIRST[kind]).rect
        assert box["y"] + box["height"] < HEIGHTS[width] and box["x"] + box["width"] <= width
    if kind in ROW and width == 1400:
        box = find(browser, ROW[kind]).rect
        assert box["y"] + box["height"] < HEIGHTS[width]
    assert complaints(browser) == []


@needs_browser
@pytest.mark.parametrize(("width", "dark"), LOOKS[1:3])
def test_axe_finds_nothing_in_the_panel_of_a_number(
    browser: Any, pages: Mapping[str, Path], width: int, dark: bool
) -> None:
    opened(browser, pages["report"], width, dark)
    find(browser, ".headline a").click()
    assert find(browser, "#panel").is_displayed()
    assert findings_of_axe(browser) == []


# ---------------------------------------------------------------- the report


def _shown(browser: Any) -> list[str]:
    """The titles of the sections that are shown."""
    script = (
        "return Array.from(document.querySelectorAll('.part h3')).filter(h => h.offsetParent).map(h => h.innerText)"
    )
    return [re.sub(r"\s+\d+ cases?$", "", title) for title in browser.execute_script(script)]


def _heads(browser: Any) -> list[str]:
    script = "return Array.from(document.querySelectorAll('.results th[data-name]:not([hidden])'), h => h.dataset.name)"
    return list(browser.execute_script(script))


def _order(browser: Any) -> list[float]:
    """The numbers of the column by which a table that is shown is sorted, those that there are."""
    script = """
        const [head] = Array.from(document.querySelectorAll("th[aria-sort$=scending]")).filter((th) => th.offsetParent);
        return head ? Array.from(head.closest("table").tBodies[0].rows).filter((row) => row.offsetParent)
          .map((row) => row.cells[head.dataset.column].dataset.sort).filter(Boolean).map(Number) : []"""
    return list(browser.execute_script(script))


@needs_browser
@pytest.mark.parametrize("kind", ["comparison", "history", "history of a case", "history beside"])
def test_every_page_of_tables_copies_them_as_they_are_shown(browser: Any, pages: Mapping[str, Path], kind: str) -> None:
    opened(browser, pages[kind])
    rows = list(csv.reader(io.StringIO(_copied(browser, "csv"))))
    table = find(browser, ".scroll:has(~ .copy) table")
    shown = [
        [cell.text for cell in row.find_elements("css selector", "th, td")]
        for row in table.find_elements("css selector", "tbody tr")
    ]
    assert len(rows) == len(shown) + 1 and len({len(row) for row in rows}) == 1
    for own, cells in zip(rows[1:], shown, strict=True):
        texts = [" ".join(text.split()) for text in cells]  # with the marks of notes, which are not copied
        assert all(any(text.startswith(copied.removeprefix("'")) for text in texts) for copied in own), (own, texts)
    assert len(_copied(browser, "markdown").splitlines()) == len(rows) + 1
    assert complaints(browser) == []


@needs_browser
def test_two_campaigns_are_sorted_by_either_and_the_address_says_it(browser: Any, pages: Mapping[str, Path]) -> None:
    opened(browser, pages["history beside"])
    tabbed_to(browser, "th[data-side='new'] button")
    keys(browser, "ENTER")
    assert browser.current_url.endswith("?sort=.3")
    order = _order(browser)
    assert len(order) > 1 and order == sorted(order)
    browser.get("about:blank")
    opened(browser, pages["history beside"].as_uri() + "?sort=.-3")
    assert _order(browser) == order[::-1]
    find(browser, "#new option:first-child").click()
    assert find(browser, "th[data-side='new'] button").text == find(browser, "#new option:first-child").text


@needs_browser
def test_a_view_is_its_address(browser: Any, pages: Mapping[str, Path]) -> None:
    """Words, section, columns and order that were chosen by keyboard are in the address, which shows the same again."""
    opened(browser, pages["report of many"])
    every, columns = _shown(browser), set(_heads(browser))
    assert len(every) > 2 and {"throughput", "label"} < columns
    tabbed_to(browser, "#search")
    keys(browser, "8")
    waiting_of(browser).until(lambda _: "q=8" in browser.current_url)
    tabbed_to(browser, "#columns summary")
    keys(browser, "ENTER")
    tabbed_to(browser, "#columns input")
    keys(browser, "SPACE")
    tabbed_to(browser, "nav.parts button")
    keys(browser, "ENTER")
    tabbed_to(browser, ".results th[data-name='throughput'] button")
    keys(browser, "ENTER", "ENTER")  # the greatest first
    address, one, left = browser.current_url, _shown(browser), _heads(browser)
    assert re.search(r"\?q=8&hide=\w+&part=[\w.-]+&sort=[\w.-]+\.(-?\d+)$", address), address
    order = _order(browser)
    assert len(order) > 1 and order == sorted(order, reverse=True)
    assert len(one) == 1 and set(left) < columns
    rows = "return Array.from(document.querySelectorAll('.results tbody tr')).filter(r => r.offsetParent).length"
    shown = browser.execute_script(rows)
    browser.get("about:blank")
    browser.get(address)
    assert (_shown(browser), _heads(browser), browser.execute_script(rows)) == (one, left, shown)
    assert find(browser, "#search").get_attribute("value") == "8"
    assert _order(browser) == order
    find(browser, "nav.parts [aria-pressed='true']").click()
    assert len(_shown(browser)) > 1
    assert complaints(browser) == []


@needs_browser
def test_columns_of_groups_can_be_left_out(browser: Any, pages: Mapping[str, Path]) -> None:
    opened(browser, Path(f"{pages['report']}").as_uri() + "?hide=speedup")
    assert set(_heads(browser)) == {"devices", "throughput"}
    widths = "return Array.from(document.querySelectorAll('th.group'), g => g.colSpan)"
    assert browser.execute_script(widths) == [1, 1]
    cells = (
        "return Array.from(document.querySelectorAll('.results tbody tr:first-child td')).filter(c => !c.hidden).length"
    )
    assert browser.execute_script(cells) == 2


def _copied(browser: Any, form: str) -> str:
    """What a button puts into the clipboard."""
    browser.execute_script("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    browser.execute_script("window.copied = ''")
    find(browser, f".copy [data-form='{form}']").click()
    waiting_of(browser).until(lambda _: find(browser, ".copy output").text == "Copied")
    return str(browser.execute_script("return window.copied"))


@needs_browser
def test_a_table_is_copied_with_the_numbers_of_its_logs(browser: Any, pages: Mapping[str, Path]) -> None:
    extraction = json.loads(
        CliRunner().invoke(app, ["extract", str(SEED), "-w", "100", "-n", "100", "-f", "json", "-q"]).stdout
    )
    values = {
        (case["case"]["precision"], str(case["case"]["devices"])): case["metrics"]["throughput"]["value"]
        for case in extraction["cases"]
    }
    opened(browser, pages["report"])
    rows = list(csv.DictReader(io.StringIO(_copied(browser, "csv"))))
    copied = {
        (group.split()[0], row["devices"]): float(text)
        for row in rows
        for group, text in row.items()
        if group.endswith("throughput (samples/s)")
    }
    assert copied == values
    find(browser, "#search").send_keys("16")
    waiting_of(browser).until(lambda _: find(browser, "#search-count").text == "1 / 6")
    lines = _copied(browser, "markdown").splitlines()
    assert lines[1] == "|---:|---:|---:|---:|---:|" and len(lines) == 3
    assert lines[2].startswith("| 16 | ") and "±" in lines[2]


@needs_browser
@pytest.mark.parametrize("name", ["=1+1", "a|b<i>*x*_y_`z`[l](m)~$&", 'quo"ted, and\\'])
def test_copied_names_are_escaped_as_in_every_other_output(browser: Any, tmp_path: Path, name: str) -> None:
    logs = tmp_path / "logs/mindspore/resnet50/bz128"
    for place in ("1n1g", "1n2g"):
        shutil.copytree(SEED / "logs_fp32/mindspore/resnet50/bz128" / place, logs / place)
    _made("report", str(logs), "--set", f"site={name}", "--rows", "site,devices", "-o", str(tmp_path / "r.html"))
    opened(browser, tmp_path / "r.html")
    first = next(csv.DictReader(io.StringIO(_copied(browser, "csv"))))
    assert first["site"] == csv_cell(name)
    assert f"| {markdown(name)} |" in _copied(browser, "markdown")


@needs_browser
def test_a_point_of_a_picture_says_its_number_and_leads_to_its_lines(browser: Any, pages: Mapping[str, Path]) -> None:
    opened(browser, pages["report"])
    points = browser.find_elements("css selector", ".part .picture [data-point]")
    assert len(points) == 12 + 12  # throughput and speedup of each case
    chains: Any = pytest.importorskip("selenium.webdriver.common.action_chains")
    for point in (points[0], points[17]):
        address = point.get_attribute("data-point")
        cell = find(browser, f".results a[href='#{address}']")
        chains.ActionChains(browser).move_to_element(point).perform()
        text = find(browser, "#tip").text
        name, value = text.rsplit(": ", 1)
        assert value.split()[1] == cell.text, text
        chains.ActionChains(browser).click().perform()
        assert find(browser, "#panel-title").text == name
        assert browser.current_url.endswith(f"#{address}")
        keys(browser, "ESCAPE")
    assert complaints(browser) == []


@needs_browser
def test_a_mark_says_its_note(browser: Any, pages: Mapping[str, Path]) -> None:
    opened(browser, pages["report of many"])
    marks = browser.find_elements("css selector", ".results sup a")
    assert marks
    for mark in marks:
        note = find(browser, f"[id='{mark.get_attribute('href').partition('#')[2]}']")
        assert mark.get_attribute("title") == note.get_attribute("textContent") != ""


# ---------------------------------------------------------------- the history


@needs_browser
@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_a_curve_says_each_point_by_keyboard_and_can_be_seen_closer(
    browser: Any, pages: Mapping[str, Path], width: int, dark: bool
) -> None:
    """What it says against the history's medians; a part of the campaigns, and all of them again."""
    database = str(pages["comparison"].parent / "h.sqlite")
    (line,) = (line for line in series(database, {}) if "bert" in line.name)
    opened(browser, pages["history of a case"], width, dark)
    tabbed_to(browser, ".chart-box")
    for point in line.points[:3]:
        keys(browser, "ARROW_RIGHT")
        text = find(browser, "#curve-point").text
        assert text.startswith(f"{point.campaign} ({point.date:%Y-%m-%d}): {number(point.summary.value)} "), text
    keys(browser, "END")
    assert find(browser, "#curve-point").text.startswith(f"{line.points[-1].campaign} (")
    assert not find(browser, "#curve-all").is_displayed()
    keys(browser, "+")
    assert find(browser, "#curve-all").is_displayed()
    find(browser, "#curve-all").click()
    assert not find(browser, "#curve-all").is_displayed()
    box, canvas = find(browser, ".chart-box").rect, find(browser, ".chart-box canvas").rect
    assert canvas["width"] <= box["width"] <= width and beyond(browser, width) == 0
    assert findings_of_axe(browser) == [] and complaints(browser) == []


@needs_browser
def test_two_fingers_show_a_part_of_a_curve(browser: Any, pages: Mapping[str, Path]) -> None:
    opened(browser, pages["history of a case"], 390)
    assert not find(browser, "#curve-all").is_displayed()
    pinched(browser, ".chart-box .u-over", 3)
    assert find(browser, "#curve-all").is_displayed()
    pinched(browser, ".chart-box .u-over", 0.1)
    assert not find(browser, "#curve-all").is_displayed()


@needs_browser
def test_without_scripts_the_curve_is_a_picture(browser: Any, pages: Mapping[str, Path]) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        opened(browser, pages["history of a case"])
        assert len(browser.find_elements("css selector", "svg.chart circle")) == 24
        assert not find(browser, ".curve-words").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
