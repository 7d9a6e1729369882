"""A line as its reader says it: ``step {step}/… speed {rate:samples/s}``, a key: ``rate:samples/s=throughput``, or
the training's progress bar: ``bar=Training``, ``bar=1000``.

The text is a line as it stands in the log, with a token in braces for each number that counts. Other numbers stand for
any number, blanks for any blanks, and ``…`` (or ``...``) for anything. It is the same grammar on the command line, in
``perflog.toml`` and in Python.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct, structs

from perflog.errors import UsageError
from perflog.formats.printed import is_time, rate_unit
from perflog.lazy_regex import lazy_regex
from perflog.spelling import did_you_mean

#: What a token may be, and the kind of its unit; those that count have none.
MEANINGS = {"step": "", "epoch": "", "rate": "rate", "step_time": "time", "interval_time": "time", "elapsed": "time"}
#: Of which steps a rate or a time is: the last one, those since the line before, all since the beginning.
SPANS = ("last", "interval", "cumulative")
_TOKEN = lazy_regex(r"\{([A-Za-z_]+(?::[^{}:]*){0,2})\}")
_DIGITS = r"[0-9](?:[0-9.,:]*[0-9])?(?:[eE][-+]?[0-9]+)?"
_PART = lazy_regex(
    rf"(\s+|…|\.\.\.|(?<![A-Za-z_])(?:(?<![0-9])[-+])?{_DIGITS}|(?<![A-Za-z])(?:nan|inf)(?![A-Za-z]))", re.I
)
_BAR = lazy_regex(r"\s*bar\s*=\s*(.*?\S)\s*")
_DEVICE = lazy_regex(r"\s*(?:/|per)\s*(?:gpu|device|rank|chip|card|npu|tpu)s?$", re.I)
#: Atomic, so that many numbers in a row are tried one way alone: a config file of others' may say the line.
_NUMBER = rf"(?>[-+]?(?:{_DIGITS}|\.[0-9]+|(?i:nan|inf)))"
_ANYTHING = ("…", "...")
_EXAMPLE = "'step {step} … speed {rate:samples/s}'"


class Token(Struct, frozen=True):
    """A number of a line and what it is.

    Attributes:
        name: one of :data:`MEANINGS`; ``unit``: of a rate or a time, empty where the log says it.
        span: one of :data:`SPANS`, empty where the log shows it; ``key``: the words before it, where these alone are
            said.
        is_devices: whether a rate is one device's.
    """

    name: str
    unit: str = ""
    span: str = ""
    key: str = ""
    is_devices: bool = False

    def __str__(self) -> str:
        unit = f"{self.unit}{'/device' if self.is_devices else ''}"
        return ":".join([self.name, unit, self.span] if self.span else [self.name, unit] if unit else [self.name])


class Said(Struct, frozen=True):
    """What a user says of a log's lines.

    Attributes:
        line: a line's parts: words, blanks, signs, and tokens; empty where keys alone are said.
        keys: tokens by the words before them; ``bar``: the name of the training's progress bar, or its total.
    """

    line: tuple[str | Token, ...]
    keys: tuple[Token, ...]
    bar: str = ""

    @property
    def tokens(self) -> tuple[Token, ...]:
        """All tokens, in their order."""
        return (*(part for part in self.line if isinstance(part, Token)), *self.keys)

    def fit(self, row: str) -> Fit:
        """How far the line fits a row; what stands for anything is as short as it can be, and no other is tried."""
        starts: list[int] = []
        at = place = 0
        while place < len(self.line):
            end = next((n for n in range(place, len(self.line)) if self.line[n] in _ANYTHING), len(self.line))
            for stop in range(end, place, -1):
                found = _regex_of(self.line[place:stop]).search(row, at)
                if found is not None:
                    at = found.end()
                    starts += [found.start(group) for group in range(1, len(found.groups()) + 1)]
                    break
            else:
                stop = place
            if stop < end:
                return Fit(tuple(starts), stop, at)
            place = end + 1
        return Fit(tuple(starts), len(self.line), at)


class Fit(Struct, frozen=True):
    """How a line that is said fits a row: where its tokens begin, how many of its parts fit, the column behind them."""

    starts: tuple[int, ...]
    parts: int
    end: int


def plain_text(text: str) -> str:
    """A text of a log as a part of a line that is said: what would be a token stands for anything."""
    return _TOKEN.sub("…", text)


@lru_cache(maxsize=64)
def said_of(texts: tuple[str, ...]) -> Said:
    """What is said of a log's lines, read from the texts that users give.

    Raises:
        UsageError: for a text that is neither a line with tokens nor a key, and a token that is not right.
    """
    line: tuple[str | Token, ...] = ()
    keys: list[Token] = []
    bar = ""
    for text in texts:
        if is_bar := _BAR.fullmatch(text):
            if bar:
                raise UsageError(f"--as {text!r}: a bar is said already; leave one of the two out")
            bar = is_bar[1]
        elif "{" in text:
            if line:
                raise UsageError(f"--as {text!r}: a line is said already; leave one of the two out")
            line = _line(text)
        else:
            keys.append(_key(text))
    if bar and (line or keys):
        raise UsageError(f"--as bar={bar}: a bar tells its steps and time by itself; leave out what else --as says")
    said = Said(line, tuple(keys), bar)
    names = [token.name for token in said.tokens]
    twice = next((name for name in ("step", "epoch", "elapsed") if names.count(name) > 1), "")
    if twice:
        raise UsageError(f"--as: {twice} is said twice; leave one of the two out")
    return said


def _line(text: str) -> tuple[str | Token, ...]:
    parts: list[str | Token] = []
    at = 0
    for found in _TOKEN.finditer(text):
        parts += _texts(text[at : found.start()])
        parts.append(_token(found[1], text))
        at = found.end()
    if not any(isinstance(part, Token) for part in parts):
        raise UsageError(f"--as {text!r}: expected a line with tokens, such as {_EXAMPLE}")
    return (*parts, *_texts(text[at:]))


def _texts(text: str) -> list[str]:
    """A text between two tokens in parts, so that it can be told where a line stops fitting."""
    return [piece for piece in _PART.split(text) if piece]


@lru_cache(maxsize=256)
def _regex_of(parts: tuple[str | Token, ...]) -> re.Pattern[str]:
    """The regex of a line's parts none of which stands for anything, a group for each token."""
    return re.compile("".join(f"({_NUMBER})" if isinstance(part, Token) else _regex(part) for part in parts))


def _regex(piece: str) -> str:
    if piece.isspace():
        return r"\s*+"
    return _NUMBER if _PART.fullmatch(piece) else re.escape(piece)


def _key(text: str) -> Token:
    meaning, equals, key = (part.strip() for part in text.partition("="))
    if not equals or not key:
        raise UsageError(
            f"--as {text!r}: expected a line such as {_EXAMPLE}, a key such as rate=tokens_per_sec, or bar=NAME"
        )
    return structs.replace(_token(meaning, text), key=key)


def _token(meaning: str, text: str) -> Token:
    """``NAME:UNIT:SPAN`` as a token; ``text``: what it is said in."""
    place = f"--as {text!r}"
    name, _, rest = meaning.partition(":")
    unit, _, span = rest.partition(":")
    if name not in MEANINGS:
        hint = did_you_mean(name, MEANINGS)
        raise UsageError(f"{place}: nothing is called {name!r}{hint}; a number is one of {', '.join(MEANINGS)}")
    if unit in SPANS and not span:
        unit, span = "", unit
    kind = MEANINGS[name]
    if (unit or span) and not kind:
        raise UsageError(f"{place}: {name} counts, and has no unit")
    if span and (span not in SPANS or name == "elapsed"):
        expected = "elapsed is counted from the beginning" if name == "elapsed" else f"expected {', '.join(SPANS)}"
        raise UsageError(f"{place}: {span!r} does not say of which steps {name} is: {expected}")
    if span == "cumulative" and name == "interval_time":
        raise UsageError(f"{place}: an interval_time is of the steps since the line before; a total is elapsed")
    of_job = _DEVICE.sub("", unit.strip())
    if unit and kind == "rate" and rate_unit(of_job) is None:
        raise UsageError(f"{place}: {unit!r} is no unit of a rate; expected such as samples/s, tokens/s, steps/s")
    if unit and kind == "time" and not is_time(unit):
        raise UsageError(f"{place}: {unit!r} is no unit of time; expected s, ms, us, min or h")
    return Token(name, of_job, span, is_devices=of_job != unit.strip())
