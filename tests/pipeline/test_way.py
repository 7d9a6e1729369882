"""How much code one log passes: a count, which no other work on the machine moves."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType

import pytest

import perflog
from perflog.extraction import extract_paths
from perflog.matching.library import available
from perflog.settings.options import Options
from tests.support import FIXTURES, catalog

#: So many functions of perflog, in so many modules, a log of twenty lines passes on its way to a case. To be lowered
#: where it becomes less.
FUNCTIONS, MODULES = 510, 74

LOG = FIXTURES / "parsers/paddleclas/dygraph_2021_01.log"
ROOT = f"{Path(perflog.__file__).parent}/"


def functions_passed(log: Path) -> set[CodeType]:
    """The functions of perflog that are called to extract from a log; comprehensions and lambdas are their function's."""
    called: set[CodeType] = set()

    def see(frame: FrameType, event: str, _what: object) -> None:
        if event == "call":
            called.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        (case,) = extract_paths([log], Options(), catalog()).cases
    finally:
        sys.setprofile(before)
    assert case.throughput.value is not None
    return {code for code in called if code.co_filename.startswith(ROOT) and not code.co_name.startswith("<")}


@pytest.mark.skipif(bool(available()), reason="counts the way through the compiled engine")
def test_a_short_log_passes_few_functions(tmp_path: Path) -> None:
    with LOG.open() as lines:
        text = "".join(islice(lines, 20))
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text(text)
    functions_passed(tmp_path / "first/train.log")  # what is made once for all logs: the engine, regexes, modules
    passed = functions_passed(tmp_path / "second/train.log")
    modules = Counter(code.co_filename.removeprefix(ROOT) for code in passed)
    assert 100 < len(passed) <= FUNCTIONS and len(modules) <= MODULES, (
        len(passed),
        len(modules),
        modules.most_common(),
    )
