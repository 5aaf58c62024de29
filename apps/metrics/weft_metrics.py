#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""weft metrics - what this host's processes count, for Prometheus. `weft top --json` takes the snapshot; names and labels are
in doc/guide/prometheus.md."""
from __future__ import annotations

import argparse
import json
import os
import socket
import socketserver
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

try:
    from prometheus_client import CollectorRegistry, generate_latest, make_wsgi_app
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
    HAS_CLIENT = True
except ImportError:
    HAS_CLIENT = False

PORT = 9476
SNAPSHOT_LIMIT_S = 10
MISSING = 3  # exit status: a package is not installed
HELP_COLUMN, WIDTH = 31, 130
NS = 1e-9
BITS = 8
Row = dict[str, Any]
Snapshot = dict[str, list[Row]]

# Of a port: field of the snapshot, name, help.
PORT_COUNTERS = (
    ("rx_pkts", "receive_packets", "Packets received."), ("rx_bytes", "receive_bytes", "Bytes received."),
    ("tx_pkts", "transmit_packets", "Packets sent."), ("tx_bytes", "transmit_bytes", "Bytes sent."),
    ("marked", "marked_packets", "Packets marked in the queue of a switch's port."),
    ("trimmed", "trimmed_packets", "Packets trimmed in the queue of a switch's port."),
)
PORT_GAUGES = (
    ("up", "up", "1: the port has a link.", 1.0), ("bps", "speed_bytes", "Rate of the link, bytes per second.", 1 / BITS),
    ("queue_bytes", "queue_bytes", "Bytes that wait for a switch's port.", 1.0),
)
# Of the connections of a device: name, help, field, how they become one value.
CONN_GAUGES = (
    ("cwnd_bytes", "Sum of the congestion windows.", "cwnd_bytes", "sum", 1.0),
    ("inflight_bytes", "Bytes sent and not acknowledged.", "inflight_bytes", "sum", 1.0),
    ("srtt_max_seconds", "Largest smoothed RTT.", "srtt_ns", "max", NS),
    ("silent_max_seconds", "Longest time since a peer was heard.", "silent_ns", "max", NS),
)


class SnapshotError(Exception):
    """`weft top` gave none."""


def take_snapshot(weft: str) -> Snapshot:
    """What all processes that this user may ask say now."""
    try:
        run = subprocess.run([weft, "top", "--once", "--json"], capture_output=True, text=True, check=False,
                             timeout=SNAPSHOT_LIMIT_S)
        shot = json.loads(run.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise SnapshotError(f"{weft} top --once --json: {error}") from error
    if shot.get("schema") != "weft.top/1":
        raise SnapshotError(f"{weft} top --once --json: unknown schema {shot.get('schema')}")
    return dict(shot)


def combined(how: str, values: list[float]) -> float:
    return max(values) if how == "max" else sum(values)


class Families:
    """Metrics by name, in the order of their first sample."""

    def __init__(self) -> None:
        self._all: dict[str, tuple[Metric, tuple[str, ...]]] = {}

    def add(self, kind: type[CounterMetricFamily] | type[GaugeMetricFamily], name: str, text: str,
            labels: dict[str, str], value: float) -> None:
        if name not in self._all:
            self._all[name] = kind(name, text, labels=tuple(labels)), tuple(labels)
        family, names = self._all[name]
        family.add_metric([labels[key] for key in names], value)  # type: ignore[attr-defined]

    def gauge(self, name: str, text: str, labels: dict[str, str], value: float) -> None:
        self.add(GaugeMetricFamily, name, text, labels, value)

    def counter(self, name: str, text: str, labels: dict[str, str], value: float) -> None:
        self.add(CounterMetricFamily, name, text, labels, value)

    def __iter__(self) -> Iterator[Metric]:
        return iter(family for family, _ in self._all.values())


class Metrics:
    """One snapshot as metrics."""

    def __init__(self, shot: Snapshot) -> None:
        self._shot = shot
        self._programs = {row["pid"]: row["program"] for row in shot["processes"]}
        self.families = Families()

    def _labels(self, row: Row) -> dict[str, str]:
        pid = row["pid"]
        return {"pid": str(pid), "program": self._programs.get(pid, ""), "device": row["on"]}

    def _groups(self, rows: Iterable[Row]) -> list[tuple[dict[str, str], list[Row]]]:
        """The rows of each device of each process."""
        groups: dict[tuple[int, str], list[Row]] = {}
        for row in rows:
            groups.setdefault((row["pid"], row["on"]), []).append(row)
        return [(self._labels(group[0]), group) for group in groups.values()]

    def _counts(self, name: str, text: str, view: str, keys: tuple[str, ...]) -> None:
        """How many rows of a view have the same values of these fields."""
        for labels, rows in self._groups(self._shot[view]):
            for values, count in Counter(tuple(str(row[key]) for key in keys) for row in rows).items():
                self.families.gauge(name, text, labels | dict(zip(keys, values)), count)

    def processes(self) -> None:
        self.families.gauge("weft_processes", "Processes that answered.", {}, len(self._shot["processes"]))
        self.families.gauge("weft_snapshot_truncated", "1: a process has more rows than were asked for.", {},
                            bool(self._shot.get("more")))

    def counters(self) -> None:
        for row in self._shot["counters"]:
            labels = self._labels(row)
            for key, value in row.items():
                if key not in ("pid", "on"):
                    self.families.counter(f"weft_{key}", f"Counter {key} of a device (doc/reference/telemetry.md).", labels,
                                          value)

    def connections(self) -> None:
        self._counts("weft_connections", "Connections with peers.", "conns", ("state",))
        for labels, rows in self._groups(self._shot["conns"]):
            for name, text, field, how, unit in CONN_GAUGES:
                self.families.gauge(f"weft_connections_{name}", text, labels,
                                    combined(how, [row[field] for row in rows]) * unit)

    def operations(self) -> None:
        self._counts("weft_operations", "Operations under way, by what they wait for.", "ops", ("kind", "wait"))
        for labels, rows in self._groups(self._shot["ops"]):
            for wait in dict.fromkeys(row["wait"] for row in rows):
                oldest = max(row["age_ns"] for row in rows if row["wait"] == wait)
                self.families.gauge("weft_operations_age_max_seconds", "Age of the oldest operation that waits for this.",
                                    labels | {"wait": wait}, oldest * NS)

    def neighbours(self) -> None:
        self._counts("weft_neighbours", "Neighbours of the port.", "neigh", ("state",))

    def ports(self) -> None:
        for row in self._shot["ports"]:
            labels = self._labels(row) | {"port": row["name"]}
            for field, name, text in PORT_COUNTERS:
                if field in row:
                    self.families.counter(f"weft_port_{name}", text, labels, row[field])
            for field, name, text, unit in PORT_GAUGES:
                if field in row:
                    self.families.gauge(f"weft_port_{name}", text, labels, row[field] * unit)
            for field, value in row.items():
                if field.startswith("drop_"):
                    self.families.counter("weft_port_drops", "Packets dropped, by reason.",
                                          labels | {"reason": field.removeprefix("drop_")}, value)

    def collect(self) -> Families:
        for part in (self.processes, self.counters, self.connections, self.operations, self.neighbours, self.ports):
            part()
        return self.families


class Collector:
    """Prometheus' client asks it at each scrape. A snapshot that fails is said, and is weft_up 0."""

    def __init__(self, weft: str) -> None:
        self._weft = weft

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("weft_up", "1: a snapshot could be taken.")
        families = Families()
        try:
            families = Metrics(take_snapshot(self._weft)).collect()
            up.add_metric([], 1)
        except SnapshotError as error:
            print(f"weft metrics: {error}", file=sys.stderr, flush=True)
            up.add_metric([], 0)
        yield up
        yield from families


class QuietHandler(WSGIRequestHandler):
    """No line for each scrape. Clients of unix sockets have no address."""

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def address_string(self) -> str:
        return str(self.client_address[0]) if self.client_address else "unix"


class TcpServer(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def server_bind(self) -> None:
        """Without asking the name service for the host's name, as HTTPServer does."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()


class Tcp6Server(TcpServer):
    address_family = socket.AF_INET6


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """A WSGI server on a unix socket."""
    daemon_threads = True

    def __init__(self, path: str, app: Any) -> None:
        self._app = app
        self.base_environ = {"SERVER_NAME": "localhost", "SERVER_PORT": "", "GATEWAY_INTERFACE": "CGI/1.1", "REMOTE_HOST": "",
                             "CONTENT_LENGTH": "", "SCRIPT_NAME": ""}
        remove_dead_socket(path)
        super().__init__(path, UnixHandler)

    def get_app(self) -> Any:
        return self._app


class UnixHandler(QuietHandler):
    def setup(self) -> None:
        self.client_address = ("unix", 0)
        super().setup()


def remove_dead_socket(path: str) -> None:
    """Of a run that was killed. One that answers, and anything that is no socket, stays: binding says that it is there."""
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(path)
    except FileNotFoundError:
        return
    except ConnectionRefusedError:
        os.unlink(path)


def split_address(text: str) -> tuple[str, int]:
    """HOST:PORT, [IPv6]:PORT, or a port of the loopback address."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is not ADDRESS:PORT, [ADDRESS]:PORT, PORT or unix:PATH")
    return host.strip("[]") or "127.0.0.1", int(port)


def listen_address(text: str) -> str | tuple[str, int]:
    if text.startswith("unix:") and len(text) > len("unix:"):
        return text.removeprefix("unix:")
    return split_address(text)


def named(address: str | tuple[str, int]) -> str:
    """An address as --listen takes it."""
    if isinstance(address, str):
        return f"unix:{address}"
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def make_server(address: str | tuple[str, int], app: Any) -> TcpServer | UnixServer:
    if isinstance(address, str):
        return UnixServer(address, app)
    server = (Tcp6Server if ":" in address[0] else TcpServer)(address, QuietHandler)
    server.set_app(app)
    return server


def serve(address: str | tuple[str, int], registry: CollectorRegistry) -> int:
    try:
        server = make_server(address, make_wsgi_app(registry))
    except OSError as error:
        print(f"weft metrics: cannot listen at {named(address)}: {error.strerror}", file=sys.stderr)
        return 1
    with server:
        where = f"unix:{address}" if isinstance(server, UnixServer) else f"http://{address[0]}:{server.server_port}/metrics"
        print(f"metrics at {where}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="weft metrics", usage="weft metrics [OPTION]...", add_help=False,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=HELP_COLUMN, width=WIDTH),
        description="Serves to Prometheus what the processes of this host count and wait for, and the ports of weft switch:\n"
        "all that `weft top` shows. Processes that use the provider are asked when FI_WEFT_TELEMETRY=1 is set for them.")
    group = parser.add_argument_group()  # without the title of the usual one
    group.add_argument("--listen", metavar="ADDRESS", type=listen_address, default=("127.0.0.1", PORT),
                       help=f"ADDRESS:PORT, [ADDRESS]:PORT, PORT or unix:PATH; default 127.0.0.1:{PORT}")
    group.add_argument("--once", action="store_true", help="print the metrics once, and end; exits with 1 without a snapshot")
    group.add_argument("--help", action="help", help="this text")
    return parser.parse_args()


def main() -> int:
    chosen = options()
    if not HAS_CLIENT:
        print("weft metrics: Python has no package prometheus_client: apt install python3-prometheus-client", file=sys.stderr)
        return MISSING
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector(os.environ.get("WEFT", "weft")))  # type: ignore[arg-type]
    if not chosen.once:
        return serve(chosen.listen, registry)
    text = generate_latest(registry).decode()
    sys.stdout.write(text)
    return 0 if "\nweft_up 1.0\n" in text else 1


if __name__ == "__main__":
    sys.exit(main())
