"""The same text in two files: a log given twice or copied, packed or plain."""

from __future__ import annotations

import hashlib

from perflog.logs.containers import blocks_of
from perflog.logs.find import LogFile
from perflog.logs.streams import UnreadableError


def digest(log: LogFile) -> bytes | None:
    """A hash of a log's text, whatever it is packed in; None where it cannot be read to its end."""
    content = hashlib.blake2b(digest_size=20)
    try:
        for load in blocks_of(log):
            content.update(load())
    except UnreadableError:
        return None
    return content.digest()
