"""Pages in a real Chromium: opened at a width and in a colour scheme, and judged by axe.

The fixture ``browser`` (``tests/conftest.py``) is one Chromium for all tests of a process; mark these with
:data:`needs_browser`. Scripts of the driver run whatever a page's Content Security Policy forbids, so that nothing of
it is loosened for a test.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="chromium and chromedriver are not installed (apt-get install chromium chromium-driver)",
)
#: A desk's width and a phone's, in CSS pixels, with the height of their first screen.
HEIGHTS = {1400: 900, 390: 844}
#: Widths, each in both colour schemes: ``@pytest.mark.parametrize(("width", "dark"), LOOKS)``.
LOOKS = [(width, dark) for width in HEIGHTS for dark in (False, True)]
_FLAGS = (
    "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
    "disable-component-update", "disable-sync",
)  # fmt: skip
_PATIENCE = 60.0
_AXE = """
const [within, done] = arguments;
axe.run(within || document, { resultTypes: ["violations"] }).then(
  (result) => done(result.violations.flatMap((found) => found.nodes.map(
    (node) => `${found.id}: ${node.target.join(" ")}: ${node.failureSummary.split("\\n").slice(1).join(";")}`))),
  (error) => done([`axe: ${error}`]));
"""


def started(profile: Path) -> Iterator[Any]:
    """A Chromium without a window, its profile in an empty folder, which ends with the generator."""
    webdriver: Any = pytest.importorskip(
        "selenium.webdriver", reason="selenium is not installed (pip install -e '.[dev]')"
    )
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in _FLAGS:
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=webdriver.ChromeService(DRIVER), options=options)
    driver.set_script_timeout(_PATIENCE)
    try:
        yield driver
    finally:
        driver.quit()


def opened(browser: Any, page: Path | str, width: int = 1400, dark: bool = False) -> None:
    """Open a file, or an address, at a width and in a colour scheme; below 500 pixels as on a phone."""
    device = {
        "width": width, "height": HEIGHTS.get(width, 900), "deviceScaleFactor": 1, "mobile": width < 500,
    }  # fmt: skip
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
    scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    browser.get(page if isinstance(page, str) else page.as_uri())


def find(browser: Any, css: str) -> Any:
    """The first element that a selector chooses. Raises NoSuchElementException for none."""
    return browser.find_element("css selector", css)


def keys(browser: Any, *names: str) -> None:
    """Press keys by their names (``TAB``, ``ENTER``, ``ARROW_DOWN``), or type texts, where the focus is."""
    from selenium.webdriver.common.keys import Keys

    for name in names:
        browser.switch_to.active_element.send_keys(getattr(Keys, name, name))


def tabbed_to(browser: Any, css: str, most: int = 200) -> None:
    """Press Tab until what a selector chooses has the focus; fails where it is not reached by ``most`` keys."""
    from selenium.webdriver.common.keys import Keys

    for _ in range(most):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        if browser.execute_script("return document.activeElement.matches(arguments[0])", css):
            return
    pytest.fail(f"{most} times Tab and never at {css}")


def waiting_of(browser: Any) -> Any:
    """What waits for a condition: ``waiting_of(browser).until(lambda _: …)``."""
    ui: Any = pytest.importorskip("selenium.webdriver.support.ui")
    return ui.WebDriverWait(browser, 20, poll_frequency=0.05)


def complaints(browser: Any) -> list[str]:
    """What the console holds since it was last asked: errors of scripts, and what the page's policy kept out."""
    return [str(entry["message"]) for entry in browser.get_log("browser")]


def beyond(browser: Any, width: int) -> float:
    """By how many pixels the page is wider than the window of that width; 0 where it fits."""
    return float(
        browser.execute_script("return Math.max(0, document.documentElement.scrollWidth - arguments[0])", width)
    )


def findings_of_axe(browser: Any, within: str = "") -> list[str]:
    """What axe-core finds in the page that is open, each ``rule: element: reason``; ``within``: a selector of a part.

    Raises:
        AssertionError: where axe could not run: no finding would then say nothing.
    """
    browser.execute_script(_axe())
    found: list[str] = browser.execute_async_script(_AXE, within)
    assert not [text for text in found if text.startswith("axe: ")], found
    return found


@cache
def _axe() -> str:
    pytest.importorskip("axe_core_python", reason="axe-core-python is not installed (pip install -e '.[dev]')")
    return (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")


def light(colour: str) -> float:
    """Relative luminance (WCAG 2.2) of ``rgb(r, g, b)``."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """The contrast of two colours (WCAG 2.2), 1 to 21."""
    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def pinched(browser: Any, selector: str, apart: float) -> None:
    """Put two fingers on the middle of an element and move them apart, to so many times their distance."""
    box = browser.execute_script(
        "const found = document.querySelector(arguments[0]); found.scrollIntoView({ block: 'center' });"
        "const { left, top, width, height } = found.getBoundingClientRect(); return [left, top, width, height];",
        selector,
    )
    middle, height = box[0] + box[2] / 2, box[1] + box[3] / 2

    def fingers(distance: float) -> list[dict[str, float]]:
        return [{"x": middle + side * distance / 2, "y": height, "id": number} for number, side in enumerate((-1, 1))]

    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    try:
        for kind, points in (("touchStart", fingers(60)), ("touchMove", fingers(60 * apart)), ("touchEnd", [])):
            browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    finally:
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
