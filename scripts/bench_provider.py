#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench_provider.py BUILD [--seconds S] [--rounds N] [--only TEXT] - latency, message rate and bandwidth of the provider
beside those of libfabric's own, measured in turn by one program (tests/perf/perf_provider.c) on this machine. Each number is
the best of ten short batches, and the median of the rounds. Prints Markdown tables. The links between network namespaces
need root; without, they are left out, which the last line says."""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

Results = dict[tuple[str, int], list[float]]  # by measure and bytes

VETH = ("ip link add w0 mtu 9000 type veth peer name w1 mtu 9000 netns {pid}; ip link set lo up; ip link set w0 up; "
        "ip addr add 10.98.0.1/24 dev w0; nsenter --net --target {pid} sh -c "
        "'ip link set lo up; ip link set w1 up; ip addr add 10.98.0.2/24 dev w1'")
UNITS = {"latency_us": "half a round trip, us", "rate_mps": "message rate, million per second",
         "bandwidth_mbs": "bandwidth, MB/s (10^6 bytes)"}
# Provider on its usual link; every other row of a table is compared by hand with these.
TCP_LO, TCP_VETH, UDP_VETH = "tcp;ofi_rxm, loopback", "tcp;ofi_rxm, veth", "udp;ofi_rxd, veth"


def weft(build: str, folder: str, devices: list[str]) -> list[str]:
    common = ["--env", f"FI_PROVIDER_PATH={build}"]
    sides = [["--env", f"FI_WEFT_ADDR=10.98.0.{i + 1}", "--env", "FI_WEFT_DEVICE=" + device.format(d=folder)]
             for i, device in enumerate(devices)]
    return ["--prov", "weft", *common, *sides[0], "--second", *common, *sides[1]]


def cases(build: str, folder: str, netns: str | None) -> Iterator[tuple[str, list[str]]]:
    memif = "net_memif0,role={},id=0,socket={{d}}/memif.sock,socket-abstract=no"
    yield "weft, memif", weft(build, folder, [memif.format("server"), memif.format("client")])
    yield "weft, vhost to virtio-user", weft(build, folder, ["net_vhost0,iface={d}/vhost.sock",
                                                             "net_virtio_user0,path={d}/vhost.sock"])
    yield "shm", ["--prov", "shm", "--second"]
    for name in ("tcp;ofi_rxm", "udp;ofi_rxd"):
        yield f"{name}, loopback", ["--prov", name, "--node", "127.0.0.1", "--second", "--node", "127.0.0.1"]
    if not netns:
        return
    for name in ("tcp;ofi_rxm", "udp;ofi_rxd"):
        yield f"{name}, veth", ["--prov", name, "--node", "10.98.0.1", "--second", "--netns", netns, "--node", "10.98.0.2"]
    args = weft(build, folder, ["net_af_packet0,iface=w0", "net_af_packet0,iface=w1"])
    yield "weft, af_packet on veth", [*args, "--netns", netns]


def measure(build: str, seconds: float, args: list[str], results: Results) -> bool:
    run = subprocess.run([f"{build}/tests/perf/perf_provider", "--seconds", str(seconds), *args], text=True,
                         capture_output=True, timeout=300)
    if run.returncode != 0:
        print(f"{args}: {run.stderr[-500:]}", file=sys.stderr)
    for line in run.stdout.splitlines():
        _, what, size, value = line.rsplit(" ", 3)
        results.setdefault((what, int(size)), []).append(float(value))
    return run.returncode == 0


def table(what: str, results: dict[str, Results]) -> None:
    names = list(results)
    sizes = sorted({size for row in results.values() for kind, size in row if kind == what})
    digits = 2 if what != "bandwidth_mbs" else 0
    print(f"\n{UNITS[what]}:\n\n| bytes | " + " | ".join(str(s) for s in sizes) + " |")
    print("|---|" + "--:|" * len(sizes))
    for name in names:
        cells = [f"{statistics.median(results[name][what, s]):.{digits}f}" if (what, s) in results[name] else "-"
                 for s in sizes]
        print(f"| {name} | " + " | ".join(cells) + " |")


def ratios(results: dict[str, Results]) -> None:
    def value(name: str, what: str, size: int) -> float:
        return statistics.median(results[name][what, size])

    wanted = [("8-byte latency", "latency_us", 8, 1 / 3, TCP_LO), ("8-byte message rate", "rate_mps", 8, 4, TCP_LO),
              ("1 MiB bandwidth", "bandwidth_mbs", 1048576, 2, TCP_VETH)]
    rows = [(f"{text}, {link} / {base}", f"weft, {link}", what, size, goal, base) for text, what, size, goal, base in wanted
            for link in ("memif", "vhost to virtio-user")]
    rows += [("1 MiB bandwidth, memif / " + TCP_LO, "weft, memif", "bandwidth_mbs", 1048576, 2, TCP_LO),
             ("1 MiB bandwidth, vhost to virtio-user / " + TCP_LO, "weft, vhost to virtio-user", "bandwidth_mbs", 1048576, 2,
              TCP_LO),
             ("8-byte latency, af_packet / " + TCP_VETH, "weft, af_packet on veth", "latency_us", 8, 1, TCP_VETH),
             ("1 MiB bandwidth, af_packet / " + UDP_VETH, "weft, af_packet on veth", "bandwidth_mbs", 1048576, 3, UDP_VETH)]
    print("\n| ratio | measured | wanted | |\n|---|--:|--:|---|")
    for text, name, what, size, goal, base in rows:
        try:
            ratio = value(name, what, size) / value(base, what, size)
        except KeyError:
            continue
        good = ratio <= goal if what == "latency_us" else ratio >= goal
        sign = "at most" if what == "latency_us" else "at least"
        print(f"| {text} | {ratio:.2f} | {sign} {goal:.2f} | {'yes' if good else '**no**'} |")


def inside(options: argparse.Namespace, folder: str) -> bool:
    """In a network namespace of our own; another is held open by a sleeping process."""
    holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    time.sleep(0.3)
    netns: str | None = f"/proc/{holder.pid}/ns/net"
    made = subprocess.run(["sh", "-c", "set -e; " + VETH.format(pid=holder.pid)], capture_output=True, text=True)
    if made.returncode:
        print(f"no veth pair: {made.stderr.strip()}", file=sys.stderr)
        netns = None
    results: dict[str, Results] = {}
    good = True
    try:
        for _ in range(options.rounds):
            for name, args in cases(options.build, folder, netns):
                if options.only in name:
                    good &= measure(options.build, options.seconds, args, results.setdefault(name, {}))
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    for what in UNITS:
        table(what, results)
    ratios(results)
    print(f"\nload at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs; "
          f"{'all links' if netns else 'without links between network namespaces'}")
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=0.2, help="per measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    options = parser.parse_args()
    options.build = os.path.realpath(options.build)
    if not os.environ.get("WEFT_BENCH_INSIDE"):
        os.environ["WEFT_BENCH_INSIDE"] = "yes"
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        os.execvp("unshare", ["unshare", *user, "--net", "--mount", sys.executable, *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        sys.exit(0 if inside(options, folder) else 1)


main()
