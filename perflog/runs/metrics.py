"""Metrics beside throughput that language models are compared by: tokens/s of the job and of a device, TFLOP/s, MFU.

What a program prints is taken as it prints it, as the mean over time of the window that the throughput is taken of.
What it does not print is computed where the log says all that it takes, under a name that says the definition; an
unknown sequence length, size or device gives no metric. ``docs/json.md`` lists the names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import Struct

from perflog.formats.accelerators import Accelerator, Peak, own_accelerators, peak_of
from perflog.runs.measured import Measured
from perflog.runs.metadata import Metadata
from perflog.runs.run import Metric

TOKENS, TOKENS_BOUND = "tokens_per_second", "tokens_per_second_upper_bound"
TOKENS_DEVICE = "tokens_per_second_per_device"
TFLOPS, MFU = "tflops_per_device", "mfu"
#: Rates of samples that may be sequences of tokens.
_SEQUENCES = frozenset({"samples/s", "sequences/s"})
#: Who may say a model's size: names of files and folders hold it too, and are no facts.
_SURE = frozenset({"command line", "config", "log"})
_AMOUNT = re.compile(r"([0-9][0-9,]*(?:\.[0-9]+)?) *(|k|m|b|g|t|thousand|million|billion|trillion)")
_POWERS = {"": 0, "k": 3, "t": 12, "m": 6, "b": 9, "g": 9, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
#: FLOP/s in a TFLOP/s.
_TERA = 1e12


class Peaks:
    """The table of peak FLOP/s, which is read when a run first asks for it."""

    def __init__(self, table: Sequence[Accelerator] | None = None) -> None:
        """``table``: the accelerators, perflog's own where none are given."""
        self._table = table

    def of(self, metadata: Metadata) -> Peak | None:
        """The peak of a run's devices; None where the log does not say which they are, or at what precision it ran."""
        told = [metadata.values.get(key) for key in ("accelerator", "precision") if _is_certain(metadata, key)]
        if len(told) < 2 or None in told:
            return None
        if self._table is None:
            self._table = own_accelerators()
        return peak_of(self._table, str(told[0]), str(told[1]))


class FlopsPerToken(Struct, frozen=True):
    """The FLOP of one token's forward and backward pass under a definition; ``name`` ends the names of its metrics."""

    name: str
    flops: float
    definition: str


def further_metrics(
    throughput: Metric, measured: Measured | None, metadata: Metadata, program: str, own: Mapping[str, Metric],
    peaks: Peaks,
) -> dict[str, Metric]:  # fmt: skip
    """The metrics of a run beside its throughput, by name; none where the throughput has no value.

    Args:
        measured: what the throughput was made from; None where it is the program's own summary.
        program: the title of the parser that read the run's lines.
        own: the metrics that the program's summaries give, which come first.
    """
    if throughput.value is None:
        return {}
    printed = {} if measured is None else printed_metrics(throughput, measured, program)
    known = {**printed, **own}
    tokens = tokens_metrics(throughput, metadata)
    computed = computed_metrics(tokens.get(TOKENS_DEVICE), known, metadata, peaks)
    return {**tokens, **computed, **known}


def printed_metrics(throughput: Metric, measured: Measured, program: str) -> dict[str, Metric]:
    """The metrics on the measured lines, as the program prints them: their means over time.

    One of single steps, of which the log prints one in several, says nothing of the others and is left out.
    """
    metrics: dict[str, Metric] = {}
    sampled = measured.segment.count.interval > 1
    for value, mean in zip(measured.pattern.printed_means, measured.taken.metrics, strict=False):
        if not mean.used or value.metric in metrics or (sampled and value.span == "last"):
            continue
        metrics[value.metric] = Metric(
            name=value.metric,
            value=mean.value,
            unit=value.unit,
            estimator="printed",
            used=mean.used,
            excluded={"no usable number": mean.unusable} if mean.unusable else {},
            first_line=mean.first_line,
            last_line=mean.last_line,
            first_step=throughput.first_step,
            last_step=throughput.last_step,
            parser=throughput.parser,
            definition=": ".join(part for part in (f"as printed by {program}", value.definition) if part),
        )
    return metrics


def tokens_metrics(throughput: Metric, metadata: Metadata) -> dict[str, Metric]:
    """Tokens per second of the job and of each of its devices, those of all kinds of parallelism counted."""
    if throughput.unit == "tokens/s/device":
        return {TOKENS_DEVICE: replace(throughput, name=TOKENS_DEVICE)}
    job = _tokens_of_job(throughput, metadata)
    if job is None:
        return {}
    devices = metadata.integer("devices")
    if job.name != TOKENS or not devices or not _is_certain(metadata, "devices"):
        return {job.name: job}
    definition = f"{job.definition or 'tokens/s of the job'}, / {devices} devices"
    return {TOKENS: job, TOKENS_DEVICE: _scaled(job, TOKENS_DEVICE, 1 / devices, "tokens/s/device", definition)}


def _tokens_of_job(throughput: Metric, metadata: Metadata) -> Metric | None:
    """Tokens per second of the job; an upper bound where sequences may be shorter than the length that is known."""
    if throughput.unit == "tokens/s":
        return replace(throughput, name=TOKENS)
    if throughput.unit not in _SEQUENCES:
        return None
    length = _size(metadata, "sequence_length")
    if length:
        definition = f"{throughput.unit} × the sequence length, {length:.0f} tokens"
        return _scaled(throughput, TOKENS, length, "tokens/s", definition)
    length = _size(metadata, "max_sequence_length")
    if not length:
        return None
    definition = f"{throughput.unit} × the longest sequence, {length:.0f} tokens"
    if str(metadata.values.get("packing", "")).lower() == "true":
        return _scaled(throughput, TOKENS, length, "tokens/s", f"{definition}; sequences are packed")
    definition += "; an upper bound, since sequences may be shorter or padded"
    return _scaled(throughput, TOKENS_BOUND, length, "tokens/s", definition)


def computed_metrics(
    tokens: Metric | None, known: Mapping[str, Metric], metadata: Metadata, peaks: Peaks
) -> dict[str, Metric]:
    """TFLOP/s of a device and MFU where the program prints none: from tokens per second, sizes and the table of peaks.

    Args:
        tokens: tokens per second of a device; None where that is unknown.
        known: what the program prints.
    """
    if tokens is None and not known:
        return {}
    metrics = {}
    printed_flops = any(name.startswith(TFLOPS) for name in known)
    source, ending = known.get(TFLOPS), "of_printed_tflops"
    per_token = None if tokens is None or printed_flops else flops_per_token(metadata)
    if tokens is not None and per_token is not None:
        name, factor = f"{TFLOPS}_{per_token.name}", per_token.flops / _TERA
        source, ending = _scaled(tokens, name, factor, "TFLOP/s", per_token.definition), per_token.name
        metrics[name] = source
    if source is not None and not any(name.startswith(MFU) for name in known):
        peak = peaks.of(metadata)
        if peak is not None:
            metrics[f"{MFU}_{ending}"] = _utilization(source, f"{MFU}_{ending}", peak)
    return metrics


def _utilization(tflops: Metric, name: str, peak: Peak) -> Metric:
    """A device's FLOP/s as a share of its peak in per cent; no value where it is more than the whole."""
    whole = f"{peak.tflops:g} TFLOP/s, the dense {peak.precision} peak of {peak.accelerator} ({peak.source})"
    metric = _scaled(tflops, name, 100 / peak.tflops, "%", f"{tflops.definition}; / {whole}")
    if metric.value is not None and metric.value > 100:
        reason = f"{metric.value:.4g} % of the peak cannot be: the model's size, the devices or their kind is not right"
        return replace(metric, value=None, reason=reason, rounding=None)
    return metric


def flops_per_token(metadata: Metadata) -> FlopsPerToken | None:
    """The FLOP of one token by the sizes that are known of a dense model; None where they say too little.

    Recomputed activations are not counted, and attention is not halved for causality.
    """
    if (_size(metadata, "experts") or 1) > 1:
        return None
    parameters, length = _size(metadata, "parameters"), _size(metadata, "sequence_length")
    layers, hidden = _size(metadata, "layers"), _size(metadata, "hidden_size")
    attention = 12 * layers * hidden * length if layers and hidden and length else None
    sizes = f"L = {layers or 0:.0f} layers, HQ = {hidden or 0:.0f}, T = {length or 0:.0f} tokens"
    if parameters and attention:
        definition = f"6N + 12LHQT FLOP per token (PaLM, appendix B), N = {parameters:.10g} parameters, {sizes}"
        return FlopsPerToken("palm", 6 * parameters + attention, definition)
    if parameters:
        definition = f"6N FLOP per token, attention left out, N = {parameters:.10g} parameters"
        return FlopsPerToken("6n", 6 * parameters, definition)
    vocabulary, inner = _size(metadata, "vocabulary_size"), _size(metadata, "ffn_hidden_size")
    if not (layers and hidden and attention and vocabulary) or inner not in (None, 4 * hidden):
        return None
    if metadata.values.get("blocks") == "gated" or metadata.values.get("attention") == "grouped":
        return None  # other matrices than those of GPT's blocks
    flops = 72 * layers * hidden**2 + attention + 6 * vocabulary * hidden
    definition = (
        "72Lh² + 12LhT + 6Vh FLOP per token, of GPT blocks whose inner layer is 4h (arXiv 2104.04473, equation 3, "
        f"without recomputation), h = HQ, V = {vocabulary:.0f}, {sizes}"
    )
    return FlopsPerToken("gpt", flops, definition)


def _scaled(metric: Metric, name: str, factor: float, unit: str, definition: str) -> Metric:
    """A metric that is another one times a factor."""
    value = None if metric.value is None else metric.value * factor
    rounding = None if metric.rounding is None else (metric.rounding[0] * factor, metric.rounding[1] * factor)
    return replace(metric, name=name, value=value, unit=unit, rounding=rounding, definition=definition)


def _is_certain(metadata: Metadata, key: str) -> bool:
    """Whether what is known of a key is neither contradicted nor told by a folder above the given path alone."""
    return key not in metadata.contradictions and key not in metadata.above


def _size(metadata: Metadata, key: str) -> float | None:
    """A size of the model or its sequences (``8,030,261,248``, ``124.34M``); None where nothing sure says it."""
    if metadata.sources.get(key) not in _SURE or not _is_certain(metadata, key):
        return None
    match = _AMOUNT.fullmatch(str(metadata.values[key]).strip().lower())
    if match is None:
        return None
    return float(match[1].replace(",", "")) * 10.0 ** _POWERS[match[2]] or None
