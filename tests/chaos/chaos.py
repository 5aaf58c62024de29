#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""chaos.py BUILD [--seconds N | --packets N] [--seed N] [--jobs N] [--healed-rtos N] [--outages N] [--lives-every N]
[--bytes-times N] - random fabrics, workloads, algorithms, parameters and faults in `weft sim`, for so long or so many packets.
Every flow must end, every byte be right, and a run end soon after its last fault. Every fourth case is one of `chaos_lives`:
hosts crash and start again, and memory is short. A case that fails is shrunk and printed as a command. Cases that are refused
fail together: if they are too many, or if no case of an algorithm was fine. Exit status: 0 nothing failed, 1 something did."""
from __future__ import annotations

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from chaos_case import Names, names_of, random_case
from chaos_judge import HEALED_RTOS, RUN_LIMIT, AnyCase, Judge, Verdict, shrink
from life_case import LifeCase, Parameter, parameters_of, random_life

SAYS_EVERY = 10            # percent of the time, where nobody watches a terminal
SHRINK_SECONDS = 60.0      # for each of the first failures
SHRINK_MOST = 3
LIVES_EVERY = 4
ENOUGH_CASES = 20          # so many cases, and their refusals are judged
REFUSED_MOST = 0.4         # share of the cases of a program


@dataclass
class Row:
    """What one congestion control did."""
    runs: int = 0
    refused: int = 0
    failed: int = 0
    fine: int = 0
    packets: int = 0
    hops: int = 0
    rtos: float = 0.0

    def add(self, verdict: Verdict) -> None:
        self.runs += 1
        self.refused += verdict.kind == "refused"
        self.failed += verdict.bad
        self.fine += verdict.kind == "fine"
        self.packets += verdict.packets
        self.hops += verdict.hops
        self.rtos = max(self.rtos, verdict.rtos)


@dataclass
class Score:
    rows: dict[str, Row] = field(default_factory=dict)
    kinds: dict[str, Row] = field(default_factory=dict)  # of each program ...
    parts: dict[str, Row] = field(default_factory=dict)  # ... and of each algorithm in it
    failures: list[tuple[AnyCase, Verdict]] = field(default_factory=list)

    def add(self, case: AnyCase, verdict: Verdict) -> None:
        self.rows.setdefault(case.cc, Row()).add(verdict)
        kind = "chaos_lives" if isinstance(case, LifeCase) else "weft sim"
        self.kinds.setdefault(kind, Row()).add(verdict)
        for part in (f"{kind} with --cc {case.cc}", f"{kind} with --lb {case.lb}"):
            self.parts.setdefault(part, Row()).add(verdict)
        if verdict.bad:
            self.failures.append((case, verdict))

    @property
    def total(self) -> Row:
        rows = self.rows.values()
        return Row(sum(r.runs for r in rows), sum(r.refused for r in rows), sum(r.failed for r in rows),
                   sum(r.fine for r in rows), sum(r.packets for r in rows), sum(r.hops for r in rows),
                   max((r.rtos for r in rows), default=0.0))

    def hollow(self) -> list[str]:
        """What has not been tried, because cases were refused."""
        said = [] if self.total.fine else ["no run was fine"]
        for name, row in self.kinds.items():
            if row.runs >= ENOUGH_CASES and row.refused > REFUSED_MOST * row.runs:
                said.append(f"{name}: {row.refused} of {row.runs} runs were refused, {REFUSED_MOST:.0%} may be")
        for name, row in sorted(self.parts.items()):
            if row.runs >= ENOUGH_CASES and not row.fine:
                said.append(f"{name}: none of {row.runs} runs was fine, {row.refused} were refused")
        return said

    def table(self) -> str:
        lines = [f"{'':<22}{'runs':>8}{'refused':>9}{'failed':>8}{'packets':>13}{'hops':>14}{'latest end':>12}"]
        for name, r in [*sorted(self.rows.items()), ("all", self.total)]:
            lines.append(f"{name:<22}{r.runs:>8}{r.refused:>9}{r.failed:>8}{r.packets:>13}{r.hops:>14}{r.rtos:>8.1f} RTO")
        return "\n".join(lines)


class Progress:
    """Share of the time, or of the data packets if their number is given, and time left: a line that changes on a terminal,
    some lines elsewhere."""

    def __init__(self, seconds: float, packets: float = 0) -> None:
        self._begin, self._seconds, self._packets, self._said = time.monotonic(), seconds, packets, 0
        self._sent = 0

    @property
    def share(self) -> float:
        """0 to 1: all of it is done."""
        passed = time.monotonic() - self._begin
        return min(self._sent / self._packets if self._packets else passed / self._seconds, 1)

    @property
    def _left_s(self) -> float:
        passed = time.monotonic() - self._begin
        if not self._packets:
            return max(self._seconds - passed, 0)
        return passed * (1 / self.share - 1) if self._sent else 0

    def text(self, score: Score) -> str:
        row = score.total
        done = f"{row.runs} runs, {row.packets / 1e6:.1f} million packets, {row.hops / 1e6:.1f} million hops, {row.failed} failed"
        return f"{100 * self.share:3.0f} %, {self._left_s:4.0f} s left: {done}"

    def say(self, score: Score) -> None:
        self._sent = score.total.packets
        text = self.text(score)
        if sys.stdout.isatty():
            print("\r" + text, end="", flush=True)
        elif int(text[:3]) >= self._said + SAYS_EVERY or (self.share == 1 and self._said < 100):
            self._said = int(text[:3])
            print(text, flush=True)


def seeds_until(progress: Progress, first: int) -> Iterator[int]:
    while progress.share < 1:
        yield first
        first += 1


@dataclass(frozen=True)
class Choice:
    """What cases are drawn from."""
    names: Names
    parameters: tuple[Parameter, ...]
    lives_every: int = LIVES_EVERY
    bytes_times: int = 1

    def case(self, seed: int) -> AnyCase:
        if seed % self.lives_every == 0:
            return random_life(seed, self.names.cc, self.names.lb, self.parameters)
        return random_case(seed, self.names, self.bytes_times)


def run(judge: Judge, choice: Choice, first: int, jobs: int, progress: Progress) -> Score:
    """Judges case after case until all is done."""
    score = Score()
    seeds = seeds_until(progress, first)

    def work() -> Iterator[tuple[AnyCase, Verdict]]:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            cases: dict[concurrent.futures.Future[Verdict], AnyCase] = {}
            while True:
                while len(cases) < jobs and (seed := next(seeds, None)) is not None:
                    case = choice.case(seed)
                    cases[pool.submit(judge.judge, case)] = case
                if not cases:
                    return
                done, _ = concurrent.futures.wait(cases, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    yield cases.pop(future), future.result()

    for case, verdict in work():
        score.add(case, verdict)
        if verdict.bad:
            print(f"\n{verdict.kind}: {verdict.why}\n  {judge.command(case)}", flush=True)
        progress.say(score)
    return score


def shrink_first(judge: Judge, score: Score) -> None:
    """Prints the first failures once more, as small as they become."""
    for case, verdict in score.failures[:SHRINK_MOST]:
        less = shrink(case, lambda c: judge.judge(c).kind == verdict.kind, SHRINK_SECONDS)
        print(f"{verdict.kind}, shrunk: {judge.judge(less).why}\n  {judge.command(less)}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--packets", type=float, default=0, help="until so many data packets were sent, 1e9 such, however long")
    parser.add_argument("--seed", type=int, help="of the first case; the next one's is one more; default: the time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--healed-rtos", type=float, default=HEALED_RTOS, help="base RTOs from the last fault's end to the run's")
    parser.add_argument("--outages", type=float, default=0, help="times the longest fault that a run may last beyond that")
    parser.add_argument("--lives-every", type=int, default=LIVES_EVERY, help="one of so many cases is one with crashes; 1: all")
    parser.add_argument("--bytes-times", type=int, default=1, help="messages so many times as long: more packets in a second")
    options = parser.parse_args()
    lives = os.path.join(options.build, "tests", "chaos", "chaos_lives")
    weft = os.path.join(options.build, "weft")
    names = names_of(subprocess.run([weft, "sim", "--help"], capture_output=True, text=True, check=True).stdout)
    first = int(time.time()) * 1000 if options.seed is None else options.seed
    judge = Judge(weft, options.healed_rtos, options.outages, lives, RUN_LIMIT * options.bytes_times)
    choice = Choice(names, parameters_of(lives), options.lives_every, options.bytes_times)
    print(f"{len(names.cc)} congestion controls, {len(names.lb)} load balancers, first seed {first}", flush=True)
    score = run(judge, choice, first, options.jobs, Progress(options.seconds, options.packets))
    print("\n" + score.table(), flush=True)
    for hollow in score.hollow():
        print(hollow, flush=True)
    shrink_first(judge, score)
    return 1 if score.failures or score.hollow() else 0


if __name__ == "__main__":
    sys.exit(main())
