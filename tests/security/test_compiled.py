"""The compiled scanner reads strangers' bytes: how it is compiled, and that it takes no library of a stranger's folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perflog.matching.build_hook import FLAGS, LINKED, compile_scanner, compilers
from tests.support import ROOT
from tests.tools.release import not_hardened

SOURCE = ROOT / "perflog" / "matching" / "scan.c"

pytestmark = pytest.mark.skipif(sys.platform != "linux" or not compilers(""), reason="needs Linux and a C compiler")


@pytest.fixture(scope="module")
def scanner(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


PLANT = """
#include <fcntl.h>
#include <stdlib.h>
__attribute__((constructor)) static void loaded(void) { creat(getenv("PLANTED"), 0600); }
"""
OPEN = """
import ctypes, sys
scanner = ctypes.CDLL(sys.argv[1])
scanner.pf_open.restype = ctypes.c_char_p
print(scanner.pf_open())
"""


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A folder, and one in it, that hold a PCRE2 which writes the file ``loaded`` when it is opened."""
    (tmp_path / "plant.c").write_text(PLANT)
    (tmp_path / "work" / "lib").mkdir(parents=True)
    for folder in (tmp_path / "work", tmp_path / "work" / "lib"):
        for name in ("libpcre2-8.so.0", "libpcre2-8.so"):
            command = [*compilers("")[0], *FLAGS, str(tmp_path / "plant.c"), "-o", str(folder / name), *LINKED]
            subprocess.run(command, check=True)
    return tmp_path / "work"


def opened(scanner: Path, stranger: Path, folders: str | None) -> tuple[str, bool]:
    """What the scanner says when it opens PCRE2 in the stranger's folder; whether it opened the stranger's."""
    mark = stranger.parent / "loaded"
    left = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    variables = left if folders is None else {**left, "LD_LIBRARY_PATH": folders}
    done = subprocess.run(
        [sys.executable, "-I", "-c", OPEN, str(scanner)],
        cwd=stranger,
        env={**variables, "PLANTED": str(mark)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip(), mark.exists()


@pytest.mark.parametrize(
    "folders", [None, "", ":", ":/opt/lib", "/opt/lib:", "/opt/lib::/opt/more", ".", "./lib", "lib:/opt"]
)
def test_no_library_of_the_working_folder_is_opened(scanner: Path, stranger: Path, folders: str | None) -> None:
    assert opened(scanner, stranger, folders) == ("None", False), "PCRE2 of the system, which needs no more of the path"


def test_a_folder_that_the_user_names_in_full_is_used(scanner: Path, stranger: Path) -> None:
    """So the planted library would be opened, were it looked for."""
    assert opened(scanner, stranger, str(stranger))[1]


@pytest.mark.long
def test_macos_opens_full_paths_alone(tmp_path: Path) -> None:
    """Compiled here, run nowhere: what its text section holds of names."""
    pytest.importorskip("ziglang")
    library, report = compile_scanner(SOURCE, tmp_path, "aarch64-macos.11.0")
    assert library, report
    names = [
        text
        for text in library.read_bytes().split(b"\0")
        if b"libpcre2" in text and text.isascii() and b" " not in text
    ]
    assert names == [b"%s/libpcre2-8.0.dylib"]
    folders = [text for text in library.read_bytes().split(b"\0") if text.endswith(b"/lib") and text.isascii()]
    assert folders == [b"/opt/homebrew/lib", b"/usr/local/lib", b"/opt/local/lib"]
