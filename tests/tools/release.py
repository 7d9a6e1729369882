"""What a release consists of, made and held against what an index and a user ask of it.

- ``python -m tests.tools.release tag v1.2.3``: whether a tag is the version's of these sources.
- ``python -m tests.tools.release build dist``: the sdist, and from it the wheels: one for each kind of Linux machine,
  compiled by zig, and one without the compiled scanner for every other platform.
- ``python -m tests.tools.release check dist``: that they are whole, tagged as an index accepts, and hardened.
- ``python -m tests.tools.release try dist``: each that fits this machine, installed into an empty environment and run.
- ``python -m tests.tools.release sbom dist``: ``sbom.cdx.json`` beside the folder: the wheel with all that
  ``perflog[all]`` brings, each with its version and license, as CycloneDX.

Exit status 1, and a line for each fault, where one does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perflog._version import __version__

ROOT = Path(__file__).resolve().parent.parent.parent
#: What the environment tells the build hook for each wheel; glibc 2.28 is of 2018, and older ones have no Python 3.11.
TARGETS: tuple[Mapping[str, str], ...] = (
    {"PERFLOG_TARGET": "x86_64-linux-gnu.2.28"},
    {"PERFLOG_TARGET": "aarch64-linux-gnu.2.28"},
    {"PERFLOG_NO_COMPILE": "1"},
)
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "any")
SDIST = f"perflog-{__version__}.tar.gz"
WHEELS = tuple(f"perflog-{__version__}-py3-none-{platform}.whl" for platform in PLATFORMS)
SCANNER = "perflog/matching/_scan.so"


def faults_of_tag(tag: str) -> list[str]:
    if tag == f"v{__version__}":
        return []
    return [f"the tag is {tag}, and perflog/_version.py says {__version__}: expected the tag v{__version__}"]


def build(folder: Path) -> None:
    """Make the sdist, and from what it holds the wheels, so that nothing is in these that was not published.

    Raises:
        subprocess.CalledProcessError: when one cannot be built.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _build(ROOT, folder, "--sdist", {})
    with tempfile.TemporaryDirectory(prefix="perflog-") as place:
        with tarfile.open(folder / SDIST) as packed:
            packed.extractall(place, filter="data")
        for variables in TARGETS:
            _build(Path(place) / SDIST.removesuffix(".tar.gz"), folder, "--wheel", variables)


def _build(sources: Path, folder: Path, kind: str, variables: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "build", kind, "--no-isolation", "--outdir", str(folder.resolve()), "."]
    environment = {**_environment_of_users(), **variables}
    subprocess.run(command, check=True, cwd=sources, env=environment, stdout=subprocess.DEVNULL)


def faults(folder: Path) -> Iterator[str]:
    """What is wrong with the artefacts in a folder, in words."""
    names = sorted(file.name for file in folder.iterdir())
    if names != sorted((SDIST, *WHEELS)):
        yield f"{folder} holds {', '.join(names) or 'nothing'}: expected {', '.join((SDIST, *WHEELS))} alone"
        return
    for name, platform in zip(WHEELS, PLATFORMS, strict=True):
        yield from (f"{name}: {fault}" for fault in _faults_of_wheel(folder / name, platform))
    with tarfile.open(folder / SDIST) as packed:
        held = [member.name.partition("/")[2] for member in packed if member.isfile()]
    yield from (f"{SDIST} holds {name}, which was compiled or is a developer's" for name in held if _is_stray(name))


def _faults_of_wheel(wheel: Path, platform: str) -> Iterator[str]:
    with zipfile.ZipFile(wheel) as packed, tempfile.TemporaryDirectory(prefix="perflog-") as place:
        names = packed.namelist()
        for needed in ("perflog/data/formats.msgpack", f"perflog-{__version__}.dist-info/licenses/LICENSE"):
            if needed not in names:
                yield f"lacks {needed}"
        yield from (f"holds {name}" for name in names if _is_stray(name) and name != SCANNER)
        if (SCANNER in names) != (platform != "any"):
            yield f"expected {'no ' if platform == 'any' else ''}{SCANNER}"
        elif platform != "any":
            library = Path(packed.extract(SCANNER, place))
            yield from (f"{SCANNER} {what}" for what in not_hardened(library))
            machine = platform.removeprefix("manylinux_2_28_")
            if machine_of(library) != machine:
                yield f"{SCANNER} is for {machine_of(library)}: expected {machine}"
            yield from _faults_of_platform(wheel, platform)


def _is_stray(name: str) -> bool:
    return bool(re.search(r"\.(so|dylib|pyd|pyc|o)$|(^|/)(\.environments|\.venv|\.git)/", name))


def _faults_of_platform(wheel: Path, platform: str) -> Iterator[str]:
    """What auditwheel says: whether the library asks for no more than machines with that tag have."""
    command = [sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"auditwheel: {(done.stderr.strip().splitlines() or ['failed'])[-1]}"
        return
    found = json.loads(done.stdout)["overall_tag"]
    needs = re.fullmatch(r"manylinux_2_(\d+)_(\w+)", found)
    if not needs or int(needs[1]) > 28 or needs[2] != platform.removeprefix("manylinux_2_28_"):
        yield f"auditwheel calls it {found}: expected {platform} or older"


def machine_of(library: Path) -> str:
    """``x86_64``, ``aarch64``."""
    from elftools.elf.elffile import ELFFile

    with library.open("rb") as stream:
        machine = str(ELFFile(stream)["e_machine"])
    return {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}.get(machine, machine)


def not_hardened(library: Path) -> list[str]:
    """What an ELF library lacks of the protection that perflog's is compiled with, in words."""
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    with library.open("rb") as stream:
        elf = ELFFile(stream)
        segments = {segment["p_type"]: segment["p_flags"] for segment in elf.iter_segments()}
        dynamic = next(section for section in elf.iter_sections() if isinstance(section, DynamicSection))
        tags = {tag.entry.d_tag: tag.entry.d_val for tag in dynamic.iter_tags()}
        table = elf.get_section_by_name(".dynsym")
        symbols = list(table.iter_symbols()) if isinstance(table, SymbolTableSection) else []
    foreign = {symbol.name for symbol in symbols if symbol["st_shndx"] == "SHN_UNDEF"}
    own = {symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF" and symbol.name}
    executable, bind_now, now = 1, 8, 1
    checks = {
        "has no stack protector (-fstack-protector-strong)": "__stack_chk_fail" in foreign,
        "has no checked calls (_FORTIFY_SOURCE)": any(name.endswith("_chk") for name in foreign),
        "has no read-only relocations (-z relro)": "PT_GNU_RELRO" in segments,
        "binds its functions late (-z now)": bool(
            tags.get("DT_FLAGS", 0) & bind_now and tags.get("DT_FLAGS_1", 0) & now
        ),
        "may have an executable stack (-z noexecstack)": not segments.get("PT_GNU_STACK", executable) & executable,
        "looks for libraries in folders of its own (rpath)": not {"DT_RPATH", "DT_RUNPATH"} & set(tags),
        "has text relocations": "DT_TEXTREL" not in tags,
        "shows functions that are not its interface (-fvisibility=hidden)": all(name.startswith("pf_") for name in own),
    }
    return [what for what, holds in checks.items() if not holds]


def faults_of_trial(folder: Path) -> Iterator[str]:
    """Install each artefact that fits this machine into an environment with nothing else, and run the main jobs there.

    The packages that it needs are installed with the first of them, and stay for the others.
    """
    from packaging.tags import sys_tags
    from packaging.utils import parse_wheel_filename

    here = frozenset(sys_tags())
    fitting = [name for name in (*WHEELS, SDIST) if name == SDIST or here & parse_wheel_filename(name)[3]]
    with tempfile.TemporaryDirectory(prefix="perflog-") as folder_of_environment:
        python = empty_environment(Path(folder_of_environment))
        for name in fitting:
            options = () if name == fitting[0] else ("--force-reinstall", "--no-deps")
            with tempfile.TemporaryDirectory(prefix="perflog-") as place:
                found = _faults_when_run((folder / name).resolve(), python, Path(place), options)
                yield from (f"{name}: {fault}" for fault in found)


def _faults_when_run(artefact: Path, python: Path, place: Path, options: Sequence[str]) -> Iterator[str]:
    if (done := installed(python, str(artefact), *options)).returncode:
        yield f"pip cannot install it: {' '.join(done.stderr.split())[-300:]}"
        return
    perflog = str(python.with_name("perflog"))
    compiled = "linux" in artefact.name or artefact.name == SDIST
    job = "<!-- perflog: table try/logs --rows framework,devices --value throughput -->\n<!-- /perflog -->\n"
    (place / "README.md").write_text(job, encoding="utf-8")
    commands: Sequence[tuple[Sequence[str], str]] = (
        ((perflog, "--version"), f"perflog {__version__}, engine: {'compiled' if compiled else 'polars'}"),
        ((perflog, "example", "try"), "wrote try"),
        ((perflog, "extract", "try/logs", "--quiet"), "framework"),
        ((perflog, "readme", "README.md"), ""),
        ((perflog, "readme", "--check", "README.md"), ""),
        ((perflog, "report", "try/logs", "-o", "report.html"), ""),
        ((perflog, "compare", "try/2.12.1", "try/2.13.0"), "verdict"),
    )
    status = 0
    if sys.platform == "win32":
        status, commands = 2, (((perflog, "--version"), "expected Linux or macOS, found Windows"),)
    for command, expected in commands:
        done = subprocess.run(
            command,
            cwd=place,
            env=_environment_of_users(),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        said = " ".join((done.stdout + done.stderr).split())
        if done.returncode != status or expected not in said:
            found = f"exit status {done.returncode}, {said[-300:]}"
            yield f"{' '.join(command[1:])}: {found}: expected {status} and {expected!r}"
            return


def _environment_of_users() -> dict[str, str]:
    """Without what would bring a developer's modules or choose how perflog is built."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PERFLOG_"))}


def write_sbom(folder: Path) -> None:
    """Write what an installation with all extras consists of into ``sbom.cdx.json``, beside the folder.

    Raises:
        subprocess.CalledProcessError: when it cannot be installed or listed.
    """
    with tempfile.TemporaryDirectory(prefix="perflog-") as place:
        python = empty_environment(Path(place))
        installed(python, f"perflog[all] @ {(folder / WHEELS[-1]).resolve().as_uri()}").check_returncode()
        command = [
            sys.executable,
            "-m",
            "cyclonedx_py",
            "environment",
            "--output-reproducible",
            "--output-format",
            "JSON",
        ]
        file = folder.resolve().with_name("sbom.cdx.json")
        subprocess.run([*command, "--output-file", str(file), str(python)], check=True, cwd=place)


def empty_environment(place: Path) -> Path:
    """The Python of an environment with nothing in it, not even pip."""
    venv.create(place / "environment")
    return place / "environment" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def installed(
    python: Path, requirement: str, *options: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Install into an environment that has no pip."""
    pip = [sys.executable, "-I", "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check"]
    return subprocess.run(
        [*pip, "install", *options, requirement], env=environment or _environment_of_users(), cwd=python.parent,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=("tag", "build", "check", "try", "sbom"))
    parser.add_argument("what", help="the tag, or the folder")
    arguments = parser.parse_args(words)
    folder = Path(arguments.what)
    if arguments.job in ("build", "sbom"):
        (build if arguments.job == "build" else write_sbom)(folder)
        return 0
    if arguments.job == "tag":
        found = faults_of_tag(arguments.what)
    else:
        found = list((faults if arguments.job == "check" else faults_of_trial)(folder))
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
