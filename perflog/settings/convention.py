"""A convention: the rule by which a family of published reports made its numbers, as a small TOML file.

Conventions exist to reproduce what others published. The default of perflog is one honest estimator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from perflog import resources
from perflog.errors import ParserError, UsageError
from perflog.formats.toml import decode
from perflog.formats.vocabulary import misfit, misspelt
from perflog.settings.options import Aggregate, Estimator, Options, Values, Window, window_of
from perflog.spelling import did_you_mean

_AmountText = Annotated[str | int, Meta(description="an amount such as 100, '10records' or '2epochs'")]
_Digits = Annotated[str, Meta(pattern=r"^(%\.[0-9]{1,2}[fge])?$", description="a form such as '%.2f' or '%.6g'")]
_NAMES = Meta(description='a list of parsers, such as ["paddleclas"]')


class _ConventionFile(Struct, frozen=True, forbid_unknown_fields=True):
    title: str = ""
    source: str = ""
    parsers: Annotated[tuple[str, ...], _NAMES] = ()
    warmup: _AmountText = 0
    steps: _AmountText | None = None
    last: _AmountText | None = None
    estimator: Estimator | None = None
    aggregate: Aggregate | None = None
    values: Values = "differenced"
    digits: _Digits = ""


@dataclass(frozen=True, slots=True)
class Convention:
    """A named bundle of options.

    Attributes:
        options: what the file says of ``warmup``, ``steps``, ``last``, ``estimator``, ``aggregate``, ``values`` and
            ``digits``; a key that it leaves out is not here.
    """

    name: str
    title: str
    source: str
    parsers: tuple[str, ...]
    options: Mapping[str, Any]

    @property
    def fixed(self) -> Mapping[str, Any]:
        """The options that this convention decides on, in the form in which users give them.

        The window and the kind of values are always fixed: without a warm-up, all measurements count.
        """
        always = {
            "warmup": self.options.get("warmup", 0),
            "steps": self.options.get("steps"),
            "last": self.options.get("last"),
            "values": self.options.get("values", "differenced"),
        }
        return always | {key: self.options[key] for key in ("estimator", "aggregate") if key in self.options}

    @property
    def window(self) -> Window:
        """The measurements that count."""
        return window_of(self.fixed["warmup"], self.fixed["steps"], self.fixed["last"], named=str)

    def apply(self, options: Options) -> Options:
        """The options with this convention's rules in place of the window, estimator and values."""
        return replace(
            options,
            window=self.window,
            estimator=self.options.get("estimator", options.estimator),
            aggregate=self.options.get("aggregate", options.aggregate),
            as_printed=self.fixed["values"] == "printed",
            digits=self.options.get("digits", ""),
            convention=self.name,
            decided=True,
        )


def load_conventions(folder: Path | None = None) -> dict[str, Convention]:
    """All conventions by name.

    Raises:
        ParserError: for a file that is not well formed.
    """
    place = folder or resources.folder("parsers") / "conventions"
    return {file.stem: load_convention(file) for file in sorted(place.glob("*.toml"))}


def convention(name: str, place: str = "--convention") -> Convention:
    """The convention of that name, which was given at ``place``. Raises UsageError with those near it."""
    known = load_conventions()
    if name not in known:
        hint = did_you_mean(name, known, otherwise=f"there are {', '.join(known)}")
        raise UsageError(f"{place} {name!r}: there is no such convention{hint}")
    return known[name]


def load_convention(file: Path) -> Convention:
    """Read one convention.

    Raises:
        ParserError: with the file, the key, what is expected there and what was found.
    """
    table = decode(file, _ConventionFile, ParserError)
    left_out = {field.name: field.default for field in structs.fields(table)}
    given = {key: value for key, value in structs.asdict(table).items() if value != left_out[key]}
    options = {key: value for key, value in given.items() if key not in ("title", "source", "parsers")}
    rule = Convention(file.stem, table.title or file.stem, table.source, table.parsers, options)
    try:
        _ = rule.window
    except UsageError as error:
        raise ParserError(f"{file}: {error}") from None
    return rule


def with_adjustments(convention_name: str, adjusted: Sequence[str]) -> str:
    """A convention's name, with what the options beside it adjusted.

    >>> with_adjustments("mlperf", ["warm-up", "estimator"])
    'mlperf (adjusted: warm-up, estimator)'
    """
    return f"{convention_name} (adjusted: {', '.join(adjusted)})" if adjusted else convention_name


# ----------------------------------------------------------------------------------------------------
# What a gate in CI can be asked to fail on, and what it answers: the same words for all commands that have one.

#: What a gate can fail on, with the exit status of each.
REASONS = {"slower": 1, "inconclusive": 3, "missing": 3, "same-logs": 3, "nothing-compared": 3}
#: Who fails on ``slower`` fails on these too: cases that are slower as sides are that were measured apart; cases that
#: are slower only together, and so measured apart.
APART, TOGETHER, TOGETHER_APART = "apart", "together", "together-apart"
_SLOWER = {APART: 3, TOGETHER: 1, TOGETHER_APART: 3}


@dataclass(frozen=True, slots=True)
class GateResult:
    """What a gate says.

    Attributes:
        status: the exit status: 0 passed, 1 a case is slower, 3 something else that was asked for.
        sentence: why, in one line.
    """

    status: int
    sentence: str


def gate_result(
    counts: Mapping[str, int], words: Mapping[str, tuple[str, str]], fail_on: Sequence[str], cases: str
) -> GateResult:
    """The answer of a gate.

    Args:
        counts: how often each of :data:`REASONS` and of those beside ``slower`` is there; none where a key is missing.
        words: what is said of each, and of what no gate fails on, where it is there (``{n}`` its count, ``{of}`` the
            cases), and where it is not.
        fail_on: the reasons that were asked for.
        cases: how many cases were looked at, in words.
    """
    statuses = REASONS | _SLOWER
    present = {reason: words[reason][0].format(n=counts[reason], of=cases) for reason in words if counts.get(reason)}
    asked = [*fail_on, *_SLOWER] if "slower" in fail_on else fail_on
    failing = [reason for reason in asked if reason in present]
    if failing:
        status = min(statuses[reason] for reason in failing)
        why = "; ".join(text for reason, text in present.items() if reason in failing)
        return GateResult(status, f"The gate failed (exit status {status}): {why}.")
    found = "; ".join(words[reason][1] for reason in fail_on)
    beside = f" It was not asked to fail on this: {'; '.join(present.values())}." if present else ""
    return GateResult(0, f"The gate passed (exit status 0) on {cases}: {found}.{beside}")


# ----------------------------------------------------------------------------------------------------
# Facts that users give: their names must be no misspellings, and their values must fit the facts' forms.


def require_fact(given: str, key: str, value: Any) -> None:
    """Let a fact pass whose name is no misspelling and whose value fits its form.

    Args:
        given: the fact and where it was given, as messages name it.

    Raises:
        UsageError: for another one.
    """
    if meant := misspelt(key):
        raise UsageError(f"{given}: there is no fact {key!r}; did you mean {meant}?")
    if expected := misfit(key, value):
        raise UsageError(f"{given}: {expected}")
