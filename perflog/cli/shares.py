"""What `extract` does with a share of the logs, or on a cluster; imported only where it is asked to."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from perflog.cli.progress import extractions, shares_bar
from perflog.errors import UsageError

if TYPE_CHECKING:
    from perflog.extraction import Extraction
    from perflog.settings.config import Settings


def write_share(share: str, logs: list[str], chosen: Settings, output: Path | None, quiet: bool) -> None:
    """Read a share of the logs, and write it as a part.

    Raises:
        UsageError: for a share such as 11/10, no file to write to, or one of another ending.
        PerflogError: when the part cannot be written.
    """
    from perflog.extraction import PARTS, part_of
    from perflog.logs.find import find_logs
    from perflog.parts.part import write_part
    from perflog.parts.share import share_of
    from perflog.report.extractions import catalog_of

    own = share_of(share)
    if output is None or output.suffix != PARTS:
        found = "none" if output is None else str(output)
        raise UsageError(
            f"--shard {share}: expected the file for this part, such as -o part{own.number}.parquet; found {found}"
        )
    files = find_logs(logs)
    with extractions(quiet).progress(sum(max(file.size, 0) for file in own.of(files))) as progress:
        part = part_of(files, own, chosen.options(), catalog_of(chosen), progress)
    write_part(output, part)
    if not quiet:
        count = len(part.entries)
        print(f"part {own}: {count} of {part.place.logs} logs written to {output}", file=sys.stderr)


def extraction_on(address: str, logs: list[str], chosen: Settings, shards: int | None, quiet: bool) -> Extraction:
    """The extraction of logs that a cluster's workers read.

    Raises:
        UsageError: where no cluster answers, or its workers do not find the logs.
        PerflogError: where a share could not be read.
    """
    from perflog.cluster.on_ray import parts_by_ray, task_of
    from perflog.extraction import extract_paths
    from perflog.report.extractions import catalog_of

    if address != "ray" and not address.startswith("ray://"):
        raise UsageError(f"--on {address!r}: expected ray, or ray://HOST:PORT of a cluster's head")
    values = chosen.values
    task = task_of(logs, chosen.options(), values["parsers"], values["parser"])
    with tempfile.TemporaryDirectory(prefix="perflog-parts-") as folder, shares_bar(quiet) as told:
        parts_by_ray(address, task, Path(folder), shards, told)
        return extract_paths([folder], chosen.options(), catalog_of(chosen))
