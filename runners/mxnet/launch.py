"""MXNet's own launcher (tools/launch.py in its wheel), which asks threads for ``isAlive``, gone since Python 3.9."""

from __future__ import annotations

import runpy
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

threading.Thread.isAlive = threading.Thread.is_alive
tools = Path(find_spec("mxnet").origin).parent / "tools"
sys.path.insert(0, str(tools))
sys.argv[0] = str(tools / "launch.py")
runpy.run_path(sys.argv[0], run_name="__main__")
