"""Settings that a log's own lines show before what they are needed for: the length of a window, the size of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

#: The groups of metadata lines that measurements may need while a log is read.
SHOWN = frozenset(
    {"window_size", "print_interval", "batch_size", "global_batch_size", "devices", "gradient_accumulation_steps"}
)


class Shown(Struct, frozen=True):
    """The settings that the lines of one parser show, by key: (line, number) in the order of the log."""

    numbers: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)

    def before(self, key: str, line: int) -> float | None:
        """What was said last before a line; None where nothing was."""
        said = [number for place, number in self.numbers.get(key, ()) if place < line]
        return said[-1] if said else None

    def global_batch(self, line: int) -> float | None:
        """Samples in a step of the whole job, by what was said before a line; None where that is unknown."""
        total = self.before("global_batch_size", line)
        batch, devices = self.before("batch_size", line), self.before("devices", line)
        if total is not None or batch is None or devices is None:
            return total
        return batch * devices * (self.before("gradient_accumulation_steps", line) or 1.0)


NOTHING_SHOWN = Shown()
