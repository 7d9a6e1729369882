"""The audit as a whole: documents and logs in, judgements out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from perflog.audit.candidates import link_up
from perflog.audit.claims import Claim, claims
from perflog.audit.document import PAGES, read_document
from perflog.audit.evidence import Members, read_evidence, with_more_rules
from perflog.audit.judge import judge
from perflog.audit.judgement import LEAST, Judgement, with_tolerance
from perflog.audit.recipes import RecipeRow, row_of, rows_of_recipes
from perflog.audit.slips import with_suspicions
from perflog.border import keep_inside
from perflog.errors import NoSuchPathError, UsageError
from perflog.formats.catalog import Catalog, load_catalog
from perflog.logs.find import LogFile, find_logs
from perflog.report.extractions import Extractions, ProgressOf, no_progress
from perflog.settings.options import Options

#: Suffixes of the documents that a folder is searched for.
_DOCUMENTS = (".md", ".markdown")


def documents(paths: Sequence[Path]) -> list[Path]:
    """The Markdown files at and below paths, in order, each once.

    Raises:
        UsageError: for a path that does not exist, or a folder without any.
    """
    files: list[Path] = []
    for path in paths:
        keep_inside(path, "the file")
        if not path.exists():
            raise NoSuchPathError(
                f"{path}: no such file or folder: expected a Markdown file or a folder that holds some"
            )
        below = sorted(p for p in path.rglob("*") if p.suffix.lower() in _DOCUMENTS) if path.is_dir() else [path]
        if not below:
            raise UsageError(f"{path}: no Markdown file in this folder: expected *.md")
        files += below
    return list(dict.fromkeys(files))


def audit(
    files: Sequence[Path],
    logs: Sequence[LogFile] | None = None,
    catalog: Catalog | None = None,
    options: Options | None = None,
    tolerance: float = LEAST,
    progress: ProgressOf = no_progress,
) -> list[Judgement]:
    """A judgement for every number in the tables of Markdown files.

    Args:
        files: as :func:`documents` finds them.
        logs: as :func:`perflog.logs.find.find_logs` finds them; documents among them are left out. None: those below
            the files' folders, or, where recipes beside the tables make every cell, those that the recipes name.
        catalog: the parsers to read logs with; perflog's own when not given.
        options: those of perflog's own rule, beside which the rules of published reports are tried.
        tolerance: a share: numbers that differ by no more than it are called within tolerance, and fail nothing.
        progress: shows how far the reading is.

    Raises:
        UsageError: for a file that cannot be read.
    """
    catalog = catalog or load_catalog()
    read = [read_document(file) for file in files]
    root = Path(os.path.commonpath([str(file.resolve().parent) for file in files]))
    chosen = options or Options()
    extractions = Extractions(progress)
    named = folders_of(files) if logs is None else dict.fromkeys(log.given for log in logs if log.given)
    allowed = tuple(map(Path, named))
    recipes = {document.path: rows_of_recipes(document.path, extractions, allowed) for document in read}
    every_claim = [claim for document in read for claim in claims(document, root)]
    if logs is None:
        logs = find_logs(_places(every_claim, recipes) or named) if every_claim else []
    read_logs = [log for log in logs if Path(log.path).suffix.lower() not in (*_DOCUMENTS, *PAGES)]
    cases = read_evidence(read_logs, catalog, chosen, progress)
    evidence = link_up(cases, read, catalog)
    judgements = judge(every_claim, evidence, recipes)
    open_cases = _cases_of_open_cells(judgements)
    if open_cases:  # the others are many: they are tried for the logs of cells that no rule has given
        evidence = link_up(with_more_rules(cases, open_cases, read_logs, catalog, chosen), read, catalog)
        judgements = judge(every_claim, evidence, recipes)
    return with_suspicions(with_tolerance(judgements, tolerance), evidence)


def folders_of(files: Sequence[Path]) -> list[str]:
    """The folders of files, without those that lie below another."""
    folders = sorted({str(file.parent) for file in files})
    return [folder for folder in folders if not any(Path(other) in Path(folder).parents for other in folders)]


def _places(every_claim: Sequence[Claim], recipes: Mapping[Path, Mapping[int, RecipeRow]]) -> list[str]:
    """The paths of the logs of all cells, where recipes name them; none where a cell's may be anywhere."""
    rows = [row_of(claim, recipes.get(claim.path, {})) for claim in every_claim]
    return list(dict.fromkeys(path for row in rows if row is not None for path in row.logs)) if all(rows) else []


def _cases_of_open_cells(judgements: Sequence[Judgement]) -> set[Members]:
    """The cases that may be those of cells whose numbers no rule has given."""
    settled = ("reproduced", "not understood")
    return {
        log.members
        for judgement in judgements
        if judgement.verdict not in settled
        for log in (*judgement.candidates, *judgement.evidence)
        if log.there
    }
