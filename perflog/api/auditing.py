"""Published tables held against their logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perflog.api.options import PathLike, Paths, Result, counted, in_python_terms, path_list, settings_of

if TYPE_CHECKING:
    from perflog.audit import Judgement
    from perflog.show.text import TextTable


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Result):
    """Published tables held against their logs.

    Attributes:
        judgements: one for every number in the tables.
        failing: whether a cell differs from its logs or contradicts another, or nothing could be checked.
    """

    judgements: tuple[Judgement, ...]
    failing: bool

    def document(self) -> dict[str, Any]:
        """Everything, in the schema of docs/json.md."""
        from perflog.audit.report import audit_data

        return audit_data(self.judgements)

    def _described(self) -> str:
        from perflog.audit.report import counts, unchecked

        total = counts(self.judgements)
        reason = unchecked(self.judgements)
        words = ", ".join(f"{count} {verdict}" for verdict, count in total.items())
        return reason or f"{counted(len(self.judgements), 'cell')}: {words}"

    def _tables(self) -> Sequence[TextTable]:
        from perflog.audit.report import text_table

        return (text_table(self.judgements),)

    def _rows(self) -> Iterable[Mapping[str, Any]]:
        return list(self.document()["cells"])


@in_python_terms
def audit(
    files: Paths, logs: Paths | None = None, *, tolerance: str | float = "0.1%", set: Mapping[str, Any] | None = None,
    parser: str | list[str] | None = None, parsers: list[PathLike] | None = None,
) -> Audit:  # fmt: skip
    """Hold the tables of Markdown files against their logs (``perflog audit``).

    Args:
        files: Markdown files, or folders of them.
        logs: files and folders of logs; None: the folders of the Markdown files, or, where recipes beside the tables
            make every cell, the logs that these name.
        tolerance: differences of at most this share fail no cell: 0.001, or ``"0.1%"``.
        set: facts that logs and paths do not tell.
        parser: parsers to use alone, by name.
        parsers: folders with parsers of the user's own.

    Returns:
        A judgement for every number in the tables, and whether one is ``failing``.

    Raises:
        perflog.errors.UsageError: for a file, an option or a path that is not right.
    """
    from perflog.audit import audit as judge_cells
    from perflog.audit import documents, failing
    from perflog.audit.auditing import folders_of
    from perflog.compare.rule import share
    from perflog.logs.find import find_logs

    most = share(tolerance, "--tolerance")
    pages = documents([Path(file) for file in path_list(files)])
    places = None if logs is None else path_list(logs)
    chosen = settings_of({"set": set, "parser": parser, "parsers": parsers}, places or folders_of(pages))
    found = None if places is None else find_logs(places)
    judgements = judge_cells(pages, found, chosen.catalog(), chosen.options(), most)
    return Audit(tuple(judgements), failing(judgements))
