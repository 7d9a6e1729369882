"""Makes the logs the benchmarks read: seeded, realistic, and fast to write (plain Python, about 1 µs a line)."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path

from tests.tools.bench.bars import FAMILIES
from tests.tools.bench.lines import RECORD_MARKS, mixed, ngc_records, paddle_records

#: Part of every data set's name: raise it when the text written here changes, or kept data would be reused.
VERSION = 2

FORMATS = ("paddle", "ngc")
CASES = ("1n1g", "1n2g", "1n4g", "1n8g", "2n4g", "2n8g", "4n8g", "8n8g", "16n8g", "32n8g")
MODELS_PER_FORMAT = 10
LOGS_PER_FOLDER = 100
SMALL_LOG_BYTES = 100_000
TINY_LOG_BYTES = 3_000
BAR_LOG_BYTES = 70_000


@dataclass(frozen=True, slots=True)
class Data:
    """One data set: a log or a folder of logs, and what is in it."""

    path: Path
    files: int
    size: int
    lines: int
    records: int


@dataclass(slots=True)
class Tally:
    """What was written so far."""

    files: int = 0
    size: int = 0
    lines: int = 0
    records: int = 0


def dense_log(work: Path, size: int) -> Data:
    """One PaddleClas log, nine lines in ten a record."""
    return _one_log(work, f"dense-{size}", size, matching=9, out_of=10)


def sparse_log(work: Path, size: int) -> Data:
    """One PaddleClas log, one line in a thousand a record."""
    return _one_log(work, f"sparse-{size}", size, matching=1, out_of=1000)


def small_logs(work: Path, scale: float) -> Data:
    """A tree ``model/XnYg/*.log`` of 200 folders and, at scale 1, 20,000 logs of two formats."""
    per_folder = max(1, round(LOGS_PER_FOLDER * scale))

    def write(folder: Path, tally: Tally) -> Path:
        for kind in FORMATS:
            for model in range(MODELS_PER_FORMAT):
                for case in CASES:
                    _write_case(folder / f"resnet50-{kind}-{model:02}" / case, kind, case, per_folder, tally)
        return folder

    return _made_once(work, f"small-{per_folder}", write)


def packed_logs(work: Path, size: int) -> list[Data]:
    """The dense log of that size in .gz and in .zst."""
    plain = dense_log(work, size)
    packed = []
    for ending, command in (("gz", ["gzip", "-1", "-k", "-c"]), ("zst", [sys.executable, "-c", _ZSTD])):
        path = plain.path.with_name(f"{plain.path.name}.{ending}")
        if not path.exists():
            with path.with_suffix(".part").open("wb") as out:
                subprocess.run([*command, str(plain.path)], stdout=out, check=True)
            path.with_suffix(".part").rename(path)
        packed.append(replace(plain, path=path, size=path.stat().st_size))
    return packed


#: Compresses a file to standard output, as the zstd program does.
_ZSTD = "import sys, zstandard; zstandard.ZstdCompressor(1).copy_stream(open(sys.argv[1], 'rb'), sys.stdout.buffer)"


def tiny_logs(work: Path, count: int) -> Data:
    """A folder of logs of 3 kB: so many repeats of ten cases."""

    def write(folder: Path, tally: Tally) -> Path:
        for number in range(count):
            case = folder / f"resnet50-paddle-{number // 10_000:02}" / CASES[number % 10]
            case.mkdir(parents=True, exist_ok=True)
            records = paddle_records(random.Random(f"tiny {number}"), 32)
            path = case / f"rn50_b32_fp32_{1 + number // 10}.log"
            _write_log(path, chain([_own_line(number)], mixed(records, 9, 10)), TINY_LOG_BYTES, "paddle", tally)
        return folder

    return _made_once(work, f"tiny-{count}", write)


def bar_logs(work: Path, family: str, count: int) -> Data:
    """A folder of logs of one family of progress bars; its records are what the lean script's regex finds."""
    of = FAMILIES[family]
    regex = re.compile(of.regex)

    def write(folder: Path, tally: Tally) -> Path:
        for number in range(count):
            pieces, size = [_own_line(number)], 0
            for piece in of.pieces(random.Random(f"{family} {number}")):
                pieces.append(piece)
                size += len(piece.encode())
                if size >= BAR_LOG_BYTES:
                    break
            text = "".join(pieces) + "\n"
            (folder / f"run_{number}.log").write_text(text, encoding="utf-8", newline="")
            tally.files += 1
            tally.size += len(text.encode())
            lines = re.split("[\\n\\r]", text)  # as Python reads lines, and the script with it
            tally.lines += len(lines)
            tally.records += sum(regex.search(line) is not None for line in lines)
        return folder

    return _made_once(work, f"bars-{family}-{count}", write)


def _one_log(work: Path, name: str, size: int, matching: int, out_of: int) -> Data:
    def write(folder: Path, tally: Tally) -> Path:
        path = folder / "paddleclas.log"
        records = paddle_records(random.Random(name), batch_size=256)
        _write_log(path, mixed(records, matching, out_of), size, "paddle", tally)
        return path

    return _made_once(work, name, write)


def _write_case(folder: Path, kind: str, case: str, logs: int, tally: Tally) -> None:
    """The logs of one case: five batch sizes, two precisions, and as many repeats as it takes."""
    folder.mkdir(parents=True)
    nodes, devices_per_node = case.removesuffix("g").split("n")
    for n in range(logs):
        batch_size, precision, repeat = 32 * (1 + n % 5), ("fp32", "amp")[n // 5 % 2], 1 + n // 10
        path = folder / f"rn50_b{batch_size}_{precision}_{repeat}.log"
        rng = random.Random(f"{folder.parent.name}/{case}/{path.name}")
        over_all = batch_size * int(nodes) * int(devices_per_node)
        records = paddle_records(rng, batch_size) if kind == "paddle" else ngc_records(rng, over_all)
        own_line = _own_line(rng.getrandbits(64))
        _write_log(path, chain([own_line], mixed(records, 9, 10)), SMALL_LOG_BYTES, kind, tally)


def _own_line(number: int) -> str:
    """A line that no other log has: of two logs with one text the second would be left out as a copy."""
    return f"Corrupt JPEG data: {number} extraneous bytes before marker 0xd9\n"


def _write_log(path: Path, lines: Iterator[str], size: int, kind: str, tally: Tally) -> None:
    """Write whole lines until the log has ``size`` bytes or a little more."""
    written, block = 0, min(10_000, max(10, size // 5_000))
    with path.open("wb") as file:
        while written < size:
            chosen = list(islice(lines, block))
            text = "".join(chosen)
            written += file.write(text.encode("ascii"))
            tally.lines += len(chosen)
            tally.records += text.count(RECORD_MARKS[kind])
    tally.size += written
    tally.files += 1


def _made_once(work: Path, name: str, write: Callable[[Path, Tally], Path]) -> Data:
    """Reuse a data set whose description lies beside it, else write it; the description is written last."""
    folder = work / f"{name}-v{VERSION}"
    described = folder.with_suffix(".json")
    if described.exists():
        known = json.loads(described.read_text(encoding="utf-8"))
        return Data(**{**known, "path": Path(known["path"])})
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tally = Tally()
    path = write(folder, tally)
    data = Data(path, **asdict(tally))
    described.write_text(json.dumps({**asdict(data), "path": str(path)}), encoding="utf-8")
    return data
