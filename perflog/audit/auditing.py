"""The audit as a whole: documents and logs in, judgements out."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perflog.audit.candidates import (
    COMPARED,
    candidates_of,
    fits,
    link_up,
    nearest_of,
    topic_of,
    with_arithmetic,
    with_contradictions,
)
from perflog.audit.claims import REDUCED, Claim, Printed, claims, printed
from perflog.audit.document import PAGES, plain, read_document
from perflog.audit.evidence import Evidence, Members, RuleValue, read_evidence, with_more_rules
from perflog.audit.judgement import (
    ENOUGH_DIGITS,
    LEAST,
    RECIPE,
    CellVerdict,
    Judgement,
    Usual,
    apart,
    in_unit,
    rounds_to,
    rule_words,
    usual_rules,
    with_suspicions,
    with_tolerance,
)
from perflog.border import keep_inside
from perflog.errors import NoSuchPathError, PerflogError, UsageError
from perflog.formats.catalog import Catalog, load_catalog
from perflog.formats.printed import kind
from perflog.logs.find import LogFile, find_logs
from perflog.settings.options import Options
from perflog.show.extractions import Extractions, ProgressOf, no_progress
from perflog.show.regions import Recipes, Region, RegionText, confined, merged, regions, row_texts

# ----------------------------------------------------------------------------------------------------
# The verdict on each claim: which logs are its, whether a known rule gives its number, whether cells contradict it.
#
# A false alarm costs more than a catch that is missed: where several logs or rules fit, one that agrees is enough;
# a cell differs only when every log that may be its is there and none gives its number by any known rule.

#: A log, what a rule gives for it, and this in the unit of the claim that it is held against.
_Given = tuple[Evidence, RuleValue, float]
#: A number agrees with a rule's within half a unit of its last digit, or cut off: within one and a half units in all.
AGREEING_WIDTH = 1.5
#: Of the plain rules, one may be expected to agree by chance this often before a cell is no more called reproduced.
MOST_CHANCE = 0.1


def judge(
    claims: Sequence[Claim], evidence: Sequence[Evidence], recipes: Mapping[Path, Mapping[int, RecipeRow]] | None = None
) -> list[Judgement]:
    """A judgement for each claim, in order.

    Args:
        recipes: by document and line, what the recipes of tables make that perflog made.
    """
    candidates = [candidates_of(claim, evidence) for claim in claims]
    usual = usual_rules(claims, candidates)
    judgements = []
    for claim, logs in zip(claims, candidates, strict=True):
        rows = (recipes or {}).get(claim.path, {})
        made = _judged_by_recipe(claim, rows)
        if made is not None:
            judgements.append(replace(made, candidates=tuple(logs)))
            continue
        judgement = _with_problem(replace(_judged(claim, logs, usual), candidates=tuple(logs)), rows)
        if judgement.verdict is CellVerdict.DIFFERS:
            judgement = _of_a_farther_log(judgement, evidence, usual)
        elif judgement.verdict is CellVerdict.NO_LOG and not judgement.evidence:
            judgement = _of_another_batch(judgement, evidence, usual)
        judgements.append(judgement)
    return with_contradictions(with_arithmetic(judgements))


def _judged(claim: Claim, logs: Sequence[Evidence], usual: Usual) -> Judgement:
    """The verdict on a claim by the logs that may be its."""
    if claim.number is None or claim.reason:
        return Judgement(claim, CellVerdict.NOT_UNDERSTOOD, claim.reason)
    there = [log for log in logs if log.there]
    every = [
        (log, value, given) for log in there for value in log.values if (given := in_unit(claim, value)) is not None
    ]
    own = [one for one in every if not one[1].repeat]
    best = _best(claim, claim.number, own, usual)
    if best is not None:
        return _reproduced(claim, claim.number, best, own)
    if not there and logs:
        return Judgement(claim, CellVerdict.NO_LOG, f"its log is not there: {_linked(logs[0])}", tuple(logs))
    if not there:
        named = ", ".join(f"{key}={claim.facts[key]}" for key in ("model", *COMPARED) if key in claim.facts)
        return Judgement(claim, CellVerdict.NO_LOG, f"no log of {named} is among those given")
    if not own:
        reasons = (v.reason for log in there for v in log.values if v.quantity == claim.quantity and v.reason)
        reason = next(reasons, f"it gives no {claim.quantity}")
        detail = f"the log has no value to compare with: {reason}"
        return Judgement(claim, CellVerdict.NOT_UNDERSTOOD, detail, tuple(there), sources=_sources(there, None))
    near, repeat = _near(claim, claim.number, own), _best(claim, claim.number, every, usual)
    if near is None and repeat is not None:
        return _reproduced(claim, claim.number, repeat, own)
    return near or _differing(claim, claim.number, logs, own, usual)


def _best(claim: Claim, number: Printed, every: Sequence[_Given], usual: Usual) -> _Given | None:
    """The log and the most usual rule that give a claim's number; None where none does."""
    agreeing = [one for one in every if rounds_to(one[2], number)]
    return max(agreeing, key=lambda one: usual.rank(claim, one[0], one[1]), default=None)


def _reproduced(claim: Claim, number: Printed, best: _Given, every: Sequence[_Given]) -> Judgement:
    """A claim whose number a rule gives; with few digits, or among many plain rules, it may do so by chance."""
    log, value, exact = best
    by_chance = _why_by_chance(number, value, {given for _, _, given in every})
    cut = "" if abs(exact - number.value) <= number.unit / 2 else ", cut off"
    detail = f"{rule_words(value)} gives {exact:.10g}{cut}{by_chance and f'; {by_chance}'}"
    verdict = CellVerdict.WITHIN_ROUNDING if by_chance else CellVerdict.REPRODUCED
    notes = _disagreements(claim, log, value)
    return Judgement(claim, verdict, detail, (log,), value=value, sources=_sources([log], value), notes=notes)


def _why_by_chance(number: Printed, value: RuleValue, given: set[float]) -> str:
    """Why a rule may give a number by chance, ``given`` what all rules give; empty where it hardly can."""
    if number.digits < ENOUGH_DIGITS:
        return f"{'1 digit' if number.digits == 1 else f'{number.digits} digits'} may agree by chance"
    if value.repeat:
        return "it is one of several runs"
    if not value.plain:
        return ""
    width = max(given) - min(given)
    chance = len(given) * AGREEING_WIDTH * number.unit / width if width else 1.0
    if chance <= MOST_CHANCE:
        return ""
    return f"one of {len(given)} rules that give {min(given):.7g} to {max(given):.7g} may agree by chance"


def _near(claim: Claim, number: Printed, every: Sequence[_Given]) -> Judgement | None:
    """A claim whose number is a rule's but for its last digit, or for the zeros at its end; None for another."""
    usual = [one for one in every if not one[1].plain]
    if not usual:
        return None
    log, value, exact = min(usual, key=lambda one: abs(one[2] - number.value))
    offset, given = abs(exact - number.value), f"{rule_words(value)} gives {exact:.10g}"
    if offset <= number.unit * (1 + 1e-9):
        detail = f"{given}, one off in the last digit"
    elif offset <= number.coarse / 2:
        detail = f"{given}, rounded to {number.coarse:g}s"
    else:
        return None
    return Judgement(claim, CellVerdict.WITHIN_ROUNDING, detail, (log,), value=value, sources=_sources([log], value))


def _differing(
    claim: Claim, number: Printed, logs: Sequence[Evidence], every: Sequence[_Given], usual: Usual
) -> Judgement:
    """A claim whose number no rule gives, with what the nearest gives; without a log where one may be not there."""

    def order(one: _Given) -> tuple[float, tuple[int, ...]]:
        return -apart(number.value, one[2]), usual.rank(claim, one[0], one[1])

    log, value, nearest = max(every, key=order)  # of several as near, the most usual rule's
    given = [one[2] for one in every]
    detail = f"{rule_words(value)} gives {nearest:.10g} ({_share(number, nearest)})"
    if len(given) > 1:
        detail += f", the nearest of {len(given)} known rules, which give {min(given):.7g} to {max(given):.7g}"
    absent = next((other for other in logs if not other.there), None)
    if absent is not None:
        detail += f", but it may be of a log that is not there: {_linked(absent)}"
    there = tuple(other for other in logs if other.there)
    notes = _disagreements(claim, log, value)
    if len(there) > 1:
        names = ", ".join(Path(other.paths[0]).name for other in there[:4])
        notes += (f"{len(there)} logs may be its, none gives the number: {names}",)
    verdict = CellVerdict.DIFFERS if absent is None else CellVerdict.NO_LOG
    return Judgement(claim, verdict, detail, there, value=value, sources=_sources([log], value), notes=notes)


def _share(number: Printed, given: float) -> str:
    """By how much a number is more than another, in per cent."""
    return f"{(number.value / given - 1) * 100 if given else math.inf:+.3g} %"


def _linked(absent: Evidence) -> str:
    document, link = absent.links[0]
    return f"{link.target} (linked at {document}:{link.line})"


def _of_a_farther_log(judgement: Judgement, evidence: Sequence[Evidence], usual: Usual) -> Judgement:
    """A cell whose nearest log does not give its number, and another log of its configuration does: an older one,
    say. Where none does, but one gives a number that is nearer, that is said.
    """
    claim, nearest = judgement.claim, judgement.candidates
    topic = max(topic_of(claim, near) for near in nearest)
    others = [log for log in evidence if log.there and fits(claim, log) and log not in nearest]
    wider = [log for log in others if topic_of(claim, log) == topic > 0]
    farther = _judged(claim, wider, usual) if wider else judgement
    if farther.verdict.agrees:  # nothing is said against a number that a log gives, but whose it is
        note = f"the nearest log does not give it: {nearest[0].paths[0]}"
        return replace(farther, notes=(note, *farther.notes), candidates=farther.evidence)
    return _with_nearer_number(judgement, farther)


def _with_nearer_number(judgement: Judgement, farther: Judgement) -> Judgement:
    """A differing cell, with a note where a farther log gives a number nearer to it than its own logs do."""
    number, own, other = judgement.claim.number, judgement.value, farther.value
    if number is None or own is None or other is None or farther is judgement:
        return judgement
    given, nearer = (in_unit(judgement.claim, value) or 0.0 for value in (own, other))
    if apart(number.value, nearer) >= apart(number.value, given):
        return judgement
    what = f"{rule_words(other)} gives {nearer:.10g} ({_share(number, nearer)})"
    note = f"another log of this configuration is nearer: {what}, from {farther.sources[0]}"
    return replace(judgement, notes=(*judgement.notes, note))


def _of_another_batch(judgement: Judgement, evidence: Sequence[Evidence], usual: Usual) -> Judgement:
    """A cell whose only log is of another batch size: reproduced by it, or with a note of what it gives."""
    claim = judgement.claim
    sized = [log for log in evidence if log.there and "batch_size" in log.facts]
    near = nearest_of(claim, [log for log in sized if fits(claim, log, but="batch_size")])
    if len(near) != 1 or topic_of(claim, near[0]) == 0:
        return judgement
    (log,) = near
    if log.facts.get("precision") != claim.facts.get("precision"):
        return judgement
    other = _judged(claim, near, usual)
    if other.verdict.agrees:
        return replace(other, evidence=(log,), candidates=(log,))
    if other.value is None:
        return judgement
    note = f"the log of batch size {log.facts['batch_size']}: {other.detail} ({log.paths[0]})"
    return replace(judgement, value=other.value, sources=other.sources, notes=(*judgement.notes, note))


def _sources(evidence: Iterable[Evidence], value: RuleValue | None) -> tuple[str, ...]:
    """The logs, the one that a value comes from first, with its lines."""
    paths = [path for log in evidence for path in log.paths]
    if value is None or not value.lines[0]:
        return tuple(paths)
    source = value.source or paths[0]
    return (f"{source}:{value.lines[0]}-{value.lines[1]}", *(path for path in paths if path != source))


def _disagreements(claim: Claim, log: Evidence, value: RuleValue) -> tuple[str, ...]:
    """What the report says of a cell and its log says otherwise."""
    notes = []
    if claim.unit and value.unit and claim.quantity == "throughput" and kind(claim.unit) != kind(value.unit):
        notes.append(f"the report counts {claim.unit}, the log {value.unit}")
    for key in ("batch_size", "precision"):
        claimed, own = str(claim.facts.get(key, "")), str(log.facts.get(key, ""))
        if claimed and own and claimed != own and not (key == "precision" and {claimed, own} <= REDUCED):
            notes.append(f"{key} is {claimed} in the report, {own} in the log")
    return tuple(notes)


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
    recipes = {document.path: _rows_of_recipes(document.path, extractions, allowed) for document in read}
    every_claim = [claim for document in read for claim in claims(document, root)]
    if logs is None:
        rows = [_row_of(claim, recipes.get(claim.path, {})) for claim in every_claim]
        places = dict.fromkeys(path for row in rows if row is not None for path in row.logs)
        logs = find_logs(list(places) if all(rows) and places else named) if every_claim else []
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


def _cases_of_open_cells(judgements: Sequence[Judgement]) -> set[Members]:
    """The cases that may be those of cells whose numbers no rule has given."""
    settled = (CellVerdict.REPRODUCED, CellVerdict.NOT_UNDERSTOOD)
    return {
        log.members
        for judgement in judgements
        if judgement.verdict not in settled
        for log in (*judgement.candidates, *judgement.evidence)
        if log.there
    }


# ----------------------------------------------------------------------------------------------------
# Tables that perflog made itself: their regions' recipes say by what rule, and each cell is held against that.


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


def _rows_of_recipes(path: Path, extractions: Extractions, allowed: Sequence[Path] = ()) -> dict[int, RecipeRow]:
    """By line (counted from 1), the rows of a Markdown file's tables that have recipes beside them.

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


def _row_of(claim: Claim, rows: Mapping[int, RecipeRow]) -> RecipeRow | None:
    """What a recipe makes of the row of a cell; None where none makes the cell."""
    row = rows.get(claim.line)
    return None if row is None or claim.column > len(row.cells) else row


def _judged_by_recipe(claim: Claim, rows: Mapping[int, RecipeRow]) -> Judgement | None:
    """The verdict on a cell by the recipe beside its table; None where none makes it."""
    row = _row_of(claim, rows)
    if row is None:
        return None
    made = plain(row.cells[claim.column - 1])
    place = f"{claim.path}:{row.line}"
    if made == claim.text:
        detail = f"the recipe of line {row.line} gives {made}"
        return Judgement(claim, CellVerdict.REPRODUCED, detail, value=_made_value(claim, made), sources=(place,))
    value = _made_value(claim, made)
    share = ""
    if claim.number is not None and value is not None and value.value:
        share = f" ({(claim.number.value / value.value - 1) * 100:+.3g} %)"
    detail = f"the recipe of line {row.line} gives {made}{share}"
    return Judgement(claim, CellVerdict.DIFFERS, detail, value=value, sources=(place,))


def _with_problem(judgement: Judgement, rows: Mapping[int, RecipeRow]) -> Judgement:
    """A judgement, with a note where the recipe beside its table fails."""
    row = rows.get(judgement.claim.line)
    if row is None or not row.problem:
        return judgement
    note = f"the recipe of line {row.line} fails: {row.problem}"
    return replace(judgement, notes=(*judgement.notes, note))


def _made_value(claim: Claim, made: str) -> RuleValue | None:
    number = printed(made)
    return RuleValue(RECIPE, claim.quantity, number.value, claim.unit) if number is not None else None
