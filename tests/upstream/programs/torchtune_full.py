# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "datasets==5.2.0", "tqdm==4.70.1", "omegaconf", "tiktoken", "blobfile", "kagglehub", "safetensors", "sentencepiece", "tokenizers", "pillow", "psutil"]
# without_dependencies = ["torchtune==0.6.1", "torchdata==0.11.0", "torchao==0.15.0"]
# ///
"""torchtune's recipe of full finetuning on one device, with a tiny Llama of random weights and its logger to the terminal."""

import importlib.util
import sys
from pathlib import Path

import torch
import torchtune
from clock import Clock, paused
from omegaconf import OmegaConf
from torch.optim.optimizer import register_optimizer_step_post_hook
from torchtune.models.llama3_2 import llama3_2

BATCH, LENGTH = 4, 32
clock = Clock(samples_per_step=BATCH, tokens_per_step=BATCH * LENGTH)


class Tokenizer:
    pad_id = 0


class Rows(torch.utils.data.Dataset):
    def __init__(self, tokenizer, packed=False):
        self.rows = torch.randint(1, 100, (80 * BATCH, LENGTH), generator=torch.Generator().manual_seed(1)).tolist()

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"tokens": self.rows[index], "labels": self.rows[index]}


def model():
    return llama3_2(
        vocab_size=100, num_layers=1, num_heads=2, num_kv_heads=2, embed_dim=32, max_seq_len=LENGTH, intermediate_dim=32
    )


class Checkpointer:
    def __init__(self, **_):
        pass

    def load_checkpoint(self, **_):
        return {"model": model().state_dict()}

    def save_checkpoint(self, state_dict, epoch, **_):
        torch.save(state_dict, f"epoch_{epoch}.pt")


path = Path(torchtune.__file__).parent.parent / "recipes" / "full_finetune_single_device.py"
specification = importlib.util.spec_from_file_location("recipe", path)
recipe = importlib.util.module_from_spec(specification)
specification.loader.exec_module(recipe)
sys.modules["tiny"] = sys.modules["__main__"]
settings = {
    "output_dir": "work", "model": {"_component_": "tiny.model"}, "tokenizer": {"_component_": "tiny.Tokenizer"},
    "dataset": {"_component_": "tiny.Rows", "packed": False}, "seed": None, "shuffle": True,
    "checkpointer": {"_component_": "tiny.Checkpointer"}, "resume_from_checkpoint": False, "batch_size": BATCH, "epochs": 2,
    "optimizer": {"_component_": "torch.optim.AdamW", "lr": 2e-5}, "optimizer_in_bwd": False,
    "loss": {"_component_": "torchtune.modules.loss.CEWithChunkedOutputLoss"}, "max_steps_per_epoch": None,
    "gradient_accumulation_steps": 1, "clip_grad_norm": None, "compile": False, "device": "cpu",
    "enable_activation_checkpointing": False, "enable_activation_offloading": False, "dtype": "fp32",
    "metric_logger": {"_component_": "torchtune.training.metric_logging.StdoutLogger"}, "log_every_n_steps": 1,
}  # fmt: skip
training = recipe.FullFinetuneRecipeSingleDevice(cfg=OmegaConf.create(settings))
training.setup(cfg=OmegaConf.create(settings))
training._model.register_forward_pre_hook(lambda *_: clock.work())
paused(clock, "saving", training, "save_checkpoint")
register_optimizer_step_post_hook(lambda *_: clock.step())
clock.start()
training.train()
training.cleanup()
clock.write()
