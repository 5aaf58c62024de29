#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""top.py WEFT PEER_APP - `weft top` on two processes, one of which receives nothing: its tables, its JSON, and its screen in a
pseudo terminal. Needs FI_PROVIDER_PATH."""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

from observed import LIMIT_S, Peer, scratch, start, start_switch, until
from stopping import stop

WEFT, APP = sys.argv[1:]
MESSAGE_BYTES = 300000
TAG = 1 << 63 | 7  # as no signed integer of 64 bits is
# What moves, colours and clears: all but the text.
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>78])|[\x0e\x0f]")


def top(*args):
    return subprocess.run([WEFT, "top", *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=LIMIT_S, check=False)


def snapshot(*args):
    run = top("--once", "--json", *args)
    assert run.returncode == 0, run
    return json.loads(run.stdout)


def operation(pid, wait):
    """The operation of a process that waits for this, or None."""
    rows = [op for op in snapshot(pid)["ops"] if op["wait"] == wait]
    return rows[0] if rows else None


def stuck_receiver(a, b):
    """The receiver has posted nothing: both sides say so."""
    a.send(b, TAG, MESSAGE_BYTES)
    sent = until(lambda: operation(a.pid, "receive"), "a send that waits for a receive")
    assert (sent["kind"], sent["bytes"], sent["done_bytes"], sent["tag"]) == ("tsend", MESSAGE_BYTES, 0, f"{TAG:#x}"), sent
    assert sent["peer"].startswith("10.0.0.2:"), sent
    here = until(lambda: operation(b.pid, "match"), "a message without a receive")
    assert (here["kind"], here["bytes"], here["tag"]) == ("trecv", MESSAGE_BYTES, f"{TAG:#x}"), here
    assert here["peer"].startswith("10.0.0.1:"), here
    age = until(lambda: operation(a.pid, "receive"), "it again")["age_ns"]
    assert age > sent["age_ns"], (age, sent)


def the_rest_of_a_snapshot(a, b):
    shot = snapshot()
    assert shot["schema"] == "weft.top/1" and not shot["more"]
    programs = {process["pid"]: process["program"] for process in shot["processes"]}
    assert programs.get(a.pid) == programs.get(b.pid) == "peer_app", programs
    conn = next(conn for conn in shot["conns"] if conn["pid"] == a.pid and conn["sends"])
    assert conn["peer"] == "10.0.0.2" and conn["state"] == "open" and conn["has_ops"] and conn["cwnd_bytes"], conn
    port = next(port for port in shot["ports"] if port["pid"] == a.pid)
    assert port["up"] and port["tx_pkts"] > 0 and "rx_bps" in port and "drop_no_route" in port, port
    neighbour = next(row for row in shot["neigh"] if row["pid"] == a.pid and row["ip"] == "10.0.0.2")
    assert neighbour["in_use"] and neighbour["state"] in ("learned", "told", "confirmed"), neighbour
    counters = next(row for row in shot["counters"] if row["pid"] == a.pid)
    assert counters["tx_data"] > 0 and counters["on"] == "net_virtio_user0", counters
    assert [row["pid"] for row in snapshot(b.pid)["processes"]] == [b.pid]


def switch_ports(switch):
    """The switch tells of its ports, which have carried packets."""
    shot = snapshot(switch.pid)
    rows = sorted(shot["ports"], key=lambda row: row["name"])
    assert [(row["on"], row["device"], row["up"]) for row in rows] == \
        [("switch", "net_vhost0", 1), ("switch", "net_vhost1", 1)], rows
    for row in rows:
        assert row["rx_pkts"] > 0 and row["tx_pkts"] > 0 and row["drop_queue_full"] == 0 and "rx_bps" in row, row
        assert row["bps"] == 100_000_000_000 and "queue_bytes" in row, row
    assert not shot["conns"] and not shot["ops"] and not shot["counters"], shot


def text(a, b):
    run = top("--once")
    assert run.returncode == 0, run
    print(run.stdout)
    sent, here = "receive: none posted at the peer", "match: no receive posted here"
    assert re.search(rf"{a.pid} tsend +10\.0\.0\.2:\d+ +293Ki +0 .* {sent} +{TAG:#x}", run.stdout), run.stdout
    assert re.search(rf"{b.pid} trecv +10\.0\.0\.1:\d+ +293Ki +.* {here} +{TAG:#x}", run.stdout), run.stdout


def silent_peer(a, b):
    """The receiver is stopped: what it does not acknowledge says for how long."""
    stop(b.process)
    try:
        a.send(b, 8, 100)
        op = until(lambda: operation(a.pid, "ack"), "a send that waits for an acknowledgement")
        assert op["bytes"] == 100, op
        until(lambda: (operation(a.pid, "ack") or op)["silent_ns"] > 200_000_000, "silence that grows")
    finally:
        b.process.send_signal(signal.SIGCONT)


def nothing_there(pid):
    run = top("--once", pid)
    assert run.returncode == 1 and f"process {pid} does not answer" in run.stderr and not run.stdout, run
    run = top("--json", pid)
    assert run.returncode == 1 and json.loads(run.stdout)["processes"] == [], run
    assert top("--once", "nobody").returncode == 2
    assert top().returncode == 2  # no terminal


class Screen:
    def __init__(self, *args, rows=24, columns=120):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.process = start([WEFT, "top", *map(str, args)], stdin=slave, stdout=slave, stderr=slave, close_fds=True,
                             env=dict(os.environ, TERM="xterm"), start_new_session=True,
                             preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.columns = columns

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        try:
            return os.read(self.master, 65536).decode(errors="replace") if ready else ""
        except OSError:  # it has ended
            return ""

    def shows(self, pattern):
        """The whole screen is drawn again when its size changes: until the pattern is there."""
        end, seen = time.monotonic() + LIMIT_S, ""
        while time.monotonic() < end:
            self.columns = 241 - self.columns
            self.resize(24, self.columns)
            seen, more = "", self.read(1)
            while more:
                seen += ESCAPES.sub(" ", more)
                more = self.read(0.1)
            if re.search(pattern, seen):
                return seen
        raise AssertionError(f"the screen never shows {pattern}, but {seen}")

    def end(self):
        self.press("q")
        until(lambda: self.read(0.1) is not None and self.process.poll() is not None, "the end")
        assert self.process.returncode == 0
        os.close(self.master)


class Channels:
    """Telemetry of a process that has a device with local channels, and sends more whenever it is asked. It is this one."""

    def __init__(self, folder):
        path = f"{folder}/dpdk/channels"
        os.makedirs(path)
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.server.bind(path + "/dpdk_telemetry.v2")
        self.server.listen()
        self.sent = 0
        threading.Thread(target=self.run, daemon=True).start()

    def stats(self):
        self.sent += 1000000
        return {"tx_data": 7, "local_tx_pkts": self.sent, "local_rx_pkts": 20, "local_full": 3, "local_late": 41,
                "local_dropped": 5, "local_marked": 67, "local_refused": 8, "local_channels": 9, "local_wakes": 1234567}

    def run(self):
        while True:
            connection, _ = self.server.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        """Until the other side has gone, which may be at any time: it waits for answers only so long."""
        with connection, contextlib.suppress(ConnectionError):
            connection.send(json.dumps({"version": "", "pid": os.getpid(), "max_output_len": 16384}).encode())
            while command := connection.recv(1024).decode():
                name = command.split(",")[0]
                answer = ["net_virtio_user0"] if name == "/weft/devices" else self.stats() if name == "/weft/stats" else None
                connection.send(json.dumps({name: answer}).encode())


def local_channels(folder, others):
    """As JSON, as text and on the screen; processes without channels have none."""
    Channels(folder)
    shot = snapshot()
    assert {row["pid"] for row in shot["counters"]} >= {os.getpid(), *others}, shot  # others' processes, too
    assert not {row["pid"] for row in shot["local"]}.intersection(others), shot
    row, = snapshot(os.getpid())["local"]
    assert (row["pid"], row["on"], row["local_late"], row["local_channels"]) == (os.getpid(), "net_virtio_user0", 41, 9), row
    assert "tx_data" not in row and row["local_rx_pps"] == 0 and row["local_tx_pps"] > 0, row
    table = top("--once", os.getpid()).stdout.partition("\nlocal channels\n")[2].splitlines()
    assert table[0].split()[-6:] == ["FULL", "MARKED", "DROPPED", "REFUSED", "WAKES", "OPENED"], table
    assert re.fullmatch(rf" *{os.getpid()} net_virtio_user0 +0 +\S+ +20 +\d\.\d\dM +41 +3 +67 +5 +8 1234567 +9", table[1]), table
    assert "local channels" not in top("--once", others[0]).stdout
    s = Screen("--interval", "100ms", os.getpid())
    s.press("5")
    s.shows(rf"\[5 local channels\](?s:.*)1 rows by DEVICE(?s:.*){os.getpid()} net_virtio_user0")
    s.press("\t")
    s.shows(r"\[1 operations\]")
    s.end()


def screen(a, b):
    s = Screen("--interval", "100ms")
    s.shows(r"[1-9]\d* processes(?s:.*)\[1 operations\](?s:.*)rows by AGE, largest first(?s:.*)receive: none posted")
    s.press("r")
    s.shows(r"rows by AGE [^,]|rows by AGE\s*$|rows by AGE\s+\r?\n|rows by AGE(?!, largest)")
    s.press("s")
    s.shows(r"rows by SILENT")
    s.press("2")
    s.shows(r"\[2 connections\](?s:.*)CWND")
    s.press("\t")
    s.shows(r"\[3 ports\](?s:.*)net_virtio_user0")
    s.press("4")
    s.shows(r"\[4 neighbours\](?s:.*)10\.0\.0\.2")
    s.press("1/no such row")
    s.shows(r"0 rows by(?s:.*)filter: no such row")
    s.press("\x1b")
    s.shows(r"[1-9]\d* rows by")
    s.press("/ZZZZS.\x7f\x7f\n")  # nobody is called so: the last characters are taken back
    s.shows(r"0 rows by(?s:.*)filter: ZZZZ")
    s.press("/\x7f\x7f\x7f\x7f10.0.0.2\n")
    s.shows(r"[1-9]\d* rows by(?s:.*)filter: 10\.0\.0\.2(?s:.*)tsend")
    s.press("f")
    s.shows(r"frozen")
    s.press("f")
    seen = s.shows(r"\[1 operations\]")
    assert "frozen" not in seen, seen
    s.end()


def small_screens():
    """Whatever its size, it draws what fits, takes keys and ends."""
    for rows, columns in ((1, 1), (2, 10), (3, 300), (60, 5)):
        s = Screen("--interval", "50ms", rows=rows, columns=columns)
        for keys in ("2", "3", "4", "5", "s", "r", "\x1b[B", "\x1b[6~", "\x1b[5~", "/x", "\n", "f"):
            s.press(keys)
            s.read(0.05)
        s.resize(columns, rows)
        s.read(0.1)
        s.end()


def empty_screen(pid):
    s = Screen(pid)
    s.shows(r"0 processes(?s:.*)nothing to show")
    s.end()


def main(folder):
    switch = start_switch(WEFT, folder, 2)
    a, b = Peer(APP, folder, 0), Peer(APP, folder, 1)
    stuck_receiver(a, b)
    the_rest_of_a_snapshot(a, b)
    switch_ports(switch)
    text(a, b)
    screen(a, b)
    small_screens()
    silent_peer(a, b)
    local_channels(folder, (a.pid, b.pid))
    for peer in (a, b):
        peer.process.kill()
        peer.process.wait()
    nothing_there(a.pid)
    empty_screen(a.pid)


with scratch() as SCRATCH:
    main(SCRATCH)
