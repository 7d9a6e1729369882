"""``python -m tests.forks.server SOCKET``: forks a process of perflog's command line for each that is asked for."""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import selectors
import socket
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from perflog.cli import app_for
from perflog.errors import PerflogError
from perflog.formats.catalog import load_catalog
from perflog.matching.engine import engine_for
from tests import kept

#: What commands import: neither polars, which starts threads when it is imported, and a forked process would lack them,
#: nor what reads the environment when it is imported (typer's help).
MODULES = (
    "alembic.config",
    "encodings.ascii",
    "jinja2.sandbox",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "msgspec.json",
    "numpy",
    "perflog.__main__",
    "perflog.audit.auditing",
    "perflog.audit.report",
    "perflog.cache.place",
    "perflog.campaign.execute",
    "perflog.cases.choosing",
    "perflog.cli.comparison_output",
    "perflog.compare.comparing",
    "perflog.compare.outputs",
    "perflog.compare.page",
    "perflog.extraction",
    "perflog.formats.load",
    "perflog.history.following",
    "perflog.history.rendering",
    "perflog.history.saving",
    "perflog.matching.compiled_engine",
    "perflog.show.document",
    "perflog.show.drawing",
    "perflog.show.encoding",
    "perflog.show.extractions",
    "perflog.show.making",
    "perflog.show.table",
    "perflog.show.text",
    "rich.console",
    "rich.table",
    "scipy.stats",
    "sqlalchemy.dialects.sqlite",
    "tabulate",
    "typer",
)


#: The variable that names the tests' file of coverage, where they measure it (tests/conftest.py), and how they do.
COVERAGE = "PERFLOG_COVERAGE"
CONFIGURATION = Path(__file__).resolve().parent.parent.parent / "pyproject.toml"

#: A process's arguments, folder and environment.
Wanted = tuple[list[str], str, dict[str, str]]


class Server:
    """Listens at a socket, and knows the processes that it has forked."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(place)
        self.listening.listen(16)
        #: By the descriptor that can be read when the process has ended.
        self.running: dict[int, tuple[int, socket.socket]] = {}
        self.waiting = selectors.DefaultSelector()
        for source in (0, self.listening.fileno()):
            self.waiting.register(source, selectors.EVENT_READ)

    def serve(self) -> Wanted:
        """Fork until standard input has an end; returns in the forked processes alone, with their streams in place."""
        while True:
            for key, _ in self.waiting.select():
                if key.fd == 0:
                    Path(self.place).unlink()
                    os._exit(0)
                if key.fd in self.running:
                    self._tell(key.fd)
                elif wanted := self._fork():
                    return wanted

    def _fork(self) -> Wanted | None:
        """Fork for the next that asks; what it asks for in the forked process, None in the server."""
        connection, _ = self.listening.accept()
        streams, wanted = _request(connection)
        process = os.fork()
        if process == 0:
            connection.close()
            self._let_go()
            _take(streams)
            return wanted
        for stream in streams:
            os.close(stream)
        descriptor = os.pidfd_open(process)
        self.running[descriptor] = process, connection
        self.waiting.register(descriptor, selectors.EVENT_READ)
        return None

    def _let_go(self) -> None:
        """Close all that is the server's, in a forked process."""
        self.waiting.close()
        self.listening.close()
        for descriptor, (_, connection) in self.running.items():
            os.close(descriptor)
            connection.close()

    def _tell(self, descriptor: int) -> None:
        """Tell the status of a process that has ended to whoever asked for it."""
        self.waiting.unregister(descriptor)
        os.close(descriptor)
        process, connection = self.running.pop(descriptor)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        with suppress(BrokenPipeError), connection:  # whoever asked may have gone
            connection.sendall(f"{status}\n".encode())


def _request(connection: socket.socket) -> tuple[list[int], Wanted]:
    """The streams and what else is asked for."""
    start, streams, _, _ = socket.recv_fds(connection, 4, 3)
    length = int.from_bytes(start, "big")
    data = bytearray()
    while len(data) < length:
        data += connection.recv(length - len(data))
    arguments, folder, environment = json.loads(data)
    return streams, (arguments, folder, environment)


def _take(streams: list[int]) -> None:
    """Make ``streams`` the standard ones."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, "r", closefd=False), encoding="utf-8")
    sys.stdout = _writer(1, "strict")
    sys.stderr = _writer(2, "backslashreplace")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]


def _writer(descriptor: int, errors: str) -> io.TextIOWrapper:
    """A standard stream as Python opens it."""
    raw = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding="utf-8", errors=errors, line_buffering=descriptor == 2 or raw.isatty()
    )


def _measure(file: str) -> None:
    """Count which lines this process runs, into a file of its own beside the one that the tests write."""
    from coverage import Coverage

    measured = Coverage(file, data_suffix=True, config_file=str(CONFIGURATION))
    # the server has imported some modules before, and a process that is told nothing runs little: no news on its stderr
    measured.set_option("run:disable_warnings", ["module-not-measured", "no-data-collected", "module-not-imported"])
    measured.start()

    def end() -> None:
        measured.stop()
        measured.save()

    atexit.register(end)


def main() -> None:
    """Serve, and be ``perflog`` in the forked processes."""
    for module in MODULES:
        import_module(module)
    assert app_for([]).registered_commands  # the modules of all commands
    kept.keep()
    with suppress(PerflogError):  # a faulty parser is told by the commands
        catalog = load_catalog()
        engine_for(catalog)
        kept.compile_regexes(catalog)
    assert len(os.listdir("/proc/self/task")) == 1, "a forked process would lack the other threads"  # noqa: PTH208
    gc.collect()
    gc.freeze()  # no page is copied because a count of references in it is looked at
    server = Server(sys.argv[1])
    print("ready", flush=True)
    arguments, folder, environment = server.serve()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["perflog", *arguments]
    if file := environment.get(COVERAGE):
        _measure(file)
    from perflog.__main__ import main as command

    try:
        command()
    except SystemExit as ended:
        end_with(int(ended.code or 0))


def end_with(status: int) -> NoReturn:
    """End as Python does, but for taking the modules apart.

    That would touch each page that this process shares with the server, which costs ten times as much as a short
    command.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the other threads
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        status = 120  # as Python tells it
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
