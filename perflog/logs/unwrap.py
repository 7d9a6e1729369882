"""A text in, the text of the program out: without collectors' records and without what stands before its lines.

Whether there is anything to take off is told once, from the beginning of the log. Line feeds are kept, one for one,
so that line numbers stay those of the file: a line that came in several records is followed by empty ones.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from perflog.lazy_regex import lazy_regex
from perflog.logs.blocks import LeftOut
from perflog.logs.clean import LOST, Prefix, Stripper, clean_block, prefixes_on, stands_on_most, tagged
from perflog.logs.encodings import as_half_width, holds_full_width
from perflog.logs.loggers import Render, renderer_for
from perflog.logs.streams import Stream, UnreadableError, stream_of

# ----------------------------------------------------------------------------------------------------
# Records in, lines out: logs whose every line is a collector's record with a piece of the program's text in it.

#: Where collectors put the text, in the order in which they are looked for.
_TEXT_KEYS = ("log", "MESSAGE", "message", "textPayload")
#: Numbers that collectors write beside the text; a record with other numbers is the program's own.
_COLLECTORS_NUMBER = re.compile(r"time|stamp|pid|offset|line|seq|priority|severity|level|port|id$", re.IGNORECASE)
_CRI = re.compile(
    rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2}) "
    rb"(?P<stream>std(?:out|err)) (?P<part>[FP])(?::[^ ]*)? ?"
)
#: What is left of a character's bytes on either side of a cut: it has four at most.
_CUT_BEFORE, _CUT_AFTER = re.compile(b"(?:%s){1,3}\\Z" % LOST), re.compile(b"\\A(?:%s){1,3}" % LOST)
#: So many pieces on either side of a cut tell which character it cut; and the kinds of those that bars are drawn with.
_NEAR, _SYMBOLS = 8, ("So", "Po")
#: The share of a log's first lines that must be records.
_MOST = 0.6


class Piece(Struct, frozen=True):
    """The text in a record, without its line feed.

    ``whole`` is false where the next record of the same ``stream`` goes on with the line.
    """

    text: bytes
    whole: bool = True
    stream: str = ""


#: The piece in a line (without its line feed); None for a line that is no record.
Unpack = Callable[[bytes], Piece | None]


def unpacker_for(lines: Sequence[bytes]) -> Unpack | None:
    """How the records of a log that begins with these lines are read; None where most lines are no records."""
    filled = [line for line in lines if line.strip()]
    for unpack in (of_json, of_cri):
        if stands_on_most(_is_record(unpack), filled, _MOST):
            return unpack
    return None


def _is_record(unpack: Unpack) -> Callable[[bytes], bool]:
    return lambda line: unpack(line) is not None


def of_cri(line: bytes) -> Piece | None:
    """A record of the Kubernetes container runtime interface: ``TIME stdout F TEXT``; ``P`` is a part of a line."""
    found = _CRI.match(line)
    return None if found is None else Piece(line[found.end() :], found["part"] == b"F", found["stream"].decode())


def of_json(line: bytes) -> Piece | None:
    """A JSON object in which a collector (docker, journald, CloudWatch, Cloud Logging) stored a program's text."""
    if not line.startswith(b"{"):
        return None
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    key = next((key for key in _TEXT_KEYS if key in record), None)
    if key is None or (key == "log" and "stream" not in record) or not all(map(_of_collector, record.items())):
        return None
    text = _bytes_of(record[key])
    if text is None:
        return None
    whole = key != "log" or text.endswith(b"\n")
    stream = str(record.get("stream", "")) if key == "log" else ""
    return Piece(text.removesuffix(b"\n").replace(b"\r\n", b"\n").replace(b"\n", b"\r"), whole, stream)


def put_together(pieces: Sequence[bytes]) -> bytes:
    """The text of consecutive pieces of one line, with the characters that lie across two of them.

    Docker cuts a line at 16 kB, and writes U+FFFD for each byte of a character that it cut. Which one it was, the
    pieces near by tell, for a bar is drawn again and again; where they do not, nobody knows.
    """
    whole = list(pieces)
    for number in range(1, len(whole)):
        if whole[number - 1].endswith(LOST) and whole[number].startswith(LOST):
            before, after = _CUT_BEFORE.sub(b"", whole[number - 1]), _CUT_AFTER.sub(b"", whole[number])
            near = b"".join(whole[max(0, number - _NEAR) : number + _NEAR]).decode("utf-8", "ignore")
            symbol = _symbol_between(
                before[-4:].decode("utf-8", "ignore")[-1:], after[:4].decode("utf-8", "ignore")[:1], near
            )
            if symbol:
                whole[number - 1 : number + 1] = before + symbol.encode(), after
    return b"".join(whole)


def _symbol_between(left: str, right: str, near: str) -> str:
    """What stands between two characters most often where it is no letter, no digit and no mark of a number."""
    if not left or not right or (left.isdigit() and right.isdigit()):
        return ""
    found: list[str] = re.findall(f"(?<={re.escape(left)})[^\\x00-\\x7f\ufffd](?={re.escape(right)})", near)
    symbols = Counter[str](one for one in found if unicodedata.category(one) in _SYMBOLS)
    if not symbols:
        return next((one for one in (left, right) if ord(one) > 127 and unicodedata.category(one) == "So"), "")
    return symbols.most_common(1)[0][0]


def _of_collector(item: tuple[str, Any]) -> bool:
    key, value = item
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return not is_number or _COLLECTORS_NUMBER.search(key) is not None


def _bytes_of(value: Any) -> bytes | None:
    """A text, or an array of bytes, which journald writes for what is no plain text."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in value):
        return bytes(value)
    return None


# ----------------------------------------------------------------------------------------------------
# Whether bytes can be a log at all.

_BLANK = b"\x00\r\n \t"
#: The reason of a file in which nothing stands.
ONLY_BLANKS = "nothing but blanks or NUL bytes"
#: That of a notebook in which nothing was printed.
NO_OUTPUT = "a notebook whose cells hold no output: one that was run and saved is read"
#: Bytes that text is made of: printable ASCII and above, tab, line ends, backspace, vertical blanks and escape.
_TEXT = bytes(range(32, 256)) + b"\t\n\r\x08\x0b\x0c\x1b"
#: The same without what only terminals write.
_PLAIN = bytes(range(32, 256)) + b"\t\n\r"
_READ_CONTAINERS = "read are .zip, .tar, .gz, .zst, .xz, .bz2 and .lz4, and .tar in any of these"
#: How files begin that are no logs, and what they are.
_MAGIC: dict[bytes, str] = {
    **dict.fromkeys((b"\x89PNG", b"PK\x03\x04", b"\x7fELF", b"%PDF", b"\xff\xd8\xff"), "binary file"),
    b"7z\xbc\xaf\x27\x1c": f"a 7z archive, which is not read: {_READ_CONTAINERS}",
    b"Rar!\x1a\x07": f"a RAR archive, which is not read: {_READ_CONTAINERS}",
    b":W&B": (
        "a W&B run file, which is not read: files/output.log beside it holds what the program printed, and a run's "
        "history exported as CSV or JSON lines is read (docs/ecosystem.md)"
    ),
    b"SQLite format 3\x00": (
        "an SQLite database, not a training log: MLflow's with metrics is read, as a file that lies in no archive"
    ),
}
_NO_LOG = tuple(_MAGIC)
#: What a profiler's trace in JSON has among its first keys.
_TRACE_KEYS = (b'"traceEvents"', b'"deviceProperties"')
#: How a Jupyter notebook begins: its keys are sorted by name, but for Colab's (nbformat first) and Kaggle's (metadata).
_NOTEBOOK = lazy_regex(
    rb'\s*\{\s*(?:"cells"\s*:\s*\[\s*(?:\]|\{\s*"(?:cell_type|attachments|execution_count|id|metadata|outputs|source)")'
    rb'|"nbformat(?:_minor)?"\s*:\s*[0-9]|(?P<metadata>"metadata"\s*:\s*\{))'
)
_NOTEBOOKS_KEYS = lazy_regex(rb'"(?:kernelspec|language_info|nbformat|worksheets)"\s*:')
_NOTEBOOKS_NAME = ".ipynb"
#: How the metrics of an offline session of ClearML's begin: arrays of events, one a line.
SESSION = lazy_regex(rb'\[\{"timestamp": [0-9]{1,15}, "type": "training_stats_')
#: In a notebook's text it stands for a cell, before the first line of the next cell that has an output.
CELL = b"\x0c"
#: A file is taken for binary when more than this share of its first kilobytes is no text.
_ODD, _HEAD = 0.05, 8192


def is_trace(head: bytes) -> bool:
    """Whether a file that begins so is a profiler's trace in JSON."""
    return head[:1] == b"{" and any(key in head for key in _TRACE_KEYS)


def is_notebook(head: bytes, name: str) -> bool:
    """Whether a file of this name (without endings of compression) that begins so is read as a Jupyter notebook."""
    if name.endswith(_NOTEBOOKS_NAME):
        return bool(head.strip())
    begins = _NOTEBOOK.match(head)
    return begins is not None and (begins["metadata"] is None or _NOTEBOOKS_KEYS.search(head) is not None)


def is_plainly_text(head: bytes) -> bool:
    """Whether the first bytes of a file say already that it is text: so nearly all logs are told cheaply."""
    return (
        bool(head[:256].strip(_BLANK))
        and not head.translate(None, _PLAIN)
        and not head.startswith(_NO_LOG)
        and not is_trace(head)
    )


def why_no_text(data: bytes) -> str:
    """Why a file that begins with these bytes is no log; empty when it may be one."""
    if is_plainly_text(data[:_HEAD]):
        return ""
    if not data[:256].strip(_BLANK + CELL) and not data.strip(_BLANK + CELL):
        return "empty file" if not data else NO_OUTPUT if data.startswith(CELL) else ONLY_BLANKS
    if data.startswith(_NO_LOG):
        return next(what for magic, what in _MAGIC.items() if data.startswith(magic))
    if is_trace(data[:_HEAD]):
        return "a profiler's trace, not a training log"
    head = data[: 8 * _HEAD].replace(b"\x00", b"")[:_HEAD]
    odd = len(head.translate(None, _TEXT))
    zeros = data[:_HEAD].count(0)
    few = max(1, len(head))
    if odd > _ODD * few or (zeros > _ODD * min(_HEAD, len(data)) and odd > 0.01 * few):
        return "binary file"
    return ""


#: So many of a text's first bytes tell what stands around its lines, and so many of their lines are looked at.
BEGINNING, _LINES = 64 << 10, 400
#: Places at whose next lines a text is looked at first, cheaply; nearly all logs show there that they need nothing.
_PLACES = (0, 500, 1_500, 4_000, 10_000, 24_000, 48_000)
#: How a line may begin that has anything to take off; wider than what is taken off.
_SUSPECT = lazy_regex(
    rb"(?:\x1b\[[0-9;]*m)*(?:\{\"| {0,3}[0-9]{1,5}: |[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]| {4}[^ ]|\t|> "
    rb"|\([^()\n]{0,60}\brank=|[A-Z][a-z]{2} [ 0-3][0-9] [0-9:.]+ [^ ]{1,60} [^ ]{1,60}\]: |pod/"
    rb"|[a-z0-9-]{1,60}/[a-z0-9.-]{1,60}\[|[0-9]{1,3}(?:\.[0-9]{1,3}){3}: "
    rb"|\[(?:[0-9]{1,5}\] |[0-9]{4}-[0-9]{2}-[0-9]{2}T|pod/|std)"
    rb"|[A-Za-z][A-Za-z0-9._-]{0,60}[0-9](?:: | *\||\x1b| ))"
)
#: The same of records with tabs, which few texts hold.
_TABBED = lazy_regex(rb"(?:\x1b\[[0-9;]*m)*[^\t\n]{1,80}\t[^\t\n]{0,80}\t(?:\xef\xbb\xbf)?2")
#: How a line may begin that has a tag which the matching engines read.
_TAGGED = lazy_regex(rb"(?:\x1b\[[0-9;]*m)*(?:\[rank|\[default|\([^()\n]{0,60}\bpid=)")
#: How the table of a logger begins: a header, or a time, a value and a step.
_TABLE = lazy_regex(rb" *[A-Za-z_][^,\n]{0,80},[^=\n]*,|Epoch\t|[0-9]{13} [^ ]")
#: What makes a text one for terminals.
_CODES = (b"\x1b", b"\x08")
#: A carriage return that parts a line.
_BAR = lazy_regex(rb"\r[^\r\n]")
_CHUNK = 256 << 10
#: Of a line longer than this the parts that carriage returns end are given on as far as they fit, the rest left out.
_LONGEST = 8 << 20


class Wrapping(Struct, frozen=True):
    """What stands around the lines of a log.

    ``full_width``: some of its text may be in full-width forms; ``render``: its lines are a table's.
    """

    unpack: Unpack | None
    prefixes: tuple[Prefix, ...]
    full_width: bool
    render: Render | None = None


def wrapping_of(beginning: bytes, name: str = "") -> Wrapping | None:
    """What stands around the lines of a log that begins so; None, after few looks, where nothing does.

    ``name``: the log's place, by which a table of one column names it.
    """
    if why_no_text(beginning):
        return None
    beginning = _without_codes(beginning)
    full_width = holds_full_width(beginning)
    bars = b"\r" in beginning and _BAR.search(beginning) is not None
    is_table = _TABLE.match(beginning) is not None
    if not full_width and not is_table and not _is_suspect(beginning, bars):
        return None
    lines = beginning.split(b"\n", _LINES)[:_LINES]
    if len(beginning) >= BEGINNING and len(lines) > 1:
        lines.pop()  # it may be cut
    render = renderer_for(lines, name) if is_table else None
    if render is not None:
        return Wrapping(None, (), full_width=False, render=render)
    unpack = unpacker_for(lines)
    texts = [_without_codes(line) for line in _joined_texts(lines, unpack)] if unpack is not None else lines
    full_width = full_width or (unpack is not None and any(map(holds_full_width, texts)))
    texts = [as_half_width(line) for line in texts] if full_width else texts
    prefixes = prefixes_on(texts, bars or (unpack is not None and any(map(_BAR.search, texts))))
    return Wrapping(unpack, prefixes, full_width) if unpack is not None or prefixes or full_width else None


def _without_codes(text: bytes) -> bytes:
    """A text without what terminals alone understand, which may stand before a prefix."""
    return clean_block(text) if any(code in text for code in _CODES) else text


def _joined_texts(lines: Sequence[bytes], unpack: Unpack) -> Iterator[bytes]:
    """The whole lines in these records, and at the end what there is of lines that go on."""
    begun: defaultdict[str, list[bytes]] = defaultdict(list)
    for piece in map(unpack, lines):
        if piece is not None:
            begun[piece.stream].append(piece.text)
            if piece.whole:
                yield put_together(begun.pop(piece.stream))
    yield from map(put_together, begun.values())


def _is_suspect(beginning: bytes, bars: bool) -> bool:
    """Whether one of a few lines begins as if something stood before it."""
    starts = [0, *(beginning.find(b"\n", place) + 1 for place in _PLACES if place < len(beginning))]
    regexes = [_SUSPECT, *([_TAGGED] if bars else []), *([_TABBED] if b"\t" in beginning else [])]
    return any(regex.match(beginning, start) for regex in regexes for start in starts)


def unwrapped(text: Stream, wrapping: Wrapping) -> Stream:
    """The program's text in a log that is wrapped so.

    Raises:
        UnreadableError: from its ``read``, as that of ``text`` does, after all that could be read.
    """
    return stream_of(_Unwrapped(text, wrapping).pieces())


class _Unwrapped:
    def __init__(self, text: Stream, wrapping: Wrapping) -> None:
        self._text = text
        self._lines = _Lines(wrapping)
        self._rest = bytearray()
        self._start = 0  # where the rest begins in the text
        self._dropped: int | None = None  # bytes of a line that is too long, from here on left out
        self._left_out = LeftOut(_LONGEST)
        self._ready = bytearray()
        self._ended = False
        self._damage: UnreadableError | None = None

    def pieces(self) -> Iterator[bytes]:
        """The text, piece by piece."""
        while not self._ended:
            self._more()
            yield bytes(self._ready)
            self._ready.clear()
        if self._damage is not None:
            raise self._damage

    def _more(self) -> None:
        try:
            data = self._text.read(_CHUNK)
        except UnreadableError as error:
            self._damage, data = error, b""
        self._ended = not data
        last = data.rfind(b"\n") + 1
        if last:
            lines = (bytes(self._rest) + data[:last]).split(b"\n")[:-1]
            self._rest.clear()
            for line in lines:
                self._give(line)
        self._rest += data[last:]
        if len(self._rest) > _LONGEST:
            self._shorten()
        if self._ended:
            self._end()

    def _give(self, line: bytes) -> None:
        """Unwrap a line that has a line feed behind it, or leave out the rest of one that is too long."""
        if self._dropped is not None:
            self._left_out.add(self._start - self._dropped, self._dropped + len(line))
        else:
            self._ready += self._lines.after(line)
            self._left_out.add(self._start, self._lines.too_long())
        self._dropped = None
        self._start += len(line) + 1

    def _shorten(self) -> None:
        """Give the parts of a line that is too long that a carriage return ends; the others of it are left out."""
        if self._dropped is None:
            end = self._rest.rfind(b"\r") + 1
            self._ready += self._lines.after(bytes(self._rest[:end]))
            self._start += end
            del self._rest[:end]
        self._dropped = (self._dropped or 0) + len(self._rest)
        self._start += len(self._rest)
        self._rest.clear()

    def _end(self) -> None:
        if self._dropped is not None:
            self._left_out.add(self._start - self._dropped, self._dropped + len(self._rest))
        else:
            self._ready += self._lines.last(bytes(self._rest))
            self._left_out.add(self._start, self._lines.too_long())
        try:
            self._left_out.tell()
        except UnreadableError as error:
            self._damage = self._damage or error


class _Begun(Struct):
    """A line of one of a program's streams that its next record goes on with.

    Attributes:
        pieces, size: what is not given out yet, and its bytes.
        rank: whose line it is, where a part of it is given out already.
    """

    pieces: list[bytes]
    size: int = 0
    rank: int | None = None


class _Lines:
    """Lines one after the other, pieces of one line put together.

    A bar is one line for as long as it is drawn, and the lines of another stream come between its records: the
    drawings that are complete, up to the last carriage return, are given out before those, as they stand in the log of
    a program that writes both to one file.
    """

    def __init__(self, wrapping: Wrapping) -> None:
        self._unpack = wrapping.unpack
        self._stripper = Stripper(wrapping.prefixes)
        self._full_width = wrapping.full_width
        self._render = wrapping.render
        self._begun: dict[str, _Begun] = {}
        self._stream = ""
        self._feeds = 0  # so many lines the pieces of this stream's line came in
        self._too_long = 0

    def too_long(self) -> int:
        """The bytes of a line that was left out since this was asked last, for its pieces are too long together."""
        size, self._too_long = self._too_long, 0
        return size

    def after(self, line: bytes) -> bytes:
        """What can be given out once this line, which had a line feed behind it, is known."""
        piece = (None if self._unpack is None else self._unpack(line)) or Piece(line)
        given = self._turned(piece.stream)
        given += self._add(piece.text)
        self._feeds += 1
        return given + self._joined(b"\n" * self._feeds) if piece.whole else given

    def last(self, line: bytes) -> bytes:
        """The rest, where ``line`` has no line feed behind it (empty: there is none)."""
        given, end = b"", b""
        feeds = self._feeds
        if line:
            record = None if self._unpack is None else self._unpack(line)
            piece = record or Piece(line)
            given = self._turned(piece.stream)
            feeds = self._feeds
            given += self._add(piece.text)
            end = b"\n" if record is not None and record.whole else b""
        # line feeds stand before a line that may be unfinished: behind it they would make it whole
        given += b"\n" * feeds + self._joined(end)
        if not given or given.endswith(b"\n"):  # else the other stream's last line would go on with this one's
            self._stream = next(iter(self._begun), "")
            given += self._joined(b"")
        return given

    def _turned(self, stream: str) -> bytes:
        """What is given out of the line of the stream before this one's, where that is another."""
        if stream == self._stream:
            return b""
        given = b""
        if self._feeds:
            given = self._complete() + b"\n" * self._feeds
        self._stream, self._feeds = stream, 0
        return given

    def _add(self, text: bytes) -> bytes:
        """Take a piece; what is given out of a line that becomes too long."""
        begun = self._begun.setdefault(self._stream, _Begun([]))
        given = self._complete() if begun.pieces and begun.size + len(text) > _LONGEST else b""
        begun.size += len(text)
        if begun.size > _LONGEST:
            begun.pieces = []
        else:
            begun.pieces.append(text)
        return given

    def _complete(self) -> bytes:
        """The drawings of the stream's bar that are complete; the one that is not is kept."""
        begun = self._begun.get(self._stream)
        if begun is None or begun.size > _LONGEST:
            return b""
        text = put_together(begun.pieces)
        end = text.rfind(b"\r") + 1
        begun.pieces, begun.size = [text[end:]], len(text) - end
        return self._plain(text[:end], begun) if end else b""

    def _joined(self, end: bytes) -> bytes:
        """The rest of the stream's line, with this behind it."""
        begun, self._feeds = self._begun.pop(self._stream, None), 0
        if begun is None:
            return end
        if begun.size > _LONGEST:
            self._too_long += begun.size
            return end
        return self._plain(put_together(begun.pieces), begun) + end

    def _plain(self, text: bytes, begun: _Begun) -> bytes:
        """The program's own text in (a part of) a line."""
        text = _without_codes(text)
        if self._render is not None:
            return self._render(text)
        text = as_half_width(text) if self._full_width else text
        if begun.rank is None:
            text, begun.rank = self._stripper.parted(text)
        return tagged(text, begun.rank)
