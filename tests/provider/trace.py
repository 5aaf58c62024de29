#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""trace.py WEFT PEER_APP - `weft trace` of two processes: while they run, after one was killed, after the other closed its
device; in all formats, and of files that are damaged or foreign. Needs FI_PROVIDER_PATH."""
import csv
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

WEFT, APP = sys.argv[1:]
DIRECTORY = pathlib.Path("/dev/shm")


class Peer:
    """A process at one end of a link between two."""

    def __init__(self, number, device, **env):
        env = dict(os.environ, FI_PROVIDER="weft", FI_WEFT_ADDR=f"10.0.0.{number + 1}", FI_WEFT_DEVICE=device, **env)
        self.process = subprocess.Popen([APP], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
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

    def end(self):
        """Without an error, such as a leak that a sanitizer finds."""
        assert self.ask("close") == "closed"
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0, f"a peer ended with {self.process.returncode}"

    def files(self):
        return sorted(DIRECTORY.glob(f"weft-trace.{self.process.pid}.*"))


def trace(*args, status=0):
    done = subprocess.run([WEFT, "trace", *map(str, args)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status, f"weft trace {args}: {done.returncode}\n{done.stderr}"
    return done.stdout if status == 0 else done.stderr


def rows(peer, *args):
    return list(csv.DictReader(io.StringIO(trace(peer.process.pid, *args))))


def kinds(table):
    return {row["event"] for row in table}


def message(source, target, tag, length=200000):
    assert target.ask(f"recv {tag}") == "posted"
    address = source.ask(f"add {target.name}").removeprefix("addr ")
    assert source.ask(f"send {address} {tag} {length}") == "posted"
    target.tell("wait 30000")
    assert source.ask("wait 30000") == f"sent {tag}"
    assert target.hear() == f"received {tag} length {length} wrong 0"


def while_it_runs(a, b):
    for tag in range(1, 6):
        message(a, b, tag)
        table = rows(a)
        assert {"opened", "sent", "ack_received"} <= kinds(table), kinds(table)
        assert {row["peer"] for row in table} == {"10.0.0.2"}
        times = [int(row["time_ns"]) for row in table]
        assert times == sorted(times)
    assert {"opened", "received"} <= kinds(rows(b))
    assert oct(a.files()[0].stat().st_mode & 0o777) == "0o600"
    for line in trace("--list").splitlines():
        if line.startswith(f"{a.process.pid} "):
            assert line.split()[1:3] == ["runs", pathlib.Path(APP).name[:47]], line
            break
    else:
        sys.exit("not listed")


def same_in_both(peer, path):
    """Rows, and the JSON of the same events: the process closes its idle connection some time, and does nothing after that."""
    for _ in range(20):
        table = rows(peer)
        trace(peer.process.pid, "--format", "json", "-o", path)
        if rows(peer) == table:
            return table, json.loads(path.read_text())
    sys.exit("events come again and again")


def formats(peer, folder):
    table, root = same_in_both(peer, folder / "a.json")
    assert root["schema"] == "weft.trace/1"
    (recording,) = root["recordings"]
    assert [e["psn"] for e in recording["events"]] == [int(row["psn"]) for row in table]
    assert recording["ip"] == "10.0.0.1" and recording["events_lost"] == recording["events_so_far"] - len(table)
    chrome = json.loads(trace(peer.process.pid, "--format", "chrome"))["traceEvents"]
    assert all({"ph", "ts", "pid", "tid", "name"} <= event.keys() for event in chrome)
    assert {event["ph"] for event in chrome} == {"i", "C", "b", "e", "M"}
    begun = [event["id"] for event in chrome if event["ph"] == "b"]
    assert begun and begun == [event["id"] for event in chrome if event["ph"] == "e"]
    assert "formats are" in trace(peer.process.pid, "--format", "pdf", status=2)


def after_a_kill(a, b):
    """In the middle of messages that nobody receives."""
    address = a.ask(f"add {b.name}").removeprefix("addr ")
    assert a.ask(f"send {address} 99 200000") == "posted"
    a.tell("wait 30000")
    b.tell("wait 300")
    b.hear()
    a.process.kill()
    a.process.wait()
    table = rows(a)
    assert kinds(table) >= {"sent", "ack_received"}, kinds(table)
    assert any(f"{a.process.pid} " in line and " ended " in line for line in trace("--list").splitlines())


def damaged(peer, folder):
    """Whatever is in a file: an answer or a message, and never a signal."""
    good = peer.files()[0].read_bytes()
    chance = random.Random(1)
    path = folder / "damaged"
    for i in range(60):
        data = bytearray(good)
        for _ in range(chance.randrange(1, 64)):
            data[chance.randrange(chance.choice([256, len(data)]))] = chance.randrange(256)
        path.write_bytes(data[: chance.choice([len(data), chance.randrange(len(data))])])
        done = subprocess.run([WEFT, "trace", str(path), "--format", chance.choice(["csv", "json", "chrome"])],
                              capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode in (0, 1), f"file {i}: {done.returncode}\n{done.stderr}"
        if done.returncode == 0 and done.stdout.startswith("{"):
            json.loads(done.stdout)
    assert "no recording" in trace(APP, status=1)
    assert "No such file" in trace(folder / "nothing", status=1)
    assert "no recording" in trace(folder, status=1)


def few_events(peer):
    """A ring of 64: the newest are kept."""
    table = rows(peer)
    assert 50 <= len(table) <= 64, len(table)
    assert table[-1]["event"] in ("ack_received", "ack_marked", "received", "control", "ack_sent"), table[-1]


with tempfile.TemporaryDirectory(prefix="weft-trace-") as temporary:
    place = pathlib.Path(temporary)
    socket = place / "link"
    first = Peer(0, f"net_vhost0,iface={socket}")
    second = Peer(1, f"net_virtio_user0,path={socket}")
    for one in (first, second):
        one.hear_name()
    while_it_runs(first, second)
    formats(first, place)
    after_a_kill(first, second)
    damaged(first, place)
    second.end()
    assert not second.files()
    assert "no recording of process" in trace(second.process.pid, status=1)
    first.files()[0].unlink()

    socket = place / "short"
    first = Peer(0, f"net_vhost0,iface={socket}", FI_WEFT_RECORD_EVENTS="64")
    second = Peer(1, f"net_virtio_user0,path={socket}", FI_WEFT_RECORD_EVENTS="0")
    for one in (first, second):
        one.hear_name()
    for number in range(1, 6):
        message(first, second, number)
    few_events(first)
    assert not second.files()
    for one in (first, second):
        one.end()
