"""A PostgreSQL server of the tests' own, from Debian's package: no password, no port, gone when the session ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER = "perflog"
MISSING = "PostgreSQL is not installed (apt-get install postgresql)"


def programs() -> Path | None:
    """The folder with initdb and pg_ctl of the newest version installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda file: int(file.parts[-3]))
    return found[-1].parent if found else None


@contextmanager
def server() -> Iterator[str | None]:
    """The folder of a running server's socket; None where none can be run."""
    place = programs()
    # the server refuses to run as root
    other = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if place is None or (other and not shutil.which("runuser")):
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="perflog-pg-"))  # a socket's path holds a hundred characters at most
    if other:
        shutil.chown(folder, "postgres", "postgres")
    data = folder / "data"

    def call(program: str, *arguments: str) -> None:
        done = subprocess.run(
            [*other, str(place / program), "-D", str(data), *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")

    try:
        call("initdb", "--username", USER, "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
        # output goes to a file: a server that holds our pipe would keep us waiting for its end
        call(
            "pg_ctl",
            "start",
            "--wait",
            "--silent",
            "--log",
            str(folder / "log"),
            "--options",
            f"-c listen_addresses='' -c unix_socket_directories={folder} -F",
        )
        try:
            yield str(folder)
        finally:
            call("pg_ctl", "stop", "--mode", "immediate", "--silent")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def url(folder: str, name: str) -> str:
    return f"postgresql://{USER}@/{name}?host={folder}"


def create(folder: str, name: str, template: str = "template0") -> str:
    """A new database, empty or a copy of another one that nobody is connected to; its URL."""
    import psycopg

    with psycopg.connect(host=folder, user=USER, dbname="postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
    return url(folder, name)
