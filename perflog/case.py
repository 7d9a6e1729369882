"""A case: one configuration with its runs, their centre and interval, speedup and efficiency.

Runs share a case when everything that tells configurations apart is equal: the metadata of
``metadata.CASE_KEYS``, every label, the unit, and the rest of the path that nothing explained. So runs that
differ in anything known or unknown are never averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from perflog.find import natural
from perflog.metadata import CASE_KEYS, Scalar, normal
from perflog.options import Options
from perflog.run import FAILURES, Metric, Run
from perflog.stats.centre import CENTRES, order_interval, spread
from perflog.units import kind

#: Metadata that differs between runs of one case, or follows from other keys.
_NOT_IN_CASE = frozenset({"repeat", "global_batch_size"})


@dataclass(slots=True)
class Summary:
    """A metric over the runs of a case.

    ``value`` is None when no run has one or the aggregate needs more runs; ``low``, ``high``, ``level``: the
    interval of the median with its true level.
    """

    name: str
    unit: str
    aggregate: str
    n: int
    value: float | None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    spread: float | None = None
    reason: str = ""


@dataclass(slots=True)
class Case:
    """One configuration."""

    key: dict[str, Scalar]
    label: str
    runs: list[Run]
    metrics: dict[str, Summary]
    estimator: str
    window: str
    notes: list[str] = field(default_factory=list)
    speedup: float | None = None
    efficiency: float | None = None
    baseline: str = ""
    base: Case | None = field(default=None, repr=False, compare=False)  # it may be the case itself

    @property
    def throughput(self) -> Summary:
        return self.metrics["throughput"]

    @property
    def name(self) -> str:
        """A short name: the parts that are known."""
        return name_of(self.key) or self.label or "unnamed"


def name_of(key: Mapping[str, Scalar]) -> str:
    """A configuration's short name: the parts that are known."""
    parts = [str(key[k]) for k in ("framework", "model", "precision") if k in key]
    if "batch_size" in key:
        parts.append(f"bs{key['batch_size']}")
    if "devices" in key:
        parts.append(f"{key['devices']} devices" if key["devices"] != 1 else "1 device")
    return " ".join(parts)


def build_cases(runs: Iterable[Run], options: Options) -> list[Case]:
    """Group runs into cases, summarise them, and set each case's speedup against its baseline."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(_identity(run), []).append(run)
    _join_failures(groups)
    cases = [_case(members, options) for members in groups.values()]
    cases.sort(key=_order)
    _speedups(cases, options)
    return cases


def _identity(run: Run) -> tuple[object, ...]:
    values = {k: v for k, v in run.values.items() if k not in _NOT_IN_CASE}
    return (*sorted((k, str(v)) for k, v in values.items()), run.label, run.parser)


def _join_failures(groups: dict[tuple[object, ...], list[Run]]) -> None:
    """Put runs that failed before they printed a format's line with the one case that is all their paths say."""
    for identity, members in [(i, m) for i, m in groups.items() if m[0].parser == FAILURES]:
        homes = [runs for runs in groups.values() if runs[0].parser != FAILURES and _may_be(members[0], runs[0])]
        if len(homes) == 1:
            homes[0].extend(groups.pop(identity))


def _may_be(failure: Run, run: Run) -> bool:
    """Whether a run is of the configuration that a failure's path tells; formats of no framework do not say theirs."""
    told = {k: v for k, v in failure.values.items() if k not in _NOT_IN_CASE and not (k == "framework" and k not in run.values)}
    return failure.label == run.label and all(str(run.values.get(k)) == str(v) for k, v in told.items())


def _order(case: Case) -> tuple[object, ...]:
    def number(key: str) -> int:
        value = case.key.get(key)
        return value if isinstance(value, int) else 0

    texts = tuple(str(case.key.get(k, "")) for k in ("framework", "framework_version", "model", "precision"))
    return (*texts, number("batch_size"), number("nodes") or 0, number("devices"), natural(case.label))


def _case(runs: list[Run], options: Options) -> Case:
    runs.sort(key=lambda run: (_repeat(run), natural(run.log.name), run.first_line))
    first = next((run for run in runs if run.parser != FAILURES), runs[0])
    key = {k: first.values[k] for k in CASE_KEYS if k in first.values}
    key |= {k: v for k, v in sorted(first.values.items()) if k not in key and k not in _NOT_IN_CASE}
    names = list(dict.fromkeys(name for run in runs for name in run.metrics))
    metrics = {name: summary_of(name, [run.metrics[name] for run in runs if name in run.metrics], options.aggregate) for name in names}
    case = Case(key, first.label, runs, metrics, options.estimator, first.window)
    throughput = metrics["throughput"]
    missing = [run for run in runs if run.throughput.value is None]
    if missing and throughput.n:
        case.notes.append(f"{len(missing)} of {len(runs)} runs have no value: {missing[0].throughput.reason}")
    elif missing:
        case.notes.append(missing[0].throughput.reason)
    case.notes.extend(note for run in runs for note in run.notes)
    case.notes = list(dict.fromkeys(case.notes))
    return case


def _repeat(run: Run) -> int:
    value = run.values.get("repeat")
    return value if isinstance(value, int) else 0


def summary_of(name: str, metrics: Sequence[Metric], aggregate: str) -> Summary:
    """One metric of several runs as one number with its interval, or the reason why there is none."""
    units = {m.unit for m in metrics if m.value is not None}
    values = [m.value for m in metrics if m.value is not None]
    unit = next(iter(units), metrics[0].unit)
    if len(units) > 1:
        return Summary(name, "", aggregate, len(values), None, reason=f"runs count different things: {', '.join(sorted(units))}")
    if not values:
        return Summary(name, unit, aggregate, 0, None, reason=next((m.reason for m in metrics if m.reason), ""))
    try:
        value = CENTRES[aggregate](values)
    except ValueError as error:
        return Summary(name, unit, aggregate, len(values), None, reason=str(error))
    summary = Summary(name, unit, aggregate, len(values), value, spread=spread(values))
    interval = order_interval(values)
    if interval is not None and aggregate == "median":
        summary.low, summary.high, summary.level = interval
    return summary


def short_labels(cases: Sequence[Case]) -> list[str]:
    """The cases' labels without what all of them share in front."""
    parts = [case.label.split("/") for case in cases]
    shared = 0
    if len(parts) > 1:
        while all(len(p) > shared + 1 for p in parts) and len({p[shared] for p in parts}) == 1:
            shared += 1
    elif parts:
        shared = len(parts[0]) - 1
    return ["/".join(p[shared:]) for p in parts]


# ---------------------------------------------------------------- speedup

#: What a case shares with the one-device case that its speedup is relative to.
_BASE_KEYS = ("framework", "framework_version", "model", "precision", "batch_size", "accelerator")


def _speedups(cases: list[Case], options: Options) -> None:
    index: dict[tuple[object, ...], list[Case]] = {}
    for case in cases:
        index.setdefault(_base_identity(case), []).append(case)
    for case in cases:
        if case.throughput.value is None:
            continue
        if options.baseline:
            candidates = [c for c in cases if _is_baseline(c, options) and kind(c.throughput.unit) == kind(case.throughput.unit)]
        else:
            candidates = [c for c in index[_base_identity(case)] if c.key.get("devices") == 1]
        _set_speedup(case, candidates, options)


def _base_identity(case: Case) -> tuple[object, ...]:
    labels = tuple(sorted((k, str(v)) for k, v in case.key.items() if k not in (*CASE_KEYS, "threads")))
    return (*(str(case.key.get(k, "")).lower() for k in _BASE_KEYS), labels, case.label, kind(case.throughput.unit))


def _is_baseline(case: Case, options: Options) -> bool:
    return all(str(case.key.get(k, "")).lower() == str(normal(k, v)).lower() for k, v in options.baseline.items())


def _set_speedup(case: Case, candidates: list[Case], options: Options) -> None:
    wanted = " ".join(f"{k}={v}" for k, v in options.baseline.items()) or "one device"
    usable = [c for c in candidates if c.throughput.value]
    if len(usable) != 1:
        if "devices" in case.key or options.baseline:
            why = "has no value" if candidates and not usable else "is not among the logs" if not candidates else f"is ambiguous ({len(usable)} cases)"
            case.notes.append(f"no speedup: the baseline ({wanted}) {why}")
        return
    base = usable[0]
    assert base.throughput.value is not None and case.throughput.value is not None
    case.baseline, case.base = base.name, base
    case.speedup = case.throughput.value / base.throughput.value
    devices, base_devices = case.key.get("devices"), base.key.get("devices")
    if isinstance(devices, int) and isinstance(base_devices, int) and devices and base_devices:
        case.efficiency = case.speedup * base_devices / devices
