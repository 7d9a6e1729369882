"""docs/security.md names a test for each promise: each is there, and the figures on the page are those in force."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from perflog.campaign import plan
from perflog.formats import linear, toml
from perflog.show import style_texts as texts
from perflog.show import table as style
from tests.support import ROOT

PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
RELIABILITY = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
HERE = Path(__file__).parent


def functions_of(file: str) -> set[str]:
    """The tests in a file, which is named by its place below ``tests/``, or by its name where that is enough."""
    known = [path for path in (HERE / file, ROOT / "tests" / file, ROOT / file) if path.exists()]
    (path,) = known[:1] or (ROOT / "tests").rglob(file)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("page", "least"), [(PAGE, 30), (RELIABILITY, 25)], ids=["security.md", "reliability.md"])
def test_each_test_that_the_page_names_is_there(page: str, least: int) -> None:
    """``::test_x`` stands in the file that was named last."""
    file, named = "", []
    for found in re.finditer(r"`([\w/]*test_\w+\.py)?(?:::(test_\w+))?`", page):
        file = found[1] or file
        if found[2]:
            named.append((file, found[2]))
        elif found[1]:
            assert functions_of(found[1])
    assert len(named) >= least
    assert [(where, name) for where, name in named if name not in functions_of(where)] == []


def test_each_promise_has_a_test() -> None:
    table = PAGE.split("\n## What a pull request cannot do\n")[1].split("\n## ")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 18 and all(len(row) == 5 for row in rows)
    assert [row[1] for row in rows if "test_" not in row[3] and "the same" not in row[3]] == []


def test_each_row_of_what_is_read_and_written_has_a_test() -> None:
    """In each table of docs/reliability.md whose last column is called *test*."""
    tables = [block.splitlines() for block in RELIABILITY.split("\n\n") if "| test |\n|---" in block]
    rows = [line.split("|") for table in tables for line in table if line.startswith("| ")]
    tested = [row for row in rows if row[-2].strip() not in ("test", "")]
    assert len(tables) >= 4 and len(tested) >= 25
    assert [row[1] for row in tested if not re.search(r"test_\w+|the same", row[-2])] == []


def test_the_figures_are_those_in_force() -> None:
    assert f"at most {texts.LONGEST:,} characters each, results at most {texts.LONGEST_RESULT:,}" in PAGE
    assert f"chains of at most {style.DEEPEST} styles" in PAGE
    assert f"at most {linear.MOST_STEPS:,} steps for a name, of at most {linear.LONGEST_TEXT:,} characters" in PAGE
    assert f"at most {linear.MOST_PARTS:,} parts" in PAGE
    assert f"at most {toml.LONGEST:,} bytes and {toml.MOST_PARTS} parts of a key" in PAGE
    assert f"at most {plan.MOST_JOBS:,} trainings" in PAGE
