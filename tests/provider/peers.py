#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""peers.py WEFT PEER_APP - several processes through `weft switch`: killed, started again with the same address, forked,
taken over by exec, ended without closing anything, idle; with other DSCPs; the switch killed. Needs FI_PROVIDER_PATH."""
import glob
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

WEFT, APP = sys.argv[1:]
LIMIT_MS = 30000  # nothing here takes nearly as long
PEER_TIMEOUT_MS = 1500
DEFAULT_TIMEOUT_S = 10  # of FI_WEFT_PEER_TIMEOUT_MS
REST_MS = 2500  # longer than idle connections stay open and hosts look often for packets
ETIMEDOUT, ECONNRESET = 110, 104
# Under a leak checker: what a device takes, and processes that may not or do not close it.
SUPPRESSIONS = "leak:librte_\nleak:fi_domain\n"


processes = []


def start(*args, **kwargs):
    processes.append(subprocess.Popen(*args, **kwargs))
    return processes[-1]


class Peer:
    """A process; `name` is its endpoint's address."""

    def __init__(self, number, options="", connected=True, timeout_ms=PEER_TIMEOUT_MS):
        env = dict(os.environ, FI_PROVIDER="weft", FI_WEFT_ADDR=f"10.0.0.{number + 1}",
                   FI_WEFT_DEVICE=f"net_virtio_user0,path={SOCKET}{number}")
        if timeout_ms:
            env.setdefault("FI_WEFT_PEER_TIMEOUT_MS", str(timeout_ms))
        self.process = start([APP], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addresses = {}
        if connected:
            self.open(options)

    def open(self, options=""):
        self.name = self.ask(f"open {options}").removeprefix("name ")

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline().rstrip("\n")
        assert line and not line.startswith("failed"), f"a peer says: '{line}'"
        return line

    def ask(self, command):
        self.tell(command)
        return self.hear()

    def address_of(self, peer):
        if peer.name not in self.addresses:
            self.addresses[peer.name] = self.ask(f"add {peer.name}").removeprefix("addr ")
        return self.addresses[peer.name]

    def send(self, peer, tag, length=100):
        expect(self.ask(f"send {self.address_of(peer)} {tag} {length}"), "posted")

    def wait(self, ms=LIMIT_MS):
        return self.ask(f"wait {ms}")

    def end(self, command=None):
        """Closes everything unless a command says otherwise; returns the exit status."""
        if command is None:
            expect(self.ask("close"), "closed")
        else:
            self.tell(command)
        self.process.stdin.close()
        return self.process.wait(timeout=LIMIT_MS / 1000)

    def kill(self):
        self.process.kill()
        self.process.wait()


def expect(heard, *wanted):
    assert heard in wanted, f"'{heard}' instead of {wanted}"


def exchange(one, other, tag, length=100):
    """A message each way."""
    for source, target in ((one, other), (other, one)):
        expect(target.ask(f"recv {tag}"), "posted")
        source.send(target, tag, length)
        target.tell(f"wait {LIMIT_MS}")  # both work meanwhile
        expect(source.wait(), f"sent {tag}")
        expect(target.hear(), f"received {tag} length {length} wrong 0")


def exchange_all(peers, tag, length=100):
    for i, one in enumerate(peers):
        for other in peers[:i]:
            exchange(one, other, tag, length)


def reach(source, target, tag):
    """A process that took over from another does not know the connections its peers still have."""
    expect(target.ask(f"recv {tag}"), "posted")
    target.tell(f"wait {LIMIT_MS}")
    source.send(target, tag)
    outcome = source.wait()
    if outcome == f"error {ECONNRESET} tag {tag}":
        source.send(target, tag)
        outcome = source.wait()
    expect(outcome, f"sent {tag}")
    expect(target.hear(), f"received {tag} length 100 wrong 0")


def silent_after_first(a, b):
    """b has never spoken to a, takes its message and makes no call any more: the acknowledgement is out by then."""
    expect(b.ask("recv 50"), "posted")
    b.tell(f"wait {LIMIT_MS}")
    b.tell(f"sleep {PEER_TIMEOUT_MS + 500}")
    a.send(b, 50)
    expect(a.wait(), "sent 50")
    expect(b.hear(), "received 50 length 100 wrong 0")
    expect(b.hear(), "slept")


def computing(a, b):
    """b makes no call for three times the peer timeout, after a rest or ever since it was opened, with manual progress: it
    is not dead. Neither what it takes nor what waits for its receive ends with an error meanwhile."""
    for peer in (a, b):
        peer.tell(f"sleep {REST_MS}")
    for peer in (a, b):
        expect(peer.hear(), "slept")
    a.address_of(b)
    begin = time.monotonic()
    b.tell(f"sleep {3 * PEER_TIMEOUT_MS}")
    a.send(b, 60, 20000)  # not copied: ends with the peer's acknowledgement
    a.send(b, 61, 300000)  # announced: ends when it was received
    expect(a.wait(), "sent 60")
    expect(a.wait(max(0, int(2.5 * PEER_TIMEOUT_MS - 1000 * (time.monotonic() - begin)))), "nothing")
    expect(b.hear(), "slept")
    for tag, length in ((60, 20000), (61, 300000)):
        expect(b.ask(f"recv {tag}"), "posted")
        b.tell(f"wait {LIMIT_MS}")
        if tag == 61:
            expect(a.wait(), "sent 61")
        expect(b.hear(), f"received {tag} length {length} wrong 0")


def noticed_by_default(a):
    """A peer's death is noticed in the time that the documentation tells, when no variable tells another."""
    victim = Peer(3)
    exchange(a, victim, 65)
    a.address_of(victim)
    victim.kill()
    begin = time.monotonic()
    a.send(victim, 66, 20000)
    expect(a.wait(), f"error {ETIMEDOUT} tag 66")
    took = time.monotonic() - begin
    assert 0.8 * DEFAULT_TIMEOUT_S < took < 2 * DEFAULT_TIMEOUT_S, f"{took} s"


def killed(a, b, c):
    """The victim's peers get errors and go on with each other; its successor is reached under the same address."""
    a.send(b, 1, 300000)  # nobody receives it
    b.kill()
    exchange(a, c, 2, 50000)
    expect(a.wait(), f"error {ETIMEDOUT} tag 1")
    exchange(a, c, 3)
    b = restarted(b, 1)
    reach(a, b, 4)
    exchange_all([a, b, c], 5, 200000)
    return b


def restarted(old, number, options=""):
    new = Peer(number, options)
    expect(new.name, old.name)
    return new


def killed_and_back_at_once(a, b, c):
    """The successor is there before its peers have noticed anything."""
    exchange(a, b, 10)
    b.kill()
    b = restarted(b, 1)
    reach(a, b, 11)
    reach(c, b, 12)
    exchange_all([a, b, c], 13)
    return b


def forked(a, b, c):
    """The child is refused what it may not have, ends, and nobody else notices."""
    expect(b.ask("recv 20"), "posted")
    expect(b.ask("fork"), "child 0")
    a.send(b, 20, 100000)
    b.tell(f"wait {LIMIT_MS}")
    expect(a.wait(), "sent 20")
    expect(b.hear(), "received 20 length 100000 wrong 0")
    exchange_all([a, b, c], 21, 100000)


def taken_over(a, b, c):
    """exec without close: the new program gets device and address."""
    b.tell("exec")
    b.addresses = {}
    old = b.name
    b.open()
    expect(b.name, old)
    reach(a, b, 30)
    reach(c, b, 32)
    exchange_all([a, b, c], 31)


def idle(peers):
    """Nobody burns a processor: not the thread for automatic progress, nor one that waits for a file descriptor, nor
    fi_cq_sread. Manual progress has a thread less."""
    threads = {}
    for options, peer in peers.items():
        peer.ask("sleep 10")
        peer.ask("cpu")
        for command in ("sleep 700", "wait 700"):
            peer.ask(command)
            cpu, threads[options] = map(float, peer.ask("cpu").split()[1::2])
            print(f"idle, '{options}', {command}: {cpu} % of a processor, {threads[options]:.0f} threads")
            assert cpu < 30, f"'{options}' uses {cpu} % of a processor for {command}"
    assert threads["auto"] == threads["manual"] + 1, threads
    assert threads["fd"] == threads["manual"] + 1, threads


def awaits_listener():
    """A device is not opened while its socket is bound and nobody listens to it yet."""
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(SOCKET + "9")
        peer = Peer(9, connected=False)
        peer.tell("open")
        comms = f"/proc/{peer.process.pid}/task/*/comm"
        while not any(pathlib.Path(comm).read_text().startswith("eal-intr") for comm in glob.glob(comms)):
            assert peer.process.poll() is None, f"the peer ended with {peer.process.returncode}"
            time.sleep(0.05)  # EAL is not up
        os.set_blocking(peer.process.stdout.fileno(), False)
        time.sleep(1)
        said = peer.process.stdout.readline()
        assert not said, f"the device was opened: {said}"
        peer.kill()


def classes():
    """Hosts and switch agree on other code points. Two of them send to the third, whose queue holds one packet: what finds it
    full is trimmed, as a switch does with data alone."""
    words = os.environ["FI_WEFT_DSCP"] = "data:26,control:48,trimmed:28"
    switch = start([WEFT, "switch", "--vhost", SOCKET + ":3", "--dscp", words, "--link-gbps", "0.1", "--queue-bytes", "10000",
                    "--set", "ecn_min_pct=0", "--set", "ecn_max_pct=0"], text=True, stdout=subprocess.PIPE)
    assert "ready" in switch.stdout.readline()
    a, b, c = peers = [Peer(i) for i in range(3)]
    for tag, source in enumerate((a, b)):
        expect(c.ask(f"recv {tag}"), "posted")
        source.send(c, tag, 1000000)
        source.tell(f"wait {LIMIT_MS}")
    heard = {c.wait() for _ in range(2)}
    assert heard == {f"received {tag} length 1000000 wrong 0" for tag in range(2)}, heard
    assert [source.hear() for source in (a, b)] == ["sent 0", "sent 1"]
    for peer in peers:
        assert peer.end() == 0
    switch.send_signal(signal.SIGINT)
    said, _ = switch.communicate(timeout=30)
    trimmed = re.search(r"^fabric: .* (\d+) trimmed", said, re.MULTILINE)
    assert switch.returncode == 0 and trimmed and int(trimmed[1]) > 0, said


def switch_restarts():
    """A switch is killed, and one is started again on its sockets: messages that are under way arrive, and others, too.
    The hosts go on waiting meanwhile, one of them in a thread of its own."""
    def start_switch():
        switch = start([WEFT, "switch", "--vhost", SOCKET + ":3"], text=True, stdout=subprocess.PIPE)
        assert "ready" in switch.stdout.readline()
        return switch

    os.environ["FI_WEFT_PEER_TIMEOUT_MS"] = str(LIMIT_MS)
    switch = start_switch()
    a, b, c = peers = [Peer(0), Peer(1), Peer(2, "auto")]
    exchange_all(peers, 0, 100000)
    for tag in (1, 2):
        switch.kill()
        switch.wait()
        expect(b.ask(f"recv {tag}"), "posted")
        b.tell(f"wait {LIMIT_MS}")
        a.send(b, tag, 1000000)
        a.tell(f"wait {LIMIT_MS}")
        switch = start_switch()
        expect(a.hear(), f"sent {tag}")
        expect(b.hear(), f"received {tag} length 1000000 wrong 0")
        exchange_all(peers, 10 + tag, 100000)
    switch.kill()
    switch.wait()
    expect(a.ask("sleep 500"), "slept")
    for peer in peers:  # with nobody to connect to
        assert peer.end() == 0


def main():
    awaits_listener()
    switch = start([WEFT, "switch", "--vhost", SOCKET + ":4"], text=True, stdout=subprocess.PIPE)
    assert "ready" in switch.stdout.readline()
    a, b, c = Peer(0), Peer(1), Peer(2, "auto")
    silent_after_first(a, b)
    exchange_all([a, b, c], 0, 1000000)
    computing(a, b)
    d = Peer(3)
    computing(a, d)
    assert d.end() == 0
    b = killed(a, b, c)
    b = killed_and_back_at_once(a, b, c)
    forked(a, b, c)
    forked(b, a, c)
    taken_over(a, b, c)
    d = Peer(3, "fd")
    exchange_all([a, b, c, d], 40)
    idle({"manual": a, "auto": c, "fd": d})
    forked(a, c, b)  # with a thread
    forked(a, d, b)
    assert c.end("exit") == 0  # its thread still runs
    exchange_all([a, b, d], 41)
    c = restarted(c, 2, "auto")
    reach(a, c, 42)
    for peer in (d, c, b, a):
        assert peer.end() == 0
    patient = Peer(0, timeout_ms=None)
    noticed_by_default(patient)
    assert patient.end() == 0
    switch.send_signal(signal.SIGINT)
    assert switch.wait(timeout=30) == 0


with tempfile.TemporaryDirectory(prefix="weft-peers-") as folder:
    SOCKET = folder + "/vhost"
    with open(folder + "/suppressions", "w", encoding="utf-8") as f:
        f.write(SUPPRESSIONS)
    os.environ["LSAN_OPTIONS"] = f"suppressions={folder}/suppressions:print_suppressions=0"
    try:
        main()
        classes()
        switch_restarts()
    finally:
        for process in processes:
            process.kill()
