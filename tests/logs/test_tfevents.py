"""TensorBoard event files become lines: those that tensorboardX wrote, and records made here by hand."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest

from perflog.logs.loggers import is_event_file, masked_checksum, text_of_events
from perflog.logs.streams import Stream, UnreadableError
from perflog.notes import texts
from tests.support import FIXTURES, extracted

LOSS = FIXTURES / "parsers" / "tensorboard_loss" / "events.out.tfevents.1777889472.node.77.0"


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    checksums = [struct.pack("<I", masked_checksum(part)) for part in (length, data)]
    return length + checksums[0] + data + checksums[1]


def field(number: int, data: bytes) -> bytes:
    """A field of bytes, shorter than 128."""
    return bytes([number << 3 | 2, len(data)]) + data


def event(step: bytes, *values: bytes) -> bytes:
    """An event at 1777889472.25 s; ``step`` is a varint."""
    summary = b"".join(field(1, value) for value in values)
    return record(b"\x09" + struct.pack("<d", 1777889472.25) + b"\x10" + step + field(5, summary))


def text(data: bytes, size: int = 7) -> tuple[bytes, str]:
    stream = text_of_events(Stream(io.BytesIO(data).read))
    given = b""
    try:
        while part := stream.read(size):
            given += part
    except UnreadableError as error:
        return given, str(error)
    return given, ""


def test_checksums() -> None:
    """CRC-32C of `123456789` is e3069283 (RFC 3720, and every table of checksums)."""
    crc = 0xE3069283
    assert masked_checksum(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_a_file_of_tensorboardx() -> None:
    lines = text(LOSS.read_bytes())[0].decode().split("\n")
    scalars = [line for line in lines if line]
    assert scalars[0] == "tfevents tag=train/loss step=10 value=6.98000002 wall_time=1777889477.000000"
    assert scalars[2] == "tfevents tag=train/loss step=20 value=6.96000004 wall_time=1777889482.000000"
    assert scalars[-1] == "tfevents tag=train/learning_rate step=1000 value=9.99999975e-05 wall_time=1777889727.001000"
    assert len(scalars) == 200


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (field(1, b"loss") + b"\x15" + struct.pack("<f", 0.5), b"tag=loss step=300 value=0.5"),
        (field(1, b"lm loss") + field(8, b"\x08\x01" + field(4, struct.pack("<f", 0.25))), b"tag=lm loss step=300 value=0.25"),
        (field(1, b"a") + field(8, b"\x08\x01" + field(5, struct.pack("<f", 2.0))), b"tag=a step=300 value=2"),
        (field(1, b"a") + field(8, b"\x08\x02" + field(4, struct.pack("<d", 0.1))), b"tag=a step=300 value=0.1"),
        (field(1, b"a") + field(8, b"\x08\x03\x38\x05"), b"tag=a step=300 value=5"),
        (field(1, b"a") + field(8, b"\x08\x09" + field(4, struct.pack("<q", -7))), b"tag=a step=300 value=-7"),
        (field(1, b"a") + b"\x15" + struct.pack("<f", float("nan")), b"tag=a step=300 value=nan"),
        (field(1, b"args/text_summary") + field(8, b"\x08\x07" + field(8, b"hello")), b""),
        (field(1, b"a") + field(8, b"\x08\x01" + field(4, bytes(8))), b""),  # two numbers
    ],
)  # fmt: skip
def test_scalars(value: bytes, line: bytes) -> None:
    expected = b"tfevents " + line + b" wall_time=1777889472.250000\n" if line else b"\n"
    assert text(event(b"\xac\x02", value)) == (expected, "")


def test_a_record_is_a_line() -> None:
    loss = field(1, b"loss") + b"\x15" + struct.pack("<f", 0.5)
    rate = field(1, b"rate") + b"\x15" + struct.pack("<f", 4.0)
    version = record(b"\x09" + bytes(8) + field(3, b"brain.Event:2"))
    image = record(b"\x09" + bytes(8) + b"\x2a\x80\x80\x80\x01" + bytes(1 << 21))
    given, problem = text(version + image + event(b"\x05", loss, rate), 1 << 20)
    assert problem == ""
    assert given == (
        b"\n\ntfevents tag=loss step=5 value=0.5 wall_time=1777889472.250000\r"
        b"tfevents tag=rate step=5 value=4 wall_time=1777889472.250000\n"
    )


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda data: data[:-1], "cut short"),
        (lambda data: data[:-20], "cut short"),
        (lambda data: data + b"\x01\x02\x03", "cut short"),
        (lambda data: data[:-6] + b"\xff" + data[-5:], "the checksum of a record is another"),
        (lambda data: data + b"rubbish, of some length", "the length of a record is another"),
    ],
)
def test_damage_is_told_after_the_records_before(damage: object, why: str) -> None:
    good = event(b"\x05", field(1, b"loss") + b"\x15" + struct.pack("<f", 0.5))
    line = b"tfevents tag=loss step=5 value=0.5 wall_time=1777889472.250000\n"
    given, problem = text(damage(good + good))  # type: ignore[operator]
    assert problem == f"the TensorBoard records are damaged or cut short: {why}"
    assert given in (line, line * 2)


def test_only_event_files_are_taken_for_some() -> None:
    assert is_event_file(LOSS.read_bytes()[:512])
    assert not is_event_file(b"step 1 loss 2\n" * 9)
    assert not is_event_file(b"")
    assert not is_event_file(record(b"another TFRecord"))


def test_a_cut_file_gives_the_same_value_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "events").write_bytes(LOSS.read_bytes()[:-30])
    (run,) = extracted(tmp_path / "events", set={"global_batch_size": "64"}).runs
    assert run.throughput.value == pytest.approx(256.0)
    assert "the TensorBoard records are damaged or cut short: cut short" in texts(run.notes)
