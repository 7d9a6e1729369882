"""A training without the training: it prints the log of one whose rate is known, in InsightFace's form, and may fail.

``RATES=8=100,16=110`` has the samples per second of each batch size, ``SPREAD`` how much the logarithms of runs' rates
differ. A run's own rate follows from the names of its side and its log, so that the same run always has the same one.
"""

from __future__ import annotations

import math
import os
import random
import sys
from pathlib import Path


def main() -> None:
    batch, steps, interval = map(int, sys.argv[1:4])
    side_file = Path(sys.argv[4])
    side = next(part for part in reversed(side_file.parts[:-1]) if part in ("old", "new"))
    run = f"{side}/{side_file.name.removesuffix('.side.json')}"
    if os.environ.get("FAILS") == run:
        sys.exit("ValueError: the labels are out of range")
    rates = dict(pair.split("=") for pair in os.environ["RATES"].split(","))
    deviation = float(os.environ.get("SPREAD", "0.003")) * random.Random(run).gauss(0, 1)
    rate = float(rates[str(batch)]) * math.exp(deviation)
    for step in range(interval, steps + 1, interval):
        line = f"Training: -Speed {rate:.4f} samples/sec   Loss 0.5000   Epoch: 0   Global Step: {step}   Required: 0 hours"
        print(line, flush=True)
    side_file.write_text("{}\n")


if __name__ == "__main__":
    main()
