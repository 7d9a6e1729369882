"""The HTML report: nothing of a log is markup, nothing is loaded, every number is the extraction's; and in a browser it works."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from perflog.cli import app
from perflog.show.contents import contents
from perflog.show.page import inline, page
from perflog.show.picture import picture
from perflog.show.provenance import ReadLogs
from perflog.show.words import BEGINNING
from tests.browser import beyond, complaints, contrast, find, keys, light, needs_browser, opened, waiting_of
from tests.support import FIXTURES, another_training, extracted

SEED = FIXTURES / "seed004"
ONE_CASE = SEED / "logs_fp32/mindspore/resnet50/bz128/1n8g"


class Parsed(HTMLParser):
    """Tags with their attributes, and the text, as a browser would see them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def report(out: Path, *arguments: str) -> str:
    done = CliRunner().invoke(app, ["report", *arguments, "-o", str(out)])
    assert done.exit_code == 0, done.output + str(done.exception)
    return out.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("html") / "report.html"
    report(out, str(SEED), "-w", "100", "-n", "100")
    return out


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The logs of four cases, and their page."""
    folder = tmp_path_factory.mktemp("small")
    for name in ("logs_fp32/mindspore/resnet50/bz128", "logs_fp16/mindspore/resnet50/bz256"):
        for devices in ("1n1g", "4n8g"):
            shutil.copytree(SEED / name / devices, folder / "logs" / name / devices)
    report(folder / "report.html", str(folder / "logs"), "-w", "100", "-n", "100")
    return folder / "logs", folder / "report.html"


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of half of the logs, in English."""
    out = tmp_path_factory.mktemp("half") / "r.html"
    return report(out, str(SEED / "logs_fp32"), "-w", "100", "-n", "100", "--lang", "en")


def test_text_of_logs_and_paths_is_never_markup(tmp_path: Path) -> None:
    folder = tmp_path / "<img src=x onerror=alert(1)>" / "a\"b'$c$ </title>"
    shutil.copytree(ONE_CASE, folder)
    (folder / "<script>.txt").write_text("no log")
    name = "</script><script>alert(1)</script>"
    text = report(tmp_path / "out.html", str(tmp_path), "-w", "100", "--set", f"model={name}")
    parsed = Parsed(text)
    tags = [tag for tag, _ in parsed.tags]
    assert (tags.count("script"), tags.count("img"), tags.count("title"), tags.count("style")) == (1, 0, 1, 1)
    assert [a for _, attributes in parsed.tags for a in attributes if a.startswith("on")] == []
    assert name in parsed.text
    assert "<img src=x onerror=alert(1)>" in parsed.text
    links = [a["href"] or "" for tag, a in parsed.tags if tag == "a"]
    assert [
        link for link in links if not link.startswith("#") and not (tmp_path / Path(_unquoted(link))).is_file()
    ] == []


def _unquoted(link: str) -> Path:
    from urllib.parse import unquote

    return Path(unquote(link))


def test_the_page_holds_everything_and_loads_nothing(small: tuple[Path, Path]) -> None:
    text = small[1].read_text(encoding="utf-8")
    parsed = Parsed(text)
    policy = next(
        a["content"] or ""
        for tag, a in parsed.tags
        if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:")
    assert {tag for tag, _ in parsed.tags} & {
        "link",
        "iframe",
        "img",
        "object",
        "embed",
        "base",
        "form",
        "foreignobject",
    } == set()
    for tag, attributes in parsed.tags:
        for name in ("src", "href", "xlink:href", "action", "style"):
            assert not re.search(r"https?:|//", attributes.get(name) or ""), (tag, attributes)
    assert [a for tag, a in parsed.tags if tag == "script" and a] == []
    assert "url(#" in text and not re.search(r"url\((?!#)|@import", text)
    ids = [a["id"] for _, a in parsed.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {(a["href"] or "")[1:] for _, a in parsed.tags if (a.get("href") or "").startswith("#")} <= set(ids)


def test_every_number_of_the_tables_is_the_extractions(small: tuple[Path, Path]) -> None:
    logs, file = small
    cases = extracted(logs, warmup=100, steps=100).cases
    known = {c.throughput.value for c in cases} | {c.speedup for c in cases}
    parsed = Parsed(file.read_text())
    cells = [a["data-sort"] or "" for tag, a in parsed.tags if tag == "td" and "data-sort" in a]
    assert len(cells) == 4 * 2
    assert {float(cell) for cell in cells} == known
    text = parsed.text
    for run in (run for case in cases for run in case.runs):
        assert f"{run.throughput.value:.10g}" in text
        assert f"{run.throughput.first_line}–{run.throughput.last_line}" in text
        assert run.log.name in text


@pytest.mark.parametrize(
    ("lang", "texts"),
    [
        (
            "en",
            [
                "Environment",
                "not said by the logs",
                "median over n runs",
                "Skipped files",
                "SOURCE.toml",
                "no line of a known format",
            ],
        ),
        (
            "zh",
            [
                "环境",
                "预热 100 步，之后取 100 步",
                "被跳过的文件",
                "路径",
                "100 预热",
                "吞吐(samples/s)",
                "相对单卡的加速比",
            ],
        ),
    ],
)
@pytest.mark.long
def test_both_languages_say_all(lang: str, texts: list[str], half: str, tmp_path: Path) -> None:
    words = ["-w", "100", "-n", "100", "--lang", lang]
    parsed = Parsed(half if lang == "en" else report(tmp_path / "r.html", str(SEED / "logs_fp32"), *words))
    assert [t for t in texts if t not in parsed.text] == []
    assert "perflog report" in parsed.text and "--warmup 100 --steps 100" in parsed.text


def test_a_case_without_a_value_has_its_reason(tmp_path: Path) -> None:
    parsed = Parsed(report(tmp_path / "r.html", str(FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log"), "-w", "1000"))
    assert "400 steps, warm-up 1000" in parsed.text
    assert "82322" in parsed.text


@pytest.mark.long
def test_reasons_are_chinese_in_a_chinese_page(tmp_path: Path) -> None:
    log = str(FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log")
    text = Parsed(report(tmp_path / "r.html", log, "-w", "1000", "--lang", "zh")).text
    assert "该次训练在第 400 步结束，预热为 1000 步" in text and "warm-up 1000" not in text


@pytest.mark.long
def test_an_interval_wider_than_its_number_is_written_without_an_exponent(tmp_path: Path) -> None:
    for number, seconds in enumerate((0.1, 0.1, 0.1, 0.102, 0.04), 1):
        lines = (
            f"Epoch: [0][{step:3}/400]\tTime {seconds:6.3f} ({seconds:6.3f})\tLoss 1.0" for step in range(0, 400, 10)
        )
        log = tmp_path / "rn50" / "bz16" / "1n1g" / f"rn50_b16_fp32_{number}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("\n".join(lines) + "\n")
    page = report(tmp_path / "r.html", str(tmp_path / "rn50"))
    assert "±150 %" in page  # 160 samples/s, the fastest run 400
    assert re.search(r"\de\+\d\d ?%", page) is None


def test_the_same_logs_give_the_same_page_and_only_a_page_is_written_over(
    small: tuple[Path, Path], tmp_path: Path
) -> None:
    logs, file = small
    before = file.read_bytes()
    assert before.startswith(BEGINNING.encode())
    report(file, str(logs), "-w", "100", "-n", "100", "--html")
    assert file.read_bytes() == before
    mine = tmp_path / "mine.html"
    mine.write_text("<p>mine")
    done = CliRunner().invoke(app, ["report", str(logs), "-o", str(mine)])
    assert (done.exit_code, mine.read_text()) == (2, "<p>mine")


def test_a_campaign_of_thirty_cases_stays_small() -> None:
    extraction = extracted(SEED, warmup=100, steps=100)
    more = extracted(SEED, warmup=100, steps=100, set={"model": "other"})
    half = extracted(SEED / "logs_fp32", warmup=100, steps=100, set={"model": "third"})
    extraction.cases += more.cases + half.cases
    assert (len(extraction.cases), len(extraction.runs)) == (30, 150)
    read = ReadLogs(extraction, (), {})
    assert len(page(read, contents(extraction), ["perflog"], Path.cwd(), "en")) < 1_500_000


@pytest.mark.long
def test_cases_that_differ_in_their_version_alone_are_told_apart(tmp_path: Path) -> None:
    for version in ("1.1.0", "1.10.2"):
        for devices in ("1n1g", "1n2g"):
            shutil.copytree(
                ONE_CASE.parent / devices, tmp_path / f"mindspore-{version}" / devices, copy_function=another_training
            )
    text = report(tmp_path / "r.html", str(tmp_path), "-w", "100")
    for version in ("1.1.0", "1.10.2"):
        assert f"<summary>MindSpore rn50 fp32 bs128 2 devices ({version})</summary>" in text
        base = rf'<a href="#([^"]*)">relative to MindSpore rn50 fp32 bs128 1 device \({re.escape(version)}\)'
        address = re.search(base, text)
        assert address and f'<article id="{address[1]}">' in text


def test_cases_that_no_scaling_picture_tells_apart_are_still_reported(tmp_path: Path) -> None:
    for place in ("one", "other"):
        shutil.copytree(ONE_CASE, tmp_path / place / "mindspore/1n8g", copy_function=another_training)
    text = report(tmp_path / "r.html", str(tmp_path), "-w", "100", "--set", "batch_size=128")
    assert 'id="scaling-' not in text and 'id="steps-' in text
    assert "one/mindspore" in Parsed(text).text and "other/mindspore" in Parsed(text).text


def test_the_panel_holds_the_log_lines_that_the_number_stands_on(tmp_path: Path) -> None:
    log = tmp_path / "mindspore/resnet50/bz128/1n1g/rn50_b128_fp32_1.log"
    log.parent.mkdir(parents=True)
    lines = (ONE_CASE.parent / "1n1g" / log.name).read_text(encoding="utf-8").splitlines()
    log.write_text("\n".join(f"{line}\t<b>&\x1b[1m" for line in lines) + "\n", encoding="utf-8")
    text = report(tmp_path / "r.html", str(tmp_path / "mindspore"), "-w", "100", "-n", "100")
    metric = extracted(log.parent, warmup=100, steps=100).cases[0].runs[0].throughput
    shown = re.findall(r"<tr><th>(\d+)<td><code>(.*?)</code>", text)
    numbers = [int(number) for number, _ in shown]
    assert (len(numbers), numbers[0], numbers[-1]) == (6, metric.first_line, metric.last_line)
    assert [unescape(line) for _, line in shown] == [f"{lines[number - 1]}\t<b>&" for number in numbers]
    assert "94 more lines that count" in text  # 100 steps of the window


@pytest.mark.long
def test_an_address_stays_when_logs_are_added(seed: Path, half: str) -> None:
    some, all_ = (set(re.findall(r'data-case="([^"]*)"', text)) for text in (half, seed.read_text(encoding="utf-8")))
    assert len(some) == 6 and some < all_


def test_two_pictures_on_a_page_share_no_id() -> None:
    svg = picture(extracted(SEED / "logs_fp32", warmup=100, steps=100), "scaling", "svg").data
    one, other = (str(inline(svg, name, "words & more")) for name in ("one", "other"))
    ids, others = (set(re.findall(r'id="([^"]*)"', text)) for text in (one, other))
    assert ids and not ids & others
    assert set(re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', one)) <= {(i, "") for i in ids} | {("", i) for i in ids}
    assert "words &amp; more" in one and "matplotlib.org" not in one and "<style" not in one


# ---------------------------------------------------------------- in a browser


def column(browser: Any, at: int) -> list[str]:
    texts: list[str] = browser.execute_script(
        f"return Array.from(document.querySelectorAll('.results tbody tr'), r => r.cells[{at}].dataset.sort)"
    )
    return texts


@needs_browser
@pytest.mark.long
def test_a_click_on_a_heading_sorts_both_ways(browser: Any, seed: Path) -> None:
    opened(browser, seed)
    heading = find(browser, "th[data-column='3']")
    find(browser, "th[data-column='3'] button").click()
    values = [float(v) for v in column(browser, 3)]
    assert (heading.get_attribute("aria-sort"), values) == ("ascending", sorted(values))
    keys(browser, "ENTER")
    assert (heading.get_attribute("aria-sort"), column(browser, 3)) == (
        "descending",
        [repr(v) for v in sorted(values, reverse=True)],
    )
    find(browser, "th[data-column='0'] button").click()
    assert column(browser, 0) == ["1", "2", "4", "8", "16", "32"]
    assert [h.get_attribute("aria-sort") for h in browser.find_elements("css selector", "th[data-column]")].count(
        "none"
    ) == 4
    assert complaints(browser) == []


@needs_browser
@pytest.mark.long
def test_what_is_missing_stays_last(browser: Any, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for devices in ("1n1g", "1n2g", "1n4g"):
        shutil.copytree(ONE_CASE.parent / devices, logs / "mindspore/resnet50/bz128" / devices)
    for log in (logs / "mindspore/resnet50/bz128/1n2g").iterdir():
        log.write_text("".join(log.read_text().splitlines(keepends=True)[:100]))
    report(tmp_path / "r.html", str(logs), "-w", "100")
    opened(browser, tmp_path / "r.html")
    for _ in range(2):
        find(browser, "th[data-column='1'] button").click()
        assert column(browser, 1)[-1] == ""
    find(browser, ".results tbody tr:last-child td a").click()
    assert "steps, warm-up 100" in find(browser, "#panel-body").text


@pytest.mark.long
@needs_browser
def test_a_click_on_a_number_shows_where_it_comes_from(browser: Any, seed: Path) -> None:
    opened(browser, seed)
    case = next(
        c
        for c in extracted(SEED, warmup=100, steps=100).cases
        if c.key["devices"] == 4 and c.key["precision"] == "fp32"
    )
    row = "//table[contains(@class, 'results')]//tr[th[@data-sort='4']]"
    browser.find_element("xpath", f"{row}/td[1]").click()
    panel = find(browser, "#panel")
    assert panel.is_displayed()
    for run in case.runs:
        for text in (
            run.log.name,
            f"{run.throughput.first_line}–{run.throughput.last_line}",
            f"{run.throughput.value:.10g}",
        ):
            assert text in panel.text
    low, level = case.throughput.low, case.throughput.level
    for text in (
        case.name,
        "100 left out: 100 warm-up",
        "mindspore",
        f"[{low:.2f}",
        f"{100 * (level or 0):.4g}%",
        "precision=fp32",
        "(path)",
    ):
        assert text in panel.text
    keys(browser, "ESCAPE")
    assert not panel.is_displayed()
    link = browser.find_element("xpath", f"{row}/td[2]/a")
    link.send_keys("\ue007")  # Enter
    assert panel.is_displayed()
    assert "speedup" in find(browser, "#panel tr.chosen").text
    find(browser, "#panel tr.chosen a").click()  # its baseline
    assert find(browser, "#panel-title").text.endswith("1 device")
    find(browser, "#panel button").click()
    assert not panel.is_displayed()
    assert browser.switch_to.active_element == link
    assert complaints(browser) == []


@needs_browser
@pytest.mark.parametrize(
    ("width", "dark"),
    [
        (390, True),
        (1400, False),
        *(pytest.param(*look, marks=pytest.mark.long) for look in [(390, False), (1400, True)]),
    ],
)
@pytest.mark.long
def test_the_page_fits_and_can_be_read(browser: Any, seed: Path, width: int, dark: bool) -> None:
    opened(browser, seed, width, dark)
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    assert beyond(browser, width) == 0
    ground, ink = browser.execute_script(
        "const s = getComputedStyle(document.documentElement); return [s.backgroundColor, s.color]"
    )
    assert contrast(ground, ink) > 7
    assert (light(ground) < 0.1) is dark
    for css in (".lead", ".results td a", "nav a", ".path", "thead th"):
        assert contrast(ground, find(browser, css).value_of_css_property("color")) > 4.5, css
    words = find(browser, ".picture svg text")
    assert contrast(ground, words.value_of_css_property("fill")) > 7
    find(browser, ".results td a").click()
    panel = find(browser, "#panel")
    assert browser.execute_script("return arguments[0].scrollWidth <= arguments[0].clientWidth", panel)
    assert panel.rect["width"] == width if width < 500 else panel.rect["width"] < width
    assert complaints(browser) == []


@needs_browser
def test_a_hostile_name_runs_nothing(browser: Any, tmp_path: Path) -> None:
    logs = tmp_path / "<img src=x onerror=document.title=1>"
    shutil.copytree(ONE_CASE, logs)
    out = tmp_path / "r.html"
    report(out, str(logs), "-w", "100", "--set", "model=</script><script>document.title=2</script>")
    opened(browser, out)
    find(browser, ".results td a").click()
    assert "<img src=x onerror=document.title=1>" in find(browser, "#panel-body").text
    assert browser.title.endswith("training performance")
    assert complaints(browser) == []


@pytest.mark.long
@needs_browser
def test_without_scripts_numbers_lead_to_the_details(browser: Any, seed: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        opened(browser, seed)
        assert browser.find_elements("css selector", "th button") == []
        find(browser, ".results td a").click()
        place = browser.current_url.partition("#")[2]
        assert re.fullmatch(r"case-mindspore-rn50-fp32-bs128-1-device-[0-9a-f]{6}/throughput", place)
        assert "369.80" in browser.find_element("id", place).text
        assert "rn50_b128_fp32_1.log" in browser.find_element("id", place.partition("/")[0]).text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@needs_browser
@pytest.mark.long
def test_a_number_has_an_address_that_opens_its_panel(browser: Any, seed: Path) -> None:
    opened(browser, seed)
    find(browser, ".results tbody tr:nth-child(3) td a").click()
    address, title = browser.current_url, find(browser, "#panel-title").text
    assert re.search(r"#case-mindspore-rn50-fp32-bs128-4-devices-[0-9a-f]{6}/throughput$", address)
    keys(browser, "ESCAPE")
    assert "#" not in browser.current_url and not find(browser, "#panel").is_displayed()
    browser.back()
    browser.get("about:blank")
    browser.get(address)
    assert (find(browser, "#panel").is_displayed(), find(browser, "#panel-title").text) == (True, title)
    assert find(browser, "#panel tr.chosen th").text == "throughput"
    assert browser.execute_script("return document.getElementById('panel').scrollTop") == 0
    assert find(browser, "#panel .lines code").text.startswith("epoch time:")
    assert complaints(browser) == []


@needs_browser
@pytest.mark.long
def test_words_filter_rows_and_are_found_in_details(browser: Any, seed: Path) -> None:
    opened(browser, seed)
    rows = "return Array.from(document.querySelectorAll('.results tbody tr')).filter(r => r.offsetParent).length"
    assert browser.execute_script(rows) == 6
    box = find(browser, "#search")
    box.send_keys("10732")
    wait = waiting_of(browser)
    wait.until(lambda _: browser.execute_script(rows) == 1)
    assert find(browser, "#search-count").text == "1 / 6"
    for words, left in (("8", ["8"]), ("bs128 16", ["16"]), ("amp", []), ("sam 4", ["4"])):
        box.clear()
        box.send_keys(words)
        wait.until(lambda _, left=left: shown_devices(browser) == left)
    box.clear()
    box.send_keys("rn50_b128_fp32_3.log 4n8g")
    found = "return Array.from(document.querySelectorAll('#search-found a'), a => a.textContent)"
    wait.until(lambda _: browser.execute_script(found) == ["MindSpore rn50 fp32 bs128 32 devices"])
    assert browser.execute_script(rows) == 0
    find(browser, "#search-found a").click()
    assert find(browser, "#panel-title").text == "MindSpore rn50 fp32 bs128 32 devices"
    keys(browser, "ESCAPE")
    case = next(c for c in extracted(SEED, warmup=100, steps=100).cases if c.key["devices"] == 2)
    box.clear()
    box.send_keys(f"{case.runs[0].throughput.value:.10g}")  # stands in a cell of the details, beside others
    wait.until(lambda _: browser.execute_script(found) == [case.name])
    assert complaints(browser) == []


def shown_devices(browser: Any) -> list[str]:
    """The devices of the rows that a filter leaves."""
    of_rows = "Array.from(document.querySelectorAll('.results tbody tr')).filter(r => r.offsetParent)"
    return [str(text) for text in browser.execute_script(f"return {of_rows}.map(r => r.cells[0].textContent)")]


@needs_browser
@pytest.mark.long
def test_a_wide_table_says_that_it_scrolls(browser: Any, seed: Path) -> None:
    for width, hidden in ((390, False), (1400, True)):
        opened(browser, seed, width)
        waiting_of(browser).until(lambda _, want=hidden: find(browser, ".sideways").is_displayed() is not want)
        box = find(browser, ".tabled > .scroll")
        assert browser.execute_script("return arguments[0].scrollWidth > arguments[0].clientWidth", box) is not hidden


@needs_browser
def test_it_prints_light_and_without_controls(browser: Any, small: tuple[Path, Path]) -> None:
    opened(browser, small[1], dark=True)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not find(browser, "nav").is_displayed()
        assert light(browser.execute_script("return getComputedStyle(document.documentElement).backgroundColor")) == 1
        assert json.loads(
            browser.execute_script("return JSON.stringify(document.documentElement.scrollWidth <= innerWidth)")
        )
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.long
def test_a_page_is_the_same_to_the_byte_each_time_it_is_made(tmp_path: Path) -> None:
    """In processes whose sets have other orders, with one thread and with several; the page names the file alone."""
    pages = []
    for number, threads in enumerate(("1", "2", "4")):
        place = tmp_path / str(number)
        place.mkdir()
        shutil.copytree(SEED, place / "logs")
        environment = {**os.environ, "PYTHONHASHSEED": str(number), "PERFLOG_THREADS": threads}
        command = [sys.executable, "-m", "perflog", "report", "logs", "-w", "100", "-o", "page.html", "-q"]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        pages.append((place / "page.html").read_bytes())
    assert pages[0] == pages[1] == pages[2]
    assert b"-o page.html" in pages[0]
