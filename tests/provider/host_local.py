#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""host_local.py WEFT PEER_APP CASE - processes of one host that have channels to each other beside `weft host`. Needs
FI_PROVIDER_PATH."""
from __future__ import annotations

import json
import mmap
import os
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time

import namespaces
from namespaces import LIMIT_MS, Namespace, Peer, exchange, expect

sys.argv[3:3] = ["-"]
import host  # noqa: E402
from host import Host, Net, wait_for  # noqa: E402

APP = os.path.abspath(sys.argv[2])
CASE = sys.argv[4]
HELLO, ASK, NO, OPEN, GONE = 1, 2, 3, 4, 5
MESSAGE = struct.Struct("=IIII12x4s")
# Under a leak checker: what DPDK's driver has of a connection that broke, it keeps.
SUPPRESSIONS = "leak:librte_net_virtio\nleak:rte_intr_instance_alloc\n"


class Told:
    """Commands whose log goes to a file."""

    def __init__(self, namespace: Namespace, path: str) -> None:
        self.namespace, self.path = namespace, path

    def command(self, *args: str) -> list[str]:
        return self.namespace.command("env", "FI_LOG_LEVEL=info", "sh", "-c", f'exec "$@" 2>{self.path}', "sh", *args)


class Local(Peer):
    """A process at a port, with its counters once it has ended."""

    made = 0

    def __init__(self, net: Net, at: Host, **settings: str) -> None:
        Local.made += 1
        self.log = f"{at.folder.name}/log{Local.made}"
        super().__init__(Told(net.a, self.log), APP, at.device(), **settings)  # type: ignore[arg-type]

    def counters(self) -> dict[str, int]:
        self.end()
        with open(self.log, encoding="utf-8", errors="replace") as f:
            found = re.findall(r": (local_\w+) (\d+): ", f.read())
        return {name: int(value) for name, value in found}


def through_host(at: Host) -> int:
    """Packets that processes sent through `weft host`."""
    return sum(row["rx_pkts"] for row in at.ports())


def is_local(at: Host, one: Peer, other: Peer, tag: int) -> bool:
    """Whether messages go past `weft host`, but for some that a full channel or the network's own talk needs."""
    before = through_host(at)
    exchange(one, other, tag)
    return through_host(at) - before < 100  # of some 600


def wait_until_local(at: Host, one: Peer, other: Peer) -> None:
    wait_for("there is no channel", lambda: is_local(at, one, other, 1000))


def wake(source: Peer, target: Peer, tag: int) -> None:
    """A message to somebody who waits for it asleep."""
    expect(target.ask(f"recv {tag}"), "posted")
    target.tell(f"wait {LIMIT_MS}")
    time.sleep(0.1)
    source.send(target.name, tag, 100)
    expect(source.wait(), f"sent {tag}")
    expect(target.hear(), f"received {tag} length 100 wrong 0")


def used(net: Net) -> None:
    """Packets between the processes go over channels; the others, and the death of one, change nothing."""
    at = Host(net, local="on")
    one, other, third = (Local(net, at) for _ in range(3))
    outside = Peer(net.b, APP, "v0")
    wait_until_local(at, one, other)
    wait_until_local(at, third, other)
    exchange(one, outside, 1)
    assert is_local(at, one, other, 2)
    third.process.kill()
    third.process.wait()
    for tag in range(3, 6):
        assert is_local(at, one, other, tag)
        exchange(other, outside, tag)
        wake(one, other, tag)
        wake(other, one, tag)
    counts = [peer.counters() for peer in (one, other)]
    for count in counts:
        assert count["local_tx_pkts"] > 300 and count["local_rx_pkts"] > 300 and "local_refused" not in count, counts
    assert counts[0]["local_channels"] == 1 and counts[1]["local_channels"] == 2, counts
    assert sum(count.get("local_wakes", 0) for count in counts) > 0, counts
    outside.end()
    rows, told = at.end()
    assert all(row[7] == "0" for row in rows) and "has to go" not in told, (rows, told)


def top(*args: object) -> str:
    run = subprocess.run([host.WEFT, "top", "--once", *map(str, args)], text=True, capture_output=True, timeout=host.LIMIT_S)
    assert run.returncode == 0, run
    return run.stdout


def seen(net: Net) -> None:
    """`weft top` shows what goes past `weft host`."""
    at = Host(net, local="on")
    os.environ["RUNTIME_DIRECTORY"] = os.environ["XDG_RUNTIME_DIR"] = at.folder.name
    one, other = (Local(net, at, TELEMETRY="1") for _ in range(2))
    outside = Peer(net.b, APP, "v0", TELEMETRY="1")
    wait_until_local(at, one, other)
    exchange(one, other, 1)
    exchange(one, outside, 2)
    pids = {peer.process.pid for peer in (one, other)}
    rows = [row for row in json.loads(top("--json"))["local"] if row["pid"] in pids]
    assert len(rows) == 2, rows
    for row in rows:
        assert row["local_tx_pkts"] > 100 and row["local_rx_pkts"] > 100 and row["local_channels"] == 1, rows
        assert row["local_refused"] == row["local_dropped"] == 0 and "local_tx_pps" in row, rows
    text = top().partition("\nlocal channels\n")[2]
    print(text)
    assert all(re.search(rf"^ *{pid} net_virtio_user_host ", text, re.M) for pid in pids), text
    assert "local channels" not in top(outside.process.pid)
    for peer in (one, other, outside):
        peer.end()
    at.end()


def off(net: Net) -> None:
    """All packets go through `weft host`."""
    at = Host(net, local="off")
    one, other = Local(net, at), Local(net, at)
    before = through_host(at)
    for tag in range(3):
        exchange(one, other, tag)
    assert through_host(at) - before > 600
    assert not any(count in one.counters() for count in ("local_tx_pkts", "local_rx_pkts", "local_channels"))
    other.end()
    at.end()


def restarted(net: Net) -> None:
    """`weft host` is killed and comes back while the processes talk: nothing is lost, and they find each other again."""
    at = Host(net, local="on")
    suppressions = f"{at.folder.name}/suppressions"
    with open(suppressions, "w", encoding="utf-8") as f:
        f.write(SUPPRESSIONS)
    os.environ["LSAN_OPTIONS"] = f"suppressions={suppressions}:print_suppressions=0"
    one, other = Local(net, at), Local(net, at)
    wait_until_local(at, one, other)
    for tag in range(2):
        at.kill()
        time.sleep(0.2)
        back = threading.Timer(0.5, at.start)
        back.start()
        exchange(one, other, tag)
        back.join()
        wait_until_local(at, one, other)
    newcomer = Local(net, at)
    wait_until_local(at, newcomer, one)
    assert newcomer.counters()["local_channels"] == 1
    count = one.counters()
    assert 2 <= count["local_channels"] <= 4, count  # one that goes on is made again when both have found `weft host`
    other.end()
    at.end()


def again(net: Net) -> None:
    """An address has a new owner: who talked to the old one talks to it."""
    host.PORTS = 2
    at = Host(net, local="on")
    one, other = Local(net, at), Local(net, at)
    for tag in range(3):
        wait_until_local(at, one, other)
        name = other.name
        other.process.kill()
        other.process.wait()
        wait_for("the port is not free", lambda: len(at.leases()) == 1)
        other = Local(net, at)
        assert other.name[:32] == name[:32] or len(name) < 32
        exchange(one, other, tag)
    wait_until_local(at, one, other)
    count = one.counters()
    assert count["local_channels"] == 4, count
    other.end()
    at.end()


def encrypted(net: Net) -> None:
    """Channels carry sealed packets."""
    at = Host(net, local="on")
    keys = at.folder.name + "/keys"
    with open(os.open(keys, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write("key 1 " + "5a" * 32 + "\ncurrent 1\n")
    one, other = (Local(net, at, KEY_FILE=keys) for _ in range(2))
    wait_until_local(at, one, other)
    assert is_local(at, one, other, 2)
    assert one.counters()["local_tx_pkts"] > 300
    other.end()
    at.end()


class Attacker:
    """A process that has a port, and channels to all who are there."""

    def __init__(self, at: Host) -> None:
        self.control = socket.socket(socket.AF_UNIX)
        self.control.connect(at.directory + "/host")
        self.path = self.control.recv(200).decode().split()[1]
        self.memories: list[mmap.mmap] = []
        self.sockets: list[socket.socket] = []
        self.connect()

    def connect(self) -> None:
        self.door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.door.settimeout(host.LIMIT_S)
        self.door.connect(self.path + ".local")
        what, _, _, _, self.first = MESSAGE.unpack(self.door.recv(100)[:32])
        assert what == HELLO

    def ask(self, index: int) -> None:
        address = self.first[:3] + bytes([self.first[3] + index])
        self.door.send(struct.pack("=IIII10s2s4s", ASK, 0, 0, 0, bytes(10), b"\xff\xff", address))

    def channel(self, index: int) -> mmap.mmap:
        self.ask(index)
        message, files, _, _ = socket.recv_fds(self.door, 100, 4)
        assert struct.unpack("=I", message[:4])[0] == OPEN and len(files) == 2, (message, files)
        self.memories.append(mmap.mmap(files[0], 0))
        self.sockets.append(socket.socket(fileno=files[1]))
        os.close(files[0])
        return self.memories[-1]


def hostile(net: Net) -> None:
    """A process that writes anything into the memory of its channels, says nonsense, and reads nothing."""
    at = Host(net, local="on")
    peers = [Local(net, at) for _ in range(2)]
    wait_until_local(at, peers[0], peers[1])
    attacker, chance = Attacker(at), random.Random(5)
    memories = [attacker.channel(i) for i in range(2)]
    end = time.monotonic() + 3
    tag = 0
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            memory = memories[chance.randrange(2)]
            where = chance.choice((0, 128, 256, 384, 4096, chance.randrange(len(memory) - 8)))
            memory[where:where + 4] = chance.choice((b"\1\0\0\0", bytes(chance.randrange(256) for _ in range(4))))
    writer = threading.Thread(target=write)
    writer.start()
    while time.monotonic() < end:
        tag += 1
        exchange(peers[0], peers[1], tag)
    stop.set()
    writer.join()
    # It has to go, and its port with it for a second; others go on.
    attacker.door.send(b"peer 10.9.0.100\n")
    assert attacker.door.recv(100) == b"", "it did not have to go"
    time.sleep(1.1)
    attacker.connect()
    for _ in range(300):
        try:
            attacker.ask(1)
        except OSError:
            break
    wait_for("it may go on", lambda: at.ports()[2]["clients_refused"] >= 2)
    assert is_local(at, peers[0], peers[1], 2000)
    # Who has no port, or another one's, is not listened to.
    for port in (0, 1, 4):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
            stranger.settimeout(host.LIMIT_S)
            stranger.connect(f"{at.directory}/ports/{port}.local")
            assert stranger.recv(100) == b""
    for peer in peers:
        assert peer.counters()["local_tx_pkts"] > 300
    _, told = at.end()
    assert "a question for a channel that is none" in told, told


def main() -> None:
    namespaces.enter()
    cases = {case.__name__: case for case in (used, seen, off, restarted, again, encrypted, hostile)}
    cases[CASE](Net())


main()
