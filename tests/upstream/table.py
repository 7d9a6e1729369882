"""Write tests/found/upstream.md: each program, its version, what the clock measured, and what perflog read.

python -m tests.upstream.table
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.upstream.judge import Expected, Judgement, expectations, judge, read_record
from tests.upstream.run import programs, read_environment

PAGE = Path(__file__).parents[1] / "found" / "upstream.md"
HEAD = """# Upstream as the judge

Real programs of today, as the package index has them, and example scripts as their repositories have them, train something
tiny on a CPU without any download, print what they print by default, and a clock of our own (`tests/upstream/clock.py`, a
callback or a wrapper in each program) measures the same steps. perflog must come within 1 % of the clock or give no number
for a reason that is true (`tests/upstream/test_upstream.py`, which reads the logs in `tests/upstream/logs/`).

`make upstream` makes the logs again: one virtual environment for each group of programs that can live together, 12 GB
in all, then one program after another, {minutes} minutes of running beside the installation. It is not part of the
tests; `python -m tests.upstream.run NAME` runs a single program, and `python -m tests.upstream.table` writes this page.

The clock's number is that of the steps that perflog used, evaluation and saving left out, where nothing else is said.

| program | versions | the clock | perflog | difference | step time | |
|---|---|---|---|---|---|---|
"""

FOOT = """
## Not here, and why

| program | why |
|---|---|
| PaddleClas 2.6.0 | its wheel lacks `ppcls.engine`, the trainer |
| timm 1.0.31 | its training program stands in the repository, not in the wheel |
| GluonNLP, fairseq, ESPnet, MaxText, PaddleDetection | not tried |

Torch comes as a build for CPUs. torchvision and torchaudio have none here: `tests/upstream/torchvision_operators.py` lets
torchvision be imported without its compiled operators, and SpeechBrain's program puts an empty torchaudio in its place;
neither is used in training. Mask R-CNN and TSM were trained with torch 2.14.1's build for CUDA, on the CPU. Training scripts
that stand in no package (`[sources]` in a program's head) are read from the folder that a variable names, and run as they are:
`tests/upstream/torch_script.py` and `jax_script.py` put the clock around their steps, and made-up data in the place of theirs.
`fabric_trainer` and `llms_from_scratch` call what their scripts define, with a configuration of ours.
"""


def versions(name: str) -> str:
    """The versions of what the program is about: the packages that its head pins, Python's left out."""
    environment = read_environment(name)
    pinned = [
        text.split("==")[0].split("[")[0]
        for text in environment.without_dependencies + environment.requires
        if "==" in text
    ]
    plumbing = {
        "numpy", "scipy", "setuptools", "torchvision", "tqdm", "webdataset", "tokenizers", "pandas", "pyarrow", "gql", "torchdata",
        "huggingface_hub", "tensordict", "torchmetrics", "hyperpyyaml", "datasets", "ultralytics-thop", "torchao",
        "mosaicml-cli", "torch-optimizer", "pytorch-ranger", "aistudio-sdk",
    }  # fmt: skip
    installed = read_record(name)["versions"]
    named = [package for package in pinned if package not in plumbing]
    return ", ".join(f"{package} {installed[package].partition('+')[0]}" for package in named[:4])


def share(value: float | None) -> str:
    """A difference in per cent; a dash where there is none."""
    return "–" if value is None else f"{100 * value:+.2f} %"


def remark(expected: Expected, judgement: Judgement) -> str:
    """What is to be said of a row: the refusal and why it is true, what was given by hand, what the number holds."""
    remarks = []
    if judgement.value is None:
        remarks.append(f"“{judgement.reason}”: {expected.because}")
    if expected.set:
        remarks.append("given: " + ", ".join(f"`--set {key}={value}`" for key, value in expected.set.items()))
    if expected.includes:
        remarks.append(f"with {' and '.join(expected.includes)}, and perflog says so")
    if expected.remark:
        remarks.append(expected.remark)
    if judgement.bounds and judgement.value is not None:
        remarks.append(f"perflog's bounds: {judgement.bounds[0]:.4g} to {judgement.bounds[1]:.4g}")
    return "; ".join(remarks)


def row(name: str, expected: Expected) -> str:
    """One line of the table."""
    judgement = judge(name, expected)
    number = "no number" if judgement.value is None else f"{judgement.value:.5g} {judgement.unit}"
    cells = [
        name, versions(name), f"{judgement.clock_value:.5g} {expected.unit}", number, share(judgement.difference),
        share(judgement.step_difference), remark(expected, judgement),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def page() -> str:
    """The whole page."""
    known = expectations()
    minutes = round(sum(read_record(name)["seconds"] for name in programs()) / 60)
    rows = [row(name, known[name]) for name in programs()]
    return HEAD.format(minutes=minutes) + "\n".join(rows) + "\n" + FOOT


if __name__ == "__main__":
    sys.exit(0 if PAGE.write_text(page(), encoding="utf-8") else 1)
