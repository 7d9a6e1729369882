"""Names in sentences: the first of many, and those that a wrong name may have meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: So many names are listed where none is near.
_MOST_LISTED = 12


def some_of(names: Sequence[str], most: int = 3) -> str:
    """The first of several names, and how many more there are.

    >>> some_of(["a", "b", "c", "d", "e"]), some_of(["a", "b"])
    ('a, b, c and 2 more', 'a, b')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def near_names(name: str, known: Iterable[str], most: int = 3, cutoff: float = 0.6) -> list[str]:
    """The known names that begin with a name, and then those that are spelt alike, at most ``most`` of them.

    Args:
        cutoff: how alike names must be, from 0 to 1 (:func:`difflib.get_close_matches`).

    >>> near_names("hf", ["keras", "hf_trainer", "hf_results"]), near_names("medain", ["median", "last"])
    (['hf_results', 'hf_trainer'], ['median'])
    """
    import difflib

    there = list(dict.fromkeys(known))
    begun = sorted(other for other in there if name and other.startswith(name))
    return list(dict.fromkeys([*begun, *difflib.get_close_matches(name, there, n=most, cutoff=cutoff)]))[:most]


def did_you_mean(
    name: str, known: Iterable[str], most: int = 3, cutoff: float = 0.6, quoted: bool = False, otherwise: str = ""
) -> str:
    """``; did you mean median?``, to be put behind what says that there is no such name.

    Args:
        quoted: whether names stand in quotes, as what stands in a file does.
        otherwise: what is said where no name is near; nothing by default.
    """
    near = near_names(name, known, most, cutoff)
    if near:
        return f"; did you mean {' or '.join(map(repr, near) if quoted else near)}?"
    return f"; {otherwise}" if otherwise else ""


def did_you_mean_or_list(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The same, or what there is: ``; there are fp16, fp32``; empty where there is nothing."""
    there = list(dict.fromkeys(known))
    listed = ", ".join(there[:_MOST_LISTED]) + (", …" if len(there) > _MOST_LISTED else "")
    verb = "are" if len(there) != 1 else "is"
    return did_you_mean(name, there, cutoff=cutoff, otherwise=f"there {verb} {listed}" if there else "")
