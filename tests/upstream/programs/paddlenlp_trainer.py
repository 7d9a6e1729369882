# /// environment
# name = "paddle"
# requires = ["paddlepaddle==3.3.1", "numpy==1.26.4", "setuptools", "pandas==2.2.3", "pyarrow==17.0.0", "opentelemetry-api", "opentelemetry-sdk", "colorlog", "sentencepiece", "huggingface_hub==0.36.2", "safetensors", "rich", "jinja2", "xxhash", "regex", "pydantic", "starlette", "httpx", "six"]
# without_dependencies = ["paddlenlp==2.8.1", "aistudio-sdk==0.2.6", "datasets<4", "dill", "multiprocess", "jieba", "seqeval", "visualdl", "fastapi", "colorama"]
# ///
"""PaddleNLP's Trainer with a tiny model of its own; two epochs with evaluation and checkpoints."""

import paddle
from clock import Clock, paused
from paddlenlp.trainer import Trainer, TrainerCallback, TrainingArguments

BATCH = 8
clock = Clock(samples_per_step=BATCH)


class Steps(TrainerCallback):
    def on_train_begin(self, *_, **__):
        clock.start()

    def on_step_end(self, *_, **__):
        clock.step()


class Samples(paddle.io.Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return {"inputs": [float(index % 7)] * 16, "labels": index % 4}


class Model(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.layer = paddle.nn.Linear(16, 4)

    def forward(self, inputs, labels=None):
        clock.work()
        scores = self.layer(inputs)
        return paddle.nn.functional.cross_entropy(scores, labels), scores


def collate(rows):
    inputs = paddle.to_tensor([row["inputs"] for row in rows], dtype="float32")
    return {"inputs": inputs, "labels": paddle.to_tensor([row["labels"] for row in rows])}


trainer = Trainer(
    model=Model(), data_collator=collate, train_dataset=Samples(80 * BATCH), eval_dataset=Samples(10 * BATCH),
    args=TrainingArguments(
        "work", num_train_epochs=2, per_device_train_batch_size=BATCH, per_device_eval_batch_size=BATCH, logging_steps=10,
        evaluation_strategy="epoch", save_strategy="epoch", device="cpu", report_to=[],
    ),
    callbacks=[Steps()],
)  # fmt: skip
paused(clock, "evaluation", trainer, "evaluate")
paused(clock, "saving", trainer, "_save_checkpoint")
trainer.train()
clock.write()
