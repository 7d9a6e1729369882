"""Evidence where it is shown: JSON, the HTML page and ``explain``."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perflog.cases.build import build_cases
from perflog.evidence.witness import Verdict, Witness
from perflog.extraction import Extraction
from perflog.formats.load import load_parser
from perflog.logs.find import LogFile
from perflog.settings.options import Options
from perflog.show.contents import contents
from perflog.show.document import extraction_document, to_json
from perflog.show.explain import explained as explanations
from perflog.show.page import page
from perflog.show.provenance import ReadLogs
from tests.extractions import campaign
from tests.reading.support import catalog

CLOCK = Witness("the clock of the <lines>", "throughput", "samples/s", 370.5, 185.25, "doubts", (24, 203), "half of it")
TOTAL = Witness("the program's own summary", "throughput", "samples/s", 370.5, 371.0, "agrees", (209, 209))


def extraction(evidence: Verdict | None, rounding: tuple[float, float] | None = None, reason: str = "") -> Extraction:
    run = campaign(1, 1).runs[0]
    throughput = replace(run.throughput, rounding=rounding)
    if reason:
        throughput = replace(throughput, value=None, reason=reason)
    changed = replace(run, evidence=evidence, metrics={**run.metrics, "throughput": throughput})
    return Extraction(build_cases([changed], Options()), [], Options())


def run_in_json(evidence: Verdict | None, **more: Any) -> dict[str, Any]:
    document = json.loads(to_json(extraction(evidence, **more)))
    run: dict[str, Any] = document["cases"][0]["runs"][0]
    return run


def test_json_holds_every_field_of_a_witness() -> None:
    run = run_in_json(Verdict((CLOCK, TOTAL)))
    assert run["corroborated"] is True
    assert run["evidence"] == [
        {
            "witness": "the clock of the <lines>", "about": "throughput", "unit": "samples/s", "measured": 370.5,
            "told": 185.25, "agreement": "doubts", "first_line": 24, "last_line": 203, "remark": "half of it",
        },
        {
            "witness": "the program's own summary", "about": "throughput", "unit": "samples/s", "measured": 370.5,
            "told": 371.0, "agreement": "agrees", "first_line": 209, "last_line": 209, "remark": None,
        },
    ]  # fmt: skip


@pytest.mark.parametrize("evidence", [None, Verdict(), Verdict((CLOCK,))])
def test_without_agreement_a_run_is_uncorroborated_in_json(evidence: Verdict | None) -> None:
    assert run_in_json(evidence)["corroborated"] is False


def test_the_bounds_of_rounding_are_in_json() -> None:
    assert run_in_json(None)["metrics"]["throughput"]["rounding"] is None
    assert run_in_json(None, rounding=(3.5, 4.5))["metrics"]["throughput"]["rounding"] == [3.5, 4.5]
    assert run_in_json(None, rounding=(3.5, math.inf))["metrics"]["throughput"]["rounding"] == [3.5, None]


def test_the_keys_of_json_are_documented() -> None:
    text = (Path(__file__).parents[2] / "docs/json.md").read_text(encoding="utf-8")
    run = extraction_document(extraction(Verdict((CLOCK,))))["cases"][0]["runs"][0]
    for key in (*run["evidence"][0], "corroborated", "rounding"):
        assert f"`{key}`" in text or f".{key}`" in text, key


def html(evidence: Verdict | None, language: str = "en", **more: Any) -> str:
    shown = extraction(evidence, **more)
    return page(ReadLogs(shown, (), {}), contents(shown), [], Path(), language).decode()


def rows(text: str) -> list[list[str]]:
    """The cells of each witness's row, without markup."""
    found = re.findall(r'<tr data-agreement="[a-z]+">(.*?)(?=<tr|</t)', text, re.DOTALL)  # end tags may be left out
    return [[re.sub(r"<[^>]*>", "", cell).strip() for cell in re.split(r"<t[dh][^>]*>", row)[1:]] for row in found]


def test_the_page_shows_each_witness_behind_the_number() -> None:
    text = html(Verdict((CLOCK, TOTAL)))
    assert rows(text) == [
        ["the clock of the &lt;lines&gt;", "throughput", "370.5", "185.25", "samples/s", "doubts it", "24–203"],
        ["the program&#39;s own summary", "throughput", "370.5", "371", "samples/s", "agrees", "209"],
    ]
    assert "What else the log says" in text
    assert rows(html(Verdict((CLOCK,)), "zh"))[0][1::4] == ["吞吐", "存疑"]


def test_the_page_says_nothing_where_there_is_no_witness() -> None:
    for evidence in (None, Verdict()):
        assert "What else the log says" not in html(evidence)


def test_the_page_shows_what_the_printed_digits_allow() -> None:
    assert "(printed digits allow 3.5–4.5)" in html(None, rounding=(3.5, 4.5))
    assert "printed digits allow" not in html(None)


def test_a_refused_number_keeps_its_evidence_on_the_page() -> None:
    text = html(Verdict((CLOCK,), "it contradicts itself"), reason="it contradicts itself")
    assert "it contradicts itself" in text
    assert len(rows(text)) == 1


# ---------------------------------------------------------------- explain

FORMAT = """
title = "T"
source = "S"
[[pattern]]
name = "step"
role = "step"
literal = "step="
regex = 'step=(?P<step>{I}) ms=(?P<ms>{N})'
[[pattern.value]]
group = "ms"
quantity = "step_time"
unit = "ms"
[[pattern.sample]]
line = "step=1 ms=250"
"""


def explained(tmp_path: Path, line: str) -> list[str]:
    """What ``explain`` says beside the metrics of a log of forty lines."""
    (tmp_path / "made.toml").write_text(FORMAT, encoding="utf-8")
    log = tmp_path / "x.log"
    log.write_text("".join(line.format(second=n, step=n) for n in range(10, 50)), encoding="utf-8")
    file, parsers = LogFile(str(log), log.stat().st_size), catalog(load_parser(tmp_path / "made.toml"))
    (found,) = explanations([file], parsers, Options())
    return [text for text in found.text.splitlines() if text.startswith(("  evidence", "  rounding"))]


def test_explain_shows_the_evidence_and_the_bounds(tmp_path: Path) -> None:
    """A step a second by the stamps, which the lines print in whole milliseconds, or in tenths of a second."""
    assert explained(tmp_path, "10:00:{second} step={step} ms=1000\n") == [
        "  evidence           agrees: the clock of the lines (lines 21 to 40): time per step 1 s, measured 1"
    ]
    assert explained(tmp_path, "10:00:{second} step={step} ms=500\n") == [
        "  evidence           contradicts: the clock of the lines (lines 21 to 40): time per step 1 s, measured 0.5"
    ]


def test_explain_says_that_nothing_else_speaks_of_a_number(tmp_path: Path) -> None:
    assert explained(tmp_path, "step={step} ms=4\n") == [
        "  evidence           uncorroborated: nothing else in the log speaks of this number",
        "  rounding           the printed digits allow 222.22 to 285.71 steps/s",
    ]
