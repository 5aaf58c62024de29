#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A serial all-to-all of 16 hosts as a fluid: makespan over ideal by how a receiver shares its link among senders.

Host i sends 15 messages, one after the other, to hosts i + 1, i + 2, ... Each takes a little more than its share of
time would be, at random. Where messages meet at a receiver, each younger one gets 1 / WEIGHT of the rate of the next
older one. fluid_alltoall.py prints the table of doc/notes/serial-alltoall.md.
"""
from __future__ import annotations

import random
import statistics

HOSTS, ROUNDS, SEEDS = 16, 15, 20


def rates(senders: list[int], start: list[float], weight: float) -> dict[int, float]:
    """What each of the senders to one receiver gets, of its link."""
    order = sorted(senders, key=lambda host: start[host])
    parts = [weight ** -place for place in range(len(order))]
    return {host: part / sum(parts) for host, part in zip(order, parts)}


def makespan(noise: float, weight: float, seed: int) -> float:
    """Over the ideal; `noise`: standard deviation of what a message takes longer, as a part of it."""
    rng = random.Random(seed)
    done = [0] * HOSTS
    start = [0.0] * HOSTS
    left = [1 + abs(rng.gauss(0, noise)) for _ in range(HOSTS)]
    now = 0.0
    while any(count < ROUNDS for count in done):
        towards: dict[int, list[int]] = {}
        for host in range(HOSTS):
            if done[host] < ROUNDS:
                towards.setdefault((host + 1 + done[host]) % HOSTS, []).append(host)
        rate = {h: r for senders in towards.values() for h, r in rates(senders, start, weight).items()}
        step = min(left[host] / rate[host] for host in rate)
        now += step
        for host, part in rate.items():
            left[host] -= step * part
            if left[host] < 1e-9:
                done[host] += 1
                start[host] = now
                left[host] = 1 + abs(rng.gauss(0, noise))
    return now / ROUNDS


def main() -> None:
    """Prints the table."""
    weights = {"older 2 : 1": 2.0, "alike": 1.0, "younger 1.2 : 1": 1 / 1.2, "younger 1.4 : 1": 1 / 1.4}
    print("| a message takes longer by | " + " | ".join(weights) + " |")
    print("|--:|" + "--:|" * len(weights))
    for noise in (0.01, 0.02, 0.05):
        cells = []
        for weight in weights.values():
            runs = [makespan(noise, weight, seed) for seed in range(SEEDS)]
            cells.append(f"{statistics.mean(runs):.3f}, up to {max(runs):.3f}")
        print(f"| {noise:.0%} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
