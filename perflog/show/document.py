"""An extraction as JSON, in one versioned schema (docs/json.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from perflog._version import __version__
from perflog.cases.case import Case, Summary
from perflog.errors import UsageError
from perflog.escaping import decodable_data, exact, json_visible
from perflog.evidence.witness import Witness
from perflog.extraction import Extraction
from perflog.lazy_regex import lazy_regex
from perflog.notes import Note, mark_of
from perflog.runs.run import Metric, Run
from perflog.stats.quotient import QuotientInterval

if TYPE_CHECKING:
    from perflog.parts.rows import PackedRun

# ----------------------------------------------------------------------------------------------------
# A reason in, its code out: the word by which programs tell reasons apart, whose sentences are written for people.
#
# Codes follow from the sentences themselves, so that runs of parts, of the cache and of saved campaigns have them
# too. A sentence that no line of the table knows has the code ``other``, never a wrong one.

#: The code of a reason that has no code of its own.
OTHER = "other"
#: The code of a file that could not be read, whatever kept it from being read.
UNREADABLE = "unreadable"
#: What a reason begins with or holds, and its code: the first line that matches counts. docs/json.md lists the codes.
_SENTENCES = (
    (r"internal error\b", "internal-error"),
    (r"OOM\b", "out-of-memory"),
    (r"failed\b|the training failed", "training-failed"),
    (r"the run did not reach its target|\d+ of \d+ runs did not reach their target", "target-not-reached"),
    (r"run_start without run_stop|its training has not ended", "not-ended"),
    (r"the run ends after |[\d.e+]+ (?:steps|records), last ", "run-too-short"),
    (r"no measurement lies wholly inside the window", "nothing-in-window"),
    (r"\d+ measurements, trimmed mean drops |warm-up auto: ", "too-few-measurements"),
    (r"\w+ mean needs \d+ runs?\b|MLPerf scores \S* ?by sets of |\d+ runs, \d+ dropped at each end", "too-few-runs"),
    (r"runs count different things", "different-quantities"),
    (r"the log contradicts itself|.* of the measured steps: ", "contradiction"),
    (r".*(?:ranks or runs|ranks) are blended", "blended"),
    (r"steps go back from ", "out-of-order"),
    (r"each line tells of its last step only|the log tells of a step every", "steps-not-all-printed"),
    (r"the log prints running means and does not hold their beginning", "beginning-missing"),
    (r"the log holds one record, and nothing tells how many steps", "beginning-missing"),
    (r".*says that the program's own rate counts more than this run", "beginning-missing"),
    (r"this format prints no step numbers|the lines tell how long an interval took", "no-step-numbers"),
    (r"the printed rate is one |the log's rates cannot be turned into seconds", "fact-missing"),
    (r"the log does not say what the rate counts|the rate's unit is not one that is known", "unit-unknown"),
    (r"the clock is printed in whole seconds|the digits that the log prints allow any", "clock-too-coarse"),
    (r".*is no speed that a training can have|.*of the peak cannot be", "impossible-value"),
    (r".* TFLOP/s of a device cannot be", "impossible-value"),
    (r"the log holds only the program's own summary", "summary-only"),
    (r"the log holds one state of its bar", "run-too-short"),
    (r"no line tells the time since the steps began", "no-measurement"),
    (r"the clock began at a later step", "beginning-missing"),
    (r"the program printed no summary of its own", "no-summary"),
    (r"no measurement\b|lines of .*, but no measurement among them", "no-measurement"),
    (r"no line holds a rate or a time|the measured time is zero", "no-measurement"),
    (r"no .*\b(?:fits what|which|that|in) --as|fewer than \d+ lines fit what --as|what --as says of", "no-measurement"),
    (r"no line says that one of its progress bars", "ambiguous"),
    (r"the log tells no time", "no-time"),
    (r"the log tells the time of whole epochs alone", "ambiguous"),
    (r"a counter goes on by |all counts of its bar are multiples|its bar counts |a tick of its bar", "ambiguous"),
    (r".* may be a mean since the beginning|.* is printed at one of \d+ steps", "ambiguous"),
    (r".* is a (?:time|rate) without a unit|lines of many kinds end at column|its lines are all as long", "ambiguous"),
    (
        r"(?:nothing|no word) says of what .* is the time|its bars are of several lengths|.* is no one number$",
        "ambiguous",
    ),
    (r".* and .* do not agree$", "contradiction"),
    (r"the steps of its lines begin anew|.* begins anew where the steps go on", "out-of-order"),
    (r"the stamps of its lines go back", "out-of-order"),
    (r"no line of a known format", "unknown-format"),
    (r".* cannot read this log: |progress bars of .* alternate", "ambiguous"),
    (r"the log draws progress bars without a name|the bar counts epochs", "ambiguous"),
    (r"the same text as |the log of another rank of |it tells the same run as |it has the name of ", "counted-already"),
    (r"empty file|nothing but blanks|a notebook whose cells hold no output", "empty"),
    (r"binary file|a profiler's trace|an? \S+ archive, which|a W&B run file|an SQLite database", "not-text"),
)
_KNOWN = lazy_regex("|".join(f"(?P<c{place}>{sentence})" for place, (sentence, _) in enumerate(_SENTENCES)))
#: All codes, in the order of the table.
CODES = (*dict.fromkeys(code for _, code in _SENTENCES), UNREADABLE, OTHER)


def reason_code(reason: str, unreadable: bool = False) -> str | None:
    """The code of a reason; None where there is no reason.

    Args:
        reason: why there is no number, as it is printed.
        unreadable: whether it is the reason of a file that could not be read.

    >>> reason_code("the run ends after 90 steps, warm-up 1000")
    'run-too-short'
    """
    if not reason:
        return None
    known = _KNOWN.match(reason)
    if known is None or known.lastgroup is None:
        return UNREADABLE if unreadable else OTHER
    return _SENTENCES[int(known.lastgroup[1:])][1]


SCHEMA = "perflog/extraction/2"
#: JSON of up to so many runs is indented for the eye.
INDENTED_RUNS = 1000
_ENCODER = msgspec.json.Encoder()


def extraction_document(extraction: Extraction) -> dict[str, Any]:
    """The whole extraction as plain data."""
    return {**_head(extraction), "cases": [_case(case) for case in extraction.cases], "skipped": _skipped(extraction)}


def to_json(extraction: Extraction) -> str:
    """The document as JSON: indented, or with very many runs one case to a line."""
    return b"".join(json_pieces(extraction)).decode()


def json_pieces(extraction: Extraction) -> Iterator[bytes]:
    """What :func:`to_json` gives in UTF-8, piece by piece: of 100,000 runs the whole is 200 MB."""
    if sum(len(case.runs) for case in extraction.cases) <= INDENTED_RUNS:
        yield _seen(msgspec.json.format(_encoded(extraction_document(extraction)), indent=1) + b"\n")
        return
    run_of = _RunPieces()
    yield _seen(_encoded(_head(extraction))[:-1] + b', "cases": [\n')
    for number, case in enumerate(extraction.cases):
        yield _seen(b",\n" * (number > 0) + _encoded(_case_alone(case))[:-1] + b',"runs":[')
        for start in range(0, len(case.runs), INDENTED_RUNS):
            runs = case.runs[start : start + INDENTED_RUNS]
            yield _seen(b"," * (start > 0) + b",".join(map(run_of, runs)))
        yield b"]}"
    yield _seen(b'\n],\n"skipped": ' + _encoded(_skipped(extraction)) + b"}\n")


class _RunPieces:
    """Runs as JSON. Those of parts share most of their texts, whose JSON is made once: they differ in their numbers.

    A document with :data:`_HOLE` for all that differs is what is kept of a shape.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, tuple[bytes, ...]]] = {}

    def __call__(self, run: Run) -> bytes:
        if getattr(run, "shape", None) is None:  # none of a part's: its class need not be imported
            return _encoded(run_document(run))
        run = cast("PackedRun", run)
        (form,) = self._of(run.shape, lambda: (self._form(run),))
        (metadata,) = self._of(run.metadata, lambda: (_encoded(_metadata(run)),))
        mark, notes = self._of(run.notes, lambda: _mark_and_notes(run.notes))
        named = exact(run.log.path), exact(run.log.member) or None, run.parser, run.window
        file, member, parser, window = map(_encoded, named)
        numbers = _ENCODER.encode(run.shown)[1:-1].split(b",")
        return form % (file, member, *numbers[:3], parser, metadata, window, *numbers[3:], mark, notes)

    def _of(self, record: object, made: Callable[[], tuple[bytes, ...]]) -> tuple[bytes, ...]:
        """What is made of a record that runs share, kept for a while."""
        known = self._known.get(id(record))
        if known is None or known[0] is not record:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            known = self._known[id(record)] = record, made()
        return known[1]

    def _form(self, run: PackedRun) -> bytes:
        """The JSON of a run with ``%b`` wherever runs of its shape differ."""
        document = run_document(run.with_shown([_HOLE] * run.shape.count))
        source = dict.fromkeys(document["source"], _HOLE)
        differs = {"source": source, **dict.fromkeys(("parser", "metadata", "window", "mark", "notes"), _HOLE)}
        return _encoded({**document, **differs}).replace(b"%", b"%%").replace(b"\0", b"%b")


def _mark_and_notes(notes: Sequence[Note]) -> tuple[bytes, bytes]:
    return _encoded(note_document(mark_of(notes))), _encoded(list(map(note_document, notes)))


#: Stands for a number in the JSON of a shape: JSON holds no such byte.
_HOLE: Any = msgspec.Raw(b"\0")
#: So many records that runs share are kept as JSON.
_MOST_KEPT = 10_000


def _seen(document: bytes) -> bytes:
    """A part of a JSON document in which everything is seen."""
    plain = document.isascii() and b"\x7f" not in document
    return document if plain else json_visible(document.decode()).encode()


def _encoded(value: Any) -> bytes:
    """Plain data as JSON; bytes of names that are no UTF-8 stand as ``\\xe9`` in it."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(decodable_data(value))


def _head(extraction: Extraction) -> dict[str, Any]:
    options = extraction.options
    return {
        "schema": SCHEMA,
        "perflog": __version__,
        "options": {
            "warmup": str(options.window.warmup) if options.window.last is None else None,
            "steps": str(options.window.steps) if options.window.steps else None,
            "last": str(options.window.last) if options.window.last else None,
            "estimator": options.estimator,
            "aggregate": options.aggregate,
            "baseline": dict(options.baseline),
            "set": {**options.config_set, **options.set},
            "convention": options.convention or None,
            "without_slow": options.without_slow,
            "sampled": options.sampled,
            "as": list(options.said),
            "values": "printed" if options.as_printed else "differenced",
        },
    }


def _skipped(extraction: Extraction) -> list[dict[str, Any]]:
    return [
        {
            "file": exact(entry.log.path),
            "member": exact(entry.log.member) or None,
            "reason": entry.reason,
            "reason_code": reason_code(entry.reason, entry.failed),
        }
        for entry in extraction.skipped
    ]


def finite(value: float | None) -> float | None:
    """A number; None for one that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _case(case: Case) -> dict[str, Any]:
    return {**_case_alone(case), "runs": [run_document(run) for run in case.runs]}


def _case_alone(case: Case) -> dict[str, Any]:
    """A case without its runs."""
    return {
        "case": case.key,
        "label": case.label,
        "metrics": {name: _summary(s) for name, s in case.metrics.items()},
        "speedup": finite(case.speedup),
        "speedup_interval": _quotient(case.speedup_interval),
        "efficiency": finite(case.efficiency),
        "efficiency_interval": _quotient(case.efficiency_interval),
        "no_interval": case.no_interval or None,
        "baseline": case.baseline or None,
        "estimator": case.estimator,
        "window": case.window,
        "mark": note_document(case.mark),
        "other_speedup": finite(case.other_speedup),
        "notes": list(map(note_document, case.notes)),
    }


def note_document(note: Note | None) -> dict[str, Any] | None:
    """A note with its effect as plain data."""
    if note is None:
        return None
    return {
        "text": note.text, "changes": note.changes or None, "effect": finite(note.move), "other": finite(note.other),
        "label": note.label or None, "undecided": note.undecided,
    }  # fmt: skip


def _quotient(interval: QuotientInterval | None) -> dict[str, float] | None:
    return None if interval is None else {"low": interval.low, "high": interval.high, "level": interval.level}


def _summary(summary: Summary) -> dict[str, Any]:
    interval = None
    if summary.low is not None and summary.high is not None:
        ends = {"low": finite(summary.low), "high": finite(summary.high)}
        interval = {**ends, "level": summary.level, "of": "median"}
    return {
        "value": finite(summary.value),
        "unit": summary.unit,
        "aggregate": summary.aggregate,
        "n": summary.n,
        "interval": interval,
        "spread": finite(summary.spread),
        "reason": summary.reason or None,
        "reason_code": reason_code(summary.reason),
    }


def run_document(run: Run) -> dict[str, Any]:
    """One run as plain data, as it stands in an extraction's document."""
    evidence = run.evidence
    return {
        "source": {
            "file": exact(run.log.path),
            "member": exact(run.log.member) or None,
            "lines": run.lines,
            "first_line": run.first_line,
            "last_line": run.last_line,
        },
        "parser": run.parser,
        "metadata": _metadata(run),
        "window": run.window,
        "metrics": {name: _metric(metric) for name, metric in run.metrics.items()},
        "corroborated": evidence is not None and evidence.corroborated,
        "evidence": [] if evidence is None else [_witness(witness) for witness in evidence.witnesses],
        "mark": note_document(mark_of(run.notes)),
        "notes": list(map(note_document, run.notes)),
    }


def _metadata(run: Run) -> dict[str, Any]:
    return {k: {"value": v, "source": run.metadata.sources.get(k, "derived")} for k, v in run.values.items()}


def _witness(witness: Witness) -> dict[str, Any]:
    return {
        "witness": witness.name,
        "about": witness.about,
        "unit": witness.unit,
        "measured": finite(witness.measured),
        "told": finite(witness.told),
        "agreement": witness.agreement,
        "first_line": witness.lines[0],
        "last_line": witness.lines[1],
        "remark": witness.remark or None,
    }


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "value": finite(metric.value),
        "unit": metric.unit,
        "estimator": metric.estimator,
        "used": metric.used,
        "excluded": metric.excluded,
        "first_line": metric.first_line or None,
        "last_line": metric.last_line or None,
        "first_step": finite(metric.first_step),
        "last_step": finite(metric.last_step),
        "parser": metric.parser,
        "reason": metric.reason or None,
        "reason_code": reason_code(metric.reason),
        "definition": metric.definition or None,
        "rounding": None if metric.rounding is None else [finite(bound) for bound in metric.rounding],
    }


# ----------------------------------------------------------------------------------------------------
# The JSON Schemas of all documents that perflog prints, which lie beside this module as files.

FOLDER = Path(__file__).with_name("schemas")
_ENDING = ".schema.json"


def schema_names() -> list[str]:
    """The names of the documents that there are schemas of."""
    return sorted(file.name.removesuffix(_ENDING) for file in FOLDER.glob(f"*{_ENDING}"))


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a document.

    Args:
        name: ``extraction``, ``comparison``, ``noise``, ``audit``, ``readme``, ``history`` …: what stands in the
            document's key ``schema`` between ``perflog/`` and the version.

    Returns:
        The schema as plain data, for any validator of JSON Schema.

    Raises:
        UsageError: for a document that there is not.
    """
    if name not in schema_names():
        raise UsageError(f"schema {name!r}: expected one of {', '.join(schema_names())}")
    schema: dict[str, Any] = json.loads((FOLDER / f"{name}{_ENDING}").read_text(encoding="utf-8"))
    return schema
