# /// environment
# name = "deepspeed"
# requires = ["torch==2.13.0", "numpy==2.4.6", "hjson", "ninja", "py-cpuinfo", "msgpack", "einops", "pydantic", "psutil", "tqdm", "setuptools", "wheel"]
# without_dependencies = ["deepspeed==0.19.8"]
# variables = { RANK = "0", WORLD_SIZE = "1", LOCAL_RANK = "0", MASTER_ADDR = "127.0.0.1", MASTER_PORT = "29677", DS_BUILD_OPS = "0" }
# ///
"""DeepSpeed's engine on one CPU process, two micro-batches a step, evaluation and saving between."""

import deepspeed
import torch
from clock import Clock

BATCH, ACCUMULATION, STEPS = 8, 2, 160
clock = Clock(samples_per_step=BATCH * ACCUMULATION)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 4)

    def forward(self, inputs, labels):
        clock.work(0.03, 0.06)
        return torch.nn.functional.cross_entropy(self.layer(inputs), labels)


deepspeed.utils.logging.set_log_level_from_string("info")  # by default 0.19 prints warnings alone
deepspeed.ops.__compatible_ops__.clear()  # nothing is compiled
model = Model()
engine, *_ = deepspeed.initialize(
    model=model, optimizer=torch.optim.AdamW(model.parameters(), 1e-3),
    config={
        "train_micro_batch_size_per_gpu": BATCH, "gradient_accumulation_steps": ACCUMULATION, "steps_per_print": 10,
    },
)  # fmt: skip
clock.start()
for step in range(1, STEPS + 1):
    for _ in range(ACCUMULATION):
        loss = engine(torch.randn(BATCH, 16), torch.randint(0, 4, (BATCH,)))
        engine.backward(loss)
        engine.step()
    clock.step()
    if step % 80 == 0:
        with clock.pause("evaluation"):
            engine.eval()
            for _ in range(10):
                engine(torch.randn(BATCH, 16), torch.randint(0, 4, (BATCH,)))
            engine.train()
        with clock.pause("saving"):
            engine.save_checkpoint("work")
clock.write()
