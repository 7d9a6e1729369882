"""Where each number of a page comes from: a case with its runs, their logs, and the lines that they stand on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from perflog.cases.case import Case, Summary
from perflog.evidence.witness import Witness
from perflog.export.columns import number, two_digits
from perflog.export.translation import in_language
from perflog.export.translation import shown as said
from perflog.report.lines import ReadLogs, lines_of
from perflog.report.markdown import Words, address, slug, window_text, words
from perflog.runs.run import Metric, Run
from perflog.stats.quotient import QuotientInterval


@dataclass(frozen=True, slots=True)
class Named:
    """The cases of a page.

    Attributes:
        names: their short names, in order; no two are the same unless nothing known tells them apart.
        ids, places: their addresses in the page and their places among the cases, by the ids of the objects.
    """

    cases: Sequence[Case]
    names: Sequence[str]
    ids: Mapping[int, str]
    places: Mapping[int, int]

    def id_of(self, case: Case | None) -> str:
        """The address of a case in the page; empty for one that is not in it."""
        return "" if case is None else self.ids.get(id(case), "")


def named(cases: Sequence[Case]) -> Named:
    """The names and addresses of cases.

    An address is made of what is known of the case alone, so that it leads to the same case when logs are added.
    """
    names, ids = case_names(cases), [_address_of(case) for case in cases]
    counts: Counter[str] = Counter()
    unique = []
    for name in ids:
        counts[name] += 1
        unique.append(name if counts[name] == 1 else f"{name}-{counts[name]}")
    places = {id(case): place for place, case in enumerate(cases)}
    return Named(cases, names, {id(case): name for case, name in zip(cases, unique, strict=True)}, places)


def _address_of(case: Case) -> str:
    known = repr((sorted((key, str(value)) for key, value in case.key.items()), case.label))
    return f"case-{slug(case.name)[:60]}-{sha256(known.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"


def case_names(cases: Sequence[Case]) -> list[str]:
    """The cases' short names; where several have the same, with what else they differ in."""
    named: dict[str, list[Case]] = {}
    for case in cases:
        named.setdefault(case.name, []).append(case)
    names = []
    for case in cases:
        same = named[case.name]
        keys = dict.fromkeys(k for c in same for k in c.key)
        differing = [k for k in keys if len({str(c.key.get(k)) for c in same}) > 1]
        rest = [str(case.key.get(k, "?")) for k in differing] + [case.label] * (len({c.label for c in same}) > 1)
        names.append(f"{case.name} ({', '.join(rest)})" if rest else case.name)
    return names


def case_details(place: int, shown: Named, read: ReadLogs, base: Path, language: str) -> dict[str, Any]:
    """Everything that a page says of a case, for its template; addresses of logs are relative to ``base``."""
    texts, case = words(language), shown.cases[place]
    base_id = shown.id_of(case.base)
    metrics = [_summary(summary, texts, language) for summary in case.metrics.values()]
    quotients = (
        ("speedup", case.speedup, case.speedup_interval), ("efficiency", case.efficiency, case.efficiency_interval),
    )  # fmt: skip
    for name, value, interval in quotients:
        if value is not None and base_id:
            reason = f"{texts['page']['relative_to']} {_name_of(case.base, shown)}"
            if case.no_interval and name == "speedup":
                reason += "; " + said(case.no_interval, language)
            metrics.append({
                "key": name, "name": texts["metrics"][name], "value": f"{value:.10g}", "unit": "",
                "n": case.throughput.n, "interval": _bounds(interval), "spread": "", "reason": reason,
                "base": base_id,
            })  # fmt: skip
    return {
        "id": shown.id_of(case),
        "name": shown.names[place],
        "key": [(texts["environment"].get(k, k), v) for k, v in case.key.items()],
        "label": case.label,
        "aggregate": case.throughput.aggregate,
        "estimator": case.estimator,
        "window": window_text(read.extraction.options.window, language),
        "metrics": metrics,
        "notes": in_language([note.text for note in case.notes], language),
        "folders": _folders(case, base),
        "runs": [_run(run, read, base, texts, language) for run in case.runs],
    }


def _name_of(case: Case | None, shown: Named) -> str:
    return "" if case is None else shown.names[shown.places[id(case)]]


def _folders(case: Case, base: Path) -> list[tuple[str, list[tuple[str, str]]]]:
    """A case's logs by folder: names and addresses."""
    folders: dict[str, dict[str, str]] = {}
    for run in case.runs:
        folder, _, name = run.log.name.rpartition("/")
        folders.setdefault(folder or ".", {})[name] = address(run.log.path, base)
    return [(folder, list(logs.items())) for folder, logs in folders.items()]


def _metric_name(name: str, texts: Words) -> str:
    return texts["metrics"].get(name, name)


def _bounds(interval: QuotientInterval | None) -> str:
    if interval is None:
        return ""
    return f"[{number(interval.low)}, {number(interval.high)}] {100 * interval.level:.4g}%"


def _summary(summary: Summary, texts: Words, language: str) -> dict[str, Any]:
    interval = ""
    if summary.low is not None and summary.high is not None and summary.level is not None:
        interval = f"[{number(summary.low)}, {number(summary.high)}] {100 * summary.level:.4g}%"
    return {
        "key": summary.name, "name": _metric_name(summary.name, texts), "value": _full(summary.value),
        "unit": summary.unit, "n": summary.n, "interval": interval,
        "spread": "" if summary.spread is None else f"{two_digits(100 * summary.spread)}%",
        "reason": said(summary.reason, language) if summary.value is None else "", "base": "",
    }  # fmt: skip


def _run(run: Run, read: ReadLogs, base: Path, texts: Words, language: str) -> dict[str, Any]:
    sources = texts.get("sources", {})
    metadata: dict[str, list[str]] = {}
    for key, value in run.values.items():
        source = run.metadata.sources.get(key, "derived")
        metadata.setdefault(sources.get(source, source), []).append(f"{key}={value}")
    return {
        "log": run.log.name,
        "address": address(run.log.path, base),
        "first_line": run.first_line,
        "last_line": run.last_line,
        "of_lines": texts["page"]["of_lines"].format(lines=run.lines),
        "parser": run.parser,
        "used": lines_of(run, read.used),
        "metrics": [_metric(metric, run.parser, texts, language) for metric in run.metrics.values()],
        "metadata": list(metadata.items()),
        "evidence": [] if run.evidence is None else [_witness(witness, texts) for witness in run.evidence.witnesses],
        "notes": in_language([note.text for note in run.notes], language),
    }


def _witness(witness: Witness, texts: Words) -> dict[str, Any]:
    first, last = witness.lines
    return {
        "name": witness.name,
        "about": texts.get("abouts", {}).get(witness.about, witness.about),
        "measured": f"{witness.measured:.5g}", "told": f"{witness.told:.5g}", "unit": witness.unit,
        "agreement": witness.agreement, "agreement_shown": texts["agreements"][witness.agreement],
        "lines": f"{first}–{last}" if first != last else str(first),
    }  # fmt: skip


def _metric(metric: Metric, parser: str, texts: Words, language: str) -> dict[str, Any]:
    why = texts.get("excluded", {})
    steps = ""
    if metric.first_step is not None and metric.last_step is not None and metric.used:
        steps = f"{metric.first_step:g}–{metric.last_step:g}"
    return {
        "key": metric.name, "name": _metric_name(metric.name, texts), "value": _full(metric.value),
        "unit": metric.unit, "estimator": metric.estimator, "used": metric.used,
        "excluded": [f"{count} {why.get(reason, reason)}" for reason, count in metric.excluded.items()],
        "lines": f"{metric.first_line}–{metric.last_line}" if metric.first_line else "", "steps": steps,
        "parser": metric.parser if metric.parser != parser else "",
        "rounding": "" if metric.rounding is None else "–".join(f"{bound:.4g}" for bound in metric.rounding),
        "reason": said(metric.reason, language) if metric.value is None else "",
    }  # fmt: skip


def _full(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"
