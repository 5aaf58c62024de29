#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""link.py PEER_APP [CASE...] - what applications hear of their link, over a veth pair between network namespaces: down, up,
gone, and a peer that was stopped. Exit 77: the kernel gives no namespaces. Needs FI_PROVIDER_PATH."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import namespaces
from namespaces import LIMIT_MS, Namespace, Peer, exchange, expect
from stopping import stop

APP, CASES = sys.argv[1], sys.argv[2:]
ENODEV, ENETDOWN, ETIMEDOUT = 19, 100, 110
LONG = 1 << 20  # bytes: announced, and fetched once there is a receive


class Net:
    """Two hosts and the cable between them."""

    def __init__(self) -> None:
        self.a, self.b = Namespace(), Namespace()

    def plug(self) -> None:
        subprocess.run(["ip", "link", "add", "eth0", "netns", str(self.a.pid), "type", "veth", "peer", "name", "eth0",
                        "netns", str(self.b.pid)], check=True)
        for namespace, address in ((self.a, "10.9.0.1/24"), (self.b, "10.9.0.2/24")):
            namespace.ip(f"link set lo up\naddr add {address} dev eth0\nlink set eth0 up\n")

    def unplug(self) -> None:
        self.a.ip("link del eth0\n")

    @contextlib.contextmanager
    def peers(self, **settings: str) -> Iterator[tuple[Peer, Peer]]:
        self.plug()
        one, other = Peer(self.a, APP, "eth0", **settings), Peer(self.b, APP, "eth0", **settings)
        yield one, other
        other.end()
        one.end()
        self.unplug()


def event(peer: Peer) -> str:
    return peer.ask(f"event {LIMIT_MS}")


def flap(net: Net) -> None:
    """The event queue tells of it, whoever's end was down; what was sent meanwhile waits."""
    with net.peers() as (a, b):
        exchange(a, b, 1)
        net.b.ip("link set eth0 down\n")
        for peer in (a, b):
            expect(event(peer), f"event error {ENETDOWN}")
        expect(b.ask("recv 2"), "posted")
        a.send(b.name, 2, 200000)
        net.b.ip("link set eth0 up\n")
        for peer in (a, b):
            expect(event(peer), "event notify")
        b.tell(f"wait {LIMIT_MS}")
        expect(a.wait(), "sent 2")
        expect(b.hear(), "received 2 length 200000 wrong 0")
        for peer in (a, b):
            expect(peer.ask("event 0"), "event none")


def gone(net: Net) -> None:
    """Receives and messages under way end, what is new is refused, everything closes; the device may come back."""
    with net.peers() as (a, b):
        exchange(a, b, 1)
        for peer in (a, b):
            expect(peer.ask("recv 2"), "posted")
        a.send(b.name, 3, LONG)
        net.unplug()
        ended = {a.wait(), a.wait()}
        assert ended == {f"error {ENODEV} tag 2", f"error {ENODEV} tag 3"}, ended
        expect(b.wait(), f"error {ENODEV} tag 2")
        for peer in (a, b):
            expect(peer.ask("why"), "why device eth0 is gone")
            heard = event(peer)
            if heard == f"event error {ENETDOWN}":  # it was on its way out
                heard = event(peer)
            expect(heard, f"event error {ENODEV}")
            expect(peer.ask("recv 4"), f"refused {ENODEV}")
            expect(peer.ask("send 0 5 100"), f"refused {ENODEV}")
            expect(peer.ask("close"), "closed")
        net.plug()
        for peer in (a, b):
            peer.name = peer.ask("open").removeprefix("name ")
        exchange(a, b, 6)


def stopped_for_a_while(net: Net) -> None:
    """Shorter than the timeout: whoever waited for the process goes on."""
    with net.peers() as (a, b):
        exchange(a, b, 1)
        expect(b.ask("recv 2"), "posted")
        stop(b.process)
        a.send(b.name, 2, LONG)
        expect(a.ask("wait 500"), "nothing")
        b.process.send_signal(signal.SIGCONT)
        b.tell(f"wait {LIMIT_MS}")
        expect(a.wait(), "sent 2")
        expect(b.hear(), f"received 2 length {LONG} wrong 0")
        exchange(a, b, 3)


def stopped_for_too_long(net: Net) -> None:
    """The others are told who is silent. The process itself does not take its own pause for theirs: what it had sent is
    still on offer, and both talk to each other again."""
    with net.peers(PEER_TIMEOUT_MS="4000") as (a, b):
        exchange(a, b, 1)
        b.send(a.name, 2, LONG)
        expect(b.ask("wait 200"), "nothing")  # announced; there is no receive
        stop(b.process)
        a.send(b.name, 3)
        expect(a.wait(), f"error {ETIMEDOUT} tag 3")
        why = a.ask("why")
        assert "10.9.0.2" in why and "silent" in why, why
        time.sleep(0.5)
        b.process.send_signal(signal.SIGCONT)
        expect(b.ask("wait 200"), "nothing")
        expect(a.ask("recv 2"), "posted")
        b.tell(f"wait {LIMIT_MS}")
        expect(a.wait(), f"received 2 length {LONG} wrong 0")
        expect(b.hear(), "sent 2")
        exchange(a, b, 4)


def cancelled_thread(net: Net) -> None:
    """A send is finished although its thread is cancelled before; the device does not stay locked."""
    with net.peers() as (a, b):
        exchange(a, b, 1)
        expect(b.ask("recv 2"), "posted")
        a.send(b.name, 2, how="cancelled")
        b.tell(f"wait {LIMIT_MS}")
        expect(a.wait(), "sent 2")
        expect(b.hear(), "received 2 length 100 wrong 0")


def main() -> None:
    namespaces.enter()
    net = Net()
    for case in (flap, gone, stopped_for_a_while, stopped_for_too_long, cancelled_thread):
        if not CASES or case.__name__ in CASES:
            print(case.__name__, flush=True)
            case(net)


main()
