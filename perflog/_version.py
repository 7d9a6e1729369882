"""perflog's version, read by the build too, and when this process loaded perflog."""

import time

__version__ = "0.1.0"
#: In nanoseconds since 1970: a module of perflog's that was changed later may be another than the one that runs.
LOADED_AT = time.time_ns()
