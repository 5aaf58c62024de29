#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.py FLOWS PROVIDER_DIR [--quick] [--repeats N] - the provider beside TCP on a leaf-spine of the kernel, told nothing but the
interfaces' names. Prints a table and what was asked of it; exit status 1: something of that does not hold. Needs root."""
import argparse
import collections.abc
import dataclasses
import json
import os
import shutil
import statistics
import subprocess
import sys

import fabric

HEADERS_BYTES = 20 + 8 + 12 + 44 + fabric.ETHERNET_BYTES  # of a data packet, as the shapers count it
SKIPPED = 77  # what meson takes for "skipped"
EVENT_MS = 300


@dataclasses.dataclass(frozen=True)
class Carrier:
    """Who carries the flows."""
    name: str
    lb: str = ""  # the provider's load balancer; "": TCP
    tcp: str = ""


REPS, OPS, ECMP = (Carrier(f"auto+{lb}", lb=lb) for lb in ("reps", "ops", "ecmp"))
CUBIC = Carrier("TCP cubic", tcp="cubic")


@dataclasses.dataclass
class Outcome:
    makespan_ms: float
    failed: int
    counters: dict[str, int]
    messages: str

    @property
    def again(self) -> float:
        """Packets sent again, per packet."""
        return self.counters["tx_retx"] / self.counters["tx_data"] if self.counters else 0.0


class Bench:
    def __init__(self, net: fabric.Fabric, flows: str, provider: str, seconds: int) -> None:
        self.net, self.flows, self.provider, self.seconds = net, flows, provider, seconds

    def _hosts(self) -> list[str]:
        return [f"/run/netns/{self.net.host(i)},eth{i},{self.net.address(i)}" for i in range(self.net.host_count)]

    def run(self, carrier: Carrier, flows: list[tuple[int, int, int]], event: str = "") -> Outcome:
        """One round of flows; `event` happens to the fabric after EVENT_MS."""
        env = dict(os.environ, FI_PROVIDER_PATH=self.provider, FI_LOG_LEVEL="warn", FI_LOG_PROV="weft")
        if carrier.lb != REPS.lb:  # which is what auto chooses
            env["FI_WEFT_LB"] = carrier.lb
        command = [self.flows, f"tcp:{carrier.tcp}" if carrier.tcp else "weft", "-t", str(self.seconds)]
        if event:
            command += ["-x", event, "-X", str(EVENT_MS)]
        command += [*self._hosts(), "--", *(f"{a},{b},{size}" for a, b, size in flows)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, start_new_session=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        rounds = [line for line in lines if "makespan_ms" in line]
        counters = [line["counters"] for line in lines if "counters" in line]
        if not rounds:
            raise RuntimeError(f"{carrier.name}: exit {done.returncode}: {done.stderr.strip()}")
        return Outcome(rounds[0]["makespan_ms"], rounds[0]["failed"], counters[0] if counters else {}, done.stderr)


def permutation(net: fabric.Fabric, size: int) -> list[tuple[int, int, int]]:
    """Everybody to its twin under the next leaf: every flow crosses the spines."""
    n = net.host_count
    return [(i, (i + net.shape.hosts) % n, size) for i in range(n)]


def incast(net: fabric.Fabric, size: int) -> list[tuple[int, int, int]]:
    return [(i, 0, size) for i in range(1, net.host_count)]


def ideal_ms(net: fabric.Fabric, sizes: list[int], outcome: Outcome, flows: int) -> float:
    """The bytes of these messages, with the headers of their packets, at the rate of one cable."""
    packets = outcome.counters["tx_data"] / flows * len(sizes)
    return (sum(sizes) + packets * HEADERS_BYTES) * 8 / (net.shape.rate_mbit * 1e3)


@dataclasses.dataclass
class Row:
    case: str
    carrier: Carrier
    outcomes: list[Outcome]

    @property
    def ms(self) -> float:
        return statistics.median(outcome.makespan_ms for outcome in self.outcomes)

    @property
    def failed(self) -> int:
        return sum(outcome.failed for outcome in self.outcomes)

    @property
    def again(self) -> float:
        return statistics.median(outcome.again for outcome in self.outcomes)

    def text(self, ideal: float | None) -> str:
        times = "/".join(f"{outcome.makespan_ms:.0f}" for outcome in self.outcomes)
        ratio = f"{self.ms / ideal:6.2f}" if ideal else "     -"
        again = f"{100 * self.again:7.1f}" if self.carrier.lb else "      -"
        return f"{self.case:12} {self.carrier.name:12} {self.ms:8.0f} {ratio} {again} {self.failed:6}  {times}"


class Report:
    """Rows as they come, then what was asked of them."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Row] = {}
        self.broken = 0
        print(f"{'case':12} {'carrier':12} {'ms':>8} {'/ideal':>6} {'again %':>7} {'failed':>6}  each", flush=True)

    def add(self, row: Row, ideal: float | None) -> None:
        self.rows[row.case, row.carrier.name] = row
        print(row.text(ideal), flush=True)
        for outcome in row.outcomes:
            if outcome.failed and row.carrier == REPS:
                print(outcome.messages, file=sys.stderr)

    def get(self, case: str, carrier: Carrier) -> Row:
        return self.rows[case, carrier.name]

    def expect(self, text: str, holds: bool) -> None:
        self.broken += not holds
        print(f"{'ok  ' if holds else 'FAIL'} {text}", flush=True)


def repeat(bench: Bench, case: str, carriers: list[Carrier], flows: list[tuple[int, int, int]], repeats: int,
           change: collections.abc.Callable[[], tuple[str, str]] | None = None) -> list[Row]:
    """The carriers take turns, so that whatever else the machine does meets all of them."""
    rows = [Row(case, carrier, []) for carrier in carriers]
    for _ in range(repeats):
        for row in rows:
            event, undo = change() if change else ("", "")
            row.outcomes.append(bench.run(row.carrier, flows, event))
            if undo:
                subprocess.run(["sh", "-c", undo], check=True)
    return rows


def measure(bench: Bench, report: Report, repeats: int) -> None:
    net = bench.net
    flows = permutation(net, 2 << 20)
    rows = repeat(bench, "permutation", [REPS, OPS, ECMP, CUBIC], flows, repeats)
    ideal = ideal_ms(net, [2 << 20], rows[0].outcomes[0], len(flows))
    for row in rows:
        report.add(row, ideal)
    reps, ecmp, tcp = rows[0].ms, rows[2].ms, rows[3].ms
    report.expect(f"permutation within 1.10 of ideal: {reps / ideal:.2f}", reps <= 1.10 * ideal)
    report.expect(f"... and 1.7 times sooner than with ECMP: {ecmp / reps:.2f}", ecmp >= 1.7 * reps)
    report.expect(f"... and than by TCP: {tcp / reps:.2f}", tcp >= 1.7 * reps)
    flows = incast(net, 512 << 10)
    rows = repeat(bench, "incast", [REPS, OPS, ECMP, CUBIC], flows, repeats)
    ideal = ideal_ms(net, [size for _, _, size in flows], rows[0].outcomes[0], len(flows))
    for row in rows:
        report.add(row, ideal)
    report.expect(f"incast within 1.03 of ideal: {rows[0].ms / ideal:.3f}", rows[0].ms <= 1.03 * ideal)
    report.expect("nothing of these was lost", not any(row.failed for row in report.rows.values() if row.carrier.lb))
    for case, change in (("cut cable", net.cut), ("silent spine", net.silence), ("slow link", net.slow)):
        rows = repeat(bench, case, [REPS, OPS, ECMP, CUBIC], permutation(net, 4 << 20), repeats, change)
        for row in rows:
            report.add(row, None)
        report.expect(f"{case}: no operation failed", rows[0].failed == 0)
        report.expect(f"{case}: sooner than TCP, or TCP never ends: {rows[0].ms:.0f} ms, {rows[3].ms:.0f} ms",
                      rows[3].failed > 0 or rows[0].ms < rows[3].ms)


def check(bench: Bench, report: Report) -> None:
    """What holds on a busy machine, too: all arrives, whole. A window that doubles ends with the first trim, at no more than
    twice what the path holds: so not more is sent again than was sent. Without a rate that is found, it was six times that."""
    net = bench.net
    size = 512 << 10
    flows = permutation(net, size)
    row = Row("permutation", REPS, [bench.run(REPS, flows)])
    report.add(row, None)
    report.expect("all arrived as it was sent", row.failed == 0)
    report.expect(f"less than one packet in one is sent again: {row.again:.2f}", row.again < 1)
    done = bench.run(REPS, incast(net, 128 << 10))
    report.add(Row("incast", REPS, [done]), None)
    report.expect("an incast, too", done.failed == 0)
    event, _ = net.silence()
    row = Row("silent spine", REPS, [bench.run(REPS, flows, event)])
    report.add(row, None)
    report.expect("a spine that forwards nothing costs no operation", row.failed == 0)


def missing() -> str:
    """What keeps the fabric from being built here, or ""."""
    if os.geteuid() != 0:
        return "needs root, for network namespaces and BPF"
    absent = [tool for tool in ("ip", "tc", "ethtool", "clang", "bpftool", "nsenter", "sysctl") if not shutil.which(tool)]
    if absent:
        return f"needs {', '.join(absent)}"
    return "" if os.path.exists("/sys/kernel/btf/vmlinux") else "the kernel has no type information for BPF"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flows")
    parser.add_argument("provider")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    with fabric.Fabric(fabric.Shape()) as net:
        bench = Bench(net, os.path.abspath(options.flows), os.path.abspath(options.provider), 20)
        report = Report()
        if options.quick:
            check(bench, report)
        else:
            measure(bench, report, options.repeats)
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main())
