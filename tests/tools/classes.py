"""What perflog says of each class of logs that failed once, in a page: ``python -m tests.tools.classes --write``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from perflog.extraction import extract_paths
from tests.inference.classes import CLASSES
from tests.support import ROOT, catalog, options
from tests.tools.pages import table, write_between

PAGE = ROOT / "tests" / "found" / "classes.md"
START = "<!-- below: python -m tests.tools.classes --write -->"
END = "<!-- above: python -m tests.tools.classes -->"
#: A line and a reason are shown up to so many letters.
LINE, REASON = 90, 150


def answer(text: str, folder: Path) -> tuple[float | None, str, str]:
    """(the number, its unit, why there is none) of a log."""
    (folder / "train.log").write_text(text)
    found = extract_paths([folder / "train.log"], options(), catalog())
    run = next((run for run in found.runs if run.throughput.value is not None), None)
    if run is not None:
        return run.throughput.value, run.throughput.unit, ""
    reasons = [run.throughput.reason for run in found.runs] + [one.reason for one in found.skipped]
    return None, "", reasons[0]


def classes_table(folder: Path) -> str:
    """The table of all classes, in Markdown; logs are written into ``folder``."""
    rows = []
    for name, one in CLASSES.items():
        text, took = one.make()
        value, unit, reason = answer(text, folder)
        lines = [line for line in text.replace("\r", "\n").split("\n") if any(letter.isdigit() for letter in line)]
        given = f"{value:.5g} {unit} ({one.work / took:.5g})" if value is not None else _short(reason, REASON)
        rows.append([name.replace("|", "\\|"), _code(_short(lines[len(lines) // 2].strip(), LINE)), _code(given)])
    return table(("class", "a line of it", "what is given (the truth), or the reason"), rows)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 :]}"


def _code(text: str) -> str:
    """A text as code in a cell."""
    plain = text.replace("`", "'").replace("|", "\\|")
    return f"`{plain}`"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.classes", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table into tests/found/classes.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = classes_table(Path(folder))
    if given.write:
        write_between(PAGE, START, END, text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
