"""Logs that many workers read: a share into a part, all parts together, or both on a cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Unpack

from perflog.api.logs import Extracted, extract, extracted
from perflog.api.options import ExtractionOptions, PathLike, Paths, path_list, settings_of
from perflog.api.terms import in_python_terms


@in_python_terms
def extract_share(paths: Paths, share: str, file: PathLike, **options: Unpack[ExtractionOptions]) -> int:
    """Read a share of the logs and write it as a part (``perflog extract --shard``).

    Args:
        paths: files and folders; every worker gives the same.
        share: ``"3/10"`` for the third of ten.
        file: the part, a name that ends in ``.parquet``.
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        How many logs the part holds.

    Raises:
        perflog.errors.UsageError: for a share, an option or a path that is not right.
        perflog.errors.PerflogError: when the part cannot be written.
    """
    from perflog.cluster.shares import write_share

    logs = path_list(paths)
    return len(write_share(share, logs, settings_of(options, logs), Path(os.fspath(file))).entries)


@in_python_terms
def merge(parts: Paths, aggregate: str | None = None, baseline: dict[str, Any] | None = None) -> Extracted:
    """Make of all parts what one machine would have made of all logs (``perflog merge``).

    Args:
        parts: the files that :func:`extract_share` wrote, or their folder.
        aggregate: as for :func:`perflog.extract`, as is ``baseline``; all other options are those of the parts.
        baseline: the case that speedups are relative to.

    Returns:
        Frames of cases, runs and skipped files.

    Raises:
        perflog.errors.UsageError: where a part is missing, there twice, or of another whole.
        perflog.errors.PerflogError: where one is damaged, or a file is no part.
    """
    from perflog.cluster.shares import require_parts

    require_parts(path_list(parts))
    return extract(parts, aggregate=aggregate, baseline=baseline)


@in_python_terms
def extract_on(
    cluster: str, paths: Paths, shards: int | None = None, cache: bool | None = None,
    **options: Unpack[ExtractionOptions],
) -> Extracted:  # fmt: skip
    """Let a Ray cluster read logs, and merge what its workers read (``perflog extract --on``).

    Args:
        cluster: ``"ray"`` for the cluster that this machine belongs to, or ``"ray://HOST:PORT"``.
        paths: files and folders, as every worker finds them.
        shards: in how many shares; four for each processor of the cluster when None.
        cache: whether each worker reads the logs alone that have changed (:func:`perflog.extract`).
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        Frames of cases, runs and skipped files.

    Raises:
        perflog.errors.UsageError: where no cluster answers, or its workers do not find the logs.
        perflog.errors.PerflogError: where a share could not be read, or Ray is not installed.
    """
    from perflog.cache.place import is_wanted
    from perflog.cluster.shares import extraction_on

    logs = path_list(paths)
    chosen = settings_of(options, logs)
    return extracted(extraction_on(cluster, logs, chosen, shards, cache=is_wanted(cache)))
