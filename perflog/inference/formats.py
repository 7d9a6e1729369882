"""A table and what its columns mean, as the tables of a parser's file: a format is a line and what its numbers mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perflog.formats.meaning import RESERVED_GROUPS
from perflog.inference.columns import Columns
from perflog.inference.measures import Meaning, key_of
from perflog.inference.pairs import Pair
from perflog.inference.words import EVALUATES, PAUSES
from perflog.lazy_regex import lazy_regex
from perflog.matching.tables import Table

#: The name of a parser that nobody wrote.
INFERRED = "inferred"
#: The shortest text that tells a pattern's lines from others.
LEAST_LITERAL = 1
#: Of so many words the lines are known as pauses; a longer line is text, in which any word may stand.
MOST_PAUSES, LONGEST_PAUSE = 12, 300
_BEGIN = "(?:^|[^0-9A-Za-z_.])"
_HEAD = r"^(?P<timestamp>[^\n]*?[^0-9A-Za-z_.])"
#: Numbers may end in one of these: thousands, millions and so on.
_SUFFIXES = frozenset("kKMGBT")
_NUMBERS = lazy_regex("[0-9]+(?:[.][0-9]+)?")
#: The rank that speaks, where the head of the lines tells it.
_RANKS = lazy_regex(rb"[^\n]*[Rr]ank[ =:]?([0-9]+)")
_RANK = r"(?:\[|\()?[Rr]ank[ =:]?(?P<rank>{})[^0-9A-Za-z\n][^\n]*?"
#: The key of a loss, with the words before it; those of the whole loss of a training.
_LOSS = lazy_regex(r"(.*?)[ _./-]*loss", re.I)
_OF_ALL = lazy_regex(r"(?:|.*[^a-z])(?:train(?:ing)?|total|avg|average|mean|running)?", re.I)
_WHOLE, _GROUPED = "[0-9]+", "[0-9,]+"
_NUMBER, _SCALED = "[-+]?[0-9.nNiI][-+0-9.eEnaifNAIF]*", "[-+]?[0-9.nNiI][-+0-9.,eEnaifNAIF]*[kKMGBT]?"
_CLOCK, _STAMP = "[0-9][0-9:.]*", "[0-9][-0-9T:.,Z+/ _]*"


class Value(Struct, frozen=True):
    """What a column gives: a quantity of the format language with its span."""

    meaning: Meaning
    quantity: str
    span: str
    since: str = "run"

    def moved(self, places: int) -> Value:
        """The same value so many places further on."""
        return replace(self, meaning=replace(self.meaning, place=self.meaning.place + places))

    @property
    def text(self) -> str:
        """How people name it: its key, or its unit."""
        return self.meaning.key.strip() or self.meaning.unit or self.quantity


def step_patterns(
    table: Table, columns: Columns, values: Sequence[Value], *, stamped: bool, position: str = ""
) -> list[dict[str, Any]]:
    """The patterns of lines that measure steps, those of the line that counts them first where that is another one;
    none where no text tells them from others.

    Args:
        stamped: whether the stamp at the head of the lines is the clock; ``position``: the pattern of headings.
    """
    if not isinstance(table, Pair):
        step = step_pattern(table, columns, values, stamped=stamped, position=position)
        return [] if step is None else [step]
    first = len(table.upper.kinds)
    counted = {place: name for place, name in _groups(table, columns, ()).items() if place < first}
    if not any(value.meaning.place >= first for value in values):
        return []  # a clock alone: the lines that count have it too
    counter = plain_pattern(table.upper, counted, "counter", "position")
    below = [value.moved(-first) if value.meaning.place >= first else value for value in values]
    alone = replace(columns, step=None, epoch=None, total=None)
    step = step_pattern(table.lower, alone, below, stamped=stamped, position="counter")
    if counter is None or step is None:
        return []
    if re.search(step["regex"], table.upper.row(0)):  # a lone number with its unit stands on the line above too
        step["regex"] += "$"
        if re.search(step["regex"], table.upper.row(0)) or not re.search(step["regex"], table.lower.row(0)):
            return []
    placed = {"position": position} if position else _counted_per(table, columns)
    return [{**counter, "step_base": "first", **placed}, step]


def _counted_per(table: Table, columns: Columns) -> dict[str, str]:
    """What the counter of steps counts: the steps of each epoch, or of the run."""
    if _per_epoch(table, columns):
        return {"step_per": "epoch"}
    return {"step_per": "unnamed"} if columns.epoch is None and _falls(table, columns) else {}


def step_pattern(
    table: Table, columns: Columns, values: Sequence[Value], *, stamped: bool, position: str = ""
) -> dict[str, Any] | None:
    """The pattern of lines that measure steps; None where no text tells them from others.

    Args:
        stamped: whether the stamp at the head of the lines is the clock; ``position``: the pattern of headings.
    """
    groups = _groups(table, columns, values)
    # the time of all ranks is one, and what one of them says happened between two lines holds for it alone
    of_one_rank = not any(value.quantity == "rate" and value.meaning.scope != "job" for value in values)
    regex, literal = regex_of(table, groups, stamped=stamped, of_one_rank=of_one_rank)
    if literal is None:
        return None
    sample = {name: table.column(place).texts[0] for place, name in groups.items() if name != "timestamp"}
    pattern: dict[str, Any] = {"name": "step", "role": "step", "literal": literal, "regex": regex}
    pattern |= _counted(table, columns, values, position)
    begins_anew = bool(position) or "step_per" in pattern
    of_interval = any(value.span == "interval" and value.quantity != "timestamp" for value in values)
    of_epoch = "step_per" not in pattern and any(value.since == "epoch" for value in values)
    if (begins_anew and of_interval) or of_epoch:
        pattern["drops_first"] = "epoch"  # how many steps its number is of, no line tells
    scaled = [name for place, name in groups.items() if _is_scaled(table, place)]
    if scaled:
        pattern["scaled"] = scaled
    pattern["value"] = [_declared(value, groups) for value in values]
    if (loss := _loss_regex(table)) and "loss" not in groups.values():
        pattern["also"] = loss
    pattern["sample"] = [{"line": table.row(0), "expect": sample}]
    return pattern


def _counted(table: Table, columns: Columns, values: Sequence[Value], position: str) -> dict[str, Any]:
    """How the lines of a table count their steps, and how its clock goes on where these begin anew."""
    counted: dict[str, Any] = {"position": position} if position else {}
    if columns.step is not None or not position:
        counted["step_base"] = "first"
    if columns.is_bar:
        of_bar = {"redrawn": True, "irregular": True, "first_is_start": True}
        anew = {"step_per": "unnamed", "step_base": 1} if _clock_goes_on(table, columns, values) else {"restarts": True}
        return counted | of_bar | anew
    if position:
        return counted
    resumes = columns.epoch is None and not _falls(table, columns) and _clock_falls(table, values)
    return counted | _counted_per(table, columns) | ({"restarts": True} if resumes else {})


def _loss_regex(table: Table) -> str:
    """The regex of the training's loss on a table's lines, read by itself; empty where no word tells which it is."""
    keys = {place: key_of(table.words[place])[0] for place, kind in enumerate(table.kinds) if kind == "number"}
    able = {
        place: found[1] for place, key in keys.items()
        if (found := _LOSS.fullmatch(key)) and not EVALUATES.search(key)
    }  # fmt: skip
    whole = [place for place, part in able.items() if _OF_ALL.fullmatch(part)] or list(able)
    if len(whole) != 1:
        return ""
    (place,), row = whole, table.row(0)
    words = table.words[place]
    regex = (r"(?:^|[^A-Za-z_\s])" if place else _BEGIN) + f"{_escaped(words)}(?P<loss>{_NUMBER})"
    found = re.search(regex, row)
    return regex if found is not None and found["loss"] == table.column(place).texts[0] else ""


def _groups(table: Table, columns: Columns, values: Sequence[Value]) -> dict[int, str]:
    """The names of the groups by their places in the line."""
    able = enumerate(values)
    groups = {value.meaning.place: _name(value, number) for number, value in able if value.meaning.place >= 0}
    if columns.step is not None:
        groups[columns.step.place] = "step"
    if columns.total is not None:
        groups[columns.total] = "epoch_steps" if _per_epoch(table, columns) else "run_steps"
    if columns.epoch is not None:
        groups[columns.epoch.place] = "epoch"
    first = min(groups, default=0)
    tagged = [place for place in range(first) if re.search(r"[Rr]ank[ =:]?$", table.words[place])]
    return groups | dict.fromkeys(tagged[:1], "rank")


def _falls(table: Table, columns: Columns) -> bool:
    """Whether the counter of steps begins anew."""
    return columns.step is not None and bool((np.diff(table.column(columns.step.place).values) < 0).any())


def _clock_of(values: Sequence[Value]) -> int:
    """The place of the time that has elapsed; -1 where there is none."""
    return next((value.meaning.place for value in values if value.quantity == "elapsed"), -1)


def _clock_falls(table: Table, values: Sequence[Value]) -> bool:
    """Whether the time that has elapsed begins anew."""
    clock = _clock_of(values)
    return clock >= 0 and bool((np.diff(table.column(clock).values) < 0).any())


def _clock_goes_on(table: Table, columns: Columns, values: Sequence[Value]) -> bool:
    """Whether the time that has elapsed goes on wherever the counter of steps begins anew."""
    clock = _clock_of(values)
    if clock < 0 or columns.epoch is not None or not _falls(table, columns):
        return False
    assert columns.step is not None
    begun = np.diff(table.column(columns.step.place).values) < 0
    return bool((np.diff(table.column(clock).values)[begun] >= 0).all())


def _declared(value: Value, groups: Mapping[int, str]) -> dict[str, Any]:
    meaning = value.meaning
    group = groups[meaning.place] if meaning.place >= 0 else "timestamp"
    declared: dict[str, Any] = {"group": group, "quantity": value.quantity}
    if value.quantity != "timestamp":
        declared["unit"] = meaning.unit or "s"
    declared["span"] = value.span
    if value.since != "run":
        declared["since"] = value.since
    if value.quantity in ("rate", "step_time", "interval_time"):
        declared["holds_pauses"] = True
    if meaning.scope != "job" and value.quantity != "timestamp":
        declared["scope"] = meaning.scope
    return declared


def without_pauses(tables: Mapping[str, Any]) -> dict[str, Any]:
    """A parser's tables in which no value holds the pauses of its lines."""
    found = _with_values(tables, lambda value: {key: value[key] for key in value if key != "holds_pauses"})
    return {**found, "pattern": [{key: one[key] for key in one if key != "drops_first"} for one in found["pattern"]]}


def with_scope(tables: Mapping[str, Any], scope: str) -> dict[str, Any]:
    """A parser's tables with a scope for the values of which no line tells it."""
    return _with_values(tables, lambda value: value | ({"scope": scope} if value.get("scope") == "unknown" else {}))


def _with_values(tables: Mapping[str, Any], changed: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """A parser's tables with each value as it is changed."""
    patterns = [
        {**pattern, "value": list(map(changed, pattern["value"]))} if "value" in pattern else pattern
        for pattern in tables["pattern"]
    ]
    return {**tables, "pattern": patterns}


def _per_epoch(table: Table, columns: Columns) -> bool:
    """Whether the counter of steps begins anew with each epoch."""
    if columns.step is None or columns.epoch is None:
        return False
    steps = table.column(columns.step.place).values
    epochs = table.column(columns.epoch.place).values
    falls = steps[1:] <= steps[:-1]
    if falls.any():
        return True
    total = table.column(columns.total).values[0] if columns.total is not None else float("inf")
    return bool(epochs[-1] == epochs[0] and steps.max() <= total and columns.total is not None and epochs[0] > 1)


def _name(value: Value, number: int) -> str:
    """The name of a value's group: its key where that is one."""
    said = re.sub(r"[^a-z0-9]+", "_", value.meaning.key.lower()).strip("_")[-24:].strip("_")
    if value.quantity == "timestamp":
        return "timestamp"
    if not said or not said[0].isalpha() or said in RESERVED_GROUPS:
        said = value.quantity
    return said if not number else f"{said}_{number + 1}"


def _is_scaled(table: Table, place: int) -> bool:
    return table.kinds[place] == "number" and any(
        "," in text or text[-1:] in _SUFFIXES for text in table.column(place).texts
    )


def regex_of(
    table: Table, groups: Mapping[int, str], *, stamped: bool = False, of_one_rank: bool = False
) -> tuple[str, str | None]:
    """(the regex of a table's lines up to the last token that is read, the text that tells them from others).

    Args:
        of_one_rank: whether the lines of the table's rank alone are read, where several speak.
    """
    rank = next((found[1].decode() for head in table.heads()[:1] if (found := _RANKS.match(head))), "")
    last = min(max(groups) + (1 if stamped else 0), len(table.kinds) - 1)
    regex = (_HEAD if stamped else _BEGIN) + (_RANK.format(rank if of_one_rank else "[0-9]+") if rank else "")
    for place in range(last + 1):
        regex += _escaped(table.words[place]) if place or table.words[0].strip() else ""
        form = _form(table, place, groups.get(place))
        if of_one_rank and groups.get(place) == "rank":
            form = table.column(place).texts[0]
        regex += f"(?P<{groups[place]}>{form})" if place in groups else f"(?:{form})"
    regex += _escaped(table.words[last + 1].rstrip()[:16])
    return regex, _literal(
        [_with_bar(table, place) for place in range(last + 1)] + [table.words[last + 1].rstrip()[:16]]
    )


def _with_bar(table: Table, place: int) -> str:
    """The text before a token, with a bar's first sign where it is one: the same on all lines."""
    return table.words[place] + (table.column(place).texts[0][:1] if table.kinds[place] == "bar" else "")


def _form(table: Table, place: int, group: str | None) -> str:
    kind, texts = table.kinds[place], table.column(place).texts
    if kind == "bar":
        begin = texts[0][:1]
        return r"\|[^|\n]*\|" if begin == "|" else r"\[[^\]\n]*\]" if begin == "[" else r"[^0-9\n]*"
    if kind == "stamp":
        return _STAMP
    if kind == "clock":
        return _in_words(texts) if any(re.search("[a-z]", text) for text in texts) else _CLOCK
    if group in ("step", "epoch", "epoch_steps", "run_steps"):
        return _GROUPED if _is_scaled(table, place) else _WHOLE
    return _SCALED if group is None or _is_scaled(table, place) else _NUMBER


def _in_words(texts: Sequence[str]) -> str:
    """The forms in which durations are printed with letters: ``1h 2m``, ``2m 3s``."""
    shapes = dict.fromkeys(_NUMBERS.sub("0", text) for text in texts)
    forms = [
        _NUMBERS.sub("[0-9][0-9.]*", re.sub(" +", "[ \\\\t]*", shape))
        for shape in sorted(shapes, key=len, reverse=True)
    ]
    return "|".join(forms) if len(forms) == 1 else f"(?:{'|'.join(forms)})"


def _escaped(text: str) -> str:
    """A text as a regex: any blanks where it has some, any digits where it has digits."""
    parts = re.split(r"(\s+|[0-9]+)", text)
    return "".join(
        r"[ \t]*" if part.isspace() else "[0-9]+" if part.isdigit() else re.sub(r"([\\.\[\](){}*+?|^$])", r"\\\1", part)
        for part in parts if part
    )  # fmt: skip


def _literal(words: Iterable[str]) -> str | None:
    """The longest text without blanks and digits among the words, one with letters if there is one."""
    pieces = [piece for word in words for piece in re.split(r"[\s0-9]+", word) if len(piece) >= LEAST_LITERAL]
    return max(pieces, key=lambda piece: (bool(re.search("[A-Za-z]", piece)), len(piece)), default=None)


def plain_pattern(table: Table, groups: Mapping[int, str], name: str, role: str) -> dict[str, Any] | None:
    """The pattern of a table's lines with some of their tokens as groups, without values; None where no text tells
    them from others.
    """
    regex, literal = regex_of(table, groups)
    if literal is None:
        return None
    sample = {"line": table.row(0), "expect": {name: table.column(place).texts[0] for place, name in groups.items()}}
    return {"name": name, "role": role, "literal": literal, "regex": regex, "sample": [sample]}


def with_total(regex: str, total: str) -> str:
    """The regex of a bar's lines for one total, or for one of several (``700|500``)."""
    for group in ("run_steps", "epoch_steps"):
        regex = regex.replace(f"(?P<{group}>{_WHOLE})", f"(?P<{group}>{total})")
    return regex


def of_samples(step: Mapping[str, Any], unit: str = "samples") -> dict[str, Any]:
    """The pattern of lines whose counter is of samples, or of other work, made of one whose counter is of steps."""
    since = {"since": "epoch"} if step.get("step_per") == "epoch" else {}
    counted = {"group": "samples", "quantity": "samples", "unit": unit, "span": "cumulative", **since}
    regex = re.sub(r"\(\?P<(?:epoch|run)_steps>", "(?:", step["regex"]).replace("(?P<step>", "(?P<samples>")
    (sample,) = step["sample"]
    renamed = {"step": "samples"}
    texts = {renamed.get(name, name): text for name, text in sample["expect"].items() if name[-6:] != "_steps"}
    kept = {key: value for key, value in step.items() if key != "step_base"}
    if "scaled" in kept:
        kept["scaled"] = [renamed.get(name, name) for name in kept["scaled"]]
    return {
        **kept, "regex": regex, "step_counts": "samples", "value": [*step["value"], counted],
        "sample": [{**sample, "expect": texts}],
    }  # fmt: skip


def batch_pattern(words: str) -> dict[str, Any]:
    """The pattern of a setting that tells the batch of all devices.

    Args:
        words: those before its number.
    """
    regex = f"{_BEGIN}{_escaped(words)}(?P<global_batch_size>[0-9]+)"
    sample = {"line": f"{words}64", "expect": {"global_batch_size": "64"}}
    return {"name": "batch", "role": "metadata", "literal": _literal([words]), "regex": regex, "sample": [sample]}


def pause_patterns(training: Table) -> list[dict[str, Any]]:
    """Patterns of lines that say that something else than training happened, between the training's own lines."""
    own, found = training.row(0), Counter[str]()
    lines: dict[str, str] = {}
    for line in training.other_lines():
        words = dict.fromkeys(PAUSES.findall(line))
        for said in words if len(line) < LONGEST_PAUSE else ():
            if said not in own:
                found[said] += 1
                lines.setdefault(said, line)
    return [
        {
            "name": f"pause_{number}", "role": "ignore", "literal": said, "pauses": True,
            "regex": f"(?:^|[^A-Za-z_]){_escaped(said)}(?:[^A-Za-z]|$)", "sample": [{"line": lines[said]}],
        }
        for number, (said, _) in enumerate(found.most_common(MOST_PAUSES), 1)
    ]  # fmt: skip


def parser_tables(patterns: Sequence[Mapping[str, Any]], title: str = INFERRED) -> dict[str, Any]:
    """The tables of a parser's file."""
    return {"title": title, "source": "inferred from a log", "pattern": list(patterns)}
