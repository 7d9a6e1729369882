"""How a training ended, told by logs written by hand: every reason, and what is odd about one that ended well."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.campaign.plan import load_campaign
from perflog.campaign.progress import Completion, completion_of
from tests.campaign.test_campaign import campaign
from tests.support import catalog


def log_to(step: int) -> str:
    """A log whose last record is of that step, all at 80 samples per second."""
    record = "Training: -Speed 80.0000 samples/sec   Loss 0.5000   Epoch: 0   Global Step: {}   Required: 0 hours\n"
    return "".join(record.format(n) for n in range(5, step + 1, 5))


def ended(tmp_path: Path, text: str | bytes, status: int | None = 0, at_end: bool = False, *others: str) -> Completion:
    """The campaign asks for 20 steps, logged at every fifth, 5 of them warm-up, and 20 s at most."""
    log = tmp_path / "a_1.log"
    log.write_bytes(text.encode() if isinstance(text, str) else text)
    files = []
    for number, other in enumerate(others):
        (tmp_path / f"rank{number}").write_text(other)
        files.append(tmp_path / f"rank{number}")
    return completion_of(log, [*files, tmp_path / "none"], status, at_end, load_campaign(campaign(tmp_path)), catalog())


@pytest.mark.parametrize(
    ("text", "status", "others", "reason"),
    [
        ("a\nloss = nan\n", 0, (), "failed: NaN loss (line 2: loss = nan)"),
        ("a\nRuntimeError: CUDA out of memory.\n", 1, (), "OOM: line 2: RuntimeError: CUDA out of memory."),
        ("a\n", 1, ("b\nc\nstd::bad_alloc",), "OOM: line 3: std::bad_alloc"),
        ("a\n", None, (), "failed: hang: no end within 20 s; no steps logged"),
        ("a\nb\n", 3, (), "failed: crash: exit status 3; no steps logged; b"),
        ("a\n", 1, ("ValueError: x\nlast",), "failed: crash: exit status 1; no steps logged; ValueError: x"),
        ("", 1, (), "failed: crash: exit status 1; no steps logged; it printed nothing"),
        ("a\n", 128 + 6, (), "failed: crash: killed by SIGABRT; no steps logged; a"),
        (
            "a\n",
            128 + 9,
            (),
            "failed: crash: killed by SIGKILL (as the kernel does when memory runs out); no steps logged; a",
        ),
        ("a\n", 250, (), "failed: crash: exit status 250; no steps logged; a"),
        ("", 0, (), "failed: no steps logged (empty file)"),
    ],
)
def test_every_reason(tmp_path: Path, text: str, status: int | None, others: tuple[str, ...], reason: str) -> None:
    assert ended(tmp_path, text, status, False, *others) == Completion(reason)


def test_a_long_line_is_cut(tmp_path: Path) -> None:
    reason = ended(tmp_path, "Error: " + "x" * 500 + "\n", 1).reason
    assert reason.endswith("x…")
    assert len(reason.rpartition("; ")[2]) == 160


@pytest.mark.parametrize(
    ("status", "at_end", "remark"),
    [
        (0, False, ""),
        (0, True, ""),
        (134, True, "killed by SIGABRT after its last step"),
        (None, True, "killed at its time limit after its last step"),
    ],
)
def test_a_complete_log_counts_whatever_the_status(
    tmp_path: Path, status: int | None, at_end: bool, remark: str
) -> None:
    found = ended(tmp_path, log_to(20), status, at_end)
    assert (found.reason, found.unit, found.remark) == ("", "samples/s", remark)
    assert found.throughput == pytest.approx(80)


def test_a_log_that_may_lack_its_last_steps_needs_the_status_or_the_side_file(tmp_path: Path) -> None:
    reason = ended(tmp_path, log_to(20), 1, False).reason
    assert reason.startswith("failed: crash: exit status 1; 20 of 20 steps logged; Training: ")
    assert ended(tmp_path, log_to(15)).reason == "failed: the log is incomplete: 15 of 20 steps logged"
