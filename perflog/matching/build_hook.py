"""What is made when perflog is installed or built: the compiled scanner, and the parsers in the form that is read fast.

Without a C compiler perflog works as well, and without the parsers' file its first use makes one in the user's cache
folder. A hook of hatchling, named in ``pyproject.toml``. As a script, ``python perflog/matching/build_hook.py``
compiles the library in place. The environment decides:

- ``PERFLOG_NO_COMPILE=1``: compile nothing; the wheel is one for every platform.
- ``CC``: the compiler to use, rather than cc, gcc or clang. Where all fail, ``ziglang`` (on PyPI) is tried.
- ``PERFLOG_TARGET``: compile for another machine with ``ziglang``, such as ``aarch64-linux-gnu.2.28``.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a script, by a developer who has no hatchling
    BuildHookInterface = object  # type: ignore[assignment,misc]

#: No -march=native: a wheel must run on every processor of its kind.
#: Products and sums are rounded one by one, as Python does it.
FLAGS = ("-O3", "-g0", "-std=gnu11", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden")
#: The scanner reads strangers' bytes: a write past a buffer ends the process. A compiler whose settings of its own
#: include FORTIFY would warn of a second definition.
HARDENED = ("-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2")
#: ELF's: addresses of functions are read-only from the start, and no stack can be executed.
LINKED = ("-Wl,-z,relro,-z,now", "-Wl,-z,noexecstack")


def compilers(target: str) -> list[list[str]]:
    """The commands to try, in this order."""
    zig = [sys.executable, "-m", "ziglang", "cc"]
    if target:
        return [[*zig, "-target", target]]
    named = shlex.split(os.environ.get("CC", ""))
    found = [named] if named else [[name] for name in ("cc", "gcc", "clang") if shutil.which(name)]
    if importlib.util.find_spec("ziglang"):
        found.append(zig)
    return found


def library_name(target: str) -> str:
    """The library's name, by the platform it is made for."""
    return "_scan.dylib" if ("macos" in target if target else sys.platform == "darwin") else "_scan.so"


def compile_scanner(source: Path, folder: Path, target: str = "") -> tuple[Path | None, str]:
    """Compile ``source`` into ``folder``. Returns the library, or None, and a line that says what was done."""
    if sys.platform == "win32" and not target:
        return None, "not compiled: there is no compiled scanner for Windows"
    library = folder / library_name(target)
    made = library.with_name(f"{library.name}.{os.getpid()}")  # a library that is in use must not be written into
    problem = "no C compiler was found (cc, gcc, clang, or `pip install ziglang`)"
    for command in compilers(target):
        link = () if library.suffix == ".dylib" else LINKED
        try:
            done = subprocess.run(
                [*command, *FLAGS, *HARDENED, str(source), "-o", str(made), *link],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            problem = f"{shlex.join(command)}: {error}"
            continue
        if done.returncode == 0:
            made.replace(library)
            return library, f"compiled by {shlex.join(command)}"
        made.unlink(missing_ok=True)
        problem = f"{shlex.join(command)} failed: {next(iter(done.stderr.strip().splitlines()), '')}"
    return None, f"not compiled: {problem}"


def platform_tag(target: str) -> str:
    """The wheel's platform: that of ``target``, such as ``aarch64-linux-gnu.2.28``, or this one."""
    if not target:
        return re.sub(r"[-.]", "_", sysconfig.get_platform())
    machine, system, *rest = target.split("-")
    version = rest[0].split(".")[1:] if rest else []
    if system.startswith("linux") and rest and rest[0].startswith("musl"):
        return f"musllinux_{'_'.join(version[:2]) or '1_2'}_{machine}"
    if system.startswith("linux"):
        return f"manylinux_{'_'.join(version[:2]) or '2_28'}_{machine}"
    if system.startswith("macos"):
        low = "_".join(system.split(".")[1:3]) or "11_0"
        return f"macosx_{low}_{'arm64' if machine == 'aarch64' else machine}"
    raise ValueError(f"PERFLOG_TARGET={target}: expected such as aarch64-linux-gnu.2.28 or aarch64-macos.11.0")


def write_formats(root: Path, file: Path) -> str:
    """Write what perflog keeps of its parsers, by another process of this Python. Returns what was done, in words.

    Args:
        root: perflog's sources, with the folder ``parsers``.
    """
    program = (
        "import sys; from pathlib import Path; from perflog.formats.prebuilt import write_own_formats; "
        "write_own_formats(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(root / "parsers"), str(file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path]), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return "written"
    return f"not written, so that the first use does it: {(done.stderr.strip().splitlines() or [''])[-1]}"


class PerflogBuildHook(BuildHookInterface):  # type: ignore[misc,type-arg,unused-ignore]
    """Puts the compiled scanner and the parsers' file into the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        # What a wheel gets is made elsewhere: its library may be another machine's, and the sources are a developer's.
        self._made = None if version == "editable" else tempfile.TemporaryDirectory(prefix="perflog-")
        if self._made:
            file = Path(self._made.name) / "formats.msgpack"
            self.app.display_info(f"perflog: the parsers' file was {write_formats(Path(self.root), file)}")
            if file.exists():
                build_data["force_include"][str(file)] = "perflog/data/formats.msgpack"
        self._include_scanner(build_data)

    def _include_scanner(self, build_data: dict[str, Any]) -> None:
        if os.environ.get("PERFLOG_NO_COMPILE") == "1":
            self.app.display_info("perflog: the scanner was not compiled: PERFLOG_NO_COMPILE is set")
            return
        target = os.environ.get("PERFLOG_TARGET", "")
        sources = Path(self.root) / "perflog" / "matching"
        library, report = compile_scanner(sources / "scan.c", Path(self._made.name) if self._made else sources, target)
        self.app.display_info(f"perflog: the scanner was {report}")
        if library is None:
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(target)}"
        if self._made:
            build_data["force_include"][str(library)] = f"perflog/matching/{library.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        made: tempfile.TemporaryDirectory[str] | None = getattr(self, "_made", None)
        if made:
            made.cleanup()


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    made, said = compile_scanner(here / "scan.c", here, os.environ.get("PERFLOG_TARGET", ""))
    print(f"{made or 'the scanner'}: {said}")
    sys.exit(0 if made else 1)
