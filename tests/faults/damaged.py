"""Damage a history's file and a cache's, bytes and whole pages of them, and run every command that reads them.

    python -m tests.faults.damaged [--files 200] [--seed 1]

Each must end with a status that perflog knows and, where it fails, one plain line; the cache must change no number. The
exit status is 1 if anything else was seen, which is said on stderr.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process that is forked must have no threads

from tests.faults.commands import COMMANDS, lay_out
from tests.faults.nth import said_wrongly
from tests.faults.trial import emptied, import_all, undisturbed

#: What reads each file, by the file's place.
_HISTORY, _CACHE = "h.sqlite", "cache/perflog/logs/perflog-cache-1.sqlite"
READERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    _HISTORY: (
        ("history", "--database", _HISTORY),
        ("history", "--database", _HISTORY, "--case", "model=rn50"),
        ("save", "logs", "-q", "--label", "new", "--database", _HISTORY),
        ("compare", "old", "old", "--database", _HISTORY),
        ("history", "delete", "old", "--yes", "--database", _HISTORY),
    ),
    _CACHE: (("extract", "logs", "-q", "--cache"), ("cache",)),
}
_PAGE = 4096


def _bits(data: bytearray, draw: random.Random) -> None:
    for _ in range(draw.choice((1, 1, 8, 60, 400))):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def _page(data: bytearray, draw: random.Random) -> None:
    """A page of noise, of zeros, or another page in its place."""
    first = draw.randrange(len(data) // _PAGE) * _PAGE
    other = draw.randrange(len(data) // _PAGE) * _PAGE
    data[first : first + _PAGE] = draw.choice((draw.randbytes(_PAGE), bytes(_PAGE), data[other : other + _PAGE]))


def _stretch(data: bytearray, draw: random.Random) -> None:
    """A stretch of bytes of one value within a page: headers of pages and records are hit as a whole."""
    first, size = draw.randrange(len(data)), draw.choice((2, 8, 64))
    data[first : first + size] = bytes([draw.choice((0, 0xFF, 0xC3, 0x80))]) * len(data[first : first + size])


def _text(data: bytearray, draw: random.Random) -> None:
    """Bytes that are no UTF-8 in the schema and its neighbours, which the driver decodes."""
    first = draw.randrange(min(len(data), 2 * _PAGE))
    data[first] = draw.choice((0xFF, 0xC3, 0xED, 0x80))


def _cut(data: bytearray, draw: random.Random) -> None:
    del data[draw.randrange(len(data)) :]


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (_bits, _page, _text, _cut, _stretch, _page, _bits)


def main() -> int:
    """Damage so many files of each kind; 1 if a command ended in another way than it should."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    import_all()
    print("| file | command | files | ended well | one line | wrong |\n|---|---|--:|--:|--:|--:|")
    folder = Path(tempfile.mkdtemp()).resolve()
    try:
        return sum(_tried(folder, name, given.files, given.seed) for name in READERS) and 1
    finally:
        emptied(folder)


def _tried(place: Path, name: str, files: int, seed: int) -> int:
    """Damage one file so many times; how often something was wrong."""
    command = COMMANDS["history" if name == _HISTORY else "extract --cache, kept"]
    folder = place / name.partition(".")[0].replace("/", "-") / "work"
    folder.parent.mkdir()
    lay_out(command, folder)
    file = folder / name
    whole = file.read_bytes()
    right = {words: undisturbed(folder, words) for words in READERS[name]}
    draw = random.Random(seed)
    ends: dict[tuple[str, ...], Counter[str]] = {words: Counter() for words in READERS[name]}
    for number in range(files):
        data = bytearray(whole)
        damage = DAMAGES[number % len(DAMAGES)]
        damage(data, draw)
        for words in READERS[name]:
            for left in file.parent.glob(file.name + "*"):
                left.unlink()
            file.write_bytes(data)
            file.chmod(0o600)
            ended = undisturbed(folder, words)
            same = words[0] == "extract"  # the others say what is left
            wrong = [w for w in said_wrongly(ended, right[words], 0) if same or "another result" not in w]
            if same and ended.status != 0:
                wrong.append("the cache has ended an extraction")
            ends[words]["wrong" if wrong else "well" if ended.status == 0 else "said"] += 1
            for line in wrong:
                print(f"{name} {number} {damage.__name__}, {' '.join(words)}: {line}: {ended.error}", file=sys.stderr)
    for words, counts in ends.items():
        print(
            f"| {Path(name).name} | `{' '.join(words)}` | {files} | {counts['well']} | {counts['said']} | {counts['wrong']} |"
        )
    shutil.rmtree(folder.parent)
    return sum(counts["wrong"] for counts in ends.values())


if __name__ == "__main__":
    sys.exit(main())
