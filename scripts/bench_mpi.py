#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench_mpi.py BUILD [--seconds S] [--rounds N] [--gbps N] - Open MPI over the provider, through `weft switch` by shared
buffers and by vhost-user, beside Open MPI over tcp;ofi_rxm, in turn on this machine: start of four ranks and the memory of
one, then latency and bandwidth between two ranks by size (tests/perf/perf_mpi.c). Medians of the rounds, with the ratios to
the last. Two ranks and the switch share the processors; other programs disturb."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

Key = tuple[str, int]  # measure and bytes
Results = dict[Key, list[float]]

TCP = "tcp;ofi_rxm"
PORTS = {"shm": "shm:", "vhost": "net_virtio_user0,path="}  # options of the switch, and what ranks open before the path
NAMES = {"init_s": "MPI_Init, 4 ranks, s", "resident_mb": "memory of a rank, MB",
         "latency_us": "half a round trip, us", "bandwidth_mbs": "bandwidth, 16 at a time, MB/s"}


def run(ranks: int, provider: str, program: list[str], **env: str) -> list[str]:
    """The lines that rank 0 prints."""
    # mpirun refuses root unless told twice.
    env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    mpirun = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), "--mca", "pml", "cm", "--mca", "mtl",
              "ofi", "--mca", "btl", "self", "--mca", "osc", "pt2pt", "--mca", "opal_common_ofi_provider_include", provider]
    done = subprocess.run([*mpirun, *program], text=True, capture_output=True, timeout=600, env=dict(os.environ, **env))
    if done.returncode != 0:
        sys.exit(f"bench_mpi: {provider}: {done.stderr[-1000:]}")
    return done.stdout.splitlines()


def through_switch(options: argparse.Namespace, port: str, ranks: int, program: list[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        command = [f"{options.build}/weft", "switch", f"--{port}", f"{folder}/port:{ranks}"]
        command += ["--link-gbps", str(options.gbps)] if options.gbps else []
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as switch:
            assert switch.stdout
            if "ready" not in switch.stdout.readline():
                sys.exit("bench_mpi: weft switch did not start")
            try:
                return run(ranks, "weft", program, FI_PROVIDER_PATH=options.build, FI_WEFT_ADDR="10.97.0.1+%r",
                           FI_WEFT_DEVICE=f"{PORTS[port]}{folder}/port%r")
            finally:
                switch.terminate()


def measure(options: argparse.Namespace, way: str, results: Results) -> None:
    """Start-up with four ranks, the rest with two. `way`: a kind of port, or TCP."""
    for ranks, seconds in ((4, "0"), (2, str(options.seconds))):
        program = [f"{options.build}/tests/perf/perf_mpi", seconds]
        lines = through_switch(options, way, ranks, program) if way in PORTS else run(ranks, way, program)
        for line in lines:
            what, size, value = line.split()
            if (ranks == 4) == (what in ("init_s", "resident_mb")):
                results.setdefault((what, int(size)), []).append(float(value))


def show(results: dict[str, Results]) -> None:
    print(f"\n| | bytes | weft (shm) | weft (vhost) | {TCP} | shm : tcp | vhost : tcp |\n|---|--:|--:|--:|--:|--:|--:|")
    for what, name in NAMES.items():
        for key in sorted(k for k in results[TCP] if k[0] == what):
            shm, vhost, tcp = (statistics.median(results[way][key]) for way in (*PORTS, TCP))
            print(f"| {name} | {key[1] or ''} | {shm:g} | {vhost:g} | {tcp:g} | {shm / tcp:.2f} | {vhost / tcp:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=0.2, help="per measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gbps", type=float, default=0, help="rate of the switch's links; default: its own")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    results: dict[str, Results] = {way: {} for way in (*PORTS, TCP)}
    for done in range(options.rounds):
        print(f"\rround {done + 1} of {options.rounds}, {100 * done // options.rounds} %", end="", file=sys.stderr, flush=True)
        for way, found in results.items():
            measure(options, way, found)
    print("\r", end="", file=sys.stderr)
    show(results)


if __name__ == "__main__":
    main()
