"""A published table and its logs in, a judgement of every cell out.

======================  ==============================================================================
``document``            a Markdown file or page as tables and links
``html_tables``         HTML as headings, lines and tables
``words``               what the words of a report say
``claims``              every number of its tables of results, with the configuration it is said to be of
``evidence``            what the logs give, by every rule that published reports are known to have used
``candidates``          which logs may be a claim's, by what it says and what reports link to
``judgement``           what is said of a cell: whether numbers agree, and by how much they differ
``recipes``             tables that perflog made, held against their recipes
``judge``               the verdict on each claim
``cells``               cells against cells: contradictions, and speedups against throughputs
``slips``               suspicions what happened
``report``              an audit as text, Markdown, JSON, JUnit XML and annotations
``auditing``            all of it
======================  ==============================================================================

>>> from pathlib import Path
>>> from perflog import audit
>>> from perflog.logs.find import find_logs
>>> audit.audit(audit.documents([Path("README.md")]), find_logs(["logs/"]))  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perflog.audit.auditing import audit, documents
    from perflog.audit.claims import Claim
    from perflog.audit.evidence import Evidence, RuleValue
    from perflog.audit.judgement import FAILING, VERDICTS, Judgement
    from perflog.audit.report import FORMATS, failing, render

__all__ = [
    "FAILING",
    "FORMATS",
    "VERDICTS",
    "Claim",
    "Evidence",
    "Judgement",
    "RuleValue",
    "audit",
    "documents",
    "failing",
    "render",
]
#: Where each name is; imported when it is used, as reading logs needs polars.
_MODULES = {
    "FAILING": "judgement",
    "FORMATS": "report",
    "VERDICTS": "judgement",
    "Claim": "claims",
    "Evidence": "evidence",
    "Judgement": "judgement",
    "RuleValue": "evidence",
    "audit": "auditing",
    "documents": "auditing",
    "failing": "report",
    "render": "report",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(f"perflog.audit.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'perflog.audit' has no attribute {name!r}")
