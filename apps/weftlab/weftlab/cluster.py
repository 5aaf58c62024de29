# SPDX-License-Identifier: BSD-3-Clause
"""Where runs are done: Dask workers on this machine, under a scheduler elsewhere, or as jobs of Slurm."""
from __future__ import annotations

import importlib
import os
import shutil
import socket
import subprocess
import sys
from typing import Any, Protocol

from . import work
from .errors import WeftlabError

CONNECT_S = 10.0  # a scheduler answers within


def distributed() -> Any:
    """The package, which only sweeps need."""
    try:
        cloudpickle = importlib.import_module("cloudpickle")
        package = importlib.import_module("distributed")
    except ImportError as error:
        raise WeftlabError("sweeps need Dask (apt install python3-distributed)") from error
    cloudpickle.register_pickle_by_value(work)  # so that workers need not have weftlab
    return package


class Cluster(Protocol):
    """Workers behind a Dask client."""

    client: Any  # distributed.Client

    def mend(self) -> None:
        """Replaces workers that are gone, where that is ours to do."""

    def close(self) -> None:
        """Ends what was started for this sweep."""


class LocalCluster:
    """Worker processes on this machine. They are started anew when they die, and end with this process."""

    def __init__(self, jobs: int) -> None:
        self.scheduler = distributed().LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0",
                                                    host="tcp://127.0.0.1", silence_logs="ERROR")
        self.client = distributed().Client(self.scheduler, set_as_default=False)
        self.workers = [self._start() for _ in range(jobs)]

    def _start(self) -> subprocess.Popen[bytes]:
        guard = shutil.which("setpriv")
        command = [guard, "--pdeathsig", "KILL", "--"] if guard else []
        command += [sys.executable, "-m", "distributed.cli.dask_worker", self.scheduler.scheduler_address, "--no-nanny",
                    "--nthreads", "1", "--memory-limit", "0", "--no-dashboard", "--host", "127.0.0.1"]
        environment = {**os.environ, "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "error"}
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env=environment, start_new_session=True)

    def mend(self) -> None:
        for i, worker in enumerate(self.workers):
            if worker.poll() is not None:
                self.workers[i] = self._start()

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
        for worker in self.workers:
            worker.wait()
        self.client.close()
        self.scheduler.close()


class RemoteCluster:
    """Workers of a scheduler that runs already. They see the same file system and the same executable."""

    def __init__(self, address: str) -> None:
        try:
            probe(address)
            self.client = distributed().Client(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise WeftlabError(f"scheduler {address}: {error}") from error

    def mend(self) -> None:
        """Its own keeper does that."""

    def close(self) -> None:
        self.client.close()


class SlurmCluster:
    """Jobs of Slurm, one run at a time each. Queue, project and memory come from dask-jobqueue's configuration."""

    def __init__(self, jobs: int) -> None:
        try:
            from dask_jobqueue import SLURMCluster
        except ImportError as error:
            raise WeftlabError("scheduler slurm: needs dask-jobqueue (pip install dask-jobqueue)") from error
        self.cluster = SLURMCluster(cores=1, processes=1)
        self.cluster.adapt(minimum_jobs=0, maximum_jobs=jobs)
        self.client = distributed().Client(self.cluster, set_as_default=False)

    def mend(self) -> None:
        """Adaptive scaling does that."""

    def close(self) -> None:
        self.client.close()
        self.cluster.close()


def probe(address: str) -> None:
    """OSError or ValueError unless somebody listens at HOST:PORT or tcp://HOST:PORT. A client would try for long."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not colon or not port.isdigit():
        raise ValueError("an address is tcp://HOST:PORT")
    socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()


def connect(scheduler: str | None, jobs: int) -> Cluster:
    """Workers for a sweep: `jobs` on this machine (None), up to as many jobs of Slurm ("slurm"), or those of the
    scheduler at an address such as tcp://10.0.0.1:8786."""
    if scheduler is None:
        return LocalCluster(jobs)
    if scheduler == "slurm":
        return SlurmCluster(jobs)
    return RemoteCluster(scheduler)
