"""One node's part of an MXNet job on several nodes: its workers, and on the first node the scheduler and the server.

    python node.py NODE NODES PER_NODE MASTER PORT train.py …

MXNet's own launcher reaches the nodes by ssh itself, needs a default route, and tells no worker which GPU of
its node is its own; these are the variables that it would set.
"""

from __future__ import annotations

import os
import subprocess
import sys


def main() -> None:
    node, nodes, per_node = map(int, sys.argv[1:4])
    common = {
        "DMLC_PS_ROOT_URI": sys.argv[4],
        "DMLC_PS_ROOT_PORT": sys.argv[5],
        "DMLC_NUM_WORKER": str(nodes * per_node),
        "DMLC_NUM_SERVER": "1",
    }
    command = [sys.executable, *sys.argv[6:]]
    helpers = ["scheduler", "server"] if node == 0 else []
    started = [
        subprocess.Popen([sys.executable, "-c", "import mxnet"], env={**os.environ, **common, "DMLC_ROLE": role})
        for role in helpers
    ]
    workers = [
        subprocess.Popen(command, env={**os.environ, **common, "DMLC_ROLE": "worker", "LOCAL_RANK": str(local), "RANK": str(node * per_node + local)})
        for local in range(per_node)
    ]  # fmt: skip
    failed = [worker.wait() for worker in workers]
    if any(failed):
        for helper in started:
            helper.kill()
    sys.exit(max(failed, key=abs))


if __name__ == "__main__":
    main()
