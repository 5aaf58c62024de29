# SPDX-License-Identifier: BSD-3-Clause
"""Stops a process for as long as a test wants."""
from __future__ import annotations

import pathlib
import signal
import subprocess
import time


def is_stopped(task: pathlib.Path) -> bool:
    try:
        return "\nState:\tT" in (task / "status").read_text()
    except FileNotFoundError:  # a thread that has ended
        return True


def stop(process: subprocess.Popen[str], limit_s: float = 30) -> None:
    """Returns when all threads are stopped: the signal is under way until then, and what makes progress in the background
    may answer a peer."""
    process.send_signal(signal.SIGSTOP)
    deadline = time.monotonic() + limit_s
    tasks = pathlib.Path(f"/proc/{process.pid}/task")
    while not all(map(is_stopped, tasks.iterdir())):
        assert time.monotonic() < deadline, f"process {process.pid} does not stop"
        time.sleep(0.001)
