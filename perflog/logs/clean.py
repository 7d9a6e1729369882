"""From raw bytes to clean text: one event to a line, whatever launcher, terminal or encoding wrote it.

Clean text keeps every line feed, so that line numbers stay those of the file. Inside a line ``\\r`` separates
sub-lines: progress-bar updates, and the parts that different ranks wrote into one line. A launcher tag stays
only at the start of a sub-line, in the form ``[1,RANK]<stdout>:``; everything that this module removes is
named here, nothing else is changed. Every byte is looked at, and a line is cleaned by what stands in it alone:
it does not matter how a log is cut into blocks.
"""

from __future__ import annotations

import re

from perflog.lazy_regex import lazy_regex

#: ECMA-48 control sequences (colours, cursor moves) and operating-system commands (titles, links).
_ANSI = lazy_regex(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_])")
#: mpirun --tag-output [--timestamp-output], as of Open MPI 5 (its job's name before the rank) and of SageMaker too, and
#: horovodrun.
_TAG = lazy_regex(
    rb"(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4})?"
    rb"\[(?:[0-9]+,(?:mpirank:)?|[A-Za-z0-9_.-]+@[0-9]+,)?([0-9]+)(?:,[a-z]+-[0-9]+)?\]<std(?:out|err)>:"
)
#: What Ray adds to a line that it prints once for several workers, to the end of the sub-line.
_RAY_REPEATED = lazy_regex(rb" \[repeated [0-9]+x across cluster\][^\r\n]*")


def clean_block(data: bytes) -> bytes:
    """Clean a block of whole lines. Line feeds are kept, one for one."""
    if b"\x00" in data:
        data = data.replace(b"\x00", b"")
    if b"\x1b" in data:
        data = _ANSI.sub(b"", data)
    if b"\x08" in data:
        data = re.sub(rb"\x08+", b"\r", data)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
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
    text = data.decode("utf-8", "replace")
    if "\ufffd" in text:
        text = _BESIDE_LOST.sub(lambda number: _DIGIT.sub("\ufffd", number[0]), text)
    return text.encode("utf-8")


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
