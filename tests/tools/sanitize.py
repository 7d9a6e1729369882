"""The scanner under AddressSanitizer and UndefinedBehaviorSanitizer: ``python -m tests.tools.sanitize --seconds 1800``.

With clang and libFuzzer (Debian: ``apt-get install clang libclang-rt-14-dev``) inputs are found by coverage; with any
other compiler they are made from a seed. Before that, all fixtures and mutated logs go through the scanner.
Exit status 1 when the sanitizers find something.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from perflog.formats.catalog import load_catalog
from perflog.matching.compiled_engine import CompiledEngine
from tests.support import ROOT
from tests.tools.fuzz import texts

SOURCE = ROOT / "tests" / "tools" / "scan_fuzz.c"
SANITIZERS = "address,undefined"
#: Inputs for libFuzzer: longer ones find little more and take longer.
LONGEST_INPUT = 4000


def compiled(folder: Path, guided: bool) -> Path:
    """The fuzzer's program: guided by coverage, or making its inputs from a seed."""
    program = folder / ("guided" if guided else "seeded")
    compiler = "clang" if guided else os.environ.get("CC", "cc")
    kind = f"-fsanitize=fuzzer,{SANITIZERS}" if guided else f"-fsanitize={SANITIZERS}"
    words = [compiler, "-g", "-O1", kind, "-fno-sanitize-recover=undefined", *([] if guided else ["-DSTANDALONE"])]
    subprocess.run([*words, str(SOURCE), "-o", str(program), "-lm"], check=True)
    return program


def has_libfuzzer(folder: Path) -> bool:
    """Whether clang is here with the runtime that the fuzzer needs."""
    if shutil.which("clang") is None:
        return False
    empty = folder / "empty.c"
    empty.write_text("int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d && n ? 0 : 0; }\n")
    words = ["clang", f"-fsanitize=fuzzer,{SANITIZERS}", str(empty), "-o", str(folder / "empty")]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--logs", type=int, default=2000, help="how many mutated logs go through it first")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="perflog-") as name:
        folder = Path(name)
        catalog = folder / "catalog.pfs"
        CompiledEngine(load_catalog()).dump(catalog)
        environment = {**os.environ, "SCAN_PROGRAM": str(catalog)}
        seeded = compiled(folder, guided=False)
        logs = folder / "logs"
        logs.mkdir()
        for number, (_, batch) in enumerate(texts(0, arguments.logs)):
            for place, text in enumerate(batch):
                (logs / f"{number}-{place}").write_bytes(text)
        done = subprocess.run([str(seeded), *map(str, sorted(logs.iterdir()))], env=environment, check=False)
        if done.returncode:
            return 1
        print(f"{arguments.logs} mutated logs: nothing found", flush=True)
        if has_libfuzzer(folder):
            (folder / "corpus").mkdir()
            limits = [f"-max_len={LONGEST_INPUT}", f"-max_total_time={arguments.seconds}", "-print_final_stats=1"]
            command = [str(compiled(folder, guided=True)), *limits, str(folder / "corpus"), str(logs)]
        else:
            print("no clang with libFuzzer here: inputs are made from a seed", flush=True)
            command = [str(seeded), str(arguments.seconds), "1"]
        return 1 if subprocess.run(command, env=environment, check=False).returncode else 0


if __name__ == "__main__":
    sys.exit(main())
