#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench_host.py BUILD [--rounds N] [--duration T] - two processes through `weft host`, beside the same two that are joined by
a vhost-user socket, in turn on this machine, by `weft perf`: half a round trip of 8 bytes, and bandwidth of messages of 1 MiB.
Medians of the rounds, with the ratio of the two. The processes poll: with fewer than three processors of their own they wait
for the scheduler, through `weft host` more often; other programs disturb."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

SMALL, LARGE = 8, 1 << 20
PORT = 18600
# What is measured: test, bytes, field; unit and factor; what the ratio of the two is to be.
ROWS = (("latency", SMALL, "min_us", "us, least", 1.0, "at most 1.6"),
        ("latency", SMALL, "p50_us", "us, median", 1.0, "at most 1.6"),
        ("latency", LARGE, "p50_us", "us, median", 1.0, ""),
        ("bandwidth", LARGE, "bytes_per_second", "MB/s", 1e-6, "at least 0.7"))
Run = dict[tuple[str, int, str], float]


def perf(options: argparse.Namespace, folder: str, server: dict[str, str], client: dict[str, str]) -> Run:
    program = [f"{options.build}/weft", "perf", "--port", str(PORT)]
    base = dict(os.environ, FI_PROVIDER_PATH=options.build)
    out = f"{folder}/perf.json"
    with subprocess.Popen(program, env=base | server, stdout=subprocess.DEVNULL) as waiting:
        try:
            time.sleep(1)  # a client does not ask twice
            done = subprocess.run([*program, "localhost", "--size", f"{SMALL},{LARGE}", "--duration", options.duration, "--json",
                                   out], env=base | client, capture_output=True, text=True, timeout=120)
        finally:
            waiting.terminate()
    if done.returncode != 0:
        sys.exit(f"bench_host: {done.stderr[-1000:]}")
    with open(out, encoding="utf-8") as f:
        rows = json.load(f)["rows"]
    return {(row["test"], row["bytes"], key): float(row[key]) for row in rows for key in row if key not in ("test", "bytes")}


def direct(options: argparse.Namespace) -> Run:
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        return perf(options, folder, {"FI_WEFT_DEVICE": f"net_vhost0,iface={folder}/port", "FI_WEFT_ADDR": "10.98.0.1"},
                    {"FI_WEFT_DEVICE": f"net_virtio_user0,path={folder}/port", "FI_WEFT_ADDR": "10.98.0.2"})


def through_host(options: argparse.Namespace) -> Run:
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        host = [f"{options.build}/weft", "host", "--uplink", "net_ring0", "--uplink-addr", "10.98.0.1", "--addresses",
                "10.98.0.10+2", "--dir", f"{folder}/host"]
        with subprocess.Popen(host, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout
            if "ready" not in running.stdout.readline():
                sys.exit("bench_host: weft host did not start")
            try:
                device = {"FI_WEFT_DEVICE": f"host:{folder}/host"}
                return perf(options, folder, device, device)
            finally:
                running.terminate()


def show(pairs: list[tuple[Run, Run]]) -> None:
    print("| | bytes | unit | direct | weft host | ratio | wanted |\n|---|--:|---|--:|--:|--:|---|")
    for test, size, key, unit, factor, wanted in ROWS:
        plain = statistics.median(a[test, size, key] for a, _ in pairs) * factor
        hosted = statistics.median(b[test, size, key] for _, b in pairs) * factor
        print(f"| {test} | {size} | {unit} | {plain:.4g} | {hosted:.4g} | {hosted / plain:.2f} | {wanted} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--duration", default="500ms", help="of each measurement")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    show([(direct(options), through_host(options)) for _ in range(options.rounds)])


main()
