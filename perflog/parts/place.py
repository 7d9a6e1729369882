"""What the parts of one place have in common."""

from __future__ import annotations

from collections.abc import Sequence

from perflog.formats.catalog import Catalog
from perflog.formats.fingerprint import fingerprint
from perflog.logs.find import LogFile
from perflog.parts.part import Place
from perflog.parts.share import listing_of
from perflog.settings.options import Options


def place_of(logs: Sequence[LogFile], options: Options, catalog: Catalog) -> Place:
    """All logs of a place, and how they are read."""
    return Place(listing_of(logs), len(logs), options, fingerprint(catalog))
