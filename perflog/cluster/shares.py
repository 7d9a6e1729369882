"""A share of the logs into a file, and all shares on a cluster, by the options in force."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perflog.cluster.on_ray import Told, parts_by_ray, task_of
from perflog.errors import UsageError
from perflog.escaping import named
from perflog.extraction import Extraction, extract_paths, part_of
from perflog.files import missing_folder
from perflog.logs.addresses import is_address
from perflog.logs.find import find_logs
from perflog.parts import ENDING
from perflog.parts.part import Part, is_part, read_part, write_part
from perflog.parts.share import share_of
from perflog.report.extractions import ProgressOf, catalog_of, no_progress
from perflog.settings.config import Settings

if TYPE_CHECKING:
    from perflog.cache.cache import Cache


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
        part = part_of(files, own, chosen.options(), catalog_of(chosen), progress, cache)
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
        return extract_paths([folder], chosen.options(), catalog_of(chosen))
