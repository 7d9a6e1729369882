"""Each format's fixtures, read without that format: ``python -m tests.tools.unaided [--format NAME …] [--write PAGE]``.

A format's log is the log of a program that nobody described, once the format is taken away: what other formats and the
general reader then give is right, none with a reason, or wrong. The table says of each format what its logs give
without it, and so what the format is needed for.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflog.extraction import Extraction, extract_paths
from perflog.formats.catalog import Catalog
from perflog.formats.printed import kind
from perflog.inference.formats import INFERRED
from perflog.notes import mark_of
from perflog.runs.factor import global_batch, tokens_per_step
from perflog.runs.run import Run
from tests.support import arguments, catalog, options, parser_fixtures
from tests.tools.pages import table, write_between

#: A number that is so far from the truth, as a share, is another one.
NEAR = 0.03
#: Logs of which another number is no fault of the reader's, and why.
EXPLAINED: Mapping[str, str] = {
    "bmtrain/pretrain_cpm1.log": "the time that it prints is smoothed, and its steps are alike",
    "ernie/two_trainers.log": "each of two trainers counts its own steps",
    "nemo/nemo1_bar.log": "the clock of its bar and the times on it differ, as the fixture invents both",
    "opennmt_tf/two_eight.log": "the words of a second are those of the source",
    "opennmt_tf/two_later.log": "the tokens of a second are those of source and target together",
    "opennmt_tf/two_zero.log": "the words of a second are those of the source",
    "paddledetection/static_0_5.log": "one line in four is slow, and the line that is left out is one of these",
    "paddlespeech/u2.log": "the lines tell that a step accumulates two batches: 512 samples",
    "paddlevideo/elapse_2021.log": "the first line of an epoch is slow, and of one step where the others are of ten",
}


#: The same of real logs: their names begin so.
EXPLAINED_REAL: Mapping[str, str] = {
    "ngc_bert_tf/tf_bert_pretraining_lamb_base_": "a known format (tf_estimator) takes the batch of the path for that of "
    "a step, which accumulates 704 of them",
}

#: An answer is shown up to so many letters.
LONGEST = 110
#: The format of what `perflog run` writes itself.
PERFLOGS = "perflog_run"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a log gives without its format.

    Attributes:
        verdict: ``right``, ``marked`` (another number, with the truth in its cell), ``wrong``, ``invented`` (the
            format gives none), ``other unit`` (one that nothing in the log sets against the truth), ``refused``,
            ``none`` (neither gives a number).
        given: the number, or why there is none; ``reader``: which format, or the general reader, gives it.
        kept: what the format alone tells of a log whose number is right without it: the unit, facts, metrics, evidence.
    """

    format: str
    log: str
    truth: str
    verdict: str
    given: str
    reader: str = ""
    kept: tuple[str, ...] = ()


def judged(name: str, log: Path, side: Mapping[str, Any]) -> Judged:
    """What a fixture of a format gives without it."""
    own, formats = options(**arguments(side.get("options", []))), catalog()
    truth = _first(extract_paths([log], own, formats))
    found = extract_paths([log], own, _without(formats, name))
    run, words, where = _first(found), "" if truth is None else _words(truth), f"{name}/{log.name}"
    if run is None:
        reasons = [one.throughput.reason for one in found.runs] + [one.reason for one in found.skipped]
        return Judged(name, where, words, "none" if truth is None else "refused", reasons[0] if reasons else "")
    kept = () if truth is None else tuple(_kept(truth, run))
    return Judged(name, where, words, _verdict(truth, run), _words(run), run.parser, kept)


def _kept(truth: Run, run: Run) -> Iterator[str]:
    """What is known of a run with its format alone."""
    if truth.throughput.unit != run.throughput.unit:
        yield f"`{truth.throughput.unit}`"
    told = run.metadata.values
    yield from (key for key, value in truth.metadata.values.items() if told.get(key) != value)
    have = {name for name, metric in run.metrics.items() if metric.value is not None}
    yield from (name for name, metric in truth.metrics.items() if metric.value is not None and name not in have)
    if _is_borne_out(truth) and not _is_borne_out(run):
        yield "evidence"


def _is_borne_out(run: Run) -> bool:
    return run.evidence is not None and run.evidence.corroborated


def judged_of_corpus(log: Path) -> Judged | None:
    """What a real log gives without the format that reads it; None where none does, or the general reader."""
    formats = catalog()
    truth = _first(extract_paths([log], options(), formats))
    return None if truth is None or truth.parser == INFERRED else judged(truth.parser, log, {})


def _without(formats: Catalog, name: str) -> Catalog:
    return Catalog(tuple(parser for parser in formats.parsers if parser.name != name), formats.path_patterns)


def _first(found: Extraction) -> Run | None:
    return next((run for run in found.runs if run.value is not None), None)


def _words(run: Run) -> str:
    return f"{run.value:.6g} {run.throughput.unit}"


def _verdict(truth: Run | None, run: Run) -> str:
    if truth is None:
        return "invented"
    allowed = list(_allowed(truth, run))
    if not allowed:
        return "other unit"
    if any(_is_near(run.value, one) for one in allowed):
        return "right"
    mark = mark_of(run.notes)
    return "marked" if mark is not None and any(_is_near(mark.other, one) for one in allowed) else "wrong"


def _is_near(value: float | None, truth: float) -> bool:
    return value is not None and abs(value / truth - 1) <= NEAR


def _allowed(truth: Run, run: Run) -> Iterator[float]:
    """The true number in the unit of another one, by each fact of the log that tells it; none where nothing does."""
    value, unit, other = truth.value or 0.0, truth.throughput.unit, run.throughput.unit
    devices = truth.metadata.integer("devices") or 1
    if unit.count("/") > 1:
        value, unit = value * devices, "/".join(unit.split("/")[:2])
    part = devices if other.count("/") > 1 else 1
    counted, wanted = kind(unit), kind("/".join(other.split("/")[:2]))
    if counted == wanted or {counted, wanted} == {"tokens", "words"}:
        yield value / part
    if int(str(truth.metadata.values.get("gradient_accumulation_steps", 1))) > 1:
        return
    of_step = {"steps": 1, "items": global_batch(truth.metadata), "tokens": tokens_per_step(truth.metadata)}
    has, wants = of_step.get(counted), of_step.get(wanted)
    if has and wants:
        yield value / has * wants / part


def all_judged(names: Set[str] = frozenset()) -> list[Judged]:
    """All fixtures of some formats, or of all."""
    able = (names or catalog().by_name.keys()) - {PERFLOGS}
    fixtures = [one for one in parser_fixtures() if one[0] in able]
    with ProcessPoolExecutor(2) as processes:
        return list(processes.map(judged, *zip(*fixtures, strict=True), chunksize=8))


#: Where the table stands in a page, and the verdicts in their order.
START = "<!-- below: python -m tests.tools.unaided --write tests/found/unaided.md -->"
END = "<!-- above: python -m tests.tools.unaided -->"
COUNTED = ("right", "other unit", "marked", "refused", "wrong")


def of_formats(found: Sequence[Judged]) -> str:
    """What each format's logs give without it, a row a format, in Markdown; the sums first."""
    rows, sums = list[list[str]](), Counter[str]()
    for name in dict.fromkeys(one.format for one in found):
        logs = [one for one in found if one.format == name and one.truth]
        if not logs:
            continue
        counts = Counter(one.verdict for one in logs)
        sums.update(counts)
        answer = next((one for one in logs if one.verdict != "right"), logs[0])
        said = f"{answer.given} ({answer.truth})" if answer.reader else answer.given
        short = said if len(said) <= LONGEST else f"{said[:LONGEST]}…"
        others = [one for one in logs if one.verdict != "right"]
        kept = dict.fromkeys(word for one in logs for word in one.kept)
        needed = "the number" if others else ", ".join(kept) or "nothing"
        rows.append([f"`{name}`", _counted(counts), needed, _as_code(short)])
    head = (
        "format",
        "its logs without it",
        "what it is kept for",
        "the first that is not right, or the first (the truth)",
    )
    return table(head, [["all", _counted(sums), "", ""], *rows])


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in COUNTED if counts.get(verdict))


def _as_code(text: str) -> str:
    """A text as code in a cell: what stands in brackets is no link."""
    plain = text.replace("`", "'").replace("|", "\\|")
    return f"`{plain}`"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.unaided", description=__doc__)
    parser.add_argument("--format", nargs="+", metavar="NAME", default=[], help="the fixtures of these alone")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write a table of all formats into a page")
    given = parser.parse_args()
    found = all_judged(set(given.format))
    if given.write:
        write_between(given.write, START, END, of_formats(found))
        return 0
    rows = [
        [one.log, one.truth or "none", one.verdict, one.reader, one.given[:90].replace("|", "\\|")] for one in found
    ]
    print(table(("log", "with its format", "without it", "read by", "number, or reason"), rows))
    print("\n".join(f"- {verdict}: {count}" for verdict, count in Counter(one.verdict for one in found).most_common()))
    return 1 if any(one.verdict in ("wrong", "invented") and one.log not in EXPLAINED for one in found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
