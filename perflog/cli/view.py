"""Which cases are shown, in which order, with which columns; and the table shown anew while logs grow."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn

from perflog.cli.output import emit, erase_lines, to_terminal, width_of
from perflog.settings.config import names_in, pairs

if TYPE_CHECKING:
    from perflog.export.case_table import Shown
    from perflog.extraction import Extraction
    from perflog.settings.config import Settings

#: Seconds between two looks at the logs.
EVERY = 1.0


@dataclass(frozen=True, slots=True)
class View:
    """What of an extraction is shown.

    Attributes:
        where: the cases with these values alone.
        order: fields by which the cases are sorted; empty: as they are.
        columns: these columns alone; empty: those that the format has by itself.
        wide: every column, with the ends of intervals.
        notes: every note, none, or (None) those without which a table would mislead.
    """

    where: Mapping[str, str] = field(default_factory=dict)
    order: str = ""
    columns: tuple[str, ...] = ()
    wide: bool = False
    notes: bool | None = None

    @classmethod
    def asked(cls, where: Sequence[str] | None, sort: str, columns: str, wide: bool, notes: bool | None = None) -> View:
        """The view that the options of these names ask for.

        Raises:
            UsageError: for a text of ``where`` without ``=``.
        """
        return cls(pairs(where or [], "where"), sort, names_in(columns), wide, notes)

    @property
    def shown(self) -> Shown:
        """The columns and notes of tables."""
        from perflog.export.case_table import Shown

        return Shown(self.columns, self.wide, self.notes)

    def of(self, extraction: Extraction) -> Extraction:
        """The extraction with the cases chosen, in the order asked for.

        Raises:
            UsageError: for a field or a value that no case has, with the nearest one.
        """
        if not self.where and not self.order:
            return extraction  # and the modules that make tables are not imported
        from perflog.cases.choosing import chosen
        from perflog.export.case_table import in_order

        cases = chosen(extraction.cases, self.where) if self.where else extraction.cases
        return replace(extraction, cases=in_order(cases, self.order) if self.order else cases)


def show_again_and_again(logs: Sequence[str], settings: Settings, view: View) -> NoReturn:
    """Show the table of cases whenever a log has grown, until the user ends it; the last table stays.

    On a terminal each table takes the place of the one before; elsewhere they follow on each other.

    Raises:
        KeyboardInterrupt: when the user ends it.
        UsageError: as reading the logs does.
    """
    from perflog.export.case_table import case_table
    from perflog.export.text import to_terminal as drawn
    from perflog.logs.find import find_logs
    from perflog.report.extractions import Extractions

    terminal, before, lines = to_terminal(None), None, 0
    while True:
        state = [(log.name, log.size, log.member) for log in find_logs(logs)]
        if state != before:
            extraction = view.of(Extractions().of(logs, settings))
            width = None if view.wide else width_of(terminal)
            text = drawn(case_table(extraction, view.shown), width, terminal)
            text += f"{time.strftime('%H:%M:%S')}, shown anew when a log grows; Ctrl-C ends it\n"
            if terminal:
                erase_lines(lines)
            emit(text if terminal or before is None else f"\n{text}", None, True)
            sys.stdout.flush()
            before, lines = state, text.count("\n")
        time.sleep(EVERY)
