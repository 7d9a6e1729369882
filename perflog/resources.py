"""Where perflog's own data folders are: in a checkout, an editable install, or an installed wheel."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent
#: Folders that have another name in a checkout.
_IN_CHECKOUT = {"example": "fixtures"}


def folder(name: str) -> Path:
    """The folder ``parsers``, ``templates``, ``runners`` or ``example``.

    Raises:
        FileNotFoundError: when the installation lacks it, saying where it was looked for.
    """
    places = (_HERE / "data" / name, _HERE.parent / _IN_CHECKOUT.get(name, name))
    for place in places:
        if place.is_dir():
            return place
    raise FileNotFoundError(
        f"perflog's folder '{name}' is missing (looked in {places[0]} and {places[1]}); install perflog again"
    )
