"""Every number that perflog gives of the logs at hand, under every estimator: ``python -m tests.tools.numbers > a.jsonl``.

One JSON line for each log (its runs: facts, notes, and by estimator the value or the reason why there is none) and one
for each case (its value, interval and speedup). ``--against a.jsonl`` prints what is another than it was there, so that
two commits can be compared; notes are compared with ``--notes`` alone.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from perflog.cases.last_resort import cases_of
from perflog.logs.find import LogFile, find_logs
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.runs.build import RunBuilder
from perflog.runs.run import Metric, Outcome, Run, Skipped
from perflog.settings.options import ESTIMATORS
from tests.support import CORPUS, FIXTURES, ROOT, SHARED, arguments, catalog, options

ROOTS = (FIXTURES, ROOT / "tests" / "upstream" / "logs", CORPUS, SHARED / "seeds")
#: Two numbers are one where they differ by no more than this share.
SAME = 1e-9
#: The cases of logs below one folder of this depth below a root are built together.
DEPTH = 2

Entry = dict[str, Any]


def entries(root: Path) -> Iterator[Entry]:
    """What each log below a root gives, then the cases of each of its folders under the default estimator."""
    runs: dict[str, list[Run]] = {}
    for log, outcomes in _outcomes(find_logs([root])):
        name = f"{root.name}/{Path(log.path).relative_to(root)}{log.member and f':{log.member}'}"
        total = outcomes["total"]
        if isinstance(total, Skipped):
            if any(not isinstance(outcome, Skipped) for outcome in outcomes.values()):
                raise AssertionError(f"{name}: whether a log has a run depends on the estimator")
            yield {"log": name, "skipped": total.reason}
            continue
        runs.setdefault("/".join(name.split("/")[: DEPTH + 1]), []).extend(total)
        yield {"log": name, "runs": [_run(outcomes, number, root.name) for number in range(len(total))]}
    for folder, of_folder in runs.items():
        for case in cases_of(of_folder, catalog().path_patterns, options())[0]:
            centre, speedup = case.throughput, case.speedup_interval
            yield {
                "case": f"{folder}: {_below(root.name, case.name)}, {_below(root.name, case.label)}", "n": len(case.runs), "value": centre.value,
                "low": centre.low, "high": centre.high, "reason": centre.reason, "speedup": case.speedup,
                "speedup_low": speedup and speedup.low, "speedup_high": speedup and speedup.high,
                "logs": sorted(Path(run.log.path).name for run in case.runs), "notes": [*map(str, case.notes)],
            }  # fmt: skip


def _outcomes(logs: list[LogFile]) -> Iterator[tuple[LogFile, dict[str, Outcome]]]:
    builders: dict[tuple[str, str], RunBuilder] = {}

    def finish(reading: Reading) -> tuple[LogFile, dict[str, Outcome]]:
        side = Path(f"{reading.log.path}.toml")
        given = arguments(tomllib.loads(side.read_text(encoding="utf-8")).get("options", [])) if side.is_file() else {}
        outcomes = {}
        for estimator in ESTIMATORS:
            key = repr(sorted(given.items())), estimator
            if key not in builders:
                builders[key] = RunBuilder(catalog(), options(**{**given, "estimator": estimator}))
            outcomes[estimator] = builders[key].build(reading)
        return reading.log, outcomes

    yield from read_logs(logs, catalog(), finish)


def _below(folder: str, label: str) -> str:
    """A label without what it says of the folders above a root: a checkout's place is one of them."""
    return f"{label}/".rpartition(f"{folder}/")[2].rstrip("/")


def _run(outcomes: Mapping[str, Outcome], number: int, folder: str) -> Entry:
    by_estimator = {estimator: outcome[number] for estimator, outcome in outcomes.items() if isinstance(outcome, list)}
    run = by_estimator["total"]
    return {
        "parser": run.parser, "lines": [run.first_line, run.last_line], "label": _below(folder, run.label),
        "facts": {key: run.values[key] for key in sorted(run.values)},
        "throughput": {estimator: _metric(run.throughput) for estimator, run in by_estimator.items()},
        "metrics": {name: _metric(metric) for name, metric in sorted(run.metrics.items()) if name != "throughput"},
        "notes": [*map(str, run.notes)],
    }  # fmt: skip


def _metric(metric: Metric) -> Entry:
    if metric.value is None:
        return {"value": None, "reason": metric.reason}
    value = metric.value if math.isfinite(metric.value) else str(metric.value)
    return {"value": value, "unit": metric.unit, "used": metric.used}


def changes(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """What differs between two entries, a line each: where, and both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from changes(old.get(key), new.get(key), f"{place} {key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True), 1):
            yield from changes(one, other, f"{place} {number}")
    elif not _same(old, new):
        yield f"{place.strip()}: {json.dumps(old, ensure_ascii=False)} → {json.dumps(new, ensure_ascii=False)}"


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=SAME)
    return bool(old == new)


def _by_name(lines: list[Entry], notes: bool) -> dict[str, Entry]:
    """The entries by log or case; cases of one name are numbered."""
    named: dict[str, Entry] = {}
    for entry in lines:
        name = plain = entry.get("log") or f"case {entry.get('case')}"
        number = 1
        while name in named:
            number += 1
            name = f"{plain} ({number})"
        named[name] = entry if notes else _without_notes(entry)
    return named


def _without_notes(entry: Any) -> Any:
    if isinstance(entry, dict):
        return {key: _without_notes(value) for key, value in entry.items() if key != "notes"}
    return [_without_notes(value) for value in entry] if isinstance(entry, list) else entry


def main() -> int:
    arguments_of = argparse.ArgumentParser(description=__doc__)
    arguments_of.add_argument("--against", metavar="FILE", type=Path, help="what this printed at another commit")
    arguments_of.add_argument("--notes", action="store_true", help="compare notes too")
    given = arguments_of.parse_args()
    before = [] if given.against is None else [json.loads(line) for line in given.against.open(encoding="utf-8")]
    now = [entry for root in ROOTS if root.is_dir() for entry in entries(root)]
    if given.against is None:
        for entry in now:
            print(json.dumps(entry, ensure_ascii=False))
        return 0
    # what was written once is read once, so that both are what JSON makes of them
    old, new = (_by_name(json.loads(json.dumps(of_one)), given.notes) for of_one in (before, now))
    count = 0
    for name in [*old, *(name for name in new if name not in old)]:
        both = name in old and name in new
        differences = list(changes(old[name], new[name])) if both else ["is new" if name in new else "is gone"]
        count += bool(differences)
        for difference in differences:
            print(f"{name}: {difference}")
    print(f"{count} of {len(new)} logs and cases changed", file=sys.stderr)
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
