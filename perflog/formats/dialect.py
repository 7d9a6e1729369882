"""The regexes that a parser's file may hold (``docs/parsers.md``): Rust's regex and ``scan_regex.h`` read them alike.

:func:`translate` reads a regex to its last character, so that whatever it lets through compiles in both.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping

from msgspec import Struct, field

from perflog.errors import ParserError
from perflog.formats.parser import Jump

LONGEST_NAME = 32
#: What a launcher puts in front of a program's line: ``^`` stands before the program's own text.
TAG = (
    r"(?:\[1,[0-9]{1,5}\]<stdout>:|\[(?:rank|default)[0-9]{1,5}\]: ?"
    r"|\([^()\n\r]{0,60}pid=[0-9]{1,9}[^()\n\r]{0,40}\) )?"
)
MOST_REPEATS = 1000
#: A group that an engine adds to a regex: the place where the match begins.
_TAKEN_NAMES = frozenset({"matched_"})

_BLANK, _DIGIT, _WORD = r" \t\x0b\x0c", "0-9", "0-9A-Za-z_"
_IN_CLASS: Mapping[str, str] = {"s": _BLANK, "d": _DIGIT, "w": _WORD}
#: Classes are ASCII and stay within a line: a match never crosses a line feed or a carriage return.
_CLASSES: Mapping[str, str] = {letter: f"[{inside}]" for letter, inside in _IN_CLASS.items()} | {
    letter.upper(): rf"[^{inside}\n\r]" for letter, inside in _IN_CLASS.items()
}
_REPLACED: Mapping[str, str] = {
    "b": "a character class for what stands before or after, such as (?:^|[^0-9A-Za-z_])",
    "B": "a character class for what stands before or after",
    "A": "^ at the beginning",
    "z": "$", "Z": "$",
    "n": "$ where the line ends (a match never crosses a line); \\n may only stand in a class that begins with [^",
    "r": "$ where the line ends (a match never crosses a line); \\r may only stand in a class that begins with [^",
    "h": "[ \\t]", "p": "a class such as [A-Za-z]", "P": "a class such as [^A-Za-z]",
    "<": "the character alone, without a backslash", ">": "the character alone, without a backslash",
}  # fmt: skip
_OPENED: Mapping[str, str] = {
    "(?=": "a look-around; match what stands there instead",
    "(?!": "a look-around; match what stands there instead, such as [^0-9]",
    "(?<=": "a look-around; match what stands there instead",
    "(?<!": "a look-around; match what stands there instead, such as (?:^|[^0-9])",
    "(?>": "an atomic group; write (?:…)",
    "(?P=": "a back-reference; spell the text out",
    "(?P>": "a back-reference; spell the text out",
    "(?<": "a named group of another dialect; write (?P<name>…)",
    "(?#": "a comment; write it in the TOML file, behind a #",
    "(?": "an inline flag; write both letters instead, such as [Aa]",
    "(*": "a command to one engine; leave it out",
    "(": "a group without a name; write (?:…), or (?P<name>…)",
}

TOKEN = re.compile(
    r"(?P<class>\[(?:\\.|[^\]\\])*\])"
    r"|(?P<escape>\\(?:x[0-9A-Fa-f]{2}|.))"
    r"|(?P<named>\(\?P<(?P<name>[^>]*)>)"
    r"|(?P<open>\(\?:)"
    r"|(?P<close>\))"
    r"|(?P<bar>\|)"
    r"|(?P<repeat>(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??)"
    r"|(?P<anchor>[\^$])"
    r"|(?P<char>[^\\\[()|*+?{^$\n\r]+)",
    re.DOTALL,
)
_MEMBER = re.compile(r"\\x[0-9A-Fa-f]{2}|\\.|[^\\]", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BOUNDS = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")
_ESCAPED = frozenset(string.punctuation + " ") - {"<", ">"}


class _Group(Struct):
    """An open group: where it began, and whether the subject's beginning may be there."""

    at_start: bool
    named: bool
    holds_names: bool = False
    repeats: int = 1


#: What a character or a class is to a repeat.
_ONE = _Group(at_start=False, named=False)


class _Reader(Struct):
    """The state of reading one regex from left to right."""

    regex: str
    where: str
    out: list[str] = field(default_factory=list)
    groups: list[_Group] = field(default_factory=lambda: [_Group(at_start=True, named=False)])
    names: set[str] = field(default_factory=set)
    at: int = 0
    at_start: bool = True
    atom: _Group | None = None  # what a repeat would repeat

    def fault(self, what: str) -> ParserError:
        shown = self.regex[self.at : self.at + 12]
        return ParserError(f"{self.where}: character {self.at + 1}, {shown!r}: {what}")

    def read(self) -> str:
        while self.at < len(self.regex):
            token = TOKEN.match(self.regex, self.at)
            if token is None:
                raise self.fault(self._why_no_token())
            getattr(self, f"_{token.lastgroup}")(token)
            self.at = token.end()
        if len(self.groups) > 1:
            raise self.fault("a group is not closed; a ')' is missing")
        text = "".join(self.out)
        if text.count("(?P<") != len(
            self.names
        ):  # in a class or behind a backslash; groups are looked for by this text
            raise ParserError(f"{self.where}: '(?P<' that opens no group; write (?:[(]) for the character '('")
        return text

    def _why_no_token(self) -> str:
        rest = self.regex[self.at :]
        if rest[0] == "(":
            opened = next(opened for opened in _OPENED if rest.startswith(opened))
            return f"{opened}…: {_OPENED[opened]}"
        return {
            "{": "a brace that is no repeat such as {2} or {2,5}; write \\{",
            "[": "a class that is not closed; write \\[ for the character",
            "\\": "a backslash at the end",
        }.get(rest[0], "a line's end; write $ at the end of the regex")

    def _take(self, text: str, atom: _Group | None) -> None:
        self.out.append(text)
        self.atom = atom
        self.at_start = False

    def _char(self, token: re.Match[str]) -> None:
        self._take(token[0], _ONE)

    def _escape(self, token: re.Match[str]) -> None:
        letter = token[0][1]
        if letter in _CLASSES:
            self._take(_CLASSES[letter], _ONE)
        elif letter in _ESCAPED or letter == "t" or _is_ascii_code(token[0]):
            self._take(token[0], _ONE)
        elif letter.isdigit():
            raise self.fault("a back-reference; spell the text out")
        else:
            raise self.fault(
                f"\\{letter} is read differently by the engines; "
                f"write {_REPLACED.get(letter, 'the characters themselves')}"
            )

    def _class(self, token: re.Match[str]) -> None:
        self._take(self._translated_class(token[0]), _ONE)

    def _named(self, token: re.Match[str]) -> None:
        name = token["name"]
        if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME or name in _TAKEN_NAMES:
            raise self.fault(
                f"a group's name has letters, digits and _, at most {LONGEST_NAME} of them, and begins with no digit"
            )
        if name in self.names:
            raise self.fault(f"two groups are named '{name}'; names must differ")
        self.names.add(name)
        self._opened(token[0], named=True)

    def _open(self, token: re.Match[str]) -> None:
        self._opened(token[0], named=False)

    def _opened(self, text: str, named: bool) -> None:
        self.out.append(text)
        self.groups.append(_Group(self.at_start, named, holds_names=named))
        self.atom = None

    def _close(self, token: re.Match[str]) -> None:
        if len(self.groups) == 1:
            raise self.fault("a ')' without its '('; write \\)")
        closed = self.groups.pop()
        outer = self.groups[-1]
        outer.holds_names |= closed.holds_names
        outer.repeats = max(outer.repeats, closed.repeats)
        self._take(token[0], closed)

    def _bar(self, token: re.Match[str]) -> None:
        if len(self.groups) == 1:
            raise self.fault("a choice of whole regexes; write (?:…|…)")
        self.out.append(token[0])
        self.atom = None
        self.at_start = self.groups[-1].at_start

    def _anchor(self, token: re.Match[str]) -> None:
        if token[0] == "^" and not self.at_start:
            raise self.fault("^ stands at the beginning of a regex alone; write \\^ for the character")
        self.out.append(f"^{TAG}" if token[0] == "^" else token[0])
        self.atom = None

    def _repeat(self, token: re.Match[str]) -> None:
        if self.atom is None:
            raise self.fault(
                "nothing to repeat, or a repeat of a repeat (possessive repeats are not known); write (?:…) around it"
            )
        least, most = _bounds(token[0])
        repeats = (least if most is None else most) * self.atom.repeats
        if repeats > MOST_REPEATS:
            raise self.fault(f"more than {MOST_REPEATS} repeats, counting those of groups in it")
        if most is not None and least > most:
            raise self.fault("the bounds of the repeat are the wrong way round")
        if self.atom.holds_names and most != 1:
            raise self.fault("a named group is repeated, so that it has no one value; name one that is not repeated")
        self.groups[-1].repeats = max(self.groups[-1].repeats, repeats)
        self.out.append(token[0])
        self.atom = None

    def _translated_class(self, text: str) -> str:
        """A class with its shorthands spelled out. Raises ParserError for what the engines read differently."""
        negated = text.startswith("[^")
        body = text[2:-1] if negated else text[1:-1]
        if not body:
            raise self.fault("a class begins with ']'; write \\]")
        if not negated and len(body) > 1 and body[0] == body[-1] and body[0] in ":.=":
            raise self.fault("a class such as [:alpha:]; write its characters, such as [A-Za-z]")
        for operation in ("&&", "--", "~~", "||"):
            if operation in body:
                raise self.fault(
                    f"'{operation}' in a class; write the characters once each, with a backslash before them"
                )
        members = [self._member(part, negated) for part in _MEMBER.findall(body)]
        self._check_ranges(members)
        return f"{'[^' if negated else '['}{''.join(members)}]"

    def _member(self, part: str, negated: bool) -> str:
        if part in ("[", "\n", "\r"):
            raise self.fault("'[' or a line's end in a class; write \\[ for the character")
        if not part.startswith("\\"):
            return part
        letter = part[1]
        if letter in _IN_CLASS:
            return _IN_CLASS[letter]
        if letter in _ESCAPED or letter == "t" or _is_ascii_code(part) or (negated and letter in "nr"):
            return part
        raise self.fault(f"\\{letter} in a class; write the characters themselves")

    def _check_ranges(self, members: list[str]) -> None:
        for number, member in enumerate(members):
            if member != "-" or number in (0, len(members) - 1):
                continue
            low, high = members[number - 1], members[number + 1]
            if any(len(end) > 2 and not _is_ascii_code(end) for end in (low, high)):
                raise self.fault("a range between classes; put the '-' last, or write \\-")
            if _code(low) > _code(high) or (number > 2 and members[number - 2] == "-"):
                raise self.fault("a range whose ends are the wrong way round; put a '-' that is meant itself last")


def translate(regex: str, where: str) -> str:
    r"""A regex with ``\s``, ``\d``, ``\w`` and their contraries as classes of ASCII characters.

    >>> translate(r"a\s+(?P<n>\d)", "here")
    'a[ \\t\\x0b\\x0c]+(?P<n>[0-9])'

    Raises:
        ParserError: with ``where``, for what the engines read differently or not at all, and what to write instead.
    """
    return _Reader(regex, where).read()


def _is_ascii_code(text: str) -> bool:
    r"""Whether a text is ``\x`` and the code of an ASCII character that is no end of a line."""
    return len(text) == 4 and text[1] == "x" and int(text[2:], 16) < 0x80 and int(text[2:], 16) not in (0, 10, 13)


def _code(member: str) -> int:
    if _is_ascii_code(member):
        return int(member[2:], 16)
    return {"\\t": 9, "\\n": 10, "\\r": 13}.get(member, ord(member[-1]))


def _bounds(repeat: str) -> tuple[int, int | None]:
    """The least and the most repeats; the most is None where there is no bound."""
    found = _BOUNDS.match(repeat)
    if found is None:
        return {"+": (1, None), "*": (0, None), "?": (0, 1)}[repeat[0]]
    least = int(found[1])
    return least, int(found[3]) if found[3] else None if found[2] else least


# ----------------------------------------------------------------------------------------------------
# The regexes of parsers: their macros, and how a regex is parted at its literal.

#: Written ``{N}`` in a regex. Short classes keep Rust's one-pass matcher in use (docs/performance.md);
#: what is not a number after all becomes null when it is cast, and is counted as not understood.
MACROS: Mapping[str, str] = {
    "{I}": r"[0-9]+",
    "{N}": r"[-+0-9.][-+0-9.eE]*",
    "{NN}": r"[-+]?(?:[0-9.][-+0-9.eE]*|nan|inf|NaN|Inf)",
    "{ETA}": r"(?:[0-9]+ days?, )?[0-9:]+",
    "{NS}": r"[-+]?[0-9][0-9,.]*(?:[eE][-+]?[0-9]+)?[kKmMbBgGtTpPqQE]?",
    "{CLOCK}": r"(?:[0-9]+ days?, *)?[0-9]+(?::[0-9]+)*(?:\.[0-9]+)?",
    "{TO}": r".*?",
}


def expand(regex: str, where: str) -> str:
    r"""Replace the macros, such as ``{I}`` and ``{TO}``, and classes such as ``\s``.

    Raises:
        ParserError: with ``where``, for a regex that the engines would not read alike (:mod:`perflog.formats.dialect`).
    """
    for macro, text in MACROS.items():
        regex = regex.replace(macro, text)
    return translate(regex, where)


def tail_after(literal: str, regex: str) -> str | None:
    """The rest of ``regex`` when it begins with ``literal`` to the letter, else None.

    Such a pattern is found by splitting text at the literal and matching the rest at the start of each
    piece, which reads every byte once and finds several events that were glued to one line.
    """
    at = 0
    for char in literal:
        if regex[at : at + 1] == "\\" and regex[at + 1 : at + 2] == char and not char.isalnum():
            at += 2
        elif regex[at : at + 1] == char and char not in r"\.[](){}*+?|^$":
            at += 1
        else:
            return None
    rest = regex[at:]
    if rest[:1] in ("*", "+", "?") or re.match(r"\{[0-9]", rest):
        return None  # the quantifier would belong to the literal's last character
    return rest


_PLAIN_TEXT = re.compile(r"(?:[^\\.\[\](){}*+?|^$]|\\[^A-Za-z0-9])+")


def jump_in(tail: str, where: str) -> Jump | None:
    """The parts of a regex (macros not yet replaced) around its one ``{TO}``; None when it has none.

    Raises:
        ParserError: when no plain text follows, or the text also stands before.
    """
    if "{TO}" not in tail:
        return None
    head, rest = tail.split("{TO}", 1)
    found = _PLAIN_TEXT.match(rest)
    text = found[0] if found else ""
    if found and re.match(r"[*+?]|\{[0-9]", rest[found.end() :]):
        text = text[:-1].removesuffix("\\")
    literal = re.sub(r"\\(.)", r"\1", text)
    if len(literal) < 3 or "{TO}" in rest:
        raise ParserError(f"{where}: {{TO}} may stand once, before three or more characters of plain text")
    if text in head or literal in head:
        raise ParserError(f"{where}: the text after {{TO}}, {literal!r}, also stands before it; choose more of it")
    return Jump(
        expand(head, f"{where}, before {{TO}}"),
        literal,
        expand(rest[len(text) :], f"{where}, after the text that follows {{TO}}"),
    )
