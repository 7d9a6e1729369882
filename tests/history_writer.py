"""A process that saves campaigns when told to: says ``ready``, waits for a line, and says what became of each.

python -m tests.history_writer DATABASE CASES LABEL:SEED…
"""

from __future__ import annotations

import sys

from perflog.errors import PerflogError
from perflog.history.save import save
from tests.extractions import campaign


def main() -> None:
    database, cases, *wanted = sys.argv[1:]
    made = [(label, campaign(int(cases), seed=seed)) for label, _, seed in (text.partition(":") for text in wanted)]
    print("ready", flush=True)
    sys.stdin.readline()
    for label, extraction in made:
        try:
            print(save(database, extraction, label).done, flush=True)
        except PerflogError as error:
            print(f"error: {error}", flush=True)


if __name__ == "__main__":
    main()
