"""The compiled scanner reads strangers' bytes: how it is compiled, and that it opens no library but the C library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from perflog.matching.build_hook import compile_scanner, compilers
from perflog.matching.library import LIBRARY
from tests.support import ROOT
from tests.tools.release import not_hardened

SOURCE = ROOT / "perflog" / "matching" / "scan.c"

pytestmark = pytest.mark.skipif(sys.platform != "linux" or not compilers(""), reason="needs Linux and a C compiler")


@pytest.fixture(scope="module")
def scanner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This checkout's library, where it is newer than what it is made of; else one that is compiled now."""
    made_of = (*SOURCE.parent.glob("scan*"), SOURCE.with_name("build_hook.py"))
    if LIBRARY.exists() and LIBRARY.stat().st_mtime > max(file.stat().st_mtime for file in made_of):
        return LIBRARY
    library, report = compile_scanner(SOURCE, tmp_path_factory.mktemp("scanner"))
    assert library, report
    return library


@pytest.mark.long
def test_it_is_hardened(scanner: Path) -> None:
    assert not_hardened(scanner) == []


def test_one_that_is_not_hardened_is_seen(tmp_path: Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text("int other(char *to) { return *to; }\n")
    plain = [
        *compilers("")[0],
        "-O1",
        "-fPIC",
        "-shared",
        "-fno-stack-protector",
        "-Wl,-z,norelro,-z,lazy,-z,execstack",
    ]
    subprocess.run([*plain, "-Wl,-rpath,/tmp", str(source), "-o", str(tmp_path / "plain.so")], check=True)
    assert [what.split(" (")[0] for what in not_hardened(tmp_path / "plain.so")] == [
        "has no stack protector",
        "has no checked calls",
        "has no read-only relocations",
        "binds its functions late",
        "may have an executable stack",
        "looks for libraries in folders of its own",
        "shows functions that are not its interface",
    ]


def test_it_opens_no_library_while_it_runs(scanner: Path) -> None:
    """A library that is looked up by name may be a stranger's: one in the working folder, say."""
    shown = subprocess.run(["readelf", "-W", "--dyn-syms", str(scanner)], capture_output=True, text=True, check=True)
    names = {line.split()[7].split("@")[0] for line in shown.stdout.splitlines() if len(line.split()) > 7}
    assert "newlocale" in names
    assert not {"dlopen", "dlmopen", "system", "execve", "popen"} & names
