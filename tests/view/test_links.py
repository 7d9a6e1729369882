"""Pages lead from a number to its runs over time."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import perflog as library
from perflog.errors import UsageError
from perflog.show.case_table import Shown, case_tables
from perflog.show.links import log_key
from perflog.show.text import to_people
from tests.browser import find, needs_browser, opened
from tests.forks import perflog
from tests.support import FIXTURES
from tests.view.test_records import seen
from tests.view.test_view import ready

_LINK = re.compile(r"\x1b\]8;;(file:[^\x1b]+)\x1b\\([^\x1b]*)\x1b\]8;;\x1b\\")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
CAMPAIGN = FIXTURES / "campaign" / "short"


def run(*words: str, status: int = 0) -> Any:
    made = perflog(*words, cwd=Path.cwd())
    assert made.returncode == status, made.stderr
    return made


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(CAMPAIGN, tmp_path / "logs")
    return "logs"


def followed(browser: Any, page: Path, link: Any) -> set[str]:
    """The names of the runs that a link of a page shows."""
    address = link.get_attribute("href")
    parts = urlsplit(address)
    target = Path(unquote(parts.path))
    assert target.is_file(), f"{page} leads to {address}"
    opened(browser, target)
    browser.get("about:blank")
    browser.get(address)
    ready(browser)
    shown: set[str] = set(browser.execute_script(
        "return [...document.querySelectorAll('.run h2')].map((title) => title.firstChild.textContent)"
    ))  # fmt: skip
    return shown


@needs_browser
def test_a_number_of_a_report_leads_to_the_runs_of_its_case_and_a_log_to_its_own(
    browser: Any, logs: str, tmp_path: Path
) -> None:
    (tmp_path / "pages").mkdir()
    run("report", logs, "-o", "pages/report.html", "--view", "runs over time.html")
    cases = seen(logs).extraction.cases
    opened(browser, tmp_path / "pages" / "report.html")
    find(browser, ".headline a").click()
    (of_case, *of_logs) = browser.find_elements("css selector", "#panel a[href*='#logs=']")
    own = of_logs[0].get_attribute("href")
    shown = followed(browser, tmp_path / "pages" / "report.html", of_case)
    wanted = [{r.log.name.removeprefix("logs/") for r in one.runs} for one in cases]
    assert shown in wanted
    browser.get("about:blank")
    browser.get(own)
    ready(browser)
    (title,) = browser.find_elements("css selector", ".run h2")
    assert any(title.text.startswith(name) for name in shown)


@needs_browser
def test_a_change_of_a_comparison_leads_to_the_runs_of_both_sides(browser: Any, logs: str, tmp_path: Path) -> None:
    run("compare", f"{logs}/mxnet", f"{logs}/mindspore", "--across", "framework", "-o", "c.html", "--view", "v.html")
    opened(browser, tmp_path / "c.html")
    link = find(browser, ".table a[href*='logs=']")
    assert "look=overlay" in link.get_attribute("href")
    browser.get(link.get_attribute("href"))
    ready(browser)
    labels = browser.execute_script(
        "return [...document.querySelectorAll('#together .keys label')].map((l) => l.textContent)"
    )
    assert {label.strip().split("/")[0] for label in labels} == {"mxnet", "mindspore"}


def test_a_comparison_of_saved_campaigns_has_no_runs_to_show(logs: str) -> None:
    run("save", logs, "--label", "old", "--database", "h.sqlite")
    failed = run("compare", "old", logs, "--database", "h.sqlite", "--view", "v.html", status=2)
    assert "old is a saved campaign, whose logs are not kept" in failed.stderr
    assert not Path("v.html").exists()


@needs_browser
def test_the_history_s_site_leads_to_the_runs_of_a_campaign(browser: Any, logs: str, tmp_path: Path) -> None:
    run("save", logs, "--label", "first", "--database", "h.sqlite")
    run("save", logs, "--label", "second", "--warmup", "10", "--database", "h.sqlite")
    (tmp_path / "runs").mkdir()
    run("view", logs, "-o", "runs/first.html")
    run("history", "--database", "h.sqlite", "-o", "site/", "--view", "../runs/{campaign}.html")
    for page in sorted((tmp_path / "site" / "cases").glob("*.html")):
        opened(browser, page)
        links = browser.find_elements("css selector", "a[href*='#logs=']")
        assert len(links) <= 1, "the second campaign has no such page"
        if links:
            assert followed(browser, page, links[0])
            return
    pytest.fail("no case leads to its runs")


def test_an_address_elsewhere_is_a_link_whether_or_not_it_can_be_seen(logs: str, tmp_path: Path) -> None:
    run("save", logs, "--label", "v 1/2", "--database", "h.sqlite")
    run("history", "--database", "h.sqlite", "-o", "site/", "--view", "https://ci.example.org/{campaign}.html")
    texts = [page.read_text() for page in (tmp_path / "site" / "cases").glob("*.html")]
    assert all("https://ci.example.org/v%201%2F2.html#logs=" in text for text in texts)
    failed = run("history", "--database", "h.sqlite", "-o", "site/", "--view", "runs.html", status=2)
    assert "expected an address with {campaign} in it" in failed.stderr


@needs_browser
def test_a_link_to_logs_that_a_page_lacks_says_so(browser: Any, logs: str, tmp_path: Path) -> None:
    run("view", logs, "-o", "v.html")
    browser.get(f"file://{tmp_path / 'v.html'}#logs={log_key('elsewhere.log')}")
    ready(browser)
    assert "1 of the linked logs are not in this page" in find(browser, "#which").text
    assert not browser.find_elements("css selector", ".run")
    find(browser, "#every").click()
    assert len(browser.find_elements("css selector", ".run")) == 24


def test_extract_writes_the_runs_beside_its_table(logs: str) -> None:
    made = run("extract", logs, "--view", "v.html")
    assert "wrote v.html: 24 runs" in made.stderr
    assert Path("v.html").read_bytes().startswith(b"<!DOCTYPE html>")


def test_a_readme_has_no_links_to_runs(logs: str) -> None:
    assert "a README has no links to runs" in run("report", logs, "-o", "R.md", "--view", "v.html", status=2).stderr
    with pytest.raises(UsageError, match="a README has no links to runs"):
        library.report(logs, "R.md", view="v.html")
    made = library.report(logs, "r.html", view="v.html")
    assert {path.name for path in made.files} == {"r.html", "v.html"}


def test_numbers_of_the_table_lead_to_their_runs_on_a_terminal_and_stand_where_they_stood(logs: str) -> None:
    page = "file:///made/here/view%20of%20all.html"
    read = seen(logs).extraction
    plain, linked = (to_people(case_tables(read, Shown(view=view), 100), 100, True) for view in ("", page))
    assert _LINK.sub(r"\2", linked) == plain and "\x1b]8" not in plain
    runs = {f"{case.throughput.value:.2f}": [log_key(run.log.name) for run in case.runs] for case in read.cases}
    assert len(runs) == len(read.cases)
    found = {number: address for address, number in _LINK.findall(linked)}
    assert found == {number: f"{page}#logs={','.join(keys)}" for number, keys in runs.items()}
    assert to_people(case_tables(read, Shown(view=page), 100), 100, False) == _COLOURS.sub("", plain)


def test_one_number_of_two_cases_in_a_row_leads_nowhere(logs: str) -> None:
    read = seen(logs).extraction
    for case in read.cases:
        case.metrics["throughput"] = replace(case.throughput, value=100.0)
    (table,) = case_tables(read, Shown(view="file:///v.html"), 100)
    assert "2 devices" in table.titles and table.links == [{"100.00": ""}] * len(table.rows)
    assert "\x1b]8" not in to_people([table], 100, True)
