"""Python values in, the use cases called, objects with named fields out.

Every function takes the options of extraction by the names that they have on the command line, and means the same:

========================  ======================================================================================
``warmup``                steps left out at the start (20), or ``"2epochs"``, ``"10records"``, ``"30s"``,
                          ``"10%"``, ``"auto"``
``steps``                 how many steps after the warm-up, or ``"100records"``; all when None
``last``                  the last so many steps, in place of ``warmup`` and ``steps``
``estimator``             ``total``, ``mean``, ``median``, ``trimmed``, ``last``, ``reported`` or ``since_start``
``aggregate``             the centre over runs: ``median``, ``mean`` or ``olympic``
``values``                running means and clocks: ``differenced``, or as ``printed``
``baseline``              the case that speedups are relative to: ``{"devices": 1}``
``set``                   facts that logs and paths do not tell: ``{"batch_size": 32}``
``as_``                   what the lines of logs are: ``"step {step} … speed {rate:samples/s}"``, or keys such as
                          ``["step=iter", "rate=tokens_per_sec"]``, or the training's progress bar, ``"bar=Training"``
``without_slow``          ``True``: leave out the few slow records that rule a run's number, which notes name
``sampled``               ``True``: take single steps, printed one in several, as a sample of all
``convention``            the rule of a family of published reports
``parser``, ``parsers``   parsers to use alone, by name; folders with parsers of the user's own
========================  ======================================================================================

A result prints as one line; in a notebook it shows its tables or its picture. ``frame`` is a polars frame of its rows,
and ``to_pandas()`` a pandas frame where pandas is installed.

What is not given comes from the nearest ``perflog.toml``, as on the command line. Every function raises
:class:`perflog.errors.UsageError` for an option or a path that is not right, :class:`perflog.errors.PerflogError` for
what cannot be read, and :class:`TypeError` for an option that there is not.
"""

from __future__ import annotations

from perflog.api.auditing import Audit, audit
from perflog.api.campaigns import History, Measurement, Regressions, history, measure, regressions, save
from perflog.api.comparing import Comparison, Noise, compare, noise, plan
from perflog.api.logs import Explanations, Extracted, explain, extract, extract_on, extract_share, merge
from perflog.api.options import ExtractionOptions
from perflog.api.reports import Picture, Readme, Report, Table, plot, readme, report, table
from perflog.api.viewing import View, records, view
from perflog.show.document import json_schema

__all__ = [
    "Audit", "Comparison", "Explanations", "Extracted", "ExtractionOptions", "History", "Measurement", "Noise",
    "Picture", "Readme", "Regressions", "Report", "Table", "View", "audit", "compare", "explain", "extract",
    "extract_on", "extract_share", "history", "json_schema", "measure", "merge", "noise", "plan", "plot", "readme",
    "records", "regressions", "report", "save", "table", "view",
]  # fmt: skip
