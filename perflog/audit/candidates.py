"""Which logs may be a claim's: none that conflicts with what it says, and of the others the nearest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perflog.audit.claims import SIZES, Claim
from perflog.audit.evidence import Evidence
from perflog.audit.links import target_of
from perflog.audit.words import REDUCED
from perflog.formats.vocabulary import Scalar

#: What tells configurations apart, where both sides say it.
COMPARED = (
    "framework", "precision", "batch_size", "global_batch_size", "devices", "nodes", "threads", "accelerator", "reader",
    "mode", "framework_version",
)  # fmt: skip
#: How well a claim that names the log's model outright names it: more than any name has letters.
_NAMED = 1000


def candidates_of(claim: Claim, evidence: Sequence[Evidence]) -> list[Evidence]:
    """The cases and absent logs that may be the claim's: none conflicts with it, and none is nearer."""
    if claim.number is None or claim.reason:
        return []
    return nearest_of(claim, [log for log in evidence if fits(claim, log)])


def nearest_of(claim: Claim, fitting: Sequence[Evidence]) -> list[Evidence]:
    """Those of the logs that fit a claim which are nearest to it."""
    folder = target_of(claim.path, claim.link)
    if folder is not None and folder.exists():
        fitting = [log for log in fitting if any(_below(place, folder) for place in log.places)]
    if not fitting:
        return []
    own = claim.path.resolve().parent
    nearness = [_nearness(claim, own, log) for log in fitting]
    best = max(nearness)
    return [log for log, near in zip(fitting, nearness, strict=True) if near == best]


def fits(claim: Claim, log: Evidence, but: str = "") -> bool:
    """Whether nothing that both say conflicts, but for the key ``but``."""
    size = [key for key in SIZES if key in claim.facts]
    if size and not any(key in log.facts or any(key in also for also in log.also) for key in size):
        return False
    return all(_same(key, claim.facts[key], log) for key in COMPARED if key in claim.facts and key != but)


def topic_of(claim: Claim, log: Evidence) -> int:
    """How well the claim's words name the model of the log: the length of the longest name that stands in both."""
    model = claim.facts.get("model")
    folders = [folder for path in log.paths for folder in Path(path).parts[-6:-1]]
    names = {_letters(str(name)) for name in (log.facts.get("model", ""), *folders)}
    if model is not None and any(_letters(str(model)) in name for name in names if name):
        return _NAMED
    text = _letters(claim.topic)
    return max((len(name) for name in names if len(name) > 2 and name in text), default=0)


def _same(key: str, claimed: Scalar, log: Evidence) -> bool:
    """Whether a log may be of the value claimed.

    It may when its own value is that, or a link's for what links name (precision, batch size), or none is known.
    """
    own = log.facts.get(key)
    linked = [also[key] for also in log.also if also.get(key) is not None]
    if own is None and not linked:
        return True
    if own is not None and key not in ("precision", "batch_size"):
        linked = []
    values = [str(value) for value in (own, *linked) if value is not None]
    if key == "precision" and str(claimed) in REDUCED:
        return any(value in REDUCED for value in values)
    if key == "framework_version":
        return any(value.startswith(str(claimed)) or str(claimed).startswith(value) for value in values)
    return any(value.lower() == str(claimed).lower() for value in values)


def _nearness(claim: Claim, own: Path, log: Evidence) -> tuple[Any, ...]:
    """How near a log is to a claim; ``own``: the claim's folder."""
    linked = claim.path in log.linked_from
    below = any(_below(place, own) for place in log.places)
    precision = claim.facts.get("precision")
    exact = log.facts.get("precision") == precision or any(also.get("precision") == precision for also in log.also)
    shared = sum(key in log.facts for key in ("reader", "mode") if key in claim.facts)
    return (topic_of(claim, log), linked, below, exact, shared)


def _letters(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def _below(place: Path, folder: Path) -> bool:
    return folder in place.parents or place == folder
