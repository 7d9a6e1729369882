"""What is no regular file, in words: it is named and never read, but for a pipe that the user names."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from perflog.logs.find import STANDARD_INPUT, is_kernels

#: What is never read: to read it may wait for ever, never end, or change what it is.
_KINDS = {
    stat.S_IFCHR: "a device or a terminal, which is not read",
    stat.S_IFBLK: "a device, which is not read",
    stat.S_IFSOCK: "a socket, which is not read",
    stat.S_IFIFO: "a pipe in a folder, which is not read: name the pipe itself to have it read",
}


def why_not_regular(path: str) -> str:
    """Why what was found at a path is not read: it is no regular file, or nothing that can be opened."""
    try:
        status = os.fstat(0) if path == STANDARD_INPUT else Path(path).stat()
        if stat.S_ISDIR(status.st_mode):
            with os.scandir(path):
                return "the folder could not be read"
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "a link that leads to itself"
        if error.errno == errno.ENOENT and Path(path).is_symlink():
            return "a link to a file that is not there"
        return error.strerror or str(error)
    if is_kernels(path):
        return "a link to a file of the kernel's, which tells of processes and machines"
    return _KINDS.get(stat.S_IFMT(status.st_mode), "it was no regular file when it was found")
