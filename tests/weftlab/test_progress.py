# SPDX-License-Identifier: BSD-3-Clause
"""What users see of a sweep."""
from __future__ import annotations

import io

from weftlab.directory import State
from weftlab.plan import Planned
from weftlab.progress import Progress, clock
from weftlab.scenario import Run
from weftlab.work import Outcome, complaint


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def states(*before: bool) -> list[State]:
    runs = [Run(i, f"label {i % 2}", "", {}, i, ()) for i in range(len(before))]
    return [State(Planned(run, "b-s"), before=flag, known=flag) for run, flag in zip(runs, before)]


def outcome(error: str = "", seconds: float = 1.0) -> Outcome:
    return Outcome(error=error, complete=True, unwritable=False, rebuilt=False, seconds=seconds, host="")


def test_progress_tells_percent_and_time_left() -> None:
    screen = Terminal()
    all_states = states(True, False, False, False)
    progress = Progress(all_states, jobs=2, quiet=False, out=screen)
    assert "1 of 4 runs were done before" in screen.getvalue()
    assert progress.seconds_left() is None
    all_states[1].status = "done"
    progress.ended(all_states[1], outcome(seconds=10.0))
    progress.show()
    assert progress.percent() == 50
    assert progress.seconds_left() == 10.0
    assert "50 % (2/4)" in screen.getvalue()
    assert "left 0:10" in screen.getvalue()


def test_progress_without_a_terminal_has_a_line_per_run() -> None:
    said = io.StringIO()
    state, = states(False)
    progress = Progress([state], jobs=1, quiet=False, out=said)
    state.status, state.error = "failed", "no memory"
    progress.ended(state, outcome(error="no memory"))
    progress.show()
    assert said.getvalue() == "1/1  label 0, seed 0: no memory, 1.0 s\n"
    assert clock(3725) == "1:02:05"


def test_why_a_process_ended_is_said() -> None:
    assert complaint(0, "") == ""
    assert complaint(1, "weft sim: 2 of 4 flows\n") == "2 of 4 flows"
    assert complaint(3, "") == "the run's process ended with exit code 3"
    assert complaint(-9, "") == "the run's process was killed by signal 9 (Killed, perhaps for want of memory)"
