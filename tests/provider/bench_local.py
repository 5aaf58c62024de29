#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench_local.py WEFT - small matrices through the provider, all nodes in one process; then what must fail."""
import json
import subprocess
import sys
import tempfile

WEFT = sys.argv[1]
LINK_GBPS = 0.2
SMALL = ["--topology", "leafspine:2:2:2", "--link-gbps", str(LINK_GBPS)]


def bench(*args):
    return subprocess.run([WEFT, "bench", "--local", *args], capture_output=True, text=True, timeout=120)


def check(condition, text, run):
    if not condition:
        sys.exit(f"{text}\nexit {run.returncode}\n{run.stdout}\n{run.stderr}")


def succeeds(flows, busiest_bytes, *args):
    """`busiest_bytes`: of payload, through the busiest host's link."""
    run = bench(*SMALL, "--json", "-", *args)
    check(run.returncode == 0, f"{args}: failed", run)
    result = json.loads(run.stdout)
    check(result["schema"] == "weft.run/1" and result["mode"] == "bench", "wrong kind of result", run)
    check(result["flows"] == {"count": flows, "completed": flows, "verified": flows}, "flows are missing", run)
    check(0 < result["fct_us"]["min"] <= result["fct_us"]["max"], "impossible completion times", run)
    check(result["packets"]["data"] > 0 and result["packets"]["acks"] > 0, "no packets were counted", run)
    check(result["ideal_us"] > 0 and result["inflation"] > 0, "nothing to compare with", run)
    makespan_us = result["inflation"] * result["ideal_us"]
    check(makespan_us > busiest_bytes * 8 / (LINK_GBPS * 1e3), "faster than the link", run)
    return result


def fails(message, *args):
    run = bench(*args)
    check(run.returncode not in (0, -6, -11), f"{args}: should fail", run)
    check(message in run.stderr, f"{args}: should say '{message}'", run)


# Twelve flows of 16 packets of 4 KiB, two at a time from each node; every algorithm pair goes through the provider.
for cc, lb in (("smartt", "reps"), ("smartt", "ecmp")):
    result = succeeds(12, 3 * 65536, "--matrix", "alltoall:4:64KiB:2", "--cc", cc, "--lb", lb)
    assert (result["cc"], result["lb"]) == (cc, lb)
    assert result["packets"]["data"] >= 12 * 16

# Messages that are no multiple of the payload, driven by two threads.
succeeds(3, 3 * 100001, "--matrix", "incast:3:100001B", "--mtu", "1000", "--threads", "2")

# Switches that drop instead of trimming: lost packets come again by timeout or gap.
succeeds(3, 3 * 262144, "--matrix", "incast:3:256KiB", "--no-trim", "--set", "queue_bytes=20000")

# Links of 50 Gb/s run at 0.2, so a flow that starts at 100 us starts at 25 ms: the load stays the same.
with tempfile.NamedTemporaryFile("w", suffix=".cm") as matrix:
    matrix.write("Nodes 4\nConnections 2\n0->1 start 0 size 4096\n1->0 start 100 size 4096\n")
    matrix.flush()
    result = succeeds(2, 4096, "--matrix", matrix.name)
    assert result["run"]["virtual_us"] >= 25000, result["run"]

# A file may say which form it is: then the links have that form's rate, 0.25 Gb/s, at which 16 KiB take half a millisecond.
with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
    config.write("local: true\nmatrix: permutation:4:16KiB\n")
    config.flush()
    run = subprocess.run([WEFT, "bench", "--config", config.name, "--json", "-"], capture_output=True, text=True, timeout=120)
    check(run.returncode == 0 and json.loads(run.stdout)["ideal_us"] > 16384 * 8 / 250, "not the form's rate", run)

fails("background: only weft sim has that", *SMALL, "--matrix", "permutation:4:1MiB", "--background", "10%")
fails("failed", *SMALL, "--matrix", "permutation:4:4MiB", "--end", "1ms")
fails("unknown cc 'nosuch'", *SMALL, "--cc", "nosuch")
fails("--threads", *SMALL, "--threads", "0")
fails("nodes", *SMALL, "--matrix", "permutation:16:1MiB")
