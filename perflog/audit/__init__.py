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
    from perflog.audit.judgement import CellVerdict, Judgement
    from perflog.audit.report import FORMATS, failing, render

__all__ = [
    "FORMATS", "CellVerdict", "Claim", "Evidence", "Judgement", "RuleValue", "audit", "documents", "failing", "render",
]  # fmt: skip
#: What each module gives; imported when it is used, as reading logs needs polars.
_MODULES = {
    "auditing": ("audit", "documents"),
    "claims": ("Claim",),
    "evidence": ("Evidence", "RuleValue"),
    "judgement": ("CellVerdict", "Judgement"),
    "report": ("FORMATS", "failing", "render"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"perflog.audit.{module}"), name)
    raise AttributeError(f"module 'perflog.audit' has no attribute {name!r}")
