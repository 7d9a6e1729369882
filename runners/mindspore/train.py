"""Train a CNN on MindSpore; its own LossMonitor and TimeMonitor write the log.

python train.py --model resnet50 --precision amp --batch-size 128
msrun --worker_num 8 --local_worker_num 8 --join True train.py --model resnet50 --precision amp --batch-size 128
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops
from mindspore.communication import get_group_size, get_rank, init

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import common
import runner_data


def convolution(inputs: int, outputs: int, size: int, stride: int = 1, relu: bool = True) -> nn.SequentialCell:
    layers = [nn.Conv2d(inputs, outputs, size, stride, "pad", size // 2), nn.BatchNorm2d(outputs)]
    return nn.SequentialCell(layers + [nn.ReLU()] * relu)


class Bottleneck(nn.Cell):
    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * channels
        self.body = nn.SequentialCell(
            [
                convolution(inputs, channels, 1),
                convolution(channels, channels, 3, stride),
                convolution(channels, outputs, 1, relu=False),
            ]
        )
        self.shortcut = nn.Identity() if inputs == outputs else convolution(inputs, outputs, 1, stride, relu=False)

    def construct(self, x):
        return ops.relu(self.body(x) + self.shortcut(x))


class Mean(nn.Cell):
    """Global average pooling; nn.AdaptiveAvgPool2d has no kernel for CPUs."""

    def construct(self, x):
        return x.mean((2, 3))


def network(model: str, classes: int) -> nn.SequentialCell:
    layers: list[nn.Cell] = []
    channels = 3
    if model == "cnn":
        for outputs, stride in common.CNN:
            layers.append(convolution(channels, outputs, 3, stride))
            channels = outputs
    else:
        layers, channels = [convolution(3, 64, 7, 2), nn.MaxPool2d(3, 2, "same")], 64
        for blocks, width, stride in common.RESNET50:
            for block in range(blocks):
                layers.append(Bottleneck(channels, width, stride if block == 0 else 1))
                channels = 4 * width
    return nn.SequentialCell([*layers, Mean(), nn.Dense(channels, classes)])


def batches_of_records(chosen, rank: int, ranks: int):
    """A rank's samples of MindRecord files by MindSpore's own MindDataset."""
    files = [str(file) for file in runner_data.files_of(chosen.data, runner_data.MINDRECORD)]
    records = ds.MindDataset(files, ["data", "label"], shuffle=False, num_shards=ranks, shard_id=rank)
    return _batches(records, "data", chosen)


def batches_of_folders(chosen, rank: int, ranks: int):
    """A rank's images by MindSpore's own ImageFolderDataset."""
    folder = str(runner_data.folder_of_classes(chosen.data))
    images = ds.ImageFolderDataset(folder, shuffle=False, num_shards=ranks, shard_id=rank)
    return _batches(images, "image", chosen)


def _batches(samples, column: str, chosen):
    size = [chosen.image_size, chosen.image_size]
    shown = samples.map([ds.vision.Decode(), ds.vision.Resize(size), ds.vision.HWC2CHW()], column)
    loader = shown.batch(chosen.batch_size, drop_remainder=True)
    return runner_data.again_and_again(lambda: loader.create_tuple_iterator(num_epochs=1, output_numpy=True))


#: By layout of ``--data`` what gives batches of a rank for ever.
LOADERS = {runner_data.FOLDERS: batches_of_folders, runner_data.MINDRECORD: batches_of_records}


class Ticks(ms.Callback):
    """The runner's own clock. The loss is read, which waits for the step."""

    def __init__(self, clock: common.Clock) -> None:
        super().__init__()
        self.clock = clock

    def on_train_begin(self, run_context) -> None:  # noqa: ARG002 - the callback's form
        self.clock.start()

    def on_train_step_end(self, run_context) -> None:
        run_context.original_args().net_outputs.asnumpy()
        self.clock.step()


#: The kinds of devices by MindSpore's names.
KINDS = {"GPU": "gpu", "Ascend": "npu", "CPU": "cpu"}


def device_name() -> str:
    """The name of the device that the training is on."""
    target = ms.get_context("device_target")
    if target == "GPU":
        return common.cuda_name(ms.get_context("device_id"))
    if target == "CPU":
        return "CPU"
    try:
        return ms.hal.get_device_name(ms.get_context("device_id"), target)
    except (AttributeError, RuntimeError):  # an older MindSpore, or a driver that does not say it
        return "NPU"


def main() -> None:
    chosen = common.options(("fp32", "amp"))
    found = KINDS[ms.get_context("device_target")]  # without a word of ours that of the build
    common.demand_device(chosen, found, f"mindspore {ms.__version__}")
    if chosen.device == "cpu":
        ms.set_context(device_target="CPU")
    if chosen.steps % chosen.log_interval:
        sys.exit(
            f"--steps {chosen.steps}: MindSpore prints a time once an epoch, and epochs of --log-interval {chosen.log_interval} steps do not fill them"
        )
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(0)
    rank, ranks = 0, 1
    if "MS_WORKER_NUM" in os.environ:  # started by msrun
        init()
        rank, ranks = get_rank(), get_group_size()
        # one all-reduce of all gradients: on CPUs each costs about 150 ms, however small
        fused = {"allreduce": {"mode": "size", "config": 32}}
        ms.set_auto_parallel_context(
            parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True, device_num=ranks, comm_fusion=fused
        )
    # TimeMonitor prints once an epoch: an epoch is as many steps as lie between two lines of a log.
    # Sink mode would count wrongly on a CPU: each of its epochs goes through the whole data set
    common.tell_device(rank, device_name())
    batches = common.Batches(chosen, rank, ranks, LOADERS, chosen.log_interval)
    data = ds.GeneratorDataset(batches, ["image", "label"], shuffle=False)
    net = network(chosen.model, chosen.classes)
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9, weight_decay=5e-5)
    scale = {"loss_scale_manager": ms.DynamicLossScaleManager(), "amp_level": "O2"} if chosen.precision == "amp" else {}
    model = ms.Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), optimizer, **scale)
    clock = common.Clock(chosen, rank, ranks)
    clock.data = batches.told
    monitors = [ms.LossMonitor(chosen.log_interval), ms.TimeMonitor()]
    model.train(chosen.steps // chosen.log_interval, data, callbacks=[Ticks(clock), *monitors], dataset_sink_mode=False)
    clock.write()


if __name__ == "__main__":
    main()
