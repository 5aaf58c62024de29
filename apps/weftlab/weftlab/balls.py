# SPDX-License-Identifier: BSD-3-Clause
"""Balls into bins, the model behind REPS (section 5.1, appendices B and D.1 of its paper): packets are balls, ports are
bins, entropies are colors."""
from __future__ import annotations

import argparse
import math
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Callable, Sequence

from .errors import UnwritableError, UsageError
from .help import new_command, nothing_more

if TYPE_CHECKING:
    import numpy as np

DRAWS = 20  # of a load imbalance
MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Model:
    """The batched process: in every round each bin that is not empty loses its oldest ball, then up to `bins` balls
    come."""

    bins: int = 8  # output ports
    rounds: int = 200
    load: int = 100  # balls that come, percent of one per bin and round; each comes or not by a draw
    recycle: int = 1  # every n-th removed ball tells its color how the bin was; 0: bins are always drawn (OPS)
    threshold: int = 9  # balls in a bin beyond which a color forgets it (tau)
    colors: int = 5  # per bin (b); they take turns
    seed: int = 1


@dataclass(frozen=True)
class Fill:
    """How full the bins were."""

    most: int  # balls in a bin at any time
    last: int  # fullest bin after the last round
    mean: float  # fullest bin, mean of the rounds
    settled: int  # first round after which no bin was above the threshold any more; the number of rounds: never


class Random:
    """splitmix64 (Steele, Lea, Flood 2014), as the lab has it: the same seed draws the same numbers."""

    def __init__(self, seed: int) -> None:
        self.state = mix(seed)

    def below(self, n: int) -> int:
        """Uniform in 0..n-1."""
        self.state = (self.state + GOLDEN) & MASK
        return ((mix(self.state) >> 32) * n) >> 32


def mix(x: int) -> int:
    """A well-mixed function of an unsigned 64-bit integer."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class _Process:
    """The bins and what the colors remember."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.bins: list[deque[int]] = [deque() for _ in range(model.bins)]  # colors of the balls, oldest first
        self.remembered: list[int | None] = [None] * (model.bins * model.colors)  # bin by color
        self.turn = 0  # color of the next ball
        self.told = 0  # balls removed since one told its color
        self.random = Random(model.seed)

    def remove(self) -> None:
        """Every bin loses its oldest ball."""
        for at, balls in enumerate(self.bins):
            count = len(balls)
            if count:
                color = balls.popleft()
                if self.model.recycle:
                    self._learn(color, at, count)

    def _learn(self, color: int, at: int, count: int) -> None:
        """What the ball's ACK brings: the bin is remembered unless it was too full, when it is forgotten. A ball
        without an ACK of its own takes its color's memory of this bin along: an entropy that is not acknowledged is
        not cached."""
        self.told = (self.told + 1) % self.model.recycle
        good = self.told == 0 and count <= self.model.threshold
        if good and self.remembered[color] is None:
            self.remembered[color] = at
        elif not good and self.remembered[color] == at:
            self.remembered[color] = None

    def throw(self) -> None:
        """New balls come."""
        model = self.model
        for _ in range(model.bins):
            color = self.turn
            self.turn = (self.turn + 1) % len(self.remembered)
            if model.load < 100 and self.random.below(100) >= model.load:
                continue
            known = self.remembered[color]
            self.bins[self.random.below(model.bins) if known is None else known].append(color)


def play(model: Model, observe: Callable[[int, list[int]], None] | None = None) -> Fill:
    """Runs the process. `observe` gets every round and its balls per bin."""
    process = _Process(model)
    most = total = settled = fullest = 0
    for number in range(model.rounds):
        process.remove()
        process.throw()
        counts = [len(balls) for balls in process.bins]
        fullest = max(counts)
        most = max(most, fullest)
        total += fullest
        if fullest > model.threshold:
            settled = number + 1
        if observe:
            observe(number, counts)
    return Fill(most, fullest, total / model.rounds, settled)


def imbalance(bins: int, flows: int, entropies: int, seed: int) -> float:
    """Load imbalance (appendix B): `flows` times `entropies` balls thrown at once; how far the fullest bin is above the
    mean, as a share of the mean."""
    import numpy as np

    balls = flows * entropies
    with np.errstate(over="ignore"):
        states: np.ndarray[Any, Any] = np.arange(1, balls + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        drawn = _mix_array(states + np.uint64(mix(seed)))
    counts = np.bincount((((drawn >> np.uint64(32)) * np.uint64(bins)) >> np.uint64(32)).astype(np.int64))
    return float(counts.max()) * bins / balls - 1


def _mix_array(x: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """mix() of unsigned 64-bit integers."""
    import numpy as np

    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray[Any, Any] = x ^ (x >> np.uint64(31))
    return mixed


def add(commands: Any) -> None:
    """weft balls"""
    command = new_command(
        commands, "balls", balls, "balls into bins: the model behind REPS",
        "Balls into bins, the model behind REPS (section 5.1): output ports are bins that lose a ball in every round, "
        "packets\nare balls that go to a bin by chance (OPS), or to the one their color remembers from a ball that "
        "found it short.")
    for name, text, default in (
            ("bins", "output ports; default: 8", 8), ("rounds", "default: 200", 200),
            ("load", "percent of one new ball per bin and round; default: 100", 100),
            ("threshold", "a color forgets bins with more balls; default: 4 ln bins", 0),
            ("colors", "per bin; default: 2.4 ln bins, at least 1", 0),
            ("recycle", "every N-th ball tells its color (ACK coalescing); default: 1", 1), ("seed", "default: 1", 1)):
        command.add_argument(f"--{name}", type=int, metavar="N", default=default, help=text.replace("%", "%%"))
    command.add_argument("--csv", metavar="FILE", help="balls per bin after every round")
    command.add_argument("--entropies", type=int, metavar="N", default=0,
                         help="instead: throw N balls of every flow at once and tell the load imbalance (appendix B)")
    command.add_argument("--flows", type=int, metavar="N", default=1, help="default: 1")


def balls(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Prints the model's tables."""
    nothing_more(rest)
    if min(options.bins, options.recycle, options.flows, options.rounds) < 1 or not 1 <= options.load <= 100:
        raise UsageError("bins, rounds, recycle, flows: at least 1; load: 1 to 100 percent")
    if min(options.threshold, options.colors, options.entropies, options.seed) < 0:
        raise UsageError("threshold, colors, entropies, seed: not below 0")
    if options.entropies:
        print_imbalance(options)
    else:
        print_fill(options)
    return 0


def print_fill(options: argparse.Namespace) -> None:
    """OPS beside recycled balls; the bounds are those of Theorem 5.1 where none are given."""
    logarithm = math.log(options.bins) if options.bins > 1 else 1.0
    model = Model(options.bins, options.rounds, options.load, options.recycle,
                  options.threshold or math.ceil(4 * logarithm), options.colors or math.ceil(2.4 * logarithm),
                  options.seed)
    lines = ["model,round,bin,balls\n"]
    print(f"{model.bins} bins, threshold {model.threshold}, {model.colors} colors per bin")
    print(f"{'':<10} {'max':>8} {'mean max':>10} {'last max':>8} {'settled after':>14}")
    for name, one in (("ops", replace(model, recycle=0)), ("recycled", model)):
        found = play(one, lambda number, counts: lines.extend(
            f"{name},{number},{at},{count}\n" for at, count in enumerate(counts)))
        settled = "never" if found.settled == model.rounds else str(found.settled)
        print(f"{name:<10} {found.most:>8} {found.mean:>10.1f} {found.last:>8} {settled:>14}")
    if options.csv:
        try:
            with open(options.csv, "w", encoding="utf-8") as file:
                file.writelines(lines)
        except OSError as error:
            raise UnwritableError(f"{options.csv}: {error.strerror}") from error


def print_imbalance(options: argparse.Namespace) -> None:
    """Mean and range over some draws."""
    found = [imbalance(options.bins, options.flows, options.entropies, options.seed + draw) for draw in range(DRAWS)]
    print(f"{options.bins} bins, {options.flows} flows, {options.entropies} entropies: fullest bin "
          f"{100 * sum(found) / DRAWS:.2f} % above the mean ({100 * min(found):.2f} to {100 * max(found):.2f} in "
          f"{DRAWS} draws)")
