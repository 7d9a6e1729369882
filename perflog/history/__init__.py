"""An extraction in, a campaign in a database, and the same extraction out again; a case's series over campaigns.

The history: every campaign's cases, runs and metrics in a database, for comparisons and series without the logs.

SQLite by default, PostgreSQL for a team; one schema and one set of statements for both (SQLAlchemy Core).

>>> import perflog
>>> from perflog import history
>>> history.save("history.sqlite", perflog.extract("logs/").extraction, "v2.5")  # doctest: +SKIP
>>> history.series("history.sqlite", {"model": "rn50", "devices": "8"})  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perflog.history.bisecting import Suspects, bisect
    from perflog.history.changed_cases import render_regressions
    from perflog.history.checking import Check, check
    from perflog.history.commits import Code, code_of
    from perflog.history.following import Part, Point, Series, parts, series
    from perflog.history.ledger import Event, EventKind, events
    from perflog.history.level_changes import Regressions, regressions
    from perflog.history.looks import acknowledge, look, note
    from perflog.history.pictures import draw_series
    from perflog.history.place import Database, default_database, name_of
    from perflog.history.publishing import publish
    from perflog.history.rendering import FORMATS, render_campaigns, render_events, render_series
    from perflog.history.saving import Campaign, Entry, Saved, campaigns, delete, load, save
    from perflog.history.site_pages import Site, site

__all__ = [
    "FORMATS", "Campaign", "Check", "Code", "Database", "Entry", "Event", "EventKind", "Part", "Point", "Regressions",
    "Saved", "Series", "Site", "Suspects", "acknowledge", "bisect", "campaigns", "check", "code_of", "default_database",
    "delete", "draw_series", "events", "load", "look", "name_of", "note", "parts", "publish", "regressions",
    "render_campaigns", "render_events", "render_regressions", "render_series", "save", "series", "site",
]  # fmt: skip
#: What each module gives; imported when it is used, as SQLAlchemy, Alembic, scipy and polars take their time.
_MODULES = {
    "following": ("Part", "Point", "Series", "parts", "series"),
    "bisecting": ("Suspects", "bisect"),
    "changed_cases": ("render_regressions",),
    "checking": ("Check", "check"),
    "commits": ("Code", "code_of"),
    "ledger": ("Event", "EventKind", "events"),
    "level_changes": ("Regressions", "regressions"),
    "looks": ("acknowledge", "look", "note"),
    "pictures": ("draw_series",),
    "place": ("Database", "default_database", "name_of"),
    "publishing": ("publish",),
    "rendering": ("FORMATS", "render_campaigns", "render_events", "render_series"),
    "saving": ("Campaign", "Entry", "Saved", "campaigns", "delete", "load", "save"),
    "site_pages": ("Site", "site"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"perflog.history.{module}"), name)
    raise AttributeError(f"module 'perflog.history' has no attribute {name!r}")
