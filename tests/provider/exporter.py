#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""exporter.py WEFT WEFT_METRICS PEER_APP ROOT - `weft metrics` on two processes, one of which receives nothing: the same numbers
as `weft top`, over a port and a unix socket; the page names all metrics, and the dashboard asks only for those that there are.
Needs FI_PROVIDER_PATH. Debian's interpreter has the client library."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import urllib.request

from observed import LIMIT_S, Peer, scratch, start, start_switch, until
from prometheus_client.parser import text_string_to_metric_families

WEFT, METRICS, APP, ROOT = sys.argv[1:]
MESSAGE_BYTES = 300000


def samples(text):
    """All samples of an answer: name and labels -> value."""
    return {(s.name, frozenset(s.labels.items())): s.value
            for family in text_string_to_metric_families(text) for s in family.samples}


def families(text):
    return {family.name: family for family in text_string_to_metric_families(text)}


def once():
    run = subprocess.run([WEFT, "metrics", "--once"], capture_output=True, text=True, timeout=LIMIT_S, check=True)
    return run.stdout


def value(text, name, **labels):
    """Of the sample with these labels among others; None: there is none."""
    found = [v for (n, has), v in samples(text).items() if n == name and set(labels.items()) <= has]
    assert len(found) <= 1, (name, labels, found)
    return found[0] if found else None


def stuck_receiver(a, b, switch):
    a.send(b, 7, MESSAGE_BYTES)
    on = {"pid": str(a.pid), "program": "peer_app", "device": "net_virtio_user0"}
    text = until(lambda: (t := once()) and value(t, "weft_operations", kind="tsend", wait="receive", **on) == 1 and t,
                 "a send that waits for a receive")
    assert value(text, "weft_operations", kind="trecv", wait="match", pid=str(b.pid)) == 1
    assert value(text, "weft_up") == 1 and value(text, "weft_processes") == 3
    assert value(text, "weft_connections", state="open", **on) == 1
    assert value(text, "weft_operations_age_max_seconds", wait="receive", **on) > 0
    assert value(text, "weft_port_up", port="0:leaf0:host0", pid=str(switch.pid)) == 1
    assert value(text, "weft_port_speed_bytes", port="0:leaf0:host0", pid=str(switch.pid)) == 100e9 / 8
    assert value(text, "weft_port_drops_total", reason="queue_full", port="0:leaf0:host0", pid=str(switch.pid)) == 0
    assert value(text, "weft_neighbours", state="confirmed", **on) == 1
    older = value(text, "weft_operations_age_max_seconds", wait="receive", **on)
    assert value(once(), "weft_operations_age_max_seconds", wait="receive", **on) > older


SAME = ("tx_data", "rx_ack", "tx_retx", "pdc_failed")


def top_counters(pid):
    shot = json.loads(subprocess.run([WEFT, "top", "--once", "--json"], capture_output=True, check=True).stdout)
    return next(row for row in shot["counters"] if row["pid"] == pid)


def same_as_top(a):
    """Counters are those of `weft top`, if that tells the same before and after: a waiting process sends at times."""
    for _ in range(20):
        counters = top_counters(a.pid)
        text = once()
        after = top_counters(a.pid)
        if all(counters[key] == after[key] for key in SAME):
            break
    else:
        sys.exit("counters change again and again")
    told = {name: v for (name, labels), v in samples(text).items() if ("pid", str(a.pid)) in labels}
    assert counters["tx_data"] > 0
    for key in SAME:
        assert told[f"weft_{key}_total"] == counters[key], (key, told, counters)
    assert len([name for name in told if f"{name.removeprefix('weft_').removesuffix('_total')}" in counters]) > 100


def serve(address):
    process = start([WEFT, "metrics", "--listen", address], stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    assert line.startswith("metrics at "), line
    return process, line.split()[-1]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def over_a_port():
    for address in ("0", "127.0.0.1:0", "[::1]:0"):
        process, url = serve(address)
        url = url.replace("//::1:", "//[::1]:")
        with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), answer.headers
            assert value(answer.read().decode(), "weft_processes") == 3
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == 0


def over_a_socket(folder):
    """One that was killed leaves its socket; the next takes it. Another's, and a file, stay as they are."""
    path = f"{folder}/metrics.sock"
    for _ in range(2):
        process, where = serve(f"unix:{path}")
        assert where == f"unix:{path}"
        connection = UnixConnection(path)
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        assert answer.status == 200 and value(answer.read().decode(), "weft_processes") == 3
        second = subprocess.run([WEFT, "metrics", "--listen", f"unix:{path}"], capture_output=True, text=True, timeout=LIMIT_S)
        assert second.returncode == 1 and "in use" in second.stderr, second
        process.kill()
        process.wait()
    file = pathlib.Path(folder, "file")
    file.write_text("mine")
    run = subprocess.run([WEFT, "metrics", "--listen", f"unix:{file}"], capture_output=True, text=True, timeout=LIMIT_S)
    assert run.returncode == 1 and file.read_text() == "mine", run


def no_snapshot():
    for program in ("/bin/false", "/nowhere/weft", "/bin/echo"):
        run = subprocess.run([METRICS, "--once"], env=dict(os.environ, WEFT=program), capture_output=True, text=True)
        assert run.returncode == 1 and value(run.stdout, "weft_up") == 0 and program in run.stderr, run
    for address in ("192.0.2.1:9476", "[2001:db8::1]:9476"):  # of documentation: nobody has them
        run = subprocess.run([WEFT, "metrics", "--listen", address], capture_output=True, text=True, timeout=LIMIT_S)
        assert run.returncode == 1 and f"cannot listen at {address}: " in run.stderr, run
    for bad in ("nobody", "1.2.3.4:x", "unix:", "70000"):
        assert subprocess.run([WEFT, "metrics", "--listen", bad], capture_output=True).returncode == 2, bad


def documented():
    """The page names all but the engine's own counters, with their kinds, and no other."""
    found = {f"{name}{'_total' if f.type == 'counter' else ''}": f.type for name, f in families(once()).items()
             if "Counter " not in f.documentation}
    page = pathlib.Path(ROOT, "doc/guide/prometheus.md").read_text()
    told = dict(re.findall(r"^\| `(weft_\w+)`[^|]*\| (\w+) \|", page, re.MULTILINE))
    assert found == told, (found.items() ^ told.items())


def dashboard():
    board = json.loads(pathlib.Path(ROOT, "packaging/grafana/weft.json").read_text())
    there = {name for name, _ in samples(once())}
    asked = {name for panel in board["panels"] for target in panel.get("targets", [])
             for name in re.findall(r"weft_\w+", target["expr"])}
    assert len(asked) > 15 and asked <= there, asked - there
    places = [tuple(panel["gridPos"].values()) for panel in board["panels"]]
    assert len(set(places)) == len(places) and len({panel["id"] for panel in board["panels"]}) == len(places)


with scratch() as FOLDER:
    SWITCH = start_switch(WEFT, FOLDER, 2)
    A, B = Peer(APP, FOLDER, 0), Peer(APP, FOLDER, 1)
    stuck_receiver(A, B, SWITCH)
    same_as_top(A)
    over_a_port()
    over_a_socket(FOLDER)
    no_snapshot()
    documented()
    dashboard()
