"""The page of a history's site that has two campaigns side by side: every case in both, and the change between."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from perflog.history.following import Part, Series, share_words
from perflog.show.text import number


def beside(
    followed: Sequence[Series], of_lines: Sequence[Sequence[Part]], places: Sequence[str], labels: Sequence[str],
    texts: Mapping[str, str],
) -> dict[str, Any]:  # fmt: skip
    """The values of the page: the last two campaigns as they are shown at first, and all for its script.

    A change is that of the medians, and told only within a part of a series: where the machine, the rule or the unit is
    another one, the page says so in its place. It is no verdict.

    Args:
        followed: the cases; ``of_lines``: the parts of each; ``places``: of their pages.
        labels: all campaigns in their order, two at least.
        texts: the words of the pages.
    """
    numbers = {label: nth for nth, label in enumerate(labels)}
    rows = []
    old, new = labels[-2:]
    for line, along, place in zip(followed, of_lines, places, strict=True):
        values: dict[str, tuple[float, int]] = {}
        for nth, part in enumerate(along):
            values |= {point.campaign: (value, nth) for point, value in part.valued}
        known = {numbers[label]: [value, number(value), nth] for label, (value, nth) in values.items()}
        rows.append(
            {
                "name": line.name, "place": place, "unit": line.unit, "values": json.dumps(known),
                "old": number(values[old][0]) if old in values else texts["no_value"],
                "new": number(values[new][0]) if new in values else texts["no_value"],
                "old_sort": repr(values[old][0]) if old in values else "",
                "new_sort": repr(values[new][0]) if new in values else "",
                **_change(values.get(old), values.get(new), texts["not_compared"]),
            }
        )  # fmt: skip
    return {"title": texts["beside"], "labels": labels, "rows": rows}


def _change(old: tuple[float, int] | None, new: tuple[float, int] | None, apart: str) -> dict[str, str]:
    """The change of a case in words and as what it is sorted by."""
    if old is None or new is None or not (old[0] > 0 and new[0] > 0):
        return {"change": "", "sort": ""}
    if old[1] != new[1]:
        return {"change": apart, "sort": ""}
    return {"change": share_words(new[0] / old[0]), "sort": repr(new[0] / old[0])}
