"""Bars that nothing names as the training's: ``--as bar=…``, and excerpts of bars: ``--estimator since_start``."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from perflog.errors import UsageError
from perflog.extraction import Extraction, extract_paths
from perflog.formats.catalog import load_catalog
from perflog.formats.line import said_of
from perflog.notes import texts
from perflog.settings.config import settings
from perflog.settings.options import Amount, Options, Window


def clock(seconds: float) -> str:
    """As tqdm's ``format_interval``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def state(name: str, step: int, total: int, seconds: float, unit: str = "it") -> str:
    """One state of a bar, as tqdm's ``format_meter`` draws it."""
    rate, left = (step / seconds if seconds else 0.0), (seconds / step * (total - step) if step else 0.0)
    filled = 10 * step // total
    return (
        f"{name}{100 * step / total:3.0f}%|{'#' * filled}{' ' * (10 - filled)}| {step}/{total} "
        f"[{clock(seconds)}<{clock(left)}, {rate:5.2f}{unit}/s]"
    )


def drawn(
    name: str, total: int, per_step: float, seed: int, unit: str = "it", every: int = 7
) -> list[tuple[float, str]]:
    """(the second, the state) of a bar's refreshes."""
    rng, seconds, states = random.Random(seed), 0.0, [(0.0, state(name, 0, total, 0.0, unit))]
    for step in range(1, total + 1):
        seconds += rng.gauss(per_step, per_step / 20)
        if step % every == 0 or step == total:
            states.append((seconds, state(name, step, total, seconds, unit)))
    return states


def extracted(folder: Path, lines: list[str], *said: str, **options: object) -> Extraction:
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    chosen = Options(window=Window(Amount(0)), said=said, **options)  # type: ignore[arg-type]
    return extract_paths([folder / "train.log"], chosen, load_catalog())


# ----------------------------------------------------------------------------------------------------
# The bar that a user names.


@pytest.mark.parametrize(("said", "per_step"), [("bar=900", 0.25), ("bar=500", 0.4)])
def test_a_bar_without_a_name_is_said_by_its_total(said: str, per_step: float, tmp_path: Path) -> None:
    lines = [line for _, line in drawn("", 900, 0.25, 1) + drawn("", 500, 0.4, 2)]
    (run,) = extracted(tmp_path, lines, said).runs
    assert run.throughput.value == pytest.approx(1 / per_step, rel=0.02)
    assert run.throughput.unit == "steps/s"
    assert any(f"said by --as: bar {said[4:]}" in note for note in texts(run.notes))


@pytest.mark.parametrize(("said", "per_step"), [("bar=Working", 0.4), ("bar=processing", 0.25), ("bar=500", 0.4)])
def test_a_bar_is_said_by_its_name(said: str, per_step: float, tmp_path: Path) -> None:
    lines = [line for _, line in drawn("Processing: ", 900, 0.25, 1) + drawn("Working: ", 500, 0.4, 2)]
    (run,) = extracted(tmp_path, lines, said).runs
    assert run.throughput.value == pytest.approx(1 / per_step, rel=0.02)


def test_the_bars_that_are_drawn_between_are_left_out(tmp_path: Path) -> None:
    """After each hundred steps another bar of 20 steps of 2 s, in which the training's clock runs on."""
    lines, paused = list[str](), 0.0
    for seconds, line in drawn("", 900, 0.25, 1, every=10):
        step = int(re.findall(r"(\d+)/900", line)[0])
        lines.append(state("", step, 900, seconds + paused))
        if step and step % 100 == 0:
            lines += [other for _, other in drawn("Other: ", 20, 2.0, step, every=4)]
            paused += 40.0
    (run,) = extracted(tmp_path, lines, "bar=900").runs
    assert run.throughput.value == pytest.approx(4.0, rel=0.03)  # with them it is 1.5


@pytest.mark.parametrize(
    ("lines", "said", "reason"),
    [
        (drawn("Working: ", 500, 0.4, 2), "bar=Wrking", "no bar is called 'Wrking' .*; there are Working, 500"),
        (drawn("Working: ", 500, 0.4, 2, unit="img"), "bar=Working", "the bar Working counts img and no steps"),
        (drawn("", 500, 0.4, 2, unit="epoch"), "bar=500", "the bar 500 counts epoch and no steps"),
        ([(0.0, "step 1 loss 0.5"), (1.0, "step 2 loss 0.4")], "bar=500", "no bar .*; the log draws none"),
    ],
)
def test_what_fits_no_bar_is_answered(lines: list[tuple[float, str]], said: str, reason: str, tmp_path: Path) -> None:
    (skipped,) = extracted(tmp_path, [line for _, line in lines], said).skipped
    assert re.search(reason, skipped.reason)


@pytest.mark.parametrize("name", ["", "Working: "])
def test_the_reason_names_the_option(name: str, tmp_path: Path) -> None:
    lines = [line for _, line in drawn(name, 500, 0.4, 2)]
    (skipped,) = extracted(tmp_path, lines).skipped
    found = re.search(r"--as (bar=\S+)$", skipped.reason)
    assert found is not None
    said = found[1].replace("NAME", "Working")
    (run,) = extracted(tmp_path, lines, said).runs
    assert run.throughput.value == pytest.approx(2.5, rel=0.02)


@pytest.mark.parametrize("said", [("bar=a", "bar=b"), ("bar=a", "step=iter"), ("bar=a", "step {step}")])
def test_a_bar_is_said_once_and_alone(said: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"leave (?:one of the two|out what else)"):
        said_of(said)


# ----------------------------------------------------------------------------------------------------
# What an excerpt of a bar tells.

ONE = "Epoch 0:   1%|          | 795/77225 [9:07:58<878:01:48, 41.36s/it]"


def test_one_state_gives_the_mean_since_the_beginning(tmp_path: Path) -> None:
    (refused,) = extracted(tmp_path, [ONE]).runs
    assert refused.throughput.value is None
    assert refused.throughput.reason.endswith("--estimator since_start takes its mean since the beginning")
    (run,) = extracted(tmp_path, [ONE], estimator="since_start").runs
    assert run.throughput.value == pytest.approx(795 / (9 * 3600 + 7 * 60 + 58), rel=1e-9)
    assert (run.throughput.first_line, run.throughput.last_line, run.throughput.last_step) == (1, 1, 795)
    assert any("795 steps in 32878 s since the clock began" in note for note in texts(run.notes))


def test_two_late_states_name_the_option_too(tmp_path: Path) -> None:
    later = ONE.replace("795/", "796/").replace("9:07:58", "9:08:40")
    lines = [ONE, later]
    options = Options()
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    (run,) = extract_paths([tmp_path / "train.log"], options, load_catalog()).runs
    assert run.throughput.reason.endswith("--estimator since_start takes its mean since the beginning")


def test_a_bar_that_went_on_from_a_later_step_gives_none(tmp_path: Path) -> None:
    """The bar of a resumed training counts the steps of before and none of their time."""
    lines = [state("Epoch 0: ", 600 + step, 900, step * 0.5) for step in [3, *range(9, 299, 7)]]
    (run,) = extracted(tmp_path, lines, estimator="since_start").runs
    assert run.throughput.value is None
    assert run.throughput.reason.startswith("the clock began at a later step")


def test_whole_seconds_are_too_coarse_for_a_short_bar(tmp_path: Path) -> None:
    (run,) = extracted(tmp_path, [state("Epoch 0: ", 30, 900, 12.4)], estimator="since_start").runs
    assert run.throughput.value is None
    assert "whole seconds" in run.throughput.reason


def test_lines_without_such_a_clock_give_none(tmp_path: Path) -> None:
    lines = [f"step {n} loss 0.5 {600 + n % 70:.1f} samples/s" for n in range(10, 600, 10)]
    (run,) = extracted(tmp_path, lines).runs
    assert run.throughput.value is not None
    assert not [one for one in extracted(tmp_path, lines, estimator="since_start").runs if one.throughput.value]


def test_since_start_takes_no_window(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(ONE + "\n")
    with pytest.raises(UsageError, match="--warmup and --estimator since_start exclude each other"):
        settings({"estimator": "since_start", "warmup": "5"}, [str(tmp_path)]).options()
    assert settings({"estimator": "since_start"}, [str(tmp_path)]).options().window == Window(Amount(0))
