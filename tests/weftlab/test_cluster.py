# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps on workers that die, on those of a scheduler elsewhere, and on none."""
from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import weftlab
from conftest import Write
from weftlab.cluster import LocalCluster

# Runs of about half a second each.
BUSY = """topology: leafspine:4:4:8
matrix: permutation:32:8MiB
seeds: 4
"""


class Killer(threading.Thread):
    """Kills the worker that is first seen at work. Unfinished directories end with host, process and time."""

    def __init__(self, runs: Path) -> None:
        super().__init__(daemon=True)
        self.runs = runs
        self.killed = 0

    def run(self) -> None:
        while not self.killed:
            for name in os.listdir(self.runs) if self.runs.is_dir() else []:
                if name.startswith(".") and name.count(".") >= 4:
                    self.killed = int(name.split(".")[-2])
                    os.kill(self.killed, signal.SIGKILL)
                    return
            time.sleep(0.005)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["workers of the sweep", "workers of a cluster"])
def test_a_lost_worker_is_made_up_for(elsewhere: bool, write: Write, tmp_path: Path) -> None:
    """Of two workers one is killed during a run: another does it again, and the results are all there. A sweep's own
    workers are replaced; those of a cluster (here: of two workers) that others keep are not."""
    cluster = LocalCluster(2) if elsewhere else None
    address = cluster.scheduler.scheduler_address if cluster else None
    killer = Killer(tmp_path / "out" / "runs")
    killer.start()
    try:
        runs = weftlab.run(write(BUSY), jobs=2, out=tmp_path / "out", scheduler=address, quiet=True)
    finally:
        if cluster:
            cluster.close()
    assert killer.killed
    assert list(runs["status"]) == ["done"] * 4
    assert sorted(os.listdir(tmp_path / "out" / "runs")) == ["0000", "0001", "0002", "0003"]
    assert runs["digest"].nunique() == 4


def test_an_unreachable_scheduler_is_named(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(weftlab.WeftlabError, match="scheduler nonsense"):
        weftlab.run(write("topology: star:4\n"), out=tmp_path / "out", scheduler="nonsense", quiet=True)
    modules: dict[str, Any] = sys.modules  # None stands for a module that is missing
    monkeypatch.setitem(modules, "dask_jobqueue", None)
    with pytest.raises(weftlab.WeftlabError, match="needs dask-jobqueue"):
        weftlab.run(write("topology: star:4\n"), out=tmp_path / "out", scheduler="slurm", quiet=True)
