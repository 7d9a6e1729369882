"""A history as a static site: what its pages hold, that they load nothing, and that its folder is its own."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from perflog.cli import app
from perflog.errors import PerflogError, UsageError
from perflog.history import publishing, series
from perflog.history.following import share_words
from perflog.history.pictures import _round_values
from perflog.history.publishing import MANIFEST, publish, refusal
from perflog.history.saving import save
from perflog.history.site_pages import site
from tests.browser import complaints, contrast, find, light, needs_browser, opened
from tests.campaigns import write_run
from tests.extractions import campaign
from tests.history.test_ledger import keep
from tests.history.test_level_changes import BEGIN, saved
from tests.test_hostile_text import perflog

FILES = {"index.html": b"<p>index", "cases/a.html": b"<p>a"}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four cases over 24 campaigns; from the 20th on, on another machine."""
    return saved(tmp_path_factory.mktemp("history") / "h.sqlite", moved=20)


@pytest.fixture(scope="module")
def folder(history: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sites") / "site"
    status, _, said = perflog(["history", "--database", history, "-o", f"{out}/"])
    assert status == 0 and re.search(r"index\.html: 4 cases, 24 campaigns, 6 pages, \d+ kB", said), said
    return out


class Parsed(HTMLParser):
    """Tags with their attributes, and the text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def parsed(file: Path) -> Parsed:
    return Parsed(file.read_text(encoding="utf-8"))


# ---------------------------------------------------------------- the pages


def test_the_index_tells_how_each_case_stands_and_leads_to_its_page(folder: Path) -> None:
    index = parsed(folder / "index.html")
    assert "Cases: 4. Campaigns: 24, from 2025-01-01 to 2025-01-24." in index.text
    assert "1 worse when its part ended; 2 better; 1 new part, too few campaigns yet" in index.text
    changes = re.search(
        r"PyTorch bert-base fp32 bs32 1 device −6\.9 % worse when its part ended .*? v2\.12 2025-01-13", index.text
    )
    assert changes, index.text
    rows = re.findall(
        r'<tr><th scope="row" data-sort="([^"]+)"><a href="([^"]+)">', (folder / "index.html").read_text()
    )
    assert [name.split()[1] for name, _ in rows] == ["bert-base", "gpt2", "rn50", "vit-b16"], "the worst first"
    assert all((folder / place).is_file() for _, place in rows)
    assert sum(tag == "svg" and a.get("class") == "sparkline" for tag, a in index.tags) == 4
    assert "Machine 2: v2.20 to v2.23 (campaigns: 4) gpu.name V100 → A100" in index.text
    assert re.search(
        r"v2\.20 \(2025-01-21\): the machine: gpu.name V100 → A100\. Cases: 4, −0\.\d to \+0\.\d %", index.text
    )


def test_a_case_has_its_picture_its_changes_its_machines_and_its_logs(folder: Path) -> None:
    (file,) = folder.glob("cases/*bert*.html")
    page = parsed(file)
    circles = [a for tag, a in page.tags if tag == "circle"]
    assert len(circles) == 24
    assert sum(tag == "line" and a.get("class") == "change worse" for tag, a in page.tags) == 1
    assert sum(tag == "line" and a.get("class") == "break" for tag, a in page.tags) == 1
    assert re.search(r"−\d\.\d % at v2\.12 \(2025-01-13\): median \d+\.\d\d before, \d+\.\d\d from there\.", page.text)
    assert "A new part, not compared with the one before it. Changed: the machine: gpu.name V100 → A100" in page.text
    assert "Changes of level were not looked for: campaigns with a value: 4, of 10 that are needed." in page.text
    assert "logs/2.12/bert-base/1g/bert-base_b32_fp32_3.log lines 24–203 : " in page.text


def test_a_log_that_is_there_is_linked_and_another_one_is_not(
    history: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "logs/2.12/bert-base/1g/bert-base_b32_fp32_3.log"
    log.parent.mkdir(parents=True)
    log.touch()
    assert perflog(["history", "--database", history, "-o", "out/site/".replace("out/", "")])[0] == 0
    (file,) = (tmp_path / "site").glob("cases/*bert*.html")
    links = [a["href"] or "" for tag, a in parsed(file).tags if tag == "a" and a.get("class") == "path"]
    assert [os.path.normpath(file.parent / link) for link in links] == [str(log)]


def test_pages_load_nothing_and_links_stay_inside(folder: Path) -> None:
    pages = sorted(folder.rglob("*.html"))
    assert len(pages) == 6
    for file in pages:
        page = parsed(file)
        policy = next(a["content"] or "" for tag, a in page.tags if tag == "meta" and "http-equiv" in a)
        assert policy.startswith("default-src 'none'")
        assert {tag for tag, _ in page.tags}.isdisjoint({"img", "iframe", "object", "form", "base"})
        linked = [(a["rel"], a["href"]) for tag, a in page.tags if tag == "link"]
        assert linked == ([("alternate", "feed.xml")] if file.name == "index.html" else []), "no style from elsewhere"
        assert all("src" not in a and not any(name.startswith("on") for name in a) for _, a in page.tags)
        for link in (a["href"] or "" for tag, a in page.tags if tag == "a"):
            assert link.startswith("#") or (file.parent / link).is_file(), link
        ids = [a["id"] for _, a in page.tags if "id" in a]
        assert len(ids) == len(set(ids))


def test_the_same_history_gives_the_same_pages_under_the_same_names(history: str, folder: Path) -> None:
    made = site(history, folder)
    assert {path: (folder / path).read_bytes() for path in made.files} == made.files
    alone = site(history, folder, wanted={"model": "gpt2"})
    assert {path for path in alone.files if path.startswith("cases/")} < {*made.files}


def test_both_languages_say_all(history: str, tmp_path: Path) -> None:
    made = site(history, tmp_path, language="zh")
    index = Parsed(made.files["index.html"].decode()).text
    case = Parsed(next(data for path, data in made.files.items() if "bert" in path).decode()).text
    for text, words in (
        (index, ["水平变化", "变差", "机器 2", "吞吐"]),
        (case, ["变化的是：机器: gpu.name", "5 个日志", "中位数"]),
    ):
        assert [word for word in words if word not in text] == []
    assert 'lang="zh-Hans"' in made.files["index.html"].decode()
    english = re.findall(r"\b(?:Case|Campaign|Before|After|worse)\b", index + case)
    assert english == []


def test_a_metric_has_pages_of_its_own_which_lead_to_those_of_the_others(history: str, tmp_path: Path) -> None:
    place = tmp_path / "site"
    assert perflog(["history", "--database", history, "-o", f"{place}/", "--value", "throughput,step_time"])[0] == 0
    for file, other in (("index.html", "step-time/index.html"), ("step-time/index.html", "../index.html")):
        page = parsed(place / file)
        assert [a["href"] for tag, a in page.tags if tag == "a" and (a["href"] or "").endswith("index.html")] == [other]
        assert ((place / file).parent / other).is_file()
    assert "History of step time" in parsed(place / "step-time" / "index.html").text
    assert len(list(place.glob("cases/*.html"))) == len(list(place.glob("step-time/cases/*.html"))) == 4


def test_commits_and_differences_are_linked_where_the_repository_is_known(tmp_path: Path) -> None:
    database, old, new = str(tmp_path / "h.sqlite"), "a" * 40, "b" * 40
    keep(database, range(12), 1.0, commit=old)
    keep(database, range(12, 18), 0.95, commit=new)
    address = "https://git.example.org/team/code"
    wanted = {f"{address}/commit/{old}", f"{address}/commit/{new}", f"{address}/compare/{old}...{new}"}
    for given, expected in ((f"{address}/", wanted), ("", set())):
        made = site(database, tmp_path, code=given)
        pages = [Parsed(data.decode()) for path, data in made.files.items() if path.endswith(".html")]
        linked = {a["href"] for page in pages for tag, a in page.tags if tag == "a" and "//" in (a["href"] or "")}
        assert linked == expected
    for wrong in ("javascript:alert(1)//", "git@example.org:team/code", "https://example.org"):
        with pytest.raises(UsageError, match="expected the address of a repository"):
            site(database, tmp_path, code=wrong)


def test_names_are_text_and_nothing_else(tmp_path: Path) -> None:
    database = str(tmp_path / "h.sqlite")
    name = "</script><script>alert(1)</script><b>"
    for day in range(3):
        made = campaign(1, 2, day, name)
        for run in made.runs:
            run.metadata.values["model"] = name
        for case in made.cases:
            case.key["model"] = name
        save(database, made, f"{name}{day}", BEGIN + timedelta(days=day))
    made_site = site(database, tmp_path)
    assert all(
        re.fullmatch(r"(index|campaigns)\.html|feed\.xml|cases/[a-z0-9-]+\.html", path) for path in made_site.files
    )
    for data in made_site.files.values():
        text = data.decode()
        assert "<script>alert" not in text and "<b>" not in text and text.count("<script") <= 1


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (739.9, 741.2), (-5.0, 5.0), (1e-7, 3e-7), (10.0, 10.0), (3.0, 9e6)]
)
def test_the_axis_has_a_few_round_values(low: float, high: float) -> None:
    values = _round_values(low, high)
    assert len(values) <= 7 and all(low - 1e-9 <= value <= high + 1e-9 for value in values)
    if high > low:
        assert len(values) >= 2


# ---------------------------------------------------------------- the folder


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_site_is_written_anew_as_a_whole(tmp_path: Path) -> None:
    place = tmp_path / "site"
    publish(place, FILES)
    assert {path: data for path, data in tree(place).items() if path != MANIFEST} == FILES
    publish(place, {"index.html": b"<p>new", "cases/b.html": b"<p>b"})
    assert set(tree(place)) == {MANIFEST, "index.html", "cases/b.html"} and tree(place)["index.html"] == b"<p>new"
    assert [path.name for path in tmp_path.iterdir()] == ["site"], "nothing is left beside it"


@pytest.mark.parametrize(
    "foreign", ["mine.html", "cases/mine.html", "deep/er/x", "empty/", "link", ".git/config"]
)  # fmt: skip
@pytest.mark.parametrize("own", [True, False])
def test_a_folder_with_anything_else_is_refused_and_left_as_it_is(foreign: str, own: bool, tmp_path: Path) -> None:
    place = tmp_path / "site"
    place.mkdir()
    if own:
        publish(place, FILES)
    path = place / foreign
    path.parent.mkdir(parents=True, exist_ok=True)
    if foreign.endswith("/"):
        path.mkdir()
    elif foreign == "link":
        path.symlink_to("/etc")
    else:
        path.write_text("mine")
    before = tree(place)
    with pytest.raises(UsageError, match=f"holds what is not of a site that perflog wrote.*{foreign.rstrip('/')}"):
        publish(place, {"index.html": b"<p>new"})
    assert tree(place) == before and os.path.lexists(path)


def test_a_page_changed_by_hand_is_not_written_over(tmp_path: Path) -> None:
    place = tmp_path / "site"
    publish(place, FILES)
    (place / "index.html").write_text("mine")
    assert "'index.html'" in refusal(place)
    (place / "index.html").write_bytes(FILES["index.html"])
    (place / MANIFEST).unlink()
    assert refusal(place), "without its list a site is nobody's"


def test_a_list_that_somebody_else_wrote_lets_nothing_outside_be_deleted(tmp_path: Path) -> None:
    outside, place = tmp_path / "outside.html", tmp_path / "site"
    outside.write_bytes(b"x")
    publish(place, FILES)
    listed = json.loads((place / MANIFEST).read_text())
    listed["files"]["../outside.html"] = publishing._hash(outside)
    (place / MANIFEST).write_text(json.dumps(listed))
    publish(place, {"index.html": b"<p>new"})
    assert outside.read_bytes() == b"x"


def test_a_link_to_a_folder_is_followed_and_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    publish(tmp_path / "link", FILES)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real/index.html").is_file()
    (tmp_path / "file").write_text("mine")
    assert "is no folder" in refusal(tmp_path / "file") and "there is no folder" in refusal(tmp_path / "no/site")


def test_where_it_cannot_be_written_the_old_site_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "site"
    publish(place, FILES)
    before = tree(place)
    real = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == MANIFEST:
            raise OSError(28, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(PerflogError, match="No space left on device"):
        publish(place, {"index.html": b"<p>new", "cases/c.html": b""})
    assert tree(place) == before and [path.name for path in tmp_path.iterdir()] == ["site"]


def test_what_killed_writers_left_is_removed_and_what_is_not_theirs_is_not(tmp_path: Path) -> None:
    place = tmp_path / "site"
    killed, whole, strange = (tmp_path / f".perflog-site-{digit * 16}" for digit in "123")
    publish(whole, FILES)
    (killed / "cases").mkdir(parents=True)
    (killed / "index.html").write_bytes(b"<p>hal")
    (killed / "feed.xml").write_bytes(b"<fee")
    strange.mkdir()
    (strange / "mine.txt").write_text("mine")
    publish(place, FILES)
    assert {path.name for path in tmp_path.iterdir()} == {"site", strange.name}
    assert tree(strange) == {"mine.txt": b"mine"}


def test_a_reader_sees_one_site_or_the_other_at_every_moment(tmp_path: Path) -> None:
    """Both files are read again and again through one open folder while sites are written by another process."""
    place = tmp_path / "site"
    publish(place, {"index.html": b"0", "cases/a.html": b"0"})
    child = os.fork()
    if not child:
        with suppress(BaseException):
            for number in range(1, 60):
                publish(place, {"index.html": b"%d" % number, "cases/a.html": b"%d" % number})
        os._exit(0)
    seen = set()
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        handle = os.open(place, os.O_RDONLY)  # never missing
        with suppress(FileNotFoundError):  # the old site, on its way out
            texts = [Path(f"/proc/self/fd/{handle}/{name}").read_bytes() for name in FILES]
            assert len(set(texts)) == 1
            seen.add(texts[0])
        os.close(handle)
    assert (place / "index.html").read_bytes() == b"59" and len(seen) > 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--regressions"], "is a site, which --regressions has not"), (["-f", "csv"], "is a site, which --format csv has not"),
        (["--lang", "fr"], "--lang 'fr'"),
    ],
)  # fmt: skip
def test_wrong_usage(history: str, options: list[str], words: str, tmp_path: Path) -> None:
    status, _, said = perflog(["history", "--database", history, "-o", f"{tmp_path}/s/", *options])
    assert status == 2 and words in said and not (tmp_path / "s").exists()


# ---------------------------------------------------------------- in a browser


@pytest.fixture
def quiet(browser: Any) -> Iterator[Any]:
    """The browser; nothing may stand in its console afterwards."""
    yield browser
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
def test_the_pages_fit_and_can_be_read(quiet: Any, folder: Path, width: int, dark: bool) -> None:
    (case,) = folder.glob("cases/*bert*.html")
    for file, texts in (
        (folder / "index.html", (".lead", "td.worse", "td.open", "th a", ".unit")),
        (folder / "campaigns.html", (".hint", "label", "td", ".unit")),
        (case, (".made", "strong.worse", "dt", "#curve-point")),
    ):
        opened(quiet, file, width, dark)
        assert quiet.execute_script("return document.documentElement.scrollWidth <= innerWidth"), file
        ground = quiet.execute_script("return getComputedStyle(document.documentElement).backgroundColor")
        assert (light(ground) < 0.1) is dark
        for css in texts:
            assert contrast(ground, find(quiet, css).value_of_css_property("color")) > 4.5, css
    if width == 1400:
        opened(quiet, folder / "index.html", width, dark)
        assert quiet.execute_script(
            "return Array.from(document.querySelectorAll('.scroll'), s => s.scrollWidth <= s.clientWidth).every(Boolean)"
        ), "no table is cut"


@needs_browser
def test_the_filter_leaves_the_rows_that_hold_all_words(quiet: Any, folder: Path) -> None:
    opened(quiet, folder / "index.html")
    box = find(quiet, "#filter")
    box.send_keys("pytorch VIT")
    shown = "return Array.from(document.querySelectorAll('#rows tbody tr'), r => !r.hidden && r.cells[0].innerText).filter(Boolean)"
    assert [name.split()[1] for name in quiet.execute_script(shown)] == ["vit-b16"]
    assert find(quiet, "output[for='filter']").text == "1 / 4"
    box.send_keys(" nothing")
    assert quiet.execute_script(shown) == [] and find(quiet, "output[for='filter']").text == "0 / 4"
    find(quiet, "#rows thead th[data-column='0'] button").click()
    assert quiet.execute_script(shown) == [], "sorting shows nothing that is filtered away"


@needs_browser
def test_any_two_campaigns_stand_side_by_side(quiet: Any, folder: Path, history: str) -> None:
    """The cells against the medians that the history has; across a border of parts there is no change."""
    lines = series(history, {})
    quiet.get((folder / "campaigns.html").as_uri())
    for old, new in (("v2.12", "v2.11"), ("v2.0", "v2.5"), ("v2.0", "v2.23")):
        for side, label in (("old", old), ("new", new)):
            box = quiet.find_element("id", side)
            next(option for option in box.find_elements("tag name", "option") if option.text == label).click()
        cells = "r => Array.from(r.cells, c => c.textContent)"
        rows = quiet.execute_script(f"return Array.from(document.querySelectorAll('tbody tr'), {cells})")
        assert len(rows) == len(lines)
        for line, (name, change, *values) in zip(lines, rows, strict=True):
            assert name == line.name
            points = {point.campaign: point for point in line.points}
            medians = [points[label].summary.value if label in points else None for label in (old, new)]
            for shown, median in zip(values, medians, strict=True):
                assert shown.split()[0] == (f"{median:.2f}" if median is not None else "no")
            before, after = medians
            if before is None or after is None:
                assert change == ""
            elif points[old].machines != points[new].machines:
                assert change == "not compared: another machine, rule or unit"
            else:
                assert change == share_words(after / before)


@needs_browser
def test_a_case_is_a_click_away_and_leads_back(quiet: Any, folder: Path) -> None:
    opened(quiet, folder / "index.html")
    find(quiet, "#rows th a").click()
    assert "/cases/" in quiet.current_url and find(quiet, "h1").text.startswith("PyTorch bert-base")
    find(quiet, ".points summary").click()
    assert find(quiet, ".points .path").is_displayed()
    find(quiet, ".back a").click()
    assert quiet.current_url.endswith("/index.html")


def test_a_point_whose_runs_were_throttled_says_so(tmp_path: Path) -> None:
    folder, database = tmp_path / "logs", tmp_path / "history.sqlite"
    for number in (1, 2, 3):
        write_run(folder / "1n8g" / f"rn50_b128_fp32_{number}.log", [100.0 + number] * 60)
    facts = {"throttled": {"1n8g/rn50_b128_fp32_2": ["GPU 0: power cap in 2 of 9 samples"]}}
    (folder / "machine.json").write_text(json.dumps(facts))
    told = "1 of 3 runs were throttled while they ran (GPU 0: power cap)"
    assert CliRunner().invoke(app, ["save", str(folder), "--label", "v1", "--database", str(database)]).exit_code == 0
    words = ["history", "--case", "devices=8", "--database", str(database)]
    shown = CliRunner().invoke(app, [*words, "--format", "markdown"])
    assert told in shown.stdout, shown.output
    (series,) = json.loads(CliRunner().invoke(app, [*words, "--format", "json"]).stdout)["series"]
    ((point,),) = [part["points"] for part in series["parts"]]
    assert (point["runs"], point["throttled"], point["slowed_by"]) == (3, 1, ["GPU 0: power cap"])
    (row,) = csv.DictReader(io.StringIO(CliRunner().invoke(app, [*words, "--format", "csv"]).stdout))
    assert (row["throttled"], row["slowed_by"]) == ("1", "GPU 0: power cap")
    done = CliRunner().invoke(app, ["history", "--database", str(database), "-o", f"{tmp_path / 'site'}/"])
    assert done.exit_code == 0, done.output
    assert any(told in page.read_text(encoding="utf-8") for page in (tmp_path / "site").rglob("*.html"))
