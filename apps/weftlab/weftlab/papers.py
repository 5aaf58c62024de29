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
from .pages import PAPERS

UNKNOWN_WORK = 1.0  # as a share of the mean, of a figure whose runs have not been kept yet


def add(commands: Any) -> None:
    """weftlab papers"""
    from . import sweep_command

    command = commands.add_parser(
        "papers", allow_abbrev=False, help="run all publications and keep what their pages need",
        description="Runs the figures of all publications, judges their claims, and keeps what their pages need\n"
        "(weftlab pages). Goes on where it was stopped.")
    command.set_defaults(command=papers)
    command.add_argument("papers", nargs="*", metavar="PAPER", help="default: all")
    command.add_argument("--results", default=os.path.join("weft-out", "reproduce"), metavar="DIR",
                         help="results; default: weft-out/reproduce")
    command.add_argument("--papers", dest="root", default=PAPERS, metavar="DIR",
                         help="directory of the publications; default: configs/papers")
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
    from .pages import directories_of
    from .publish import keep
    from .reproduce import conclude, run_figure

    if rest:
        raise WeftlabError(f"unknown option '{rest[0]}'")
    signal.signal(signal.SIGTERM, sweep_command.stop)
    weft = find(options.binary)
    directories = directories_of(options, with_results=False)
    steps = [step for directory in directories for step in steps_of(directory, options.results, weft)]
    tell = Pass(steps, options.quiet)
    for step in steps:
        tell.begin(step)
        run_figure(step.figure, weft, options)
        tell.end(step)
    for directory in directories:
        figures = [step.figure for step in steps if step.directory == directory]
        paper = os.path.basename(os.path.normpath(directory))
        conclude(paper, figures, os.path.join(options.results, paper))
        keep(directory, [(each.scenario, each.runs, each.judgements) for each in figures])
    return 0


def steps_of(directory: str, results: str, weft: Any) -> list[Step]:
    """The figures of a publication. All are checked before the first runs."""
    from .reproduce import figures_of

    paper = os.path.basename(os.path.normpath(directory))
    known = events_of(directory)
    figures = figures_of(directory, None, os.path.join(results, paper), weft)
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
            paper = os.path.basename(os.path.normpath(step.directory))
            print(f"[{self.at + 1} of {len(self.steps)}, {self.in_words()}] {paper}/{step.figure.name}: "
                  f"{step.figure.scenario.title}", file=sys.stderr)

    def end(self, step: Step) -> None:
        """A figure is done."""
        made = events_since(step.figure.runs, self.began_s)
        if made > 0:
            self.events += made
            self.seconds += time.time() - self.began_s
        step.events = float(step.figure.runs["events"].sum())
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
