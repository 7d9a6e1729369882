"""Python values in, the use cases called, objects with named fields out.

Every function takes the options of extraction by the names that they have on the command line, and means the same:

========================  ======================================================================================
``warmup``                steps left out at the start (20), or ``"2epochs"``, ``"10records"``, ``"30s"``,
                          ``"10%"``, ``"auto"``
``steps``                 how many steps after the warm-up, or ``"100records"``; all when None
``last``                  the last so many steps, in place of ``warmup`` and ``steps``
``estimator``             ``total``, ``mean``, ``median``, ``trimmed``, ``last`` or ``reported``
``aggregate``             the centre over runs: ``median``, ``mean`` or ``olympic``
``values``                running means and clocks: ``differenced``, or as ``printed``
``baseline``              the case that speedups are relative to: ``{"devices": 1}``
``set``                   facts that logs and paths do not tell: ``{"batch_size": 32}``
``convention``            the rule of a family of published reports
``parser``, ``parsers``   parsers to use alone, by name; folders with parsers of the user's own
========================  ======================================================================================

What is not given comes from the nearest ``perflog.toml``, as on the command line. Every function raises
:class:`perflog.errors.UsageError` for an option or a path that is not right, :class:`perflog.errors.PerflogError` for
what cannot be read, and :class:`TypeError` for an option that there is not.
"""

from __future__ import annotations

from perflog.api.auditing import Audit, audit
from perflog.api.campaigns import History, history, save
from perflog.api.comparing import compare, noise, plan
from perflog.api.logs import Extracted, explain, extract, plot, readme, report, table
from perflog.api.options import ExtractionOptions

__all__ = [
    "Audit", "Extracted", "ExtractionOptions", "History", "audit", "compare", "explain", "extract", "history",
    "noise", "plan", "plot", "readme", "report", "save", "table",
]  # fmt: skip
