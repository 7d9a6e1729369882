# /// environment
# name = "gluoncv"
# requires = ["mxnet==1.9.1", "numpy==1.23.5", "matplotlib<3.8", "pillow", "tqdm", "requests", "portalocker", "pyyaml", "scipy<1.11", "yacs", "pandas<2.1", "autocfg", "opencv-python-headless<4.9"]
# without_dependencies = ["gluoncv==0.10.5.post0"]
# [sources]
# GLUONCV = "github.com/dmlc/gluon-cv at 567775619f3b97d47e7c360748912a4fd883ff52: its folder scripts/classification/imagenet"
# ///
"""GluonCV's own train_imagenet.py, unchanged, with ResNet-50 v1b on made-up pictures in RecordIO."""

import os
import runpy
import sys
from pathlib import Path

import mxnet
import numpy as np
from clock import Clock

# a whole number of intervals and one batch more: else the script prints a wrong speed of the last batches
BATCH, SIZE, CLASSES, EACH = 4, 32, 4, 71
clock = Clock(samples_per_step=BATCH)
chosen = np.random.default_rng(1)
for part, each in (("train", EACH), ("val", 1)):
    record = mxnet.recordio.MXIndexedRecordIO(f"{part}.idx", f"{part}.rec", "w")
    for number in range(CLASSES * each):
        pixels = chosen.integers(0, 256, (SIZE, SIZE, 3)).astype(np.uint8)
        header = mxnet.recordio.IRHeader(0, float(number % CLASSES), number, 0)
        record.write_idx(number, mxnet.recordio.pack_img(header, pixels, img_fmt=".jpg"))
    record.close()


class Trainer(mxnet.gluon.Trainer):
    def step(self, *arguments, **options):
        super().step(*arguments, **options)
        mxnet.nd.waitall()
        clock.step()


mxnet.gluon.Trainer = Trainer
script = Path(os.environ["GLUONCV"], "train_imagenet.py")
sys.argv = [
    str(script), "--use-rec", "--rec-train=train.rec", "--rec-train-idx=train.idx", "--rec-val=val.rec", "--rec-val-idx=val.idx",
    "--model=resnet50_v1b", "--mode=hybrid", f"--batch-size={BATCH}", "--num-epochs=1",
    f"--input-size={SIZE}", f"--num-training-samples={CLASSES * EACH}", "--lr=0.01", "-j=1", "--log-interval=10",
    "--save-frequency=0",
]  # fmt: skip
clock.start()
runpy.run_path(str(script), run_name="__main__")
clock.write()
