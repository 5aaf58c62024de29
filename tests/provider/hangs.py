#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hangs.py WEFT PEER_APP CASE - what processes say of operations that take long (`silent`, `waits`), of peers that were
started anew (`reset`) and of a switch that died (`switch`). Needs FI_PROVIDER_PATH."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from stopping import stop

WEFT, APP, CASE = sys.argv[1:]
LIMIT_S = 0.3  # a tenth of the peer timeout

children: list[subprocess.Popen[str]] = []


class Peer:
    """A process; what it says goes to a file."""

    def __init__(self, number, device, folder, level="warn"):
        self.log = folder / f"log{number}"
        env = dict(os.environ, FI_PROVIDER="weft", FI_WEFT_ADDR=f"10.0.0.{number + 1}", FI_WEFT_DEVICE=device,
                   FI_LOG_LEVEL=level)
        env.setdefault("FI_WEFT_PEER_TIMEOUT_MS", str(int(LIMIT_S * 10000)))
        with self.log.open("w") as log:
            self.process = subprocess.Popen([APP], env=env, text=True, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=log)
        children.append(self.process)
        self.name = ""
        self.tell("open ")

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def hear(self):
        return self.process.stdout.readline().rstrip("\n")

    def hear_name(self):
        self.name = self.hear().removeprefix("name ")

    def ask(self, command):
        self.tell(command)
        return self.hear()

    def send(self, target, tag, length):
        address = self.ask(f"add {target.name}").removeprefix("addr ")
        assert self.ask(f"send {address} {tag} {length}") == "posted"

    def end(self):
        """Without an error, such as a leak that a sanitizer finds."""
        assert self.ask("close") == "closed", self.log.read_text()
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0, f"a peer ended with {self.process.returncode}\n{self.log.read_text()}"

    def lines(self, pattern):
        return [line for line in self.log.read_text().splitlines() if re.search(pattern, line)]


def pair(folder):
    socket = folder / "link"
    peers = [Peer(0, f"net_vhost0,iface={socket}", folder), Peer(1, f"net_virtio_user0,path={socket}", folder)]
    for peer in peers:
        peer.hear_name()
    return peers


def message(source, target, tag):
    assert target.ask(f"recv {tag}") == "posted"
    source.send(target, tag, 1000)
    target.tell("wait 30000")
    assert source.ask("wait 30000") == f"sent {tag}"
    assert target.hear().startswith(f"received {tag}")


def told_once(peer, pattern, count=1):
    lines = peer.lines("takes more than")
    assert len(lines) == count, "\n".join(lines)
    assert all(re.search(pattern, line) for line in lines), lines


def nothing_ends(peer):
    outcome = peer.ask(f"wait {int(LIMIT_S * 3000)}")
    assert outcome == "nothing", outcome


def silent(folder):
    """The peer does not answer; three messages are one line."""
    a, b = pair(folder)
    message(a, b, 1)
    stop(b.process)
    for tag in (2, 3, 4):
        a.send(b, tag, 1000)
    nothing_ends(a)
    told_once(a, r"a message to peer 10\.0\.0\.2 takes more than 0\.3 s \(and 2 others\): .*waits for "
                 r"the peer's acknowledgement; peer silent for 0\.[1-9] s; last event: (sent|sent_again|lost|control), PSN \d+")
    assert a.ask("wait 30000").startswith("error 110")
    told_once(a, "")
    b.process.send_signal(signal.SIGCONT)
    for peer in (a, b):
        peer.end()


def waits(folder):
    """The peer is there and has no receive for what was announced."""
    a, b = pair(folder)
    message(a, b, 1)
    a.send(b, 2, 1000000)
    b.tell(f"wait {int(LIMIT_S * 4000)}")
    nothing_ends(a)
    assert b.hear() == "nothing"
    told_once(a, r"a message to peer 10\.0\.0\.2 takes more than 0\.3 s: .*waits for a receive, which the "
                 r"peer's application has not posted.*last event: ")
    assert b.ask("recv 2") == "posted"
    b.tell("wait 30000")
    assert a.ask("wait 30000") == "sent 2"
    assert b.hear() == "received 2 length 1000000 wrong 0"
    told_once(a, "")
    assert not b.lines("takes more than")
    for peer in (a, b):
        peer.end()


def start_switch(folder):
    switch = subprocess.Popen([WEFT, "switch", "--vhost", f"{folder}/port:2"], stdout=subprocess.PIPE, text=True)
    assert "ready" in switch.stdout.readline()
    children.append(switch)
    return switch


def reset(folder):
    """Errors of peers that were started anew name them."""
    start_switch(folder)
    a, b = [Peer(i, f"net_virtio_user0,path={folder}/port{i}", folder) for i in range(2)]
    for peer in (a, b):
        peer.hear_name()
    message(a, b, 1)
    a.send(b, 2, 1000000)
    b.tell("wait 200")
    assert a.ask("wait 200") == b.hear() == "nothing"
    b.process.kill()
    b.process.wait()
    b = Peer(1, f"net_virtio_user0,path={folder}/port1", folder)
    b.hear_name()
    outcome = a.ask("wait 30000")
    assert outcome.startswith("error 104"), outcome
    why = a.ask("why")
    assert re.search(r"peer 10\.0\.0\.2: it does not know the connection", why), why
    for peer in (a, b):
        peer.end()


def switch_dies(folder):
    """Within a second, in one line, whatever the log level is."""
    os.environ["FI_WEFT_PEER_TIMEOUT_MS"] = "60000"
    switch = start_switch(folder)
    peers = [Peer(i, f"net_virtio_user0,path={folder}/port{i}", folder, level) for i, level in enumerate(("", "warn"))]
    for peer in peers:
        peer.hear_name()
    message(*peers, 1)
    before = [len(peer.log.read_text().splitlines()) for peer in peers]
    for time_over in (1, 2):
        switch.kill()
        switch.wait()
        time.sleep(1)
        for peer in peers:
            assert len(peer.lines("the link is down")) == time_over, peer.log.read_text()
        time.sleep(1)
        switch = start_switch(folder)
        message(*peers, 1 + time_over)
        for peer in peers:
            assert len(peer.lines("the link is up again")) == time_over, peer.log.read_text()
    for peer, count in zip(peers, before):
        said = peer.log.read_text().splitlines()[count:]
        assert len(said) == 4, "\n".join(said)
    for peer in peers:
        peer.end()


with tempfile.TemporaryDirectory(prefix="weft-hang-") as temporary:
    try:
        {"silent": silent, "waits": waits, "reset": reset, "switch": switch_dies}[CASE](pathlib.Path(temporary))
    finally:
        for child in children:
            child.kill()
            child.wait()
