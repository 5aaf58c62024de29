# SPDX-License-Identifier: BSD-3-Clause
"""The command line: python3 -m weftlab COMMAND."""
from __future__ import annotations

import argparse
import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, Sequence

from .binary import Binary, find
from .directory import DONE
from .errors import UnwritableError, WeftlabError
from .results import Runs, load
from .stats import require
from .table import text_table

if TYPE_CHECKING:
    from .claims import Judgement

SUCCESS, FAILURE, USAGE, INTERRUPTED = 0, 1, 2, 130  # exit codes


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    options, rest = parser().parse_known_args(arguments)
    try:
        return int(options.command(options, rest))
    except UnwritableError as error:
        return complain(str(error), FAILURE)
    except WeftlabError as error:
        return complain(str(error), USAGE)
    except KeyboardInterrupt:
        return complain("stopped; complete results are kept, and the same command goes on from there", INTERRUPTED)


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(prog="weftlab", description="Experiments over many runs of weft sim.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    add_sweep(commands.add_parser("sweep", allow_abbrev=False, help="run a scenario file",
                                  description="Runs all that a scenario file describes. Options of weft sim win over "
                                  "the file's."))
    add_table(commands.add_parser("table", help="show results as text or CSV"))
    add_claims(commands.add_parser("claims", help="judge the claims of a scenario by its results"))
    add_report(commands.add_parser("report", help="make a page of results, or draw figures"))
    return top


def add_sweep(command: argparse.ArgumentParser) -> None:
    """weftlab sweep"""
    command.set_defaults(command=sweep)
    command.add_argument("file", metavar="FILE.yaml")
    command.add_argument("--jobs", type=int, metavar="N", help="runs at the same time; default: one per core")
    command.add_argument("--out", metavar="DIR", help="directory of the results; default: as the file says")
    command.add_argument("--fresh", action="store_true", help="discard earlier results")
    command.add_argument("--any-build", action="store_true", help="use earlier results of other builds, too")
    command.add_argument("--scheduler", metavar="ADDRESS", help="of Dask, or slurm; default: workers on this machine")
    command.add_argument("--binary", metavar="WEFT", help="the weft executable; default: $WEFT, build/weft, PATH")
    command.add_argument("--quiet", action="store_true", help="nothing on standard error")


def sweep(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Runs a scenario and prints its table."""
    from .sweep import run_pairs

    signal.signal(signal.SIGTERM, stop)
    weft = find(options.binary)
    runs = run_pairs(options.file, sim_options(rest, weft), weft, jobs=options.jobs, out=options.out,
                     fresh=options.fresh, scheduler=options.scheduler, any_build=options.any_build,
                     quiet=options.quiet)
    sys.stdout.write(text_table(runs))
    failed = int((runs["status"] != DONE).sum())
    if failed:
        complain(f"{failed} of {len(runs)} runs failed; {runs.attrs['directory']}/sweep.json says why", FAILURE)
    print(f"results in {runs.attrs['directory']}", file=sys.stderr)
    return FAILURE if failed else SUCCESS


def sim_options(rest: Sequence[str], weft: Binary) -> list[tuple[str, str]]:
    """Options of weft sim as (name, value); flags have the value true."""
    pairs: list[tuple[str, str]] = []
    left = list(rest)
    while left:
        word = left.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in weft.options:
            raise WeftlabError(f"unknown option '{word}' (see weft sim --help)")
        if not equals and weft.options[name] and not left:
            raise WeftlabError(f"option '{word}' needs a value: {weft.options[name]}")
        if not equals:
            value = left.pop(0) if weft.options[name] else "true"
        pairs.append((name, value))
    return pairs


def stop(number: int, frame: FrameType | None) -> None:
    """SIGTERM ends a sweep as Ctrl-C does."""
    del number, frame
    raise KeyboardInterrupt


def add_table(command: argparse.ArgumentParser) -> None:
    """weftlab table"""
    command.set_defaults(command=table)
    command.add_argument("directories", nargs="+", metavar="DIR")
    command.add_argument("--csv", action="store_true", help="every run with all its numbers, as CSV")


def table(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Prints results that are there."""
    nothing_more(rest)
    runs: Runs = load(*options.directories)
    sys.stdout.write(runs.to_csv(index=False) if options.csv else text_table(runs))
    return SUCCESS


def add_claims(command: argparse.ArgumentParser) -> None:
    """weftlab claims"""
    command.set_defaults(command=claims)
    command.add_argument("file", metavar="FILE.yaml")
    command.add_argument("directory", nargs="?", metavar="DIR", help="of the results; default: as the file says")
    command.add_argument("--binary", metavar="WEFT", help="the weft executable; default: $WEFT, build/weft, PATH")


def claims(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Prints each claim with what was measured."""
    from .claims import in_words
    from .reader import load as load_scenario

    nothing_more(rest)
    directory = options.directory or load_scenario(options.file, find(options.binary)).out
    sys.stdout.write(in_words(judged(options.file, options.binary, load(directory))))
    return SUCCESS


def judged(path: str, binary: str | None, runs: Runs) -> "list[Judgement]":
    """What becomes of a scenario's claims by its results."""
    from .claims import judge, load_claims
    from .reader import load as load_scenario

    return [judge(claim, runs) for claim in load_claims(load_scenario(path, find(binary)))]


def add_report(command: argparse.ArgumentParser) -> None:
    """weftlab report"""
    command.set_defaults(command=report)
    command.add_argument("directories", nargs="+", metavar="DIR")
    command.add_argument("--html", metavar="FILE", help="the page; default without --figure: report.html in DIR")
    command.add_argument("--claims", metavar="FILE.yaml", help="of the page: judge the claims of this scenario, too")
    command.add_argument("--binary", metavar="WEFT", help="the weft executable, for claims")
    command.add_argument("--figure", metavar="NAME", help="fct-cdf, slowdown-cdf, bars, lines, queue, cwnd or goodput")
    for ending in ("pdf", "svg", "png"):
        command.add_argument(f"--{ending}", metavar="FILE", help=f"save it as {ending.upper()}")
    command.add_argument("--style", default="paper", help="paper, screen or a matplotlib style sheet; default: paper")
    command.add_argument("--measure", help="of bars and lines: a column of runs.csv; default: fct_max_us")
    command.add_argument("--x", metavar="COLUMN", help="horizontal axis of bars and lines")
    command.add_argument("--by", metavar="COLUMN", help="what tells bars of a group or lines apart")
    command.add_argument("--ports", metavar="PATTERN", help="of queue: these ports")
    command.add_argument("--title", help="above the figure")
    command.add_argument("--log", action="store_true", default=None, help="logarithmic scale")
    command.add_argument("--where", metavar="COLUMN=VALUE", action="append", default=[],
                         help="only these runs; repeatable, and several values with commas")


def report(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Writes the page, or draws a figure into files."""
    from .page import write_page

    nothing_more(rest)
    runs = load(*options.directories)
    for condition in options.where:
        runs = where(runs, condition)
    if options.figure:
        draw(runs, options)
    if options.html or not options.figure:
        path = options.html or os.path.join(options.directories[0], "report.html")
        write_page(runs, path, judged(options.claims, options.binary, runs) if options.claims else ())
        print(path)
    return SUCCESS


def draw(runs: Runs, options: argparse.Namespace) -> None:
    """Draws a figure into files."""
    from .figures import figure, save

    files = [path for path in (options.pdf, options.svg, options.png) if path]
    if not files:
        raise WeftlabError("report: names no file to write (--pdf, --svg or --png)")
    wanted = {name: getattr(options, name) for name in ("measure", "x", "by", "ports", "title", "log")}
    given = {name: value for name, value in wanted.items() if value is not None}
    save(figure(runs, options.figure, style=options.style, **given), *files)


def where(runs: Runs, condition: str) -> Runs:
    """Runs whose column has one of the values of COLUMN=VALUE,VALUE; of a path its last part is enough."""
    column, equals, values = condition.partition("=")
    if not equals:
        raise WeftlabError(f"'{condition}' is not COLUMN=VALUE")
    require(runs, column)
    wanted = values.split(",")
    chosen: Runs = runs[[str(have) in wanted or str(have).rpartition("/")[2] in wanted for have in runs[column]]]
    if chosen.empty:
        there = ", ".join(str(value) for value in runs[column].unique())
        raise WeftlabError(f"no run has {condition}; there are {there}")
    return chosen


def nothing_more(rest: Sequence[str]) -> None:
    """WeftlabError when there are arguments left."""
    if rest:
        raise WeftlabError(f"unknown option '{rest[0]}'")


def complain(reason: str, code: int) -> int:
    """Says why on standard error."""
    print(f"weftlab: {reason}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
