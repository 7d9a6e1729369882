"""What the parts of one place have in common."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from msgspec import msgpack

from perflog.formats.catalog import Catalog
from perflog.formats.prebuilt import text_of
from perflog.logs.find import LogFile
from perflog.parts.part import Place
from perflog.parts.share import listing_of
from perflog.settings.options import Options


def place_of(logs: Sequence[LogFile], options: Options, catalog: Catalog) -> Place:
    """All logs of a place, and how they are read."""
    return Place(listing_of(logs), len(logs), options, fingerprint(catalog))


def fingerprint(catalog: Catalog) -> str:
    """What tells the parsers and path patterns in force from others, wherever their files lie."""
    content = msgpack.encode((catalog.parsers, tuple(catalog.path_patterns)), enc_hook=text_of)
    return blake2b(content, digest_size=16).hexdigest()
