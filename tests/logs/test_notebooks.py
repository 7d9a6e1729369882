"""Notebooks are read as what their cells printed: those that nbclient saved (``tests/tools/real_notebooks.py``), whose
trainings a clock of our own measured, and JSON made here by hand in the shapes that libraries are known to show."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import perflog
from perflog.errors import UsageError
from perflog.logs import notebooks
from perflog.logs.containers import blocks_of, open_small
from perflog.logs.find import LogFile, find_logs
from perflog.logs.notebooks import cells_of_lines, text_of_html, text_of_notebook
from perflog.logs.streams import NOTEBOOK, LimitError, Stream, UnreadableError
from perflog.logs.unwrap import CELL, NO_OUTPUT, is_notebook
from perflog.settings.config import settings
from perflog.show.explain import explain_logs
from tests.logs.stores import put, s3_server, use
from tests.logs.test_containers import tarred, zipped
from tests.support import ROOT, extracted

FOLDER = Path(__file__).parent / "notebooks"
LOOP, SHOWN = FOLDER / "loop.ipynb", FOLDER / "shown.ipynb"
BATCH = 32


def notebook(*cells: Sequence[dict[str, Any]], metadata: dict[str, Any] | None = None) -> bytes:
    """A notebook whose code cells have these outputs."""
    made = [{"cell_type": "code", "source": ["x"], "metadata": {}, "outputs": list(outputs)} for outputs in cells]
    return json.dumps({"cells": made, "metadata": metadata or {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def printed(text: str | list[str], name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def shown(**data: Any) -> dict[str, Any]:
    names = {"plain": "text/plain", "html": "text/html", "view": "application/vnd.jupyter.widget-view+json"}
    return {"output_type": "display_data", "metadata": {}, "data": {names[key]: value for key, value in data.items()}}


def text(data: bytes) -> str:
    """The text of a notebook, without the marks of its cells."""
    stream = text_of_notebook(Stream(io.BytesIO(data).read))
    given = b"".join(iter(lambda: stream.read(1000), b"")).decode()
    return re.sub("(?m)^\f+\n", "", given)


def read(log: LogFile) -> bytes:
    return b"".join(load() for load in blocks_of(log))


def ends(name: str, training: str) -> list[float]:
    """When the steps of a training ended, in seconds since its start."""
    figures = json.loads((FOLDER / f"{name}.json").read_text())["trainings"][training]
    assert figures["samples_per_step"] == BATCH
    return list(figures["ends"])


def seconds(clock: str) -> int:
    minutes, _, rest = clock.rpartition(":")
    return 60 * int(minutes) + int(rest)


# ----------------------------------------------------------------------------------------------------
# Real notebooks, and the clock's figures.


def test_a_training_in_a_notebook_has_the_clocks_number() -> None:
    """The bar tells whole seconds: the clock lies within what its digits allow, and near the number."""
    (run,) = extracted(LOOP).runs
    clock = ends("loop", "tqdm")
    steps_per_second = (len(clock) - 20) / (clock[-1] - clock[19])
    assert run.throughput.rounding is not None
    low, high = run.throughput.rounding
    assert low <= steps_per_second <= high
    assert run.throughput.value == pytest.approx(steps_per_second, rel=0.02)
    assert run.throughput.unit == "steps/s"


def test_a_number_names_lines_and_cell() -> None:
    """The lines are those of the text; the training is the third cell, behind a heading and the imports."""
    (run,) = extracted(LOOP).runs
    lines = text(LOOP.read_bytes()).replace("\r", "").splitlines()
    marks = 3  # of the cells with output, each before its first line
    assert lines[run.first_line - marks + 1 - 1].startswith("Epoch 0:   0%")
    assert "Epoch 1: 100%" in lines[run.last_line - marks + 1 - 1]
    (explanation,) = explain_logs([LOOP], settings({}, ()))
    assert f"lines {run.first_line} to {run.last_line} (cell 3), " in explanation.text


def test_what_only_notebooks_show_is_text() -> None:
    """Whatever draws a bar says as many seconds, cut to whole ones, as the clock: transformers' begins at its 1st step."""
    lines = text(SHOWN.read_bytes()).splitlines()
    widgets, transformers, fast, fastai = (
        ends("shown", each) for each in ("widgets", "transformers", "fastprogress", "fastai")
    )
    (hf,) = [re.fullmatch(r"\[200/200 ([0-9:]+), Epoch 2/2\]", line) for line in lines if line.startswith("[200")]
    (progress,) = [
        re.fullmatch(r"100\.00% \[100/100 ([0-9:]+)<00:00\]", line) for line in lines if line.startswith("100.")
    ]
    (total,) = [line.removeprefix("Total time: ") for line in lines if line.startswith("Total")]
    epochs = [re.fullmatch(r"Epoch (\d): 100%\|█{10}\| 100/100 \[([0-9:]+)<00:00, .*it/s\]", line) for line in lines]
    assert hf is not None
    assert progress is not None
    assert 0 <= transformers[-1] - transformers[0] - seconds(hf[1]) < 1.1
    assert 0 <= fast[-1] - seconds(progress[1]) < 1.1
    assert abs(fastai[-1] - seconds(total)) < 1.1  # with what is drawn behind the last step
    drawn = [(int(one[1]), seconds(one[2])) for one in epochs if one]
    assert [number for number, _ in drawn] == [0, 1]
    for (_, said), took in zip(drawn, (widgets[99], widgets[-1] - widgets[99]), strict=True):
        assert 0 <= took - said < 1.5  # with what makes the widget
    assert [line for line in lines if line.startswith("Step: ")] == [
        f"Step: {step}, Training Loss: {2 / step:.6f}" for step in (50, 100, 150, 200)
    ]
    assert [line for line in lines if line.startswith("epoch: ")] == [
        f"epoch: {n}, train_loss: {1 / (n + 1):.6f}, time: 00:{int(fastai[60 * n + 59] - (fastai[59] if n else 0)):02d}"
        for n in range(2)
    ]
    assert len(re.findall(r"(?:^|[\b\r])\d+/50 \[", "\n".join(lines), re.MULTILINE)) == 50
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert not [line for line in lines if "import" in line or "clock" in line], "the source of a cell is no output"


def test_final_states_alone_are_no_number() -> None:
    (run,) = extracted(SHOWN).runs
    assert run.throughput.value is None
    assert run.throughput.reason.startswith("the log holds one state of its bar")


def test_a_notebook_reads_the_same_however_it_is_kept(tmp_path: Path) -> None:
    data = LOOP.read_bytes()
    document = json.loads(data)
    first = {key: document[key] for key in ("nbformat", "nbformat_minor", "metadata", "cells")}  # Colab's order
    last = {key: document[key] for key in ("metadata", "nbformat", "nbformat_minor", "cells")}  # Kaggle's, on one line
    for cell in last["cells"]:
        cell["outputs"] = [
            output | ({"text": "".join(output["text"])} if "text" in output else {})
            for output in cell.get("outputs", [])
        ]
    kept = {
        "a.ipynb": data, "b.ipynb.gz": gzip.compress(data), "c.json": json.dumps(first).encode(), "d": json.dumps(last).encode(),
        "e.ipynb": data.decode().encode("utf-16"), "f.ipynb": b"\xef\xbb\xbf" + data,
        "g.zip": zipped([("x/a.ipynb", data), ("x/b.ipynb.gz", gzip.compress(data))]), "h.tar": tarred([("a.ipynb", data)]),
    }  # fmt: skip
    for name, content in kept.items():
        (tmp_path / name).write_bytes(content)
    logs = find_logs([tmp_path])
    assert len(logs) == 9
    (log,) = find_logs([LOOP])
    assert [log.name for log in logs if open_small(log, 1 << 20) != open_small(logs[0], 1 << 20)] == []
    assert {read(log) for log in logs} == {read(log)}
    assert read(log).startswith(CELL * 2 + b"\nbatch_size=32, devices=1\n" + CELL + b"\n\rEpoch 0:")


def test_a_notebook_from_a_pipe() -> None:
    command = [sys.executable, "-m", "perflog", "extract", "-", "-f", "json"]
    done = subprocess.run(command, input=LOOP.read_bytes(), capture_output=True, check=True, cwd=ROOT)
    (case,) = json.loads(done.stdout)["cases"]
    (run,) = extracted(LOOP).runs
    assert case["runs"][0]["metrics"]["throughput"]["value"] == pytest.approx(run.throughput.value)


def test_a_notebook_in_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore")
    with s3_server() as server:
        put(server, "bucket", "runs/loop.ipynb", LOOP.read_bytes())
        put(server, "bucket", "runs/all.zip", zipped([("shown.ipynb", SHOWN.read_bytes())]))
        use(monkeypatch, server, tmp_path)
        logs = find_logs(["s3://bucket/runs/"])
        (one,) = find_logs([LOOP])
        (other,) = find_logs([SHOWN])
        assert {log.name: read(log) for log in logs} == {
            "s3://bucket/runs/all.zip!shown.ipynb": read(other), "s3://bucket/runs/loop.ipynb": read(one),
        }  # fmt: skip


def test_what_jupyter_saved_a_while_ago_is_no_other_run(tmp_path: Path) -> None:
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / "loop.ipynb").write_bytes(LOOP.read_bytes())
    (tmp_path / ".ipynb_checkpoints" / "loop-checkpoint.ipynb").write_bytes(LOOP.read_bytes()[:-2000])
    assert [Path(log.path).name for log in find_logs([tmp_path])] == ["loop.ipynb"]


# ----------------------------------------------------------------------------------------------------
# Outputs.


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([printed("a\nb"), printed("c\n")], "a\nbc\n"),  # a kernel sends what there is, wherever a line stands
        ([printed(["a\n", "b"])], "a\nb\n"),
        # a line that the other stream cuts
        ([printed("loss 1"), printed("warning\n", "stderr"), printed("2.5\n")], "warning\nloss 12.5\n"),
        ([printed("loss 1"), printed("warning", "stderr")], "loss 1\nwarning\n"),
        # a bar: its drawings that are complete come before what the other stream prints
        (
            [printed("\r10%", "stderr"), printed("\r20%", "stderr"), printed("a\n"), printed("\r30%\n", "stderr")],
            "\r10%\r\na\n20%\r30%\n",
        ),
        ([printed("\r10%", "stderr"), printed("a\n"), printed("\r20%", "stderr"), printed("b\n")], "a\n10%\r\nb\n20%\n"),
        ([printed("a"), shown(plain="shown"), printed("b\n")], "shown\nab\n"),
        ([printed("\r10%\r20%", "stderr"), shown(plain="x"), printed("\r30%", "stderr")], "\r10%\r\nx\n20%\r30%\n"),
        # what has a text, and what has none
        ([shown(plain=["   step  loss\n", "0     1   2.5"], html="<table>…</table>")], "   step  loss\n0     1   2.5\n"),
        ([shown(plain="<IPython.core.display.HTML object>", html="<b>step</b> 5")], "step 5\n"),
        ([shown(plain="<div>step 5</div>", html="<div>step 5</div>")], "step 5\n"),  # fastprogress 1.1
        ([shown(html=["<p>step\n", "5</p>"])], "step 5\n"),
        ([shown(plain="<Figure size 640x480 with 1 Axes>")], "<Figure size 640x480 with 1 Axes>\n"),
        ([{"output_type": "error", "ename": "KeyError", "evalue": "'x'", "traceback": ["\x1b[31m1/0"]}], "KeyError: 'x'\n"),
        ([{"output_type": "display_data", "data": {"image/png": "iVBO", "application/x+json": {"a": [1]}}}], ""),
        ([{"output_type": "update_display_data"}, {}], ""),
    ],
)  # fmt: skip
def test_outputs(outputs: list[dict[str, Any]], expected: str) -> None:
    assert text(notebook(outputs)) == expected


def test_a_lines_cell() -> None:
    """Cells without output count too, and a form feed that a program prints on its line is none."""
    data = notebook([], [printed("a\nb\n")], [printed("\f c\n")], [], [], [printed("d")], [])
    stream = text_of_notebook(Stream(io.BytesIO(data).read))
    given = b"".join(iter(lambda: stream.read(1000), b""))
    assert given == b"\f\f\na\nb\n\f\n\f c\n\f\f\f\nd\n\f\n"
    lines = given.decode().split("\n")
    wanted = [lines.index(each) + 1 for each in ("a", "b", "\f c", "d")]
    assert cells_of_lines([given[:5], given[5:]], wanted) == [2, 2, 3, 6]


def test_what_was_collected_in_a_notebook_is_unwrapped(tmp_path: Path) -> None:
    """`!srun --label …`: the tags of ranks before each line, of which the second one's stay in perflog's own form."""
    lines = "".join(f"{rank}: step {n} loss {n}.5\n" for n in range(50) for rank in range(2))
    (tmp_path / "a.ipynb").write_bytes(notebook([], [printed(lines)]))
    (log,) = find_logs([tmp_path])
    assert read(log).splitlines()[1:3] == [b"step 0 loss 0.5", b"[1,1]<stdout>:step 0 loss 0.5"]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # transformers 4.0 to 4.57: while it goes on, and before its second step
        (
            "\n    <div>\n      \n      <progress value='75' max='500' style='width:300px;'></progress>\n      "
            "[ 75/500 00:12 < 01:10, 6.07 it/s, Epoch 0.45/3]\n    </div>\n    ",
            "[ 75/500 00:12 < 01:10, 6.07 it/s, Epoch 0.45/3]",
        ),
        ("<div><progress></progress>[  2/500 : < :, Epoch 0.01/3]</div>", "[ 2/500 : < :, Epoch 0.01/3]"),
        (
            '<table border="1" class="dataframe">\n  <thead>\n <tr style="text-align: left;">\n      <th>Epoch</th>\n      '
            "<th>Training Loss</th>\n      <th>Validation Loss</th>\n    </tr>\n  </thead>\n  <tbody>\n    <tr>\n      "
            "<td>1</td>\n      <td>No log</td>\n      <td>0.412000</td>\n    </tr>\n  </tbody>\n</table><p>",
            "Epoch: 1, Training Loss: No log, Validation Loss: 0.412000",
        ),
        # fastprogress 1.0: a style before each bar
        (
            "\n<style>\n    /* <b>Turns off</b> some styling */\n    progress { border: none; }\n</style>\n\n    <div>\n      "
            "<progress value='23' class='' max='100' style='width:300px;'></progress>\n      "
            "23.00% [23/100 00:05&lt;00:17 0.6931]\n    </div>\n    ",
            "23.00% [23/100 00:05<00:17 0.6931]",
        ),
        ("<div><p>Total time: 00:13</p>epoch 1<p>epoch 2<p></div>", "Total time: 00:13\nepoch 1\nepoch 2"),
        ("<pre>a  b\n  c\n</pre>d  e", "a  b\n  c\nd e"),  # rich
        ("<tr><th></th><th>loss</th></tr><tr><th>0</th><td>2.5</td></tr>", "0, loss: 2.5"),  # a styled frame of pandas
        ("<table><tr><td>loss</td><td>2.5<br>3</td></tr></table>", "loss, 2.5 3"),
        ("<tr><th>a</th><th>b</th></tr><table><tr><td>1</td><td>2</td></tr></table>", "1, 2"),  # another table's names
        ("<script>step 1</script><!-- step 2 > --><svg><text>step 3</text></svg><p>step 4", "step 4"),
        ("<STYLE>step 1", ""),
        ("1 < 2 and 3&nbsp;&gt;&#32;2 <3", "1 < 2 and 3 > 2 <3"),
        ("<td>1</td></tr></table></pre><p", "1\n<p"),
    ],
)  # fmt: skip
def test_html(html: str, expected: str) -> None:
    assert text_of_html(html) == expected


@pytest.mark.parametrize("part", ["<a", "<!--", "<script>", "<tr><td>", "&amp", "<pre>", "</td>", "<table>", "a b  "])
def test_html_is_read_in_linear_time(part: str) -> None:
    """Of each of these, a megabyte; a look at the rest for each would take hours."""
    text_of_html(part * ((1 << 20) // len(part)))


def test_a_long_name_of_a_column_is_not_repeated_on_each_row() -> None:
    html = f"<tr><th>{'a' * 1000}</th></tr>" + "<tr><td>1</td></tr>" * 1000
    assert text_of_html(html) == "\n".join("1" * 1000)


# ----------------------------------------------------------------------------------------------------
# Widgets.

LEFT, RIGHT = "Epoch\u20071:\u2007\u200742%", "\u200742/100\u2007[00:05&lt;00:07,\u2007\u20078.13it/s]"


def models(**of: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {name: {"model_name": model, "state": state} for name, (model, state) in of.items()}


BAR = models(
    a=("HBoxModel", {"children": ["IPY_MODEL_b", "IPY_MODEL_c", "IPY_MODEL_d"]}), b=("HTMLModel", {"value": LEFT}),
    c=("FloatProgressModel", {"value": 42.0, "max": 100.0}), d=("HTMLModel", {"value": RIGHT}),
)  # fmt: skip
DRAWN = "Epoch 1:  42%|████      | 42/100 [00:05<00:07,  8.13it/s]\n"


def viewed(*names: str) -> list[dict[str, Any]]:
    return [shown(plain="  0%|          | 0/100 [00:00<?, ?it/s]", view={"model_id": name}) for name in names]


@pytest.mark.parametrize(
    "widgets",
    [{"application/vnd.jupyter.widget-state+json": {"version_major": 2, "version_minor": 0, "state": BAR}}, BAR],
    ids=["jupyter", "colab"],
)
def test_a_bars_last_state_is_read(widgets: dict[str, Any]) -> None:
    assert text(notebook([*viewed("a"), printed("x\n")], metadata={"widgets": widgets})) == DRAWN + "x\n"


def test_a_bar_whose_state_was_not_kept_is_what_was_shown_first() -> None:
    assert text(notebook(viewed("a"))) == "  0%|          | 0/100 [00:00<?, ?it/s]\n"


@pytest.mark.parametrize(
    ("widgets", "expected"),
    [
        (models(a=("VBoxModel", {"children": ["IPY_MODEL_b", "IPY_MODEL_c"]}), b=("LabelModel", {"value": "x"}), c=("HTMLModel", {"value": "<p>y</p>z"})), "x\ny\nz\n"),
        (models(a=("HBoxModel", {"children": ["IPY_MODEL_b", "IPY_MODEL_c", "IPY_MODEL_d"]}), b=("HTMLModel", {}), c=("IntProgressModel", {"value": 1, "max": 1}), d=("HTMLModel", {"value": "40/?"})), "40/?\n"),
        (models(a=("OutputModel", {"outputs": [printed("in\nit"), {"output_type": 5}, 7]})), "in\nit\n"),
        (models(a=("HBoxModel", {"children": ["IPY_MODEL_a", "IPY_MODEL_a"]})), ""),  # one that holds itself
        (models(a=("ButtonModel", {"description": "run"})), ""),
        ({"a": 5}, ""), ({"a": {"model_name": "HTMLModel"}}, ""), (models(a=("HBoxModel", {"children": 5})), ""),
        *((models(a=("FloatProgressModel", {"value": value, "max": most})), "") for value, most in (("x", 1), (0, 0), (1, 10**400), (1.5, 10**30), (2, 1))),
        (models(a=("FloatProgressModel", {"value": 3, "max": 10})), "███       \n"),
    ],
)  # fmt: skip
def test_widgets(widgets: dict[str, Any], expected: str) -> None:
    assert text(notebook(viewed("a"), metadata={"widgets": widgets})) == expected


def test_widgets_in_one_another_are_given_once() -> None:
    """Five levels of 30 in each: 24 million texts."""
    names = "abcdef"
    boxes = {name: ("HBoxModel", {"children": [f"IPY_MODEL_{below}"] * 30}) for name, below in pairwise(names)}
    given = text(notebook(viewed("a"), metadata={"widgets": models(**boxes, f=("HTMLModel", {"value": "x"}))}))
    assert given == "x\n"


def test_widgets_that_collected_each_other() -> None:
    """Deeper than Python's stack: those inside are left out."""
    state = {f"w{n}": ("OutputModel", {"outputs": [printed(f"{n}\n"), *viewed(f"w{n + 1}")]}) for n in range(5000)}
    assert text(notebook(viewed("w0"), metadata={"widgets": models(**state)})) == "0\n1\n2\n3\n4\n5\n"


def test_what_a_widget_collected_is_given_once() -> None:
    state = models(a=("OutputModel", {"outputs": [printed("step 1\n")]}))
    assert text(notebook(viewed("a", "a", "a"), viewed("a"), metadata={"widgets": state})) == "step 1\n"


# ----------------------------------------------------------------------------------------------------
# What is no notebook, or a damaged one.

GOOD = LOOP.read_bytes()
EXPECTED = "a damaged notebook, or none: expected JSON with a list of cells, found "


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (GOOD[:5000], EXPECTED + "a file that ends too early"),
        (GOOD.rstrip()[:-1], EXPECTED + "a file that ends too early"),
        (GOOD.replace(b'"outputs": [', b'"outputs" [', 1), EXPECTED + r"what is no JSON: JSON is malformed: .*\(byte [0-9]+\)"),
        (b'{"a": 1, "b": 2, "c": 3, "d": 4}', "no notebook: expected JSON with a list of cells, found the keys 'a', 'b', 'c', …"),
        (b"{}", "no notebook: expected JSON with a list of cells, found the keys none"),
        (b"[1, 2]", "no notebook: Expected `object`, got `array`"),
        (b'{"cells": {"a": 1}}', "no notebook: Expected `array`, got `object` - at `$.cells`"),
        (b'{"cells": [{"outputs": [{"text": 5}]}]}', "no notebook: Expected `str | array`, got `int` - at `$.cells[0].outputs[0].text`"),
        (b"epoch 1 loss 2.5\n", EXPECTED + "what begins with 'epoch 1 loss 2.5\\n'"),
        (b"\x89PNG\r\n", EXPECTED + "what begins with '�PNG\\r\\n'"),
        (b'{"metadata": {}, "nbformat": 3, "worksheets": [{"cells": []}]}', "a notebook of format 3 or older, which is not read: `jupyter nbconvert --to notebook` writes it in today's"),
        (b'{"cells": ' + b"[" * 100_000, "no notebook: Expected `object`, got `array` - at `$.cells[0]`"),
        (b'{"metadata": {"widgets": ' + b"[" * 100_000, EXPECTED + "what is no JSON: maximum recursion depth exceeded.*"),
        (notebook([], []), NO_OUTPUT),
        (notebook(), NO_OUTPUT),
        (notebook([shown(plain=" ")]), NO_OUTPUT),
        (b"", "empty file"),
        (b" \n\n", "nothing but blanks or NUL bytes"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_a_damaged_notebook_is_its_own_fault(data: bytes, reason: str, packed: bool, tmp_path: Path) -> None:
    """The reason names what was expected and what was found; the notebook beside it has its number."""
    if packed:
        (tmp_path / "all.zip").write_bytes(zipped([("good.ipynb", GOOD), ("bad.ipynb", data)]))
    else:
        (tmp_path / "good.ipynb").write_bytes(GOOD)
        (tmp_path / "bad.ipynb").write_bytes(data)
    extraction = extracted(tmp_path)
    (left_out,) = extraction.skipped
    assert re.fullmatch(re.escape(reason) if "*" not in reason else reason, left_out.reason), left_out.reason
    assert [run.throughput.value is not None for run in extraction.runs] == [True]
    assert left_out.failed == (reason not in (NO_OUTPUT, "empty file", "nothing but blanks or NUL bytes"))


def test_bytes_that_are_no_text_are_lost_alone() -> None:
    assert text(notebook([printed("caf? 5\n12? 6\n")]).replace(b"?", b"\xe9")) == "caf\ufffd 5\n\ufffd\ufffd\ufffd 6\n"


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        (b'{"cells": [{"cell_type": "code"', "a.log", True),
        (b'{\n "cells": [],', "a.log", True),
        (b'{"nbformat": 4, "nbformat_minor": 0,', "a", True),
        (b'{"metadata":{"kernelspec":{"language":"python"', "a", True),
        (b'{"metadata": {"run": 1}, "step": 5}\n', "a.jsonl", False),
        (b'{"cells": [1, 2], "step": 5}\n', "a.jsonl", False),
        (b'{"cells": [{"step": 5}]}\n', "a.jsonl", False),
        (b'{"step": 5}\n', "a.ipynb", True),
        (b"\n", "a.ipynb", False),
    ],
)  # fmt: skip
def test_what_is_read_as_a_notebook(head: bytes, name: str, expected: bool) -> None:
    assert is_notebook(head, name) is expected


def test_a_notebook_may_have_so_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in memory at once: a limit ends the reading, and says how to raise it."""
    big = notebook([printed("x" * (1 << 20))], [printed("step 1\n")])
    (tmp_path / "a.ipynb").write_bytes(big)
    (tmp_path / "b.ipynb.gz").write_bytes(gzip.compress(big))
    (tmp_path / "good.ipynb").write_bytes(GOOD)
    monkeypatch.setenv(NOTEBOOK, "1")
    extraction = extracted(tmp_path)
    assert {left_out.reason for left_out in extraction.skipped} == {
        "the notebook has more than 1 MiB, which would be in memory at once: it is not read. To have it read, set "
        "PERFLOG_NOTEBOOK_MIB=10"
    }
    assert len(extraction.runs) == 1
    monkeypatch.setenv(NOTEBOOK, "2")
    assert {left_out.reason.split(" (")[0] for left_out in extracted(tmp_path / "a.ipynb").skipped} == {
        "no line of a known format"
    }
    monkeypatch.setenv(NOTEBOOK, "many")
    with pytest.raises(
        UsageError, match="PERFLOG_NOTEBOOK_MIB='many': expected a whole number above zero, such as 128"
    ):
        perflog.extract(tmp_path)


def test_a_notebook_of_very_many_values_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cell takes memory, however few bytes it has; commas in texts are none of them."""
    monkeypatch.setattr(notebooks, "_VALUES", 1000)
    assert text(notebook([printed("1,2,3\n" * 1000)])) == "1,2,3\n" * 1000
    with pytest.raises(LimitError, match="the notebook holds more than 1,000 values, which no notebook does"):
        text(b'{"cells": [' + b"{}," * 1100 + b"{}]}")


def test_damage_is_raised_by_each_read() -> None:
    stream = text_of_notebook(Stream(io.BytesIO(GOOD[:500]).read))
    assert stream.peek(100) == b""
    for _ in range(2):
        with pytest.raises(UnreadableError, match="ends too early"):
            stream.read(100)
