"""What a run was, from all that says so; found out once for logs that differ in the number of their repeat alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from perflog.formats.catalog import Catalog
from perflog.formats.paths import REPEAT
from perflog.formats.vocabulary import Fact, normal
from perflog.reading.reading import Reading
from perflog.runs.facts import Facts
from perflog.runs.machine import Machines
from perflog.runs.metadata import Metadata, Stem, merge
from perflog.runs.products import Extent, batch_on_lines, prints_two_scopes
from perflog.settings.options import Options


class Identities:
    """The metadata of many logs' runs under one catalogue and one set of options."""

    def __init__(
        self, catalog: Catalog, options: Options, machines: Machines, indexed: frozenset[Stem] = frozenset()
    ) -> None:
        """``indexed``: the names of logs whose number is a device's."""
        self._facts = Facts(catalog, options, machines, indexed)
        self._patterns = catalog.path_patterns
        self._repeat_is_given = REPEAT in options.set or REPEAT in options.config_set
        self._known: dict[tuple[object, ...], tuple[Metadata, str]] = {}
        self._folders: dict[str, str] = {}

    def of_run(self, reading: Reading, parser: str, extent: Extent) -> tuple[Metadata, str]:
        """(the metadata, the label: what no pattern understood of the path) of one run.

        Args:
            parser: whose measurements the run has.
            extent: the lines of the run.
        """
        says = any(fact.pattern.role == "metadata" for fact in reading.facts) or prints_two_scopes(reading, parser)
        if self._repeat_is_given or says:
            facts, label = self._facts.of_run(reading, parser, extent)
            return self._merged(facts), label
        folder, name = self._folder_and_name(reading.log.place)
        own = self._patterns.facts_of_part(name, "file")
        rest = tuple(item for item in own.values.items() if item[0] != REPEAT)
        printed = own.values.get(REPEAT)
        repeat = normal(REPEAT, printed) if printed is not None else None
        log = reading.log
        given = log.given != log.path and log.given  # of what was given nothing but its folder counts
        printed_batch = tuple(batch_on_lines(reading, parser, extent))
        place = (folder, os.path.dirname(log.path), given)  # noqa: PTH120
        key = (*place, parser, own.label, rest, repeat is None, printed_batch)
        known = self._known.get(key)
        if known is None:
            facts, label = self._facts.of_run(reading, parser, extent)
            known = self._known[key] = self._merged(facts), label
        metadata, label = known
        if repeat is not None and metadata.values.get(REPEAT) != repeat:
            values = {**metadata.values, REPEAT: repeat}
            metadata = replace(metadata, values=values)
        return metadata, label

    def _folder_and_name(self, place: str) -> tuple[str, str]:
        """(the whole path of the folder of a log's place, the log's name)."""
        if "\\" in place:  # a member of an archive that was made on Windows
            folder, _, name = os.path.abspath(place).replace("\\", "/").rpartition("/")  # noqa: PTH100
            return folder, name
        above, name = os.path.split(place)
        folder = self._folders.get(above, "")
        if not folder:
            folder = self._folders[above] = os.path.abspath(above).rstrip("/")  # noqa: PTH100 - once for many logs
        return folder, name

    def of_failure(self, reading: Reading, parser: str) -> tuple[Metadata, str]:
        """The same of a training that failed before its first measurement: the line that says so is no fact."""
        facts, label = self._facts.of_run(reading, parser, Extent(1, reading.lines, reading.lines, reading.lines))
        return self._merged(fact for fact in facts if fact.key != "failure"), label

    def _merged(self, facts: Iterable[Fact]) -> Metadata:
        return merge(facts, self._facts.own_names)
