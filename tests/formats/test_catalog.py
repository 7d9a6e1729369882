"""Where parsers come from, which one counts, and what a catalogue remembers."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from perflog.errors import ParserError, UsageError
from perflog.extraction import extract_paths
from perflog.formats.catalog import Catalog, load_catalog
from perflog.matching.checks import refuse_unsound
from perflog.runs.run import Skipped
from tests.support import options

TEXT = """
title = "{title}"
source = "s"
priority = 90
[[pattern]]
name = "step"
role = "step"
literal = "OWN step"
regex = 'OWN step (?P<step>{{I}}) (?P<rate>{{N}})'
[[pattern.value]]
group = "rate"
quantity = "rate"
unit = "images/s"
[[pattern.sample]]
line = "OWN step 1 2.5"
expect = {{ rate = {rate} }}
"""


@pytest.fixture(autouse=True)
def no_user_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))


def folder_with(folder: Path, name: str = "own", title: str = "mine", rate: str = "2.5") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.toml").write_text(TEXT.format(title=title, rate=rate), encoding="utf-8")
    return folder


def log_in(folder: Path) -> Path:
    log = folder / "run.log"
    log.write_text("".join(f"OWN step {step} 100.0\n" for step in range(1, 60)), encoding="utf-8")
    return log


def test_a_folder_of_ones_own_adds_and_replaces(tmp_path: Path) -> None:
    folder_with(tmp_path)
    folder_with(tmp_path, "keras")
    own, shipped = load_catalog([tmp_path]), load_catalog()
    assert {parser.name for parser in own.parsers} - {parser.name for parser in shipped.parsers} == {"own"}
    assert own["keras"].title == "mine" and own["keras"].file == tmp_path / "keras.toml"
    assert shipped["keras"].file.parent.name == "parsers" and shipped["keras"].title != "mine"


def test_the_last_folder_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder_with(tmp_path / "config" / "perflog" / "parsers", title="the user's")
    assert load_catalog()["own"].title == "the user's"
    one, two = folder_with(tmp_path / "one", title="one"), folder_with(tmp_path / "two", title="two")
    assert load_catalog([one, two])["own"].title == "two"
    assert load_catalog([two, one])["own"].title == "one"


def test_the_specific_come_first(tmp_path: Path) -> None:
    parsers = load_catalog([folder_with(tmp_path)]).parsers
    assert parsers[0].name == "own"
    assert [(-p.priority, p.name) for p in parsers] == sorted((-p.priority, p.name) for p in parsers)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        load_catalog([tmp_path / "none"])


def test_a_parser_is_loaded_from_its_file(tmp_path: Path) -> None:
    folder_with(tmp_path, title="of the file")
    assert load_catalog([tmp_path / "own.toml"])["own"].title == "of the file"
    (tmp_path / "README.md").write_text("no parser")
    with pytest.raises(UsageError, match=r"no such folder, and no parser's file, which ends in \.toml"):
        load_catalog([tmp_path / "README.md"])


def test_near_names() -> None:
    with pytest.raises(UsageError, match=r"^parser 'paddleclass': there is no such parser; did you mean paddleclas"):
        load_catalog()["paddleclass"]
    with pytest.raises(UsageError, match="there is no such parser; `perflog parsers list` shows them"):
        load_catalog().only(["qqqq"])


def test_samples_are_checked_once_per_catalogue(tmp_path: Path) -> None:
    right, wrong = (
        load_catalog([folder_with(tmp_path / "right")]),
        load_catalog([folder_with(tmp_path / "wrong", rate="3")]),
    )
    log = log_in(tmp_path)
    for _ in range(2):
        assert extract_paths([log], options(), right).runs[0].throughput.value == pytest.approx(100.0)
        with pytest.raises(ParserError, match=r"sample expects rate = 3, read '2\.5'"):
            extract_paths([log], options(), wrong)
        with pytest.raises(ParserError, match=r"sample expects rate = 3, read '2\.5'"):
            refuse_unsound(wrong.only(["own"]), "own")
    refuse_unsound(right, "own")


def entry_point(folder: Path, target: str, code: str) -> None:
    """Install a distribution with an entry point into a folder."""
    info = folder / "own_formats-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-formats\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[perflog.parsers]\nown = {target}\n", encoding="utf-8")
    (folder / "own_formats.py").write_text(code, encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "own_formats", raising=False)
    return tmp_path / "site"


def test_a_parser_of_an_installed_distribution(site: Path, tmp_path: Path) -> None:
    file = folder_with(tmp_path / "files") / "own.toml"
    entry_point(
        site,
        "own_formats:parser",
        f"from pathlib import Path\nfrom perflog.formats.load import load_parser\n\ndef parser():\n    return load_parser(Path({str(file)!r}))\n",
    )
    catalog = load_catalog()
    assert catalog["own"].file == file
    assert extract_paths([log_in(tmp_path)], options(), catalog).runs[0].parser == "own"
    assert load_catalog([folder_with(tmp_path / "folder", title="a folder's")])["own"].title == "a folder's"


def test_a_parser_of_a_distribution_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive on Python's path is not looked into by perflog, but by importlib."""
    file = folder_with(tmp_path / "files") / "own.toml"
    archive = tmp_path / "own_formats.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr(
            "own_formats-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: own-formats\nVersion: 1.0\n"
        )
        opened.writestr("own_formats-1.0.dist-info/entry_points.txt", "[perflog.parsers]\nown = own_formats:parser\n")
        opened.writestr(
            "own_formats.py",
            f"from pathlib import Path\nfrom perflog.formats.load import load_parser\n\ndef parser():\n    return load_parser(Path({str(file)!r}))\n",
        )
    monkeypatch.syspath_prepend(str(archive))
    monkeypatch.delitem(sys.modules, "own_formats", raising=False)
    assert load_catalog()["own"].file == file


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        ("own_formats:parser", "parser = 5\n", "expected a function that returns a Parser, found 'own_formats:parser'"),
        ("own_formats:parser", "def parser():\n    return 5\n", "expected a function that returns a Parser"),
        ("own_formats:none", "", "'own_formats:none' cannot be imported: "),
        ("no_such_module:parser", "", "'no_such_module:parser' cannot be imported: No module named 'no_such_module'"),
    ],
)
def test_an_entry_point_that_is_wrong(target: str, code: str, message: str, site: Path) -> None:
    entry_point(site, target, code)
    with pytest.raises(ParserError) as error:
        load_catalog()
    assert str(error.value).startswith(f"entry point 'own' of perflog.parsers: {message}")


@pytest.mark.parametrize("parser", ["own", "keras", "perflog_run"])
def test_one_parser_alone_reads_its_logs_among_other_files(parser: str, tmp_path: Path) -> None:
    """All literals of a small catalogue may occur in a log, so that none is left to be looked for in the next file."""
    catalog = load_catalog([folder_with(tmp_path / "parsers")]).only([parser])
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text("".join(f"{literal}\n" for literal in catalog.literals) + "OWN step 1 5\n")
    (tmp_path / "logs" / "readme.md").write_text("# Nothing to measure\n")
    extraction = extract_paths([tmp_path / "logs"], options(), catalog)
    assert [skipped.log.name for skipped in extraction.skipped if isinstance(skipped, Skipped)][-1].endswith(
        "readme.md"
    )


def test_literals_lead_to_their_patterns(tmp_path: Path) -> None:
    catalog: Catalog = load_catalog([folder_with(tmp_path)]).only(["own"])
    assert catalog.literals == ["OWN step"]
    assert [pattern.key for pattern in catalog.by_literal["OWN step"]] == ["own.step"]
