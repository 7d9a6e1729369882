"""Audit every published state of a repository's tables against the logs of the same commit.

    git clone https://github.com/PaddlePaddle/Perf perf
    python -m tests.tools.audit_states perf states/

It takes each commit of any branch that changed a Markdown file, and of those with the same tables, links and logs the
first. Each is written below the folder with its audit beside it (audit.json); at the end come the figures of all, and
every accusation once, those that would change most for a reader first, with the first and the last state that had it.
Files that a shallow or partial clone lacks are left out and counted. docs/audit.md gives what was found.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perflog.audit import CellVerdict, audit, documents
from perflog.audit.judgement import apart
from perflog.audit.report import audit_data
from perflog.logs.find import find_logs

PICTURES = (".png", ".jpg", ".jpeg", ".gif")
#: What makes a state another one: lines of tables, links and headings.
MARKS = (b"|", b"](", b"#")


def git(repository: Path, *words: str) -> bytes | None:
    """What git answers; None where it fails."""
    done = subprocess.run(["git", "-C", str(repository), *words], capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def states(repository: Path) -> Iterator[tuple[str, dict[str, bytes | None]]]:
    """Each state of the tables as (commit, contents by path), None for a file that is not at hand."""
    seen: set[str] = set()
    contents: dict[str, bytes | None] = {}
    log = git(repository, "log", "--all", "--no-merges", "--reverse", "--format=%h", "--", "*.md") or b""
    for commit in log.decode().split():
        files, mark = {}, hashlib.sha256()
        for entry in (git(repository, "ls-tree", "-r", "-z", commit) or b"").decode().split("\0")[:-1]:
            (_, kind, blob), path = entry.split("\t", 1)[0].split(), entry.split("\t", 1)[1]
            if kind != "blob" or path.lower().endswith(PICTURES):
                continue
            if blob not in contents:
                contents[blob] = git(repository, "cat-file", "blob", blob)
            files[path] = text = contents[blob]
            lines = (line for line in (text or b"").splitlines() if any(m in line for m in MARKS))
            mark.update(path.encode() + (b"\n".join(lines) if path.lower().endswith(".md") else blob.encode()))
        if mark.hexdigest() not in seen:
            seen.add(mark.hexdigest())
            yield commit, files


def audited(folder: Path, files: dict[str, bytes | None]) -> dict[str, Any]:
    """The audit of a state, which is written below a folder."""
    for path, text in files.items():
        if text is not None and (not path.lower().endswith(".md") or is_utf8(text)):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(text)
    made = audit_data(audit(documents([folder]), find_logs([folder])))
    (folder / "audit.json").write_text(json.dumps(made), encoding="utf-8")
    return made


def is_utf8(text: bytes) -> bool:
    """Whether a page can be read: what is not UTF-8 is left out."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def main(repository: Path, target: Path) -> None:
    """Audit all states, and print what they give."""
    total, absent, accused = Counter[str](), 0, dict[tuple[str, ...], tuple[dict[str, Any], list[str]]]()
    for number, (commit, files) in enumerate(states(repository)):
        folder = target / f"{number:03d}-{commit}"
        cells = audited(folder, files)["cells"]
        absent += sum(text is None for text in files.values())
        total.update(cell["verdict"] for cell in cells)
        print(folder.name, dict(Counter(cell["verdict"] for cell in cells)), flush=True)
        for cell in (
            cell for cell in cells if cell["verdict"] in {verdict for verdict in CellVerdict if verdict.fails}
        ):
            place = cell["file"].partition(folder.name)[2]
            key = place, cell["heading"], cell["text"], cell["verdict"], f"{cell['value']}"
            accused.setdefault(key, (cell, []))[1].append(folder.name)
    for (place, *_), (cell, names) in sorted(
        accused.items(), key=lambda e: -apart(1 + (e[1][0]["difference"] or 0), 1)
    ):
        print(f"{names[0]} to {names[-1]} ({len(names)}) {place}:{cell['line']} {cell['text']}: {cell['verdict']}")
        print("   ", cell["detail"], *cell["sources"][:1], *cell["suspicions"], sep="\n    ")
    print(dict(total), f"{len(accused)} accusations once, {absent} files not at hand")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
