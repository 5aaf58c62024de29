#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cm_peers.py WEFT PEER_APP CASE - connected endpoints of processes that are joined by `weft switch`. Needs
FI_PROVIDER_PATH."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable

from stopping import stop

LIMIT_MS = 30000  # nothing here takes nearly as long
PEER_TIMEOUT_MS = 1500
ECANCELED, ECONNREFUSED, ETIMEDOUT = 125, 111, 110
PORT = 7000

processes: list[subprocess.Popen[str]] = []


class Peer:
    """A process (peer_app.c) with the given number and an address to match."""

    def __init__(self, number: int, options: str = "") -> None:
        env = dict(os.environ, FI_PROVIDER="weft", FI_WEFT_ADDR=f"10.0.0.{number + 1}",
                   FI_WEFT_DEVICE=f"net_virtio_user0,path={SOCKET}{number}",
                   FI_WEFT_PEER_TIMEOUT_MS=str(PEER_TIMEOUT_MS))
        self.process = subprocess.Popen([APP], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        processes.append(self.process)
        expect(self.ask(f"open msg {options}"), "open")

    def tell(self, command: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline().rstrip("\n")
        assert line and not line.startswith("failed"), f"a peer says: '{line}'"
        return line

    def ask(self, command: str) -> str:
        self.tell(command)
        return self.hear()

    def listen(self) -> str:
        return self.ask(f"listen {PORT}").removeprefix("name ")

    def event(self) -> str:
        return self.ask(f"event {LIMIT_MS}").removeprefix("event ")

    def end(self) -> None:
        expect(self.ask("close"), "closed")
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(timeout=LIMIT_MS / 1000) == 0


def expect(heard: str, wanted: str) -> None:
    assert heard == wanted, f"'{heard}' instead of '{wanted}'"


def connect(client: Peer, server: Peer, name: str, numbers: tuple[int, int] = (0, 0)) -> None:
    """The next endpoint of each; `numbers`: of these endpoints."""
    server.tell(f"accept {LIMIT_MS}")
    expect(client.ask(f"connect {name}"), "connecting")
    expect(server.hear(), "accepted")
    client.tell(f"event {LIMIT_MS}")
    expect(server.event(), f"connected {numbers[1]}")
    expect(client.hear(), f"event connected {numbers[0]}")


def exchange(one: Peer, other: Peer, tag: int) -> None:
    for length in (100, 500000):
        for source, target in ((one, other), (other, one)):
            expect(target.ask(f"recv {tag}"), "posted")
            expect(source.ask(f"send 0 {tag} {length}"), "posted")
            target.tell(f"wait {LIMIT_MS}")  # both work meanwhile
            expect(source.ask(f"wait {LIMIT_MS}"), f"sent {tag}")
            expect(target.hear(), f"received {tag} length {length} wrong 0")


def cancelled(peer: Peer, tag: int) -> None:
    """A receive that waits ends."""
    expect(peer.ask(f"wait {LIMIT_MS}"), f"error {ECANCELED} tag {tag}")


def works() -> None:
    """Two connections between the same two processes, and one to a third that polls by itself; then they are closed."""
    server, client, third = Peer(0), Peer(1), Peer(2, "auto fd")
    name = server.listen()
    connect(client, server, name)
    connect(client, server, name, (1, 1))
    connect(third, server, name, (0, 2))
    exchange(third, server, 1)
    for i in range(2):
        expect(client.ask(f"use {i}"), "used")
        expect(server.ask(f"use {i}"), "used")
        exchange(client, server, 2 + i)
    expect(server.ask("recv 9"), "posted")
    expect(client.ask("shutdown"), "shut")
    expect(server.event(), "shutdown 1")
    cancelled(server, 9)
    expect(server.ask("use 0"), "used")
    expect(client.ask("use 0"), "used")
    exchange(client, server, 4)
    expect(client.ask("recv 9"), "posted")
    third.end()
    expect(server.event(), "shutdown 2")
    server.end()
    assert {client.event(), client.event()} == {"shutdown 0", "shutdown 1"}
    cancelled(client, 9)
    client.end()


def killed(waits_for: str) -> None:
    """Nobody is there any more to say that the connection has ended."""
    server, client = Peer(0), Peer(1)
    connect(client, server, server.listen())
    exchange(client, server, 1)
    expect(client.ask("recv 9"), "posted")
    if waits_for == "send":
        stop(server.process)
        expect(client.ask("send 0 2 100"), "posted")
    server.process.kill()
    server.process.wait()
    if waits_for == "send":
        heard = {client.ask(f"wait {LIMIT_MS}") for _ in range(2)}
        assert heard == {f"error {ETIMEDOUT} tag 2", f"error {ECANCELED} tag 9"}, heard
    expect(client.event(), "shutdown 0")
    if waits_for != "send":
        cancelled(client, 9)
    expect(client.ask("send 0 3 100"), "refused 107")  # ENOTCONN
    expect(client.ask(f"connect {'02001b580a000001'.ljust(32, '0')}"), "connecting")  # 10.0.0.1:7000
    expect(client.event(), f"error {ETIMEDOUT}")
    client.end()


def killed_while_idle() -> None:
    killed("event")


def killed_with_a_send() -> None:
    killed("send")


def started_again() -> None:
    """A successor with the same address knows nothing of the connection, and says so."""
    server, client = Peer(0), Peer(1)
    connect(client, server, server.listen())
    exchange(client, server, 1)
    server.process.kill()
    server.process.wait()
    server = Peer(0)
    expect(client.event(), "shutdown 0")
    connect(client, server, server.listen(), (1, 0))
    exchange(client, server, 2)
    client.end()
    expect(server.event(), "shutdown 0")
    server.end()


def nobody() -> None:
    """A host without listeners, and none at all."""
    server, client = Peer(0), Peer(1)
    expect(client.ask(f"connect {'02001b580a000001'.ljust(32, '0')}"), "connecting")
    expect(client.event(), f"error {ECONNREFUSED}")
    expect(client.ask(f"connect {'02001b580a000042'.ljust(32, '0')}"), "connecting")
    expect(client.event(), f"error {ETIMEDOUT}")
    client.end()
    server.end()


def forked() -> None:
    """A child that closes what it inherited does not end its parent's connections."""
    server, client = Peer(0), Peer(1)
    connect(client, server, server.listen())
    for peer in (server, client):
        expect(peer.ask("fork"), "child 0")
    exchange(client, server, 1)
    client.end()
    expect(server.event(), "shutdown 0")
    server.end()


def computing() -> None:
    """A peer that makes no call for longer than its timeout keeps its connections, and those who ask to be connected."""
    server, client = Peer(0), Peer(1)
    connect(client, server, server.listen())
    server.tell(f"sleep {3 * PEER_TIMEOUT_MS}")
    expect(client.ask(f"event {2 * PEER_TIMEOUT_MS}"), "event none")
    expect(server.hear(), "slept")
    exchange(client, server, 1)
    client.end()
    expect(server.event(), "shutdown 0")
    server.end()


CASES: dict[str, Callable[[], None]] = {
    "works": works, "killed_while_idle": killed_while_idle, "killed_with_a_send": killed_with_a_send,
    "started_again": started_again, "nobody": nobody, "forked": forked, "computing": computing}


def main() -> None:
    switch = subprocess.Popen([WEFT, "switch", "--vhost", SOCKET + ":3"], text=True, stdout=subprocess.PIPE)
    processes.append(switch)
    assert switch.stdout and "ready" in switch.stdout.readline()
    CASES[sys.argv[3]]()
    switch.send_signal(signal.SIGINT)
    assert switch.wait(timeout=LIMIT_MS / 1000) == 0


WEFT, APP = sys.argv[1:3]
with tempfile.TemporaryDirectory(prefix="weft-cm-") as folder:
    SOCKET = folder + "/vhost"
    with open(folder + "/suppressions", "w", encoding="utf-8") as f:
        f.write("leak:librte_\nleak:fi_domain\nleak:fi_passive_ep\n")  # what a device takes
    os.environ["LSAN_OPTIONS"] = f"suppressions={folder}/suppressions:print_suppressions=0"
    try:
        main()
    finally:
        for process in processes:
            process.kill()
