# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "numpy", "pillow"]
# [sources]
# PYTORCH_EXAMPLES = "github.com/pytorch/examples at 77f55b912142e11fcfdf5b530231fb9c52f181e8"
# ///
"""pytorch/examples, fast_neural_style: a line of each 20 batches with the time of day; a narrow network for VGG-16."""

import os
import types
from pathlib import Path

import torch
import torch_script
from clock import Clock
from PIL import Image

BATCH, SIZE, STEPS = 4, 32, 400


class Picture:
    """In place of a chain of transforms: made-up data of such a picture, or the data that came."""

    def __init__(self, _):
        pass

    def __call__(self, picture):
        return picture if isinstance(picture, torch.Tensor) else torch.rand(3, SIZE, SIZE) * 255


def vgg16(**_):
    layers = [torch.nn.Conv2d(3 if number == 0 else 4, 4, 3, padding=1) for number in range(23)]
    return types.SimpleNamespace(features=layers)


torch_script.torchvision(
    datasets={"ImageFolder": lambda *_: torch_script.Made(BATCH * STEPS, (3, SIZE, SIZE))},
    transforms={"Compose": Picture} | dict.fromkeys(("Resize", "CenterCrop", "ToTensor", "Lambda"), torch_script.Same),
    models={"vgg16": vgg16, "VGG16_Weights": types.SimpleNamespace(IMAGENET1K_V1=None)},
)
Image.new("RGB", (SIZE, SIZE)).save("style.png")
torch_script.run(
    Path(os.environ["PYTORCH_EXAMPLES"], "fast_neural_style", "neural_style", "neural_style.py"), "train", "--dataset=made",
    "--style-image=style.png", "--save-model-dir=.", f"--batch-size={BATCH}", f"--image-size={SIZE}", "--epochs=2",
    "--log-interval=20", clock=Clock(samples_per_step=BATCH),
)  # fmt: skip
