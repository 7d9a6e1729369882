"""What may stand in ``perflog.toml``, and its reading; imported where there is such a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, structs

from perflog.errors import UsageError
from perflog.formats.toml import Scalar, convert, read_toml, texts
from perflog.settings.options import Aggregate, Estimator, Values

_Count = Annotated[str | int | float, Meta(description="an amount such as 100, '10records' or '2epochs'")]
_Names = Annotated[str | tuple[str, ...], Meta(description="a name, or a list of names")]
_Aliases = Annotated[dict[str, str], Meta(description='a table of names, such as { rn50 = "resnet50" }')]
_Facts = Annotated[dict[str, Scalar], Meta(description="a table, such as { devices = 8 }")]


class _ConfigFile(Struct, frozen=True, forbid_unknown_fields=True):
    """What may stand in ``perflog.toml``; what is left out is None."""

    warmup: _Count | None = None
    steps: _Count | None = None
    last: _Count | None = None
    estimator: Estimator | None = None
    aggregate: Aggregate | None = None
    baseline: _Facts | None = None
    set: _Facts | None = None
    aliases: _Aliases | None = None
    values: Values | None = None
    convention: str | None = None
    parser: _Names | None = None
    parsers: _Names | None = None
    format: Literal["table", "markdown", "csv", "json", "parquet", "dlperf"] | None = None
    database: Annotated[str, Meta(description="a file's name or a URL in quotes")] | None = None


def read_config(file: Path) -> dict[str, Any]:
    """The options in a config file; paths in it are relative to its folder.

    Raises:
        UsageError: with the file, the option, what is expected there and what was found.
    """
    table = convert(read_toml(file, UsageError), _ConfigFile, str(file), UsageError, noun="option")
    options = {key: value for key, value in structs.asdict(table).items() if value is not None}
    for key in ("set", "baseline"):
        if key in options:
            options[key] = texts(options[key])
    for key in ("parser", "parsers"):
        if key in options:
            options[key] = [options[key]] if isinstance(options[key], str) else list(options[key])
    if "parsers" in options:
        options["parsers"] = [str(file.parent / name) for name in options["parsers"]]
    if "database" in options and "://" not in options["database"]:
        options["database"] = str(file.parent / Path(options["database"]).expanduser())
    return options
