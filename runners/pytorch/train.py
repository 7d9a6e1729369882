"""Train a CNN on PyTorch and log as pytorch/examples' imagenet does, or through NVIDIA's DLLogger where that is installed.

python train.py --model resnet50 --precision amp --batch-size 128
torchrun --standalone --nproc_per_node=8 train.py --model resnet50 --precision amp --batch-size 128
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import torch
from torch import distributed, nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import common
import runner_data


def convolution(inputs: int, outputs: int, size: int, stride: int = 1, relu: bool = True) -> nn.Sequential:
    layers = [nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *[nn.ReLU(inplace=True)] * relu)


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * channels
        self.body = nn.Sequential(
            convolution(inputs, channels, 1),
            convolution(channels, channels, 3, stride),
            convolution(channels, outputs, 1, relu=False),
        )
        self.shortcut = nn.Identity() if inputs == outputs else convolution(inputs, outputs, 1, stride, relu=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


def network(model: str, classes: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    channels = 3
    if model == "cnn":
        for outputs, stride in common.CNN:
            layers.append(convolution(channels, outputs, 3, stride))
            channels = outputs
    else:
        layers, channels = [convolution(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
        for blocks, width, stride in common.RESNET50:
            for block in range(blocks):
                layers.append(Bottleneck(channels, width, stride if block == 0 else 1))
                channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class Meter:
    """A value and its mean since the beginning, as pytorch/examples prints them."""

    def __init__(self, name: str, form: str) -> None:
        self.name, self.form, self.last, self.sum, self.count = name, form, 0.0, 0.0, 0

    def update(self, value: float) -> None:
        self.last, self.sum, self.count = value, self.sum + value, self.count + 1

    def __str__(self) -> str:
        return f"{self.name} {self.last:{self.form}} ({self.sum / self.count:{self.form}})"


def dll_logger(chosen):
    """NVIDIA's DLLogger, where it is wanted and can be imported; it is on GitHub and in NGC containers, not on PyPI."""
    if chosen.logger == "examples":
        return None
    try:
        import dllogger
    except ImportError:
        if chosen.logger == "dllogger":
            sys.exit(
                "--logger dllogger: the package dllogger is not installed (pip install git+https://github.com/NVIDIA/dllogger)"
            )
        return None

    def position(step):
        return f"Epoch: {step[0]} Iteration: {step[1]}" if len(step) > 1 else "Summary:"

    dllogger.init([dllogger.StdOutBackend(dllogger.Verbosity.DEFAULT, step_format=position)])
    for name, unit in (("train.compute_ips", "images/s"), ("train.total_ips", "images/s")):
        dllogger.metadata(name, {"unit": unit, "format": ":.2f"})
    return dllogger


class TarShards(torch.utils.data.IterableDataset):
    """A rank's samples of tar shards."""

    def __init__(self, chosen, rank: int, ranks: int) -> None:
        self.shards, self.size = runner_data.files_of(chosen.data, runner_data.TARS), chosen.image_size
        self.rank, self.ranks = rank, ranks

    def __iter__(self):
        once = runner_data.again_and_again(lambda: runner_data.samples_of_tars(self.shards, self.rank, self.ranks))
        return ((resized(image, self.size), label) for image, label in once)


class ImageFolders(torch.utils.data.Dataset):
    """The images of folders of classes."""

    def __init__(self, chosen) -> None:
        self.files, self.size = runner_data.labelled_files(chosen.data), chosen.image_size

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, number: int):
        file, label = self.files[number]
        return resized(runner_data.image_of(file.name, file.read_bytes()), self.size), label


def resized(image, size: int) -> torch.Tensor:
    """An image as (3, size, size), 0 to 255."""
    pixels = torch.from_numpy(image.copy()).float()
    return nn.functional.interpolate(pixels[None], (size, size), mode="bilinear", align_corners=False)[0]


def batches_of_tars(chosen, rank: int, ranks: int):
    return torch.utils.data.DataLoader(TarShards(chosen, rank, ranks), chosen.batch_size)


def batches_of_folders(chosen, rank: int, ranks: int):
    samples = ImageFolders(chosen)
    sampler = torch.utils.data.DistributedSampler(samples, ranks, rank)
    once = torch.utils.data.DataLoader(samples, chosen.batch_size, sampler=sampler, drop_last=True)
    return runner_data.again_and_again(lambda: once)


#: By layout of ``--data`` what gives batches of a rank for ever.
LOADERS = {runner_data.FOLDERS: batches_of_folders, runner_data.TARS: batches_of_tars}


def train(chosen, rank: int, ranks: int, device: torch.device) -> None:
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model = network(chosen.model, chosen.classes).to(device)
    if ranks > 1:
        model = nn.parallel.DistributedDataParallel(model, device_ids=[device.index] if device.type == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=5e-5)
    scaler = torch.amp.GradScaler(device.type, enabled=chosen.precision == "amp")
    kind = torch.bfloat16 if chosen.precision == "bf16" else torch.float16
    clock = common.Clock(chosen, rank, ranks)
    # pytorch/examples prints milliseconds (:6.3f), too coarse for the steps of a small model
    meters = Meter("Time", "9.6f"), Meter("Data", "9.6f"), Meter("Loss", ".4e"), Meter("Acc@1", "6.2f")
    logger = dll_logger(chosen) if rank == 0 else None
    if rank == 0 and logger is None:
        common.line(f"=> creating model '{chosen.model}'")
    used = next(model.parameters()).device
    common.tell_device(rank, torch.cuda.get_device_name(used) if used.type == "cuda" else "CPU")
    batches = common.Batches(chosen, rank, ranks, LOADERS)
    clock.data = batches.told
    clock.start()
    end = printed = time.perf_counter()
    waited, counted = 0.0, 0
    for step, (images, labels) in enumerate(batches):
        x, target = (
            torch.from_numpy(images).to(device, non_blocking=True),
            torch.from_numpy(labels).to(device, torch.long, non_blocking=True),
        )
        meters[1].update(time.perf_counter() - end)
        waited += meters[1].last
        with torch.autocast(device.type, kind, enabled=chosen.precision != "fp32"):
            output = model(x)
            loss = nn.functional.cross_entropy(output, target)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        meters[2].update(loss.item())  # waits for the device, as pytorch/examples does
        meters[3].update(100 * (output.argmax(1) == target).float().mean().item())
        now = time.perf_counter()
        meters[0].update(now - end)
        end = now
        clock.step()
        if (rank and chosen.log_ranks == "first") or (step % chosen.log_interval and step + 1 != chosen.steps):
            continue
        if logger is None:
            width = len(str(chosen.steps))
            common.line("\t".join([f"Epoch: [0][{step:{width}d}/{chosen.steps}]", *map(str, meters)]))
        else:
            samples = ranks * chosen.batch_size * (step + 1 - counted)
            took = now - printed
            data = {
                "train.loss": meters[2].last,
                "train.compute_ips": samples / (took - waited),
                "train.total_ips": samples / took,
            }
            logger.log(step=(0, step), data=data)
            logger.flush()
            printed, waited, counted = now, 0.0, step + 1
    clock.write()


def main() -> None:
    chosen = common.options(
        ("fp32", "amp", "bf16"), {"logger": ("auto", "examples", "dllogger"), "log-ranks": ("first", "every")}
    )
    launched = "RANK" in os.environ  # by torchrun; else perhaps by mpirun
    names = (
        ("RANK", "WORLD_SIZE", "LOCAL_RANK")
        if launched
        else [f"OMPI_COMM_WORLD_{name}" for name in ("RANK", "SIZE", "LOCAL_RANK")]
    )
    rank, ranks, local = (int(os.environ.get(name, default)) for name, default in zip(names, (0, 1, 0), strict=True))
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(local))
    found = "gpu" if torch.cuda.is_available() else "cpu"
    common.demand_device(chosen, found, f"torch {torch.__version__}", "bf16")
    gpu = chosen.device == "gpu"
    if gpu:
        torch.cuda.set_device(local)
    if ranks > 1:
        distributed.init_process_group("nccl" if gpu else "gloo")
    train(chosen, rank, ranks, torch.device("cuda", local) if gpu else torch.device("cpu"))
    if ranks > 1:
        distributed.barrier()
        sys.stdout.flush()
        os._exit(
            0
        )  # gloo's threads abort now and then when the interpreter ends ("terminate called without an active exception")


if __name__ == "__main__":
    main()
