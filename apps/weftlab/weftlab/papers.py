# SPDX-License-Identifier: BSD-3-Clause
"""weftlab papers: all publications in one pass, which goes on where it was stopped. Their figures are run and judged,
and what their pages need is kept."""
from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from .errors import WeftlabError
from .help import new_command, nothing_more
from .pages import FAILURE, SUCCESS, add_places, directories_of, draw_gallery

UNKNOWN_WORK = 1.0  # as a share of the mean, of a figure whose runs have not been kept yet


def add(commands: Any) -> None:
    """weftlab papers"""
    from . import sweep_command

    command = new_command(
        commands, "papers", papers, "run all publications and keep what their pages need",
        "Runs the figures of all publications, judges their claims, and keeps what their pages need\n"
        "(weftlab pages). Goes on where it was stopped.")
    add_places(command)
    command.add_argument("--results", default=os.path.join("weft-out", "reproduce"), metavar="DIR",
                         help="results; default: weft-out/reproduce")
    command.add_argument("--pages", action="store_true", help="draw the gallery and write the pages, too")
    sweep_command.add_options(command)


@dataclass
class Step:
    """One figure of a pass."""

    directory: str  # of its publication
    figure: Any  # reproduce.Figure
    events: float  # of the simulator, in all of its runs; 0: not known


def papers(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Runs, judges and keeps."""
    from . import sweep_command
    from .binary import find

    nothing_more(rest)
    signal.signal(signal.SIGTERM, sweep_command.stop)
    weft = find(options.binary)
    directories = directories_of(options, with_results=False)
    steps = [step for directory in directories for step in steps_of(directory, options.results, weft)]
    tell = Pass(steps, options.quiet)
    rows = [one_paper(directory, [step for step in steps if step.directory == directory], tell, weft, options)
            for directory in directories]
    failures = write_all(directories, weft, options) if options.pages else 0
    sys.stdout.write(summary(rows))
    return FAILURE if failures else SUCCESS


@dataclass(frozen=True)
class Row:
    """What became of a publication."""

    paper: str
    runs: int
    verdicts: Sequence[str]  # of its claims
    elapsed_s: float  # in this pass, without runs that were done before
    cpu_s: float  # of this pass's processes on this machine


def one_paper(directory: str, steps: Sequence[Step], tell: Pass, weft: Any, options: argparse.Namespace) -> Row:
    """Runs, judges and keeps a publication."""
    from .publish import keep
    from .reproduce import conclude, run_figure

    began_s, cpu_s = time.monotonic(), cpu_seconds()
    for step in steps:
        tell.begin(step)
        run_figure(step.figure, weft, options)
        tell.end(step)
    figures = [step.figure for step in steps]
    paper = paper_of(directory)
    conclude(paper, figures, os.path.join(options.results, paper))
    keep(directory, [(each.scenario, each.runs, each.judgements) for each in figures])
    return Row(paper, sum(len(each.runs) for each in figures),
               [found.verdict for each in figures for found in each.judgements],
               time.monotonic() - began_s, cpu_seconds() - cpu_s)


def cpu_seconds() -> float:
    """Of this process and those that it has started and that have ended."""
    return sum(os.times()[:4])


def write_all(directories: Sequence[str], weft: Any, options: argparse.Namespace) -> int:
    """Draws the gallery and writes the pages that show its pictures. How many pictures failed."""
    from .publish import write_pages

    failures = draw_gallery(options.results, options.root, options.out, weft)
    for path in write_pages(directories, options.out, options.gallery, check=False,
                            with_index=not options.papers):
        print(path)
    return failures


def summary(rows: Sequence[Row]) -> str:
    """One table of all publications: runs, verdicts, and what this pass took."""
    from .claims import VERDICTS
    from .progress import clock

    words = [word for word in VERDICTS if any(word in row.verdicts for row in rows)]
    total = Row("all", sum(row.runs for row in rows), [verdict for row in rows for verdict in row.verdicts],
                sum(row.elapsed_s for row in rows), sum(row.cpu_s for row in rows))
    cells = [["publication", "runs", "claims", *words, "time", "CPU time"]]
    cells += [[row.paper, str(row.runs), str(len(row.verdicts)), *(str(row.verdicts.count(word)) for word in words),
               clock(row.elapsed_s), clock(row.cpu_s)] for row in [*rows, total]]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    lines = ["  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
             for row in cells]
    return "\n".join(["", *lines, "Times are those of this pass; runs that were done before took none of it.", ""])


def paper_of(directory: str) -> str:
    """The name of a publication."""
    return os.path.basename(os.path.normpath(directory))


def steps_of(directory: str, results: str, weft: Any) -> list[Step]:
    """The figures of a publication. All are checked before the first runs."""
    from .reproduce import figures_of

    known = events_of(directory)
    figures = figures_of(directory, None, os.path.join(results, paper_of(directory)), weft)
    return [Step(directory, figure, known.get(figure.name, 0.0)) for figure in figures]


def events_of(directory: str) -> Mapping[str, float]:
    """Events of the runs of each figure, as far as they have been kept."""
    from .publication import kept

    try:
        return {name: float(figure["events"]) for name, figure in kept(directory)["figures"].items()}
    except WeftlabError:
        return {}


class Pass:
    """Which share of the work is done, and how long the rest takes. Work is counted in events of the simulator, which
    are the same on every machine; how long one takes is measured on this one."""

    def __init__(self, steps: Sequence[Step], quiet: bool) -> None:
        self.steps = list(steps)
        self.quiet = quiet
        self.at = 0
        self.began_s = 0.0  # of the step at hand, as files have their times
        self.events = 0.0  # of the runs that this pass made
        self.seconds = 0.0  # that they took

    def begin(self, step: Step) -> None:
        """Says what is next."""
        self.began_s = time.time()
        if not self.quiet:
            name = f"{paper_of(step.directory)}/{step.figure.name}"
            print(f"[{self.at + 1} of {len(self.steps)}, {self.in_words()}] {name}: {step.figure.scenario.title}",
                  file=sys.stderr)

    def end(self, step: Step) -> None:
        """A figure is done."""
        from .publication import events_in

        made = events_since(step.figure.runs, self.began_s)
        if made > 0:
            self.events += made
            self.seconds += time.time() - self.began_s
        step.events = events_in(step.figure.runs)
        self.at += 1

    def in_words(self) -> str:
        """Per cent done, and the time left once some work has been measured."""
        done, left = self.work(self.steps[:self.at]), self.work(self.steps[self.at:])
        words = f"{100 * done / (done + left):.0f} %"
        if self.events > 0:
            words += f", about {left * self.seconds / self.events / 60:.0f} min left"
        return words

    def work(self, steps: Sequence[Step]) -> float:
        """Events of some figures; those that are not known count like the mean of the others."""
        known = [step.events for step in self.steps if step.events > 0]
        mean = sum(known) / len(known) if known else UNKNOWN_WORK
        return sum(step.events or mean for step in steps)


def events_since(runs: Any, since_s: float) -> float:
    """Events of the runs whose results were written since then."""
    found = 0.0
    for _, row in runs.iterrows():
        path = os.path.join(row["directory"], "run.json") if row["directory"] else ""
        if path and os.path.getmtime(path) >= since_s:
            found += float(row["events"])
    return found
