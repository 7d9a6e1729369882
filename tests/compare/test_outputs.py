"""What a comparison becomes for CI and for browsers: a comment, a job's summary, annotations, JUnit, a page."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from perflog.api import json_schema
from perflog.cases.case import Case
from perflog.cases.pairs import Pair
from perflog.cli.comparison_output import PullRequest, post, pull_request_of
from perflog.compare.outputs import LONGEST, comment, comparison_document, findings, gate, marker_of
from perflog.compare.page import html_page
from perflog.compare.rows import CaseComparison, Comparison
from perflog.compare.rule import VERDICTS, Rule
from perflog.errors import PerflogError, UsageError
from perflog.settings.convention import REASONS
from perflog.settings.options import Options
from perflog.show.exchange import MOST_OF_A_LEVEL
from perflog.stats.geomean import geomean
from perflog.stats.ratio import Ratio
from perflog.stats.verdict import Decision, Verdict
from tests.campaigns import write_campaign
from tests.compare.test_pairs import case
from tests.test_hostile_text import perflog

EIGHT, ONE = "1n8g/rn50_b128_fp32", "1n1g/rn50_b128_fp32"
TOKEN = "ghsSecretOfThisTest"


@pytest.fixture
def sides(tmp_path: Path) -> tuple[str, str]:
    """Two sides of two cases: 5 % slower on eight devices, the same on one."""
    old = write_campaign(tmp_path / "old", {ONE: 130.0, EIGHT: 1000.0}, seed=1, turn=0)
    new = write_campaign(tmp_path / "new", {ONE: 130.0, EIGHT: 950.0}, seed=2, turn=1)
    return str(old), str(new)


def row_of(name: str, change: float, verdict: Verdict, notes: tuple[str, ...] = ()) -> CaseComparison:
    """A row by hand: a case with this model's name, changed by so much."""
    made: Case = case(1, 2, 3, 4, 5, model=name)
    old, new = (100.0,) * 5, (100.0 * (1 + change),) * 5
    ratio = Ratio(5, 5, 0.95, 1 + change, 1 + change - 0.01, 1 + change + 0.01, p=0.01)
    return CaseComparison(Pair(made, made), "samples/s", old, new, ratio, Decision(verdict), 0.01, notes)


def comparison_of(*rows: CaseComparison, warnings: tuple[str, ...] = ()) -> Comparison:
    mean = geomean([row.ratio.value for row in rows])
    return Comparison("v1", "v2", Rule(), Options(), rows, (), mean, warnings=warnings)


# ---------------------------------------------------------------- Markdown


def test_a_comment_begins_with_its_marker_and_holds_the_gates_sentence(sides: tuple[str, str]) -> None:
    status, text, said = perflog(["compare", *sides, "-f", "markdown", "--gate", "--marker", "nightly 8"])
    assert status == 1
    marker, blank, sentence, *rest = text.splitlines()
    assert (marker, blank) == ("<!-- perflog compare nightly 8 -->", "")
    assert sentence == "**The gate failed (exit status 1): 1 of 2 cases slower.**" and sentence[2:-2] in said
    assert "### throughput: new against old" in rest and any(line.startswith("2 cases: 1 slower") for line in rest)


def test_what_stands_below_the_numbered_notes_is_no_part_of_the_last_one() -> None:
    """Markdown takes the line below an item of a list for its continuation."""
    rows = [row_of("x", 0.1, Verdict.FASTER, ("first", "second")), row_of("y", 0.0, Verdict.SAME)]
    lines = comment([comparison_of(*rows)], "m").splitlines()
    place = lines.index("1. first")
    assert lines[place + 1 : place + 4] == ["2. second", "", "geometric mean of 2 ratios: 1.0488"]


@pytest.mark.parametrize("name", ["", "a--b", "a -->", "-a", "a\nb", "<b>", "a" * 101])
def test_names_that_would_end_the_marker_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="--marker"):
        marker_of(name)


def test_names_of_logs_mention_nobody_and_link_nowhere() -> None:
    text = comment([comparison_of(row_of("@octocat #1 www.x.org http://y.org <b>|", -0.1, Verdict.SLOWER))], "m")
    assert not re.search(r"@\w|#\d|://|www\.|<b>", text)
    assert "@<!-- -->octocat" in text and "&lt;b&gt;\\|" in text


def test_a_comment_that_is_too_long_keeps_the_rows_that_matter() -> None:
    same = [row_of(f"steady{n}", 0.001, Verdict.SAME, (f"a note of the row {n}",)) for n in range(1200)]
    slow = [row_of(f"slow{n}", -0.1 - n / 100, Verdict.SLOWER) for n in range(20)]
    text = comment([comparison_of(*same, *slow)], "m")
    assert 0.9 * LONGEST < len(text) <= LONGEST
    assert all(f"| slow{n} " in text for n in range(20))
    left_out = re.search(r"Rows left out for want of room, the least important ones: (\d+)\.", text)
    shown = len(re.findall(r"^\| (?:steady|slow)\d", text, flags=re.MULTILINE))
    assert left_out is not None and int(left_out[1]) + shown == 1220 and shown > 100
    notes = re.findall(r"a note of the row (\d+)", text)
    assert notes and all(f"| steady{number} " in text for number in notes), (
        "notes of rows that are left out go with them"
    )


# ---------------------------------------------------------------- what is explained


def test_verdicts_are_explained_where_asked_for_and_only_those_that_occur(sides: tuple[str, str]) -> None:
    _, text, _ = perflog(["compare", *sides, "--explain-verdicts"])
    assert "slower: the whole interval of the change lies on the worse side of 2 %" in text
    assert "same: the whole interval of the change lies within 2 %" in text
    assert "at most 5 % show a single faster or slower case" in text
    assert "inconclusive:" not in text and "inconclusive" not in perflog(["compare", *sides])[1]


def test_an_open_case_says_what_it_may_be(tmp_path: Path) -> None:
    old, new = (
        write_campaign(tmp_path / name, {EIGHT: 1000.0}, spread=0.03, seed=seed) for name, seed in (("a", 1), ("b", 2))
    )
    first = perflog(["compare", str(old), str(new)])[1].splitlines()[0]
    row = json.loads(perflog(["compare", str(old), str(new), "-f", "json"])[1])["comparisons"][0]["rows"][0]["interval"]
    low, high = (f"{100 * (row[end] - 1):+.1f}".replace("-", "−") for end in ("low", "high"))
    assert f"Inconclusive: PyTorch rn50 fp32 bs128 8 devices may be {low} to {high} %. To decide, make " in first
    assert "--history" not in first, "a history does not tell what runs at one time do to each other"


def test_an_alias_pairs_two_names_of_one_model_and_says_so(tmp_path: Path) -> None:
    old = write_campaign(tmp_path / "old", {EIGHT: 1000.0}, seed=1)
    new = write_campaign(tmp_path / "new", {EIGHT.replace("rn50", "resnetv15"): 1000.0}, seed=2)
    sides = ["compare", str(old), str(new)]
    status, text, _ = perflog(sides)
    assert status == 3 and text.startswith("No case could be compared: no case of one side is on the other.")
    assert "--alias NAME=OTHER" in text.splitlines()[0]
    assert perflog([*sides, "--fail-on", "slower"])[0] == 0, "a gate decides by what it was asked for"
    document = json.loads(perflog([*sides, "--alias", "resnetv15=rn50", "-f", "json"])[1])
    (row,) = document["comparisons"][0]["rows"]
    assert row["verdict"] == "same" and "model is rn50 and resnetv15, taken for equal" in row["notes"]
    status, _, said = perflog([*sides, "--alias", "resnetv14=rn50"])
    assert status == 2 and "no case has a model" in said and "did you mean resnetv15?" in said
    status, text, _ = perflog(sides)
    assert "which is other work" in text and "pairs them" not in text, "another model is never offered"


def test_another_number_of_devices_is_never_offered(tmp_path: Path) -> None:
    old = write_campaign(tmp_path / "old", {EIGHT: 1000.0}, seed=1)
    new = write_campaign(tmp_path / "new", {EIGHT.replace("1n8g", "1n4g"): 500.0}, seed=2)
    text = perflog(["compare", str(old), str(new)])[1]
    assert "devices is 8 and 4, which is other work" in text and "pairs them" not in text


def test_less_memory_is_not_called_faster() -> None:
    rows = row_of("x", 0.1, Verdict.SLOWER), row_of("y", -0.1, Verdict.FASTER)
    comparison = replace(comparison_of(*rows), rule=Rule("memory"))
    text = comment([comparison], "m", gate([comparison]))
    assert "2 cases: 1 less, 1 more." in text and "More: x +10.0 %" in text and "1 of 2 cases more" in text, text
    assert "slower" not in text and "faster" not in text
    assert [row["verdict"] for row in comparison_document([comparison])["comparisons"][0]["rows"]] == [
        "slower",
        "faster",
    ]


# ---------------------------------------------------------------- GitHub


def test_outside_of_a_workflow_github_is_plain_markdown(
    sides: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    _, markdown, _ = perflog(["compare", *sides, "-f", "markdown"])
    from typer.testing import CliRunner

    from perflog.cli import app

    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert CliRunner().invoke(app, ["compare", *sides, "-f", "github"]).stdout == markdown


def test_in_a_workflow_the_summary_grows_and_slower_cases_are_annotated(
    sides: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("of an earlier step\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    status, text, _ = perflog(["compare", *sides, "-f", "github", "--gate"])
    assert status == 1
    lines = text.splitlines()
    commands = [line for line in lines if line.startswith("::")]
    assert commands[0] == "::error title=perflog compare::The gate failed (exit status 1): 1 of 2 cases slower."
    slower = (
        r"::error title=perflog compare%3A throughput::8 devices is slower: −[45]\.\d %25 \(−[56]\.\d to −[45]\.\d\)"
    )
    assert re.fullmatch(slower, commands[1]), commands[1]
    assert commands[-1].startswith("::notice title=perflog compare::2 cases: 1 slower, 1 same within 2 %25.")
    assert any(line.startswith("8 devices") for line in lines), "the log has the table"
    written = summary.read_text()
    assert written.startswith("of an earlier step\n<!-- perflog compare throughput -->\n\n**The gate failed")
    status, text, _ = perflog(["compare", *sides, "-f", "github"])
    assert status == 0 and "::error" not in text and "::warning title=perflog compare%3A throughput::8 devices" in text


def test_no_name_of_a_log_is_a_command() -> None:
    row = row_of("a\n::error::x%0A", -0.1, Verdict.SLOWER)
    (found,) = [finding for finding in findings([comparison_of(row)]) if finding.level == "warning"]
    from perflog.show.exchange import commands

    (line,) = commands([found]).splitlines()
    assert line.startswith("::warning ") and r"\n" in line and "%250A" in line


def test_no_more_annotations_than_github_shows() -> None:
    rows = [row_of(f"m{number}", -0.1, Verdict.SLOWER) for number in range(30)]
    found = findings([comparison_of(*rows, warnings=("they did not interleave.",))], ["slower"])
    errors = [finding.message for finding in found if finding.level == "error"]
    assert len(errors) == MOST_OF_A_LEVEL == 10 and errors[-1] == "21 more cases are slower"
    assert [finding.message for finding in found if finding.level == "warning"] == ["they did not interleave."]


class _GitHub(BaseHTTPRequestHandler):
    """The part of GitHub's interface that comments go through, over comments in memory."""

    comments: list[dict[str, Any]]
    asked: list[tuple[str, str]]
    refuses = False

    def _answer(self, status: int, data: Any) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def _body(self) -> str:
        text: str = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        return text

    def _allowed(self) -> bool:
        self.asked.append((self.command, self.path))
        return self.headers["Authorization"] == f"Bearer {TOKEN}"

    def do_GET(self) -> None:
        if not self._allowed() or self.path == "/user":
            return self._answer(403, {"message": "Resource not accessible by integration"})
        page = int(re.findall(r"page=(\d+)$", self.path)[0])
        return self._answer(200, self.comments[100 * (page - 1) : 100 * page])

    def do_POST(self) -> None:
        allowed = self._allowed() and not self.refuses
        self.comments.append({"id": 7, "body": self._body(), "user": {"login": "github-actions[bot]"}})
        self._answer(201 if allowed else 403, self.comments[-1])

    def do_PATCH(self) -> None:
        self._allowed()
        number = int(self.path.rsplit("/", 1)[1])
        (comment,) = [comment for comment in self.comments if comment["id"] == number]
        comment["body"] = self._body()
        self._answer(200, comment)

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def github() -> Iterator[tuple[str, type[_GitHub]]]:
    """The address of a GitHub of this test's own, and what it holds."""

    class GitHub(_GitHub):
        comments: list[dict[str, Any]] = []  # noqa: RUF012 - a class for each test
        asked: list[tuple[str, str]] = []  # noqa: RUF012

    server = ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", GitHub
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_next_run_replaces_the_comment(
    sides: tuple[str, str], github: tuple[str, type[_GitHub]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, held = github
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 12}}))
    for name, value in {
        "GITHUB_API_URL": address, "GITHUB_REPOSITORY": "team/models", "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REF": "refs/heads/main", "GITHUB_TOKEN": TOKEN,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    stranger: dict[str, Any] = {
        "id": 1,
        "body": "<!-- perflog compare throughput -->\nmine",
        "user": {"login": "stranger"},
    }
    held.comments += [stranger, *({"id": n, "body": "x", "user": {"login": "a"}} for n in range(100, 250))]
    words = ["compare", *sides, "--comment", "-o", str(tmp_path / "c.md")]
    status, _, said = perflog([*words, "--where", "devices=1"])
    assert (status, said.splitlines()[-1]) == (0, "posted the comment on pull request 12"), said
    assert held.comments[-1]["body"].startswith("<!-- perflog compare throughput -->") and TOKEN not in said
    status, _, said = perflog([*words, "--gate"])
    assert status == 1 and "replaced the comment on pull request 12" in said
    assert len(held.comments) == 152 and held.comments[-1]["body"] == (tmp_path / "c.md").read_text()
    assert stranger["body"].endswith("mine"), "a stranger's comment with the marker is not perflog's"
    perflog([*words, "--marker", "another"])
    assert len(held.comments) == 153, "another name, another comment"
    assert {path.split("?")[0] for _, path in held.asked} == {
        "/user", "/repos/team/models/issues/12/comments", "/repos/team/models/issues/comments/7",
    }  # fmt: skip


def test_a_comment_that_is_refused_changes_no_exit_status(
    sides: tuple[str, str], github: tuple[str, type[_GitHub]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, held = github
    held.refuses = True
    for name, value in {
        "GITHUB_API_URL": address, "GITHUB_REPOSITORY": "team/models", "GITHUB_REF": "refs/pull/3/merge",
        "GITHUB_TOKEN": TOKEN,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    status, _, said = perflog(["compare", *sides, "--comment"])
    assert status == 0 and TOKEN not in said
    assert "GitHub answered: 403 Forbidden; the token needs pull-requests: write" in said


def test_a_token_goes_to_an_https_address_alone() -> None:
    there = {"GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": "a/b", "GITHUB_REF": "refs/pull/3/merge"}
    assert pull_request_of(there) == PullRequest("https://api.github.com", "a/b", 3, TOKEN)
    assert TOKEN not in repr(pull_request_of(there))
    for more in ({"GITHUB_API_URL": "http://evil.example"}, {"GITHUB_TOKEN": ""}, {"GITHUB_REF": "refs/heads/main"}):
        with pytest.raises(UsageError, match="--comment"):
            pull_request_of({**there, **more})


def test_no_redirection_is_followed_and_nobody_there_is_an_error() -> None:
    class Elsewhere(_GitHub):
        asked: list[tuple[str, str]] = []  # noqa: RUF012

        def do_GET(self) -> None:
            self._allowed()
            self._answer(302, {})

    server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    request = PullRequest(f"http://127.0.0.1:{server.server_port}", "a/b", 1, TOKEN)
    with pytest.raises(PerflogError, match="GitHub answered: 302"):
        post(request, "text", "<!-- m -->")
    server.shutdown()
    server.server_close()
    with pytest.raises(PerflogError, match=r"was not written: GitHub answered: .*refused"):
        post(request, "text", "<!-- m -->")


# ---------------------------------------------------------------- JUnit and the page


def test_junit_fails_what_the_gate_fails_on(sides: tuple[str, str], tmp_path: Path) -> None:
    old, new = sides
    shutil.rmtree(Path(new) / "1n1g")
    perflog(["compare", old, new, "--gate", "-o", str(tmp_path / "gate.xml")])
    root = ElementTree.parse(tmp_path / "gate.xml").getroot()
    (suite,) = root.iter("testsuite")
    assert [suite.attrib[key] for key in ("tests", "failures", "skipped")] == ["2", "2", "0"]
    slower, missing = root.iter("failure")
    assert slower.attrib["type"] == "slower" and slower.attrib["message"].startswith("slower: −")
    assert missing.attrib["type"] == "missing"
    perflog(["compare", old, new, "--fail-on", "missing", "-o", str(tmp_path / "gate.xml")])
    (failure,) = ElementTree.parse(tmp_path / "gate.xml").getroot().iter("failure")
    assert failure.attrib["type"] == "missing" and failure.attrib["message"].startswith("not on the new side")


def test_a_page_holds_every_row_and_loads_nothing(sides: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "c.html"
    assert perflog(["compare", *sides, "--gate", "-o", str(out)])[0] == 1
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>\n<!-- made by perflog")
    assert "default-src 'none'" in text and not re.search(r"(?:src|href)=\"(?!#)", text)
    assert text.count('<svg class="bar-chart"') == 2 and "The gate failed (exit status 1)" in text
    assert "slower: the whole" not in text and "<dt>slower</dt>" in text, "a verdict is a term of its own"
    sorted_by = re.findall(r'<td class="number" data-sort="([0-9.]+)">', text)
    rows = json.loads(perflog(["compare", *sides, "-f", "json"])[1])["comparisons"][0]["rows"]
    assert {repr(row["ratio"]) for row in rows} <= set(sorted_by)


def test_names_are_text_in_a_page() -> None:
    row = row_of("<script>alert(1)</script>", -0.1, Verdict.SLOWER, ("<img src=x>",))
    comparison = replace(comparison_of(row, warnings=("<b>",)), old="<i>")
    text = html_page([comparison]).decode()
    assert not re.search(r"<script>alert|<img|<b>|<i>", text) and text.count("<script") == 1


# ---------------------------------------------------------------- verdicts


def test_every_verdict_is_declared_with_all_that_outputs_say_of_it() -> None:
    """A further one needs an entry, and its word in the schema."""
    assert set(VERDICTS) == set(Verdict)
    assert {shown.gate for shown in VERDICTS.values()} <= {"", *REASONS}
    assert f'"enum": {json.dumps([verdict.value for verdict in Verdict])}' in json.dumps(json_schema("comparison"))
