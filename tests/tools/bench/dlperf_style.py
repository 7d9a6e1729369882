"""The baseline: one script run in the manner of DLPerf's ``extract_*_logs.py``, for timing only.

Every file is read whole with ``readlines``, every line is searched with ``re.findall`` for one field, the
values go into a list, and the mean of records 20 to 119 is printed. Kept as plain as the scripts it stands for,
whose regexes have the form ``.*FIELD (.*?) UNIT`` (DLPerf, ``PaddlePaddle/resnet50v1.5/extract_paddle_logs.py``);
``--lean`` takes ``FIELD ([0-9.]+)`` instead, which is what a careful author would write.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

WARMUP_BATCHES = 20
TRAIN_BATCHES = 120
PADDLECLAS = r".*ips: (.*?) samples/sec"
DLLOGGER = r".*train.total_ips : (.*?) img/s"
LEAN_PADDLECLAS = r"ips: ([0-9.]+)"
LEAN_DLLOGGER = r"train.total_ips : ([0-9.]+)"
HEAD_LINES = 100


def extract_speeds(log_file: Path, dllogger: str, paddleclas: str) -> list[float]:
    """Every speed one log prints. DLPerf has a script per framework; here the first lines choose the field."""
    with log_file.open(encoding="utf-8", errors="replace") as f:
        lines = f.readlines()
    regex = dllogger if any("train.total_ips" in line for line in lines[:HEAD_LINES]) else paddleclas
    speeds = []
    for line in lines:
        found = re.findall(regex, line)
        if found:
            speeds.append(float(found[0]))
    return speeds


def main() -> None:
    """Print one line per log, and how many values were read in all (the benchmark checks that number)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log_dir", type=Path, required=True, help="a folder of *.log files, or one file")
    parser.add_argument("--lean", action="store_true", help="the simpler regexes")
    parser.add_argument("--regex", help="one regex for all logs")
    arguments = parser.parse_args()
    log_dir: Path = arguments.log_dir
    regexes = (LEAN_DLLOGGER, LEAN_PADDLECLAS) if arguments.lean else (DLLOGGER, PADDLECLAS)
    if arguments.regex:
        regexes = (arguments.regex, arguments.regex)
    records = 0
    for log_file in log_dir.glob("**/*.log") if log_dir.is_dir() else [log_dir]:
        speeds = extract_speeds(log_file, *regexes)
        window = speeds[WARMUP_BATCHES:TRAIN_BATCHES]
        records += len(speeds)
        print(log_file, {"average_speed": round(sum(window) / len(window), 2) if window else None})
    print("records:", records)


if __name__ == "__main__":
    main()
