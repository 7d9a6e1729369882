"""Changed cases of a history for other programs: JUnit, annotations of GitHub, an Atom feed, whatever the names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from lxml import etree

from perflog.cases.build import build_cases
from perflog.extraction import Extraction
from perflog.history import outputs
from perflog.history.level_changes import LevelChange, Regressions, regressions
from perflog.history.outputs import ATOM, atom, findings, identities
from perflog.history.saving import save
from perflog.history.site_pages import site
from perflog.show.exchange import MOST_OF_A_LEVEL, commands, junit
from tests.extractions import campaign
from tests.history.test_level_changes import BEGIN, saved, steady
from tests.test_hostile_text import perflog

#: A model that XML, HTML and GitHub's runner could take for something else; and what XML cannot hold.
HOSTILE = "\n::error::</title>]]><b a='&'>%0A\x1b[31m\ufffe\u202e,x:y"
_LABEL = "</title>&amp;%0A::x"
_IN_ATOM = {"a": ATOM}
#: What a title says beside the case and the campaign.
_EVENT = re.compile(r"[−+]\S+ % | \(.*")
SCHEMA = etree.RelaxNG(etree.parse(Path(__file__).with_name("atom.rng")))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four cases over 24 campaigns: one worse, one made good, one better, one steady."""
    return saved(tmp_path_factory.mktemp("history") / "h.sqlite")


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same; from the 20th campaign on, on another machine."""
    return saved(tmp_path_factory.mktemp("history") / "h.sqlite", moved=20)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A case of a hostile name that gets worse, in campaigns of hostile names."""
    database = str(tmp_path_factory.mktemp("history") / "h.sqlite")
    for day in range(12):
        made = campaign(1, 2, day, "2.0", level=0.9 if day >= 6 else 1.0)
        for run in made.runs:
            run.metadata.values["model"] = HOSTILE
        cases = Extraction(build_cases(made.runs, made.options), [], made.options)
        save(database, cases, f"{_LABEL}{day}", BEGIN + timedelta(days=day))
    return database


def feed(text: str) -> ElementTree.Element:
    """The feed, which is one by the grammar of its standard."""
    SCHEMA.assertValid(etree.fromstring(text.encode()))
    return ElementTree.fromstring(text)


def entries(text: str) -> list[dict[str, str]]:
    """Each entry's texts, by tag."""
    return [
        {child.tag.removeprefix(f"{{{ATOM}}}"): child.text or child.attrib.get("term", "") for child in entry}
        for entry in feed(text).findall("a:entry", _IN_ATOM)
    ]


def ids_of(found: Regressions) -> dict[str, str]:
    return {entry["title"]: entry["id"] for entry in entries(atom(found))}


# ---------------------------------------------------------------- JUnit


def cases_of(text: str) -> Mapping[str, ElementTree.Element]:
    """The test of each model."""
    return {case.attrib["name"].split()[1]: case for case in ElementTree.fromstring(text).iter("testcase")}


def test_a_worse_case_fails_and_all_others_pass(history: str, tmp_path: Path) -> None:
    words = ["history", "--database", history, "--regressions", "-o", str(tmp_path / "history.xml")]
    assert perflog(words)[0] == 0, "without a gate nothing fails but the test"
    text = (tmp_path / "history.xml").read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.attrib == {"name": "perflog history", "tests": "4", "failures": "1", "errors": "0"}
    tested = cases_of(text)
    assert {model: [child.tag for child in case] for model, case in tested.items()} == {
        "rn50": ["system-out"], "bert-base": ["failure"], "gpt2": ["system-out"], "vit-b16": [],
    }  # fmt: skip
    (failure,) = tested["bert-base"]
    said = r"worse: throughput −[67]\.\d % at v2\.12 \(\d+\.\d\d → \d+\.\d\d samples/s\)"
    assert failure.attrib["type"] == "slower" and re.fullmatch(said, failure.attrib["message"])
    assert failure.text == failure.attrib["message"] and tested["bert-base"].attrib["classname"] == "throughput"
    lines = (tested["rn50"].findtext("system-out") or "").splitlines()
    assert [line.partition(":")[0] for line in lines] == ["made good since", "better"]


def test_a_test_fails_where_the_gate_does(moved: str, tmp_path: Path) -> None:
    found = regressions(moved)
    assert [test.skipped for test in outputs.tests(found)] == [
        "too few comparable campaigns to look for a change: 4 points, change points need 10"
    ] * 4  # fmt: skip
    assert any(line.startswith("worse when its part ended: ") for test in outputs.tests(found) for line in test.lines)
    assert {test.kind for test in outputs.tests(found, ["inconclusive"])} == {"inconclusive"}
    assert not any(test.failure for test in outputs.tests(found, ["nothing-compared"])), "parts before were compared"
    few = regressions(steady(tmp_path / "few.sqlite", 4))
    assert [test.kind for test in outputs.tests(few, ["nothing-compared"])] == ["nothing-compared"]


def test_a_case_that_is_gone_is_skipped_unless_it_must_be_there(history: str) -> None:
    found = regressions(history)
    gone = replace(found, missing=found.followed)
    assert [bool(test.skipped) for test in outputs.tests(gone)].count(True) == 3, "the worse one fails"
    assert [test.kind for test in outputs.tests(gone, ["missing"])] == ["missing"] * 4
    assert {test.failure for test in outputs.tests(gone, ["missing"])} >= {"no value in the newest campaign"}


# ---------------------------------------------------------------- annotations


def test_annotations_of_a_job(history: str, moved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    words = ["history", "--database", history, "--regressions", "-f", "github"]
    status, printed, _ = perflog([*words, "--gate"])
    lines = [line for line in printed.splitlines() if line.startswith("::")]
    assert status == 1 and [line.split()[0] for line in lines] == ["::error"] * 2 + ["::notice"] * 4
    assert lines[0] == "::error title=perflog history::The gate failed (exit status 1): 1 of 4 cases got worse."
    assert lines[1].startswith("::error title=perflog history%3A throughput::PyTorch bert-base fp32 bs32 1 device: ")
    assert re.search(r"−[67]\.\d %25 at v2\.12 \(.* samples/s\), worse$", lines[1])
    assert sum("PyTorch rn50" in line for line in lines[3:]) == 2, "made good, and better again"
    assert (tmp_path / "summary.md").read_text().count("\n| PyTorch ") == 4 and "made good since" in printed
    assert {one.level for one in findings(regressions(history))} == {"warning", "notice"}, "nothing fails unasked"
    levels = [one.level for one in findings(regressions(moved), ["slower"])]
    assert "error" not in levels and levels.count("warning") == 1, "what has ended is no error"


def test_github_shows_ten_of_a_level(history: str) -> None:
    found = regressions(history)
    many = replace(found, changes=tuple([*found.worse] * 30))
    for fail_on in ([], ["slower"]):
        said = findings(many, fail_on)
        level = "error" if fail_on else "warning"
        assert sum(one.level == level for one in said) == MOST_OF_A_LEVEL
        assert next(one.message for one in reversed(said) if one.level == level).startswith("21 more cases")


# ---------------------------------------------------------------- the feed


def test_an_entry_for_each_event_with_the_time_of_its_campaign(moved: str, tmp_path: Path) -> None:
    text = perflog(["history", "--database", moved, "--regressions", "-f", "atom"])[1]
    found = entries(text)
    assert [entry["updated"] for entry in found] == [
        "2025-01-21T00:00:00Z", "2025-01-16T00:00:00Z", "2025-01-13T00:00:00Z", "2025-01-09T00:00:00Z",
        "2025-01-07T00:00:00Z",
    ]  # fmt: skip
    assert feed(text).findtext("a:updated", "", _IN_ATOM) == found[0]["updated"]
    assert [entry["category"] for entry in found] == ["new-part", "better", "ended", "better", "made_good"]
    assert found[0]["title"].startswith("4 cases began a new part at v2.20 (the machine: gpu.name V100 → A100): ")
    assert found[0]["content"].count("PyTorch ") == 4
    title, content = found[2]["title"], found[2]["content"]
    assert re.fullmatch(
        r"PyTorch bert-base .*: throughput −[67]\.\d % at v2\.12 \(.*\), worse when its part ended", title
    )
    shape = r"before: [\d.]+; after: [\d.]+; unit: samples/s; change: −\S+ %; now: −\S+ %; state: worse when its part "
    assert re.fullmatch(rf"{shape}ended; version: 2\.12", content), content
    assert len({entry["id"] for entry in found}) == 5
    assert perflog(["history", "--database", moved, "--regressions", "-o", str(tmp_path / "feed.atom")])[0] == 0
    assert (tmp_path / "feed.atom").read_text(encoding="utf-8") == text
    since = perflog(["history", "--database", moved, "--regressions", "-f", "atom", "--since", "v2.12"])[1]
    assert entries(since) == found[:2]


def test_a_reader_shows_each_event_once(history: str, moved: str) -> None:
    """A later campaign, another choice of cases and a change of its state give an event no other identifier."""
    whole, later = regressions(history), regressions(moved)
    of_events, again = ({_EVENT.sub("", title): mark for title, mark in ids_of(one).items()} for one in (whole, later))
    assert len(of_events) == 4 and len(again) == 5 and of_events.items() <= again.items()
    alone = ids_of(regressions(history, wanted={"model": "gpt2"}))
    assert len(alone) == 1 and alone.items() <= ids_of(whole).items()
    assert len(set(identities(whole.followed))) == 4


def test_a_history_without_events_is_a_feed(tmp_path: Path) -> None:
    text = atom(regressions(steady(tmp_path / "h.sqlite", 3)))
    assert feed(text).findtext("a:updated", "", _IN_ATOM) == "2025-01-03T00:00:00Z" and not entries(text)


def test_a_site_has_a_feed_that_leads_to_its_pages(moved: str, tmp_path: Path) -> None:
    made = site(moved, tmp_path / "site")
    index, text = made.files["index.html"].decode(), made.files["feed.xml"].decode()
    links = re.findall("<link [^>]*>", index)
    assert links == ['<link rel="alternate" type="application/atom+xml" title="History of throughput" href="feed.xml">']
    assert '<a href="feed.xml" type="application/atom+xml">' in index
    assert not any("<link" in data.decode() for path, data in made.files.items() if path.startswith("cases/"))
    places = [link.attrib["href"] for link in feed(text).iter(f"{{{ATOM}}}link")]
    assert len(places) == 6 and {place.partition("#")[0] for place in places} <= {*made.files}
    assert 'id="parts"' in index
    assert [entry["id"] for entry in entries(text)] == [entry["id"] for entry in entries(atom(regressions(moved)))]


# ---------------------------------------------------------------- hostile names


def test_names_are_text_in_every_format(hostile: str) -> None:
    found = regressions(hostile)
    shown = r"\n::error::</title>]]><b a='&'>%0A\x1b[31m\ufffe\u202e,x:y"
    (entry,) = entries(atom(found))
    assert shown in entry["title"] and f"at {_LABEL}6 (" in entry["title"]
    (case,) = ElementTree.fromstring(outputs.render(found, "junit")).iter("testcase")
    assert shown in case.attrib["name"] and f"{_LABEL}6" in case[0].attrib["message"]
    text = commands(findings(found, ["slower"], found.gate()))
    lines = text.splitlines()
    assert [line.split()[0] for line in lines] == ["::error", "::error", "::notice"]
    assert r"PyTorch \n::error::</title>" in lines[1] and "%250A" in lines[1] and "\x1b" not in text


def test_what_xml_does_not_allow_is_written_nowhere(history: str) -> None:
    """Every character that XML 1.0 has no form for, and bytes that are no text, in a case's name and in a reason."""
    forbidden = "".join(map(chr, [*range(9), 11, 12, *range(14, 32), 0xD800, 0xDC80, 0xDFFF, 0xFFFE, 0xFFFF]))
    found = regressions(history)

    def renamed(change: LevelChange) -> LevelChange:
        return replace(change, series=lines[id(change.series)])

    lines = {id(line): replace(line, name=f"{line.name}{forbidden}") for line in found.followed}
    named = replace(
        found, followed=tuple(lines.values()), changes=tuple(map(renamed, found.changes)),
        unseen=((next(iter(lines.values())), forbidden),),
    )  # fmt: skip
    for text in (atom(named), junit("perflog history", outputs.tests(named))):
        root = etree.fromstring(text.encode())
        assert r"\x00" in text and r"\uffff" in text and len(root)
