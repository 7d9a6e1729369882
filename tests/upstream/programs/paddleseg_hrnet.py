# /// environment
# name = "paddleseg"
# requires = ["paddlepaddle==3.3.1", "paddleseg==2.8.0", "numpy==1.26.4", "scipy==1.13.1", "pandas==2.2.3", "setuptools==65.5.0"]
# ///
"""PaddleSeg's train loop with FCN and HRNet-W18, as seed 001 trains them, on made-up pictures in Cityscapes' layout."""

from pathlib import Path

import cv2
import numpy as np
import paddle
from clock import Clock
from paddleseg.core import train
from paddleseg.datasets import Cityscapes
from paddleseg.models import FCN, HRNet_W18
from paddleseg.transforms import Normalize, RandomHorizontalFlip
from paddleseg.utils import get_sys_env, logger

BATCH, SIZE, PICTURES = 2, 64, 16
clock = Clock(samples_per_step=BATCH)
chosen = np.random.default_rng(1)
for part in ("train", "val"):
    for number in range(PICTURES):
        pictures, labels = (Path("cityscapes", kind, part, "town") for kind in ("leftImg8bit", "gtFine"))
        pictures.mkdir(parents=True, exist_ok=True)
        labels.mkdir(parents=True, exist_ok=True)
        picture, label = chosen.integers(0, 256, (SIZE, SIZE, 3)), chosen.integers(0, 19, (SIZE, SIZE))
        cv2.imwrite(str(pictures / f"town_{number:06d}_000019_leftImg8bit.png"), picture.astype(np.uint8))
        cv2.imwrite(str(labels / f"town_{number:06d}_000019_gtFine_labelTrainIds.png"), label.astype(np.uint8))


class Momentum(paddle.optimizer.Momentum):
    def step(self):
        super().step()
        clock.step()


def loss(logits, labels):
    """Paddle's cross entropy: PaddleSeg 2.8.0's own fails under Paddle 3.3, which promotes no whole numbers to floats."""
    return paddle.nn.functional.cross_entropy(logits, labels, ignore_index=255, axis=1).reshape([1])


environment = get_sys_env()
lines = [f"{name}: {value}" for name, value in environment.items()]
logger.info("\n".join(["", "Environment Information".center(48, "-"), *lines, "-" * 48]))
paddle.set_device("cpu")
model = FCN(num_classes=19, backbone=HRNet_W18(), backbone_indices=[-1], bias=False)
optimizer = Momentum(
    paddle.optimizer.lr.PolynomialDecay(0.01, 80000, 0, 0.9), 0.9, model.parameters(), weight_decay=5e-4
)
clock.start()
train(
    model, Cityscapes([RandomHorizontalFlip(), Normalize()], "cityscapes", "train"), optimizer=optimizer,
    save_dir="work", iters=60, batch_size=BATCH, save_interval=1000, log_iters=10, num_workers=0,
    losses={"types": [loss], "coef": [1]},
)  # fmt: skip
clock.write()
