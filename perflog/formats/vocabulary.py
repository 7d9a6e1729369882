"""The words for what a training was: the keys that tell configurations apart, and the form of their values."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

#: The keys that tell configurations apart, in the order of tables; any other key is a label and does so too.
CASE_KEYS = ("framework", "framework_version", "model", "precision", "batch_size", "nodes", "devices", "accelerator")
INTEGERS = frozenset(
    {"batch_size", "global_batch_size", "tokens_per_step", "devices", "devices_per_node", "nodes", "threads", "repeat"}
)
#: The facts that decide on numbers and on cases; any other key is a label of the user's own.
FACTS = (
    *CASE_KEYS, *sorted(INTEGERS - set(CASE_KEYS)), "micro_batch_size", "gradient_accumulation_steps",
    "sequence_length", "parameters",
)  # fmt: skip
#: What else facts are called, by other programs and by people.
_OTHER_NAMES = {
    "gpu": "devices", "gpus": "devices", "npus": "devices", "cards": "devices", "ranks": "devices",
    "world_size": "devices", "num_gpus": "devices", "bs": "batch_size", "batch": "batch_size",
    "batchsize": "batch_size", "bsz": "batch_size", "dtype": "precision", "seq_len": "sequence_length",
    "seqlen": "sequence_length", "seq_length": "sequence_length", "machines": "nodes", "hosts": "nodes",
}  # fmt: skip
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


class Fact(Struct, frozen=True):
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


def misspelt(key: str) -> str:
    """The fact that a key seems to mean and is not; empty for a fact, and for a label of the user's own.

    >>> misspelt("device"), misspelt("gpus"), misspelt("devices"), misspelt("site")
    ('devices', 'devices', '', '')
    """
    import difflib

    if key in FACTS:
        return ""
    near = difflib.get_close_matches(key, FACTS, n=1, cutoff=0.8)
    return _OTHER_NAMES.get(key.lower()) or (near[0] if near else "")


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
