"""What perflog stands on, and whether faults of it are known: ``python -m tests.tools.dependencies``.

Every package that perflog and its extras need, as it is installed here, with its age and the newest version of the
package index; then pip-audit (installed into ``build/audit``) looks each up in the index's list of known
vulnerabilities. Where the index does not tell of vulnerabilities, a line says how many packages were not looked up, and
the ages are what remains; where it cannot be reached, one line says so. Status 1: a version is vulnerable, or was
withdrawn; 3: some could not be looked up.

``--pins tests/found/dependencies.md`` writes the ages of what pyproject.toml asks for into that page instead.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support import ROOT
from tests.tools.pages import write_between

INDEX = "https://pypi.org/pypi/{}/json"
EXTRAS = ("postgresql", "lz4", "dev")
PLACE = ROOT / "build" / "audit"
START = "<!-- below: python -m tests.tools.dependencies --pins tests/found/dependencies.md -->"
END = "<!-- above: python -m tests.tools.dependencies -->"
#: Extras that name others' packages for developers alone.
FOR_DEVELOPERS = ("dev", "docs")


@dataclass(frozen=True)
class Pin:
    """An installed version: ``released`` and ``newest_released`` are days of the index, empty where it has none."""

    name: str
    version: str
    released: str
    newest: str
    newest_released: str
    withdrawn: bool


def installed() -> dict[str, str]:
    """The versions of all packages that perflog and its extras need, directly or not, by name."""
    versions: dict[str, str] = {}
    waiting: list[tuple[str, tuple[str, ...]]] = [("perflog", EXTRAS)]
    while waiting:
        name, extras = waiting.pop()
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # of another platform, or of an extra that is not installed
        if name != "perflog":
            versions[canonicalize_name(name)] = package.version
        for text in package.requires or ():
            wanted = Requirement(text)
            needed = wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in ("", *extras))
            if needed and canonicalize_name(wanted.name) not in versions:
                waiting.append((wanted.name, tuple(wanted.extras)))
    return versions


def told_of(name: str) -> dict[str, Any]:
    """What the index says of a package; without releases where it has none of that name.

    Raises:
        OSError: where the index cannot be reached.
    """
    try:
        with urllib.request.urlopen(INDEX.format(name), timeout=30) as answer:
            told: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError:
        return {"info": {"version": ""}, "releases": {}}
    return told


def pin_of(name: str, version: str, told: dict[str, Any]) -> Pin:
    """A version, by what the index says of its package."""
    newest = told["info"]["version"]
    files = next((files for text, files in told["releases"].items() if Version(text) == Version(version)), ())
    return Pin(
        name,
        version,
        _day(files),
        newest,
        _day(told["releases"].get(newest, ())),
        bool(files) and all(file["yanked"] for file in files),
    )


def _day(files: Any) -> str:
    return min((file["upload_time_iso_8601"][:10] for file in files), default="")


def age(day: str) -> str:
    """Days since a day of the index; ``?`` where it is not known."""
    if not day:
        return "?"
    return str((datetime.now(UTC).date() - datetime.fromisoformat(day).date()).days)


def lines(pins: list[Pin]) -> Iterator[str]:
    """A table, the oldest version first."""
    yield f"{'package':24} {'version':14} {'released':12} {'days':>5}  {'newest':14} released"
    for pin in sorted(pins, key=lambda pin: pin.released or "9"):
        withdrawn = "  WITHDRAWN" if pin.withdrawn else ""
        yield (
            f"{pin.name:24} {pin.version:14} {pin.released or '?':12} {age(pin.released):>5}  "
            f"{'-' if pin.newest == pin.version else pin.newest:14} {pin.newest_released}{withdrawn}"
        )


def audited(versions: dict[str, str]) -> tuple[list[str], int]:
    """What pip-audit says: a line for each known vulnerability, and how many packages it could not look up.

    Raises:
        subprocess.CalledProcessError: where pip-audit cannot be installed.
    """
    python = PLACE / "bin" / "python"
    if not python.exists():
        venv.create(PLACE, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pip-audit"]
        subprocess.run(command, check=True)
    wanted = PLACE / "requirements.txt"
    wanted.write_text("".join(f"{name}=={version}\n" for name, version in sorted(versions.items())), encoding="utf-8")
    command = [
        str(python),
        "-m",
        "pip_audit",
        "--requirement",
        str(wanted),
        "--no-deps",
        "--disable-pip",
        "--format",
        "json",
    ]
    done = subprocess.run(
        [*command, "--progress-spinner", "off"], capture_output=True, text=True, check=False, timeout=600
    )
    if not done.stdout:
        return [], len(versions)
    entries = json.loads(done.stdout)["dependencies"]
    known = [
        f"{entry['name']} {entry['version']}: {fault['id']}, repaired in {', '.join(fault['fix_versions']) or 'no version'}"
        for entry in entries
        for fault in entry.get("vulns", ())
    ]
    return known, sum("skip_reason" in entry for entry in entries)


def summary(packages: int, known: list[str], unknown: int) -> list[str]:
    """What is known, said last: first how many packages were not looked up, for of these nothing is known.

    Args:
        packages: how many there are.
        known: a line for each known vulnerability.
        unknown: packages that could not be looked up.
    """
    why = "could be looked up, since the index here does not tell of vulnerabilities of each; the ages are what remains"
    if unknown == packages:
        return [f"None of {packages} packages {why}."]
    missing = [f"{packages - unknown} of {packages} packages {why} of the other {unknown}."] if unknown else []
    return [*missing, *known, f"Known vulnerabilities of the {packages - unknown} packages looked up: {len(known)}."]


def asked_for() -> list[Requirement]:
    """What perflog and the extras of its users ask for, as pyproject.toml says it, each package once."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *(t for extra in extras if extra not in FOR_DEVELOPERS for t in extras[extra])]
    wanted = {requirement.name: requirement for requirement in map(Requirement, texts)}
    return [requirement for name, requirement in wanted.items() if name != "perflog"]


def pins_page() -> str:
    """The ages of the least version that pyproject.toml allows and of the installed one, in Markdown.

    Raises:
        OSError: where the index cannot be reached.
    """
    versions = installed()
    rows = [
        f"Days on {datetime.now(UTC).date()}:\n",
        "| package | least | released | days | installed | released | days | newest |",
        "|---|---|---|--:|---|---|--:|---|",
    ]
    for requirement in asked_for():
        told = told_of(requirement.name)
        least = next((part.version for part in requirement.specifier if part.operator in (">=", "==")), None)
        cells = []
        for version in (least, versions.get(canonicalize_name(requirement.name))):
            pin = pin_of(requirement.name, version, told) if version else None
            cells += [pin.version, pin.released or "?", age(pin.released)] if pin else ["-", "-", "-"]
        newest = told["info"]["version"]
        rows.append("| " + " | ".join([requirement.name, *cells, "the same" if newest == cells[3] else newest]) + " |")
    return "\n".join(rows) + "\n"


def main() -> None:
    """Print the table and the faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pins", type=Path, help="write the ages of what pyproject.toml asks for into this page")
    page = parser.parse_args().pins
    versions = installed()
    try:
        if page is not None:
            write_between(page, START, END, pins_page())
            return
        pins = [pin_of(name, version, told_of(name)) for name, version in versions.items()]
        print(*lines(pins), sep="\n")
        known, unknown = audited(versions)
    except (OSError, subprocess.SubprocessError) as error:
        print(
            f"the package index could not be reached ({error}): of {len(versions)} packages neither the ages nor the "
            f"known vulnerabilities were looked up. Try again where {urlsplit(INDEX).netloc} can be reached."
        )
        sys.exit(3)
    print(*summary(len(versions), known, unknown), sep="\n")
    if known or any(pin.withdrawn for pin in pins):
        sys.exit(1)
    sys.exit(3 if unknown else 0)


if __name__ == "__main__":
    main()
