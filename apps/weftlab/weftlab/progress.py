# SPDX-License-Identifier: BSD-3-Clause
"""What a user sees of a sweep: a line per run, and on a terminal a bar with the share done and the time left."""
from __future__ import annotations

import sys
import time
from collections import defaultdict
from typing import TextIO

from .directory import DONE, State
from .work import Outcome

WIDTH = 30


class Progress:
    """Counts what has ended. `quiet` says nothing."""

    def __init__(self, states: list[State], jobs: int, quiet: bool, out: TextIO | None = None) -> None:
        self.out = out or sys.stderr
        self.jobs = jobs
        self.quiet = quiet
        self.bar = not quiet and self.out.isatty()
        self.start = time.monotonic()
        self.total = len(states)
        self.before = sum(state.before for state in states)
        self.done = self.before
        self.left = {state.planned.run.id: state.planned.run.label for state in states if not state.known}
        self.seconds: dict[str, list[float]] = defaultdict(list)  # of the runs that ended, by label
        if self.before and not quiet:
            print(f"{self.before} of {self.total} runs were done before", file=self.out)

    def ended(self, state: State, outcome: Outcome) -> None:
        """A run is over, well or not."""
        run = state.planned.run
        self.done += 1
        self.left.pop(run.id, None)
        self.seconds[run.label].append(outcome["seconds"])
        if self.quiet or (self.bar and state.status == DONE):
            return
        self.clear()
        said = "done" if state.status == DONE else state.error
        print(f"{self.done}/{self.total}  {run.label}, seed {run.seed}: {said}, {outcome['seconds']:.1f} s",
              file=self.out)

    def seconds_left(self) -> float | None:
        """As far as one can tell: runs take as long as others of their label did, or as all did. None: nothing ended
        yet."""
        known = [value for values in self.seconds.values() for value in values]
        if not known:
            return None
        mean = sum(known) / len(known)
        means = {label: sum(values) / len(values) for label, values in self.seconds.items()}
        return sum(means.get(label, mean) for label in self.left.values()) / self.jobs

    def show(self) -> None:
        """Draws the bar again."""
        if not self.bar:
            return
        full = self.done * WIDTH // max(1, self.total)
        text = f"[{'#' * full}{'.' * (WIDTH - full)}] {self.percent()} % ({self.done}/{self.total})"
        text += f"  elapsed {clock(time.monotonic() - self.start)}"
        left = self.seconds_left()
        if left is not None:
            text += f"  left {clock(left)}"
        self.out.write(f"\r{text}\033[K")
        self.out.flush()

    def percent(self) -> int:
        """Of the runs that have ended."""
        return 100 * self.done // max(1, self.total)

    def clear(self) -> None:
        """Removes the bar."""
        if self.bar:
            self.out.write("\r\033[K")


def clock(seconds: float) -> str:
    """1:05 or 2:03:04."""
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
