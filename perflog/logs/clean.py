"""From raw bytes to clean text: one event to a line, whatever launcher, terminal or encoding wrote it.

Clean text keeps every line feed, so that line numbers stay those of the file. Inside a line ``\\r`` separates
sub-lines: progress-bar updates, and the parts that different ranks wrote into one line. A launcher tag stays
only at the start of a sub-line, in the form ``[1,RANK]<stdout>:``; everything that this module removes is
named here, nothing else is changed. Every byte is looked at, and a line is cleaned by what stands in it alone:
it does not matter how a log is cut into blocks. The compiled engine does the same in C (``matching/scan_clean.h``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from perflog.lazy_regex import lazy_regex

#: ECMA-48 control sequences (colours, cursor moves) and operating-system commands (titles, links).
_ANSI = lazy_regex(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_LINE_END = lazy_regex(rb"\r\n")
#: Written with its first character apart, so that ``re`` looks for that one as fast as ``memchr``.
_BACK = lazy_regex(rb"\x08\x08*")
#: mpirun --tag-output [--timestamp-output], as of Open MPI 5 (its job's name before the rank) and of SageMaker too, and
#: horovodrun.
_TAG_TEXT = (
    rb"(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4})?"
    rb"\[(?:[0-9]+,(?:mpirank:)?|[A-Za-z0-9_.-]+@[0-9]+,)?([0-9]+)(?:,[a-z]+-[0-9]+)?\]<std(?:out|err)>:"
)
_TAG, _FIRST_TAG = lazy_regex(_TAG_TEXT), lazy_regex(rb"\n" + _TAG_TEXT)
#: The form in which a tag stays, before a line.
_OUR_TAG = lazy_regex(rb"\n\[1,[0-9]+\]<stdout>:")
#: What Ray adds to a line that it prints once for several workers, to the end of the sub-line.
_RAY_REPEATED = lazy_regex(rb" \[repeated [0-9]+x across cluster\][^\r\n]*")


def clean_block(data: bytes) -> bytes:
    """Clean a block of whole lines. Line feeds are kept, one for one."""
    if b"\x00" in data:
        data = data.replace(b"\x00", b"")
    if b"\x1b" in data:
        data = _ANSI.sub(b"", data)
    if b"\x08" in data:
        data = _BACK.sub(b"\r", data)
    if b"\r" in data:
        data = _LINE_END.sub(b"\n", data)  # of a bar with many \r ``bytes.replace`` takes three times as long
    if b"<" in data and b"]<std" in data:
        data = _separate_ranks(data)
    if b"x across cluster]" in data:
        data = _without_repeats(data)
    return data


#: U+FFFD, which stands where a character was lost, in UTF-8; and a number, or parts of one, right beside it.
LOST = "\ufffd".encode()
_BESIDE_LOST = lazy_regex(r"(?<![-+.,0-9eE])[-+.,0-9eE]*(?:\ufffd[-+.,0-9eE]*)+")
_DIGIT = lazy_regex("[0-9]")


def valid_utf8(data: bytes) -> bytes:
    """The same text with what is not UTF-8 replaced by U+FFFD, and each digit of a number beside one too.

    Of a number with a lost character in it nobody knows how many digits it had: what is left of it is none.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    else:
        if LOST not in data:
            return data
    return _BESIDE_LOST.sub(lambda number: _DIGIT.sub("\ufffd", number[0]), text).encode("utf-8")


def _without_repeats(data: bytes) -> bytes:
    """Drop what Ray adds to a line, where the line has a worker's ``pid=`` before it; elsewhere it is the program's."""

    def shortened(repeated: re.Match[bytes]) -> bytes:
        start = data.rfind(b"\n", 0, repeated.start()) + 1
        return b"" if data.find(b" pid=", start, repeated.start()) >= 0 else repeated[0]

    return _RAY_REPEATED.sub(shortened, data)


def _separate_ranks(data: bytes) -> bytes:
    """Undo the interleaving of ranks inside lines: each rank's pieces of one line become one sub-line.

    mpirun tags every chunk it forwards, so a line of the file may hold several ranks' halves, or one rank's
    line in two chunks with a second tag in the middle or at the end.
    """
    if b"\r" not in data:
        tags, begun = data.count(b"]<std"), b"\n" + data
        if len(_OUR_TAG.findall(begun)) == tags:
            return data
        tagged, found = _FIRST_TAG.subn(lambda tag: b"\n[1,%s]<stdout>:" % tag[1], begun)
        if found == tags:  # each stands before a line: nothing is interleaved
            return tagged[1:]
    lines = data.split(b"\n")
    for number, line in enumerate(lines):
        if b"]<std" in line:
            lines[number] = _separate_line(line)
    return b"\n".join(lines)


def _separate_line(line: bytes) -> bytes:
    start = _TAG.match(line)
    if start and b"]<std" not in line[start.end() :]:
        return _of_rank(start[1], line[start.end() :])  # the tag stands before a bar's first refresh alone
    pieces: dict[bytes, list[bytes]] = {}
    end, rank = 0, b""
    for tag in _TAG.finditer(line):
        pieces.setdefault(rank, []).append(line[end : tag.start()])
        end, rank = tag.end(), tag[1]
    pieces.setdefault(rank, []).append(line[end:])
    texts = [_of_rank(rank, b"".join(parts)) for rank, parts in pieces.items() if any(parts)]
    return b"\r".join(texts)


def _of_rank(rank: bytes, text: bytes) -> bytes:
    """A rank's text with the rank's tag before each sub-line; text before the first tag is of no rank."""
    if not rank:
        return text
    tag = b"[1,%s]<stdout>:" % rank
    return tag + text.replace(b"\r", b"\r" + tag)


# ----------------------------------------------------------------------------------------------------
# What launchers and collectors put before every line of a log, and what of it is taken off.
#
# A prefix is taken off where it stands on most lines of a log's beginning (:func:`prefixes_on`), and only if no program
# prints such a text itself. Stamps and names of logging libraries stay: parsers begin at a literal and read past them,
# and some formats tell their times by nothing else.

#: Colours around a name, as docker compose and stern print them.
_SGR = rb"(?:\x1b\[[0-9;]*m)*"
_STAMP = rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})"
#: The stamp that a collector puts before each line.
COLLECTED = lazy_regex(_STAMP + b" ")
_SYSLOG_STAMP = rb"[A-Z][a-z]{2} [ 0-3][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
#: A host, and a process with its number. It repeats on a log's lines, where `Epoch batch[100]: ` does not.
_HOST = rb"([^ :\[\]]+ [A-Za-z0-9_./+-]+\[[0-9]+\]): "
#: A name with a number, as pods, services and hosts have it: `trainer-0`, `worker_3`, `gpu01`.
_NAME = rb"(?!(?i:epoch|step|iter|iteration|batch|fold|stage|phase|loss|lr|layer|train|val|eval|test)[ _.-]?[0-9])" + (
    rb"[A-Za-z][A-Za-z0-9._-]*[0-9]"
)
_ADDRESS = rb"[0-9]{1,3}(?:\.[0-9]{1,3}){3}"
#: Words after which a number is the program's own: `step-1 loss` is no pod with a container.
_CONTAINER = rb"(?!(?:step|epoch|iter|iteration|train|loss|eval|val|test|batch)\b)[a-z][a-z0-9-]*"
#: A prefix stands on most lines when it stands on this share of them; one that a program might print, on more.
_MOST, _MANY_MORE, _NEARLY_ALL = 0.6, 0.8, 0.95
#: A rank or a name that stands on fewer lines than this on the average is a counter and no tag.
_REPEATS = 2
#: So many lines are looked at first.
_FEW = 20
#: So many prefixes may stand before each other: a collector's stamp, a pod, a launcher's tag, and one more.
_DEEPEST = 5


class Prefix(Struct, frozen=True):
    """What stands before a line.

    Attributes:
        regex: matched at the line's beginning; its group 1 is the rank or the name.
        key: whether group 1 is a rank, the name of a process (which has no number of its own), or nothing.
        share: on what share of a log's lines it must stand.
        native: whether the matching engines read the tag by themselves.
    """

    regex: re.Pattern[bytes]
    key: Literal["rank", "name", ""] = ""
    share: float = _MOST
    native: bool = False


def _prefix(regex: bytes, key: Literal["rank", "name", ""] = "", share: float = _MOST, native: bool = False) -> Prefix:
    return Prefix(lazy_regex(_SGR + b"(?:" + regex + b")"), key, share, native)


PREFIXES: tuple[Prefix, ...] = (
    _prefix(rb"[^\t\n]+\t[^\t\n]*\t(?:\xef\xbb\xbf)?(?=" + _STAMP + b" )"),  # gh run view --log
    _prefix(_STAMP + b" " + _HOST, "name"),  # journalctl -o short-iso
    _prefix(_SYSLOG_STAMP + b" " + _HOST, "name"),  # syslog, journalctl
    _prefix(_STAMP + rb"(?: [0-9]{2}[OE][+ ]| |$)"),  # kubectl, GitHub Actions, GitLab, CloudWatch, Azure
    _prefix(rb"\[[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]+)?Z\] ?"),  # Jenkins, Determined
    _prefix(rb"[0-9a-f]{8} \|\| (?:[A-Z]+: )?"),  # Determined's container
    _prefix(rb"\[(pod/[^\]\n]+)\] ", "name"),  # kubectl logs --prefix
    _prefix(rb"(pod/[^ \n]+)" + _SGR + b" ", "name"),
    _prefix(rb"([a-z0-9-]+/[a-z0-9.-]+\[[a-z0-9-]+\])" + _SGR + b": ", "name"),  # kail
    _prefix(rb"(" + _NAME + rb") *\|" + _SGR + b" ", "name", _MANY_MORE),  # docker compose
    _prefix(rb"(" + _NAME + rb"|" + _ADDRESS + rb"): ", "name", _MANY_MORE),  # pdsh, and the launchers that use it
    _prefix(rb"(" + _NAME + rb")" + _SGR + b" " + _SGR + _CONTAINER + _SGR + b" ", "name", _NEARLY_ALL),  # stern
    _prefix(rb"\((?:[^()\n=]+, )?rank=([0-9]{1,5}), pid=[0-9]+(?:, ip=[0-9.]+)?\)" + _SGR + b" ", "rank"),  # SkyPilot
    _prefix(rb"\[rank=([0-9]{1,5})\] ", "rank"),  # Determined's rank
    _prefix(rb"\[([0-9]{1,5})\] ", "rank", _MANY_MORE),  # MPICH, Intel MPI
    _prefix(rb"\[(?:rank|default)([0-9]{1,5})\]:(?: (?! ))?", "rank", native=True),  # torchrun
    _prefix(rb"\([^()\n]*?\bpid=([0-9]+)(?:, ip=[0-9.]+)?\)" + _SGR + b" ", "rank", native=True),  # Ray
    _prefix(rb" {0,3}([0-9]{1,5}): ", "rank"),  # srun --label; programs that number lines, and `grep -n`, repeat none
    _prefix(rb"\[std(?:out|err)\] "),  # Azure
    _prefix(rb"> ", share=_NEARLY_ALL),  # a quotation
    _prefix(rb"\t| {4}", share=_NEARLY_ALL),  # an indented block
)  # fmt: skip


def prefixes_on(lines: Sequence[bytes], bars: bool) -> tuple[Prefix, ...]:
    """The prefixes that stand on most of these lines, from the outermost on; none where no line needs anything.

    ``bars``: whether carriage returns part the lines. The engines read a tag that they know on the first part alone.
    """
    rest = [line for line in lines if line.strip()]
    chosen: list[Prefix] = []
    while rest and len(chosen) < _DEEPEST:
        layer = next((prefix for prefix in PREFIXES if _stands_on(prefix, rest)), None)
        if layer is None:
            break
        chosen.append(layer)
        rest = [stripped(line, (layer,)) for line in rest]
    if all(prefix.native for prefix in chosen) and not bars:
        return ()
    if any(b"]<std" in line for line in rest):  # mpirun's tags, inside: they tell the ranks, and stay
        return tuple(replace(prefix, key="") for prefix in chosen)
    return tuple(chosen)


def stripped(line: bytes, prefixes: Sequence[Prefix]) -> bytes:
    """A line without these prefixes, as far as they stand on it."""
    for prefix in prefixes:
        found = prefix.regex.match(line)
        line = line[found.end() :] if found else line
    return line


def _stands_on(prefix: Prefix, lines: Sequence[bytes]) -> bool:
    if not stands_on_most(lambda line: prefix.regex.match(line) is not None, lines, prefix.share):
        return False
    keys = [match[1] for line in lines if (match := prefix.regex.match(line))] if prefix.key else []
    return len(set(keys)) * _REPEATS <= max(len(keys), _REPEATS)


def stands_on_most(is_so: Callable[[bytes], bool], lines: Sequence[bytes], share: float) -> bool:
    """Whether something is so of this share of the lines; a few of them tell first, where it is so of hardly any."""
    few = lines[:: max(1, len(lines) // _FEW)]
    if sum(map(is_so, few)) < share / 2 * len(few):
        return False
    return bool(lines) and sum(map(is_so, lines)) >= share * len(lines)


class Stripper:
    """Takes prefixes off the lines of one log, in order, and writes ranks as the matching engines read them.

    A name without a number of its own gets one by its first appearance, so that the lines of two processes are
    not taken for one series. The first rank's lines need no tag.
    """

    def __init__(self, prefixes: Sequence[Prefix]) -> None:
        self._prefixes = prefixes
        self._names: dict[bytes, int] = {}

    def strip(self, line: bytes) -> bytes:
        """A line without its line feed, and without its prefixes."""
        return tagged(*self.parted(line))

    def parted(self, line: bytes) -> tuple[bytes, int]:
        """(a line without its prefixes, the rank that they tell; 0 where they tell none)."""
        rank = name = None
        start = 0
        for prefix in self._prefixes:
            found = prefix.regex.match(line, start)
            if found is None:
                continue
            start = found.end()
            if prefix.key == "rank":
                rank = int(found[1])
            elif prefix.key == "name":
                name = self._names.setdefault(found[1], len(self._names))
        return line[start:], rank if rank is not None else name or 0


def tagged(text: bytes, rank: int) -> bytes:
    """A line with its rank's tag before each sub-line; the first rank's has none."""
    if not rank:
        return text
    tag = b"[1,%d]<stdout>:" % rank
    body, end = (text[:-1], b"\r") if text.endswith(b"\r") else (text, b"")
    return tag + body.replace(b"\r", b"\r" + tag) + end


# ----------------------------------------------------------------------------------------------------
# Which rank wrote a line: the tags that launchers put in front of lines.
#
# A bare number (``0: ``, which srun --label writes) is no tag here, for programs print such lines too: where it
# stands on most lines of a log, :mod:`perflog.logs.clean` writes the first of these tags in its place.

#: A rank has 18 digits at most: more are no rank, and fit no column.
_RANK = re.compile(
    rb"^(?:\[1,([0-9]{1,18})\]<stdout>:"  # as clean_block leaves mpirun's and horovodrun's
    rb"|\[(?:rank|default)([0-9]{1,18})\]:)"  # torchrun --tee
)
_RAY = re.compile(rb"^\((?:[^()]*?)\bpid=([0-9]{1,18})(?:, ip=[0-9.]+)?\)")

#: How a line begins that may carry a tag. Each regex begins with text, which Python's engine finds ten times as fast as
#: a choice of beginnings.
_BEGINNING = rb"(?:\[(?:rank|default|1,)|\()"
_FIRST, _AFTER_FEED, _AFTER_RETURN = (re.compile(before + _BEGINNING) for before in (b"", b"\n", b"\r"))


def may_hold_ranks(text: bytes) -> bool:
    """Whether a clean text may have a launcher's tag at the start of a line or sub-line.

    A cheap test before every match's line is looked at: where it is False, :func:`rank_of` finds none in any line.
    """
    if _FIRST.match(text) or _AFTER_FEED.search(text):
        return True
    return b"\r" in text and _AFTER_RETURN.search(text) is not None


def rank_of(line: bytes) -> int | None:
    """The rank in the launcher's tag at the start of a clean line or sub-line; None where there is none."""
    tag = _RANK.match(line)
    if tag:
        return int(tag[1] or tag[2])
    ray = _RAY.match(line)
    return int(ray[1]) if ray else None
