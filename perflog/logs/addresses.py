"""Addresses of logs that lie on a server: objects of a store (``s3://bucket/logs/``), a file of a web server.

The query of a web address may be a signature, which opens what it names to whoever reads it, and a user's part may hold
a password: both are left out of every text that is shown, written or kept.
"""

from __future__ import annotations

import os
import re

#: How addresses begin, and the part that names a bucket, a container or a web server.
_ADDRESS = re.compile(r"(s3|gs|az|https?)://([^/?#]*)")
#: The schemes of web servers, in whose addresses ``?`` and ``#`` end the path; a key of an object may hold both.
WEB = ("http", "https")
#: What stands in the place of a query or of a user's part.
_LEFT_OUT = "…"


class Address(str):
    """An address as it may be shown: without its query and its user's part.

    Attributes:
        whole: the address as it was given, for the server alone.
    """

    __slots__ = ("whole",)
    whole: str

    def __new__(cls, whole: str) -> Address:
        """The address that a text names."""
        if isinstance(whole, Address):
            return whole
        address = super().__new__(cls, _shown(whole))
        address.whole = whole
        return address

    @property
    def scheme(self) -> str:
        """``s3``, ``gs``, ``az``, ``http`` or ``https``."""
        return self.partition("://")[0]

    @property
    def host(self) -> str:
        """The bucket, the container or the web server."""
        return self.partition("://")[2].partition("/")[0].partition("?")[0]

    @property
    def is_cut(self) -> bool:
        """Whether it was copied from where its query was left out: nobody can be asked by it."""
        return self.whole.endswith(f"?{_LEFT_OUT}")

    @property
    def key(self) -> str:
        """What stands behind the host, without the slash before it."""
        return self.partition("://")[2].partition("/")[2]


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether a log that is named so lies on a server."""
    return isinstance(path, str) and "://" in path and _ADDRESS.match(path) is not None


def as_address(path: str) -> str:
    """An :class:`Address` for a text that is one; any other path as it is."""
    return Address(path) if is_address(path) else path


def as_addresses(paths: list[str] | None) -> list[str] | None:
    """The same for each of several paths; None for None."""
    return None if paths is None else [as_address(path) for path in paths]


def as_path(path: str) -> str:
    """The path of which names of folders tell facts: ``/bucket/logs/a.log`` for an address, any other as it is."""
    if not is_address(path):
        return path
    scheme, _, name = (path if isinstance(path, Address) else _shown(path)).partition("://")
    name = name.partition("?")[0] if scheme in WEB else name
    return f"/{name.removeprefix(f'{_LEFT_OUT}@')}"


def joined(base: os.PathLike[str], path: str) -> str:
    """A path relative to ``base`` as one that can be opened; an address is one by itself."""
    return as_address(path) if is_address(path) else os.path.join(base, path)  # noqa: PTH118 - a text


def is_below(address: str, above: str) -> bool:
    """Whether an address is that of ``above``, or of an object below it: ``s3://bucket/logs`` holds
    ``s3://bucket/logs/a.log``."""
    return f"{address}/".startswith(f"{above.rstrip('/')}/")


def address_in(path: os.PathLike[str]) -> str:
    """The address that was taken for a path, in which slashes were joined (``s3:/bucket``); empty where it is none."""
    text = re.sub(r"^([a-z0-9]+):/+", r"\1://", os.fspath(path))
    return Address(text) if is_address(text) else ""


def _shown(whole: str) -> str:
    if "@" not in whole and "?" not in whole and "#" not in whole:
        return whole  # nothing to leave out, in nearly all of very many addresses
    found = _ADDRESS.match(whole)
    if found is None:
        return whole
    scheme, host = found.groups()
    user, at, server = host.rpartition("@")
    rest = whole[found.end() :]
    if scheme in WEB:
        rest = re.sub(r"#.*", "", rest, flags=re.DOTALL)
        path, mark, _ = rest.partition("?")
        rest = f"{path}?{_LEFT_OUT}" if mark else path
    return f"{scheme}://{_LEFT_OUT if user else ''}{at}{server}{rest}"
