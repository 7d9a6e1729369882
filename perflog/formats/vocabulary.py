"""The words for what a training was: the keys that tell configurations apart, and the form of their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: The keys that tell configurations apart, in the order of tables; any other key is a label and does so too.
CASE_KEYS = ("framework", "framework_version", "model", "precision", "batch_size", "nodes", "devices", "accelerator")
INTEGERS = frozenset(
    {"batch_size", "global_batch_size", "tokens_per_step", "devices", "devices_per_node", "nodes", "threads", "repeat"}
)
SOURCES = ("command line", "config", "log", "path", "machine", "parser")
_PRECISION = {
    "float32": "fp32",
    "single": "fp32",
    "fp32": "fp32",
    "float16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
    "mixed": "amp",
}

Scalar = str | int


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement about a run: a key, a value, who says so and where (a line number or an option).

    ``above``: a folder says it that stands above the path which the user gave.
    """

    key: str
    value: Scalar
    source: str
    where: str = ""
    above: bool = False


#: More digits than any count of devices or samples has; a longer text is an identifier. The product of two such counts
#: still fits a column of a frame.
_MOST_DIGITS = 9


def whole_count(digits: str, least: int = 1) -> int | None:
    """A whole number of ``least`` or more; None for other texts (``²`` is a digit to Python, but no number)."""
    if not digits.isascii() or not digits.isdigit() or len(digits) > _MOST_DIGITS:
        return None
    return int(digits) if int(digits) >= least else None


def normal(key: str, value: Any) -> Scalar | None:
    """A value in the form that is compared and shown; None when it is none."""
    text = str(value).strip().strip("'\"")
    if not text or text.lower() in ("none", "null", "nan"):
        return None
    if key in INTEGERS:
        return whole_count(text.replace(",", ""), least=0 if key == "repeat" and text == "0" else 1)
    if key == "precision":
        return _PRECISION.get(text.lower(), text.lower())
    return text
