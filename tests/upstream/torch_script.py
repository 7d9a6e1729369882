"""Run a script for torch as its repository has it: our clock around each optimizer's step, made-up data for its datasets.

Where torchvision has no build beside torch, `torchvision()` puts modules in its place that hold a script's data sets and
transforms and nothing that computes.
"""

import runpy
import sys
import types
from contextlib import ExitStack
from pathlib import Path

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

TRANSFORMS = (
    "CenterCrop", "Compose", "Lambda", "Normalize", "RandomCrop", "RandomHorizontalFlip", "RandomRotation", "Resize", "ToTensor",
)  # fmt: skip


class Made(torch.utils.data.Dataset):
    """Pictures and classes made from a seed, the same at each call."""

    def __init__(self, size, shape, classes=10):
        generator = torch.Generator().manual_seed(1)
        self.pictures = torch.rand(size, *shape, generator=generator)
        self.classes = torch.randint(0, classes, (size,), generator=generator).tolist()

    def __len__(self):
        return len(self.classes)

    def __getitem__(self, index):
        return self.pictures[index], self.classes[index]


class Same:
    """A transform that leaves a made-up picture as it is."""

    def __init__(self, *_, **__):
        pass

    def __call__(self, picture):
        return picture


def torchvision(**names):
    """Stand in for torchvision: each name is a module of it (`datasets`, `models`, `utils`) and holds what is given."""
    transforms = {"transforms": dict.fromkeys(TRANSFORMS, Same)}
    sys.modules["torchvision"] = whole = types.ModuleType("torchvision")
    for name, content in (transforms | names).items():
        module = types.ModuleType(f"torchvision.{name}")
        vars(module).update(content)
        vars(whole)[name] = module
        sys.modules[module.__name__] = module


def watch(clock, shortest=0.06, longest=0.12):
    """Let each optimizer's step last a useful time and be told to the clock; what a model does in `eval` is a pause.

    The pause ends where the model, or another one, is told to train again.
    """
    register_optimizer_step_pre_hook(lambda *_: clock.work(shortest, longest))
    register_optimizer_step_post_hook(lambda *_: clock.step())
    train = torch.nn.Module.train
    evaluation = ExitStack()
    state = {"training": True, "depth": 0}

    def change(module, mode=True):
        state["depth"] += 1
        try:
            result = train(module, mode)
        finally:
            state["depth"] -= 1
        if not state["depth"] and mode != state["training"]:
            state["training"] = mode
            if mode:
                evaluation.close()
            else:
                evaluation.enter_context(clock.pause("evaluation"))
        return result

    torch.nn.Module.train = change
    return evaluation


def run(script, *arguments, clock, shortest=0.06, longest=0.12):
    """Run the script as a program with these arguments, and write what the clock measured."""
    sys.path.insert(0, str(Path(script).parent))
    sys.argv = [Path(script).name, *arguments]
    evaluation = watch(clock, shortest, longest)
    clock.start()
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        evaluation.close()
    clock.write()
