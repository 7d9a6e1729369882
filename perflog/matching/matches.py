"""The places where a pattern matched."""

from __future__ import annotations

#: Lines without a launcher's tag; their measurements count as the first rank's.
UNTAGGED, FIRST_RANK = -1, 0
