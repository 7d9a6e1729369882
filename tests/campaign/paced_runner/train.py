"""A training without the training: it prints the log of one whose rate is known, in InsightFace's form, and may fail.

``RATES=8=100,16=110`` has the samples per second of each batch size, ``SPREAD`` how much the logarithms of runs' rates
differ. A run's own rate follows from the names of its side and its log, so that the same run always has the same one.
Few modules are imported, as hundreds of runs are made.
"""

import math
import os
import sys
import zlib
from _random import Random  # without what the module random imports


def main() -> None:
    batch, steps, interval = map(int, sys.argv[1:4])
    *folders, name = sys.argv[4].split("/")
    side = next(folder for folder in reversed(folders) if folder in ("old", "new"))
    run = f"{side}/{name.removesuffix('.side.json')}"
    if os.environ.get("FAILS") == run:
        sys.exit("ValueError: the labels are out of range")
    rates = dict(pair.split("=") for pair in os.environ["RATES"].split(","))
    deviation = float(os.environ.get("SPREAD", "0.003")) * normal(run)
    rate = float(rates[str(batch)]) * math.exp(deviation)
    for step in range(interval, steps + 1, interval):
        line = f"Training: -Speed {rate:.4f} samples/sec   Loss 0.5000   Epoch: 0   Global Step: {step}   Required: 0 hours"
        print(line, flush=True)
    with open(sys.argv[4], "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes as long as all the rest
        file.write("{}\n")


def normal(seed: str) -> float:
    """A number that is normally distributed over the seeds: twelve that are equally distributed make one."""
    drawn = Random(zlib.crc32(seed.encode()))
    return sum(drawn.random() for _ in range(12)) - 6


if __name__ == "__main__":
    main()
