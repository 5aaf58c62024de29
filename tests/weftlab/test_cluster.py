# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps whose workers or runs die, on this machine, on a cluster of two workers, and on none."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Iterator

import distributed
import pytest

import weftlab
from conftest import Write

# Runs of about half a second each.
BUSY = """topology: leafspine:4:4:8
matrix: permutation:32:8MiB
seeds: 4
"""


class RunKiller(threading.Thread):
    """Kills the first `weft sim` process that writes into a directory."""

    def __init__(self, runs: Path) -> None:
        super().__init__(daemon=True)
        self.runs = str(runs)

    def run(self) -> None:
        while True:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    command = Path("/proc", pid, "cmdline").read_bytes().decode(errors="replace")
                except OSError:
                    continue
                if f"--out={self.runs}" in command and "\0sim\0" in command:
                    os.kill(int(pid), signal.SIGKILL)
                    return
            time.sleep(0.005)


def test_a_sweep_that_ends_leaves_the_runs_of_another_alone(write: Write, tmp_path: Path) -> None:
    """Two in one process."""
    long = tmp_path / "long.yaml"
    long.write_text(BUSY.replace("8MiB", "96MiB").replace("seeds: 4", "seeds: 2"))
    found: list[weftlab.Runs] = []
    other = threading.Thread(target=lambda: found.append(weftlab.run(long, jobs=2, out=tmp_path / "long", quiet=True)))
    other.start()
    unfinished: list[str] = []
    while not unfinished:
        time.sleep(0.01)
        unfinished = [path.name for path in (tmp_path / "long").glob("runs/.*") if path.name != ".try"]
    path = write("topology: star:4\nmatrix: permutation:4:16KiB\n")
    runs = weftlab.run(path, jobs=1, out=tmp_path / "short", quiet=True)
    assert other.is_alive(), "nothing is tested"
    other.join()
    assert list(runs["status"]) == ["done"] and list(found[0]["status"]) == ["done", "done"], list(found[0]["error"])


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


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A scheduler and two workers in processes of their own, which nobody replaces."""
    with distributed.LocalCluster(n_workers=0,  # type: ignore[no-untyped-call]
                                  processes=False, dashboard_address="127.0.0.1:0", host="tcp://127.0.0.1",
                                  silence_logs="ERROR") as scheduler:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler.scheduler_address, "--no-nanny",
                   "--nthreads", "1", "--memory-limit", "0", "--no-dashboard", "--host", "127.0.0.1"]
        workers = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
        yield scheduler
        for worker in workers:
            worker.kill()
            worker.wait()


def test_a_lost_worker_is_made_up_for(cluster: Any, write: Write, tmp_path: Path) -> None:
    """Of two workers one is killed during a run: the other does it again, and the results are all there."""
    killer = Killer(tmp_path / "out" / "runs")
    killer.start()
    runs = weftlab.run(write(BUSY), out=tmp_path / "out", scheduler=cluster.scheduler_address, quiet=True)
    assert killer.killed
    assert list(runs["status"]) == ["done"] * 4
    assert sorted(os.listdir(tmp_path / "out" / "runs")) == ["0000", "0001", "0002", "0003"]
    assert runs["digest"].nunique() == 4


def test_a_killed_run_is_a_failed_one(write: Write, tmp_path: Path) -> None:
    """On this machine, where runs are processes of their own: the others go on."""
    text = write("topology: star:64\nsweep: {matrix: ['alltoall:64:64MiB', 'permutation:64:16KiB']}\n")
    victim = RunKiller(tmp_path / "out" / "runs")
    victim.start()
    runs = weftlab.run(text, jobs=1, out=tmp_path / "out", quiet=True)
    assert list(runs["status"]) == ["failed", "done"]
    assert "killed by signal 9" in runs["error"][0]


def test_an_unreachable_scheduler_is_named(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(weftlab.WeftlabError, match="scheduler nonsense"):
        weftlab.run(write("topology: star:4\n"), out=tmp_path / "out", scheduler="nonsense", quiet=True)
    modules: dict[str, Any] = sys.modules  # None stands for a module that is missing
    monkeypatch.setitem(modules, "dask_jobqueue", None)
    with pytest.raises(weftlab.WeftlabError, match="needs dask-jobqueue"):
        weftlab.run(write("topology: star:4\n"), out=tmp_path / "out", scheduler="slurm", quiet=True)
