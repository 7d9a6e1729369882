"""What stands before a line's own text: stamps, levels, names of loggers, ranks, containers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.tools.loops.draw import Draw


@dataclass(frozen=True, slots=True)
class Stamp:
    """A form of what stands before a line.

    Attributes:
        head: the text before a line printed at a moment by a rank.
        tick: the seconds of the clock's last digit; 0 where there is no clock.
        repeats: False where a stamp that equals the line's before is left blank.
    """

    name: str
    head: Callable[[datetime, int], str]
    tick: float = 0.0
    repeats: bool = True


def _of(form: str, digits: int = 0, mark: str = ",") -> Callable[[datetime, int], str]:
    """A form of strftime, in which ``@`` stands for so many digits of the second's fraction, ``#`` for the rank."""

    def head(at: datetime, rank: int) -> str:
        fraction = f"{mark}{at.microsecond:06d}"[: digits + 1] if digits else ""
        return at.strftime(form).replace("@", fraction).replace("#", str(rank))

    return head


def _unix(at: datetime, _: int) -> str:
    return f"{at.replace(tzinfo=UTC).timestamp():.3f} "


def _ctime(at: datetime, _: int) -> str:
    return f"{at:%a %b} {at.day:2d} {at:%H:%M:%S %Y} "


#: No clock at all: what print gives, and what loggers without one put before a line.
NAKED = (
    Stamp("print", lambda *_: ""),
    Stamp("logging's basicConfig", _of("INFO:root:")),
    Stamp("logging by a module's name", _of("INFO:__main__:")),
    Stamp("level in brackets", _of("[INFO] ")),
    Stamp("level and colon", _of("INFO: ")),
    Stamp("name in brackets", _of("[train] ")),
    Stamp("torchrun's rank", _of("[rank#]: ")),
    Stamp("torchrun's tee", _of("[default#]:")),
    Stamp("srun's label", _of("#: ")),
    Stamp("mpirun's tag", _of("[1,#]<stdout>:")),
    Stamp("Ray's actor", _of("(train_fn pid=4127) ")),
    Stamp("docker compose", _of("trainer-1  | ")),
)

#: Python's logging (docs.python.org, Formatter: default_msec_format '%s,%03d'), absl-py's PythonFormatter
#: ('%c%02d%02d %02d:%02d:%02d.%06d %5d %s:%d] '), loguru's default format ('{time:YYYY-MM-DD HH:mm:ss.SSS} | {level: <8} |
#: {name}:{function}:{line} - '), hydra's ('[%(asctime)s][%(name)s][%(levelname)s] - '), structlog's ConsoleRenderer,
#: rich's RichHandler (log_time_format '[%x %X]', omit_repeated_times), Hugging Face's examples ('%(asctime)s -
#: %(levelname)s - %(name)s - ' with datefmt '%m/%d/%Y %H:%M:%S'), detectron2's ('[%(asctime)s %(name)s]: ' with
#: '%m/%d %H:%M:%S'), MindSpore's and kubectl's --timestamps.
CLOCKS = (
    Stamp("logging", _of("%Y-%m-%d %H:%M:%S@ - train - INFO - ", 3), 0.001),
    Stamp("logging, short", _of("%Y-%m-%d %H:%M:%S@ INFO ", 3), 0.001),
    Stamp("logging, level padded", _of("%Y-%m-%d %H:%M:%S@ [INFO    ] ", 3), 0.001),
    Stamp("logging, colons", _of("%Y-%m-%d %H:%M:%S@:INFO:trainer: ", 3), 0.001),
    Stamp("logging, file and line", _of("%Y-%m-%d %H:%M:%S@ train.py:118 INFO ", 3), 0.001),
    Stamp("hydra", _of("[%Y-%m-%d %H:%M:%S@][__main__][INFO] - ", 3), 0.001),
    Stamp("absl", _of("I%m%d %H:%M:%S@ 140213 train.py:96] ", 6, "."), 1e-6),
    Stamp("loguru", _of("%Y-%m-%d %H:%M:%S@ | INFO     | __main__:train:142 - ", 3, "."), 0.001),
    Stamp("brackets", _of("[%Y-%m-%d %H:%M:%S] "), 1.0),
    Stamp("brackets with level", _of("[%Y-%m-%d %H:%M:%S@] [INFO] ", 3), 0.001),
    Stamp("date and time", _of("%Y-%m-%d %H:%M:%S "), 1.0),
    Stamp("slashes", _of("%Y/%m/%d %H:%M:%S "), 1.0),
    Stamp("Hugging Face's examples", _of("%m/%d/%Y %H:%M:%S - INFO - __main__ -   "), 1.0),
    Stamp("detectron2", _of("[%m/%d %H:%M:%S d2.engine]: "), 1.0),
    Stamp("ISO with Z", _of("%Y-%m-%dT%H:%M:%S@Z ", 6, "."), 1e-6),
    Stamp("ISO with an offset", _of("%Y-%m-%dT%H:%M:%S@+02:00 ", 3, "."), 0.001),
    Stamp("structlog", _of("%Y-%m-%d %H:%M:%S [info     ] "), 1.0),
    Stamp("time in brackets", _of("[%H:%M:%S] "), 1.0),
    Stamp("time", _of("%H:%M:%S@ ", 3, "."), 0.001),
    Stamp("time and bar", _of("%H:%M:%S | "), 1.0),
    Stamp("rich", _of("[%m/%d/%y %H:%M:%S] INFO     "), 1.0, repeats=False),
    Stamp("seconds of Unix", _unix, 0.001),
    Stamp("ctime", _ctime, 1.0),
    Stamp("datetime.now()", _of("%Y-%m-%d %H:%M:%S@: ", 6, "."), 1e-6),
    Stamp("GitHub Actions", _of("%Y-%m-%dT%H:%M:%S@7Z ", 6, "."), 1e-6),
    Stamp("morning and afternoon", _of("%m/%d/%Y %I:%M:%S %p "), 1.0),
    Stamp("with the zone's name", _of("%Y-%m-%d %H:%M:%S UTC | INFO | "), 1.0),
    Stamp("file, function, rank", _of("[%Y-%m-%d %H:%M:%S@] [INFO] [train.py:214:main] [Rank #] ", 3), 0.001),
    Stamp("colours", _of("\x1b[32m%Y-%m-%d %H:%M:%S@\x1b[0m | \x1b[1mINFO    \x1b[0m | ", 3, "."), 0.001),
    Stamp("day and month's name", _of("%d %b %Y %H:%M:%S  "), 1.0),
    Stamp("level, time, rank", _of("INFO %m-%d %H:%M:%S [rank #] "), 1.0),
)  # fmt: skip


#: What tells the rank that prints a line, without a clock and with one.
RANKED = tuple(
    one for one in (*NAKED, *CLOCKS) if one.head(datetime(2020, 1, 1), 1) != one.head(datetime(2020, 1, 1), 2)
)


def stamp(draw: Draw, with_clock: bool) -> Stamp:
    """What stands before all lines of a log."""
    if with_clock:
        return draw.one("stamp", CLOCKS)
    return draw.one("stamp", NAKED, (10, *(1.0,) * (len(NAKED) - 1)))


def moment(draw: Draw) -> datetime:
    """When a process began."""
    rng = draw.plain()
    return datetime(rng.randint(2017, 2026), rng.randint(1, 12), rng.randint(1, 28), rng.randint(0, 23),
                    rng.randint(0, 59), rng.randint(0, 59), rng.randint(0, 999_999))  # fmt: skip
