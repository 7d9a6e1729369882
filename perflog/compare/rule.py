"""What is compared, by which rule (the metric, the change that does not matter, the level), and what verdicts mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from perflog.cases.case import Case, short_labels
from perflog.cases.pairs import KINDS, metric_kind
from perflog.errors import UsageError
from perflog.formats.vocabulary import CASE_KEYS
from perflog.settings.config import one_of
from perflog.stats.ratio import Ratio
from perflog.stats.verdict import MARGIN, Better, Verdict

#: The metrics that can be compared.
METRICS = tuple(name for name, kind in KINDS.items() if kind.is_compared)


@dataclass(frozen=True, slots=True)
class Rule:
    """How cases are compared.

    Attributes:
        metric: one of :data:`METRICS`.
        margin: changes up to this share do not matter (0.02: two per cent).
        level: the confidence of intervals and tests, a share from 0.5 to below 1.

    Raises:
        UsageError: for a metric that cannot be compared, or a level outside its range.
    """

    metric: str = "throughput"
    margin: float = MARGIN
    level: float = 0.95

    def __post_init__(self) -> None:
        one_of("metric", self.metric, METRICS)
        if not 0.5 <= self.level < 1:
            raise UsageError(f"a level lies between 50 and 100 per cent, not {100 * self.level:g}")

    @property
    def better(self) -> Better:
        """The direction in which the metric is better."""
        better = metric_kind(self.metric).better
        assert better is not None
        return better


def share(value: str | float, option: str) -> float:
    """``2%``, ``0.02`` or the number 0.02 as a share: 0.02.

    Raises:
        UsageError: for anything else, or a share outside 0 to below 1.
    """
    number, per_cent, rest = str(value).partition("%")
    try:
        parsed = float(number) / (100 if per_cent else 1)
    except ValueError:
        parsed = -1.0
    if rest.strip() or not 0 <= parsed < 1:
        raise UsageError(f"{option} {value!r}: expected a share such as 2% or 0.02")
    return parsed


# ----------------------------------------------------------------------------------------------------
# The verdicts: all that any output, picture or gate knows of one.


@dataclass(frozen=True, slots=True)
class Appearance:
    """How a verdict is shown, and what follows from it.

    Attributes:
        meaning: what it means, for readers who know no statistics; ``{margin}`` is the change that does not matter.
        gate: the one of :data:`perflog.settings.convention.REASONS` for which a gate fails on it; empty for none.
        is_change: whether it calls a change.
        look: its class in the style sheet of pages.
        colour: of its marks in pictures, a place among :data:`perflog.show.drawing.COLOURS`; None for that of lines.
        marker: its mark in pictures, as matplotlib names it.
        style: its word's on a terminal (ECMA-48, SGR); empty for that of other text.
    """

    meaning: str
    gate: str = ""
    is_change: bool = False
    look: str = "open"
    colour: int | None = None
    marker: str = "o"
    style: str = ""


#: Every verdict, the most important first: where not all rows can be shown, theirs are.
VERDICTS: Mapping[Verdict, Appearance] = {
    Verdict.SLOWER: Appearance(
        "the whole interval of the change lies on the worse side of {margin}: by all that the runs show, the new side "
        "is worse by more than that.",
        gate="slower", is_change=True, look="slower", colour=1, marker="v", style="1;31",
    ),
    Verdict.FASTER: Appearance(
        "the whole interval of the change lies on the better side of {margin}: by all that the runs show, the new side "
        "is better by more than that.",
        is_change=True, look="faster", colour=2, marker="^", style="1;32",
    ),
    Verdict.INCONCLUSIVE: Appearance(
        "the interval of the change reaches from within {margin} to beyond it: the runs fit a change that matters and "
        "none. This is no \"same\": more runs would decide it, and `perflog plan` says how many.",
        gate="inconclusive", marker="s", style="33",
    ),
    Verdict.NOT_ENOUGH_DATA: Appearance(
        "there can be no verdict: too few runs on a side, a run without a value, or runs that are all exactly alike. "
        "The row's notes say which.",
        gate="inconclusive", marker="x", style="33",
    ),
    Verdict.SAME: Appearance(
        "the whole interval of the change lies within {margin} to both sides: if there is a change, it is smaller than "
        "what was said not to matter (--margin).",
        look="same", colour=0,
    ),
}  # fmt: skip


def verdict_word(verdict: Verdict, metric: str) -> str:
    """A verdict in a word that fits the metric: less memory is not faster. Data has :class:`Verdict`'s own."""
    better, worse = metric_kind(metric).changes
    return {Verdict.FASTER: better, Verdict.SLOWER: worse}.get(verdict, verdict.value)


def verdict_words(verdict: Verdict, margin: float, metric: str = "throughput") -> str:
    """A verdict as people read it: "same" is said with its margin."""
    return f"same within {100 * margin:.4g} %" if verdict is Verdict.SAME else verdict_word(verdict, metric)


def per_cent(ratio: float, digits: int = 1) -> str:
    """A ratio as a change: 0.959 → −4.1 %."""
    return f"{_signed(ratio, digits)} %"


def change_words(ratio: Ratio) -> str:
    """A change with its interval: −4.1 % (−5.0 to −3.2); empty for none."""
    if ratio.value is None:
        return ""
    interval = interval_words(ratio).removesuffix(" %")
    return f"{per_cent(ratio.value)} ({interval})" if interval else per_cent(ratio.value)


def interval_words(ratio: Ratio) -> str:
    """The interval of a change: −5.0 to −3.2 %; empty where there is none."""
    return "" if ratio.low is None or ratio.high is None else f"{_signed(ratio.low)} to {per_cent(ratio.high)}"


def _signed(ratio: float, digits: int = 1) -> str:
    text = f"{100 * (ratio - 1):+.{digits}f}"
    return text.replace("-", "−") if float(text) else f"{0:.{digits}f}"


# ----------------------------------------------------------------------------------------------------
# The rule that stops the runs of a measurement of two sides, as ``machine.json`` keeps it; opens and reads nothing.

#: The key of the rule among the facts of a ``machine.json``.
KEY = "sequential"


@dataclass(frozen=True, slots=True)
class Stopping:
    """The rule that the runs of one side were made by.

    Attributes:
        campaign: what tells this measurement from all others.
        side: ``old`` or ``new``.
        seed: of the order of the runs within each round.
        cases: the configurations that were measured, by name; each was looked at after every round.
        margin: changes up to this share did not matter.
        level: the chance that all verdicts of the table are right, a share.
    """

    campaign: str
    side: str
    seed: int
    cases: tuple[str, ...]
    margin: float
    level: float

    def facts(self) -> dict[str, Any]:
        """The rule as plain data for ``machine.json``."""
        return {**asdict(self), "cases": list(self.cases)}


def stopping_of(facts: Mapping[str, Any] | None) -> Stopping | None:
    """The rule among a machine's facts; None where there is none, or none that this perflog understands."""
    table = facts.get(KEY) if facts is not None else None
    if not isinstance(table, Mapping):
        return None
    try:
        return Stopping(
            str(table["campaign"]), str(table["side"]), int(table["seed"]), tuple(map(str, table["cases"])),
            float(table["margin"]), float(table["level"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        return None


# ----------------------------------------------------------------------------------------------------
# Short names of cases and sides: what tells them apart, and nothing more.


def keys_of(cases: Sequence[Case]) -> list[str]:
    """The fields that cases have, in the order in which they are shown."""
    own = {key for case in cases for key in case.key}
    return [key for key in dict.fromkeys((*CASE_KEYS, *(key for case in cases for key in case.key))) if key in own]


def names_of(cases: Sequence[Case]) -> list[str]:
    """Short names: what tells the cases apart, or all that is known of a single one."""
    keys = [k for k in keys_of(cases) if k != "framework_version"]
    varying = [k for k in keys if len({str(c.key.get(k)) for c in cases}) > 1]
    told_apart = len({tuple(str(c.key.get(k)) for k in varying) for c in cases}) == len(cases)
    with_label = len({c.label for c in cases}) > 1 and not told_apart
    labels = short_labels(cases) if with_label else [""] * len(cases)
    words = ([*(_word(k, c) for k in varying if k in c.key), label] for c, label in zip(cases, labels, strict=True))
    return [" ".join(filter(None, of_case)) or c.name for of_case, c in zip(words, cases, strict=True)]


def _word(key: str, case: Case) -> str:
    value = case.key[key]
    if key == "batch_size":
        return f"bs{value}"
    if isinstance(value, int):
        return f"{value} {key.removesuffix('s') if value == 1 else key}"
    return str(value)


def short_names(names: Sequence[str]) -> list[str]:
    """The last parts of the sides' names, as many as tell them apart; numbered where nothing does."""
    parts = [name.split("/") for name in names]
    for count in range(1, max(map(len, parts)) + 1):
        short = ["/".join(part[-count:]) for part in parts]
        if len(set(short)) == len(short):
            return short
    return [f"{number}. {name}" for number, name in enumerate(names, 1)]
