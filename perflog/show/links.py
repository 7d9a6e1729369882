"""Links that open runs in a page of ``perflog view``."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2s

#: A link names so many logs at most: more strips than that nobody looks through.
MOST = 40


def log_key(name: str) -> str:
    """What stands for a log in links, whatever else a page holds."""
    return blake2s(name.encode("utf-8", "surrogateescape"), digest_size=5).hexdigest()


def link_to(page: str, logs: Iterable[str], look: str = "") -> str:
    """The address at which a page shows the runs of these logs alone.

    Args:
        page: the page's address, as it stands in the document that links to it.
        logs: the names of logs.
        look: how they are shown: ``overlay`` or ``bands``; empty for a strip each.
    """
    keys = list(dict.fromkeys(map(log_key, logs)))[:MOST]
    return f"{page}#{'look=' + look + '&' if look else ''}logs={','.join(keys)}"
