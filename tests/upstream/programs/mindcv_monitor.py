# /// environment
# name = "mindspore"
# requires = ["mindspore==2.10.0", "numpy==1.26.4", "scipy==1.13.1", "pyyaml", "tqdm", "pillow", "addict", "termcolor"]
# without_dependencies = ["mindcv==0.3.0"]
# ///
"""MindCV's StateMonitor in Model.train, set up as its train.py does: three epochs with validation and checkpoints."""

from contextlib import ExitStack

import mindspore
import numpy as np
from clock import Clock
from mindcv.utils import StateMonitor
from mindcv.utils.logger import set_logger
from mindspore import nn
from mindspore.train import Callback, Model

BATCH = 16
clock = Clock(samples_per_step=BATCH)
between = ExitStack()


class Samples:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size * BATCH

    def __getitem__(self, index):
        chosen = np.random.default_rng(index)
        return chosen.random(16, np.float32), np.int32(chosen.integers(0, 4))


class Steps(Callback):
    """Stands before the monitor, whose time is that of the steps alone: loading, evaluation and saving lie between."""

    def on_train_begin(self, run_context):
        clock.start()

    def on_train_step_begin(self, run_context):
        between.close()

    def on_train_step_end(self, run_context):
        clock.step()
        between.enter_context(clock.pause("loading"))


class Work(Callback):
    """Stands behind the monitor: works within its time."""

    def on_train_step_begin(self, run_context):
        clock.work()


def dataset(size):
    rows = mindspore.dataset.GeneratorDataset(Samples(size), ["data", "label"], python_multiprocessing=False)
    return rows.batch(BATCH)


set_logger(name="mindcv", output_dir="work", rank=0)
network = nn.Dense(16, 4)
model = Model(
    network, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), nn.SGD(network.trainable_params(), 0.01),
    metrics={"accuracy": nn.Accuracy()},
)  # fmt: skip
monitor = StateMonitor(
    model, model_name="tiny", dataset_val=dataset(10), dataset_sink_mode=False, ckpt_save_dir="work", log_interval=10,
    summary_dir="work", rank_id=0, device_num=1,
)  # fmt: skip
model.train(3, dataset(60), [Steps(), monitor, Work()], dataset_sink_mode=False)
between.close()
clock.write()
