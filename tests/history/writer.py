"""Processes that save campaigns when told to.

    python -m tests.history.writer DATABASE CASES LABEL:SEED…   says ``ready``, waits for a line, says what became of each
    python -m tests.history.writer DATABASE CASES               for every line LABEL:SECONDS a process that is killed then

The second imports everything once: its processes are copies of it. It says how long each lived.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from perflog.errors import PerflogError
from perflog.history.saving import save
from tests.extractions import campaign


def main() -> None:
    database, cases, *wanted = sys.argv[1:]
    if not wanted:
        copies(database, int(cases))
        return
    made = [(label, campaign(int(cases), seed=seed)) for label, _, seed in (text.partition(":") for text in wanted)]
    print("ready", flush=True)
    sys.stdin.readline()
    for label, extraction in made:
        try:
            print(save(database, extraction, label).done, flush=True)
        except PerflogError as error:
            print(f"error: {error}", flush=True)


def copies(database: str, cases: int) -> None:
    for line in iter(sys.stdin.readline, ""):
        label, _, seconds = line.strip().partition(":")
        extraction = campaign(cases, seed=label)
        began = time.perf_counter()
        process = os.fork()
        if not process:
            save(database, extraction, label)
            os._exit(0)
        while not (ended := os.waitpid(process, os.WNOHANG)[0]) and time.perf_counter() - began < float(seconds):
            time.sleep(0.0005)
        if not ended:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main()
