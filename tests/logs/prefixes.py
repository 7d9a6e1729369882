"""What launchers, collectors and terminals put around the lines that a program prints, written by hand here.

Each wrapper takes a log's text and gives the text as the launcher would have stored it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

Wrap = Callable[[bytes], bytes]


def before(prefix: str) -> Wrap:
    """The same prefix before every line."""
    head = prefix.encode()

    def wrap(text: bytes) -> bytes:
        lines = text.split(b"\n")
        rest = lines.pop()
        return b"".join(head + line + b"\n" for line in lines) + (head + rest if rest else b"")

    return wrap


def stamped(form: str) -> Wrap:
    """A prefix whose time rises: ``form`` is formatted with hours, minutes, seconds and the line's number."""

    def wrap(text: bytes) -> bytes:
        lines = text.split(b"\n")
        rest = lines.pop()
        parts = [_stamp(form, number) + line + b"\n" for number, line in enumerate(lines)]
        return b"".join(parts) + (_stamp(form, len(lines)) + rest if rest else b"")

    return wrap


def _stamp(form: str, number: int) -> bytes:
    return form.format(h=number // 3600 % 24, m=number // 60 % 60, s=number % 60, n=number + 1).encode()


def records(text: bytes, field: str, **others: object) -> bytes:
    """One JSON object a line, the text of the line with its line feed in ``field``."""
    lines = text.decode("utf-8", "replace").splitlines(keepends=True) if b"\r" not in text else _by_feed(text)
    return b"".join(json.dumps({field: line, **others}).encode() + b"\n" for line in lines)


def _by_feed(text: bytes) -> list[str]:
    lines = text.decode("utf-8", "replace").split("\n")
    rest = lines.pop()
    return [line + "\n" for line in lines] + ([rest] if rest else [])


def docker_json(text: bytes) -> bytes:
    return b"".join(
        json.dumps({"log": line, "stream": "stdout", "time": "2026-05-04T10:11:12.345678901Z"}).encode() + b"\n"
        for line in _by_feed(text)
    )


def docker_json_in_halves(text: bytes) -> bytes:
    """As docker splits what is longer than 16 KiB: records without a line feed, up to one that has it."""
    out = []
    for line in _by_feed(text):
        halves = [line[: len(line) // 2], line[len(line) // 2 :]] if len(line) > 3 else [line]
        out += [
            json.dumps({"log": half, "stream": "stderr", "time": "2026-05-04T10:11:12.3Z"}).encode() for half in halves
        ]
    return b"\n".join(out) + b"\n"


def message_json(field: str) -> Wrap:
    """JSON lines of a collector: the text without its line feed, among other fields."""

    def wrap(text: bytes) -> bytes:
        lines = [line.removesuffix("\n") for line in _by_feed(text)]
        return b"".join(
            json.dumps({"timestamp": "2026-05-04T10:11:12.345Z", field: line, "labels": {"a": "b"}}).encode() + b"\n"
            for line in lines
        )

    return wrap


def journald_bytes(text: bytes) -> bytes:
    """`journalctl -o json` gives a message that is no plain text as an array of bytes."""
    out = []
    for number, line in enumerate(text.split(b"\n")[: None if not text.endswith(b"\n") else -1]):
        message: object = list(line) if number % 2 else line.decode("utf-8", "replace")
        out.append(json.dumps({"__CURSOR": "s=1", "PRIORITY": "6", "MESSAGE": message, "_PID": "7"}).encode() + b"\n")
    return b"".join(out)


def cri(text: bytes) -> bytes:
    """Kubernetes' files: long lines in partial records."""
    out = []
    for number, line in enumerate(text.split(b"\n")[: None if not text.endswith(b"\n") else -1]):
        stamp = _stamp("2026-05-04T{h:02}:{m:02}:{s:02}.345678901Z stdout ", number)
        if len(line) > 20:
            out += [stamp + b"P " + line[: len(line) // 2], stamp + b"F " + line[len(line) // 2 :]]
        else:
            out.append(stamp + b"F " + line)
    return b"\n".join(out) + b"\n"


def gitlab(text: bytes) -> bytes:
    return (
        b"section_start:1777889472:step_script\r\x1b[0K\x1b[0K"
        + text
        + b"section_end:1777889479:step_script\r\x1b[0K\n"
    )


def crlf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def script(text: bytes) -> bytes:
    return b'Script started on 2026-05-04 10:11:12+00:00 [TERM="xterm"]\n' + crlf(text)


#: Name of a shape → (the wrapper, the rank that it names or None, the lines put before the text).
SHAPES: Mapping[str, tuple[Wrap, int | None]] = {
    "torchrun": (before("[rank0]:"), 0),
    "torchrun with a blank": (before("[rank3]: "), 3),
    "torch elastic": (before("[default2]:"), 2),
    "two tags": (before("[default1]:[rank1]: "), 1),
    "srun -l": (before("0: "), 0),
    "srun -l padded": (before(" 3: "), 3),
    "Open MPI": (before("[1,0]<stdout>:"), 0),
    "Open MPI stderr": (before("[1,2]<stderr>:"), 2),
    "Open MPI stamped": (stamped("Mon May  4 {h:02}:{m:02}:{s:02} 2026[1,4]<stdout>:"), 4),
    "Open MPI 5": (before("[prterun-host-1234@1,5]<stdout>:"), 5),
    "Open MPI 5 with a blank": (before("[prterun-gpu01-99@1,0]<stdout>: "), 0),
    "MPICH": (before("[0] "), 0),
    "MPICH 3": (before("[3] "), 3),
    "horovodrun": (before("[2]<stdout>:"), 2),
    "SageMaker": (before("[1,mpirank:6,algo-1]<stdout>:"), 6),
    "SageMaker algo-2": (before("[1,mpirank:8,algo-2]<stderr>:"), 8),
    "pdsh": (before("worker-0: "), None),
    "pdsh address": (before("10.0.0.1: "), None),
    "Ray": (before("(TrainWorker pid=1234) "), 1234),
    "Ray with ip": (before("(TrainWorker pid=1234, ip=10.0.0.2) "), 1234),
    "Ray coloured": (before("\x1b[36m(RayTrainWorker pid=77, ip=10.0.0.2)\x1b[0m "), 77),
    "SkyPilot": (before("(task, pid=3132) "), 3132),
    "SkyPilot head": (before("(head, rank=0, pid=3132) "), 0),
    "SkyPilot worker": (before("(worker1, rank=1, pid=3132, ip=10.0.0.2) "), 1),
    "kubectl timestamps": (stamped("2026-05-04T{h:02}:{m:02}:{s:02}.345678901Z "), None),
    "kubectl prefix": (before("[pod/trainer-0/pytorch] "), None),
    "stern": (before("trainer-0 pytorch "), None),
    "kail": (before("ns/trainer-0[pytorch]: "), None),
    "pod": (before("pod/trainer-0 "), None),
    "worker bar": (before("worker-0 | "), None),
    "trainer colon": (before("trainer-0: "), None),
    "CRI": (cri, None),
    "docker compose": (before("trainer-1  | "), None),
    "docker compose coloured": (before("\x1b[36mtrainer_1  |\x1b[0m "), None),
    "docker json-file": (docker_json, None),
    "docker json-file in halves": (docker_json_in_halves, None),
    "GitHub Actions": (stamped("2026-05-04T{h:02}:{m:02}:{s:02}.3456789Z "), None),
    "gh run view": (stamped("train (3.11)\tRun benchmark\t2026-05-04T{h:02}:{m:02}:{s:02}.3456789Z "), None),
    "GitLab sections": (gitlab, None),
    "GitLab stamped": (stamped("2026-05-04T{h:02}:{m:02}:{s:02}.345678Z 00O "), None),
    "Jenkins": (stamped("[2026-05-04T{h:02}:{m:02}:{s:02}.345Z] "), None),
    "TeamCity": (stamped("[{h:02}:{m:02}:{s:02}]"), None),
    "TeamCity with a blank": (stamped("[{h:02}:{m:02}:{s:02}] "), None),
    "syslog": (stamped("May 04 {h:02}:{m:02}:{s:02} gpu01 python[12345]: "), None),
    "journalctl short-iso": (stamped("2026-05-04T{h:02}:{m:02}:{s:02}+0000 gpu01 python[12345]: "), None),
    "journalctl json": (message_json("MESSAGE"), None),
    "journalctl json bytes": (journald_bytes, None),
    "ts": (stamped("May 04 {h:02}:{m:02}:{s:02} "), None),
    "ts with %F": (stamped("2026/05/04 {h:02}:{m:02}:{s:02} "), None),
    "CloudWatch": (stamped("2026-05-04T{h:02}:{m:02}:{s:02}.345Z "), None),
    "CloudWatch JSON": (message_json("message"), None),
    "Cloud Logging JSON": (message_json("textPayload"), None),
    "Determined": (stamped("[2026-05-04T{h:02}:{m:02}:{s:02}.345678Z] 1a2b3c4d || INFO: "), None),
    "Determined rank": (stamped("[2026-05-04T{h:02}:{m:02}:{s:02}.345678Z] 1a2b3c4d || INFO: [rank=0] "), 0),
    "Azure": (before("[stdout] "), None),
    "Azure stamped": (stamped("2026-05-04T{h:02}:{m:02}:{s:02}Z "), None),
    "logging": (before("INFO:root:"), None),
    "logging stamped": (stamped("2026-05-04 {h:02}:{m:02}:{s:02},345 - INFO - "), None),
    "loguru": (stamped("2026-05-04 {h:02}:{m:02}:{s:02}.345 | INFO     | mod:fn:12 - "), None),
    "Hydra": (stamped("[2026-05-04 {h:02}:{m:02}:{s:02},345][mod][INFO] - "), None),
    "abseil": (stamped("I0504 {h:02}:{m:02}:{s:02}.345678 140123456789 file.py:12] "), None),
    "script": (script, None),
    "nohup": (lambda text: b"nohup: ignoring input\n" + text, None),
    "CRLF": (crlf, None),
    "quoted": (before("> "), None),
    "four blanks": (before("    "), None),
    "tab": (before("\t"), None),
    "cat -n": (stamped("{n:6}\t"), None),
    "line number": (stamped("  {n} "), None),
    "grep -n": (stamped("{n}:"), None),
    "grep -Hn": (stamped("file.log:{n}:"), None),
}  # fmt: skip
