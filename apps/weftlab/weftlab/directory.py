# SPDX-License-Identifier: BSD-3-Clause
"""The directory of a sweep. DIR/runs/NNNN is one run, complete or not there; DIR/kept/SETTINGS holds results of
settings that the scenario does not have any more. sweep.json, table.txt and runs.csv tell of all."""
from __future__ import annotations

import fcntl
import json
import os
import shutil
from dataclasses import dataclass
from typing import Any, Sequence

from .errors import UnwritableError, WeftlabError
from .files import write_text
from .plan import Planned, settings_of_all, value_of
from .scenario import Scenario

COMMAND = "command.txt"  # of a run in real time
BESIDE = "beside "  # in it, before the identity of a result of the lab by another build
WAITING, DONE, FAILED = "waiting", "done", "failed"


@dataclass
class State:
    """What is known of one run."""

    planned: Planned
    status: str = WAITING
    error: str = ""  # empty when done
    known: bool = False  # there is a result
    before: bool = False  # it is of an earlier sweep


class SweepDirectory:
    """Held by one sweep at a time, between open() and close()."""

    def __init__(self, path: str, plan: Sequence[Planned], any_build: bool) -> None:
        self.path = os.path.abspath(path)
        self.any_build = any_build  # results of other builds count, too
        self.states = [State(planned) for planned in plan]
        self.lock = -1

    def open(self, fresh: bool) -> None:
        """Makes the directory, takes the lock, tries to write, and marks runs whose results are there."""
        try:
            os.makedirs(self.path, exist_ok=True)
            self._take_lock()
            if fresh:
                self._discard_all()
            self._sort_earlier()
            for state in self.states:
                self._find(state)
        except OSError as error:
            self.close()
            raise UnwritableError(f"{error.filename or self.path}: {error.strerror or error}") from error

    def discard_unfinished(self) -> None:
        """Removes what lost workers left."""
        runs = os.path.join(self.path, "runs")
        for name in os.listdir(runs):
            if name.startswith("."):
                shutil.rmtree(os.path.join(runs, name), ignore_errors=True)

    def close(self) -> None:
        """Lets the next sweep have the directory."""
        if self.lock >= 0:
            os.close(self.lock)
        self.lock = -1

    def run_directory(self, state: State) -> str:
        """Where a run's files are, or will be."""
        return run_directory(self.path, state.planned.run.id)

    def load(self, state: State) -> bool:
        """Takes a finished run's result. False: there is none that fits."""
        record = read_record(self.run_directory(state))
        identity = str(record.get("identity", ""))
        fits = identity == state.planned.identity
        if not fits and not (self.any_build and settings_of(identity) == state.planned.settings):
            return False
        if any(record.get(key) != value for key, value in origin_of(state.planned).items()):  # of a case named anew
            return False
        state.known = True
        state.error = str(record.get("error", ""))
        state.status = FAILED if state.error else DONE
        return True

    def _take_lock(self) -> None:
        self.lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise WeftlabError(f"{self.path}: another sweep is writing there") from error

    def _discard_all(self) -> None:
        for name in ("runs", "kept", "sweep.json", "table.txt", "runs.csv"):
            remove(os.path.join(self.path, name))

    def _sort_earlier(self) -> None:
        """Removes what runs left that did not end; results of other settings move to DIR/kept."""
        runs = os.path.join(self.path, "runs")
        os.makedirs(runs, exist_ok=True)
        with open(os.path.join(runs, ".try"), "w", encoding="utf-8") as file:
            file.write("weft\n")
        for name in os.listdir(runs):
            if name.startswith("."):
                remove(os.path.join(runs, name))
            elif name.isdecimal():
                self._keep(os.path.join(runs, name), int(name))

    def _keep(self, directory: str, run: int) -> None:
        settings = settings_of(str(read_record(directory).get("identity", "")))
        if settings and (run >= len(self.states) or settings != self.states[run].planned.settings):
            self._move(directory, os.path.join(self.path, "kept", settings))

    def _find(self, state: State) -> None:
        """Takes back what fits the run, then marks it."""
        directory = self.run_directory(state)
        kept = os.path.join(self.path, "kept", state.planned.settings)
        if not os.path.exists(directory) and os.path.exists(kept):
            self._move(kept, directory)
        state.before = self.load(state)

    @staticmethod
    def _move(source: str, target: str) -> None:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        remove(target)
        os.rename(source, target)

    def write_summary(self, scenario: Scenario) -> None:
        """sweep.json."""
        runs = [{"id": s.planned.run.id, "dir": f"runs/{s.planned.run.id:04d}", **origin_of(s.planned),
                 "seed": s.planned.run.seed, "status": s.status, "error": s.error} for s in self.states]
        axes = [{"name": a.name, "values": [value_of(v) for v in a.values]} for a in scenario.axes]
        seeds = [s.planned.run.seed for s in self.states[:max(1, len(scenario.seeds))]]
        summary = {"schema": "weft.sweep/1", "title": scenario.title, "about": scenario.about, "axes": axes,
                   "cases": [case.name for case in scenario.cases if case.name], "seeds": seeds, "runs": runs}
        self.write("sweep.json", json.dumps(summary, indent=2, ensure_ascii=False) + "\n")

    def write(self, name: str, text: str) -> None:
        """A file of the directory, complete or as it was before."""
        write_text(os.path.join(self.path, name), text)


def origin_of(planned: Planned) -> dict[str, Any]:
    """What sweep.json and run.json say of where a run comes from."""
    run = planned.run
    return {"label": run.label, "case": run.case, "values": {k: value_of(v) for k, v in run.values.items()}}


def settings_of(identity: str) -> str:
    """The part of an identity that is not the build's; empty: it is none."""
    return identity.partition("-")[2]


def run_directory(out: str, run: int) -> str:
    """Where a run of the lab is."""
    return os.path.join(out, "runs", f"{run:04d}")


def real_directory(out: str, run: int) -> str:
    """Where a run in real time is, beside the lab's of the same number."""
    return os.path.join(out, "real", f"{run:04d}")


def read_command(directory: str) -> str:
    """What a run in real time is of, as it was noted before it began: a line with its identity, and its command line;
    behind them maybe lines with BESIDE. Empty: nothing is noted."""
    try:
        with open(os.path.join(directory, COMMAND), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def beside(directory: str) -> set[str]:
    """Identities of the lab's results that a run in real time stands beside: its own, and those of other builds that
    --any-build took."""
    lines = read_command(directory).splitlines()
    return {line for line in (*lines[:1], *(line.removeprefix(BESIDE) for line in lines[2:])) if line}


def file_of(place: str, name: str) -> str:
    """The path of a file that a run left in its directory. WeftlabError: nothing is known of the run but a file of
    `--json`, and what lies beside it may be another run's."""
    if os.path.isfile(place):
        raise WeftlabError(f"{place}: a result of --json has no {name}; run it with --out DIR, and give DIR")
    return os.path.join(place, name)


def read_record(place: str) -> dict[str, Any]:
    """run.json of a directory, or a file of `--json`; empty: there is none."""
    try:
        with open(place if os.path.isfile(place) else os.path.join(place, "run.json"), encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError):
        return {}
    fits = isinstance(record, dict) and record.get("schema") == "weft.run/1"
    return dict(record) if fits else {}


def check_origin(scenario: Scenario, directories: Sequence[str], *, part: bool = False,
                 one_build: bool = False) -> None:
    """WeftlabError unless these are the results of the scenario as it is now: of all its runs, or of `part` of them
    (empty: a run without a result). `one_build`: what is published says which build it is of, if it is one."""
    identities = [str(read_record(directory).get("identity", "")) for directory in directories if directory]
    runs = scenario.runs()
    known = set(settings_of_all(runs))
    others = any(identity and settings_of(identity) not in known for identity in identities)
    if others or (not part and len(directories) != len(runs)):
        raise WeftlabError(f"{scenario.path}: results are of other settings (run it again)")
    if one_build and len({identity.partition("-")[0] for identity in identities}) > 1:
        raise WeftlabError(f"{scenario.path}: results are of several builds (run it again without --any-build)")


def remove(path: str) -> None:
    """A file, or a directory with all that is in it; nothing there is fine, too."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)
