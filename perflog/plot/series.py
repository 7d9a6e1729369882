"""Which cases a picture draws, in which series, and their names, colours and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from msgspec import structs

from perflog.cases.case import Case, short_labels, told_apart_by
from perflog.errors import UsageError
from perflog.export.columns import caption, marked, number
from perflog.export.translation import told
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS
from perflog.plot.drawing import COLOURS, colour_of, font_for, without_glyph
from perflog.resources import folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# ----------------------------------------------------------------------------------------------------
# The words of pictures in a language (``templates/pictures/words.toml``); what comes from logs stays as it is.


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a language by their names, each a form whose places are filled."""

    language: str
    forms: Mapping[str, str]

    def __call__(self, name: str, /, **values: object) -> str:
        return self.forms[name].format(**values)

    def counted(self, count: object, noun: str) -> str:
        """``1 device``, ``8 devices``; the noun is that of the forms: ``devices``."""
        return self(f"one_{noun.removesuffix('s')}") if count == 1 else self(f"some_{noun}", count=count)


@cache
def words_of(language: str = "en") -> Words:
    """The words of a language, ``en`` or ``zh``."""
    import tomllib

    text = (folder("templates") / "pictures" / "words.toml").read_text(encoding="utf-8")
    return Words(language, tomllib.loads(text)[language])


def drawable_words(language: str, form: str) -> Words:
    """The words of a language, English ones in place of those for which no font is installed.

    An SVG holds its text as text, for which whoever shows it has a font.
    """
    words = words_of(language)
    if form == "svg":
        return words
    _, lacking = font_for(without_glyph("".join(words.forms.values())))
    return words_of() if lacking else words


#: The colour of a number that another one may be.
WARNED = "#b3560b"
_NOT_SERIES = frozenset({"devices", "nodes", "threads"})
#: Every series of a picture has a marker of its own beside its colour; series of one colour differ in their dashes.
MARKERS = "osD^vPX*"
Dashes = str | tuple[float, tuple[float, ...]]
DASHES: tuple[Dashes, ...] = (
    "-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (3, 1)), (0, (8, 3)), (0, (1, 3)),
    (0, (9, 2, 3, 2)),
)  # fmt: skip
#: So many series stand in one panel; more stand in a panel each.
MOST_SERIES = 8


@dataclass(frozen=True, slots=True)
class Look:
    """How a series is drawn: its colour, its marker and the dashes of its line."""

    colour: str
    marker: str
    dashes: Dashes


def naming_keys(cases: Sequence[Case], *without: str) -> list[str]:
    """The keys that name the series of cases: those that vary among them; where none does, those of a short name."""
    keys = [k for k in dict.fromkeys((*CASE_KEYS, *(k for c in cases for k in c.key))) if k not in _NOT_SERIES]
    facts = [told_apart_by(case.key) for case in cases]
    varying = [k for k in keys if k not in without and len({of_case.get(k) for of_case in facts}) > 1]
    return varying or [k for k in ("framework", "model", "precision") if k not in without]


def name_of(case: Case, keys: Sequence[str]) -> str:
    """The values that a case has of these keys; what it does not say is left out."""
    return " ".join(f"bs{case.key[k]}" if k == "batch_size" else str(case.key[k]) for k in keys if k in case.key)


def names_of(cases: Sequence[Case], words: Words, *without: str) -> list[str]:
    """The names of the cases' series among all of them; where two cases on as many devices have one name, with what
    tells them apart: the rest of their paths, their nodes or threads, or else a number.
    """
    keys = naming_keys(cases, *without)
    names = [name_of(case, keys) for case in cases]
    for further in (short_labels(cases), _counted(cases, "nodes", words), _counted(cases, "threads", words)):
        alike = _alike(names, cases)
        names = [f"{name} {rest}".strip() if name in alike else name for name, rest in zip(names, further, strict=True)]
    return _numbered(names, cases)


def _counted(cases: Sequence[Case], key: str, words: Words) -> list[str]:
    """``4 nodes`` for each case; empty where it does not say it."""
    return [words.counted(case.key[key], key) if key in case.key else "" for case in cases]


def _alike(names: Sequence[str], cases: Sequence[Case]) -> set[str]:
    """The names that two cases on as many devices have."""
    seen: set[tuple[str, str]] = set()
    alike = set()
    for name, case in zip(names, cases, strict=True):
        key = (name, str(case.key.get("devices")))
        if key in seen:
            alike.add(name)
        seen.add(key)
    return alike


def _numbered(names: Sequence[str], cases: Sequence[Case]) -> list[str]:
    counts: dict[tuple[str, str], int] = {}
    numbered = []
    for name, case in zip(names, cases, strict=True):
        key = (name, str(case.key.get("devices")))
        counts[key] = counts.get(key, 0) + 1
        numbered.append(name if counts[key] == 1 else f"{name} ({counts[key]})".strip())
    return numbered


def valued(cases: Sequence[Case]) -> list[Case]:
    """The cases that have a throughput.

    Raises:
        UsageError: when there are none.
    """
    with_value = [case for case in cases if case.throughput.value is not None]
    if not with_value:
        raise UsageError("no case has a value: see `perflog extract` for the reasons")
    return with_value


def series_of(cases: Sequence[Case], words: Words, *without: str) -> dict[str, list[Case]]:
    """Cases by the name of their series, each in the order of their devices."""
    series: dict[str, list[Case]] = {}
    for name, case in zip(names_of(cases, words, *without), cases, strict=True):
        series.setdefault(name, []).append(case)
    return {name: sorted(members, key=lambda c: devices_of(c) or 0) for name, members in series.items()}


def looks_of(series: Mapping[str, Sequence[Case]]) -> dict[str, Look]:
    """How each series is drawn: in its framework's colour where frameworks are told apart, else in a colour of its own.

    The first series of a single framework has that framework's colour.
    """
    frameworks = [str(members[0].key.get("framework", "")) for members in series.values()]
    several = len(set(frameworks)) > 1
    first = COLOURS.index(colour_of(frameworks[0])) if frameworks and frameworks[0] else 0
    looks: dict[str, Look] = {}
    for place, (name, framework) in enumerate(zip(series, frameworks, strict=True)):
        of_framework = frameworks[:place].count(framework) if several else 0
        colour = colour_of(framework) if several else COLOURS[(first + place) % len(COLOURS)]
        looks[name] = Look(colour, MARKERS[place % len(MARKERS)], DASHES[of_framework % len(DASHES)])
    return looks


def how(extraction: Extraction, cases: Sequence[Case], words: Words, *more: str) -> str:
    """How the numbers were made, from how many runs, and what else stands below a picture."""
    made, _ = told(caption(extraction, cases).rpartition(";")[0] + ".", [], words.language)
    counts = sorted({c.throughput.n for c in cases})
    parts = [made[:-1]]  # without its full stop
    if counts:
        one = len(counts) == 1
        parts.append(words("n", count=counts[0]) if one else words("n_range", least=counts[0], most=counts[-1]))
    return words("separator").join([*parts, *more])


def full_name(name: str, case: Case, words: Words) -> str:
    """A series' name with the case's devices, where those are known."""
    devices = words.counted(case.key["devices"], "devices") if "devices" in case.key else ""
    return words("comma").join(filter(None, (name, devices)))


def devices_of(case: Case) -> int | None:
    """The devices of a case; None where it does not name them."""
    devices = case.key.get("devices")
    return devices if isinstance(devices, int) else None


def value_of(case: Case) -> float:
    """The throughput of a case that has one."""
    assert case.throughput.value is not None
    return case.throughput.value


def shown_value(case: Case) -> str:
    """The throughput of a case as text, with its unit and the number that it may be."""
    text = f"{number(value_of(case))} {case.throughput.unit}".strip()
    mark = case.mark
    return text if mark is None else marked(text, structs.replace(mark, label=""), number(mark.other))


def draw_marked(axes: Axes, cases: Sequence[Case], places: Sequence[float], upright: bool) -> list[float]:
    """Draw at each marked case the number that it may be, hollow, with a dotted line from the one that is given.

    Args:
        places: where the cases stand on the other axis.
        upright: whether throughput rises upwards.

    Returns:
        The other numbers.
    """
    others = []
    for case, place in zip(cases, places, strict=True):
        if case.mark is None or case.mark.other is None:
            continue
        ends = [value_of(case), case.mark.other]
        xs, ys = ([place, place], ends) if upright else (ends, [place, place])
        axes.plot(xs, ys, color=WARNED, linestyle=":", linewidth=1.2)
        axes.plot(xs[1:], ys[1:], color=WARNED, marker="o", markersize=4.5, fillstyle="none", linestyle="none")
        others.append(case.mark.other)
    return others


def of_marks(cases: Sequence[Case], words: Words) -> list[str]:
    """What stands below a picture of marked cases."""
    return [words("marked")] if any(case.mark is not None for case in cases) else []


def bars_of(cases: Sequence[Case]) -> list[list[float]]:
    """Distances from the centre to the interval's ends, (2, n); 0 where there is none."""
    ends = [(c.throughput.low, c.throughput.high, value_of(c)) for c in cases]
    below = [value - low if low is not None else 0.0 for low, _, value in ends]
    above = [high - value if high is not None else 0.0 for _, high, value in ends]
    return [below, above]
