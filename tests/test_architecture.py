"""The house: packages in the order of the data, no import that runs back up, and a page that says what is there."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

import pytest

from tests.support import ROOT

HOUSE = ROOT / "perflog"
PAGE = ROOT / "docs" / "architecture.md"
#: Loose modules by the package in front of which they stand; ``""``: before all, ``"cli"``: after all but it.
LOOSE = {
    "errors": "",
    "border": "",
    "escaping": "",
    "example": "",
    "extras": "",
    "files": "",
    "lazy_regex": "",
    "notes": "",
    "resources": "",
    "spelling": "",
    "_version": "",
    "__init__": "",
    "extraction": "show",
    "__main__": "end",
}


def packages_told() -> list[str]:
    return re.findall(r"^\| `([a-z]+)/` \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def modules() -> list[Path]:
    return sorted(HOUSE.rglob("*.py"))


def room_of(module: str) -> str:
    """``perflog.runs.build`` → ``runs``; ``perflog.errors`` → ``errors``; ``perflog`` → ``__init__``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@cache
def imports_and_prints(file: Path) -> tuple[list[tuple[int, str]], list[int]]:
    """What a module imports of perflog's own, with the lines, and the lines where it prints; wherever in the file."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    return [found for node in nodes for found in imported(node)], [node.lineno for node in nodes if prints(node)]


def imported(node: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, module) of perflog's own modules that this node of the syntax imports."""
    if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "perflog":
        if node.module == "perflog":
            yield from ((node.lineno, f"perflog.{alias.name}") for alias in node.names)
        else:
            yield node.lineno, node.module
    elif isinstance(node, ast.Import):
        yield from ((node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] == "perflog")


def prints(node: ast.AST) -> TypeGuard[ast.expr]:
    """Whether this node of the syntax is a call of print, or names one of the standard streams."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "print"
    return isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr") and ast.unparse(node.value) == "sys"


@cache
def floors() -> dict[str, float]:
    order = packages_told()
    found: dict[str, float] = {name: float(at) for at, name in enumerate(order)}
    for module, package in LOOSE.items():
        found[module] = -1.0 if not package else len(order) + 1.0 if package == "end" else found[package] - 0.5
    return found


def test_the_page_lists_the_packages_that_are_there() -> None:
    there = {p.parent.name for p in HOUSE.glob("*/__init__.py")}
    assert set(packages_told()) == there
    assert {p.stem for p in HOUSE.glob("*.py")} == set(LOOSE)


@pytest.mark.parametrize("package", packages_told())
def test_a_package_says_in_its_first_sentence_what_the_page_says(package: str) -> None:
    doc = ast.get_docstring(ast.parse((HOUSE / package / "__init__.py").read_text(encoding="utf-8"))) or ""
    told = re.search(rf"^\| `{package}/` \| (.*?) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert told is not None
    assert re.sub(r"`+|\[|\]\([^)]*\)", "", " ".join(doc.split())).startswith(
        re.sub(r"`+|\[|\]\([^)]*\)", "", told[1]).split(";")[0].split(". ")[0].rstrip(".")
    )


def name_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_no_import_runs_back_up() -> None:
    order = floors()
    back = [
        f"{file.relative_to(ROOT)}:{line} imports {module}"
        for file in modules()
        for line, module in imports_and_prints(file)[0]
        # the front door's imports happen on use
        if "perflog" not in (name_of(file), module) and order[room_of(module)] > order[room_of(name_of(file))]
    ]
    assert back == []


def test_only_the_command_line_prints() -> None:
    own = ("__main__.py", "guard.py", "build_hook.py")  # the last two are scripts of their own
    printing = {
        str(file): lines
        for file in modules()
        if not file.is_relative_to(HOUSE / "cli") and file.name not in own and (lines := imports_and_prints(file)[1])
    }
    assert printing == {}


def test_the_way_of_one_log_is_as_the_page_prints_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert tried > 15 and not failed
