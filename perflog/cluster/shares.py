"""A share of the logs into a file, and all shares on a cluster, by the options in force."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from perflog._version import __version__
from perflog.cache.place import VARIABLE, cache_if_wanted, folder_of_cache
from perflog.errors import PerflogError, UsageError
from perflog.escaping import named
from perflog.extraction import Extraction, extract_paths, part_of
from perflog.files import missing_folder, write_atomically
from perflog.formats.catalog import load_catalog
from perflog.logs.addresses import is_address
from perflog.logs.find import find_logs
from perflog.parts import ENDING
from perflog.parts.part import Part, Share, is_part, packed_part, read_part, share_of, write_part
from perflog.settings.config import Settings
from perflog.settings.options import Options
from perflog.show.extractions import ProgressOf, no_progress

if TYPE_CHECKING:
    from perflog.cache.cache import Cache


# ----------------------------------------------------------------------------------------------------
# Shares of logs as tasks on a Ray cluster. Ray schedules, retries and moves results; nothing of that is ours.

#: So often a share is read anew whose worker or node went away.
RETRIES = 3
#: So many shares a processor of the cluster: a slow one keeps the others waiting for a quarter of its time.
SHARES_PER_CPU = 4
#: What a worker's process has in its environment: the cluster gives a task one processor, and reckons with no more.
_ONE_PROCESSOR = {"PERFLOG_THREADS": "1", "POLARS_MAX_THREADS": "1"}
#: Told (shares done, shares in all) whenever one more is there.
Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker needs to read a share: the same as a command line would say.

    Attributes:
        places: the paths of logs, as every worker of the cluster finds them.
        folder: the folder that relative paths begin at; empty where none is relative.
        options: how numbers are made, in JSON.
        parsers: folders of own parsers; ``only``: the names of the parsers to use alone, none for all.
        cache: whether workers keep what they read: each in the folder that its own environment names.
        perflog: the version that the worker must have.
    """

    places: tuple[str, ...]
    options: bytes
    folder: str = ""
    parsers: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    cache: bool = False
    perflog: str = __version__


def task_of(
    places: Sequence[str], options: Options, parsers: Sequence[str], only: Sequence[str], cache: bool = False
) -> Task:
    """A task that names its logs as they were given, so that they are printed as one process prints them."""
    relative = any("://" not in place and not os.path.isabs(place) for place in places)  # noqa: PTH117 - as given
    folders = tuple(os.path.abspath(folder) for folder in parsers)  # noqa: PTH100
    start = os.getcwd() if relative else ""  # noqa: PTH109
    return Task(tuple(places), msgspec.json.encode(options), start, folders, tuple(only), cache)


def read_share(task: Task, number: int, count: int) -> bytes:
    """What runs on a worker: a share of the logs as the bytes of a part.

    Raises:
        UsageError: where the worker has another perflog, or does not find the logs.
    """
    if __version__ != task.perflog:
        raise UsageError(f"a worker has perflog {__version__}, and this is {task.perflog}: install one version on all")
    catalog = load_catalog(task.parsers)
    if task.only:
        catalog = catalog.only(task.only)
    options = msgspec.json.decode(task.options, type=Options)
    kept = cache_if_wanted(task.cache, logging.getLogger(__name__).warning)
    with _inside(task.folder):
        return packed_part(part_of(find_logs(task.places), Share(number, count), options, catalog, cache=kept))


@contextmanager
def _inside(folder: str) -> Iterator[None]:
    """Work in a folder for a while; in the present one where none is named.

    Raises:
        UsageError: where this machine has no such folder.
    """
    before = os.getcwd()  # noqa: PTH109
    try:
        if folder:
            os.chdir(folder)
    except OSError as error:
        raise UsageError(
            f"a worker does not find the folder {named(folder)}, in which the logs are ({error.strerror}): it needs "
            "the same path to the logs"
        ) from None
    try:
        yield
    finally:
        os.chdir(before)


def parts_by_ray(address: str, task: Task, folder: Path, shards: int | None = None, told: Told | None = None) -> None:
    """Let a Ray cluster read all shares, and write their parts into a folder.

    A worker or node that goes away is no error: its shares are read again, at most :data:`RETRIES` times.

    Args:
        address: ``ray`` for the cluster that this machine belongs to, or else one of this machine alone;
            ``ray://HOST:PORT`` or ``HOST:PORT`` for another.
        shards: how many shares; :data:`SHARES_PER_CPU` for each processor of the cluster where none is given.

    Raises:
        UsageError: for an address where no cluster answers, and what :func:`read_share` raises.
        PerflogError: where Ray gave a share up.
    """
    with _connected(address) as ray:
        count = shards or max(1, int(ray.cluster_resources().get("CPU", 1)) * SHARES_PER_CPU)
        remote = ray.remote(num_cpus=1, max_retries=RETRIES, runtime_env={"env_vars": _environment(task)})(read_share)
        waiting = {remote.remote(task, number, count): number for number in range(1, count + 1)}
        while waiting:
            done, _ = ray.wait(list(waiting), num_returns=1)
            for reference in done:
                number = waiting.pop(reference)
                write_atomically(folder / f"part{number}.parquet", _result(ray, reference, number, count))
                if told is not None:
                    told(count - len(waiting), count)


def _environment(task: Task) -> dict[str, str]:
    """The variables of a worker's process; the cache's folder is this machine's where one is named here."""
    if not task.cache or not os.environ.get(VARIABLE):
        return _ONE_PROCESSOR
    return {**_ONE_PROCESSOR, VARIABLE: str(folder_of_cache())}


def _result(ray: Any, reference: Any, number: int, count: int) -> bytes:
    try:
        content: bytes = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, PerflogError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        line = " ".join(str(error).split())
        raise PerflogError(
            f"the share {number}/{count} could not be read, {RETRIES + 1} times ({line[:300]}); run the command again, "
            f"or read it by hand: `perflog extract PLACE --shard {number}/{count} -o part{number}.parquet`"
        ) from None
    return content


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Ray, connected to the cluster; it is left again afterwards."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of what a later one does
    import ray

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address != "ray":
            ray.init(address, **quiet)
        else:
            _init_nearest(ray, quiet)
    except (ConnectionError, ValueError, TimeoutError) as error:
        line = " ".join(str(error).split())
        raise UsageError(f"--on {address}: no Ray cluster answers there ({line[:200]})") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _init_nearest(ray: Any, quiet: dict[str, Any]) -> None:
    """Join the cluster that this machine belongs to; start one of this machine where it belongs to none."""
    try:
        ray.init("auto", **quiet)
    except ConnectionError:
        ray.init(include_dashboard=False, **quiet)


def write_share(
    share: str,
    logs: Sequence[str],
    chosen: Settings,
    file: Path | None,
    progress_of: ProgressOf = no_progress,
    cache: Cache | None = None,
) -> Part:
    """Read a share of the logs, such as ``3/10``, and write it as a part; with a ``cache``, those that have changed.

    Raises:
        UsageError: for a share such as 11/10, no file to write to, or one of another ending.
        PerflogError: when the part cannot be written.
    """
    own = share_of(share)
    if file is None or file.suffix != ENDING:
        found = "none" if file is None else str(file)
        raise UsageError(
            f"--shard {share}: expected the file for this part, such as -o part{own.number}.parquet; found {found}"
        )
    if reason := missing_folder(file):  # reading the share may take hours
        raise UsageError(f"cannot write '{named(str(file))}': {reason}")
    files = find_logs(logs)
    with progress_of(sum(max(log.size, 0) for log in own.of(files))) as progress:
        part = part_of(files, own, chosen.options(), chosen.catalog(), progress, cache)
    write_part(file, part)
    return part


def require_parts(paths: Sequence[str]) -> None:
    """Let paths pass that hold parts alone.

    Raises:
        UsageError: where there is none, or an address is named.
        PerflogError: naming the first file which is no part, or is damaged.
    """
    address = next(filter(is_address, paths), "")
    if address:
        raise UsageError(f"{address}: parts are read from this machine's disk: copy them here, and name their folder")
    logs = find_logs(paths)
    if not logs:
        raise UsageError(
            f"no part in {', '.join(paths)}: `perflog extract PLACE --shard 1/10 -o part1.parquet` makes one"
        )
    for log in logs:
        if not is_part(log):
            read_part(Path(log.path))


def extraction_on(
    address: str, logs: Sequence[str], chosen: Settings, shards: int | None = None, told: Told | None = None,
    cache: bool = False,
) -> Extraction:  # fmt: skip
    """The extraction of logs that a cluster's workers read; with ``cache``, those alone that have changed.

    Raises:
        UsageError: where no cluster answers, or its workers do not find the logs.
        PerflogError: where a share could not be read.
    """
    if address != "ray" and not address.startswith("ray://"):
        raise UsageError(f"--on {address!r}: expected ray, or ray://HOST:PORT of a cluster's head")
    task = task_of(logs, chosen.options(), chosen.values["parsers"], chosen.values["parser"], cache)
    with tempfile.TemporaryDirectory(prefix="perflog-parts-") as folder:
        parts_by_ray(address, task, Path(folder), shards, told)
        return extract_paths([folder], chosen.options(), chosen.catalog())
