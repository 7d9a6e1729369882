"""Text in whatever encoding in, UTF-8 or ASCII with stray bytes out: UTF-16 with and without a mark, marks taken off.

Other encodings need nothing here: numbers and keys are ASCII in all of them, and what is no UTF-8 is replaced where a
text is cleaned (:mod:`perflog.logs.clean`).
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from perflog.logs.streams import Stream, stream_of

_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
#: Of a text in UTF-16 without a mark, this share of the high bytes is zero; few of the low bytes are.
_MOST, _FEW = 0.7, 0.05
#: A text of fewer units than this is not judged.
_LEAST = 8
#: So many of a text's first bytes tell its encoding.
_BEGINNING = 512
#: Bytes that are decoded at once.
_PIECE = 64 << 10
#: Full-width forms of what numbers and keys are made of, U+FF01 to U+FF5E, as Chinese keyboards write them.
_HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
#: How these begin in UTF-8, and the colon in GB 2312 (CP936).
_FULL_WIDTH = (b"\xef\xbc", b"\xef\xbd", b"\xa3\xba")


def holds_full_width(text: bytes) -> bool:
    """Whether a text may hold full-width forms."""
    # A search for one byte takes a hundredth of one for two, and few texts that are no ASCII hold these.
    return not text.isascii() and any(form[:1] in text and form in text for form in _FULL_WIDTH)


def as_half_width(line: bytes) -> bytes:
    """A line with ASCII for full-width letters, digits and punctuation; one that is no UTF-8 is tried as GB 2312.

    GB 2312 has no ASCII byte inside a character, so a text in another encoding loses nothing by the trial.
    """
    if line.isascii():
        return line
    for encoding in ("utf-8", "gb2312"):
        try:
            return line.decode(encoding).translate(_HALF_WIDTH).encode()
        except UnicodeDecodeError:
            continue
    return line


def encoding_of(head: bytes) -> str:
    """``utf-16-le``, ``utf-16-be`` or ``utf-8-sig`` where a text that begins so is to be decoded; else empty."""
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    marked = _MARKS.get(head[:2])
    if marked is not None:
        return marked
    return _without_mark(head[:_BEGINNING]) if b"\x00" in head[:_BEGINNING] else ""


def _without_mark(head: bytes) -> str:
    even, odd = head[0::2], head[1::2]
    if len(odd) < _LEAST:
        return ""
    zeros_even, zeros_odd = even.count(0) / len(even), odd.count(0) / len(odd)
    if zeros_odd >= _MOST and zeros_even <= _FEW:
        return "utf-16-le"
    return "utf-16-be" if zeros_even >= _MOST and zeros_odd <= _FEW else ""


def as_utf8(text: Stream, encoding: str) -> Stream:
    """A text as UTF-8 without a mark.

    ``encoding`` is what :func:`encoding_of` gave; what is not UTF-16 becomes U+FFFD. Bytes of a marked UTF-8 text stay.
    """
    if encoding == "utf-8-sig":
        text.peek(len(codecs.BOM_UTF8))
        text.read(len(codecs.BOM_UTF8))
        return text
    if text.peek(2) in _MARKS:
        text.read(2)
    return stream_of(_decoded(text, encoding))


def _decoded(units: Stream, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while data := units.read(_PIECE):
        yield decoder.decode(data).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")
