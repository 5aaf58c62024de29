#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""chaos_real.py BUILD [--seconds N] [--seed N] [--peer-timeout-ms N] [--expect-broken REGEX] - processes that send each other
messages through `weft switch` in real time, while they are stopped, killed and started again, the switch too, and others start
with few descriptors, little memory or a full /dev/shm. Every byte must be right; only what a death touches may fail; everything
ends, and then every message arrives. Exit status: 0 nothing failed, 1 something did. With --expect-broken 0 only if a promise was
broken within the time, and what is said of it begins with a match."""
from __future__ import annotations

import argparse
import os
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

HOSTS = 3                  # and one place for those that start with too little
PEER_TIMEOUT_MS = 5000
SHORT_S, LONG_S = 0.5, 8.0  # how long a process is stopped: nobody may notice, peers give it up
ROUND_LIMIT_S = 60.0       # after the last fault
ANSWER_LIMIT_S = 60.0
ETIMEDOUT, ECONNRESET = 110, 104
LENGTHS = (0, 1, 100, 4000, 20000, 300000, 1 << 20)
REACH_TRIES = 3            # the first messages to a new life may meet connections of the old one
SAYS_EVERY_S = 10.0
MIB = 1 << 20


class Broken(Exception):
    """What must hold does not."""


Start = tuple[tuple[str, ...], Callable[[], None] | None]  # what stands before a program, and what it does first


def limited(which: int, most: int) -> Start:
    return (), lambda: resource.setrlimit(which, (most, most))


STARVED: dict[str, Callable[[random.Random], Start]] = {
    "descriptors": lambda dice: limited(resource.RLIMIT_NOFILE, dice.randrange(4, 40)),
    "bytes of memory": lambda dice: limited(resource.RLIMIT_AS, dice.randrange(64, 1024) * MIB),
    "bytes of /dev/shm": lambda dice: (("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                                        "mount -t tmpfs -o size=4k none /dev/shm; exec \"$0\""), None),
}


class Peer:
    """A process that does what it is told (tests/provider/peer_app.c). A thread takes its answers, so that one that is stopped
    holds nobody up."""

    def __init__(self, lab: Lab, number: int, prefix: tuple[str, ...] = (), limits: Callable[[], None] | None = None) -> None:
        env = dict(os.environ, FI_PROVIDER="weft", FI_WEFT_ADDR=f"10.0.0.{number + 1}", FI_PROVIDER_PATH=lab.build,
                   FI_WEFT_DEVICE=f"net_virtio_user0,path={lab.folder}/port{number}",
                   FI_WEFT_PEER_TIMEOUT_MS=str(lab.peer_timeout_ms))
        app = os.path.join(lab.build, "tests", "provider", "peer_app")
        self.process = subprocess.Popen([*prefix, app], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, preexec_fn=limits)
        lab.processes.append(self.process)
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.addresses: dict[str, str] = {}
        self.stopped_until = 0.0

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put("")

    def ask(self, command: str) -> str:
        """The answer to a command; empty when the process has ended."""
        assert self.process.stdin
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            return self._lines.get(timeout=ANSWER_LIMIT_S)
        except BrokenPipeError:
            return ""
        except queue.Empty as error:
            raise Broken(f"no answer to '{command}' within {ANSWER_LIMIT_S:.0f} s") from error

    def must(self, command: str, *wanted: str) -> str:
        heard = self.ask(command)
        if not any(heard.startswith(word) for word in wanted):
            raise Broken(f"'{command}' is answered with '{heard}', exit status {self.process.poll()}")
        return heard

    def open(self) -> None:
        self.name = self.must("open", "name ").split()[1]

    def address_of(self, name: str) -> str:
        if name not in self.addresses:
            self.addresses[name] = self.must(f"add {name}", "addr ").split()[1]
        return self.addresses[name]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class Message:
    source: int
    target: int
    tag: int
    length: int
    lives: tuple[int, int]
    sent: str = ""
    received: str = ""


@dataclass
class Lab:
    build: str
    folder: str
    dice: random.Random
    peer_timeout_ms: int
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    peers: list[Peer | None] = field(default_factory=list)
    lives: list[int] = field(default_factory=list)
    exposed: set[int] = field(default_factory=set)  # hosts that died, or were silent for longer than the peer timeout
    messages: dict[int, Message] = field(default_factory=dict)
    switch: subprocess.Popen[str] | None = None
    tag: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, what: str, by: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + by

    # ---- processes ----

    def start_switch(self) -> None:
        self.switch = subprocess.Popen([os.path.join(self.build, "weft"), "switch", "--vhost", f"{self.folder}/port:{HOSTS + 1}"],
                                       text=True, stdout=subprocess.PIPE)
        self.processes.append(self.switch)
        assert self.switch.stdout
        line = self.switch.stdout.readline()
        if "ready" not in line:
            raise Broken(f"the switch says '{line.strip()}'")

    def boot(self, number: int) -> None:
        peer = Peer(self, number)
        peer.open()
        self.peers[number] = peer

    def begin(self) -> None:
        self.start_switch()
        self.peers, self.lives = [None] * HOSTS, [0] * HOSTS
        for number in range(HOSTS):
            self.boot(number)

    def running(self) -> list[int]:
        now = time.monotonic()
        return [n for n, p in enumerate(self.peers) if p and p.stopped_until <= now and not self._goes_on(p)]

    def _goes_on(self, peer: Peer) -> bool:
        """A process whose time is over is woken; it is asked from the next call on."""
        if not peer.stopped_until:
            return False
        peer.stopped_until = 0.0
        peer.process.send_signal(signal.SIGCONT)
        return True

    # ---- messages ----

    def post(self, source: int, target: int, length: int) -> Message:
        one, other = self.peers[source], self.peers[target]
        assert one and other
        self.tag += 1
        m = Message(source, target, self.tag, length, (self.lives[source], self.lives[target]))
        other.must(f"recv {m.tag}", "posted")
        one.must(f"send {one.address_of(other.name)} {m.tag} {length}", "posted")
        self.messages[m.tag] = m
        return m

    def take(self, number: int, line: str) -> None:
        """A completion at a host, of a message of this round."""
        words = line.split()
        m = self.messages.get(int(words[3] if words[0] == "error" else words[1]))
        if not m:
            raise Broken(f"a completion of no message: '{line}'")
        if number == m.source:
            m.sent = line
        else:
            m.received = line

    def pump(self) -> bool:
        """Takes what has completed at hosts that run; False: nothing has."""
        some = False
        for number in self.running():
            peer = self.peers[number]
            assert peer
            while (line := peer.must("wait 0", "nothing", "sent", "received", "error")) != "nothing":
                some = True
                self.take(number, line)
        return some

    def wait_until(self, over: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + ROUND_LIMIT_S
        while not over():
            if not self.pump():
                time.sleep(0.002)
            if time.monotonic() > end:
                raise Broken(f"{what} has not ended {ROUND_LIMIT_S:.0f} s after the last fault: {self.open_messages()}")

    def open_messages(self) -> list[Message]:
        return [m for m in self.messages.values() if not self.has_ended(m)]

    def has_ended(self, m: Message) -> bool:
        source_died, target_died = self.lives[m.source] != m.lives[0], self.lives[m.target] != m.lives[1]
        failed = source_died or m.sent.startswith("error")
        return bool(m.sent or source_died) and bool(m.received or target_died or failed)

    # ---- faults ----

    def stop(self) -> None:
        number = self.dice.choice(self.running() or [0])
        peer = self.peers[number]
        if not peer or peer.stopped_until:
            return
        long = self.dice.random() < 0.2
        seconds = LONG_S if long else self.dice.uniform(0, SHORT_S)
        if long:
            self.exposed.add(number)
        peer.process.send_signal(signal.SIGSTOP)
        peer.stopped_until = time.monotonic() + seconds
        self.count("stopped for long" if long else "stopped")

    def kill(self) -> None:
        number = self.dice.randrange(HOSTS)
        peer = self.peers[number]
        if not peer:
            return
        peer.kill()
        self.peers[number] = None
        self.lives[number] += 1
        self.exposed.add(number)
        self.count("killed")
        if self.dice.random() < 0.5:
            self.boot(number)

    def kill_switch(self) -> None:
        assert self.switch
        self.switch.kill()
        self.switch.wait()
        time.sleep(self.dice.uniform(0, SHORT_S))
        self.start_switch()
        self.count("switch killed")

    def starved(self) -> None:
        """One that has too little says so and ends, or works."""
        kind = self.dice.choice(sorted(STARVED))
        peer = Peer(self, HOSTS, *STARVED[kind](self.dice))
        heard = peer.ask("open")
        if heard.startswith("name "):
            peer.must("close", "closed")
            self.count("starved, works")
        else:
            peer.process.wait(ANSWER_LIMIT_S)
            if not heard.startswith("failed") and peer.process.returncode != 127:
                raise Broken(f"with few {kind} a process ends with {peer.process.returncode} and says '{heard}'")
            self.count("starved, refused")
        peer.kill()

    # ---- rounds ----

    def send_some(self) -> None:
        running = self.running()
        if len(running) < 2:
            return
        source, target = self.dice.sample(running, 2)
        if sum(m.target == target or m.source == target for m in self.messages.values()) < 25:  # what a peer has buffers for
            self.post(source, target, self.dice.choice(LENGTHS))
            self.count("messages")

    def heal(self) -> None:
        while any(p and p.stopped_until for p in self.peers):
            self.running()
            self.pump()
            time.sleep(0.01)
        for number, peer in enumerate(self.peers):
            if not peer:
                self.boot(number)

    def cancel_rest(self) -> None:
        """Receives of what never comes."""
        for m in self.messages.values():
            peer = self.peers[m.target]
            if not m.received and self.lives[m.target] == m.lives[1]:
                assert peer
                peer.must(f"cancel {m.tag}", "cancelled")
        self.wait_until(lambda: all(m.received or self.lives[m.target] != m.lives[1] for m in self.messages.values()), "a cancel")

    def check(self, m: Message) -> None:
        touched = bool({m.source, m.target} & self.exposed)
        right = f"received {m.tag} length {m.length} wrong 0"
        if m.received.startswith("received") and m.received != right:
            raise Broken(f"'{m.received}' instead of '{right}'")
        if m.sent.startswith("error") and not (touched and int(m.sent.split()[1]) in (ETIMEDOUT, ECONNRESET)):
            raise Broken(f"a send failed: {m}, touched by a death: {touched}")
        survived = self.lives[m.source] == m.lives[0] and self.lives[m.target] == m.lives[1]
        if survived and not touched and (not m.sent.startswith("sent") or m.received != right):
            raise Broken(f"not delivered, though both live: {m}")
        self.count("delivered", m.received == right)

    def reach(self, source: int, target: int) -> None:
        for left in reversed(range(REACH_TRIES)):
            m = self.post(source, target, 20000)
            self.wait_until(lambda: self.has_ended(m), "a message to a healed host")
            if m.sent.startswith("sent") and m.received.endswith("wrong 0"):
                return
            self.cancel_rest()
            if not left:
                raise Broken(f"a healed host is not reached: {m}")

    def round(self) -> None:
        self.messages.clear()
        self.exposed.clear()
        events: list[Callable[[], None]] = [self.send_some] * self.dice.randrange(1, 40)
        events += [self.stop] * self.dice.choice([0, 1, 2]) + [self.kill] * self.dice.choice([0, 0, 1, 2])
        events += [self.kill_switch] * self.dice.choice([0, 0, 1]) + [self.starved] * self.dice.choice([0, 0, 1])
        self.dice.shuffle(events)
        for event in events:
            event()
            self.pump()
            time.sleep(self.dice.choice([0, 0, 0.001, 0.02]))
        self.heal()
        self.wait_until(lambda: not self.open_messages(), "a message")
        self.cancel_rest()
        for m in self.messages.values():
            self.check(m)
        for source in range(HOSTS):
            for target in set(range(HOSTS)) - {source}:
                self.reach(source, target)
        self.count("rounds")


def run(build: str, seed: int, seconds: float, peer_timeout_ms: int) -> str:
    """What was broken; empty: nothing."""
    end, said = time.monotonic() + seconds, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="weft-chaos-") as folder:
        lab = Lab(os.path.abspath(build), folder, random.Random(seed), peer_timeout_ms)
        try:
            lab.begin()
            while (now := time.monotonic()) < end:
                lab.round()
                if now >= said + SAYS_EVERY_S:
                    said = now
                    print(f"{100 * (1 - max(end - now, 0) / seconds):3.0f} %, {max(end - now, 0):4.0f} s left: "
                          f"{lab.counts.get('rounds', 0)} rounds", flush=True)
        except Broken as broken:
            print(f"seed {seed}, round {lab.counts.get('rounds', 0)}: {broken}", flush=True)
            return str(broken)
        finally:
            for process in lab.processes:
                process.kill()
                process.wait()
                shutil.rmtree(f"/var/run/dpdk/weft-{process.pid}", ignore_errors=True)
            print("\n".join(f"{what:<20}{n:>8}" for what, n in sorted(lab.counts.items())), flush=True)
    return ""


def status_of(broken: str, expected: str | None) -> int:
    if expected is None:
        return 1 if broken else 0
    if broken and re.match(expected, broken):
        return 0
    print(f"expected to be broken: '{expected}'", flush=True)
    return 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--peer-timeout-ms", type=int, default=PEER_TIMEOUT_MS,
                        help="shorter than stops: live peers are given up")
    parser.add_argument("--expect-broken", metavar="REGEX", help="success is what must not happen, for this reason")
    options = parser.parse_args()
    broken = run(options.build, options.seed, options.seconds, options.peer_timeout_ms)
    return status_of(broken, options.expect_broken)


if __name__ == "__main__":
    sys.exit(main())
