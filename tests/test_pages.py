"""Pages in a browser, all kinds alike: at a desk's width and a phone's, light and dark, by keyboard, and judged by axe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.browser import beyond, findings_of_axe, needs_browser, opened


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
