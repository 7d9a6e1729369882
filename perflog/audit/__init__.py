"""A published table and its logs in, a judgement of every cell out.

Published tables held against their logs: cells read (document, words, claims), logs read (evidence), judged (judge, slips), told (report)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from perflog.audit.claims import claims
from perflog.audit.document import read_document
from perflog.audit.evidence import link_up, read_evidence
from perflog.audit.judge import Judgement, judge
from perflog.audit.slips import suspect
from perflog.errors import UsageError
from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile
from perflog.settings.options import Options

#: Suffixes of the documents that a folder is searched for.
_DOCUMENTS = (".md", ".markdown")


def documents(paths: Sequence[Path]) -> list[Path]:
    """The Markdown files at and below paths, in order.

    Raises:
        UsageError: for a path that does not exist, or a folder without any.
    """
    out: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder: expected a Markdown file or a folder that holds some")
        below = sorted(p for p in path.rglob("*") if p.suffix.lower() in _DOCUMENTS) if path.is_dir() else [path]
        if not below:
            raise UsageError(f"{path}: no Markdown file in this folder: expected *.md")
        out += below
    return list(dict.fromkeys(out))


def audit(files: Sequence[Path], logs: Sequence[LogFile], catalog: Catalog, options: Options) -> list[Judgement]:
    """A judgement for every number in the tables of Markdown files.

    Raises:
        UsageError: for a file that cannot be read.
    """
    read = [read_document(file) for file in files]
    root = Path(os.path.commonpath([str(file.resolve().parent) for file in files]))
    evidence = read_evidence([log for log in logs if Path(log.path).suffix.lower() not in _DOCUMENTS], catalog, options)
    evidence += link_up(evidence, read, catalog)
    made = judge([claim for document in read for claim in claims(document, root)], evidence)
    suspect(made, evidence)
    return made
