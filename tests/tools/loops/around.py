"""What stands around a loop's lines: the configuration, epochs, evaluations, savings, warnings, other ranks, what is cut off."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from tests.tools.loops.draw import Draw
from tests.tools.loops.loop import Event, Loop
from tests.tools.loops.training import Pause, Training

#: Names of the number of ranks.
RANKS = ("world_size", "num_gpus", "n_gpus")

# ---------------------------------------------------------------- the head


def head(loop: Loop) -> None:
    """Lines before the first step."""
    draw, training = loop.draw, loop.training
    facts = _facts(draw, training)
    write = draw.one(
        "configuration",
        (_none, _namespace, _equals, _yaml, _sentence, _json, _table, _banner, _command),
        (4, 2, 2, 2, 2, 1, 1, 1, 1),
    )
    said = write(facts)
    loop.told.ranks = loop.told.ranks or (training.ranks > 1 and tells_ranks("\n".join(said)))
    lines = [*said, *draw.some("lines before the first step", _BEFORE, 5)]
    start = float(training.begin[0])
    loop.events += (Event(start * (at + 1) / (len(lines) + 2), line) for at, line in enumerate(lines))


def tells_ranks(text: str) -> bool:
    """Whether a log tells how many ranks there are, in its configuration or before its lines."""
    return any(word in text.lower() for word in (*RANKS, "nproc", "rank"))


def _facts(draw: Draw, training: Training) -> dict[str, object]:
    """A configuration as people name it; sizes that are of one rank are printed beside the ranks."""
    facts: dict[str, object] = {
        "lr": 3e-4,
        "seed": 42,
        "model": draw.one("model", ("resnet18", "gpt2", "vit_small", "unet", "my_model")),
    }
    named = draw.one("batch in the configuration", ("none", "of a rank", "of all"), (3, 3, 3))
    if named == "of a rank":
        facts[draw.one("name of the batch", ("batch_size", "per_device_batch_size", "micro_batch_size"))] = (
            training.batch
        )
        facts[draw.one("name of the ranks", RANKS)] = training.ranks
        if training.micro > 1:
            facts[draw.one("name of accumulation", ("gradient_accumulation_steps", "grad_accum", "accum_iter"))] = (
                training.micro
            )
    elif named == "of all":
        facts[
            draw.one("name of the whole batch", ("global_batch_size", "total_batch_size", "effective_batch_size"))
        ] = training.samples
    if draw.whether("steps of an epoch in the configuration", 0.3):
        facts["steps_per_epoch"] = training.per_epoch
    if draw.whether("tokens of a sample in the configuration", 0.3):
        facts[draw.one("name of the length", ("seq_len", "block_size", "max_seq_length", "context_length"))] = (
            training.length
        )
    if draw.whether("samples in the configuration", 0.3):
        facts["dataset_size"] = training.samples * training.per_epoch
    return facts


def _none(_: Mapping[str, object]) -> list[str]:
    return []


def _namespace(facts: Mapping[str, object]) -> list[str]:
    return ["Namespace(" + ", ".join(f"{key}={value!r}" for key, value in facts.items()) + ")"]


def _equals(facts: Mapping[str, object]) -> list[str]:
    return [f"{key}={value}" for key, value in facts.items()]


def _yaml(facts: Mapping[str, object]) -> list[str]:
    return ["config:", *(f"  {key}: {value}" for key, value in facts.items())]


def _sentence(facts: Mapping[str, object]) -> list[str]:
    return ["Training with " + ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in facts.items())]


def _json(facts: Mapping[str, object]) -> list[str]:
    return json.dumps(facts, indent=2).splitlines()


def _table(facts: Mapping[str, object]) -> list[str]:
    rule = f"+{'-' * 32}+{'-' * 16}+"
    return [rule, *(f"| {key:<30} | {value!s:<14} |" for key, value in facts.items()), rule]


def _banner(facts: Mapping[str, object]) -> list[str]:
    return ["=" * 60, *(f"{key:.<40} {value}" for key, value in facts.items()), "=" * 60]


def _command(facts: Mapping[str, object]) -> list[str]:
    ranks = next((value for key, value in facts.items() if key in RANKS), 1)
    flags = " ".join(f"--{key} {value}" for key, value in facts.items() if key not in RANKS)
    return [
        f"+ torchrun --standalone --nproc_per_node={ranks} train.py {flags}"
        if ranks != 1
        else f"$ python train.py {flags}"
    ]


_BEFORE = (
    "Loading dataset...", "Dataset loaded: 50000 train / 10000 val", "Number of parameters: 124,439,808", "number of parameters: 123.59M",
    "Using device: cuda", "Found 8 GPUs", "Compiling the model... (takes a ~minute)", "Loading took 12.3 seconds",
    "torch 2.4.0+cu121", "found 1281167 images belonging to 1000 classes", "Start training", "tokens per batch: see below",
    "Downloading: 100% done in 3.2s", "model: Net(", "  (conv1): Conv2d(3, 32, kernel_size=(3, 3), stride=(1, 1))", ")",
    "optimizer: AdamW", "Resuming from scratch", "num decayed parameter tensors: 50, with 124,354,560 parameters",
    "Created a temporary directory at /tmp/tmp3k1x", "[W socket.cpp:426] The server socket cannot be initialized", "=> creating model",
    "WARNING: tokenizer has 151 unused tokens", "time zone is UTC", "max steps 100000, warmup 2000", "CUDA_VISIBLE_DEVICES=0,1,2,3",
)  # fmt: skip

# ---------------------------------------------------------------- epochs, evaluations, savings


def epochs(loop: Loop, totals: bool | None = None) -> None:
    """Lines at the begin and the end of each epoch; ``totals``: with the time that it took."""
    draw, training = loop.draw, loop.training
    if training.per_epoch >= training.steps:
        return
    begins = draw.one(
        "line at an epoch's begin",
        ("", "Epoch {e}/{E}", "Starting epoch {e}", "=== Epoch {e} ===", "Epoch: {e}", "-" * 10),
    )
    ends = (
        draw.one("line at an epoch's end", _EPOCH_ENDS)
        if totals or (totals is None and draw.whether("totals of epochs", 0.3))
        else ""
    )
    evaluated = {pause.after: pause.seconds for pause in training.pauses if pause.kind == "evaluation"}
    with_evaluation = draw.whether("an epoch's time holds its evaluation", 0.4)
    count, before = -(-training.total // training.per_epoch), training.first // training.per_epoch
    for number, start in enumerate(range(0, training.steps, training.per_epoch)):
        last = min(start + training.per_epoch, training.steps) - 1
        if begins:
            loop.events.append(
                Event(float(training.begin[start]) + 3e-7, begins.format(e=before + number + 1, E=count))
            )
        if ends and last == start + training.per_epoch - 1:
            beside = evaluated.get(last, 0.0) if with_evaluation else 0.0
            took, at = (
                float(training.end[last] - training.begin[start]) + beside,
                float(training.end[last]) + beside + 1e-7,
            )
            own = float(training.seconds[start : last + 1].sum())
            text = ends.format(
                e=before + number + 1, t=took, m=int(took // 60), s=int(took % 60), l=2.3 / (number + 1), ms=1e3 * own,
                ps=1e3 * own / training.per_epoch,
            )  # fmt: skip
            loop.events.append(Event(at, text))


_EPOCH_ENDS = (
    "Epoch {e} took {t:.2f}s", "epoch {e}: train loss {l:.4f}, time {t:.1f} s", "Epoch {e} done in {m}m {s}s", "Epoch time: {t:.2f} seconds",
    "Time taken for epoch {e}: {t:.3f} sec", "| end of epoch {e:3d} | time: {t:5.2f}s | valid loss {l:5.2f} |", "Epoch: {e} cost time: {t}",
    "Epoch {e} complete. Avg loss: {l:.4f}", "Epoch complete in {m}m {s}s",
    "epoch time: {ms:.3f} ms, per step time: {ps:.3f} ms",
)  # fmt: skip


def evaluations(loop: Loop) -> None:
    """Lines of evaluations; where they print lines of the loop's own shape, what stands behind those."""
    pauses = [pause for pause in loop.training.pauses if pause.kind == "evaluation"]
    alike = any(row.phase != "train" for row in loop.found)
    forms = (_result, _begin_and_end, _result_with_time, _result_with_rate)
    write = loop.draw.one("an evaluation prints", forms if alike else (*forms, _own_lines))
    for count, pause in enumerate(pauses):
        loop.events += write(pause, float(loop.training.end[pause.after]) + 1e-5, 2.5 / (count + 2))


def _result(pause: Pause, at: float, loss: float) -> list[Event]:
    return [
        Event(at + pause.seconds - 2e-5, f"step {pause.after + 1}: val loss {loss:.4f}, val acc {1 - loss / 3:.4f}")
    ]


def _begin_and_end(pause: Pause, at: float, loss: float) -> list[Event]:
    return [
        Event(at, "Evaluating..."),
        Event(at + pause.seconds - 2e-5, f"Validation | loss {loss:.4f} | acc {100 - 20 * loss:.2f}%"),
    ]


def _result_with_time(pause: Pause, at: float, loss: float) -> list[Event]:
    return [Event(at + pause.seconds - 2e-5, f"Evaluation took {pause.seconds:.2f}s, eval_loss: {loss:.4f}")]


def _own_lines(pause: Pause, at: float, loss: float) -> list[Event]:
    own = pause.seconds / 50
    return [
        Event(at + own * step * 0.999, f"Test: [{step:2d}/50]  Time {own:.3f} ({own * 1.02:.3f})  Loss {loss:.4e}")
        for step in range(0, 50, 10)
    ] + [Event(at + pause.seconds - 2e-5, f" * Acc@1 {90 - 10 * loss:.3f} Acc@5 {99 - 10 * loss:.3f}")]


def _result_with_rate(pause: Pause, at: float, loss: float) -> list[Event]:
    return [
        Event(
            at + pause.seconds - 2e-5,
            f"eval: loss={loss:.4f} samples/s={5000 / pause.seconds:.1f} runtime={pause.seconds:.2f}",
        )
    ]


def savings(loop: Loop) -> None:
    """Lines of checkpoints."""
    text = loop.draw.one(
        "line of a saving",
        (
            "Saving checkpoint to out/ckpt_{n}.pt",
            "saved model (step {n})",
            "Checkpoint saved: epoch_{n}.pth",
            "=> saving",
        ),
    )
    for pause in loop.training.pauses:
        if pause.kind == "saving" and pause.announced:
            loop.events.append(Event(float(loop.training.end[pause.after]) + 2e-5, text.format(n=pause.after + 1)))


_NOISE = (
    "UserWarning: lr_scheduler.step() called before optimizer.step()", "WARNING: gradient overflow, skipping step", "[rank0] NCCL INFO comm ready",
    "loss is 2.31, lr is 0.001", "memory: 12.1 GB allocated, 15.0 GB reserved", "sample: the quick brown fox jumps over 13 lazy dogs",
    "best so far: 0.8123 (epoch 2)", "Learning rate changed to 1e-05", "", "-" * 89, "wandb: Waiting for W&B process to finish",
)  # fmt: skip


def noise(loop: Loop) -> None:
    """Lines of something else here and there."""
    texts = loop.draw.some("lines in between", _NOISE, 2)
    rng, last = loop.draw.plain(), float(loop.training.end[-1])
    for text in texts:
        loop.events += (Event(rng.uniform(float(loop.training.begin[0]), last), text) for _ in range(rng.randint(1, 4)))


def tail(loop: Loop) -> None:
    """Lines behind the last step."""
    training, last = loop.training, float(loop.training.end[-1])
    texts: tuple[Callable[[], str], ...] = (
        lambda: "Training finished", lambda: f"Total training time: {last - float(training.begin[0]):.2f}s", lambda: f"Done in {last / 60:.1f} min",
        lambda: "saved final model", lambda: "final test accuracy: 0.9123",
    )  # fmt: skip
    end = last + max((pause.seconds for pause in training.pauses if pause.after == training.steps - 1), default=0.0)
    chosen = loop.draw.some(
        "lines behind the last step", [at for at in range(len(texts)) if not (loop.clockless and at in (1, 2))], 2
    )
    loop.events += (Event(end + 0.1 * (at + 1), texts[number]()) for at, number in enumerate(chosen))


def surrounded(loop: Loop, totals: bool | None = None) -> None:
    """All of it."""
    head(loop)
    epochs(loop, totals)
    evaluations(loop)
    savings(loop)
    noise(loop)
    tail(loop)


def harmed(loop: Loop) -> bool:
    """What happens to a log: its beginning is cut off, lines are lost, each line is printed twice; whether it may confuse."""
    draw = loop.draw
    if draw.whether("an excerpt", 0.12):
        excerpt(loop)
    if draw.whether("a few lines are lost", 0.05):
        for _ in range(draw.count("lines that are lost", 1, 4)):
            del loop.events[draw.plain().randrange(len(loop.events))]
    twice = draw.whether("each line twice", 0.02)
    if twice:
        loop.events += [replace(event, at=event.at + 1e-9) for event in loop.events]
    return twice


def excerpt(loop: Loop) -> None:
    """Leave out the beginning, and sometimes the end."""
    loop.events.sort(key=lambda event: event.at)
    count, whole = len(loop.events), loop.events[-1].at - loop.events[0].at
    begin = int(count * loop.draw.number("share of the lines cut off before", 0.05, 0.6))
    end = count - (int(count * 0.1) if loop.draw.whether("the end is cut off too", 0.5) else 0)
    loop.events = loop.events[begin:end]
    moments = [event.at for event in loop.events]
    loop.found = [row for row in loop.found if moments[0] <= row.at <= moments[-1]]
    # a clock's digits weigh more where there is less of it
    loop.told.clocks[:] = [each * whole / max(moments[-1] - moments[0], 1e-9) for each in loop.told.clocks]
