"""All parts of a place together: each share once, of the same logs, made by the same options."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import msgspec

from perflog.errors import UsageError
from perflog.escaping import named
from perflog.logs.find import LogFile
from perflog.parts import ENDING
from perflog.parts.part import Part, damaged, is_part, read_part
from perflog.runs.run import Outcome, Run, Skipped
from perflog.settings.config import DEFAULTS, Settings
from perflog.settings.options import Options
from perflog.spelling import some_of

#: Options that are not about one log, but about what is made of all: each command may choose them anew.
OF_ALL_LOGS = ("aggregate", "baseline")
#: So many missing shares are named.
MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Joined:
    """All parts of one place.

    Attributes:
        outcomes: what became of all logs, in the order in which one machine would have read them.
        options: how their numbers were made.
        parsers: a hash of the parsers that were in force.
    """

    outcomes: Iterator[Outcome]
    options: Options
    parsers: str


def parts_among(logs: Sequence[LogFile], places: Sequence[Path] | None = None) -> list[Path]:
    """The logs that are parts; empty where none is.

    Args:
        places: the files and folders whose parts may be read, with all links resolved; None for all.

    Raises:
        UsageError: where parts and other files are named together, and for a part that lies elsewhere.
    """
    parts = [log for log in logs if is_part(log)]
    for part in parts if places is not None else ():
        if not any(Path(os.path.realpath(part.path)).is_relative_to(place) for place in places or ()):
            raise UsageError(
                f"{part.name} is a part of logs that were read elsewhere, read where the command line names it alone: "
                "`perflog merge` it, name the file itself, or let recipes use it with `perflog readme --allow FILE`"
            )
    if parts and len(parts) != len(logs):
        other = next(log for log in logs if log not in parts)
        if other.path.endswith(ENDING) and not other.member:
            read_part(Path(other.path))  # which says what is wrong with it
        raise UsageError(
            f"{parts[0].name} is a part of logs that were read elsewhere, and {other.name} is none: name the parts of "
            "one place alone, or logs alone"
        )
    return [Path(part.path) for part in parts]


def joined(paths: Sequence[Path]) -> Joined:
    """All parts of a place, read and held against each other.

    Raises:
        UsageError: where one is missing, there twice, or of other logs, options or parsers; it names the file.
        PerflogError: where one is damaged.
    """
    parts = [(path, read_part(path)) for path in paths]
    first_path, first = parts[0]
    for path, part in parts[1:]:
        why = _why_foreign(first, part)
        if why:
            raise UsageError(f"{named(str(first_path))} and {named(str(path))} are no parts of one whole: {why}")
    _require_each_once(parts)
    held = sum(part.logs for _, part in parts)
    placed = _placed(parts, first.place.logs) if held == first.place.logs else None
    if placed is None:
        raise UsageError(
            f"the parts hold {held} logs, and {first.place.logs} were found: make them again with "
            "`perflog extract --shard`"
        )
    return Joined(([one] if isinstance(one, Run) else one for one in placed), first.place.options, first.place.parsers)


def _placed(parts: list[tuple[Path, Part]], count: int) -> list[Run | Outcome] | None:
    """What became of each of so many logs, by its position; None where a log is in none of the parts, or in two.

    The parts are let go on the way: what is made of them takes as much room.
    """
    placed: list[Run | Outcome | None] = [None] * count
    while parts:
        path, part = parts.pop()
        before = -1
        try:
            for position, one in part.outcomes():
                there = placed[position]
                if there is None:
                    placed[position] = one
                elif position != before or isinstance(there, Skipped) or isinstance(one, Skipped):
                    return None
                else:
                    placed[position] = [*(there if isinstance(there, list) else [there]), one]
                before = position
        except (msgspec.MsgspecError, IndexError, ValueError, TypeError, AttributeError) as error:
            raise damaged(path, error) from None
    known = [one for one in placed if one is not None]
    return known if len(known) == count else None


def _why_foreign(one: Part, other: Part) -> str:
    """Why two parts cannot be joined; empty where they can."""
    if one.perflog != other.perflog:
        return f"perflog {named(one.perflog)} made the one and {named(other.perflog)} the other"
    changed = different_options(one.place.options, other.place.options)
    if changed:
        return f"they were made with different options ({', '.join(changed)})"
    if one.place.parsers != other.place.parsers:
        return "they were made with different parsers"
    if one.share.count != other.share.count:
        return f"the one is a share of {one.share.count}, the other of {other.share.count}"
    if one.place.listing != other.place.listing:
        return "they are of different logs, or the logs changed between them (a name or a size is another)"
    return ""


def different_options(one: Options, other: Options) -> list[str]:
    """The names of the options in which two differ, but for those that each command may choose anew."""
    names = [field.name for field in fields(Options) if field.name not in OF_ALL_LOGS]
    different = [name for name in names if getattr(one, name) != getattr(other, name)]
    return ["as" if name == "said" else name.replace("_", "-") for name in different]


def _require_each_once(parts: Sequence[tuple[Path, Part]]) -> None:
    of_share: dict[int, Path] = {}
    count = parts[0][1].share.count
    for path, part in parts:
        other = of_share.setdefault(part.share.number, path)
        if other is not path:
            raise UsageError(
                f"{named(str(path))} and {named(str(other))} are the same share, {part.share}: name each once"
            )
    missing = [number for number in range(1, count + 1) if number not in of_share]
    if missing:
        shown = some_of([f"{number}/{count}" for number in missing], MOST_NAMED)
        raise UsageError(
            f"of {count} parts these are missing: {shown}. Numbers of some logs alone would look like those of "
            f"all: make the first of them with `perflog extract PLACE --shard {missing[0]}/{count} -o FILE.parquet`"
        )


def options_for(wanted: Options, made: Options) -> Options:
    """The options of joined parts: those they were made with, and the command's for what is made of all logs.

    Raises:
        UsageError: where the command asks for other numbers than the parts hold.
    """
    defaults = Settings(dict(DEFAULTS), dict.fromkeys(DEFAULTS, "default")).options()
    asked = [name for name in different_options(wanted, made) if name in different_options(wanted, defaults)]
    if asked:
        raise UsageError(
            f"these parts were made with other options than this command's ({', '.join(asked)}), and their logs are "
            "not here: leave the option out, or make the parts anew with it"
        )
    return replace(made, **{name: getattr(wanted, name) for name in OF_ALL_LOGS})
