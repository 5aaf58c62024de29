# SPDX-License-Identifier: BSD-3-Clause
"""Random cases for `chaos_lives`: two hosts that crash and start again, allocations that fail, a bad wire, and any values of the
engine's parameters. A case is a value; `argv` makes it a command line, `simpler` lists the cases that are a step smaller."""
from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

MS = 1000 * 1000
# Narrower ranges than the engine's: beyond them a live peer is rightly given up, or the end takes hours. Nanoseconds.
LIMITS = {
    "link_bps": (5 * 10 ** 10, 4 * 10 ** 11),
    "brtt_ns": (10 ** 4, MS // 10), "brtt_floor_ns": (0, MS), "brtt_floor_pkts": (0, 100),
    "rto_ns": (0, 10 * MS), "rto_max_ns": (10 * MS, 60000 * MS),
    "reorder_ns": (0, 10 * MS), "ack_delay_ns": (0, MS), "reorder_shim_ns": (0, MS),
    "rtt_memory_ns": (0, 10 * MS), "peer_timeout_ns": (1000 * MS, 60000 * MS),
}
TUNED_SHARE = 0.7          # of the cases have parameters at unusual values ...
TUNED_MOST = 8             # ... so many
RATES_PPM = (0, 0, 100, 1000, 10000, 50000)


@dataclass(frozen=True)
class Parameter:
    key: str
    least: int
    most: int


@dataclass(frozen=True)
class LifeCase:
    cc: str
    lb: str
    seed: int
    sets: dict[str, str] = field(default_factory=dict)  # what happens, and the engine's parameters

    def argv(self) -> list[str]:
        return [f"seed={self.seed}", f"cc={self.cc}", f"lb={self.lb}", *(f"{k}={v}" for k, v in self.sets.items())]


def parameters_of(program: str) -> tuple[Parameter, ...]:
    """The engine's parameters with the ranges of a case."""
    text = subprocess.run([program, "parameters"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return tuple(Parameter(key, *LIMITS.get(key, (int(least), int(most)))) for key, _, least, most in rows)


def value_of(r: random.Random, p: Parameter) -> int:
    """Either end of the range, or between with equal chance for each power of two."""
    bits = r.uniform(0, (p.most - p.least + 1).bit_length())
    return r.choice([p.least, p.most, *3 * [min(p.most, p.least + int(2 ** bits) - 1)]])


def events(r: random.Random) -> dict[str, int]:
    numbers = {"rounds": r.randrange(1, 5), "messages": r.choice([1, 5, 40, 200]), "bytes": r.choice([1, 300, 20000, 65536])}
    numbers |= {"crashes": r.choice([0, 1, 1, 3]), "down_us": r.choice([0, 100, 2000, 100000])}
    numbers |= {f"{kind}_ppm": r.choice(RATES_PPM) for kind in ("loss", "dup", "late", "trim", "mark")}
    numbers |= {"late_ns": r.choice([1000, 20000, 500000]), "outages": r.choice([0, 0, 1, 3])}
    numbers |= {"outage_us": r.choice([50, 1000, 50000])}
    if r.random() < 0.5:
        numbers |= {"nomem": r.randrange(1, 200), "nomem_rest": r.randrange(2), "boot_nomem": r.randrange(0, 80)}
    return numbers


def random_life(seed: int, ccs: tuple[str, ...], lbs: tuple[str, ...], parameters: tuple[Parameter, ...]) -> LifeCase:
    r = random.Random(seed)
    sets = {key: str(number) for key, number in events(r).items()}
    if r.random() < TUNED_SHARE:
        for p in r.sample(parameters, r.randrange(1, TUNED_MOST + 1)):
            sets[p.key] = str(value_of(r, p))
    named = [cc for cc in ccs if cc != "auto"]  # that is one of the others, and parameters, which are drawn anyway
    return LifeCase(r.choice(named), r.choice(lbs), seed, sets)


def simpler_life(case: LifeCase) -> Iterator[LifeCase]:
    """Cases that a reader understands sooner, the largest steps first."""
    for key in case.sets:
        yield replace(case, sets={k: v for k, v in case.sets.items() if k != key})
    for key in ("rounds", "messages", "bytes", "crashes", "outages", "outage_us", "late_ns", "down_us"):
        number = int(case.sets.get(key, 0))
        for less in (1, number // 4, number // 2):
            if 0 < less < number:
                yield replace(case, sets={**case.sets, key: str(less)})
    for change in ({"cc": "fixed"}, {"cc": case.cc.split("+")[0]}, {"lb": "ops"}):
        less_named = replace(case, **change)  # type: ignore[arg-type]
        if less_named != case:
            yield less_named
