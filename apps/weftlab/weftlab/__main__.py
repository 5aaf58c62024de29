# SPDX-License-Identifier: BSD-3-Clause
"""The command line: weft COMMAND, or python3 -m weftlab COMMAND."""
from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Sequence

from . import balls, needs, pages, papers, reproduce, sweep_command
from .binary import find
from .errors import StoppedError, UsageError, WeftlabError
from .help import Parser, nothing_more

if TYPE_CHECKING:
    from .claims import Judgement
    from .published import Published
    from .results import Runs

SUCCESS, FAILURE, USAGE, MISSING, INTERRUPTED = 0, 1, 2, 3, 130  # exit codes
OF_FIGURES = ("measure", "x", "by", "ports", "title", "log")  # options of weft report


def main(arguments: Sequence[str] | None = None, prog: str = "weftlab") -> int:
    """Runs a command and returns its exit code. `prog` stands before messages and in the help."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    top, commands = parser(prog)
    name = f"{prog} {words[0]}" if words else prog
    try:
        rest: list[str] = []
        if words[:1] == ["sweep"] and not {"--help", "-h"} & set(words):
            words, rest = sweep_command.split(words, commands["sweep"])
        options, more = top.parse_known_args(words)
        code = run(options, [*rest, *more], words, name)
        sys.stdout.flush()
        return code
    except UsageError as error:
        return complain(name, str(error), USAGE)
    except StoppedError as error:
        return complain(name, str(error), FAILURE)
    except WeftlabError as error:
        return complain(name, str(error), USAGE if words[0] in ("sweep", "table", "claims") else FAILURE)
    except BrokenPipeError:  # whoever reads has seen enough; what is still buffered must not complain, either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SUCCESS
    except KeyboardInterrupt:
        return complain(name, "stopped; complete results are kept, and the same command goes on from there",
                        INTERRUPTED)


def run(options: argparse.Namespace, rest: Sequence[str], words: Sequence[str], name: str) -> int:
    """Runs a command that was understood, if all it needs is installed."""
    missing = needs.missing()
    if missing:
        needs.try_system_python([*words, *rest])
        return complain(name, needs.advice(missing), MISSING)
    return int(options.command(options, rest))


def parser(prog: str) -> tuple[Parser, dict[str, argparse.ArgumentParser]]:
    """All commands and their options."""
    top = Parser(prog=prog, description="Experiments over many runs of weft sim.")
    commands: argparse._SubParsersAction[argparse.ArgumentParser] = top.add_subparsers(  # type: ignore[assignment]
        required=True, metavar="COMMAND")
    sweep_command.add(commands)
    add_table(commands.add_parser("table", help="show results as text or CSV",
                                  description="Prints the results of sweeps and of single runs."))
    add_claims(commands.add_parser("claims", help="judge the claims of a scenario by its results",
                                   description="Prints each claim of a scenario with what was measured."))
    add_report(commands.add_parser("report", help="make a page of results, or draw figures",
                                   description="Makes one HTML page of results, or draws figures for papers. Of "
                                   "TRACE.csv, as weft trace\nsaves it, it draws PSNs, windows and losses over time, "
                                   "by default into TRACE.svg."))
    reproduce.add(commands)
    papers.add(commands)
    pages.add(commands)
    add_gallery(commands.add_parser("gallery", help="draw all published figures, small, on one page",
                                    description="Draws the published figures whose results are there."))
    balls.add(commands)
    return top, dict(commands.choices)


def add_table(command: argparse.ArgumentParser) -> None:
    """weftlab table"""
    command.set_defaults(command=table)
    command.add_argument("directories", nargs="+", metavar="DIR")
    command.add_argument("--csv", action="store_true", help="every run with all its numbers, as CSV")


def table(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Prints results that are there."""
    from .results import load
    from .table import text_table

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
    from .results import load

    nothing_more(rest)
    directory = options.directory or load_scenario(options.file, find(options.binary)).out
    sys.stdout.write(in_words(judged(options.file, options.binary, load(directory))))
    return SUCCESS


def judged(path: str, binary: str | None, runs: "Runs", part: bool = False) -> "list[Judgement]":
    """What becomes of a scenario's claims by its results, or by `part` of them."""
    from .claim_reader import load_claims
    from .claims import judge
    from .directory import check_origin
    from .publication import name_of
    from .quotes import Quotes, with_notes
    from .reader import load as load_scenario

    scenario = load_scenario(path, find(binary))
    check_origin(scenario, list(runs["directory"]), part=part)
    name = name_of(path)
    return with_notes([judge(claim, runs) for claim in load_claims(scenario)], Quotes({}, {name: runs}), name)


def add_report(command: argparse.ArgumentParser) -> None:
    """weftlab report"""
    command.set_defaults(command=report)
    command.add_argument("directories", nargs="+", metavar="DIR|FILE.json|TRACE.csv",
                         help="of results, or a file of --json; or TRACE.csv of weft trace: PSNs, windows and losses "
                         "over time, by default into TRACE.svg")
    command.add_argument("--html", "--output", "-o", metavar="FILE",
                         help="the page; - is standard output; default without --figure: report.html in DIR, "
                         "FILE.html beside FILE.json")
    command.add_argument("--scenario", "--claims", metavar="FILE.yaml",
                         help="of the results: its claims and its figure are on the page, too")
    command.add_argument("--binary", metavar="WEFT", help="the weft executable, for --scenario")
    command.add_argument("--figure", metavar="NAME", help="fct-cdf, slowdown-cdf, bars, lines, queue, cwnd, goodput, "
                         "or published: as --scenario says")
    for ending in ("pdf", "svg", "png"):
        command.add_argument(f"--{ending}", metavar="FILE", help=f"save it as {ending.upper()}")
    command.add_argument("--style", help="paper, screen or a matplotlib style sheet; default: paper")
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
    from .results import load

    nothing_more(rest)
    refuse_without_effect(options)
    if any(path.endswith(".csv") for path in options.directories):
        return report_traces(options)
    runs = load(*options.directories)
    for condition in options.where:
        runs = where(runs, condition)
    if options.figure:
        draw(runs, options)
    if options.html or not options.figure:
        path = options.html or page_of(options.directories[0])
        write_page(runs, path, judged(options.scenario, options.binary, runs, part=True) if options.scenario else ())
        if path != "-":
            print(path)
    return SUCCESS


def refuse_without_effect(options: argparse.Namespace) -> None:
    """UsageError when there is an option that another one is missing for."""
    of_forms = [name for name in OF_FIGURES if getattr(options, name) is not None]
    trace = any(path.endswith(".csv") for path in options.directories)
    files = [name for name in ("pdf", "svg", "png") if getattr(options, name)]
    of_figure = [*([] if trace else [*files, *(["style"] if options.style else [])]), *of_forms]
    if of_figure and not options.figure:
        raise UsageError(f"--{of_figure[0]} is of a figure" + (", not of a trace" if trace else ": --figure NAME"))
    if of_forms and options.figure == "published":
        raise UsageError(f"--{of_forms[0]} has no effect on --figure published, which is as --scenario says")
    if options.binary and not options.scenario:
        raise UsageError("--binary is for --scenario FILE.yaml")
    if options.scenario and options.figure not in (None, "published") and not options.html:
        raise UsageError(f"--scenario has no effect on --figure {options.figure}; the page has its claims (--html)")


def page_of(path: str) -> str:
    """Where the page of results goes: report.html in their directory; beside a file, and by its name."""
    directory, name = (path, "run.json") if os.path.isdir(path) else os.path.split(path)
    return os.path.join(directory, "report.html" if name == "run.json" else os.path.splitext(name)[0] + ".html")


def report_traces(options: argparse.Namespace) -> int:
    """Draws what weft trace saved, each file into one."""
    from .drawing import save
    from .traces import load_trace, trace_figure

    files = [path for path in (options.pdf, options.svg, options.png) if path]
    if options.figure or options.html or options.scenario or options.where:
        raise UsageError("a trace is drawn as --svg, --pdf or --png")
    if files and len(options.directories) > 1:
        raise UsageError("several traces have no one file; without --svg, --pdf or --png each has its own")
    for path in options.directories:
        drawn = files or [os.path.splitext(path)[0] + ".svg"]
        save(trace_figure(load_trace(path), "screen" if options.style in (None, "paper") else options.style), *drawn)
        print("\n".join(drawn))
    return SUCCESS


def draw(runs: Runs, options: argparse.Namespace) -> None:
    """Draws a figure into files."""
    from .drawing import save
    from .figures import FIGURES, figure
    from .forms import draw_published

    files = [path for path in (options.pdf, options.svg, options.png) if path]
    if not files:
        raise UsageError("--figure names no file to write (--pdf, --svg or --png)")
    style = options.style or "paper"
    if options.figure == "published":
        save(draw_published(published_of(options, runs), runs, style), *files)
        return
    if options.figure not in FIGURES:
        raise WeftlabError(f"no figure '{options.figure}'; there are {', '.join(FIGURES)} and published")
    wanted = {name: getattr(options, name) for name in OF_FIGURES}
    given = {name: value for name, value in wanted.items() if value is not None}
    save(figure(runs, options.figure, style=style, **given), *files)


def published_of(options: argparse.Namespace, runs: Runs) -> "Published":
    """The form that --scenario declares for these results."""
    from .directory import check_origin
    from .published import load_published
    from .reader import load as load_scenario

    if not options.scenario:
        raise WeftlabError("--figure published needs --scenario FILE.yaml")
    scenario = load_scenario(options.scenario, find(options.binary))
    check_origin(scenario, list(runs["directory"]), part=True)
    form = load_published(scenario)
    if form is None:
        raise WeftlabError(f"{options.scenario}: declares no figure")
    return form


def add_gallery(command: argparse.ArgumentParser) -> None:
    """weftlab gallery"""
    command.set_defaults(command=gallery)
    command.add_argument("results", metavar="RESULTS", help="of weft reproduce: PAPER/FIGURE/ below it")
    command.add_argument("--papers", metavar="DIR", default="configs/papers", help="scenarios; default: configs/papers")
    command.add_argument("--out", metavar="DIR", default="doc/papers",
                         help="of gallery.md and figures/; default: doc/papers")
    command.add_argument("--binary", metavar="WEFT", help="the weft executable; default: $WEFT, build/weft, PATH")


def gallery(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Draws the gallery."""
    nothing_more(rest)
    failures = pages.draw_gallery(options.results, options.papers, options.out, find(options.binary))
    return FAILURE if failures else SUCCESS


def where(runs: Runs, condition: str) -> Runs:
    """Runs whose column has one of the values of COLUMN=VALUE,VALUE; of a path its last part is enough."""
    from .stats import require

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


def complain(name: str, reason: str, code: int) -> int:
    """Says why on standard error."""
    print(f"{name}: {reason}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
