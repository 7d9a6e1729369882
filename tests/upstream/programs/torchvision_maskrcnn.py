# /// environment
# name = "torchvision"
# requires = ["torchvision==0.29.1", "torch==2.14.1", "numpy==2.2.6", "pycocotools"]
# [sources]
# TORCHVISION_REFERENCES = "github.com/pytorch/vision at v0.7.0: its folder references/detection"
# ///
"""torchvision's reference loop (train_one_epoch) with Mask R-CNN, ResNet-50 and FPN, on made-up pictures."""

import os
import sys
import types
from pathlib import Path

references = Path(os.environ["TORCHVISION_REFERENCES"])
sys.path[:0] = [str(references), str(references.parent.parent)]
sys.modules["torch._six"] = types.SimpleNamespace(
    string_classes=str
)  # gone since torch 1.13; the evaluation asks for it

import torch  # noqa: E402
import torchvision  # noqa: E402

torch._six = sys.modules["torch._six"]
import utils  # noqa: E402
from clock import Clock  # noqa: E402
from engine import train_one_epoch  # noqa: E402

BATCH, SIZE, STEPS = 2, 64, 61
clock = Clock(samples_per_step=BATCH)


class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return BATCH * STEPS

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        mask = torch.zeros(1, SIZE, SIZE, dtype=torch.uint8)
        mask[0, 8:40, 8:40] = 1
        target = {
            "boxes": torch.tensor([[8.0, 8.0, 40.0, 40.0]]), "labels": torch.tensor([1]), "masks": mask,
            "image_id": torch.tensor([index]), "area": torch.tensor([1024.0]), "iscrowd": torch.tensor([0]),
        }  # fmt: skip
        return torch.rand(3, SIZE, SIZE, generator=generator), target


class SGD(torch.optim.SGD):
    def step(self, *arguments, **options):
        result = super().step(*arguments, **options)
        clock.step()
        return result


torch.manual_seed(0)
model = torchvision.models.detection.maskrcnn_resnet50_fpn(
    weights=None, weights_backbone=None, num_classes=2, min_size=SIZE, max_size=SIZE, rpn_post_nms_top_n_train=64,
    box_batch_size_per_image=16,
)  # fmt: skip
parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = SGD(parameters, lr=0.001, momentum=0.9, weight_decay=1e-4)
loader = torch.utils.data.DataLoader(Pictures(), batch_size=BATCH, collate_fn=utils.collate_fn)
clock.start()
train_one_epoch(model, optimizer, loader, torch.device("cpu"), epoch=0, print_freq=20)
clock.write()
