# SPDX-License-Identifier: BSD-3-Clause
"""Runs a case and judges it: every flow ends, every byte is right, and soon after the wire has healed. `chaos_lives` judges
its cases itself: a broken promise aborts it."""
from __future__ import annotations

import functools
import json
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from chaos_case import Case, simpler
from life_case import LifeCase, simpler_life

AnyCase = Case | LifeCase
RUN_LIMIT = 60.0         # seconds of real time for one run with messages of usual length
RTO_BRTTS = 7            # base RTTs per base RTO: the default of rto_ns
HEALED_RTOS = 10         # a run may last so much longer than it would have ...
HEALED_WORK = 4          # ... and its windows, which faults made small, may cost so many times the healthy run
UNKNOWN_RTO_US = 100000.0  # base RTO where nothing is known of the path (probe_rate=2)
LIFE_REFUSED = 3         # exit status of `chaos_lives` for parameters that do not go together
USAGE = 2                # exit status of `weft` for options that do not go together


@dataclass(frozen=True)
class Verdict:
    kind: str            # fine, refused, or what is wrong: wrong, crash, stall, late, broken
    why: str = ""
    packets: int = 0     # data packets and repetitions
    hops: int = 0
    rtos: float = 0.0    # how long the run lasted after the wire healed and the work was done, in base RTOs

    @property
    def bad(self) -> bool:
        return self.kind not in ("fine", "refused")


class Judge:
    """`weft`: the command; `limit`: base RTOs from the wire's healing to the end; `outages`: how many times as long as the
    longest fault it may last beside that, because timeouts double; `lives`: the program of cases with crashes; `seconds`: of
    real time for one run."""

    def __init__(self, weft: str, limit: float = HEALED_RTOS, outages: float = 0.0, lives: str = "",
                 seconds: float = RUN_LIMIT) -> None:
        self._seconds = seconds
        self._weft = weft
        self._lives = lives
        self._limit = limit
        self._outages = outages
        self.base_rtt_us = functools.lru_cache(maxsize=None)(self._base_rtt_us)

    def command(self, case: AnyCase) -> str:
        if isinstance(case, LifeCase):
            return shlex.join([self._lives, *case.argv()])
        return shlex.join(["weft", "sim", *case.argv()])

    def _sim(self, words: list[str]) -> tuple[int, dict[str, Any] | None, str]:
        """Exit status, the result if there is one, and what the command complains of."""
        run = subprocess.run([self._weft, "sim", *words, "--json", "-"], capture_output=True, text=True, timeout=self._seconds)
        begin = run.stdout.find("{")
        result = json.JSONDecoder().raw_decode(run.stdout[begin:])[0] if begin >= 0 else None
        return run.returncode, result, run.stderr.strip()

    def _base_rtt_us(self, fabric: str) -> float:
        """Time from a full packet's submission to its acknowledgement on the longest idle path."""
        words = ["--topology", fabric, "--matrix", "random:1:4096", "--cc", "fixed"] if fabric.startswith("star") else [
            "--topology", fabric, "--matrix", "tornado:8:4096", "--cc", "fixed"]
        status, result, why = self._sim(words)
        assert status == 0 and result, why
        return float(result["ideal_us"])

    def _rto_us(self, case: Case) -> float:
        unknown = UNKNOWN_RTO_US if case.sets.get("probe_rate") == "2" else 0.0
        return max(RTO_BRTTS * self.base_rtt_us(case.fabric), float(case.sets.get("rto_ns", 0)) / 1000, unknown)

    def _lateness(self, case: Case, end_us: float) -> tuple[float, float]:
        """Base RTOs that passed after the healing and the work, and how many may."""
        heals = case.heals_us
        if not heals or end_us <= heals:
            return 0.0, self._limit
        status, result, _ = self._sim(case.healthy().argv())
        work_us = result["run"]["virtual_us"] if status == 0 and result else end_us
        rto_us = self._rto_us(case)
        patience_us = (HEALED_WORK - 1) * work_us + self._outages * max(end - begin for begin, _, end in case.faults)
        return (end_us - heals - work_us) / rto_us, self._limit + patience_us / rto_us

    def _judge_life(self, case: LifeCase) -> Verdict:
        try:
            run = subprocess.run([self._lives, *case.argv()], capture_output=True, text=True, timeout=self._seconds)
        except subprocess.TimeoutExpired:
            return Verdict("stall", f"no end within {self._seconds:.0f} s of real time")
        why = " ".join(run.stderr.split())[-200:]
        if run.returncode:
            return Verdict("refused" if run.returncode == LIFE_REFUSED else "broken", why)
        words = run.stdout.split()
        packets = int(words[words.index("packets") + 1])
        return Verdict("fine", packets=packets, hops=packets)

    def judge(self, case: AnyCase) -> Verdict:
        if isinstance(case, LifeCase):
            return self._judge_life(case)
        try:
            status, result, why = self._sim(case.argv())
        except subprocess.TimeoutExpired:
            return Verdict("stall", f"no end within {self._seconds:.0f} s of real time")
        if result is None:
            refused = status == USAGE and why
            return Verdict("refused", why[-160:]) if refused else Verdict("crash", f"exit status {status}: {why[-200:]}")
        flows = result["flows"]
        counts = {"packets": result["packets"]["data"] + result["packets"]["retransmitted"], "hops": result["run"]["packet_hops"]}
        if flows["completed"] != flows["count"] or status:
            done = f"{flows['completed']} of {flows['count']} flows completed, exit status {status}"
            return Verdict("stall", f"{done}: {why[-120:]}", **counts)
        if flows["verified"] != flows["count"]:
            return Verdict("wrong", f"{flows['verified']} of {flows['count']} flows had the right bytes", **counts)
        rtos, limit = self._lateness(case, result["run"]["virtual_us"])
        if rtos > limit:
            why = f"ended {rtos:.0f} base RTOs after the wire healed; {limit:.0f} are allowed"
            return Verdict("late", why, rtos=rtos, **counts)
        return Verdict("fine", rtos=max(rtos, 0.0), **counts)


def smaller(case: AnyCase) -> Iterator[AnyCase]:
    if isinstance(case, LifeCase):
        yield from simpler_life(case)
    else:
        yield from simpler(case)


def steps(case: AnyCase, fails: Callable[[AnyCase], bool], seconds: float) -> Iterator[AnyCase]:
    """Simpler and simpler cases that still fail, for at most so long."""
    deadline = time.monotonic() + seconds
    found: AnyCase | None = case
    while found:
        case, found = found, None
        for less in smaller(case):
            if time.monotonic() > deadline:
                return
            if fails(less):
                yield less
                found = less
                break


def shrink(case: AnyCase, fails: Callable[[AnyCase], bool], seconds: float = 60.0) -> AnyCase:
    """The simplest case found within the time that fails in the same way."""
    for less in steps(case, fails, seconds):
        case = less
    return case
