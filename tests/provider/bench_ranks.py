#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench_ranks.py WEFT - one node per process through `weft switch`: started by mpirun, started by hand, with a rank that
never comes and with one that vanishes."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

WEFT = sys.argv[1]
LIMIT_S = 60
# mpirun refuses root unless told twice; harmless for anybody else.
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
# Leaks that are not ours under a leak checker: PMIx's own; EAL's arguments, which only the unloaded plugin could reach.
SUPPRESSIONS = "leak:libpmix\nleak:fi_domain\n"
running = []


def start(*args):
    running.append(subprocess.Popen(args, env=ENV, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    return running[-1]


def fail(text):
    for process in running:
        process.kill()
        text += f"\n== {' '.join(process.args)}\n" + "".join(process.communicate())
    sys.exit(text)


def finish(process):
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        fail(f"{process.args} hangs")
    running.remove(process)
    return process.returncode, out, err


def check(condition, text, outcome):
    if not condition:
        fail(f"{text}: exit {outcome[0]}\n{outcome[1]}\n{outcome[2]}")


def check_result(path, flows, outcome):
    check(outcome[0] == 0, "failed", outcome)
    with open(path, encoding="utf-8") as f:
        result = json.load(f)
    check(result["mode"] == "bench", "wrong kind of result", outcome)
    check(result["flows"] == {"count": flows, "completed": flows, "verified": flows}, "flows are missing", outcome)
    check(result["delivered_us"]["min"] > 0, "no times of delivery", outcome)
    check("warning" not in result, "one clock is warned of", outcome)
    check(result["packets"]["data"] > 0, "no packets were counted", outcome)


def ranks(size, *args):
    return [start(*BENCH, "--rank", str(r), "--size", str(size), *args) for r in range(size)]


with tempfile.TemporaryDirectory() as tmp:
    with open(tmp + "/suppressions", "w", encoding="utf-8") as f:
        f.write(SUPPRESSIONS)
    ENV["LSAN_OPTIONS"] = f"suppressions={tmp}/suppressions:print_suppressions=0"
    socket, result = tmp + "/sock", tmp + "/out.json"
    BENCH = (WEFT, "bench", "--link-gbps", "0.5", "--device",
             f"net_virtio_user0,path={socket}%r")
    switch = start(WEFT, "switch", "--vhost", socket + ":4", "--link-gbps", "0.5")
    if "4 ports ready" not in switch.stdout.readline():
        fail("the switch does not start")

    check_result(result, 12, finish(start("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "4", *BENCH, "--matrix",
                                          "alltoall:4:256KiB:2", "--json", result)))
    # Credit between processes: the sender's and the receiver's algorithm.
    check_result(result, 12, finish(start("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "4", *BENCH, "--matrix",
                                          "alltoall:4:256KiB:2", "--cc", "eqds+smartt", "--json", result)))
    with open(result, encoding="utf-8") as f:
        run = json.load(f)
    if run["cc"] != "eqds+smartt" or not run["packets"]["credits"]:
        fail(f"not pulled: {run}")

    # Credits that are scheduled, through a fabric that limits them; and through this one, which does not.
    credit_socket = tmp + "/credit"
    limits = start(WEFT, "switch", "--vhost", credit_socket + ":4", "--link-gbps", "0.5", "--credit-queue", "16", "--route",
                   "symmetric")
    if "4 ports ready" not in limits.stdout.readline():
        fail("the switch with credit queues does not start")
    for path in (credit_socket, socket):
        outcome = finish(start("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "4", WEFT, "bench", "--link-gbps",
                               "0.5", "--device", f"net_virtio_user0,path={path}%r", "--matrix", "alltoall:4:256KiB:2",
                               "--cc", "spraypass", "--json", result))
        check_result(result, 12, outcome)
        with open(result, encoding="utf-8") as f:
            run = json.load(f)
        check(run["cc"] == "spraypass" and run["packets"]["credits"], "not scheduled", outcome)
    limits.send_signal(signal.SIGINT)
    outcome = finish(limits)
    check(outcome[0] == 0 and "0 data" in outcome[1], "the switch with credit queues lost data", outcome)

    # Rank 0 tells; the flows have triggers that cross processes.
    matrix = tmp + "/chain.cm"
    with open(matrix, "w", encoding="utf-8") as f:
        f.write("Nodes 3\nConnections 3\nTriggers 2\n0->1 id 1 start 0 size 100000 send_done_trigger 1\n"
                "2->1 id 2 trigger 1 size 50000 recv_done_trigger 2\n0->2 id 3 trigger 2 size 1\n"
                "trigger id 1 oneshot\ntrigger id 2 oneshot\n")
    outcomes = [finish(p) for p in ranks(3, "--matrix", matrix, "--json", result)]
    check_result(result, 3, outcomes[0])
    for outcome in outcomes:
        check(outcome[0] == 0, "a rank failed", outcome)

    # A rank of another machine, whose clock is a day ahead.
    other = ("unshare", "--time", "--monotonic", "100000") if os.getuid() == 0 else \
        ("unshare", "--map-root-user", "--time", "--monotonic", "100000")
    if subprocess.run([*other, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("no time namespaces: times of other clocks are not tested")
    else:
        pair = ("--size", "3", "--matrix", matrix, "--json", result)
        here, there = start(*BENCH, "--rank", "0", *pair), start(*BENCH, "--rank", "1", *pair)
        away = start(*other, *BENCH, "--rank", "2", *pair)
        outcome = finish(here)
        with open(result, encoding="utf-8") as f:
            run = json.load(f)
        check(run["run"]["virtual_us"] < 60e6 and run["fct_us"]["max"] < 60e6, "clocks are mixed", outcome)
        check(run["flows"]["verified"] == 3, "flows are missing", outcome)
        check("different clocks" in run.get("warning", ""), "another clock is not told of", outcome)
        check(run["delivered_us"]["max"] is None, "times of two clocks were subtracted", outcome)
        for outcome in (finish(there), finish(away)):
            check(outcome[0] == 0, "a rank failed", outcome)

    # A rank that is gone has left nothing for who comes later: no packet waits until a port is connected.
    gone = ("--size", "2", "--matrix", "permutation:2:1KiB", "--set", "peer_timeout_ns=200000000", "--end")
    for rank, end, text in ((1, "1s", "rank 0 did not answer"), (0, "2s", "only 1 of 2 ranks")):
        outcome = finish(start(*BENCH, "--rank", str(rank), *gone, end))
        check(outcome[0] == 1 and text in outcome[2], "should miss a rank that is gone", outcome)

    # Rank 0 comes when the others' first reports have failed already.
    late = ("--size", "3", "--matrix", matrix, "--set", "peer_timeout_ns=200000000", "--json", result)
    early = [start(*BENCH, "--rank", str(r), *late) for r in (1, 2)]
    time.sleep(4)
    check_result(result, 3, finish(start(*BENCH, "--rank", "0", *late)))
    for outcome in [finish(p) for p in early]:
        check(outcome[0] == 0, "a rank failed that had to wait for rank 0", outcome)

    two = ("--matrix", "permutation:2:64MiB", "--end", "6s", "--set",
           "peer_timeout_ns=1000000000")
    alone = start(*BENCH, "--rank", "0", "--size", "2", *two)
    outcome = finish(alone)
    check(outcome[0] == 1 and "1 of 2 ranks" in outcome[2], "should miss rank 1", outcome)

    left, lost = ranks(2, *two, "--link-gbps", "0.05")
    time.sleep(3)
    lost.kill()
    outcome = finish(left)
    check(outcome[0] == 1 and "weft bench: " in outcome[2], "should notice that rank 1 is gone", outcome)
    finish(lost)

    outcome = finish(start(*BENCH))
    check(outcome[0] == 2 and "--rank and --size" in outcome[2], "should ask for a rank", outcome)
    outcome = finish(start(*BENCH, "--rank", "2", "--size", "2"))
    check(outcome[0] == 2 and "--rank 2" in outcome[2], "should refuse the rank", outcome)

    switch.send_signal(signal.SIGTERM)
    outcome = finish(switch)
    check(outcome[0] == 0, "the switch should end well", outcome)
