# SPDX-License-Identifier: BSD-3-Clause
"""Where runs are done: by a Dask worker in this process, under a scheduler elsewhere, or as jobs of Slurm."""
from __future__ import annotations

import importlib
import socket
from typing import Any, Protocol

from . import work
from .errors import WeftlabError
from .needs import advice

CONNECT_S = 10.0  # a scheduler answers within
IDLE = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}  # no sampling of threads
# that wait: a twentieth of a core


def distributed() -> Any:
    """The package, which only sweeps need."""
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise WeftlabError(f"sweeps need Dask: {advice(['distributed'])}") from error


def send_code_of_work(sent: bool) -> None:
    """Whether workers get module `work` with their tasks: those elsewhere need not have weftlab; one in this process
    shares the list of the runs that are under way."""
    cloudpickle = importlib.import_module("cloudpickle")
    if sent:
        cloudpickle.register_pickle_by_value(work)
    elif work.__name__ in cloudpickle.list_registry_pickle_by_value():
        cloudpickle.unregister_pickle_by_value(work)


class Cluster(Protocol):
    """Workers behind a Dask client."""

    client: Any  # distributed.Client
    perform: Any  # what its workers are given, a function from work.Task to work.Outcome
    sweep: str  # of work.SWEEPS; empty: its runs end with the workers

    def close(self) -> None:
        """Ends what was started for this sweep."""


class LocalCluster:
    """A worker in this process with a thread for each run at a time: the runs are processes of their own, and Python
    has nothing to do but to wait for them."""

    def __init__(self, jobs: int) -> None:
        package = distributed()
        send_code_of_work(False)
        self.perform: Any = work.perform_here
        self.sweep = work.begin()
        with importlib.import_module("dask").config.set(IDLE):
            self.cluster = package.LocalCluster(n_workers=1, threads_per_worker=jobs, processes=False, memory_limit=0,
                                                dashboard_address="127.0.0.1:0", silence_logs="ERROR")
        self.client = package.Client(self.cluster, set_as_default=False)

    def close(self) -> None:
        work.stop(self.sweep)
        self.client.close()
        self.cluster.close()


class RemoteCluster:
    """Workers of a scheduler that runs already. They see the same file system and the same executable."""

    sweep = ""

    def __init__(self, address: str) -> None:
        try:
            probe(address)
            send_code_of_work(True)
            self.perform: Any = work.perform
            self.client = distributed().Client(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise WeftlabError(f"scheduler {address}: {error}") from error

    def close(self) -> None:
        self.client.close()


class SlurmCluster:
    """Jobs of Slurm, one run at a time each. Queue, project and memory come from dask-jobqueue's configuration."""

    sweep = ""

    def __init__(self, jobs: int) -> None:
        try:
            from dask_jobqueue import SLURMCluster
        except ImportError as error:
            raise WeftlabError("scheduler slurm: needs dask-jobqueue (pip install dask-jobqueue)") from error
        send_code_of_work(True)
        self.perform: Any = work.perform
        self.cluster = SLURMCluster(cores=1, processes=1)
        self.cluster.adapt(minimum_jobs=0, maximum_jobs=jobs)
        self.client = distributed().Client(self.cluster, set_as_default=False)

    def close(self) -> None:
        self.client.close()
        self.cluster.close()


def probe(address: str) -> None:
    """OSError or ValueError unless somebody listens at HOST:PORT or tcp://HOST:PORT. A client would try for long."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not colon or not port.isdecimal():
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
