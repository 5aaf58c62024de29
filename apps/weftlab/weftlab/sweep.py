# SPDX-License-Identifier: BSD-3-Clause
"""All runs of a scenario over Dask workers. Results lie in a directory; a sweep that was stopped goes on from there."""
from __future__ import annotations

import os
import queue
import uuid
from dataclasses import replace
from typing import Any, Collection, Mapping, Sequence, cast

from . import binary as binary_module
from . import cluster as cluster_module
from . import reader, results, table, work
from .binary import Binary
from .directory import FAILED, WAITING, State, SweepDirectory, origin_of, remove
from .errors import StoppedError, UnwritableError
from .plan import Planned, plan
from .progress import Progress
from .results import Runs
from .scenario import Scenario

BLINK_S = 0.2  # between two states of the bar

Ended = queue.SimpleQueue[tuple[State, work.Outcome]]


def run(path: str | os.PathLike[str], jobs: int | None = None, out: str | os.PathLike[str] | None = None,
        resume: bool = True, scheduler: str | None = None, options: Mapping[str, object] | None = None,
        binary: str | os.PathLike[str] | None = None, any_build: bool = False, quiet: bool = False) -> Runs:
    """Runs what a scenario file describes and returns a DataFrame with a row per run.

    jobs: runs at the same time; default: one per core. out: directory of the results; default: as the file says.
    resume: use results that are there already. scheduler: None for this machine, "slurm", or the address of a Dask
    scheduler. options: win over the file, {"seed": 3, "set": {"ack_every": 1}, "faults": [...]}. binary: the weft
    executable. any_build: results of other builds are used, too. quiet: nothing on standard error.

    Failed runs are no exception: column `status` tells them, `error` why. Ctrl-C stops the sweep; complete results
    stay, and the same call goes on."""
    weft = binary_module.find(binary)
    return run_pairs(path, given(options or {}, weft.repeatable), weft, jobs=jobs, out=out, fresh=not resume,
                     scheduler=scheduler, any_build=any_build, quiet=quiet)


def run_pairs(path: str | os.PathLike[str], pairs: Sequence[tuple[str, str]], weft: Binary, *, jobs: int | None,
              out: str | os.PathLike[str] | None, fresh: bool, scheduler: str | None, any_build: bool,
              quiet: bool) -> Runs:
    """run() with options as (name, value) pairs."""
    scenario = reader.load(path, weft).override(pairs)
    scenario = replace(scenario, out=os.fspath(out) if out else scenario.out)
    return run_plan(scenario, plan(scenario, weft), weft, jobs=jobs, fresh=fresh, scheduler=scheduler,
                    any_build=any_build, quiet=quiet)


def run_plan(scenario: Scenario, planned: Sequence[Planned], weft: Binary, *, jobs: int | None, fresh: bool = False,
             scheduler: str | None = None, any_build: bool = False, quiet: bool = False) -> Runs:
    """run() of a scenario whose runs are checked."""
    directory = SweepDirectory(scenario.out, planned, any_build)
    directory.open(fresh)
    try:
        directory.write_summary(scenario)  # a sweep that is killed leaves no labels of other runs
        work_off(directory, weft, scenario, jobs or os.cpu_count() or 1, scheduler, quiet)
    finally:
        try:
            runs = write_down(directory, scenario)
        finally:
            directory.close()
    return runs


def given(options: Mapping[str, object], repeatable: Collection[str]) -> list[tuple[str, str]]:
    """Options as (name, value) pairs of the command line."""
    pairs: list[tuple[str, str]] = []
    for name, value in options.items():
        if name == "set" and isinstance(value, Mapping):
            pairs += [("set", f"{key}={text_of(number)}") for key, number in value.items()]
        elif (name == "faults" or name in repeatable) and isinstance(value, (list, tuple)):
            pairs += [("fault" if name == "faults" else name, str(entry)) for entry in value]
        else:
            pairs.append((name, text_of(value)))
    return pairs


def text_of(value: object) -> str:
    """A value as the command line has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def work_off(directory: SweepDirectory, weft: Binary, scenario: Scenario, jobs: int, scheduler: str | None,
             quiet: bool) -> None:
    """Runs all that has no result yet. StoppedError as soon as something can't be written, or weft is another build."""
    waiting = [state for state in directory.states if not state.known]
    progress = Progress(directory.states, jobs, quiet)
    if not waiting:
        return
    cluster = cluster_module.connect(scheduler, min(jobs, len(waiting)))
    ended: Ended = queue.SimpleQueue()
    try:
        tasks = [task_of(state, scenario, weft, directory, cluster.sweep) for state in waiting]
        futures = [submit(cluster, task, state, ended) for task, state in zip(tasks, waiting)]
        for _ in futures:
            state, outcome = next_of(ended, progress)
            take(directory, state, outcome)
            progress.ended(state, outcome)
    finally:
        progress.clear()
        cluster.close()


def task_of(state: State, scenario: Scenario, weft: Binary, directory: SweepDirectory, sweep: str) -> work.Task:
    """What a worker needs to know of a run."""
    items = state.planned.run.items
    capture = next((item.value for item in items if item.name == "pcap"), "")
    origin = {"scenario": scenario.title, **origin_of(state.planned), "identity": state.planned.identity}
    return work.Task(program=weft.path, build=weft.digest,
                     arguments=[item.argument for item in items if item.name != "pcap"],
                     start_in=os.getcwd(), directory=directory.run_directory(state),
                     capture=os.path.basename(capture), origin=origin, sweep=sweep)


def submit(cluster: cluster_module.Cluster, task: work.Task, state: State, ended: Ended) -> Any:
    """Hands a run to the workers; how it went comes to stand in `ended`. When a worker is lost another takes its run,
    up to distributed.scheduler.allowed-failures times (3)."""
    run_ = state.planned.run
    future = cluster.client.submit(cluster.perform, task, key=f"run-{run_.id:04d}-{uuid.uuid4().hex}", pure=False,
                                   priority=-run_.id)
    future.add_done_callback(lambda done: ended.put((state, outcome_of(done))))
    return future


def outcome_of(future: Any) -> work.Outcome:
    """What a worker answered, or why none did."""
    try:
        return cast(work.Outcome, future.result())
    except Exception as error:  # whatever a worker or Dask may raise is this run's failure
        lost = type(error).__name__ == "KilledWorker"
        reason = "the workers it was given to were lost, one after another" if lost else f"its worker failed: {error}"
        return work.Outcome(error=reason, complete=False, unwritable=False, rebuilt=False, seconds=0.0, host="")


def next_of(ended: Ended, progress: Progress) -> tuple[State, work.Outcome]:
    """Waits for a run to end and keeps the user informed."""
    while True:
        try:
            return ended.get(timeout=BLINK_S)
        except queue.Empty:
            progress.show()


def take(directory: SweepDirectory, state: State, outcome: work.Outcome) -> None:
    """Notes how a run went. Of one that left no result an earlier one, of another build, goes, too."""
    if outcome["rebuilt"]:
        raise StoppedError(work.REBUILT)
    if outcome["unwritable"]:
        raise UnwritableError(outcome["error"])
    if outcome["complete"] and directory.load(state):
        return
    remove(directory.run_directory(state))
    state.status = FAILED
    state.error = outcome["error"] or "the result cannot be read back"


def write_down(directory: SweepDirectory, scenario: Scenario) -> Runs:
    """sweep.json, runs.csv and table.txt, of whatever there is. Returns the table of all runs."""
    directory.discard_unfinished()
    for state in directory.states:
        if state.status == WAITING:  # it may have ended just before the sweep was stopped
            directory.load(state)
    directory.write_summary(scenario)
    runs = results.load(directory.path)
    directory.write("runs.csv", runs.drop(columns="directory").to_csv(index=False))
    directory.write("table.txt", table.text_table(runs))
    return runs
