"""docs/security.md names a test for each promise: each is there, and the figures on the page are those in force."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from perflog.formats import linear
from perflog.report import style, texts
from tests.support import ROOT

PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
HERE = Path(__file__).parent


def functions_of(file: str) -> set[str]:
    (path,) = (ROOT / "tests").rglob(file) if not (HERE / file).exists() else [HERE / file]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_test_that_the_page_names_is_there() -> None:
    """``::test_x`` stands in the file that was named last."""
    file, named = "", []
    for found in re.finditer(r"`(test_\w+\.py)?::(test_\w+)`", PAGE):
        file = found[1] or file
        named.append((file, found[2]))
    assert len(named) >= 20
    assert [(where, name) for where, name in named if name not in functions_of(where)] == []


def test_each_promise_has_a_test() -> None:
    table = PAGE.split("\n## What a pull request cannot do\n")[1].split("\n## ")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 18 and all(len(row) == 5 for row in rows)
    assert [row[1] for row in rows if "test_" not in row[3] and "the same" not in row[3]] == []


def test_the_figures_are_those_in_force() -> None:
    assert f"at most {texts.LONGEST:,} characters each, results at most {texts.LONGEST_RESULT:,}" in PAGE
    assert f"chains of at most {style.DEEPEST} styles" in PAGE
    assert f"at most {linear.MOST_STEPS:,} steps for a name, of at most {linear.LONGEST_TEXT:,} characters" in PAGE
    assert f"at most {linear.MOST_PARTS:,} parts" in PAGE
