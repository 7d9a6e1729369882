"""Whether bytes can be a log at all."""

from __future__ import annotations

_BLANK = b"\x00\r\n \t"
#: Bytes that text is made of: printable ASCII and above, tab, line ends, backspace, vertical blanks and escape.
_TEXT = bytes(range(32, 256)) + b"\t\n\r\x08\x0b\x0c\x1b"
#: The same without what only terminals write.
_PLAIN = bytes(range(32, 256)) + b"\t\n\r"
_MAGIC = (b"\x89PNG", b"PK\x03\x04", b"\x7fELF", b"%PDF", b"\xff\xd8\xff")
#: A file is taken for binary when more than this share of its first kilobytes is no text.
_ODD, _HEAD = 0.05, 8192


def is_plainly_text(head: bytes) -> bool:
    """Whether the first bytes of a file say already that it is text: so nearly all logs are told cheaply."""
    return bool(head[:256].strip(_BLANK)) and not head.translate(None, _PLAIN) and not head.startswith(_MAGIC)


def why_no_text(data: bytes) -> str:
    """Why a file that begins with these bytes is no log; empty when it may be one."""
    if is_plainly_text(data[:_HEAD]):
        return ""
    if not data[:256].strip(_BLANK) and not data.strip(_BLANK):
        return "empty file" if not data else "nothing but blanks or NUL bytes"
    if data.startswith(_MAGIC):
        return "binary file"
    head = data[: 8 * _HEAD].replace(b"\x00", b"")[:_HEAD]
    odd = len(head.translate(None, _TEXT))
    zeros = data[:_HEAD].count(0)
    few = max(1, len(head))
    if odd > _ODD * few or (zeros > _ODD * min(_HEAD, len(data)) and odd > 0.01 * few):
        return "binary file"
    return ""
