#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""veth.py WEFT RESPONDER PROVIDER_TESTS - `weft conform` against an endpoint of Weft in another network namespace, over a veth
pair by raw sockets. Exit 77: the kernel gives no namespaces. Needs FI_PROVIDER_PATH."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from typing import Any

sys.path.insert(0, sys.argv[3])
import namespaces  # noqa: E402
from namespaces import Namespace  # noqa: E402

WEFT, RESPONDER = sys.argv[1:3]
LIMIT_S = 120
# Rows that do not pass yet, and why.
MARKS: dict[str, str] = {}


def conform(host: Namespace, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(host.command(WEFT, "conform", *args), text=True, capture_output=True, timeout=LIMIT_S)


def check_matrix(found: dict[str, Any]) -> None:
    """Every row that AI Base and AI Full ask for passes, but for those with a mark."""
    bad = []
    for column in found["encapsulations"]:
        assert column["answers"], column
        assert len(column["rows"]) > 50, column
        for row in column["rows"]:
            fine = row["result"] == "pass" or row["profile"] not in ("AI Base", "AI Full")
            if fine and row["row"] in MARKS:
                print(f"{column['encapsulation']} {row['row']} passes: take its mark away")
            elif not fine and row["row"] not in MARKS:
                bad.append((column["encapsulation"], row))
    assert not bad, bad


def family(a: Namespace, peer: str) -> None:
    ran = conform(a, "eth0", "--peer", peer, "--key", "0x77", "--region", "65536", "--timeout", "500ms", "--json")
    assert ran.returncode in (0, 1), ran
    found = json.loads(ran.stdout)
    assert found["peer"] == peer and found["status"] == ran.returncode, found
    assert found["not_compared"], found
    check_matrix(found)


def addressed(a: Namespace, b: Namespace) -> None:
    """What the options say of the endpoint must be right, and reaches it."""
    server = responder(b, "10.9.0.2", ",crc=on,job_id=7")
    right = ["--job", "7", "--crc", "--initiator", "99", "--mtu", "2048", "--row", "send", "--json"]
    for encap in ("native", "udp"):
        ran = conform(a, "eth0", "--peer", "10.9.0.2", "--timeout", "500ms", *right, "--encap", encap)
        column, = json.loads(ran.stdout)["encapsulations"]
        assert column["encapsulation"].lower() == encap and column["rows"][0]["result"] == "pass", ran
    for wrong in (["--job", "8"], ["--pid", "3"], ["--index", "14"], ["--udp-port", "4794", "--encap", "udp"]):
        ran = conform(a, "eth0", "--peer", "10.9.0.2", "--timeout", "20ms", *right, *wrong)
        assert ran.returncode in (1, 3) and '"pass"' not in ran.stdout, (wrong, ran)
    ran = conform(a, "eth0", "--peer", "10.9.0.2", "--timeout", "20ms", *(word for word in right if word != "--crc"))
    assert ran.returncode == 3, ran
    server.communicate(timeout=LIMIT_S)
    assert server.returncode == 0


def unasked(a: Namespace) -> None:
    """Without a region there is nothing to ask, which nobody is blamed for."""
    memory = ["eth0", "--peer", "10.9.0.9", "--row", "write", "--timeout", "1ms"]
    ran = conform(a, *memory)
    assert ran.returncode == 2 and "native: nothing asked" in ran.stdout and "no answer" not in ran.stdout, ran
    found = json.loads(conform(a, *memory, "--json").stdout)
    assert found["status"] == 2, found
    assert [(column["asked"], column["answers"]) for column in found["encapsulations"]] == [(False, False)] * 2, found
    ran = conform(a, *memory, "--region", "65536")
    assert ran.returncode == 3 and "native: no answer" in ran.stdout, ran


def responder(b: Namespace, address: str, tune: str = "") -> subprocess.Popen[str]:
    env = dict(os.environ, FI_PROVIDER="weft", FI_WEFT_DEVICE="eth0", FI_WEFT_ADDR=address, FI_WEFT_POOL_PKTS="2047",
               FI_WEFT_TUNE=f"job_id=1{tune}")
    process = subprocess.Popen(b.command(RESPONDER), env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(process.kill)
    assert process.stdout and process.stdout.readline() == "number 15\n"
    return process


def main() -> None:
    namespaces.enter()
    a, b = Namespace(), Namespace()
    subprocess.run(["ip", "link", "add", "eth0", "netns", str(a.pid), "type", "veth", "peer", "name", "eth0", "netns",
                    str(b.pid)], check=True)
    for namespace, n in ((a, 1), (b, 2)):
        namespace.ip(f"link set lo up\naddr add 10.9.0.{n}/24 dev eth0\naddr add fd09::{n}/64 dev eth0 nodad\nlink set eth0 up\n")
    nobody = conform(a, "eth0", "--peer", "10.9.0.9", "--row", "send", "--timeout", "1ms")
    assert nobody.returncode == 3 and "no answer" in nobody.stdout, nobody
    unasked(a)
    for peer in ("10.9.0.2", "fd09::2"):
        server = responder(b, peer)
        family(a, peer)
        one = conform(a, "eth0", *(["--peer", peer] if ":" in peer else []), "--row", "entropy")  # else the only neighbour
        assert one.returncode == 0 and "pass" in one.stdout and "AI Base 1 of 1" in one.stdout, one
        server.communicate(timeout=LIMIT_S)
        assert server.returncode == 0
    addressed(a, b)
    refusals: list[tuple[list[str], str]] = [
        (["nowhere0"], "no interface"), (["eth0", "--peer", "x"], "no IP address"), (["eth0", "--row", "x"], "no row"),
        ([], "name the interface"), (["eth0", "--mtu", "1500"], "Payload MTU")]
    for args, words in refusals:
        wrong = conform(a, *args)
        assert wrong.returncode == 2 and words in wrong.stderr, wrong


main()
