# /// environment
# name = "speech"
# requires = ["torch==2.13.0", "hyperpyyaml==1.2.3", "joblib", "tqdm", "scipy", "packaging", "huggingface_hub", "sentencepiece", "soundfile", "requests"]
# without_dependencies = ["speechbrain==1.1.2"]
# ///
"""SpeechBrain's Brain.fit with its progress bar and its FileTrainLogger; two epochs with validation."""

import importlib.machinery
import sys
import types

torchaudio = types.ModuleType("torchaudio")  # has no build for CPUs that loads here; Brain does not use it
torchaudio.__spec__ = importlib.machinery.ModuleSpec("torchaudio", None)
torchaudio.__version__ = "2.11.0"
sys.modules["torchaudio"] = torchaudio
import speechbrain  # noqa: E402
import torch  # noqa: E402
from clock import Clock  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

BATCH = 16
clock = Clock(samples_per_step=BATCH)


class Tiny(speechbrain.Brain):
    def compute_forward(self, batch, stage):
        clock.work(0.3, 0.6)
        return self.modules.layer(batch[0].to(self.device))

    def compute_objectives(self, predictions, batch, stage):
        return torch.nn.functional.cross_entropy(predictions, batch[1].to(self.device))

    def on_fit_batch_end(self, batch, outputs, loss, should_step):
        clock.step()

    def on_stage_start(self, stage, epoch=None):
        if stage != speechbrain.Stage.TRAIN:
            self.pause = clock.pause("evaluation")
            self.pause.__enter__()
        elif epoch == 1:
            clock.start()

    def on_stage_end(self, stage, stage_loss, epoch=None):
        if stage != speechbrain.Stage.TRAIN:
            self.pause.__exit__(None, None, None)
            self.hparams.logger.log_stats(
                {"epoch": epoch}, train_stats={"loss": self.train_loss}, valid_stats={"loss": stage_loss}
            )
        else:
            self.train_loss = stage_loss


def loader(size):
    dataset = TensorDataset(torch.randn(size * BATCH, 16), torch.randint(0, 4, (size * BATCH,)))
    return DataLoader(dataset, batch_size=BATCH)


logger = speechbrain.utils.train_logger.FileTrainLogger("train_log.txt")
brain = Tiny(
    {"layer": torch.nn.Linear(16, 4)}, lambda parameters: torch.optim.SGD(parameters, 0.01), hparams={"logger": logger}
)
brain.fit(range(1, 3), loader(120), loader(10))
clock.write()
