"""Train a CNN on MXNet with Gluon; its own Speedometer writes the log.

python train.py --model resnet50 --precision amp --batch-size 128
python launch.py -n 8 -s 1 --launcher local python train.py --model resnet50 --precision amp --batch-size 128
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import mxnet as mx
from mxnet import autograd, gluon
from mxnet.gluon import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import common
import runner_data


def convolution(outputs: int, size: int, stride: int = 1, relu: bool = True) -> nn.HybridSequential:
    block = nn.HybridSequential()
    block.add(nn.Conv2D(outputs, size, stride, size // 2, use_bias=False), nn.BatchNorm())
    if relu:
        block.add(nn.Activation("relu"))
    return block


class Bottleneck(nn.HybridBlock):
    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(
            convolution(channels, 1), convolution(channels, 3, stride), convolution(4 * channels, 1, relu=False)
        )
        self.shortcut = None if inputs == 4 * channels else convolution(4 * channels, 1, stride, relu=False)

    def hybrid_forward(self, F, x):  # noqa: N803 - Gluon's name
        return F.relu(self.body(x) + (x if self.shortcut is None else self.shortcut(x)))


def network(model: str, classes: int) -> nn.HybridSequential:
    net = nn.HybridSequential()
    if model == "cnn":
        for outputs, stride in common.CNN:
            net.add(convolution(outputs, 3, stride))
    else:
        net.add(convolution(64, 7, 2), nn.MaxPool2D(3, 2, 1))
        channels = 64
        for blocks, width, stride in common.RESNET50:
            for block in range(blocks):
                net.add(Bottleneck(channels, width, stride if block == 0 else 1))
                channels = 4 * width
    net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(classes))
    return net


def batches_of_records(chosen, rank: int, ranks: int):
    """A rank's part of a RecordIO file by MXNet's own ImageRecordIter."""
    files = runner_data.files_of(chosen.data, runner_data.RECORDIO)
    if len(files) != 1:
        sys.exit(f"--data {chosen.data}: expected one file that ends in .rec, found {len(files)}; name one of them")
    size = chosen.image_size
    records = mx.io.ImageRecordIter(
        path_imgrec=str(files[0]), data_shape=(3, size, size), resize=size, batch_size=chosen.batch_size,
        num_parts=ranks, part_index=rank, round_batch=True, preprocess_threads=1, dtype="float32",
    )  # fmt: skip

    def once():
        records.reset()
        for batch in records:
            yield batch.data[0].asnumpy(), batch.label[0].asnumpy()

    return runner_data.again_and_again(once)


def batches_of_folders(chosen, rank: int, ranks: int):
    """A rank's images by Gluon's own ImageFolderDataset."""
    size = chosen.image_size
    folder = gluon.data.vision.ImageFolderDataset(str(runner_data.folder_of_classes(chosen.data)))
    samples = folder.transform_first(lambda image: mx.image.imresize(image, size, size).transpose((2, 0, 1)))
    own = range(rank, len(samples), ranks)
    loader = gluon.data.DataLoader(samples, chosen.batch_size, sampler=own, last_batch="discard")

    def once():
        for images, labels in loader:
            yield images.asnumpy(), labels.asnumpy()

    return runner_data.again_and_again(once)


#: By layout of ``--data`` what gives batches of a rank for ever.
LOADERS = {runner_data.FOLDERS: batches_of_folders, runner_data.RECORDIO: batches_of_records}


def main() -> None:
    chosen = common.options(("fp32", "amp"))
    common.demand_device(chosen, "gpu" if mx.context.num_gpus() > 0 else "cpu", f"mxnet {mx.__version__}")
    gpu = chosen.device == "gpu"
    if chosen.precision == "amp":
        from mxnet.contrib import amp

        amp.init()
    ranks = int(os.environ.get("DMLC_NUM_WORKER", "1"))
    store = mx.kv.create("device" if ranks == 1 else "dist_device_sync" if gpu else "dist_sync")
    rank = int(
        os.environ.get("RANK", store.rank)
    )  # the store counts workers as they come, and the log is the first node's
    local = int(os.environ.get("LOCAL_RANK", rank))
    context = mx.gpu(local) if gpu else mx.cpu()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(message)s")
    mx.random.seed(0)
    net = network(chosen.model, chosen.classes)
    net.initialize(mx.init.Xavier(), ctx=context)
    net.hybridize(static_alloc=True)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9, "wd": 5e-5}, kvstore=store
    )
    if chosen.precision == "amp":
        amp.init_trainer(trainer)
    metric = mx.metric.CompositeEvalMetric([mx.metric.Accuracy(), mx.metric.Loss("loss")])
    # every worker waits for the others, so that the job does ranks × batch size samples a step
    speedometer = mx.callback.Speedometer(chosen.batch_size * ranks, chosen.log_interval)
    clock = common.Clock(chosen, rank, ranks)
    (used,) = next(iter(net.collect_params().values())).list_ctx()
    common.tell_device(rank, common.cuda_name(used.device_id) if used.device_type == "gpu" else "CPU")
    batches = common.Batches(chosen, rank, ranks, LOADERS)
    clock.data = batches.told
    clock.start()
    for step, (images, labels) in enumerate(batches):
        x, target = mx.nd.array(images, ctx=context), mx.nd.array(labels, ctx=context)
        with autograd.record():
            output = net(x)
            loss = loss_of(output, target)
            with amp.scale_loss(loss, trainer) if chosen.precision == "amp" else nullcontext(loss) as scaled:
                autograd.backward(scaled)
        trainer.step(chosen.batch_size * ranks)
        metric.get_metric(0).update(target, output)  # reads the output: waits for this step's forward pass
        metric.get_metric(1).update(None, loss)
        clock.step()
        speedometer(mx.model.BatchEndParam(epoch=0, nbatch=step, eval_metric=metric, locals=None))
    mx.nd.waitall()
    clock.write()


if __name__ == "__main__":
    main()
