"""A case's label below a folder of its own: what two folders of logs are compared by."""

from __future__ import annotations

import os
from collections.abc import Sequence

from perflog.cases.case import Case
from perflog.formats.paths import PathPatterns, facts_of_path, numbered_label
from perflog.logs.addresses import as_path


def root_of(paths: Sequence[str]) -> str:
    """The folder that all paths lie in."""
    folders = [os.path.dirname(os.path.abspath(as_path(path))) for path in paths]  # noqa: PTH100, PTH120 - many paths
    return os.path.commonpath(folders) if folders else ""


def label_of(case: Case, root: str, patterns: PathPatterns) -> str:
    """What no pattern explains of the paths below the side's folder, which is another one for every side."""
    place = os.path.abspath(case.runs[0].log.place)  # noqa: PTH100
    if not root or not place.startswith(root.rstrip("/") + "/"):
        return case.label
    below = os.path.relpath(place, root)
    number_is_label = case.label == numbered_label(place, patterns)
    return numbered_label(below, patterns) if number_is_label else facts_of_path(below, patterns)[1]
