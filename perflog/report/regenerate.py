"""Markdown files in, the same files with all their regions made anew out; nothing is written before all are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perflog.errors import PerflogError
from perflog.files import write_atomically
from perflog.report.changes import Change, changes
from perflog.report.extractions import Extractions
from perflog.report.recipe import Recipes, confined
from perflog.report.regions import RegionText, filled, text_of
from perflog.settings.confinement import leads_out


@dataclass(frozen=True, slots=True)
class RegeneratedFile:
    """A file's text as it is and as its logs make it.

    Attributes:
        old, new: the two texts.
        keys: for every region, how many first cells of its table's rows name the row; 0 for no table.
    """

    path: Path
    old: str = field(repr=False)  # whole files, which no notebook need show
    new: str = field(repr=False)
    keys: tuple[int, ...]

    @property
    def regions(self) -> int:
        """How many regions it has."""
        return len(self.keys)

    def changes(self) -> list[Change]:
        """Every cell, and every line outside of tables, that its logs make otherwise."""
        return changes(self.old, self.new, str(self.path), self.keys) if self.old != self.new else []


@dataclass(frozen=True, slots=True)
class Regenerated:
    """What regeneration gives.

    Attributes:
        files: all files, in the order given.
        pictures: by file, the pictures that differ from what is there.
    """

    files: tuple[RegeneratedFile, ...]
    pictures: Mapping[Path, bytes]

    @property
    def stale(self) -> list[RegeneratedFile]:
        """The files whose text differs from their logs."""
        return [file for file in self.files if file.old != file.new]

    @property
    def up_to_date(self) -> bool:
        """Whether no text and no picture differs from the logs."""
        return not self.stale and not self.pictures

    @property
    def regions(self) -> int:
        """How many regions all files have."""
        return sum(file.regions for file in self.files)

    def write(self) -> None:
        """Write the pictures and texts that differ, each file whole or not at all."""
        for picture, data in self.pictures.items():
            write_atomically(picture, data)
        for file in self.stale:
            write_atomically(file.path, file.new)


def regenerate(paths: Sequence[Path], extractions: Extractions, allowed: Sequence[Path] = ()) -> Regenerated:
    """Make all regions of all files.

    A file's recipes read and write in its repository alone, for others may have written them.

    Args:
        allowed: folders outside that recipes may use too.

    Raises:
        PerflogError: for a file that is no UTF-8 text, or a link that leads out of its repository, a marker out of
            place, or a recipe that fails, also where one of its logs cannot be read; with the file and line.
    """
    pictures: dict[Path, bytes] = {}
    files = [_regenerated(path, extractions, allowed, pictures) for path in paths]
    differing = {file: data for file, data in pictures.items() if not _is(file, data)}
    return Regenerated(tuple(files), differing)


def _is(file: Path, data: bytes) -> bool:
    """Whether a file holds these bytes."""
    return file.is_file() and file.stat().st_size == len(data) and file.read_bytes() == data


def _regenerated(
    path: Path, extractions: Extractions, allowed: Sequence[Path], pictures: dict[Path, bytes]
) -> RegeneratedFile:
    """One file; the pictures of its recipes go into ``pictures``. Raises PerflogError as :func:`regenerate` does."""
    if leads_out(path):
        raise PerflogError(f"{path}: expected a file of its repository, found a link out of it; name the file itself")
    recipes = Recipes(path.parent, extractions, confined(path.parent, allowed), pictures)
    made: list[RegionText] = []

    def make(recipe: str) -> RegionText:
        made.append(recipes.make(recipe))
        extractions.require_all_read("published")
        return made[-1]

    old = text_of(path)
    new, _ = filled(old, str(path), make)
    keys = tuple(text.keys for text in reversed(made))  # regions are made from the last to the first
    return RegeneratedFile(path, old, new, keys)
