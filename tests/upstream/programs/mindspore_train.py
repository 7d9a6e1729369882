# /// environment
# name = "mindspore"
# requires = ["mindspore==2.10.0", "numpy==1.26.4", "scipy==1.13.1"]
# ///
"""MindSpore's Model.train with LossMonitor and TimeMonitor, in six short epochs."""

import mindspore
import numpy as np
from clock import Clock
from mindspore import nn
from mindspore.train import Callback, CheckpointConfig, LossMonitor, Model, ModelCheckpoint, TimeMonitor

BATCH = 16
clock = Clock(samples_per_step=BATCH)


class Samples:
    def __len__(self):
        return 40 * BATCH

    def __getitem__(self, index):
        chosen = np.random.default_rng(index)
        return chosen.random(16, np.float32), np.int32(chosen.integers(0, 4))


class Steps(Callback):
    def on_train_begin(self, run_context):
        clock.start()

    def on_train_step_begin(self, run_context):
        clock.work()

    def on_train_step_end(self, run_context):
        clock.step()


dataset = mindspore.dataset.GeneratorDataset(Samples(), ["data", "label"], python_multiprocessing=False).batch(BATCH)
network = nn.Dense(16, 4)
model = Model(
    network, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), nn.SGD(network.trainable_params(), 0.01)
)
saving = ModelCheckpoint("tiny", "work", CheckpointConfig(save_checkpoint_steps=80))
model.train(6, dataset, [Steps(), TimeMonitor(), LossMonitor(10), saving], dataset_sink_mode=False)
clock.write()
