"""The words for what a training was: the keys that tell configurations apart, and the form that their values must fit.

A text that does not fit its fact's form is none of that fact, whoever says it: a log's dumped dictionary is no
accelerator, the path of a file of weights no model. Keys without a form are labels, which hold any text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from msgspec import Struct

from perflog.lazy_regex import lazy_regex

#: The keys that tell configurations apart, in the order of tables; any other key is a label and does so too.
CASE_KEYS = ("framework", "framework_version", "model", "precision", "batch_size", "nodes", "devices", "accelerator")
INTEGERS = frozenset(
    {
        "batch_size",
        "global_batch_size",
        "tokens_per_step",
        "devices",
        "devices_per_node",
        "nodes",
        "threads",
        "repeat",
        "epoch_steps",
    }
)
#: Metrics that are a part of the time of a step: lines print them beside it, in seconds a step.
STEP_PARTS = ("data_time",)
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
    if _is_nothing(text):
        return None
    form = FORMS.get(key)
    return form.spelled(text) if form is not None else text


def fitting(key: str, value: Any, own: Collection[str] = ()) -> Scalar | None:
    """The same, and None too when it does not fit the fact's form.

    Args:
        own: the names that the user gave to values, which fit whatever they are.
    """
    spelled = normal(key, value)
    form = FORMS.get(key)
    fits = form is None or spelled is None or form.fits(spelled) or spelled in own
    return spelled if fits else None


def misfit(key: str, value: Any, own: Collection[str] = ()) -> str:
    """What is expected of a fact that a value is none of, in words; empty where it fits, or says nothing.

    >>> misfit("precision", "O7").split(",")[0], misfit("precision", "float32"), misfit("recipe", "O7")
    ('expected one of fp64', '', '')
    """
    form = FORMS.get(key)
    if form is None or _is_nothing(str(value).strip().strip("'\"")) or fitting(key, value, own) is not None:
        return ""
    return f"expected {form.expected}"


def _is_nothing(text: str) -> bool:
    return not text or text.lower() in ("none", "null", "nan")


def size(text: str) -> float | None:
    """The number that a size is (``8,030,261,248``, ``124.34M``, ``1.2 billion``); None for another text."""
    match = _AMOUNT.fullmatch(text.strip().lower())
    return None if match is None else float(match[1].replace(",", "")) * 10.0 ** _POWERS[match[2]]


class Form(NamedTuple):
    """What the values of a fact look like.

    Attributes:
        expected: in words.
        spelled: makes of a text the value that is compared and shown; None where it cannot be one.
        fits: whether a value is one of the fact's.
    """

    expected: str
    spelled: Callable[[str], Scalar | None]
    fits: Callable[[Scalar], bool] = lambda _: True


def _counted(text: str) -> int | None:
    return whole_count(text.replace(",", ""))


def _without_separators(text: str) -> str:
    digits = text.replace(",", "")
    return digits if digits.isdecimal() else text


def _device_name(text: str) -> str:
    """A device's name without what a dumped dictionary has behind it; ``CPU`` in all of its spellings."""
    name = _NAME_ENDS.split(text, maxsplit=1)[0].strip()
    return CPU if _CPU.fullmatch(name) else name


def _is_device(name: Scalar) -> bool:
    return _DEVICE.fullmatch(str(name)) is not None and str(name).lower() not in _KINDS_OF_DEVICES


def _is_model(name: Scalar) -> bool:
    text = str(name)
    folder, _, last = text.rpartition("/")
    if _NO_MODEL.search(text) or len(text) > _LONGEST_NAME or folder.lower() in _FOLDERS:
        return False
    return last.lower() not in _ROLES_OF_FILES and any(char.isalpha() for char in last)


#: The device of a training without an accelerator.
CPU = "CPU"
_LONGEST_NAME = 100
_CPU = lazy_regex(r"(?:Place\()?cpu(?:Place)?(?:[:(]\d+\)?|\(\))?\)?", re.IGNORECASE)
#: Where a name ends in what is printed of it: at an escape sequence or a quote of a dumped dictionary.
_NAME_ENDS = lazy_regex(r"[\\\n\r\t\"']")
_DEVICE = lazy_regex(r"(?=.{0,99}[A-Za-z])\w[\w .,()/+@-]{0,79}")
_KINDS_OF_DEVICES = frozenset(
    {"cuda", "cuda:0", "gpu", "gpus", "npu", "xpu", "hip", "rocm", "mps", "device", "true", "false", "auto", "unknown"}
)
#: Paths, files by their endings, and remnants of dumped dictionaries.
_NO_MODEL = lazy_regex(
    r"^(?:[/~.]|[A-Za-z]:[\\/])|\\|[\n\r\t{}\"']|(?:^|/)[\w.~@+ -]+/[\w.@+ -]+/|"
    r"\.(?:pt|pth|pkl|ckpt|bin|safetensors|onnx|engine|pdparams|pdmodel|pdopt|h5|hdf5|keras|pb|tflite|gguf|ggml|msgpack|"
    r"npy|npz|params|json|jsonl|ya?ml|toml|ini|cfg|conf|prototxt|caffemodel|py|sh|txt|log|csv|png|jpe?g|gif|bmp|tiff?|"
    r"webp|svg|zip|tar|gz|t7|sif)$",
    re.IGNORECASE,
)
#: What files of weights are called by their use, and the folders that such files lie in.
_ROLES_OF_FILES = frozenset({
    "best", "last", "latest", "final", "init", "checkpoint", "checkpoints", "ckpt", "model", "models", "weights",
    "pretrained", "true", "false", "default", "auto", "unknown",
})  # fmt: skip
_FOLDERS = _ROLES_OF_FILES | {
    "runs", "output", "outputs", "results", "data", "logs", "tmp", "work_dirs", "configs", "cfg",
}  # fmt: skip
PRECISIONS = (
    "fp64", "fp32", "tf32", "fp16", "pure_fp16", "bf16", "pure_bf16", "fp8", "fp4", "int8", "amp",
)  # fmt: skip
_PRECISION = {
    "float64": "fp64", "double": "fp64", "64": "fp64", "64-true": "fp64",
    "float32": "fp32", "float": "fp32", "single": "fp32", "full": "fp32", "32": "fp32", "32-true": "fp32",
    "float16": "fp16", "half": "fp16", "16-true": "fp16",
    "bfloat16": "bf16", "bf16-true": "bf16", "bf16-mixed": "bf16",
    "float8": "fp8", "mxfp8": "fp8", "nvfp4": "fp4", "mxfp4": "fp4",
    "mixed": "amp", "16-mixed": "amp", "mixed_float16": "amp",
}  # fmt: skip
_VERSION = lazy_regex(r"(?!unknown$)[0-9A-Za-z][0-9A-Za-z.+_~-]{0,63}", re.IGNORECASE)
_AMOUNT = lazy_regex(r"([0-9][0-9,]*(?:\.[0-9]+)?) *(|k|m|b|g|t|thousand|million|billion|trillion)")
_POWERS = {"": 0, "k": 3, "t": 12, "m": 6, "b": 9, "g": 9, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_COUNT = Form("a whole number above 0 of at most 9 digits", _counted)
_COUNT_AS_TEXT = Form(_COUNT.expected, _without_separators, lambda value: whole_count(str(value)) is not None)
_SIZE = Form("a number such as 8,030,261,248 or 124.3M", str, lambda value: size(str(value)) is not None)
#: The form of each fact that has one.
FORMS = {
    **dict.fromkeys(INTEGERS, _COUNT),
    "repeat": Form("a whole number of at most 9 digits", lambda text: whole_count(text.replace(",", ""), least=0)),
    **dict.fromkeys(("micro_batch_size", "gradient_accumulation_steps"), _COUNT_AS_TEXT),
    **dict.fromkeys(
        ("sequence_length", "max_sequence_length", "parameters", "layers", "hidden_size", "ffn_hidden_size",
         "vocabulary_size", "experts"), _SIZE,
    ),
    "precision": Form(
        f"one of {', '.join(PRECISIONS)}; what else tells runs apart goes under a key of its own, such as recipe=O2",
        lambda text: _PRECISION.get(text.lower(), text.lower()), lambda value: value in PRECISIONS,
    ),
    "accelerator": Form(
        "the name of a device on one line, such as NVIDIA A100-SXM4-80GB or CPU", _device_name, _is_device
    ),
    "model": Form("the name of a model, no path and no file, such as resnet50 or org/llama-7b", str, _is_model),
    "framework_version": Form(
        "one word such as 2.5.1+cu124", str, lambda value: _VERSION.fullmatch(str(value)) is not None
    ),
}  # fmt: skip
