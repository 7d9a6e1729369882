"""A Python interpreter of Debian's testing suite beside the machine's own one, where apt-get is: unpacked, not installed.

The machine's own packages and lists stay as they are. The interpreter is told to use the C library that it was made
for, which is unpacked beside it, so that it runs on an older Debian too.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

SUITE = "testing"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
#: The interpreter with its headers (some packages must be compiled for a new Python), and the libraries that it uses.
PACKAGES = (
    "python{0}", "python{0}-minimal", "libpython{0}-stdlib", "libpython{0}-minimal", "libpython{0}-dev",
    "libc6", "libgcc-s1", "libstdc++6", "libbz2-1.0", "libexpat1", "libffi8", "liblzma5", "libncursesw6",
    "libreadline8t64", "libsqlite3-0", "libssl3t64", "libtinfo6", "libuuid1", "libzstd1", "zlib1g",
)  # fmt: skip
LIBRARIES = "usr/lib/x86_64-linux-gnu"


def from_debian(version: str, place: Path, patchelf: Path) -> Path | None:
    """The folder that ``usr/bin/pythonVERSION`` is in; None where it cannot be had from Debian on this machine."""
    root, whole = place / "root", place / "whole"
    if whole.exists():
        return root
    if not (shutil.which("apt-get") and shutil.which("dpkg") and KEYS.exists()) or platform.machine() != "x86_64":
        return None
    try:
        for archive in _archives(version, place):
            subprocess.run(["dpkg", "--extract", archive, root], check=True, capture_output=True)
        # both are found by where they are: the library's loader by its whole path, and the libraries by a search path
        loader, libraries = root / LIBRARIES / "ld-linux-x86-64.so.2", root / LIBRARIES
        words = ["--set-interpreter", str(loader), "--force-rpath", "--set-rpath", str(libraries)]
        subprocess.run([str(patchelf), *words, f"{root}/usr/bin/python{version}"], check=True, capture_output=True)
        whole.touch()
    except subprocess.CalledProcessError:
        shutil.rmtree(place)
        return None
    return root


def _archives(version: str, place: Path) -> list[Path]:
    """Download the packages.

    Raises:
        subprocess.CalledProcessError: where they are not there, or not for this machine.
    """
    for name in ("lists/partial", "cache/archives/partial", "packages"):
        (place / name).mkdir(parents=True, exist_ok=True)
    sources = place / "sources.list"
    sources.write_text(f"deb [signed-by={KEYS}] http://deb.debian.org/debian {SUITE} main\n", encoding="utf-8")
    settings = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": place / "lists",
        "Dir::Cache": place / "cache",
        "APT::Sandbox::User": "root",
    }
    apt_get = ["apt-get", "--quiet=2", *(f"--option={name}={value}" for name, value in settings.items())]
    folder = place / "packages"
    subprocess.run([*apt_get, "update"], check=True, capture_output=True)
    packages = [package.format(version) for package in PACKAGES]
    subprocess.run([*apt_get, "download", *packages], check=True, capture_output=True, cwd=folder)
    return sorted(folder.glob("*.deb"))
