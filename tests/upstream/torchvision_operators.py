"""Declare torchvision's compiled operators, so that its wheel for CUDA is imported beside a CPU build of torch.

Nothing here computes: a program that called one of them would fail. Import this before torchvision.
"""

import torch

_LIBRARY = torch.library.Library("torchvision", "DEF")
for _name in ("nms", "qnms"):
    _LIBRARY.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
