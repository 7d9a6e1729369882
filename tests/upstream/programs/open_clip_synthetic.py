# /// environment
# name = "vision"
# requires = ["torch==2.13.0", "timm==1.0.31", "open_clip_torch==3.3.0", "webdataset==1.0.2", "braceexpand", "ftfy", "pandas"]
# without_dependencies = ["torchvision==0.28.0"]
# ///
"""OpenCLIP's own training program on its synthetic data, with a tiny model made from a configuration."""

import torchvision_operators  # noqa: F401 - before torchvision

# isort: split
import json
from pathlib import Path

import open_clip
import open_clip_train.main
import torch
from clock import Clock, paused
from torch.optim.optimizer import register_optimizer_step_post_hook

BATCH = 8
clock = Clock(samples_per_step=BATCH)
Path("tiny.json").write_text(json.dumps({
    "embed_dim": 32,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 16, "head_width": 32},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
}))  # fmt: skip
open_clip.add_model_config("tiny.json")
forward = open_clip.CLIP.forward


def slow_forward(*arguments, **options):
    clock.work(0.8, 1.2)  # its log tells whole seconds
    return forward(*arguments, **options)


open_clip.CLIP.forward = slow_forward
paused(clock, "saving", torch, "save")
register_optimizer_step_post_hook(lambda *_: clock.step())
open_clip_train.main.main([
    "--model", "tiny", "--dataset-type", "synthetic", "--train-num-samples", str(80 * BATCH), "--batch-size", str(BATCH), "--epochs", "2", "--workers", "0", "--precision", "fp32",
    "--device", "cpu", "--warmup", "10", "--log-every-n-steps", "10", "--name", "tiny",
])  # fmt: skip
clock.write()
