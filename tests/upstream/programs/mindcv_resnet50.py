# /// environment
# name = "mindspore"
# requires = ["mindspore==2.10.0", "numpy==1.26.4", "scipy==1.13.1", "pyyaml", "tqdm", "pillow", "addict", "termcolor"]
# without_dependencies = ["mindcv==0.3.0"]
# variables = { ONEDNN_MAX_CPU_ISA = "AVX2", GLOG_v = "3" }
# [sources]
# MINDCV = "github.com/mindspore-lab/mindcv at 51b0636da1e38a44a52edf76cf314d1c7c18883a: its files train.py and config.py"
# ///
"""MindCV's own train.py, unchanged, with ResNet-50 on made-up pictures in ImageNet's folders."""

import os
import runpy
import sys
from contextlib import ExitStack
from pathlib import Path

import mindspore
import numpy as np
from clock import Clock
from PIL import Image

BATCH, SIZE, CLASSES, EACH = 4, 32, 4, 60
clock = Clock(samples_per_step=BATCH)
between = ExitStack()
chosen = np.random.default_rng(1)
for number in range(CLASSES):
    folder = Path("imagenet", "train", f"n{number:08d}")
    folder.mkdir(parents=True)
    for picture in range(EACH):
        pixels = chosen.integers(0, 256, (SIZE, SIZE, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{picture}.JPEG")


class Steps(mindspore.train.Callback):
    """Stands before the monitor, whose time is that of the steps alone: loading lies between."""

    def on_train_begin(self, run_context):
        clock.start()

    def on_train_step_begin(self, run_context):
        between.close()

    def on_train_step_end(self, run_context):
        clock.step()
        between.enter_context(clock.pause("loading"))


train = mindspore.Model.train


def timed(self, epoch, dataset, callbacks=None, **options):
    train(self, epoch, dataset, callbacks=[Steps(), *callbacks], **options)


mindspore.Model.train = timed
source = Path(os.environ["MINDCV"])
sys.path.insert(0, str(source))
sys.argv = [
    "train.py", "--model=resnet50", "--dataset=imagenet", "--data_dir=imagenet", f"--num_classes={CLASSES}",
    f"--batch_size={BATCH}", f"--image_resize={SIZE}", "--epoch_size=2", "--dataset_sink_mode=False", "--log_interval=10",
    "--num_parallel_workers=1", "--ckpt_save_dir=work", "--distribute=False", "--loss=CE", "--opt=momentum", "--lr=0.01",
]  # fmt: skip
runpy.run_path(str(source / "train.py"), run_name="__main__")
between.close()
clock.write()
