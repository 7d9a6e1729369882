"""The pairing of cases, as comparisons use it: :mod:`perflog.cases.pairs`, which pictures of versions use too."""

from __future__ import annotations

from perflog.cases.pairs import NEARLY, OTHER_WORK, VERSION, Pair, Unpaired, paired

__all__ = ["NEARLY", "OTHER_WORK", "VERSION", "Pair", "Unpaired", "paired"]
