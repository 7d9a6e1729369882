"""What is said of known vulnerabilities, and which packages the page of pins names."""

from __future__ import annotations

import re

from tests.support import ROOT
from tests.tools.dependencies import END, START, Pin, asked_for, pin_of, summary


def test_nothing_known_is_never_said_as_no_vulnerability() -> None:
    assert summary(108, [], 108) == [
        "None of 108 packages could be looked up, since the index here does not tell of vulnerabilities of each; the ages "
        "are what remains."
    ]
    assert summary(3, ["a 1: CVE-1, repaired in 2"], 1) == [
        "2 of 3 packages could be looked up, since the index here does not tell of vulnerabilities of each; the ages are "
        "what remains of the other 1.",
        "a 1: CVE-1, repaired in 2",
        "Known vulnerabilities of the 2 packages looked up: 1.",
    ]
    assert summary(3, [], 0) == ["Known vulnerabilities of the 3 packages looked up: 0."]


def test_a_version_is_found_however_it_is_written() -> None:
    """``>=1.16`` of pyproject.toml is 1.16.0 in the index."""
    day = {"upload_time_iso_8601": "2025-05-21T10:00:00Z", "yanked": False}
    told = {"info": {"version": "1.18"}, "releases": {"1.16.0": [day], "1.18": []}}
    assert pin_of("alembic", "1.16", told) == Pin("alembic", "1.16", "2025-05-21", "1.18", "", False)
    assert pin_of("alembic", "9", told).released == ""


def test_the_page_names_the_pins_of_pyproject() -> None:
    """Each package that users install, with the least version: a pin that moved is written anew."""
    page = (ROOT / "tests/found/dependencies.md").read_text(encoding="utf-8").split(START)[1].split(END)[0]
    named = dict(re.findall(r"^\| ([\w.-]+) \| ([\w.-]+) \| [\d?]", page, re.MULTILINE))
    least = {
        wanted.name: part.version
        for wanted in asked_for()
        for part in wanted.specifier
        if part.operator in (">=", "==")
    }
    assert named == least and len(least) >= 15
