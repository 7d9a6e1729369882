"""Executes the cells of a notebook, and writes what they show into it: ``python -m tests.tools.notebook``.

A kernel is not needed: a cell is Python, whose last expression is shown as a notebook shows it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs/example.ipynb"


def executed(notebook: Path) -> dict[str, Any]:
    """A notebook with the outputs that its cells have today; its folder is the working folder, as a kernel has it."""
    document: dict[str, Any] = json.loads(notebook.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()
    os.chdir(notebook.parent)
    try:
        code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
        for number, cell in enumerate(code, 1):
            cell["execution_count"], cell["outputs"] = number, _outputs("".join(cell["source"]), names, number)
    finally:
        os.chdir(before)
    return document


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What a cell prints, and what its last expression shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        shown = {"data": _data(value), "execution_count": number, "metadata": {}, "output_type": "execute_result"}
        outputs.append(shown)
    return outputs


def _data(value: Any) -> dict[str, Any]:
    """A value in all forms that a notebook may show."""
    data = {"text/plain": _lines(repr(value))}
    html = getattr(value, "_repr_html_", lambda: None)()
    return data | ({"text/html": _lines(html)} if html else {})


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def text_of(document: dict[str, Any]) -> str:
    """A notebook as its file holds it."""
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(text_of(executed(NOTEBOOK)), encoding="utf-8")
    print(f"wrote {NOTEBOOK.relative_to(ROOT)}", file=sys.stderr)
