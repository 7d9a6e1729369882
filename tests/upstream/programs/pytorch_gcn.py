# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "numpy"]
# [sources]
# PYTORCH_EXAMPLES = "github.com/pytorch/examples at 77f55b912142e11fcfdf5b530231fb9c52f181e8"
# ///
"""pytorch/examples, gcn/main.py: each epoch is one step, and here it prints each of them; a made-up graph for Cora's."""

import io
import os
import random
import sys
import tarfile
import types
from pathlib import Path

import torch_script
from clock import Clock

NODES, WORDS, CLASSES = 2000, 20, 7
chosen = random.Random(1)
files = {
    "cora.content": [
        [node, *chosen.choices("01", k=WORDS - 1), 1, f"class{chosen.randrange(CLASSES)}"] for node in range(NODES)
    ],
    "cora.cites": [chosen.sample(range(NODES), 2) for _ in range(4000)],
}
archive = io.BytesIO()
with tarfile.open(fileobj=archive, mode="w:gz") as folder:
    for name, rows in files.items():
        content = "".join("\t".join(map(str, row)) + "\n" for row in rows).encode()
        member = tarfile.TarInfo(f"cora/{name}")
        member.size = len(content)
        folder.addfile(member, io.BytesIO(content))
archive.seek(0)


class Answer:
    """What `requests.get` gives: the made-up archive."""

    raw = archive

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


requests = types.ModuleType("requests")
requests.get = lambda *_, **__: Answer()
sys.modules["requests"] = requests
torch_script.run(
    Path(os.environ["PYTORCH_EXAMPLES"], "gcn", "main.py"), "--epochs=200", "--val-every=1", clock=Clock(samples_per_step=1),
    shortest=0.2, longest=0.4,
)  # fmt: skip
