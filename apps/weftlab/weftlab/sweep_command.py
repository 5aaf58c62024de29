# SPDX-License-Identifier: BSD-3-Clause
"""`weft sweep`: a scenario file from the command line, with options of `weft sim` among its own."""
from __future__ import annotations

import argparse
import signal
import sys
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any, Sequence

from .binary import Binary, find
from .directory import DONE, WAITING
from .errors import UsageError
from .help import new_command, not_taken
from .scenario import NOT_OF_A_RUN, Scenario

if TYPE_CHECKING:
    from .plan import Planned

SUCCESS, FAILURE, INTERRUPTED = 0, 1, 130  # exit codes


def add(commands: Any) -> None:
    """weft sweep"""
    command = new_command(
        commands, "sweep", sweep, "run all that a scenario file describes",
        "Runs all that a scenario file describes: cases, axes and seeds, on all cores or on a cluster. Options of\n"
        "weft sim win over the file's. After Ctrl-C the same command goes on with what is left.")
    command.add_argument("file", metavar="FILE.yaml")
    add_options(command)
    command.add_argument("--out", metavar="DIR", help="directory of the results; default: as the file says")
    command.add_argument("--dry-run", action="store_true", help="check the file and list its runs, run nothing")


def add_options(command: argparse.ArgumentParser) -> None:
    """Options of all commands that run scenarios."""
    command.add_argument("--jobs", type=at_least_one, metavar="N",
                         help="runs at the same time; default: one per core")
    command.add_argument("--fresh", action="store_true", help="discard earlier results")
    command.add_argument("--any-build", action="store_true", help="use earlier results of other builds, too")
    command.add_argument("--scheduler", metavar="ADDRESS", help="of Dask, or slurm; default: this machine")
    command.add_argument("--binary", metavar="WEFT", help="the weft executable; default: $WEFT, build/weft, PATH")
    command.add_argument("--quiet", action="store_true", help="nothing on standard error")


def at_least_one(text: str) -> int:
    """A number from 1."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1")
    return int(text)


def sweep(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Runs a scenario and prints its table."""
    from .plan import plan
    from .reader import load as load_scenario

    signal.signal(signal.SIGTERM, stop)
    weft = find(options.binary)
    pairs = sim_options(rest, weft)
    scenario = load_scenario(options.file, weft).override(pairs)
    scenario = replace(scenario, out=options.out or scenario.out)
    planned = plan(scenario, weft)
    if options.dry_run:
        for entry in planned:
            print(f"{entry.run.id:04d}  {entry.run.label}, seed {entry.run.seed}")
        return SUCCESS
    return run_and_tell(scenario, planned, weft, options)


def run_and_tell(scenario: Scenario, planned: "Sequence[Planned]", weft: Binary, options: argparse.Namespace) -> int:
    """Runs and says how it went, also of a sweep that the user stops."""
    from .results import load
    from .sweep import run_plan
    from .table import text_table

    stopped = False
    try:
        runs = run_plan(scenario, planned, weft, jobs=options.jobs, fresh=options.fresh,
                        scheduler=options.scheduler,
                        any_build=options.any_build, quiet=options.quiet)
    except KeyboardInterrupt:
        stopped = True
        runs = load(scenario.out)
    sys.stdout.write(text_table(runs))
    failed = int((~runs["status"].isin([DONE, WAITING])).sum())
    have = int((runs["status"] != WAITING).sum())
    if failed:
        tell(f"{failed} of {len(runs)} runs failed; {scenario.out}/sweep.json says why")
    if stopped:
        tell(f"{have} of {len(runs)} runs have results in {scenario.out}; the same command goes on from there")
        return INTERRUPTED
    print(f"results in {scenario.out}", file=sys.stderr)
    return FAILURE if failed else SUCCESS


def tell(text: str) -> None:
    """A line about the sweep on standard error."""
    print(f"weft sweep: {text}", file=sys.stderr)


def split(words: Sequence[str], command: argparse.ArgumentParser) -> tuple[list[str], list[str]]:
    """What argparse shall see, and the options of `weft sim` with their values. argparse would take the value of an
    option that it does not know for the file."""
    own = {text: action.nargs != 0 for action in command._actions for text in action.option_strings}
    binary = next((value for name, value in zip(words, [*words[1:], ""]) if name == "--binary"), None)
    binary = next((word.partition("=")[2] for word in words if word.startswith("--binary=")), binary)
    mine: list[str] = []
    theirs: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        name = word.partition("=")[0]
        foreign = word.startswith("--") and name not in own
        target = theirs if foreign else mine
        target.append(word)
        takes = find(binary).options.get(name[2:]) if foreign else own.get(name)
        if "=" not in word and takes and left:
            target.append(left.pop(0))
    return mine, theirs


def sim_options(rest: Sequence[str], weft: Binary) -> list[tuple[str, str]]:
    """Options of weft sim as (name, value); flags have the value true."""
    pairs: list[tuple[str, str]] = []
    left = list(rest)
    while left:
        word = left.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in weft.options:
            raise not_taken(word, "weft sim --help")
        if not equals and weft.options[name] and not left:
            raise UsageError(f"option '{word}' needs a value: {weft.options[name]}")
        if not equals:
            value = left.pop(0) if weft.options[name] else "true"
        pairs += of_file(value, weft) if name == "config" else [(name, of_a_run(name, value))]
    return pairs


def of_file(path: str, weft: Binary) -> list[tuple[str, str]]:
    """Options from a YAML file (--config)."""
    from .reader import load as load_scenario

    reason = weft.refusal([f"--config={path}"])
    if reason:
        raise UsageError(reason)
    return [(item.name, item.value) for item in load_scenario(path, weft).base]


def of_a_run(name: str, value: str) -> str:
    """The value, of an option that many runs can have."""
    if name in NOT_OF_A_RUN:
        raise UsageError(f"--{name}: is for a single run; the results of a scenario lie in its directory")
    return value


def stop(number: int, frame: FrameType | None) -> None:
    """SIGTERM ends a sweep as Ctrl-C does."""
    del number, frame
    raise KeyboardInterrupt
