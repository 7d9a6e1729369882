# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "accelerate==1.15.0", "tqdm==4.70.1"]
# ///
"""A loop with accelerate, its header and its bar as in transformers' run_*_no_trainer.py examples."""

import logging
import math

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from clock import Clock
from torch.utils.data import DataLoader, TensorDataset
from tqdm.auto import tqdm

BATCH, EPOCHS, ACCUMULATION = 8, 2, 2
clock = Clock(samples_per_step=BATCH * ACCUMULATION)
logger = get_logger(__name__)
accelerator = Accelerator(gradient_accumulation_steps=ACCUMULATION, cpu=True)
logging.basicConfig(
    format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO
)
logger.info(accelerator.state, main_process_only=False)
train_dataset = TensorDataset(torch.randn(BATCH * 240, 16), torch.randint(0, 4, (BATCH * 240,)))
eval_dataloader = DataLoader(TensorDataset(torch.randn(80, 16), torch.randint(0, 4, (80,))), batch_size=BATCH)
train_dataloader = DataLoader(train_dataset, shuffle=True, batch_size=BATCH)
model = torch.nn.Linear(16, 4)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model, optimizer, train_dataloader, eval_dataloader = accelerator.prepare(
    model, optimizer, train_dataloader, eval_dataloader
)
steps_per_epoch = math.ceil(len(train_dataloader) / ACCUMULATION)
max_train_steps = EPOCHS * steps_per_epoch
total_batch_size = BATCH * accelerator.num_processes * ACCUMULATION
logger.info("***** Running training *****")
logger.info(f"  Num examples = {len(train_dataset)}")
logger.info(f"  Num Epochs = {EPOCHS}")
logger.info(f"  Instantaneous batch size per device = {BATCH}")
logger.info(f"  Total train batch size (w. parallel, distributed & accumulation) = {total_batch_size}")
logger.info(f"  Gradient Accumulation steps = {ACCUMULATION}")
logger.info(f"  Total optimization steps = {max_train_steps}")
progress_bar = tqdm(range(max_train_steps), disable=not accelerator.is_local_main_process)
clock.start()
for epoch in range(EPOCHS):
    model.train()
    for inputs, labels in train_dataloader:
        with accelerator.accumulate(model):
            clock.work(0.3, 0.6)
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            progress_bar.update(1)
            clock.step()
    with clock.pause("evaluation"):
        model.eval()
        correct = 0
        for inputs, labels in eval_dataloader:
            clock.work(0.4, 0.6)
            with torch.no_grad():
                predictions, references = accelerator.gather_for_metrics((model(inputs).argmax(-1), labels))
            correct += (predictions == references).sum().item()
        logger.info(f"epoch {epoch}: {{'accuracy': {correct / 80}}}")
clock.write()
