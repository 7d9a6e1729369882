"""A published table and its logs in, a judgement of every cell out.

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
