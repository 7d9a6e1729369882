"""A log's result depends on nothing but the log and the options: not on its neighbours, on threads, or on other lines."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perflog.notes import texts
from perflog.runs.run import Run
from tests.support import FIXTURES, extracted, mostly_long, parser_fixtures

#: Lines that no format measures anything on.
NOISE = (
    b"W0802 20:45:39.231544 17493 gpu_resources.cc:61] Please NOTE: device: 0, GPU Compute Capability: 7.0\n",
    b"/usr/lib/python3/site-packages/paddle/nn/norm.py:712: UserWarning: the global mean and variance are tracked\n",
    b"v100-07:17493:17611 [0] NCCL INFO Channel 00/02 :    0   1   2   3   4   5   6   7\n",
    "数据加载完成 — Übung “quotes” 🚀\n".encode(),
    b"\n",
    b"    warnings.warn(message)\n",
)
LOGS = [log for _, log, _ in parser_fixtures()]


#: Parsers, and names, of files that are tables by their content, as TensorBoard's are records.
TABLES = ("metrics_csv", "mlflow", "progress")


def numbers(runs: Iterable[Run]) -> list[Any]:
    """All that is said of runs but where it stands: values, facts and notes, with line numbers taken out."""
    return [
        (
            run.parser,
            dict(run.values),
            {name: (m.value, m.unit, m.used, m.excluded, no_lines(m.reason)) for name, m in run.metrics.items()},
            [no_lines(note) for note in texts(run.notes)],
        )
        for run in runs
    ]


def no_lines(text: str) -> str:
    return re.sub(r"\blines? [0-9]+(?: (?:and|to) [0-9]+)?", "line", text)


def result(*paths: Path) -> tuple[Mapping[str, list[Any]], Mapping[str, str]]:
    """(what is said of each log's runs, why each other file has none)."""
    extraction = extracted(*paths, warmup="1records")
    by_log: dict[str, list[Run]] = {}
    for run in sorted(extraction.runs, key=lambda run: run.first_line):
        by_log.setdefault(run.log.name, []).append(run)
    skipped = {skipped.log.name: no_lines(skipped.reason) for skipped in extraction.skipped}
    return {name: numbers(runs) for name, runs in by_log.items()}, skipped


@cache
def alone(log: Path) -> Any:
    """A fixture's result when it is read alone."""
    runs, skipped = result(log)
    return runs.get(str(log), skipped.get(str(log)))


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    # of two accounts of one training, run.log and run.log.json, one counts
    chosen=st.lists(
        st.sampled_from(LOGS), min_size=2, max_size=30, unique_by=lambda log: log.with_name(log.name.split(".")[0])
    ),
    threads=st.sampled_from(["1", "3"]),
)
def test_a_log_says_the_same_among_others(chosen: list[Path], threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLOG_THREADS", threads)
    monkeypatch.setattr("perflog.reading.schedule.BATCH_LOGS", 1 + len(chosen) // 3)
    runs, skipped = result(*chosen)
    for log in chosen:
        assert runs.get(str(log), skipped.get(str(log))) == alone(log), log


def with_noise(text: bytes, size: int, rng: random.Random) -> bytes:
    """The text with at least ``size`` bytes of noise in front, in between or behind, never between equal lines."""
    lines = text.splitlines(keepends=True)
    places = [place for place in range(len(lines) + 1) if _may_part(lines, place)]
    parts = []
    for place in sorted(rng.choice([0, rng.choice(places), len(lines)]) for _ in range(rng.randint(1, 3))):
        noise = b"".join(rng.choices(NOISE, k=1 + size // 300))
        parts.append((place, noise * (1 + size // max(1, len(noise)))))
    out, last = [], 0
    for place, noise in parts:
        if place == len(lines) and lines and not lines[-1].endswith(b"\n"):
            continue
        out += [*lines[last:place], noise]
        last = place
    return b"".join([*out, *lines[last:]])


def _may_part(lines: list[bytes], place: int) -> bool:
    """Formats without step numbers tell a line printed twice by its standing right behind the other."""
    return not 0 < place < len(lines) or (lines[place - 1] != lines[place] and b"\n" in lines[place - 1])


def is_plain(text: bytes) -> bool:
    beginnings = (b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b", b"PK", b"\x28\xb5\x2f\xfd")
    return b"\x00" not in text[:4] and not text.startswith(beginnings)


@pytest.mark.parametrize("first", mostly_long(range(5), 5))
def test_lines_that_measure_nothing_change_nothing(first: int, tmp_path: Path) -> None:
    for log in LOGS[first::5]:
        rng, text = random.Random(log.relative_to(FIXTURES).as_posix()), log.read_bytes()
        if not is_plain(text) or not {log.parent.name, log.stem}.isdisjoint(TABLES):
            continue  # other lines would make another file of a table
        for number, size in enumerate((1000, 20_000)):
            copy = tmp_path / str(number) / log.relative_to(FIXTURES)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(with_noise(text, size, rng))
            runs, skipped = result(copy)
            assert runs.get(str(copy), skipped.get(str(copy))) == alone(log), log


@pytest.mark.parametrize("name", ["paddleclas/static.log", "ngc_pyt_convnets/mpirun.txt"])
def test_megabytes_of_other_lines_change_nothing(name: str, tmp_path: Path) -> None:
    log = next(log for log in LOGS if str(log).endswith(name))
    copy = tmp_path / log.relative_to(FIXTURES)
    copy.parent.mkdir(parents=True)
    copy.write_bytes(with_noise(log.read_bytes(), 20 << 20, random.Random(name)))
    runs, skipped = result(copy)
    assert runs.get(str(copy), skipped.get(str(copy))) == alone(log)


@pytest.mark.long
def test_the_largest_of_a_million_is_found(tmp_path: Path) -> None:
    """A summary line that comes again and again: ``pick = max`` is the maximum of all of them."""
    lines = [f"Epoch[{n}] Validation-accuracy={0.1 + 1e-7 * (n % 977):.7f}\n" for n in range(300_000)]
    for place in (3, 150_123, 299_990):
        text = [*lines]
        text[place] = "Epoch[1] Validation-accuracy=0.9312345\n"
        log = tmp_path / f"at{place}.log"
        log.write_text(
            "Epoch[0] Batch [20]\tSpeed: 100.0 samples/sec\nEpoch[0] Batch [40]\tSpeed: 101.0 samples/sec\n"
            + "".join(text)
        )
        parser = tmp_path / "parsers"
        parser.mkdir(exist_ok=True)
        source = (FIXTURES.parent / "parsers" / "mxnet_speedometer.toml").read_text()
        (parser / "mxnet_speedometer.toml").write_text(
            source.replace('quantity = "accuracy"', 'quantity = "accuracy"\npick = "max"')
        )
        from perflog.extraction import extract_paths
        from perflog.formats.catalog import load_catalog
        from tests.support import options

        extraction = extract_paths([log], options(warmup="0records"), load_catalog([parser]))
        assert extraction.runs[0].metrics["accuracy"].value == 0.9312345
        shutil.rmtree(parser)
