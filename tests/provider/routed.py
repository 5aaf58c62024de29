#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""routed.py PEER_APP [CASE...] - two hosts in different networks with a router of the kernel between them, all in network
namespaces of this test: IPv4 and IPv6 routes, VLANs, a gateway whose MAC address changes, one that is dead, no route at
all, paths of smaller MTU. All payload is verified. Exit 77: the kernel gives no namespaces. Needs FI_PROVIDER_PATH."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import namespaces
from namespaces import Namespace, Peer, exchange, expect

APP, CASES = sys.argv[1], sys.argv[2:]
ETIMEDOUT, ENETUNREACH = 110, 101

# Hosts a and b, router r between them, and a link without it. Hosts have no addresses but those that a case gives them.
LINKS = """
link add a0 address 02:00:00:00:0a:01 netns {a} type veth peer name ra netns {r}
link add b0 address 02:00:00:00:0b:01 netns {b} type veth peer name rb netns {r}
link add a1 netns {a} type veth peer name b1 netns {b}
"""
ROUTER = """
link set lo up
addr add 10.1.0.1/24 dev ra
addr add 10.2.0.1/24 dev rb
addr add fd01::1/64 dev ra nodad
addr add fd02::1/64 dev rb nodad
link set ra up
link set rb up
"""


class Net:
    """The two hosts and the router."""

    def __init__(self) -> None:
        self.a, self.b, self.r = Namespace(), Namespace(), Namespace()
        subprocess.run(["ip", "-batch", "-"], text=True, check=True,
                       input=LINKS.format(a=self.a.pid, b=self.b.pid, r=self.r.pid))
        self.r.ip(ROUTER)
        self.r.sysctl("ipv4/ip_forward=1", "ipv6/conf/all/forwarding=1")
        self.a.ip("link set lo up\nlink set a0 up\nlink set a1 up\n")
        self.b.ip("link set lo up\nlink set b0 up\nlink set b1 up\n")

    @contextlib.contextmanager
    def on(self, device_a: str, device_b: str, a: dict[str, str], b: dict[str, str]) -> Iterator[tuple[Peer, Peer]]:
        one, other = Peer(self.a, APP, device_a, **a), Peer(self.b, APP, device_b, **b)
        yield one, other
        other.end()
        one.end()

    @contextlib.contextmanager
    def peers(self, a: dict[str, str], b: dict[str, str], link: int = 0) -> Iterator[tuple[Peer, Peer]]:
        with self.on(f"net_af_packet0,iface=a{link}", f"net_af_packet0,iface=b{link}", a, b) as both:
            yield both


STATIC_A = {"ADDR": "10.1.0.5/24", "GATEWAY": "10.1.0.1"}
STATIC_B = {"ADDR": "10.2.0.5/24", "ROUTES": "10.9.0.0/24 via 10.2.0.9, 10.1.0.0/16 via 10.2.0.1"}


def ipv4(net: Net) -> None:
    """A gateway on one side; the kernel's address and routes on the other, where nothing but the device is named."""
    net.b.ip("addr add 10.2.0.7/24 dev b0\nroute add default via 10.2.0.1\n")
    with net.peers(STATIC_A, {}) as (a, b):
        exchange(a, b, 1)
    net.b.ip("addr flush dev b0\n")


def ipv6(net: Net) -> None:
    """No IPv4 anywhere on the way."""
    net.b.ip("addr add fd02::7/64 dev b0 nodad\nroute add fd01::/64 via fd02::1\n")
    with net.peers({"ADDR": "fd01::5/64", "GATEWAY": "fd01::1"}, {"ADDR": "fd02::7"}) as (a, b):
        exchange(a, b, 2)
    net.b.ip("addr del fd02::7/64 dev b0\n")


def vlan(net: Net) -> None:
    """Both are members; who is not, reaches nobody."""
    tagged = {"VLAN": "100", "PEER_TIMEOUT_MS": "2500"}
    with net.peers({"ADDR": "10.3.0.5/24", "VLAN_PCP": "3", **tagged}, {"ADDR": "10.3.0.6/24", **tagged}, 1) as (a, b):
        exchange(a, b, 3)
    other = {"VLAN": "101", "PEER_TIMEOUT_MS": "2500"}
    with net.peers({"ADDR": "10.3.0.5/24", **tagged}, {"ADDR": "10.3.0.6/24", **other}, 1) as (a, b):
        a.send(b.name, 30)
        expect(a.wait(), f"error {ETIMEDOUT} tag 30")


def names(net: Net) -> None:
    """Nothing but the interfaces' names: addresses, gateways and MTUs are the kernel's."""
    net.a.ip("addr add 10.1.0.7/24 dev a0\nroute add default via 10.1.0.1\n")
    net.b.ip("addr add 10.2.0.7/24 dev b0\nroute add 10.1.0.0/16 via 10.2.0.1\n")
    with net.on("a0", "b0", {}, {}) as (a, b):
        exchange(a, b, 13)
    net.a.ip("addr flush dev a0\n")
    net.b.ip("addr flush dev b0\n")


def vlan_named(net: Net) -> None:
    """Interfaces by their names, tagged by us: the kernel takes tags off what arrives."""
    with net.on("a1", "b1", {"VLAN": "100", "ADDR": "10.4.0.5/24"}, {"VLAN": "100", "ADDR": "10.4.0.6/24"}) as (a, b):
        exchange(a, b, 14)


def vlan_interface(net: Net) -> None:
    """VLAN interfaces of the kernel by their names; then one of them with an interface that is tagged by us."""
    tried = subprocess.run(net.a.command("ip", "link", "add", "link", "a1", "name", "a1.100", "type", "vlan", "id", "100"),
                           capture_output=True, text=True, check=False)
    if tried.returncode:
        print(f"vlan_interface: not tested, the kernel has no VLAN interfaces: {tried.stderr.strip()}", flush=True)
        return
    net.b.ip("link add link b1 name b1.100 type vlan id 100\naddr add 10.4.0.6/24 dev b1.100\nlink set b1.100 up\n")
    net.a.ip("addr add 10.4.0.5/24 dev a1.100\nlink set a1.100 up\n")
    with net.on("a1.100", "b1.100", {}, {}) as (a, b):
        exchange(a, b, 15)
    net.a.ip("link del a1.100\n")
    with net.on("a1", "b1.100", {"VLAN": "100", "ADDR": "10.4.0.5/24"}, {}) as (a, b):
        exchange(a, b, 16)
    net.b.ip("link del b1.100\n")


def dscp(net: Net) -> None:
    """The same translation at both ends; each end sees its own classes."""
    classes = {"DSCP": "data:26,control:48,trimmed:28"}
    with net.peers({**STATIC_A, **classes}, {**STATIC_B, **classes}) as (a, b):
        exchange(a, b, 4)


def moved(net: Net) -> None:
    """The gateway gets another MAC address and tells nobody."""
    with net.peers(STATIC_A, STATIC_B) as (a, b):
        exchange(a, b, 5)
        net.r.ip("link set ra address 02:00:00:00:00:99\nneigh flush dev ra\n")
        exchange(a, b, 6)


def dead(net: Net) -> None:
    """The gateway answers no more: the error names the peer and the gateway. It is doubted a second after its last answer, by
    the next timeout, and asked for a second: the peer is waited for longer."""
    impatient = {"PEER_TIMEOUT_MS": "6000"}
    with net.peers({**STATIC_A, **impatient}, {**STATIC_B, **impatient}) as (a, b):
        exchange(a, b, 7)
        net.r.ip("addr del 10.1.0.1/24 dev ra\n")
        a.send(b.name, 8)
        expect(a.wait(), f"error {ETIMEDOUT} tag 8")
        why = a.ask("why")
        assert "10.2.0.5" in why and "10.1.0.1" in why and "answer" in why, why
        net.r.ip("addr add 10.1.0.1/24 dev ra\n")


def no_route(net: Net) -> None:
    """Nothing is waited for where no route leads."""
    with net.peers({"ADDR": "10.1.0.5/24"}, STATIC_B) as (a, b):
        a.send(b.name, 9)
        expect(a.wait(), f"error {ENETUNREACH} tag 9")
        why = a.ask("why")
        assert "10.2.0.5" in why and "no route" in why, why


def mtu(net: Net) -> None:
    """Hosts with jumbo frames, and less in the middle of the router: from some packet on, then from the start."""
    net.a.ip("link set a0 mtu 9000\n")
    net.b.ip("link set b0 mtu 9000\n")
    net.r.ip("link set ra mtu 9000\nlink set rb mtu 9000\n")
    with net.peers(STATIC_A, STATIC_B) as (a, b):
        exchange(a, b, 10)
        net.r.ip("route replace 10.1.0.0/24 dev ra mtu lock 1500\nroute replace 10.2.0.0/24 dev rb mtu lock 1500\n")
        exchange(a, b, 11)
    with net.peers(STATIC_A, STATIC_B) as (a, b):
        exchange(a, b, 12)


def bridge(net: Net) -> None:
    """Jumbo frames at both ends of one link, and a cable of less between its bridges: they drop what is larger in silence."""
    net.r.ip("link add x0 type bridge\nlink add x1 type bridge\nlink add y0 type veth peer name y1\n"
             f"link add pa mtu 9000 type veth peer name a2 netns {net.a.pid}\n"
             f"link add pb mtu 9000 type veth peer name b2 netns {net.b.pid}\n" +
             "".join(f"link set {port} master {switch} up\n"
                     for port, switch in (("pa", "x0"), ("y0", "x0"), ("pb", "x1"), ("y1", "x1"))) +
             "link set x0 up\nlink set x1 up\n")
    net.a.ip("link set a2 mtu 9000 up\naddr add 10.5.0.5/24 dev a2\n")
    net.b.ip("link set b2 mtu 9000 up\naddr add 10.5.0.6/24 dev b2\n")
    with net.on("a2", "b2", {}, {}) as (a, b):
        exchange(a, b, 17)


def main() -> None:
    namespaces.enter()
    net = Net()
    for case in (ipv4, ipv6, names, vlan, vlan_named, vlan_interface, dscp, moved, dead, no_route, mtu, bridge):
        if not CASES or case.__name__ in CASES:
            print(case.__name__, flush=True)
            case(net)


main()
