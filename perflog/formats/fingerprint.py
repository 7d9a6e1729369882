"""What tells the parsers in force from others."""

from __future__ import annotations

from hashlib import blake2b

from msgspec import msgpack

from perflog.formats.catalog import Catalog
from perflog.formats.prebuilt import text_of


def fingerprint(catalog: Catalog) -> str:
    """What tells the parsers and path patterns in force from others, wherever their files lie."""
    content = msgpack.encode((catalog.parsers, tuple(catalog.path_patterns)), enc_hook=text_of)
    return blake2b(content, digest_size=16).hexdigest()
