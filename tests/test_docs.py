"""Documentation is executed: every ``$ perflog …`` block prints what is shown, every parser and command is listed."""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.mark import ParameterSet
from typer.main import get_command

from perflog.cli import app
from perflog.formats.catalog import load_catalog
from perflog.formats.dialect import MACROS
from perflog.settings.convention import load_conventions
from tests import forks
from tests.support import ROOT, SHARED
from tests.tools import make_keys

PAGES = [ROOT / "README.md", ROOT / "README.zh-CN.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


#: Pages whose commands follow on each other.
IN_ORDER = {
    "any-log.md", "history.md", "README.md", "README.zh-CN.md", "tutorial.md", "tutorial.zh.md", "llm.md", "view.md",
}  # fmt: skip
#: Pages whose commands are typed in an empty folder of the reader's.
ELSEWHERE = IN_ORDER - {"history.md"}


def commands() -> list[tuple[str, str, str]]:
    """(page, command, expected output) of every shown command."""
    found = []
    for page in PAGES:
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                if command.startswith(("perflog ", "for ")) or page.name in ELSEWHERE:
                    found.append((page.name, command, output.rstrip("\n")))
    return found


def sessions() -> dict[str, list[tuple[str, list[str]]]]:
    """What is run one after the other, by a name: commands, each with the outputs shown of it.

    A session is a command, shown on one page or on several, or all of a page.
    """
    found: dict[str, list[tuple[str, list[str]]]] = {}
    alone: dict[str, list[str]] = {}
    for page, command, output in commands():
        if page in IN_ORDER:
            found.setdefault(page, []).append((command, [output]))
        elif command in alone:
            alone[command].append(output)
        else:
            alone[command] = [output]
            found[f"{page}: {command}"] = [(command, alone[command])]
    return found


#: What takes long of pages: the others show the same commands.
LONG = (
    "tutorial.md",
    "audit.md",
    "tutorial.zh.md",
    "README.zh-CN.md",
    "history.md",
    "reports.md",
    "compare.md: perflog plan",
)


def parameters() -> list[ParameterSet]:
    """The sessions, those that take long marked."""
    return [
        pytest.param(name, session, id=name[:80], marks=[pytest.mark.long] if name.startswith(LONG) else [])
        for name, session in sessions().items()
    ]


@pytest.mark.parametrize(("name", "session"), parameters())
def test_shown_command_prints_what_is_shown(name: str, session: list[tuple[str, list[str]]], tmp_path: Path) -> None:
    place = tmp_path if name in ELSEWHERE else ROOT
    if place == tmp_path:
        (place / "fixtures").symlink_to(ROOT / "fixtures")
    environment = {**os.environ, "TMPDIR": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    for command, shown in session:
        if "../shared" in command and not SHARED.is_dir():
            pytest.skip("../shared is not here")
        words = f'perflog() {{ {shlex.join(forks.words())} "$@"; }}; {command}'
        assert [printed_by(words, place, environment)] * len(shown) == shown


def printed_by(command: str, place: Path, environment: Mapping[str, str]) -> str:
    """What a command of a page prints, as the pages show it."""
    words = ["bash", "-c", command]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False, env=environment)
    return "\n".join(line.rstrip() for line in (done.stdout + done.stderr).rstrip("\n").splitlines())


def test_there_are_sessions() -> None:
    assert len(commands()) >= 6


def test_every_command_is_in_the_readme() -> None:
    """But for what workers' parts are merged with (docs/scale.md)."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = set(get_command(app).commands) - {"merge"}  # type: ignore[attr-defined]
    assert len(commands) >= 20
    assert {command for command in commands if f"perflog {command}" not in readme} == set()


def test_each_format_has_a_page_with_its_lines_what_they_give_and_its_traps() -> None:
    pages = site_module("format_pages").pages()
    parsers = load_catalog().parsers
    assert pages.keys() == {f"formats/{parser.name}.md" for parser in parsers}
    for parser in parsers:
        text = re.sub(r"\\(.)", r"\1", pages[f"formats/{parser.name}.md"])
        traps = (re.sub(r"\\(.)", r"\1", trap) for trap in parser.traps)
        lines = [pattern.samples[0].line for pattern in parser.patterns if pattern.role == "step"][:5]
        measured = [value.group for pattern in parser.patterns if pattern.role == "step" for value in pattern.values][
            :3
        ]
        wanted = [f"# {parser.title}", f"`{parser.name}`", *traps, *(f"| `{group}` |" for group in measured)]
        assert [one for one in wanted if one not in text] == [], parser.name
        assert set(lines) <= set(pages[f"formats/{parser.name}.md"].splitlines()), parser.name


def test_the_lists_of_formats_and_conventions_are_complete() -> None:
    text = site_module("format_pages").index()
    names = [f"[`{parser.name}`](formats/{parser.name}.md)" for parser in load_catalog().parsers]
    assert [name for name in (*names, *(f"`{name}`" for name in load_conventions())) if name not in text] == []


def test_what_is_known_of_a_formats_facts_is_of_a_format_that_is_there() -> None:
    rows = list(csv.DictReader((ROOT / "docs/site/facts.csv").read_text(encoding="utf-8").splitlines()))
    known = {parser.name for parser in load_catalog().parsers}
    assert len(rows) > 150 and all(all(row.values()) for row in rows)
    assert {name for row in rows for name in row["formats"].split(", ")} - known == set()


def site_module(name: str) -> ModuleType:
    """A module of docs/site, which is no package: mkdocs loads its hooks by their path."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/site/{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_keys_of_the_format_language_are_described_as_they_are_declared() -> None:
    text = (ROOT / "docs/parsers.md").read_text(encoding="utf-8")
    assert make_keys.written(text) == text, "run `python -m tests.tools.make_keys docs/parsers.md`"
    assert [macro for macro in MACROS if f"`{macro}`" not in text] == []


def test_the_tables_and_pictures_of_the_documentation_are_true() -> None:
    done = forks.perflog("readme", "--check", *map(str, PAGES))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.startswith("3 regions")
