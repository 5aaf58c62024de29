#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""keys.py WEFT PEER_APP CASE - processes through `weft switch` that encrypt: with losses, repeated, damaged and trimmed
packets; keys that change while messages are under way; peers with other keys or none; key files that are refused.
Needs FI_PROVIDER_PATH."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from namespaces import LIMIT_MS, Peer, exchange, expect

WEFT, APP, CASE = sys.argv[1:]
TIMEOUT_MS = "1500"
ETIMEDOUT = 110
SECRETS = {number: f"{number:02x}" * 32 for number in range(1, 9)}
LOOK_S = 1  # how often key files are looked at


class Here:
    """Where peers run: on this host."""

    def command(self, *args: str) -> list[str]:
        return ["sh", "-c", 'exec "$0" 2>"$STDERR"', *args]


class Fabric:
    """A switch with peers and their key files."""

    def __init__(self, folder: str, *options: str) -> None:
        self.folder = folder
        self.count = 0
        self.switch = subprocess.Popen([WEFT, "switch", "--vhost", f"{folder}/vhost:3", *options], text=True,
                                       stdout=subprocess.PIPE)
        assert self.switch.stdout and "ready" in self.switch.stdout.readline()

    def keys(self, name: str, keys: dict[int, str], current: int, mode: int = 0o600) -> str:
        """Replaces a key file at once."""
        path = f"{self.folder}/{name}"
        lines = [f"key {number} {secret}\n" for number, secret in keys.items()]
        self.write(path, "".join([*lines, f"current {current}\n"]), mode)
        return path

    def write(self, path: str, text: str, mode: int = 0o600) -> None:
        with open(path + ".new", "w", encoding="utf-8", opener=lambda p, flags: os.open(p, flags, mode)) as f:
            f.write(text)
        os.chmod(path + ".new", mode)
        os.rename(path + ".new", path)

    def peer(self, key_file: str = "", **settings: str) -> Peer:
        number = self.count
        self.count += 1
        os.environ["STDERR"] = self.stderr_path(number)
        os.environ["FI_LOG_LEVEL"] = "info"
        settings.update(ADDR=f"10.0.0.{number + 1}", PEER_TIMEOUT_MS=TIMEOUT_MS, KEY_FILE=key_file)
        return Peer(Here(), APP, f"net_virtio_user0,path={self.folder}/vhost{number}", **settings)  # type: ignore

    def stderr_path(self, number: int) -> str:
        return f"{self.folder}/stderr{number}"

    def said(self, number: int) -> str:
        with open(self.stderr_path(number), encoding="utf-8") as f:
            return f.read()

    def counter(self, number: int, name: str) -> int:
        """At the end of the peer, which tells those that are not 0."""
        found = re.search(rf": {name} (\d+): ", self.said(number))
        return int(found[1]) if found else 0


def damaged(fabric: Fabric) -> None:
    """One in fifty packets each is lost, repeated, held back or has a bit flipped: all of it arrives, and right."""
    keys = fabric.keys("keys", {1: SECRETS[1]}, 1)
    faults = ",".join(f"fault_{what}_ppm=20000" for what in ("loss", "dup", "reorder", "corrupt"))
    a, b = (fabric.peer(keys, TUNE=faults + f",fault_seed={i}") for i in range(2))
    for tag in range(20):
        exchange(a, b, tag)
    for peer in (a, b):
        peer.end()
    for number in range(2):
        for name in ("tss_sealed", "tss_opened", "tss_bad_tag", "tss_replayed"):
            assert fabric.counter(number, name) > 0, f"no {name}:\n{fabric.said(number)}"
        assert "encrypted with key 1 by" in fabric.said(number), fabric.said(number)


def trimmed(fabric: Fabric) -> None:
    """Two send to one, whose queue is short: what finds it full is trimmed, and asked for again."""
    keys = fabric.keys("keys", {1: SECRETS[1]}, 1)
    a, b, c = (fabric.peer(keys) for _ in range(3))
    exchange(a, c, 9)
    exchange(b, c, 9)
    for tag, source in enumerate((a, b)):
        expect(c.ask(f"recv {tag}"), "posted")
        source.send(c.name, tag, 1000000)
        source.tell(f"wait {LIMIT_MS}")
    heard = {c.wait() for _ in range(2)}
    assert heard == {f"received {tag} length 1000000 wrong 0" for tag in range(2)}, heard
    assert [source.hear() for source in (a, b)] == ["sent 0", "sent 1"]
    for peer in (a, b, c):
        peer.end()
    assert fabric.counter(2, "tss_trimmed") > 0 and fabric.counter(2, "rx_trimmed") > 0, fabric.said(2)
    assert fabric.counter(2, "tss_bad_tag") == 0 and fabric.counter(2, "tss_malformed") == 0, fabric.said(2)


def rotation(fabric: Fabric) -> None:
    """Each step reaches each host at a time of its own, while messages go both ways. Nothing that came was refused."""
    steps: list[tuple[list[int], int]] = [([1], 1), ([1, 2], 1), ([1, 2], 2), ([2], 2), ([2, 3], 2), ([2, 3], 3)]
    keys = fabric.keys("keys", {1: SECRETS[1]}, 1)
    a, b = fabric.peer(keys), fabric.peer(keys)
    tag = 0
    for numbers, current in steps:
        fabric.keys("keys", {number: SECRETS[number] for number in numbers}, current)
        end = time.monotonic() + 1.5 * LOOK_S
        while time.monotonic() < end:
            exchange(a, b, tag)
            tag += 1
    for peer in (a, b):
        peer.end()
    for number in range(2):
        assert "2 keys taken, key 3 encrypts" in fabric.said(number), fabric.said(number)
        for name in ("tss_bad_tag", "tss_unknown_key", "tss_clear", "tss_malformed"):
            assert fabric.counter(number, name) == 0, f"{name}:\n{fabric.said(number)}"
        assert fabric.counter(number, "tss_key_changes") >= len(steps) - 1


def strangers(fabric: Fabric) -> None:
    """Who has another key under the same id, or none, reaches nobody and is told; the others go on."""
    keys = fabric.keys("keys", {1: SECRETS[1]}, 1)
    others = fabric.keys("others", {1: SECRETS[2]}, 1)
    a, b, c = fabric.peer(keys), fabric.peer(keys if CASE == "strangers" else ""), fabric.peer(others)
    expect(a.ask("recv 7"), "posted")
    for source in (c,) if CASE == "strangers" else (b, c):
        source.send(a.name, 7)
        a.tell("wait 4000")
        expect(source.wait(), f"error {ETIMEDOUT} tag 7")
        expect(a.hear(), "nothing")
    why = c.ask("why")
    assert "10.0.0.1" in why and "do both have the same" in why, why
    if CASE == "strangers":
        exchange(a, b, 7)
    for peer in (c, b, a):
        peer.process.stdin.close() if peer is a else peer.end()  # type: ignore
    said = fabric.said(0)
    assert "packets come that no key of" in said, said


def files(fabric: Fabric) -> None:
    """What is wrong with a key file is told, when a device is opened and later, and the keys stay as they are."""
    keys = fabric.keys("keys", {1: SECRETS[1]}, 1)
    a, b = fabric.peer(keys), fabric.peer(keys)
    for text in ("key 1 12\n", "", f"key 1 {SECRETS[1]}\n"):
        fabric.write(keys, text)
        exchange(a, b, 1)
        time.sleep(1.2 * LOOK_S)
        exchange(a, b, 2)
    fabric.keys("keys", {1: SECRETS[1]}, 1, 0o644)
    time.sleep(1.2 * LOOK_S)
    exchange(a, b, 3)
    os.unlink(keys)
    time.sleep(1.2 * LOOK_S)
    exchange(a, b, 4)
    said = fabric.said(0)
    for words in ("keys:1: key 1 is not 64", "no key", "says which key seals", "chmod 600", "No such file"):
        assert words in said, f"not '{words}':\n{said}"
    fabric.keys("keys", {1: SECRETS[1]}, 1, 0o640)
    try:
        fabric.peer(keys)
    except AssertionError as failed:
        assert "fi_domain" in str(failed), failed
    else:
        raise AssertionError("a key file of others was taken")
    assert "FI_WEFT_KEY_FILE" in fabric.said(2) and "chmod 600" in fabric.said(2), fabric.said(2)
    for peer in (a, b):
        peer.end()


SLOW = ("--link-gbps", "0.5", "--queue-bytes", "20000", "--set", "ecn_min_pct=0", "--set", "ecn_max_pct=0")
CASES = {"damaged": damaged, "trimmed": trimmed, "rotation": rotation, "strangers": strangers, "clear": strangers, "files": files}

with tempfile.TemporaryDirectory(prefix="weft-keys-") as temporary:
    net = Fabric(temporary, *SLOW if CASE == "trimmed" else ())
    try:
        CASES[CASE](net)
    finally:
        net.switch.send_signal(signal.SIGINT)
        net.switch.wait(timeout=LIMIT_MS / 1000)
