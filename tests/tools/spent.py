"""What a command costs: its processor time with all its processes, the time by the clock, and its memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Spent(NamedTuple):
    """Seconds of a command with all its processes: of its own code, of the system for it, and by the clock.

    ``memory``: the most bytes that one of them held.
    """

    own: float
    system: float
    clock: float
    memory: int

    @property
    def processor(self) -> float:
        return self.own + self.system


def spent(*words: str, environment: Mapping[str, str] | None = None, statuses: Sequence[int] = (0, 3)) -> Spent:
    """What ``perflog`` with these words takes.

    Raises:
        SystemExit: when it ends with another status.
    """
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "perflog", *words], env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in statuses:
        raise SystemExit(f"perflog {' '.join(words)} ended with {process.returncode}")
    return Spent(used.ru_utime, used.ru_stime, time.monotonic() - began, used.ru_maxrss * 1024)
