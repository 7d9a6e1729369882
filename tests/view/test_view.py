"""The page of runs over time in a real Chromium: its numbers are the command's, and nothing of a log acts in it."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from perflog.extraction import extract_paths
from perflog.settings.config import settings
from perflog.show.extractions import Extractions
from perflog.view.page import view_page
from perflog.view.records import read_records
from tests.browser import (
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
from tests.support import FIXTURES, catalog

pytestmark = needs_browser
#: Logs of many kinds: rates, step times, running means, clocks in whole seconds, bars, ranks, epochs, stalls.
KINDS = (
    "paddleclas", "ms_swift", "tqdm_loss", "keras", "detectron2", "megatron", "dali", "timm", "ultralytics",
    "pytorch_examples", "mxnet", "graphcore", "mindspore", "deepspeed",
)  # fmt: skip


def written(tmp_path: Path, *logs: str, language: str = "en", **options: Any) -> Path:
    page = tmp_path / "view.html"
    page.write_bytes(view_page(read_records(logs, settings(options, logs), Extractions()), language))
    return page


def ready(browser: Any) -> None:
    """Wait for a page, whose script must not fail."""
    said: list[str] = []

    def is_ready(_: object) -> bool:
        said.extend(complaints(browser))
        return bool(said) or bool(browser.execute_script("return document.body.dataset.ready") == "true")

    waiting_of(browser).until(is_ready)
    assert said == []


def chosen(browser: Any, given: dict[str, str]) -> None:
    """Set the controls as a reader does, and wait for the page to follow."""
    browser.execute_script(
        "const form = document.getElementById('controls');"
        "for (const [name, value] of Object.entries(arguments[0])) form.elements[name].value = value;"
        "form.dispatchEvent(new Event('input'));",
        given,
    )
    want = "|".join(given[name] for name in ("warmup", "steps", "last", "estimator"))
    waiting_of(browser).until(lambda _: browser.execute_script("return document.body.dataset.settings") == want)


def drawn(rng: random.Random) -> dict[str, str]:
    """Settings that a reader may choose, all of which are right."""
    unit = rng.choice(("", "", "records", "epochs", "s", "%"))
    warmup = f"{rng.choice((0, 1, 2, 5, 10, 20, 33, 50))}{unit}" if rng.random() < 0.9 else "auto"
    given = {"warmup": warmup, "steps": "", "last": ""}
    if rng.random() < 0.3:
        given["last"] = f"{rng.choice((1, 5, 20, 60))}{rng.choice(('', 'records'))}"
    elif rng.random() < 0.4:
        counted = "records" if unit == "records" else "" if warmup != "auto" else rng.choice(("", "records"))
        given["steps"] = f"{rng.choice((1, 5, 20, 60))}{counted}"
    return given | {"estimator": rng.choice(("total", "total", "mean", "median", "trimmed", "last"))}


def test_the_page_s_number_is_the_command_s_for_a_hundred_settings(browser: Any, tmp_path: Path) -> None:
    """A number of the page that the command does not give is one that it says not to have held against the log."""
    logs = [str(FIXTURES / "parsers" / name) for name in KINDS if (FIXTURES / "parsers" / name).is_dir()]
    opened(browser, written(tmp_path, *logs))
    ready(browser)
    shown = read_records(logs, settings({}, logs), Extractions()).runs
    rng = random.Random(29)
    compared = unheld = 0
    for _ in range(100):
        given = drawn(rng)
        chosen(browser, given)
        seen = browser.execute_script(
            "return [...document.querySelectorAll('.run')].map((one) => [one.dataset.value, one.dataset.held])"
        )
        options = {name: value or None for name, value in given.items()}
        if given["last"]:
            del options["warmup"]  # the last steps are taken whatever the warm-up
        runs = extract_paths(logs, settings(options, logs).options(), catalog()).runs
        by_log = {(run.log.name, run.parser, run.first_line): run for run in runs}
        for (run, _), (value, held) in zip(shown, seen, strict=True):
            command = by_log[run.log.name, run.parser, run.first_line]
            if command.value is None:
                unheld += value != ""
                assert value == "" or held == "false", (run.log.name, given, command.throughput.reason)
            elif value:
                compared += 1
                assert math.isclose(float(value), command.value, rel_tol=1e-9), (run.log.name, given)
            else:  # refused whatever the window, by what the log says at the command's own settings
                assert run.value is None, (run.log.name, given, command.value)
    assert compared > 2000
    assert unheld < compared / 100


@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_axe_finds_nothing_and_nothing_is_beyond_the_window(
    browser: Any, tmp_path: Path, width: int, dark: bool
) -> None:
    page = written(tmp_path, str(FIXTURES / "campaign" / "short"))
    for look in ("strips", "overlay", "bands"):
        opened(browser, f"{page.as_uri()}#look={look}", width, dark)
        browser.refresh()
        ready(browser)
        assert findings_of_axe(browser) == []
        assert beyond(browser, width) == 0
        assert complaints(browser) == []


def stalled(tmp_path: Path) -> Path:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {k} loss 1.0 step_time {5.0 if k == 71 else 0.1:.4f} s\n" for k in range(1, 101)))
    return log


def test_a_stall_says_its_line_and_its_cost_and_opens_its_lines(browser: Any, tmp_path: Path) -> None:
    opened(browser, written(tmp_path, str(stalled(tmp_path))))
    ready(browser)
    cost = waiting_of(browser).until(lambda _: find(browser, ".costs button"))
    assert cost.text == "line 71: 5 s, 50 × the median, 39 % of the window"  # 5 of 79 × 0.1 + 5 s
    cost.click()
    assert "71  step 71 loss 1.0 step_time 5.0000 s" in find(browser, "#record mark").text
    assert "train.log, line 71" in find(browser, "#record-title").text


def test_a_strip_says_what_its_height_is_where_the_log_prints_rates_alone(browser: Any, tmp_path: Path) -> None:
    log = tmp_path / "own.log"
    log.write_text("".join(f"Step {step} | {600 + step % 7}.5 img/s\n" for step in range(1, 90)))
    opened(browser, written(tmp_path, str(log)))
    ready(browser)
    waiting_of(browser).until(lambda _: find(browser, ".under").text)
    assert find(browser, ".under").text == "rate, images/s"


def test_steps_are_selected_measured_and_shared_with_keys_alone(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    page = written(tmp_path, str(stalled(tmp_path)))
    opened(browser, page)
    ready(browser)
    waiting_of(browser).until(lambda _: find(browser, ".chart canvas"))
    tabbed_to(browser, ".chart")
    keys(browser, "HOME")
    browser.switch_to.active_element.send_keys(Keys.SHIFT + Keys.PAGE_DOWN * 3)
    assert "--warmup 0 --steps 31" in find(browser, "#command").text
    assert "step 31" in find(browser, ".under").text
    tabbed = find(browser, "#measure")
    tabbed.send_keys(Keys.ENTER)
    waiting_of(browser).until(
        lambda _: browser.execute_script("return document.body.dataset.settings") == "0|31||total"
    )
    assert float(find(browser, ".run").get_attribute("data-value")) == pytest.approx(10.0)
    address = find(browser, "#link").get_attribute("href")
    browser.get("about:blank")
    browser.get(address)
    ready(browser)
    assert "--warmup 0 --steps 31" in find(browser, "#command").text
    assert float(find(browser, ".run").get_attribute("data-value")) == pytest.approx(10.0)


def test_a_run_without_a_number_is_shown_with_its_reason(browser: Any, tmp_path: Path) -> None:
    opened(browser, written(tmp_path, str(stalled(tmp_path)), warmup=500))
    ready(browser)
    assert find(browser, ".run").get_attribute("data-reason") == "the run ends after 100 steps, warm-up 500"
    waiting_of(browser).until(lambda _: find(browser, ".chart canvas"))
    chosen(browser, {"warmup": "80", "steps": "", "last": "", "estimator": "total"})
    assert float(find(browser, ".run").get_attribute("data-value")) == pytest.approx(10.0)


def test_texts_of_logs_never_act(browser: Any, tmp_path: Path) -> None:
    evil = "<img src=x onerror=document.title='acted'>"
    log = tmp_path / f"{evil.replace('/', '')}.log"
    lines = [f"step {k} loss 1.0 step_time {5.0 if k == 71 else 0.1:.4f} s </script><script>document.title='acted'</script> {evil}\n" for k in range(1, 101)]  # fmt: skip
    log.write_text("".join(lines))
    opened(browser, written(tmp_path, str(log)))
    ready(browser)
    waiting_of(browser).until(lambda _: find(browser, ".costs button")).click()
    assert evil in find(browser, "#record mark").text
    assert browser.title == "Runs over time"
    assert browser.execute_script("return document.images.length") == 0
    assert complaints(browser) == []


def test_ten_to_the_five_steps_are_a_page_of_two_megabytes_at_most(tmp_path: Path) -> None:
    rng = random.Random(3)
    log = tmp_path / "big.log"
    log.write_text("".join(f"step {k} step_time {rng.gauss(0.25, 0.01):.5f} s\n" for k in range(1, 100_001)))
    assert written(tmp_path, str(log)).stat().st_size < 2_000_000


def test_an_estimator_that_is_made_of_more_than_records_is_the_command_s_alone(browser: Any, tmp_path: Path) -> None:
    log = str(next((FIXTURES / "parsers" / "tqdm_loss").iterdir()))
    opened(browser, written(tmp_path, log, estimator="since_start"))
    ready(browser)
    ((run, _),) = read_records([log], settings({"estimator": "since_start"}, [log]), Extractions()).runs
    section = find(browser, ".run")
    assert float(section.get_attribute("data-value")) == run.value
    assert section.get_attribute("data-held") == "true"
    chosen(browser, {"warmup": "1", "steps": "", "last": "", "estimator": "since_start"})
    assert section.get_attribute("data-value") == ""
    assert "the command makes it" in section.get_attribute("data-reason")


def test_two_fingers_choose_a_part_of_a_strip(browser: Any, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {k} loss 1.0 step_time {0.1 + 0.0001 * (-1) ** k:.4f} s\n" for k in range(1, 401)))
    opened(browser, written(tmp_path, str(log)), 390)
    ready(browser)
    pinched(browser, ".run .u-over", 2)
    waiting_of(browser).until(lambda _: "zoom=" in browser.execute_script("return location.hash"))
    low, high = (
        float(end) for end in unquote(browser.execute_script("return location.hash")).split("zoom=")[1].split("~")
    )
    assert low == pytest.approx(100, abs=12) and high == pytest.approx(300, abs=12)  # pixels are 1.3 steps


def test_runs_of_other_units_are_not_laid_over_each_other(browser: Any, tmp_path: Path) -> None:
    """Times of steps beside rates whose steps nobody knows: a ratio of the two is no number."""
    for name, text in (("a", "step_time 0.1{k} s"), ("b", "20{k}.0 samples/s"), ("c", "step_time 0.2{k} s")):
        lines = (f"step {k} loss 1.0 {text.replace('{k}', str(k % 10))}\n" for k in range(1, 61))
        (tmp_path / f"{name}.log").write_text("".join(lines))
    opened(browser, written(tmp_path, *(str(tmp_path / f"{name}.log") for name in "abc")))
    ready(browser)
    script = "return [...document.querySelectorAll('#together .keys label, #together h2, #together p')].map((one) => one.textContent.trim())"
    chosen(browser, {"warmup": "0", "steps": "", "last": "", "estimator": "total", "look": "overlay", "y": "time"})
    assert browser.execute_script(script) == [
        "time per step", "a.log (base)", "c.log", "Not shown: 1 whose records have other units than the first run's.",
        "ratio to a.log", "of times per step: above 1 is slower",
    ]  # fmt: skip
    chosen(browser, {"warmup": "1", "steps": "", "last": "", "estimator": "total", "look": "overlay", "y": "rate"})
    assert "of rates: above 1 is faster" in browser.execute_script(script)
    assert "rate, steps/s" in browser.execute_script(script)
