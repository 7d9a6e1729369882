"""All classes of made logs."""

from __future__ import annotations

from collections.abc import Callable

from tests.tools.loops import bars_of_people, loops_of_people, nothing, programs, tables_of_people
from tests.tools.loops.draw import Draw
from tests.tools.loops.truth import Made

#: By name: how often, and the maker.
CLASSES: dict[str, tuple[float, Callable[[Draw], Made]]] = {
    **loops_of_people.CLASSES,
    **bars_of_people.CLASSES,
    **tables_of_people.CLASSES,
    **programs.CLASSES,
    **nothing.CLASSES,
}
