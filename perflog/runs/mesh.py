"""Meshes of devices as programs print them: how many devices there are, and in how many parts a model is split."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod

from perflog.formats.vocabulary import Scalar, whole_count

#: The sizes of kinds of parallelism whose devices share the samples of one data-parallel rank.
MODEL_PARALLEL = ("tensor_parallel", "pipeline_parallel", "context_parallel", "model_parallel")
_AXES = {"tp": "tensor_parallel", "pp": "pipeline_parallel", "cp": "context_parallel"}
#: (A size has nine digits at most: more are no size.)
_NAME, _NUMBER = re.compile(r"[a-z][a-z_]*"), re.compile(r"(?<![A-Za-z0-9_])[0-9]{1,9}(?![0-9])")


def facts_of_mesh(mesh: str, axes: str = "") -> dict[str, str]:
    """The devices in a mesh, and its kinds of parallelism above 1 that split the model.

    >>> facts_of_mesh("pp=2, dp_shard=4, tp=1")
    {'devices': '8', 'pipeline_parallel': '2'}

    Args:
        mesh: the sizes of the axes, with or without their names.
        axes: the names of the axes in the order of the sizes, where they stand apart.
    """
    sizes = [int(text) for text in _NUMBER.findall(mesh)]
    if not sizes or 0 in sizes:
        return {}
    names = _NAME.findall(axes or mesh)
    facts = {"devices": str(prod(sizes))}
    if len(names) == len(sizes):
        facts |= {_AXES[name]: str(size) for name, size in zip(names, sizes, strict=True) if name in _AXES and size > 1}
    return facts


def with_devices_of_batches(values: Mapping[str, str]) -> dict[str, str]:
    """A line's facts, with a device's batch size as the run's too.

    >>> with_devices_of_batches({"device_batch_size": "16"})
    {'device_batch_size': '16', 'batch_size': '16'}
    """
    batch = values.get("device_batch_size")
    return dict(values) if batch is None else {**values, "batch_size": batch}


def devices_of_batches(values: Mapping[str, Scalar]) -> int | None:
    """The devices that share the job's batch, where a log says the batch of one device and optimizer step.

    >>> devices_of_batches({"device_batch_size": "16", "global_batch_size": 128})
    8
    """
    batch, total = (
        whole_count(str(values.get(key, "")).replace(",", "")) for key in ("device_batch_size", "global_batch_size")
    )
    return total // batch if batch and total and total % batch == 0 else None


def model_parallel(values: Mapping[str, Scalar]) -> int:
    """How many devices share one replica of the model, by the sizes that are known; 1 where none is."""
    sizes = [whole_count(str(values[key])) for key in MODEL_PARALLEL if key in values]
    return prod(size for size in sizes if size is not None)
