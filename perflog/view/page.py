"""The page of runs over time: one file that loads nothing, with the records of every run and what they add up to.

The page's script (``templates/view``) makes its numbers of the records by the arithmetic of the command; the command's
own number, with what else the log says of it, is in the page too and leads wherever the settings are the command's.
"""

from __future__ import annotations

import json
import shlex
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any
from zlib import compress

import numpy as np
from numpy.typing import NDArray

from perflog._version import __version__
from perflog.cases.case import Case
from perflog.escaping import decodable_data, visible
from perflog.measurements.rows import FIELDS
from perflog.runs.run import Run
from perflog.show.links import log_key
from perflog.show.provenance import named, texts_of_lines
from perflog.show.words import BEGINNING, LANGUAGES, in_language, page_templates, words
from perflog.show.words import shown as said
from perflog.stats.arrays import middle
from perflog.view.records import ASIDE_CODE, RankRecords, RunRecords, Seen

Floats = NDArray[np.float64]
#: So many outliers of a run have their log lines in the page, and so many lines on either side of each.
MOST_LINES, BESIDE = 40, 1
#: A record is an outlier where its steps take so many times as long as the median's.
OUTLIER = 2.0


def view_page(seen: Seen, language: str = "en", live: tuple[str, int] | None = None) -> bytes:
    """The whole page.

    Args:
        seen: the runs with their records.
        live: the token of the server that keeps the page up to date, and how often the logs have changed; None for a
            page of its own.

    Raises:
        UsageError: for a language that there is not.
    """
    texts = words("view", language)
    text = (
        page_templates()
        .get_template("view.html.j2")
        .render(
            beginning=BEGINNING,
            version=__version__,
            language=LANGUAGES[language],
            title=texts["page"]["title"],
            words=texts["page"],
            data=in_script(view_data(seen, language)),
            said=in_script(dict(texts["script"])),
            live=live,
        )
    )
    return str(text).encode("utf-8", "backslashreplace")


def view_data(seen: Seen, language: str) -> dict[str, Any]:
    """What the page's script is given: runs, their records, cases and the settings, as plain data."""
    options = seen.extraction.options
    window = options.window
    cases = named(seen.extraction.cases)
    places = {id(run): place for place, (run, _) in enumerate(seen.runs)}
    order = {id(run): case for case in seen.extraction.cases for run in case.runs}
    names = _short([run.log.name for run, _ in seen.runs])
    runs = [
        _run(run, records, name, number, cases.names[id(order[id(run)])], language)
        for number, ((run, records), name) in enumerate(zip(seen.runs, names, strict=True))
    ]
    found: dict[str, Any] = decodable_data({
        "settings": {
            "warmup": _amount(window.warmup), "steps": _amount(window.steps), "last": _amount(window.last),
            "estimator": options.estimator, "aggregate": options.aggregate,
        },
        "runs": runs,
        "cases": [_case(case, cases.names[id(case)], places, language) for case in seen.extraction.cases],
        "skipped": [(one.log.name, said(one.reason, language)) for one in seen.extraction.skipped],
    })  # fmt: skip
    return found


def in_script(value: Mapping[str, Any]) -> Any:
    """Plain data as JSON that a script element of a page holds as text: nothing in it is markup."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _amount(given: Any) -> str:
    """An amount as the command line takes it; empty for none."""
    if given is None:
        return ""
    if given.unit in ("steps", "auto"):
        return "auto" if given.unit == "auto" else f"{given.number:g}"
    return f"{given.number:g}{given.unit}"


def _short(names: Sequence[str]) -> list[str]:
    """Names of logs without the folders that all have in common."""
    if len(set(names)) < 2:
        return [name.rpartition("/")[2] for name in names]
    parts = [name.split("/") for name in names]
    common = 0
    while all(len(one) > common + 1 and one[common] == parts[0][common] for one in parts):
        common += 1
    return ["/".join(one[common:]) for one in parts]


def _case(case: Case, name: str, places: Mapping[int, int], language: str) -> dict[str, Any]:
    """A case: its runs by their places (by the ids of the objects), and the command's number."""
    whole = case.throughput
    return {
        "name": visible(name), "runs": [places[id(run)] for run in case.runs], "value": whole.value,
        "unit": whole.unit, "reason": said(whole.reason, language) if whole.value is None else "",
        "machines": len(case.machines),
    }  # fmt: skip


def _run(run: Run, records: RunRecords | None, name: str, number: int, case: str, language: str) -> dict[str, Any]:
    """A run with the command's number, what is said of it, and its records."""
    ranks = [] if records is None else [_rank(one) for one in records.ranks]
    return {
        "id": number, "key": log_key(run.log.name), "name": visible(name),
        "log": visible(run.log.name), "case": visible(case),
        "path": shlex.quote(visible(run.log.name)), "lines": [run.first_line, run.last_line],
        **number_of(run, language), "notes": in_language([visible(note.text) for note in run.notes], language),
        "texts": {} if records is None else _texts(run, records.ranks[0]), "ranks": ranks,
    }  # fmt: skip


def number_of(run: Run, language: str) -> dict[str, Any]:
    """The command's number of a run, or why there is none, and the other numbers that its notes name."""
    metric = run.throughput
    return {
        "value": metric.value, "unit": metric.unit,
        "reason": said(metric.reason, language) if metric.value is None else "",
        "marks": [
            {"label": note.label, "other": note.other, "open": note.undecided} for note in run.notes if note.is_mark
        ],
    }  # fmt: skip


def _rank(records: RankRecords) -> dict[str, Any]:
    """The records of a rank as the script reads them."""
    columns, aside = records.columns, records.codes == ASIDE_CODE
    count = len(aside) - int(aside.sum())
    return {
        "rank": records.rank, "n": count, "columns": {name: _packed(columns[name][~aside]) for name in FIELDS},
        "metrics": {name: _packed(columns[name][~aside]) for name in records.metrics}, "parts": records.parts,
        "factor": records.factor, "unit": records.unit, "refused": records.refused, "seconds": records.seconds,
        "origin": records.origin, "end": records.end, "leading": records.leading, "keyless": records.keyless,
        "interval": records.interval, "digits": records.digits, "none": records.none_at_all,
        "wholeSeconds": records.whole_seconds,
        "impossible": records.reason, "gaps": records.gaps,
    }  # fmt: skip


def _packed(column: Floats) -> dict[str, Any]:
    """A column, (n,): a first value and a step where these say all of it, else its bytes, deflated.

    Decimals of few digits are whole numbers over a power of ten. The bytes of equal rank stand together, so that what
    numbers share is packed well.
    """
    n = len(column)
    if not n:
        return {"n": 0, "first": 0.0, "step": 0.0}
    if np.array_equal(column, column[0] + (column[1] - column[0] if n > 1 else 0.0) * np.arange(n)):
        return {"n": n, "first": float(column[0]), "step": float(column[1] - column[0]) if n > 1 else 0.0}
    for power in _POWERS:
        with np.errstate(invalid="ignore"):
            whole = np.rint(column * power)
        if np.array_equal(whole / power, column) and np.abs(whole).max() < 2**31:
            return {"n": n, "power": power, "bytes": _deflated(whole.astype("<i4"))}
    return {"n": n, "power": 0, "bytes": _deflated(column.astype("<f8"))}


#: The powers of ten that decimals are whole numbers over.
_POWERS = [10**digits for digits in range(7)]


def _deflated(column: NDArray[Any]) -> str:
    planes = np.ascontiguousarray(column.view(np.uint8).reshape(len(column), column.itemsize).T)
    return b64encode(compress(planes.tobytes(), 6)).decode()


def _texts(run: Run, records: RankRecords) -> dict[str, str]:
    """The log lines of the records and gaps that cost most time, and those beside them, by their numbers."""
    columns = records.columns
    covers, time, lines = columns["covers"], columns["time"], columns["line"]
    with np.errstate(divide="ignore", invalid="ignore"):
        per_step = time / covers
    usable = np.isfinite(per_step)
    if not usable.any() or run.log.pipe is not None:
        return {}
    gaps = sorted(records.gaps, key=lambda gap: -gap[2])[:MOST_LINES]
    around = {line for before, behind, _ in gaps for line in (*range(before, before + 4), behind) if line <= behind}
    usual = float(middle(per_step[usable]))
    cost = np.where(usable & (per_step > OUTLIER * usual), time - usual * covers, 0.0)
    worst = np.argsort(-cost)[:MOST_LINES]
    chosen = {int(lines[place]) for place in worst if cost[place] > 0}
    wanted = {line + by for line in chosen for by in range(-BESIDE, BESIDE + 1) if 0 < line + by <= run.lines}
    return {str(number): text for number, text in texts_of_lines(run.log, sorted(wanted | around)).items()}
