"""Options in, functions called, text out.

The command line: reads options, calls the stages, prints. Everything else is in other modules."""

from perflog.cli import audit, compare, history, logs, parsers, reports, run
from perflog.cli.base import app

__all__ = ["app", "audit", "compare", "history", "logs", "parsers", "reports", "run"]
