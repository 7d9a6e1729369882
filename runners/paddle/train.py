"""Train a CNN on PaddlePaddle's high-level API; its own ProgBarLogger writes the log.

python train.py --model resnet50 --precision amp --batch-size 128
python -m paddle.distributed.launch --nproc_per_node 8 train.py --model resnet50 --precision amp --batch-size 128
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import paddle
from paddle import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import common
import runner_data


def convolution(inputs: int, outputs: int, size: int, stride: int = 1, relu: bool = True) -> nn.Sequential:
    layers = [nn.Conv2D(inputs, outputs, size, stride, size // 2, bias_attr=False), nn.BatchNorm2D(outputs)]
    return nn.Sequential(*layers, *[nn.ReLU()] * relu)


class Bottleneck(nn.Layer):
    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * channels
        self.body = nn.Sequential(
            convolution(inputs, channels, 1),
            convolution(channels, channels, 3, stride),
            convolution(channels, outputs, 1, relu=False),
        )
        self.shortcut = nn.Identity() if inputs == outputs else convolution(inputs, outputs, 1, stride, relu=False)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return nn.functional.relu(self.body(x) + self.shortcut(x))


def network(model: str, classes: int) -> nn.Sequential:
    layers: list[nn.Layer] = []
    channels = 3
    if model == "cnn":
        for outputs, stride in common.CNN:
            layers.append(convolution(channels, outputs, 3, stride))
            channels = outputs
    else:
        layers, channels = [convolution(3, 64, 7, 2), nn.MaxPool2D(3, 2, 1)], 64
        for blocks, width, stride in common.RESNET50:
            for block in range(blocks):
                layers.append(Bottleneck(channels, width, stride if block == 0 else 1))
                channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(channels, classes))


class InBfloat16(nn.Layer):
    """fit's own mixed precision knows float16 alone."""

    def __init__(self, net: nn.Layer) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
            return self.net(x).astype("float32")


class Labelled:
    """Batches as Model.fit takes them: images, and labels as a column."""

    def __init__(self, batches: common.Batches) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self):
        for images, labels in self.batches:
            yield images, labels.astype(np.int64)[:, None]


def batches_of_folders(chosen, rank: int, ranks: int):
    """A rank's images by Paddle's own DatasetFolder."""
    size = chosen.image_size

    def shown(image) -> np.ndarray:
        return np.asarray(image.convert("RGB").resize((size, size)), dtype=np.float32).transpose(2, 0, 1)

    folder = str(runner_data.folder_of_classes(chosen.data))
    samples = paddle.vision.datasets.DatasetFolder(folder, extensions=runner_data.IMAGES, transform=shown)
    own = paddle.io.DistributedBatchSampler(samples, chosen.batch_size, ranks, rank, drop_last=True)
    loader = paddle.io.DataLoader(samples, batch_sampler=own, return_list=True)

    def once():
        for images, labels in loader:
            yield images.numpy(), labels.numpy()

    return runner_data.again_and_again(once)


#: By layout of ``--data`` what gives batches of a rank for ever.
LOADERS = {runner_data.FOLDERS: batches_of_folders}


class Ticks(paddle.callbacks.Callback):
    """The runner's own clock, called like a logger; fit has waited for the loss by then."""

    def __init__(self, clock: common.Clock) -> None:
        super().__init__()
        self.clock = clock

    def on_epoch_begin(self, epoch=None, logs=None) -> None:  # noqa: ARG002 - the callback's form
        self.clock.start()

    def on_train_batch_end(self, step, logs=None) -> None:  # noqa: ARG002
        self.clock.step()


def main() -> None:
    chosen = common.options(("fp32", "amp", "bf16"))
    gpu = paddle.device.is_compiled_with_cuda() and paddle.device.cuda.device_count() > 0
    common.demand_device(chosen, "gpu" if gpu else "cpu", f"paddle {paddle.__version__}", "bf16")
    if chosen.device == "cpu":
        paddle.device.set_device("cpu")
    environment = paddle.distributed.ParallelEnv()
    rank, ranks = environment.rank, environment.world_size
    if ranks > 1:
        paddle.distributed.init_parallel_env()  # NCCL on GPUs, gloo on CPUs
    paddle.seed(0)
    # fit counts a batch as batch size × processes in its log, so that ips is the whole job's
    net = network(chosen.model, chosen.classes)
    model = paddle.Model(InBfloat16(net) if chosen.precision == "bf16" else net)
    optimizer = paddle.optimizer.Momentum(0.01, 0.9, parameters=model.parameters(), weight_decay=5e-5)
    model.prepare(
        optimizer,
        nn.CrossEntropyLoss(),
        paddle.metric.Accuracy(),
        amp_configs="O1" if chosen.precision == "amp" else None,
    )
    clock = common.Clock(chosen, rank, ranks)
    used = model.parameters()[0].place
    common.tell_device(rank, paddle.device.cuda.get_device_name() if used.is_gpu_place() else "CPU")
    batches = common.Batches(chosen, rank, ranks, LOADERS)
    clock.data = batches.told
    logger = paddle.callbacks.ProgBarLogger(chosen.log_interval, verbose=3)
    sys.stdout.reconfigure(line_buffering=False, write_through=False)  # a line leaves when it is flushed, whole
    model.fit(
        Labelled(batches), batch_size=chosen.batch_size, epochs=1, log_freq=chosen.log_interval, verbose=3,
        callbacks=[Ticks(clock), logger],
    )  # fmt: skip
    sys.stdout.flush()
    clock.write()


if __name__ == "__main__":
    main()
