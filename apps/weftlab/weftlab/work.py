# SPDX-License-Identifier: BSD-3-Clause
"""One run, done by a worker: a `weft sim` process, its files, and what they say about where they come from. Workers get
this module's code with their tasks, so that they need the weft executable and the same file system, but not this
package: nothing but the standard library is used here."""
from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from typing import Any, TypedDict

DIGESTS: dict[tuple[str, int, int, int], str] = {}  # of programs, by path, time, size and inode
REBUILT = "weft was built anew during the sweep; the same command goes on"


class Sweeps(dict[str, set[Any]]):
    """The sweeps of this process that are not stopped, each with the processes of its runs. Workers elsewhere get this
    module without them."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Sweeps, ()


SWEEPS = Sweeps()


class Task(TypedDict):
    """What a worker has to do."""

    program: str  # the weft executable
    build: str  # its digest when the sweep began
    arguments: list[str]  # of `weft sim`, without --out
    start_in: str  # directory that relative paths in the arguments are from
    directory: str  # absolute; complete or not there
    capture: str  # file name of a packet capture in the directory; empty: none
    origin: dict[str, Any]  # goes into run.json
    sweep: str  # of SWEEPS, which may stop it; empty: nothing does


class Outcome(TypedDict):
    """How it went."""

    error: str  # empty: every flow ended well
    complete: bool  # the directory is there, maybe with an error in run.json
    unwritable: bool  # the error is that something could not be written
    rebuilt: bool  # the error is that the program is another build now
    seconds: float  # wall clock
    host: str


def begin() -> str:
    """A sweep of this process, whose runs may be started."""
    sweep = uuid.uuid4().hex
    SWEEPS[sweep] = set()
    return sweep


def stop(sweep: str) -> None:
    """Ends the runs that it has under way; no more are started."""
    for process in list(SWEEPS.pop(sweep, ())):
        process.kill()


def is_stopped(sweep: str) -> bool:
    """Whether its runs are not to be started."""
    return bool(sweep) and sweep not in SWEEPS


def digest_of(program: str) -> str:
    """Tells builds of a program apart: 16 hexadecimal digits. OSError."""
    state = os.stat(program)
    key = (program, state.st_mtime_ns, state.st_size, state.st_ino)
    if key not in DIGESTS:
        with open(program, "rb") as file:
            DIGESTS[key] = hashlib.sha256(file.read()).hexdigest()[:16]
    return DIGESTS[key]


def is_rebuilt(program: str, build: str) -> bool:
    """Whether the program is not this build any more, or is just being written."""
    try:
        return digest_of(program) != build
    except OSError:
        return True


def perform(task: Task) -> Outcome:
    """Runs and leaves task["directory"], under another name until it is complete. A result is of the sweep's build, so
    the program is looked at before and afterwards."""
    start = time.monotonic()
    parent, name = os.path.split(task["directory"])
    unfinished = os.path.join(parent, f".{name}.{socket.gethostname()}.{os.getpid()}.{time.time_ns()}")
    outcome = Outcome(error="", complete=False, unwritable=False, rebuilt=is_rebuilt(task["program"], task["build"]),
                      seconds=0.0, host=socket.gethostname())
    try:
        if outcome["rebuilt"]:
            return outcome
        os.makedirs(unfinished)
        code, said = call(task, unfinished)
        outcome["rebuilt"] = is_rebuilt(task["program"], task["build"])
        outcome["error"] = complaint(code, said)
        outcome["unwritable"] = "could not be written" in said
        if outcome["rebuilt"]:
            return outcome
        if os.path.exists(os.path.join(unfinished, "run.json")) and code in (0, 1) and not outcome["unwritable"]:
            sign(unfinished, {**task["origin"], "error": outcome["error"]})
            settle(unfinished, task["directory"])
            outcome["complete"] = True
    except OSError as error:
        outcome["error"] = f"{error.filename or unfinished}: {error.strerror or error}"
        outcome["rebuilt"] = is_rebuilt(task["program"], task["build"])
        outcome["unwritable"] = not outcome["rebuilt"]
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    outcome["seconds"] = time.monotonic() - start
    return outcome


def perform_here(task: Task) -> Outcome:
    """The same by a worker in this process. Dask keeps a function as it was sent first, with its module or without, so
    that the two need two names."""
    return perform(task)


def call(task: Task, directory: str) -> tuple[int, str]:
    """The run's process: its exit code, negative for a signal, and what it said on standard error. It ends with the
    worker, whatever becomes of that."""
    guard = shutil.which("setpriv")
    command = [guard, "--pdeathsig", "KILL", "--"] if guard else []
    command += [task["program"], "sim", *task["arguments"], f"--out={directory}"]
    if task["capture"]:
        command.append("--pcap=" + os.path.join(directory, task["capture"]))
    running = SWEEPS.get(task["sweep"], set())
    if is_stopped(task["sweep"]):
        return -signal.SIGTERM, ""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, errors="replace", cwd=task["start_in"]) as process:
        running.add(process)
        if is_stopped(task["sweep"]):  # stopped in between
            process.kill()
        _, said = process.communicate()
        running.discard(process)
    return process.returncode, said


def complaint(code: int, said: str) -> str:
    """Why a run is no success; empty: it is one."""
    if code < 0:
        perhaps = ", perhaps for want of memory" if code == -signal.SIGKILL else ""
        return f"the run's process was killed by signal {-code} ({signal.strsignal(-code)}{perhaps})"
    if code == 0:
        return ""
    lines = [line for line in said.splitlines() if line.startswith("weft sim: ")]
    return lines[0][len("weft sim: "):] if lines else f"the run's process ended with exit code {code}"


def sign(directory: str, origin: dict[str, Any]) -> None:
    """Adds to run.json where the run comes from."""
    path = os.path.join(directory, "run.json")
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    result.update(origin)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=2, ensure_ascii=False)
        file.write("\n")


def settle(unfinished: str, directory: str) -> None:
    """Makes the unfinished directory the finished one. Of two workers that did the same run one result stays."""
    try:
        os.rename(unfinished, directory)
    except OSError:
        shutil.rmtree(directory)
        os.rename(unfinished, directory)
