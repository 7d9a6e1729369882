"""Tables that perflog made itself: their regions' recipes say by what rule, and each cell is held against that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perflog.audit.claims import Claim, printed
from perflog.audit.document import plain
from perflog.audit.evidence import RuleValue
from perflog.audit.judgement import RECIPE, Judgement
from perflog.errors import PerflogError
from perflog.report.extractions import Extractions
from perflog.report.regions import Recipes, Region, RegionText, confined, merged, regions, row_texts


@dataclass(frozen=True, slots=True)
class RecipeRow:
    """What a recipe makes of a row of its table.

    Attributes:
        line: that of the marker with the recipe, counted from 1.
        cells: the texts of the row's cells; none where the logs at hand do not cover it, or the recipe fails.
        logs: the paths of the logs that the recipe names; none where it fails.
        problem: why the recipe fails, empty where it does not.
    """

    line: int
    cells: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    problem: str = ""


def rows_of_recipes(path: Path, extractions: Extractions, allowed: Sequence[Path] = ()) -> dict[int, RecipeRow]:
    """By line (counted from 1), the rows of a Markdown file's tables whose recipes stand beside them.

    Args:
        allowed: the places, beside the file's repository, that recipes may read.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        tables = [region for region in regions(lines, str(path)) if region.recipe.startswith("table ")]
    except PerflogError:
        return {}  # the markers are not right: `perflog readme` says how, and the cells are read as any others
    recipes = Recipes(path.parent, extractions, confined(path.parent, allowed, with_parts=False))
    return {line: row for region in tables for line, row in _rows(lines, region, recipes)}


def _rows(lines: Sequence[str], region: Region, recipes: Recipes) -> Iterator[tuple[int, RecipeRow]]:
    marker, inside = region.begin + 1, range(region.begin + 1, region.end)
    try:
        made = recipes.make(region.recipe)
    except PerflogError as error:
        yield from ((number + 1, RecipeRow(marker, problem=str(error))) for number in inside)
        return
    cells_of = _by_key(made, [lines[number] for number in inside])
    logs = tuple(recipes.logs_of(region.recipe))
    for number in inside:
        key = tuple(row_texts(lines[number])[: made.keys])
        yield number + 1, RecipeRow(marker, cells_of.get(key, ()), logs)


def _by_key(made: RegionText, old: Sequence[str]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """The rows that a recipe makes by the cells that name them, in the layout of the table that is there."""
    new = made.text.removesuffix("\n").split("\n")
    try:
        lines, kept = merged(old, new, made.keys)
    except PerflogError:
        lines, kept = new, []
    rows = [tuple(row_texts(line)) for line in lines if "|" in line]
    return {row[: made.keys]: row for row in rows if " ".join(row[: made.keys]) not in kept}


def row_of(claim: Claim, rows: Mapping[int, RecipeRow]) -> RecipeRow | None:
    """What a recipe makes of the row of a cell; None where none makes the cell."""
    row = rows.get(claim.line)
    return None if row is None or claim.column > len(row.cells) else row


def judged_by_recipe(claim: Claim, rows: Mapping[int, RecipeRow]) -> Judgement | None:
    """The verdict on a cell by the recipe beside its table; None where none makes it."""
    row = row_of(claim, rows)
    if row is None:
        return None
    made = plain(row.cells[claim.column - 1])
    place = f"{claim.path}:{row.line}"
    if made == claim.text:
        detail = f"the recipe of line {row.line} gives {made}"
        return Judgement(claim, "reproduced", detail, value=_value(claim, made), sources=(place,))
    value = _value(claim, made)
    share = ""
    if claim.number is not None and value is not None and value.value:
        share = f" ({(claim.number.value / value.value - 1) * 100:+.3g} %)"
    detail = f"the recipe of line {row.line} gives {made}{share}"
    return Judgement(claim, "differs", detail, value=value, sources=(place,))


def with_problem(judgement: Judgement, rows: Mapping[int, RecipeRow]) -> Judgement:
    """A judgement, with a note where the recipe beside its table fails."""
    row = rows.get(judgement.claim.line)
    if row is None or not row.problem:
        return judgement
    note = f"the recipe of line {row.line} fails: {row.problem}"
    return replace(judgement, notes=(*judgement.notes, note))


def _value(claim: Claim, made: str) -> RuleValue | None:
    number = printed(made)
    return RuleValue(RECIPE, claim.quantity, number.value, claim.unit) if number is not None else None
