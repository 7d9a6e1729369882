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
    from perflog.history.following import Part, Series, parts, series
    from perflog.history.level_changes import Regressions, regressions, render_regressions
    from perflog.history.picture import draw_series
    from perflog.history.place import Database, default_database, name_of
    from perflog.history.points import Point
    from perflog.history.publishing import publish
    from perflog.history.rendering import FORMATS, Entry, campaigns, delete, render_campaigns, render_series
    from perflog.history.saving import Campaign, Saved, load, save
    from perflog.history.site_pages import Site, site

__all__ = [
    "FORMATS",
    "Campaign",
    "Database",
    "Entry",
    "Part",
    "Point",
    "Regressions",
    "Saved",
    "Series",
    "Site",
    "campaigns",
    "default_database",
    "delete",
    "draw_series",
    "load",
    "name_of",
    "parts",
    "publish",
    "regressions",
    "render_campaigns",
    "render_regressions",
    "render_series",
    "save",
    "series",
    "site",
]
#: Where each name is; imported when it is used, as SQLAlchemy, Alembic, scipy and polars take their time.
_MODULES = {
    "FORMATS": "rendering",
    "Campaign": "saving",
    "Database": "place",
    "Entry": "rendering",
    "Part": "following",
    "Point": "points",
    "Regressions": "level_changes",
    "Saved": "saving",
    "Series": "following",
    "Site": "site_pages",
    "campaigns": "rendering",
    "default_database": "place",
    "delete": "rendering",
    "draw_series": "picture",
    "load": "saving",
    "name_of": "place",
    "parts": "following",
    "publish": "publishing",
    "regressions": "level_changes",
    "render_campaigns": "rendering",
    "render_regressions": "level_changes",
    "render_series": "rendering",
    "save": "saving",
    "series": "following",
    "site": "site_pages",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(f"perflog.history.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'perflog.history' has no attribute {name!r}")
