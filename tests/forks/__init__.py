"""perflog's command line as a process of its own, without the third of a second that its imports take.

A server that has imported what all commands import, and has done nothing else, forks a process for each command
(:mod:`tests.forks.server`). The process has the arguments, folder, environment and streams that it is given, ends as a
Python program does, and its status is the one that a shell would see. Where the start itself is the point
(``tests/cli/test_start.py``, ``tests/test_artefact.py``), processes are started anew.
"""

from __future__ import annotations

import atexit
import os
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.forks.client import ask

ROOT = Path(__file__).resolve().parent.parent.parent
#: Seconds after which a command that has not ended is no longer waited for.
PATIENCE = 120


def perflog(
    *arguments: str,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    checkout: Path = ROOT,
) -> subprocess.CompletedProcess[str]:
    """Run ``perflog ARGUMENTS`` in a process and wait for its end.

    Args:
        env: what is added to this process's environment.
        checkout: where the program and these servers are, which may be those of another commit.

    Raises:
        subprocess.TimeoutExpired: after :data:`PATIENCE` seconds.
    """
    environment = {**os.environ, "PYTHONPATH": str(checkout), **(env or {})}
    place = server(checkout)
    outputs = [os.pipe(), os.pipe()]
    with tempfile.TemporaryFile() as given, socket.socket(socket.AF_UNIX) as connection:
        given.write(stdin)
        given.seek(0)
        connection.connect(place)
        ask(connection, list(arguments), str(cwd), environment, [given.fileno(), *(end for _, end in outputs)])
        for _, end in outputs:
            os.close(end)
        out, err = (data.decode() for data in _read([start for start, _ in outputs], arguments))
        with connection.makefile() as answer:
            status = int(answer.readline())
    return subprocess.CompletedProcess(["perflog", *arguments], status, out, err)


def _read(pipes: Sequence[int], arguments: Sequence[str]) -> list[bytes]:
    """All that comes out of the pipes until both have ended; closes them."""
    texts = {pipe: bytearray() for pipe in pipes}
    last_moment = time.monotonic() + PATIENCE
    with selectors.DefaultSelector() as waiting:
        for pipe in pipes:
            waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(0, last_moment - time.monotonic()))
            if not ready:
                raise subprocess.TimeoutExpired(["perflog", *arguments], PATIENCE)
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                texts[key.fd] += data
                if not data:
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    return [bytes(text) for text in texts.values()]


def words() -> list[str]:
    """The words of a shell that stand for ``perflog`` in a command; they take a fiftieth of a second."""
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name("client.py")), server(ROOT)]


def on_terminal(
    *arguments: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``perflog ARGUMENTS`` with a terminal for both of its outputs, and nothing on its standard input.

    Args:
        env: the whole environment, or None for this process's.
    """
    command = [sys.executable, "-I", "-S", "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)", *words()]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False, env=env, stdin=subprocess.DEVNULL, cwd=cwd
    )


_STARTING = threading.Lock()


def server(checkout: Path) -> str:
    """The path of the socket of this process's server of a checkout, which ends when this process does."""
    with _STARTING:  # two threads would start two
        return _started(checkout)


@cache
def _started(checkout: Path) -> str:
    folder = Path(tempfile.mkdtemp(prefix="perflog-"))
    place = str(folder / "socket")
    life, held = os.pipe()  # nobody else holds the writing end: the server reads its end when this process is gone
    process = subprocess.Popen(
        # a warning is an error in the commands too
        [sys.executable, "-W", "error", "-m", "tests.forks.server", place],
        cwd=checkout,
        stdin=life,
        stdout=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(checkout)},
        text=True,
    )
    os.close(life)

    def end() -> None:
        os.close(held)
        process.wait()
        shutil.rmtree(folder)

    assert process.stdout is not None
    with process.stdout as printed:
        if printed.readline() != "ready\n":
            end()
            raise RuntimeError("the server of perflog's processes did not start: its error stands above")
    atexit.register(end)
    return place
