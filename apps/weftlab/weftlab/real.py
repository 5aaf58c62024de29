# SPDX-License-Identifier: BSD-3-Clause
"""Runs of a figure in real time, beside what they were in the lab: DIR/real/NNNN has the run.json of
`weft bench --local`, its command line and what it said."""
from __future__ import annotations

import os
import subprocess
import sys
from typing import Collection, Sequence

from .binary import Binary
from .claims import Bench
from .directory import BESIDE, COMMAND, beside, read_command, read_record, real_directory, remove, run_directory
from .errors import StoppedError, UnwritableError
from .fields import picks
from .files import write_text
from .plan import Planned, value_of
from .scenario import Item, Scenario
from .work import REBUILT, is_rebuilt

# What only the lab has, and the rate, for links in real time have one of their own.
OF_THE_LAB = ("series", "series-ports", "pcap", "pcap-port", "end", "link-gbps")
BUILD_DIGITS = 16  # of an identity, before those of the settings


def repeat(scenario: Scenario, planned: Sequence[Planned], bench: Bench, weft: Binary, *, fresh: bool,
           any_build: bool) -> None:
    """Repeats the runs that `bench` picks, by their first seeds, one after another. Results of the same build and
    settings are kept, those of runs that are not picked are not. A run that fails has no result, which its claims show.
    UnwritableError."""
    picked = set()
    for entry in planned[::max(1, len(scenario.seeds))]:
        values = {"case": entry.run.case, **{key: value_of(text) for key, text in entry.run.values.items()}}
        if any(picks(pick, values) for pick in bench.picks):
            directory = real_directory(scenario.out, entry.run.id)
            picked.add(directory)
            command = command_of(entry, bench.items, weft, os.path.join(directory, "run.json"))
            said = f"{entry.identity}\n{' '.join(command[1:])}\n"
            if fresh or not is_there(directory, said, any_build):
                perform(directory, said, command, entry.run.label, weft)
            if any_build:
                note_lab(directory, run_directory(scenario.out, entry.run.id))
    _discard_others(os.path.join(scenario.out, "real"), picked)


def _discard_others(place: str, picked: Collection[str]) -> None:
    """Removes results that nothing repeats any more: the run of that number may be another one now."""
    try:
        for name in os.listdir(place) if os.path.isdir(place) else []:
            if name.isdecimal() and os.path.join(place, name) not in picked:
                remove(os.path.join(place, name))
    except OSError as error:
        raise UnwritableError(f"{error.filename or place}: {error.strerror}") from error


def command_of(entry: Planned, items: Sequence[Item], weft: Binary, json: str) -> list[str]:
    """The command line of one run."""
    command = [weft.path, "bench", "--local"]
    for item in [*(item for item in entry.run.items if item.name not in OF_THE_LAB), *items]:
        is_flag = not weft.bench_options.get(item.name, "value")
        command += [item.argument] if is_flag else [f"--{item.name}", item.value]
    return [*command, f"--json={json}"]


def is_there(directory: str, said: str, any_build: bool) -> bool:
    """Whether the same run has a result."""
    skip = BUILD_DIGITS if any_build else 0
    before = "".join(f"{line}\n" for line in read_command(directory).splitlines()[:2])
    return before[skip:] == said[skip:] and os.path.exists(os.path.join(directory, "run.json"))


def note_lab(directory: str, lab: str) -> None:
    """Notes which result of the lab a run in real time stands beside if another build made that. UnwritableError."""
    identity = str(read_record(lab).get("identity", ""))
    if identity and identity not in beside(directory):
        write_text(os.path.join(directory, COMMAND), f"{read_command(directory)}{BESIDE}{identity}\n")


def perform(directory: str, said: str, command: Sequence[str], label: str, weft: Binary) -> None:
    """Runs it. A result of other settings goes first, so that a run that fails leaves none, nor does one of a build
    that is not the lab's. StoppedError."""
    log = os.path.join(directory, "bench.log")
    try:
        remove(directory)
        os.makedirs(directory)
        with open(os.path.join(directory, COMMAND), "w", encoding="utf-8") as file:
            file.write(said)
        with open(log, "w", encoding="utf-8") as file:
            code = subprocess.run(command, stdout=file, stderr=file, stdin=subprocess.DEVNULL, check=False).returncode
    except OSError as error:
        raise UnwritableError(f"{error.filename or directory}: {error.strerror}") from error
    if is_rebuilt(weft.path, weft.digest):
        remove(directory)
        raise StoppedError(REBUILT)
    print(f"real time: {label}: " + (f"failed, see {log}" if code else "done"), file=sys.stderr)
