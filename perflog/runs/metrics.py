"""Metrics beside throughput that language models are compared by: tokens/s of the job and of a device, TFLOP/s, MFU.

What a program prints is taken as it prints it, as the mean over time of the window that the throughput is taken of.
What it does not print is computed where the log says all that it takes, under a name that says the definition; an
unknown sequence length, size or device gives no metric. ``docs/json.md`` lists the names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import Struct

from perflog.formats.accelerators import Accelerator, Peak, most_of, own_accelerators, peak_of
from perflog.formats.printed import kind, rate_unit
from perflog.formats.vocabulary import size, whole_count
from perflog.lazy_regex import lazy_regex
from perflog.runs.corroborate import Measured
from perflog.runs.metadata import Metadata, model_parallel
from perflog.runs.run import Metric

TOKENS, TOKENS_BOUND = "tokens_per_second", "tokens_per_second_upper_bound"
TOKENS_DEVICE = "tokens_per_second_per_device"
TFLOPS, MFU = "tflops_per_device", "mfu"
#: Rates of samples that may be sequences of tokens.
_SEQUENCES = frozenset({"samples/s", "sequences/s"})
#: Who may say a model's size: names of files and folders hold it too, and are no facts.
_SURE = frozenset({"command line", "config", "log"})
#: FLOP/s in a TFLOP/s.
_TERA = 1e12
#: The precisions that the table of peaks does not have: devices do two or four times as much in them.
_NO_FIGURES = frozenset({"fp8", "fp4", "int8"})
#: Two numbers of one log are a whole factor apart within this share; numbers of FLOP within the second, since programs
#: count them by different formulas.
_WHOLE, _WHOLE_FLOPS = 0.03, 0.25
#: What a factor between two metrics may be where no fact of the run has that value.
_USUAL_FACTORS = (2, 4, 8)
#: The facts that such factors come from, with what may be wrong then.
_FACTORS = {
    "devices": "each device may count the work of all", "nodes": "each node may count the work of all",
    "gradient_accumulation_steps": "one of the two may count micro-batches as steps",
}  # fmt: skip
#: What stands in the name of a metric that is of a part of the job.
_OF_A_PART = lazy_regex("_of_a_|_per_(?:device|gpu|rank|node)")


class Peaks:
    """The table of peak FLOP/s, which is read when a run first asks for it."""

    def __init__(self, table: Sequence[Accelerator] | None = None) -> None:
        """``table``: the accelerators, perflog's own where none are given."""
        self._table = table

    def of(self, metadata: Metadata) -> Peak | None:
        """The peak of a run's devices; None where the log does not say which they are, or at what precision it ran."""
        device, precision = _device_of(metadata)
        return peak_of(self._accelerators(), device, precision) if device and precision else None

    def most(self, metadata: Metadata) -> Peak | None:
        """The most that a run's devices can do by all that is known of them; None for a precision without figures."""
        device, precision = _device_of(metadata)
        return None if precision in _NO_FIGURES else most_of(self._accelerators(), device, precision)

    def _accelerators(self) -> Sequence[Accelerator]:
        if self._table is None:
            self._table = own_accelerators()
        return self._table


def _device_of(metadata: Metadata) -> tuple[str, str]:
    """(a run's device, its precision); empty for what is not certain."""
    device, precision = (
        str(metadata.values.get(key, "")) if _is_certain(metadata, key) else "" for key in ("accelerator", "precision")
    )
    return device, precision


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
    agreeing = {name: _unless_apart(metric, throughput, tokens, metadata) for name, metric in known.items()}
    return possible({**tokens, **computed, **agreeing}, metadata, peaks)


def possible(metrics: Mapping[str, Metric], metadata: Metadata, peaks: Peaks) -> dict[str, Metric]:
    """Metrics; those that no device can reach, FLOP/s beyond its peak or more than the whole of it, without a value."""
    return {name: _unless_beyond(name, metric, metadata, peaks) for name, metric in metrics.items()}


def _unless_beyond(name: str, metric: Metric, metadata: Metadata, peaks: Peaks) -> Metric:
    value = metric.value
    if value is None or not name.startswith((TFLOPS, MFU)):
        return metric
    if name.startswith(MFU):
        whole = 1.0 if metric.unit == "fraction" else 100.0
        unit = "" if metric.unit == "fraction" else " %"
        return metric if value <= whole else _refused(metric, f"{value:.4g}{unit} of the peak cannot be")
    peak = peaks.most(metadata)
    if peak is None or value <= peak.tflops:
        return metric
    known = f"the dense {peak.precision} peak of {peak.accelerator} ({peak.source})"
    whose = known if _device_of(metadata)[0] else f"the most of any device that is known, {known}"
    return _refused(metric, f"{value:.4g} TFLOP/s of a device cannot be: {peak.tflops:g} is {whose}")


def _unless_apart(metric: Metric, throughput: Metric, tokens: Mapping[str, Metric], metadata: Metadata) -> Metric:
    """A metric that the program prints; without its value where it is a whole factor from the measured steps.

    Args:
        tokens: what follows from the throughput.
    """
    name, value = metric.name, metric.value
    if value is None or metric.estimator in ("max", "min"):
        return metric
    tolerance = _WHOLE
    measured = tokens.get(name) or (throughput if _counts_alike(metric, throughput) else None)
    if name == TFLOPS and TOKENS_DEVICE in tokens and model_parallel(metadata.values) == 1:
        per_token = flops_per_token(metadata)
        if per_token is not None:
            factor, definition = per_token.flops / _TERA, per_token.definition
            measured = _scaled(tokens[TOKENS_DEVICE], name, factor, "TFLOP/s", definition)
            tolerance = _WHOLE_FLOPS
    if measured is None or not measured.value:
        return metric
    ratio = value / measured.value
    for factor, why in _factors(metadata, of_flops=tolerance == _WHOLE_FLOPS):
        if abs(ratio / factor - 1) <= tolerance:
            times = f"{factor} times" if factor >= 1 else f"1/{round(1 / factor)} of"
            numbers = f"{value:.6g} {metric.unit} is {times} the {measured.value:.6g} of the measured steps"
            return _refused(metric, f"{numbers}: {why}")
    return metric


def _factors(metadata: Metadata, of_flops: bool) -> Iterator[tuple[float, str]]:
    """The factors by which two metrics of a log may be apart, each with what may be wrong then.

    A mean over the whole run that holds pauses may be half of the rate of its steps by chance, and the FLOP of a
    mixture of experts a small part of those of all its parameters.
    """
    for key, why in _FACTORS.items():
        count = whole_count(str(metadata.values.get(key, "")), least=2) if _is_certain(metadata, key) else None
        if count is not None and (count > 2 or not of_flops):
            yield count, why
            if not of_flops:
                yield 1 / count, why
    for count in _USUAL_FACTORS:
        if count > 2 or not of_flops:
            yield count, "the two do not count the same"


def _counts_alike(metric: Metric, throughput: Metric) -> bool:
    """Whether a metric and the throughput count the same work of the same part of the job."""
    units = [rate_unit(unit) for unit in (metric.unit, throughput.unit)]
    if None in units or "/" in throughput.unit.removesuffix("/s") or _OF_A_PART.search(metric.name):
        return False
    return metric.unit.endswith("/s") and kind(metric.unit) == kind(throughput.unit) and kind(metric.unit) != "steps"


def _refused(metric: Metric, reason: str) -> Metric:
    return replace(metric, value=None, reason=reason, rounding=None)


def printed_metrics(throughput: Metric, measured: Measured, program: str) -> dict[str, Metric]:
    """The metrics on the measured lines, as the program prints them: their means over time.

    One of single steps, of which the log prints one in several, says nothing of the others and is left out. A part of
    the time of a step is kept as its share of that time, and is that share of the time per step.
    """
    metrics: dict[str, Metric] = {}
    sampled = measured.segment.count.interval > 1
    for value, mean in zip(measured.pattern.printed_means, measured.taken.metrics, strict=False):
        if not mean.used or value.metric in metrics or (sampled and value.span == "last"):
            continue
        whole = throughput.time_per_step if value.is_part else 1.0
        if whole is None:
            continue
        metrics[value.metric] = Metric(
            name=value.metric,
            value=mean.value * whole,
            unit="s" if value.is_part else value.unit,
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
        return _refused(metric, reason)
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
    return size(str(metadata.values[key])) or None
