#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""interface.py MPI_APP CASE... - the provider on interfaces of the kernel, over veth pairs between network namespaces of this
test, with Debian's fi_pingpong and Open MPI. Exit 77: the kernel gives no namespaces. Needs FI_PROVIDER_PATH."""

from __future__ import annotations

import atexit
import os
import re
import subprocess
import sys
import tempfile
import time

import namespaces
from namespaces import Namespace

PROGRAM, CASES = sys.argv[1], sys.argv[2:]
PORT = "29228"  # fi_pingpong's control connection, in namespaces of its own
LIMIT_S = 150
STREAM_BYTES = 8 << 20
# Takes a stream over TCP and says how long it was; sends one in pieces until its standard input is closed.
SINK = "import socket; s = socket.create_server(('', 2222)); print('up', flush=True); c = s.accept()[0]\n" \
       "n = 0\nwhile b := c.recv(65536): n += len(b)\nprint(n)"
SOURCE = "import socket, sys, time, select\nc = socket.create_connection(('10.9.0.1', 2222)); n = 0\n" \
         f"while not select.select([sys.stdin], [], [], 0.005)[0] or n < {STREAM_BYTES}: c.sendall(bytes(16384)); n += 16384\n" \
         "print(n)"


def unreachables(namespace: Namespace) -> int:
    """ICMP messages that say 'unreachable' which this host has sent."""
    names, values = (line.split() for line in namespace.output("cat", "/proc/net/snmp").splitlines() if line.startswith("Icmp:"))
    return int(values[names.index("OutDestUnreachs")])


def sent_packets(namespace: Namespace) -> int:
    """By the interface, so far."""
    lines = namespace.output("cat", "/proc/net/dev").splitlines()
    return next(int(line.split(":")[1].split()[9]) for line in lines if "eth0:" in line)


def xdp_attached(namespace: Namespace) -> bool:
    """Whether the interface has an XDP program."""
    return "prog/xdp" in namespace.output("ip", "link", "show", "eth0")


def popen(namespace: Namespace, *args: str, **settings: str) -> subprocess.Popen[str]:
    """Ends with this program, whatever happens to that."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("FI_WEFT_")}
    process = subprocess.Popen(namespace.command(*args), env={**env, **settings}, text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    atexit.register(process.kill)
    return process


class Net:
    """Hosts a and b, one veth pair."""

    def __init__(self) -> None:
        self.a, self.b = Namespace(), Namespace()
        subprocess.run(["ip", "link", "add", "eth0", "netns", str(self.a.pid), "type", "veth", "peer", "name",
                        "eth0", "netns", str(self.b.pid)], check=True)
        for namespace, address in ((self.a, "10.9.0.1/24"), (self.b, "10.9.0.2/24")):
            namespace.ip(f"link set lo up\naddr add {address} dev eth0\nlink set eth0 up\n")

    def pingpong(self, server: bool, messages: int, length: int, **settings: str) -> subprocess.Popen[str]:
        """On host a when it is the server; with nothing but the name of the interface, unless told otherwise."""
        ends = ["-B", PORT] if server else ["-P", PORT, "10.9.0.1"]
        return popen(self.a if server else self.b, "fi_pingpong", "-p", "weft", "-e", "rdm", "-c", "-I", str(messages),
                     "-S", str(length), *ends, **{"FI_WEFT_DEVICE": "eth0", **settings})

    def pair(self, messages: int, length: int, **settings: str) -> tuple[subprocess.Popen[str], subprocess.Popen[str]]:
        server = self.pingpong(True, messages, length, **settings)
        while server.poll() is None and not listening(self.a):
            time.sleep(0.02)
        return server, self.pingpong(False, messages, length, **settings)


def finish(process: subprocess.Popen[str], what: str) -> str:
    out, _ = process.communicate(timeout=LIMIT_S)
    if process.returncode != 0:
        sys.exit(f"{what}: exit {process.returncode}\n{out[-4000:]}")
    return out


def listening(namespace: Namespace) -> bool:
    return any(f":{int(PORT):04X} 00000000:0000 0A" in line for line in namespace.output("cat", "/proc/net/tcp").splitlines())


def finish_pair(pair: tuple[subprocess.Popen[str], subprocess.Popen[str]]) -> list[str]:
    """Their output, the client's first."""
    outputs = [process.communicate(timeout=LIMIT_S)[0] for process in reversed(pair)]
    for process, out in zip(reversed(pair), outputs):
        assert process.returncode == 0 and "MB/sec" in out, f"exit {process.returncode}, client and server: {outputs}"
    return outputs


def alone(net: Net) -> None:
    """No other variable; a stream over TCP goes on meanwhile, and no kernel answers our packets. It goes by AF_XDP, or the
    log says why not."""
    sink = popen(net.a, sys.executable, "-c", SINK)
    assert sink.stdout and sink.stdout.readline() == "up\n"
    source = popen(net.b, sys.executable, "-c", SOURCE)
    pair = net.pair(200, 4096, FI_LOG_LEVEL="warn", FI_LOG_PROV="weft")
    attached = False
    while pair[0].poll() is None and not attached:
        attached = xdp_attached(net.a)
    outputs = finish_pair(pair)
    print("by AF_XDP" if attached else outputs[1])
    assert attached != ("by packet sockets, which are slower than AF_XDP: " in outputs[1]), outputs
    assert not xdp_attached(net.a) and not xdp_attached(net.b)
    sent, got = int(finish(source, "source")), int(finish(sink, "sink"))
    assert sent == got >= STREAM_BYTES, (sent, got)
    assert unreachables(net.a) == unreachables(net.b) == 0, (unreachables(net.a), unreachables(net.b))


def killed(net: Net) -> None:
    """A process that is killed leaves its XDP program: the next one works, and says what stands in its way."""
    first = net.pair(1000000, 64)
    while sent_packets(net.b) < 500:
        assert all(process.poll() is None for process in first), [process.communicate()[0] for process in first]
        time.sleep(0.05)
    was_attached = xdp_attached(net.a)
    for process in first:
        process.kill()
        process.communicate()
    outputs = finish_pair(net.pair(20, 4096, FI_LOG_LEVEL="warn", FI_LOG_PROV="weft"))
    assert not was_attached or all("XDP program already" in out for out in outputs), outputs
    for namespace in (net.a, net.b):
        namespace.ip("link set eth0 xdp off\n")


def shaped(net: Net) -> None:
    """AF_XDP would pass by the shaper of the interface."""
    for namespace in (net.a, net.b):
        namespace.output("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "1gbit", "burst", "1m", "limit", "1m")
    outputs = finish_pair(net.pair(20, 4096, FI_LOG_LEVEL="warn", FI_LOG_PROV="weft"))
    assert all("by packet sockets, which are slower than AF_XDP: " in out for out in outputs), outputs
    for namespace in (net.a, net.b):
        namespace.output("tc", "qdisc", "del", "dev", "eth0", "root")


def address_in_use(net: Net) -> None:
    """Two processes cannot be one address, and the second is told so."""
    holder = popen(net.a, sys.executable, "-c", "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                   "s.bind(('10.9.0.1', 4793)); print('up', flush=True); sys.stdin.read()")
    assert holder.stdout and holder.stdout.readline() == "up\n"
    second = net.pingpong(True, 1, 64, FI_LOG_LEVEL="warn", FI_LOG_PROV="weft")
    while second.poll() is None and not listening(net.a):
        time.sleep(0.02)
    first = net.pingpong(False, 1, 64)
    out, _ = second.communicate(timeout=LIMIT_S)
    assert second.returncode != 0 and "by another process" in out, out
    first.kill()
    first.communicate()
    holder.communicate()


def flap(net: Net) -> None:
    """The link goes down and comes back while messages are on their way; nothing is lost, nobody fails."""
    pair = net.pair(400, 16384)
    for _ in range(2):
        time.sleep(0.3)
        for namespace in (net.a, net.b):
            namespace.ip("link set eth0 down\n")
            time.sleep(0.1)
            namespace.ip("link set eth0 up\n")
    finish_pair(pair)


def second_engine(net: Net) -> None:
    """An interface that is named twice has two engines, which take its addresses in turn."""
    common = ["fi_pingpong", "-p", "weft", "-e", "rdm", "-c", "-d", "eth0#1", "-I", "20", "-S", "4096"]
    for namespace, address in ((net.a, "10.9.0.11/24"), (net.b, "10.9.0.12/24")):
        namespace.ip(f"addr add {address} dev eth0\n")
    server = popen(net.a, *common, "-B", PORT, FI_WEFT_DEVICE="eth0;eth0")
    while server.poll() is None and not listening(net.a):
        time.sleep(0.02)
    finish_pair((server, popen(net.b, *common, "-P", PORT, "10.9.0.11", FI_WEFT_DEVICE="eth0;eth0")))
    for namespace, address in ((net.a, "10.9.0.11/24"), (net.b, "10.9.0.12/24")):
        namespace.ip(f"addr del {address} dev eth0\n")


def removed(net: Net) -> None:
    """The pair of interfaces is deleted under two processes, one of which has nothing but a receive: what waits ends with
    an error at both, and the log says why."""
    pair = net.pair(1000000, 64, FI_LOG_LEVEL="warn", FI_LOG_PROV="weft")
    while sent_packets(net.b) < 500:
        assert all(process.poll() is None for process in pair), [process.communicate()[0] for process in pair]
        time.sleep(0.05)
    net.a.ip("link del eth0\n")
    for process in pair:
        out, _ = process.communicate(timeout=LIMIT_S)
        assert process.returncode > 0 and "the device is gone" in out, out[-4000:]


def nonsense(net: Net) -> None:
    """Refused by fi_getinfo, with the reason at warning level."""
    for key, value, reason in (("MTU", "abc", "'abc' is not a number"), ("CC", "tahoe", "FI_WEFT_CC"),
                               ("LB", "dice", "FI_WEFT_LB"), ("TUNE", "speed=high", "parameter 'speed'"),
                               ("NO_ARP", "perhaps", "neither yes nor no"), ("ADDR", "10.0.0.x", "10.0.0.x"),
                               ("SEED", "%l", "no process manager set a rank")):
        asked = popen(net.a, "fi_info", "-p", "weft", FI_LOG_LEVEL="warn", FI_LOG_PROV="weft", FI_WEFT_DEVICE="eth0",
                      **{f"FI_WEFT_{key}": value})
        out, _ = asked.communicate(timeout=LIMIT_S)
        assert asked.returncode != 0 and reason in out, (key, value, out)


def ranks(net: Net) -> None:
    """Two ranks on one host, an interface each, joined by a bridge; every variable says %l or is a list by rank."""
    net.b.ip("link add br0 type bridge\nlink set br0 up\n")
    for i in range(2):
        net.b.ip(f"link add r{i} type veth peer name nic{i} netns {net.a.pid}\nlink set r{i} master br0 up\n")
        net.a.ip(f"addr add 10.8.0.{i + 1}/24 dev nic{i}\nlink set nic{i} up\n")
    for device, parts in (("nic%l", ["modes"]), ("nic0,nic1", ["matching"])):
        variables = {"FI_PROVIDER": "weft", "FI_WEFT_DEVICE": device, "FI_WEFT_ADDR": "10.8.0.1+%l", "FI_WEFT_SEED": "1%l",
                     "FI_WEFT_MTU": "149%l", "FI_WEFT_TUNE": "evs_size=25%l", "FI_WEFT_POOL_PKTS": "204%l",
                     "FI_WEFT_PEER_TIMEOUT_MS": "6000%l", "FI_LOG_LEVEL": "info", "FI_LOG_PROV": "weft"}
        with tempfile.TemporaryDirectory(prefix="weft-nics-") as folder:
            mpirun = ["mpirun.openmpi", "--oversubscribe", "-n", "2", "-x", "FI_PROVIDER_PATH",
                      *(word for name in variables for word in ("-x", name)), "--mca", "pml", "cm", "--mca", "mtl", "ofi",
                      "--mca", "btl", "self,vader", "--mca", "osc", "pt2pt", "--mca", "opal_common_ofi_provider_include",
                      "weft", PROGRAM, *parts]
            out = finish(popen(net.a, *mpirun, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                               TMPDIR=folder, **variables), "mpirun")
        assert all(f"{part}: 2 ranks agree" in out for part in parts), out
        for i in range(2):
            assert re.search(rf"nic{i}: tx_data \d\d+:", out), out[-4000:]


def main() -> None:
    namespaces.enter()
    net = Net()
    for case in (nonsense, alone, killed, shaped, address_in_use, flap, second_engine, ranks, removed):
        if not CASES or case.__name__ in CASES:
            print(case.__name__, flush=True)
            case(net)


main()
