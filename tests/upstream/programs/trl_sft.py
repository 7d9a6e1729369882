# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "transformers==5.23.0", "trl==1.16.0", "accelerate==1.15.0", "datasets==5.2.0"]
# ///
"""TRL's SFTTrainer as it is by default: a tokenizer of a hundred words and a tiny Llama made from a configuration."""

import random
import tempfile

from clock import Clock, paused
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import SFTConfig, SFTTrainer

clock = Clock(samples_per_step=4 * 2)


class Steps(TrainerCallback):
    def on_train_begin(self, *_, **__):
        clock.start()

    def on_step_end(self, *_, **__):
        clock.step()


words = ["<pad>", "<eos>", "<unk>"] + [f"w{number}" for number in range(97)]
tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
chosen = random.Random(1)
texts = [" ".join(chosen.choices(words[3:], k=chosen.randint(10, 30))) for _ in range(8 * 90)]
model = LlamaForCausalLM(
    LlamaConfig(vocab_size=100, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
)
model.register_forward_pre_hook(lambda *_: clock.work(0.4, 0.8))
with tempfile.TemporaryDirectory() as folder:
    trainer = SFTTrainer(
        model=model,
        processing_class=fast,
        args=SFTConfig(
            folder, num_train_epochs=2, per_device_train_batch_size=4, gradient_accumulation_steps=2, eval_strategy="epoch",
            save_strategy="epoch", use_cpu=True, bf16=False, max_length=64,
        ),
        train_dataset=Dataset.from_dict({"text": texts[: 8 * 80]}), eval_dataset=Dataset.from_dict({"text": texts[-40:]}),
        callbacks=[Steps()],
    )  # fmt: skip
    paused(clock, "evaluation", trainer, "evaluate")
    paused(clock, "saving", trainer, "_save_checkpoint")
    trainer.train()
clock.write()
