"""Data of the user's own in the four runners: layouts told apart, and trained on where a framework is installed."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import struct
import subprocess
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflog.campaign.machine import gpu_count
from tests.support import ROOT, extracted

RUNNERS = ROOT / "runners"
SIZE, CLASSES, COUNT = 8, 4, 32
STEPS = ["--device=cpu", "--steps=6", "--warmup=2", "--log-interval=2", "--batch-size=4", f"--image-size={SIZE}"]


def module_of_runners() -> Any:
    """The runners' module of data, which their own programs import from beside them."""
    spec = importlib.util.spec_from_file_location("runner_data", RUNNERS / "runner_data.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ppm(number: int) -> bytes:
    """An image whose every byte is the number."""
    return b"P6\n%d %d\n255\n" % (SIZE, SIZE) + bytes([number]) * (3 * SIZE * SIZE)


def arrays(folder: Path) -> Path:
    folder.mkdir()
    random = np.random.default_rng(0)
    np.save(folder / "images.npy", random.integers(0, 256, (COUNT, 3, SIZE, SIZE), dtype=np.uint8))
    np.save(folder / "labels.npy", np.arange(COUNT) % CLASSES)
    return folder


def image_folders(folder: Path, ending: str = "ppm") -> Path:
    for number in range(COUNT):
        place = folder / "train" / f"n{number % CLASSES}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.{ending}").write_bytes(ppm(number) if ending == "ppm" else png(number))
    return folder


def tar_shards(folder: Path, count: int = COUNT) -> Path:
    folder.mkdir()
    for shard in range(2):
        with tarfile.open(folder / f"{shard:04}.tar", "w") as members:
            for number in range(shard * count // 2, (shard + 1) * count // 2):
                for ending, content in (("ppm", ppm(number)), ("cls", b"%d\n" % (number % CLASSES))):
                    member = tarfile.TarInfo(f"train/{number:06}.{ending}")
                    member.size = len(content)
                    members.addfile(member, io.BytesIO(content))
    return folder


def other(folder: Path, name: str) -> Path:
    folder.mkdir()
    (folder / name).write_bytes(b"")
    return folder


MADE: dict[str, Callable[[Path], Path]] = {
    "arrays": arrays,
    "image folders": image_folders,
    "tar shards": tar_shards,
    "RecordIO": lambda folder: other(folder, "train.rec"),
    "MindRecord": lambda folder: other(folder, "train.mindrecord"),
}


@pytest.mark.parametrize("layout", MADE)
def test_layouts_are_told_apart(tmp_path: Path, layout: str) -> None:
    runner_data = module_of_runners()

    assert runner_data.layout_of(MADE[layout](tmp_path / "data"), tuple(runner_data.LAYOUTS)) == layout


def test_a_layout_that_a_runner_does_not_read_is_refused_in_one_line(tmp_path: Path) -> None:
    runner_data = module_of_runners()

    place = tar_shards(tmp_path / "data")
    with pytest.raises(SystemExit) as refused:
        runner_data.layout_of(place, (runner_data.ARRAYS, runner_data.RECORDIO))
    assert str(refused.value) == (
        f"--data {place}: found tar shards with samples side by side, as WebDataset has them (0001.jpg and 0001.cls in "
        "*.tar), which this runner does not read; expected images.npy (n, 3, size, size; uint8) and labels.npy (n); or "
        "MXNet's RecordIO (*.rec, made by im2rec)"
    )


def test_what_is_none_is_refused_with_what_was_found(tmp_path: Path) -> None:
    runner_data = module_of_runners()

    with pytest.raises(SystemExit, match=r"there is no such file or folder; expected images\.npy"):
        runner_data.layout_of(tmp_path / "missing", (runner_data.ARRAYS,))
    with pytest.raises(SystemExit, match=r"found README, notes\.txt; name the folder that holds them"):
        (tmp_path / "notes.txt").write_text("")
        (tmp_path / "README").write_text("")
        runner_data.layout_of(tmp_path, (runner_data.ARRAYS,))


def test_samples_of_tar_shards_fall_to_ranks_once_each(tmp_path: Path) -> None:
    runner_data = module_of_runners()

    shards = runner_data.files_of(tar_shards(tmp_path / "data", 10), runner_data.TARS)
    of_ranks = [list(runner_data.samples_of_tars(shards, rank, 3)) for rank in range(3)]
    numbers = [[int(image[0, 0, 0]) for image, _ in samples] for samples in of_ranks]
    assert numbers == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]
    assert [[label for _, label in samples] for samples in of_ranks] == [[0, 3, 2, 1], [1, 0, 3], [2, 1, 0]]
    assert of_ranks[0][0][0].shape == (3, SIZE, SIZE)


def test_a_sample_without_its_class_is_refused(tmp_path: Path) -> None:
    runner_data = module_of_runners()

    with tarfile.open(tmp_path / "0.tar", "w") as members:
        members.addfile(tarfile.TarInfo("7.ppm"))
    with pytest.raises(SystemExit, match=r"the sample \./7 has ppm; expected an image .* and \.cls"):
        list(runner_data.samples_of_tars([tmp_path / "0.tar"], 0, 1))


def test_an_image_of_numpy_and_one_of_ppm_are_the_same() -> None:
    runner_data = module_of_runners()

    pixels = np.arange(3 * 2 * 5, dtype=np.uint8).reshape(3, 2, 5)
    packed = io.BytesIO()
    np.save(packed, pixels)
    as_ppm = b"P6 5 2 255\n" + pixels.transpose(1, 2, 0).tobytes()
    assert (runner_data.image_of("a.npy", packed.getvalue()) == runner_data.image_of("a.PPM", as_ppm)).all()
    assert (runner_data.image_of("a.ppm", as_ppm) == pixels).all()


# ---------------------------------------------------------------- really trained


def python_of(framework: str) -> Path:
    """The Python of a runner's environment; skips where there is none."""
    python = RUNNERS / ".environments" / framework / "bin" / "python"
    if not python.exists():
        pytest.skip(
            f"the environment of the {framework} runner is not made: perflog run --make-environment {framework}"
        )
    return python


def trained(framework: str, *words: str, script: str = "", succeeds: bool = True) -> str:
    """What a runner prints, or a script in its environment."""
    command = [str(python_of(framework)), *(["-c", script] if script else [str(RUNNERS / framework / "train.py")])]
    quiet = {**os.environ, "OMP_NUM_THREADS": "1", "GLOG_v": "3", "ONEDNN_MAX_CPU_ISA": "AVX2", "PYTHONUNBUFFERED": "1"}
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False, env=quiet, timeout=300)
    assert (done.returncode == 0) == succeeds, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout + done.stderr


TO_RECORDS = """
import sys, mxnet as mx
from pathlib import Path
writer = mx.recordio.MXRecordIO(sys.argv[1], "w")
for number in range(32):
    image = Path(sys.argv[2], f"{number}.png").read_bytes()
    writer.write(mx.recordio.pack(mx.recordio.IRHeader(0, float(number % 4), number, 0), image))
writer.close()
"""
TO_MINDRECORD = """
from pathlib import Path
import sys
from mindspore.mindrecord import FileWriter
writer = FileWriter(sys.argv[1], shard_num=1)
writer.add_schema({"label": {"type": "int32"}, "data": {"type": "bytes"}}, "images")
images = [Path(sys.argv[2], f"{number}.png").read_bytes() for number in range(32)]
writer.write_raw_data([{"label": number % 4, "data": image} for number, image in enumerate(images)])
writer.commit()
"""


def png(number: int) -> bytes:
    """An image whose every byte is the number."""

    def piece(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    rows = (b"\0" + bytes([number]) * (3 * SIZE)) * SIZE
    head = piece(b"IHDR", struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + piece(b"IDAT", zlib.compress(rows)) + piece(b"IEND", b"")


def packed_by(framework: str, folder: Path) -> None:
    """Images in the framework's own kind of file."""
    images = folder.with_name("images")
    for place in (folder, images):
        place.mkdir()
    for number in range(COUNT):
        (images / f"{number}.png").write_bytes(png(number))
    name, script = {"mxnet": ("train.rec", TO_RECORDS), "mindspore": ("train.mindrecord", TO_MINDRECORD)}[framework]
    trained(framework, str(folder / name), str(images), script=script)


@pytest.mark.long
@pytest.mark.parametrize(
    ("framework", "layout"),
    [
        ("pytorch", "synthetic"), ("pytorch", "arrays"), ("pytorch", "image folders"), ("pytorch", "tar shards"),
        ("mxnet", "RecordIO"), ("mxnet", "image folders"), ("mindspore", "image folders"), ("mindspore", "MindRecord"), ("mindspore", "synthetic"),
        ("paddle", "image folders"), ("paddle", "synthetic"), ("paddle", "arrays"),
    ],
)  # fmt: skip
def test_a_runner_trains_on_its_data_and_says_which(tmp_path: Path, framework: str, layout: str) -> None:
    place = tmp_path / "data"
    if layout in ("RecordIO", "MindRecord"):
        packed_by(framework, place)
    elif layout == "image folders" and framework in ("mxnet", "mindspore"):
        image_folders(place, "png")  # their own loaders read no PPM
    elif layout != "synthetic":
        MADE[layout](place)
    side = tmp_path / "side.json"
    words = [] if layout == "synthetic" else [f"--data={place}"]
    log = trained(framework, *STEPS, *words, f"--side={side}")
    assert f"perflog runner: data: {layout if layout == 'synthetic' else f'{layout} at {place}'}\n" in log
    clock = json.loads(side.read_text())
    assert clock["samples"] == 4 * 4 and clock["data"] == (layout if layout == "synthetic" else f"{layout} at {place}")


@pytest.mark.long
@pytest.mark.parametrize("framework", ["pytorch", "paddle", "mxnet", "mindspore"])
def test_a_runner_says_its_device_and_takes_no_other_than_was_asked_for(framework: str, tmp_path: Path) -> None:
    log = trained(framework, *STEPS)
    assert "perflog runner: device: CPU\n" in log
    file = tmp_path / "a.log"
    file.write_text(log)
    (run,) = extracted(file, warmup="1records").runs
    assert run.values["accelerator"] == "CPU"
    if gpu_count():
        pytest.skip("this machine has a GPU")
    for device in ([], ["--device=gpu"]):
        log = trained(framework, *[word for word in STEPS if "device" not in word], *device, succeeds=False)
        assert "--device gpu: " in log and "finds none here" in log
        assert "Traceback" not in log and "perflog runner: device" not in log


@pytest.mark.long
@pytest.mark.parametrize("framework", ["mxnet", "paddle", "mindspore"])
def test_a_runner_refuses_what_its_framework_has_no_loader_for(tmp_path: Path, framework: str) -> None:
    place = tar_shards(tmp_path / "data")
    log = trained(framework, *STEPS, f"--data={place}", succeeds=False)
    assert f"--data {place}: found tar shards" in log and "which this runner does not read; expected" in log
    assert "Traceback" not in log


@pytest.mark.long
def test_labels_beyond_the_classes_of_the_model_are_refused(tmp_path: Path) -> None:
    place = arrays(tmp_path / "data")
    np.save(place / "labels.npy", np.arange(COUNT) + 100)
    log = trained("pytorch", *STEPS, f"--data={place}", succeeds=False)
    assert "expected labels from 0 to 99, as this model has classes; found 100 to 103" in log
