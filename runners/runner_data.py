"""Data of the user's own for the four runners: which layout a path has, and its samples. Needs numpy, and Python 3.8.

Each runner reads the layouts that its framework has a loader for; what is shared here is how a layout is told, and the
reading of images and of tar shards, which need no framework.
"""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path

import numpy as np

ARRAYS, FOLDERS, TARS, RECORDIO, MINDRECORD = "arrays", "image folders", "tar shards", "RecordIO", "MindRecord"
#: What each layout is, in words.
LAYOUTS = {
    ARRAYS: "images.npy (n, 3, size, size; uint8) and labels.npy (n)",
    FOLDERS: "a folder for each class with its images, as ImageNet has them (train/n01440764/*.JPEG)",
    TARS: "tar shards with samples side by side, as WebDataset has them (0001.jpg and 0001.cls in *.tar)",
    RECORDIO: "MXNet's RecordIO (*.rec, made by im2rec)",
    MINDRECORD: "MindSpore's MindRecord (*.mindrecord with the columns data and label)",
}
_ENDINGS = {TARS: ".tar", RECORDIO: ".rec", MINDRECORD: ".mindrecord"}
IMAGES = (".jpeg", ".jpg", ".png", ".ppm")
_SIZES = 3


def layout_of(path: Path, reads: tuple[str, ...]) -> str:
    """The layout of what lies at a path, which must be one of those that a runner reads; ends the program else."""
    if not path.exists():
        sys.exit(f"--data {path}: there is no such file or folder; expected {_either(reads)}")
    layout = _layout(path)
    if layout is None:
        names = sorted(entry.name for entry in path.iterdir())[:5] if path.is_dir() else [path.name]
        found = ", ".join(names) or "an empty folder"
        sys.exit(f"--data {path}: expected {_either(reads)}; found {found}; name the folder that holds them")
    if layout not in reads:
        sys.exit(f"--data {path}: found {LAYOUTS[layout]}, which this runner does not read; expected {_either(reads)}")
    return layout


def files_of(path: Path, layout: str) -> list[Path]:
    """The files of tar shards, RecordIO or MindRecord at a path, by name."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.iterdir() if file.name.lower().endswith(_ENDINGS[layout]))


def folder_of_classes(path: Path) -> Path:
    """The folder whose folders are the classes: ``train`` where there is one, as in ImageNet."""
    return path / "train" if (path / "train").is_dir() else path


def labelled_files(path: Path) -> list[tuple[Path, int]]:
    """The images of folders of classes, each with its class: the number of its folder by name."""
    classes = sorted(folder for folder in folder_of_classes(path).iterdir() if folder.is_dir())
    return [
        (file, number)
        for number, folder in enumerate(classes)
        for file in sorted(folder.iterdir())
        if file.name.lower().endswith(IMAGES)
    ]


def image_of(name: str, content: bytes) -> np.ndarray:
    """An image as (3, height, width; uint8): PPM and NPY by numpy alone, JPEG and PNG by Pillow."""
    lower = name.lower()
    if lower.endswith(".npy"):
        return np.load(io.BytesIO(content), allow_pickle=False)
    if lower.endswith(".ppm"):
        return _ppm(name, content)
    try:
        from PIL import Image
    except ImportError:
        sys.exit(f"--data: {name} is read by Pillow, which is not installed here: pip install pillow")
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image.convert("RGB")).transpose(2, 0, 1)


def samples_of_tars(shards: list[Path], rank: int, ranks: int):
    """(image, label) of a rank's samples in tar shards; each shard is read from its beginning to its end.

    The members of a sample stand side by side and share their name up to its first dot.
    """
    number = 0
    for shard in shards:
        with tarfile.open(shard) as members:
            sample: dict[str, bytes] = {}
            key = ""
            for member in members:
                if not member.isfile():
                    continue
                name, _, ending = Path(member.name).name.partition(".")
                name = f"{Path(member.name).parent}/{name}"
                if name != key and sample:
                    if number % ranks == rank:
                        yield _sample(shard, key, sample)
                    number += 1
                    sample = {}
                key = name
                opened = members.extractfile(member)
                sample[ending.lower()] = b"" if opened is None else opened.read()
            if sample:
                if number % ranks == rank:
                    yield _sample(shard, key, sample)
                number += 1


def again_and_again(samples_once):
    """What a function yields, from the beginning again whenever it ends; ends the program where it yields nothing."""
    while True:
        empty = True
        for sample in samples_once():
            empty = False
            yield sample
        if empty:
            sys.exit("--data: there are no samples for this process; give as many as there are processes, or more")


def _sample(shard: Path, key: str, sample: dict[str, bytes]):
    image = next((ending for ending in sample if f".{ending}".endswith((*IMAGES, ".npy"))), None)
    if image is None or "cls" not in sample:
        found = ", ".join(sorted(sample))
        sys.exit(f"--data {shard}: the sample {key} has {found}; expected an image (.jpg, .png, .ppm, .npy) and .cls")
    try:
        label = int(sample["cls"])
    except ValueError:
        sys.exit(f"--data {shard}: {key}.cls: expected a whole number, found {sample['cls'][:20]!r}")
    return image_of(f"{key}.{image}", sample[image]), label


def _ppm(name: str, content: bytes) -> np.ndarray:
    words = content.split(maxsplit=4)
    if len(words) < _SIZES + 1 or words[0] != b"P6" or words[3] != b"255":
        sys.exit(f"--data: {name}: expected a PPM of 8 bits (P6, 255), found {content[:20]!r}")
    width, height = int(words[1]), int(words[2])
    pixels = np.frombuffer(content[len(content) - 3 * width * height :], dtype=np.uint8)
    return pixels.reshape(height, width, 3).transpose(2, 0, 1)


def _layout(path: Path) -> str | None:
    if path.is_dir() and (path / "images.npy").exists() and (path / "labels.npy").exists():
        return ARRAYS
    names = [path.name.lower()] if path.is_file() else [entry.name.lower() for entry in path.iterdir()]
    for layout, ending in _ENDINGS.items():
        if any(name.endswith(ending) for name in names):
            return layout
    if path.is_dir() and labelled_files(path):
        return FOLDERS
    return None


def _either(reads: tuple[str, ...]) -> str:
    return "; or ".join(LAYOUTS[layout] for layout in reads)
