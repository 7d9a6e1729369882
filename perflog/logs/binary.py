"""Whether bytes can be a log at all."""

from __future__ import annotations

_BLANK = b"\x00\r\n \t"
#: The reason of a file in which nothing stands.
ONLY_BLANKS = "nothing but blanks or NUL bytes"
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
    b":W&B": "a W&B run file, which is not read: files/output.log beside it holds what the program printed",
    b"SQLite format 3\x00": "an SQLite database (a profiler's, or MLflow's), not a training log",
}
_NO_LOG = tuple(_MAGIC)
#: What a profiler's trace in JSON has among its first keys.
_TRACE_KEYS = (b'"traceEvents"', b'"deviceProperties"')
#: A file is taken for binary when more than this share of its first kilobytes is no text.
_ODD, _HEAD = 0.05, 8192


def is_trace(head: bytes) -> bool:
    """Whether a file that begins so is a profiler's trace in JSON."""
    return head[:1] == b"{" and any(key in head for key in _TRACE_KEYS)


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
    if not data[:256].strip(_BLANK) and not data.strip(_BLANK):
        return "empty file" if not data else ONLY_BLANKS
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
