"""perflog: numbers that can be trusted from the training logs of deep-learning frameworks.

>>> import perflog
>>> result = perflog.extract("fixtures/seed004/logs_fp32", warmup=100, steps=100)  # doctest: +SKIP
>>> result.cases  # a polars frame, one row per case  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perflog._version import __version__

if TYPE_CHECKING:
    from perflog.api import Extracted, extract

__all__ = ["Extracted", "__version__", "extract"]


def __getattr__(name: str) -> Any:
    if name in ("extract", "Extracted"):  # polars is imported only when it is needed
        from perflog import api

        return getattr(api, name)
    raise AttributeError(f"module 'perflog' has no attribute {name!r}")
