"""What regeneration gives in, texts for people and machines out: what differs, cell by cell."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import Any

from perflog._version import __version__
from perflog.escaping import exact, json_text, named, visible
from perflog.escaping import markdown as escaped
from perflog.export.junit import Annotation, commands
from perflog.report.regenerate import Change, Regenerated, RegeneratedFile, differences

SCHEMA = "perflog/readme/1"
FORMATS = ("text", "markdown", "diff", "json", "github")
_PICTURE = "the picture differs from its logs"
#: A comment that begins with a word and a colon, as markers do.
_COMMENT = re.compile(r"<!--[ \t]*/?([A-Za-z_-]{1,20})[ \t]*(?::|-->)")


def render(regenerated: Regenerated, form: str) -> str:
    """What differs, in one of :data:`FORMATS`; ``github`` are commands to GitHub Actions, which annotate lines."""
    if form == "json":
        return json_text(regenerated_document(regenerated)) + "\n"
    if form == "github":
        return commands(_annotations(regenerated))
    if form == "diff":
        return _diff(regenerated)
    return _markdown(regenerated) if form == "markdown" else _text(regenerated)


def summary(regenerated: Regenerated, checked: bool) -> str:
    """What was found in one sentence; ``checked``: nothing was written."""
    counts = {"file": len(regenerated.stale), "picture": len(regenerated.pictures)}
    differing = " and ".join(_counted(count, noun) for noun, count in counts.items() if count)
    if not regenerated.regions:
        return without_regions(regenerated)
    verdict = "all are what their logs say"
    if differing:
        verdict = f"{differing} {_verb(sum(counts.values()), checked)}"
    return f"{_counted(regenerated.regions, 'region')} in {_counted(len(regenerated.files), 'file')}: {verdict}"


def without_regions(regenerated: Regenerated) -> str:
    """That there is no region, with what may be a misspelt marker, in one sentence."""
    names = ", ".join(named(str(file.path)) for file in regenerated.files)
    near = [text for file in regenerated.files for text in near_markers(file)]
    expected = "expected <!-- perflog: table LOGS --rows devices --> and <!-- /perflog --> on lines of their own"
    return f"no region in {names}: {expected}" + (f"; found {'; '.join(near)}" if near else "")


def near_markers(file: RegeneratedFile) -> list[str]:
    """The comments of a file whose first word may be ``perflog`` misspelt, each with its line."""
    texts = []
    for number, line in enumerate(file.old.split("\n"), 1):
        comment = _COMMENT.search(line)
        if comment and difflib.get_close_matches(comment[1].lower(), ["perflog"], cutoff=0.75):
            texts.append(f"on line {number} {visible(line.strip())[:60]!r}, which may be a misspelt marker")
    return texts


def regenerated_document(regenerated: Regenerated) -> dict[str, Any]:
    """Everything as plain data, in the schema ``readme.schema.json`` (docs/json.md)."""
    return {
        "schema": SCHEMA,
        "perflog": __version__,
        "up_to_date": regenerated.up_to_date,
        "files": [_file(file) for file in regenerated.files],
        "pictures": [exact(str(picture)) for picture in regenerated.pictures],
    }


def _file(file: RegeneratedFile) -> dict[str, Any]:
    found = [
        {
            "line": change.line, "kind": change.kind, "row": dict(change.row), "column": change.column or None,
            "old": change.old, "new": change.new, "difference": change.difference,
        }
        for change in file.changes()
    ]  # fmt: skip
    return {"file": exact(str(file.path)), "regions": file.regions, "changes": found}


def _text(regenerated: Regenerated) -> str:
    lines = [f"{named(str(picture))}: {_PICTURE}" for picture in regenerated.pictures]
    lines += [f"{named(str(file.path))}:{change.line} {visible(str(change))}" for file, change in _all(regenerated)]
    return "".join(f"{line}\n" for line in lines)


def _markdown(regenerated: Regenerated) -> str:
    """For a page or a job's summary."""
    rows = [[named(str(picture)), _PICTURE, "", "", ""] for picture in regenerated.pictures]
    for file, change in _all(regenerated):
        text = str(change).rpartition("(")[2].rstrip(")") if change.difference is not None else ""
        rows.append([f"{named(str(file.path))}:{change.line}", change.place, change.old, change.new, text])
    if not rows:
        return f"{escaped(summary(regenerated, checked=True))}\n"
    lines = ["| place | what | is | the logs say | change |", "|---|---|--:|--:|--:|"]
    lines += ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in rows]
    return "\n".join([*lines, "", escaped(summary(regenerated, checked=True))]) + "\n"


def _diff(regenerated: Regenerated) -> str:
    lines = [f"{named(str(picture))}: {_PICTURE}\n" for picture in regenerated.pictures]
    for file in regenerated.stale:
        lines += differences(file.old, file.new, str(file.path), f"{file.path} (from the logs)")
    return "".join(lines)


def _annotations(regenerated: Regenerated) -> list[Annotation]:
    """One finding a change. Files are named as seen from the working folder, as GitHub looks them up."""
    if not regenerated.regions:
        return [Annotation(without_regions(regenerated), _seen(regenerated.files[0].path))]
    found = [Annotation(_PICTURE, _seen(picture)) for picture in regenerated.pictures]
    return found + [Annotation(str(change), _seen(file.path), change.line) for file, change in _all(regenerated)]


def _all(regenerated: Regenerated) -> list[tuple[RegeneratedFile, Change]]:
    return [(file, change) for file in regenerated.files for change in file.changes()]


def _seen(path: Path) -> str:
    return os.path.relpath(path)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _verb(count: int, checked: bool) -> str:
    if checked:
        return "differs from its logs" if count == 1 else "differ from their logs"
    return "was rewritten" if count == 1 else "were rewritten"
