# SPDX-License-Identifier: BSD-3-Clause
"""Hosts for tests of the provider: network namespaces, and processes in them. Everything ends with the test."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import time

LIMIT_MS = 30000  # nothing here takes nearly as long
SKIPPED = 77


def enter() -> None:
    """In a user namespace of its own unless root. Ends the test, as skipped, where the kernel gives no namespaces."""
    if os.geteuid() and "WEFT_IN_USER_NS" not in os.environ:
        os.environ["WEFT_IN_USER_NS"] = "1"
        os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--net", sys.executable, *sys.argv])
    tried = subprocess.run(["unshare", "--net", "ip", "link", "add", "v0", "type", "veth"], capture_output=True, text=True)
    if tried.returncode:
        print(f"no network namespaces here: {tried.stderr.strip()}", file=sys.stderr)
        sys.exit(SKIPPED)


class Namespace:
    """A network namespace, held by a process that sleeps."""

    def __init__(self) -> None:
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "600"], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.end)
        self.pid = self.holder.pid
        own = os.readlink("/proc/self/ns/net")
        while self.holder.poll() is None and os.readlink(f"/proc/{self.pid}/ns/net") == own:
            time.sleep(0.01)

    def command(self, *args: str) -> list[str]:
        return ["nsenter", "--net", "--target", str(self.pid), *args]

    def output(self, *args: str) -> str:
        return subprocess.run(self.command(*args), text=True, capture_output=True, check=True).stdout

    def ip(self, batch: str) -> None:
        subprocess.run(self.command("ip", "-batch", "-"), input=batch, text=True, check=True)

    def sysctl(self, *settings: str) -> None:
        for setting in settings:
            path, value = setting.split("=")
            subprocess.run(self.command("sh", "-c", f"echo {value} > /proc/sys/net/{path}"), check=True)

    def end(self) -> None:
        self.holder.kill()
        self.holder.wait()


class Peer:
    """A process on a host that does what it is told (peer_app.c). `settings` are FI_WEFT_... variables."""

    def __init__(self, namespace: Namespace, app: str, device: str, **settings: str) -> None:
        env = dict(os.environ, FI_PROVIDER="weft", FI_WEFT_DEVICE=device, FI_WEFT_POOL_PKTS="1023",
                   **{f"FI_WEFT_{key}": value for key, value in settings.items()})
        self.process = subprocess.Popen(namespace.command(app), env=env, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        atexit.register(self.process.kill)
        self.name = self.ask("open").removeprefix("name ")

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

    def send(self, name: str, tag: int, length: int = 100, how: str = "send") -> None:
        address = self.ask(f"add {name}").removeprefix("addr ")
        expect(self.ask(f"{how} {address} {tag} {length}"), "posted")

    def wait(self) -> str:
        return self.ask(f"wait {LIMIT_MS}")

    def end(self) -> None:
        if self.process.poll() is None:
            expect(self.ask("close"), "closed")
            assert self.process.stdin
            self.process.stdin.close()
        status = self.process.wait(timeout=LIMIT_MS / 1000)
        assert status == 0, f"a peer ended with {status}"


def expect(heard: str, wanted: str) -> None:
    assert heard == wanted, f"'{heard}' instead of '{wanted}'"


def exchange(one: Peer, other: Peer, tag: int) -> None:
    """Messages each way, one packet and many."""
    for length in (100, 200000):
        for source, target in ((one, other), (other, one)):
            expect(target.ask(f"recv {tag}"), "posted")
            source.send(target.name, tag, length)
            target.tell(f"wait {LIMIT_MS}")  # both work meanwhile
            expect(source.wait(), f"sent {tag}")
            expect(target.hear(), f"received {tag} length {length} wrong 0")
