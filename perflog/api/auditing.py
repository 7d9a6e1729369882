"""Published tables held against their logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perflog.api.options import PathLike, Paths, path_list, settings_of
from perflog.report.extractions import catalog_of

if TYPE_CHECKING:
    from perflog.audit import Judgement


@dataclass(frozen=True, slots=True)
class Audit:
    """Published tables held against their logs.

    Attributes:
        judgements: one for every number in the tables.
        failing: whether a cell differs from its logs or contradicts another.
    """

    judgements: tuple[Judgement, ...]
    failing: bool


def audit(
    files: Paths, logs: Paths | None = None, *, set: Mapping[str, Any] | None = None,
    parser: str | list[str] | None = None, parsers: list[PathLike] | None = None,
) -> Audit:  # fmt: skip
    """Hold the tables of Markdown files against their logs (``perflog audit``).

    Args:
        files: Markdown files, or folders of them.
        logs: files and folders of logs; None: the folders of the Markdown files.
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
    from perflog.logs.find import find_logs

    pages = documents([Path(file) for file in path_list(files)])
    places = path_list(logs) if logs is not None else folders_of(pages)
    chosen = settings_of({"set": set, "parser": parser, "parsers": parsers}, places)
    judgements = judge_cells(pages, find_logs(places), catalog_of(chosen), chosen.options())
    return Audit(tuple(judgements), failing(judgements))


def folders_of(pages: Sequence[Path]) -> list[str]:
    """The pages' folders, without those that lie below another."""
    folders = sorted({str(page.parent) for page in pages})
    return [folder for folder in folders if not any(Path(other) in Path(folder).parents for other in folders)]
