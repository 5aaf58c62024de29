#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""host_attack.py WEFT PEER_APP CASE - what a client of `weft host` may do to others: nothing. Two honest processes and one
at the other end of a veth exchange messages before, during and after each attack. Needs FI_PROVIDER_PATH."""
from __future__ import annotations

import os
import random
import socket
import struct
import sys
import time
from typing import Callable

import namespaces
import vhost_client as vhost
from namespaces import Peer, exchange
from vhost_client import RECEIVE, SIZE, TRANSMIT, Client

sys.argv[3:3] = ["-"]
from host import Host, Net, wait_for  # noqa: E402

APP = os.path.abspath(sys.argv[2])
CASE = sys.argv[4]
PORT = 2  # the attacker's, behind the honest ones'


class World:
    def __init__(self) -> None:
        self.net = Net()
        self.host = Host(self.net)
        self.honest = [Peer(self.net.a, APP, self.host.device()) for _ in range(2)]
        self.outside = Peer(self.net.b, APP, "v0")
        self.control = socket.socket(socket.AF_UNIX)
        self.control.connect(self.host.directory + "/host")
        self.path, self.address = self.control.recv(200).decode().split()[1:3]
        self.tag = 0
        self.shut_until = 0.0

    def exchange(self) -> None:
        self.tag += 1
        exchange(self.honest[0], self.honest[1], self.tag)
        exchange(self.honest[1], self.outside, self.tag)

    def client(self) -> Client:
        """After one had to go the port is shut for a second."""
        time.sleep(max(0.0, self.shut_until - time.monotonic()))
        return Client(self.path)

    def must_go(self, client: Client) -> None:
        try:
            assert client.socket.recv(100) == b"", "it did not have to go"
        except ConnectionResetError:
            pass
        self.shut_until = time.monotonic() + 1.1
        client.close()

    def started(self) -> Client:
        client = self.client()
        client.start()
        return client

    def row(self) -> dict[str, int]:
        return self.host.ports()[PORT]

    def newcomer(self) -> None:
        """Ports can still be had, used and given back."""
        peer = Peer(self.net.a, APP, self.host.device())
        exchange(peer, self.honest[0], 1000)
        peer.end()


def works(world: World) -> None:
    """The client of this test can do it right: what it sends leaves, if it is from its address."""
    client = world.started()
    for i, source in enumerate((world.address, "10.9.0.100", "10.9.0.250")):
        frame = client.frame(source, "10.9.0.2")
        client.describe(TRANSMIT, i, client.put(i, frame), len(frame))
    client.offer(TRANSMIT, [0, 1, 2])
    wait_for("frames are not taken", lambda: client.used(TRANSMIT) == 3)
    wait_for("they are not counted", lambda: world.row()["rx_pkts"] == 3)
    assert world.row()["drop_source"] == 2, world.row()
    client.close()


def descriptors(world: World) -> None:
    """Addresses and lengths outside of its memory, chains without end, heads that do not exist, tables that are none."""
    inside, beyond = vhost.GUEST_AT, vhost.GUEST_AT + vhost.MEMORY_BYTES
    wild = [(0, 64, 0, 0), (2**64 - 1, 64, 0, 0), (beyond, 1500, 0, 0), (beyond - 10, 1500, 0, 0), (inside, 2**32 - 1, 0, 0),
            (inside, 0, 0, 0), (inside, 11, 0, 0), (inside, 12, 0, 0), (inside, 100, vhost.NEXT, 8),
            (inside, 100, vhost.NEXT, 65535),
            (inside, 100, vhost.WRITE, 0), (inside, 64, vhost.IS_INDIRECT, 0), (beyond, 4096, vhost.IS_INDIRECT, 0),
            (inside, 2**32 - 16, vhost.IS_INDIRECT, 0), (0x7f0000000000, 4096, 0, 0)]
    for ring in (TRANSMIT, RECEIVE):
        for i, (addr, length, flags, following) in enumerate(wild):
            client = world.started()
            client.describe(ring, i, addr, length, flags, following)
            client.offer(ring, [i] * 8)
            world.exchange()
            client.close()
        client = world.started()
        client.offer(ring, [SIZE, 65535, 1000, SIZE + 1])
        world.exchange()
        client.close()


def indexes(world: World) -> None:
    """An index that jumps ahead, back, and all the time."""
    for jump in (1, SIZE, SIZE + 1, 32768, 40000, 65535):
        client = world.started()
        frame = client.frame(world.address, "10.9.0.2")
        for i in range(SIZE):
            client.describe(TRANSMIT, i, client.put(i % 64, frame), len(frame))
            client.describe(RECEIVE, i, client.put(64 + i, b""), 2048, vhost.WRITE)
        end, index = time.monotonic() + 0.5, 0
        while time.monotonic() < end:
            index += jump
            client.move(TRANSMIT, index)
            client.move(RECEIVE, index)
        world.exchange()
        client.close()


def stuck(world: World) -> None:
    """A ring that never moves: who sends to it waits alone."""
    client = world.started()
    sender = Peer(world.net.a, APP, world.host.device(), PEER_TIMEOUT_MS="3000")
    low = bytes(int(part) for part in world.address.split(".")).hex()
    own = bytes([10, 9, 0, 103]).hex()
    assert own in sender.name, sender.name
    sender.send(sender.name.replace(own, low), 5, 1 << 20)
    for _ in range(10):
        world.exchange()
    assert not sender.ask(f"wait {namespaces.LIMIT_MS}").startswith("sent")
    assert world.row()["tx_pkts"] == 0, world.row()
    sender.process.kill()
    client.close()


def flood(world: World) -> None:
    """As fast as it can, from its own address and others', to the network and to its neighbours."""
    client = world.started()
    targets = ["10.9.0.2", "10.9.0.100", "10.9.0.101", "10.9.0.77"]
    for i in range(SIZE):
        frame = client.frame(world.address if i % 4 else "10.9.0.100", targets[i // 4 % 4], 1400)
        if i % 3 == 0:  # as if it were control
            frame = frame[:27] + bytes([46 << 2]) + frame[28:]
        client.describe(TRANSMIT, i, client.put(i, frame), len(frame))
    child = os.fork()
    if child == 0:
        try:
            while os.getppid() != 1:
                used = client.used(TRANSMIT)
                for i in range(SIZE):
                    struct.pack_into("<H", client.memory, client.ring_at(TRANSMIT) + 4100 + 2 * i, i)
                client.move(TRANSMIT, used + SIZE)
        finally:
            os._exit(0)
    for _ in range(5):
        world.exchange()

    def lasted() -> bool:
        world.exchange()
        row = world.row()
        return row["rx_pkts"] > 5000 and row["drop_source"] > 500

    wait_for("the flood does not arrive", lasted)
    os.kill(child, 9)
    os.waitpid(child, 0)
    client.close()


def memory(world: World) -> None:
    """It takes memory back that it had given: reading that would be a bus error."""
    for keep in (0, 4096, vhost.RING_BYTES, vhost.FRAMES_AT):
        client = world.started()
        frame = client.frame(world.address, "10.9.0.2")
        for i in range(SIZE):
            client.describe(TRANSMIT, i, client.put(i, frame), len(frame))
        client.memory.flush()
        os.ftruncate(client.file, keep)
        if keep == vhost.FRAMES_AT:
            client.offer(TRANSMIT, list(range(SIZE)))
        world.exchange()
        world.must_go(client)
    assert world.row()["clients_refused"] == 4, world.row()


def messages(world: World) -> None:
    """Half a message, and then nothing; others need DPDK's attention meanwhile."""
    half = [world.client() for _ in range(3)]
    half[0].socket.send(b"\x01\x00\x00")
    half[1].socket.send(struct.pack("<III", vhost.SET_FEATURES, 1, 8))
    half[2].say(vhost.SET_OWNER)
    half[2].socket.send(struct.pack("<III", vhost.SET_FEATURES, 1, 8) + b"\x01")
    world.newcomer()
    for client in half:
        client.close()
    bad: list[Callable[[Client], None]] = [
        lambda c: c.say(21, struct.pack("<Q", 0), [c.file]), lambda c: c.say(6, bytes(16), [c.file]),
        lambda c: c.say(31, bytes(24)), lambda c: c.say(vhost.SET_VRING_CALL, bytes(8), [c.socket.fileno()]),
        lambda c: c.say(vhost.SET_MEM_TABLE, struct.pack("<IIQQQQ", 1, 0, 0, 1 << 40, 0, 0), [c.file]),
        lambda c: c.say(vhost.SET_MEM_TABLE, struct.pack("<IIQQQQ", 1, 0, 0, 4096, 0, 0), [os.open(__file__, os.O_RDONLY)]),
        lambda c: c.say(vhost.GET_FEATURES, b"", [c.file] * 30)]
    for attempt in bad:
        client = world.client()
        attempt(client)
        world.must_go(client)
        world.exchange()


def events(world: World) -> None:
    """An event that is full: writing to it waits, for ever."""
    full = vhost.eventfd(2**64 - 2)
    client = world.client()
    client.start(call=full)
    frame = client.frame(world.address, "10.9.0.2")
    for i in range(SIZE):
        client.describe(TRANSMIT, i, client.put(i, frame), len(frame))
        client.offer(TRANSMIT, [i])
    world.exchange()
    world.must_go(client)


def fuzz(world: World) -> None:
    """Anything, anywhere in the rings, and messages in any order, by seed."""
    seed = int(os.environ.get("SEED", "1"))
    seconds = float(os.environ.get("SECONDS", "10"))
    print(f"SEED={seed}", flush=True)
    end = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < end:
        dice = random.Random(seed * 1000003 + rounds)
        rounds += 1
        client = world.client()
        try:
            client.start()
            frame = client.frame(world.address, "10.9.0.2")
            for _ in range(dice.randrange(400)):
                mischief(client, dice, frame)
        except OSError:
            world.shut_until = time.monotonic() + 1.1  # it had to go, or the one before
        client.close()
        if rounds % 8 == 0:
            world.exchange()
    world.newcomer()
    print(f"{rounds} rounds")


def mischief(client: Client, dice: random.Random, frame: bytes) -> None:
    ring = dice.randrange(2)
    choice = dice.randrange(8)
    if choice < 3:
        addr = dice.choice([vhost.GUEST_AT + dice.randrange(vhost.MEMORY_BYTES), client.put(dice.randrange(64), frame),
                            dice.getrandbits(64)])
        length = dice.choice([len(frame), dice.randrange(4096), dice.getrandbits(32)])
        client.describe(ring, dice.randrange(SIZE), addr, length, dice.randrange(8), dice.randrange(SIZE + 2))
    elif choice < 5:
        client.offer(ring, [dice.randrange(SIZE) for _ in range(dice.randrange(SIZE))])
    elif choice == 5:
        client.move(ring, dice.getrandbits(16))
    elif choice == 6:
        at = dice.randrange(vhost.FRAMES_AT - 64)
        client.memory[at:at + 64] = dice.randbytes(64)
    elif dice.randrange(300) == 0:
        request = dice.choice([2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 39, 40, dice.randrange(70)])
        payload = dice.randbytes(dice.choice([0, 4, 8, 16, 40, dice.randrange(100)]))
        client.say(request, payload, [client.file] * dice.randrange(3))


def main() -> None:
    namespaces.enter()
    world = World()
    world.exchange()
    cases = {case.__name__: case for case in (works, descriptors, indexes, stuck, flood, memory, messages, events, fuzz)}
    cases[CASE](world)
    world.exchange()
    world.newcomer()
    assert world.host.process.poll() is None
    for peer in world.honest + [world.outside]:
        peer.end()
    world.host.end()


main()
