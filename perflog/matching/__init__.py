"""Clean text and a catalogue in, matches out: which pattern matched where, each line given to one parser.

Two engines do the same work: a compiled one (``scan.c``) and polars.
"""

from perflog.matching.engine import engine_description, engine_for
from perflog.matching.matches import Batch, Engine, Matches, Texts

__all__ = ["Batch", "Engine", "Matches", "Texts", "engine_description", "engine_for"]
