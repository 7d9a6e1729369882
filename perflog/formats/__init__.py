"""Parser files (TOML) in, a catalogue out: what the lines of a format look like, what their numbers
mean, and the field's words for them.

Here: the files that parsers come from, and their hash, the key of what was made of them.
"""

from __future__ import annotations

import os
from hashlib import blake2b

#: The files in a parsers' folder that are no parsers: patterns of paths, and the peaks of accelerators.
PATHS = "paths.toml"
ACCELERATORS = "accelerators.toml"
NO_PARSERS = frozenset({PATHS, ACCELERATORS})
#: Bytes of a hash.
SIZE = 16


def hash_of_files(folder: str, ending: str) -> bytes:
    """The hash of the names and contents of the files in a folder whose names end so.

    Raises:
        OSError: when one cannot be read.
    """
    content = blake2b(digest_size=SIZE)
    for name in sorted(name for name in os.listdir(folder) if name.endswith(ending)):  # noqa: PTH208 - names, quickly
        with open(f"{folder}/{name}", "rb", buffering=0) as file:  # noqa: PTH123
            data = file.read()
        content.update(b"%s %d " % (os.fsencode(name), len(data)))
        content.update(data)
    return content.digest()


def hash_of_modules() -> bytes | None:
    """The hash of this package's modules, which decide on what is made of a parser's file; None if unreadable."""
    try:
        return hash_of_files(os.path.dirname(__file__), ".py")  # noqa: PTH120
    except OSError:
        return None


#: The modules as this process has them: this is hashed before any other is imported.
MODULES = hash_of_modules()
