# /// environment
# name = "mmaction"
# requires = ["torchvision==0.29.1", "torch==2.14.1", "numpy==2.2.6", "addict", "yapf", "platformdirs", "termcolor", "rich", "pyyaml", "einops", "scipy", "opencv-python-headless==4.11.0.86", "matplotlib", "packaging"]
# without_dependencies = ["mmengine==0.10.7", "mmcv-lite==2.0.1", "mmaction2==1.1.0"]
# ///
"""MMAction2's TSM with ResNet-50 by its own configuration of Kinetics-400, on made-up frames instead of videos."""

import warnings
from pathlib import Path

import cv2
import mmaction
import numpy as np
from clock import Clock
from mmaction.utils import register_all_modules
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.runner import Runner

warnings.filterwarnings("ignore")
register_all_modules()
BATCH, SIZE, CLIPS, FRAMES = 2, 32, 140, 8
clock = Clock(samples_per_step=BATCH)
chosen = np.random.default_rng(1)
frames = Path("frames")
for clip in range(8):
    (frames / f"clip{clip}").mkdir(parents=True)
    for frame in range(1, FRAMES + 1):
        cv2.imwrite(str(frames / f"clip{clip}" / f"img_{frame:05d}.jpg"), chosen.integers(0, 256, (SIZE, SIZE, 3)))
Path("train.txt").write_text("".join(f"clip{clip % 8} {FRAMES} {clip % 400}\n" for clip in range(CLIPS)))


class Steps(Hook):
    priority = "VERY_HIGH"

    def before_train(self, runner):
        clock.start()

    def after_train_iter(self, runner, batch_idx, data_batch=None, outputs=None):
        clock.step()


configs = Path(mmaction.__file__).parent / ".mim/configs/recognition/tsm"
config = Config.fromfile(configs / "tsm_imagenet-pretrained-r50_8xb16-1x1x8-50e_kinetics400-rgb.py")
config.model.backbone.pretrained, config.model.backbone.pretrained2d = None, False  # no download
pipeline = [{"type": "SampleFrames", "clip_len": 1, "frame_interval": 1, "num_clips": 8}, {"type": "RawFrameDecode"}]
pipeline += [{"type": "Resize", "scale": (SIZE, SIZE), "keep_ratio": False}, {"type": "Flip", "flip_ratio": 0.5}]
pipeline += [{"type": "FormatShape", "input_format": "NCHW"}, {"type": "PackActionInputs"}]
dataset = {"type": "RawframeDataset", "ann_file": "train.txt", "data_prefix": {"img": "frames"}, "pipeline": pipeline}
config.train_dataloader = {
    "batch_size": BATCH, "num_workers": 0, "sampler": {"type": "DefaultSampler", "shuffle": True}, "dataset": dataset,
}  # fmt: skip
for name in ("val", "test"):
    config[f"{name}_dataloader"] = config[f"{name}_evaluator"] = config[f"{name}_cfg"] = None
config.train_cfg.max_epochs, config.default_hooks.logger.interval, config.work_dir = 1, 10, "work"
runner = Runner.from_cfg(config)
runner.register_custom_hooks([Steps()])
runner.train()
clock.write()
