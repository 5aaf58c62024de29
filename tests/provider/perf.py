#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""perf.py WEFT - `weft perf` between two processes: over weft, tcp;ofi_rxm and shm it prints the same table, with every byte
compared; a killed server, what a provider cannot do and a row of another
size than the job's end it with a message. Needs FI_PROVIDER_PATH."""
from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

WEFT = sys.argv[1]
PORT = str(20000 + os.getpid() % 20000)
OPS = ("message", "tagged", "write", "read", "atomic")


def perf(env: dict[str, str], *args: str, port: str = PORT) -> subprocess.Popen[str]:
    return subprocess.Popen([WEFT, "perf", "--port", port, *args], env=dict(os.environ, **env), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def devices(provider: str, folder: str) -> list[dict[str, str]]:
    if provider != "weft":
        return [{}, {}]
    path = tempfile.mktemp(dir=folder)
    return [{"FI_WEFT_DEVICE": f"net_vhost0,iface={path}", "FI_WEFT_ADDR": "10.98.0.1"},
            {"FI_WEFT_DEVICE": f"net_virtio_user0,path={path}", "FI_WEFT_ADDR": "10.98.0.2"}]


def listen(env: dict[str, str]) -> subprocess.Popen[str]:
    server = perf(env)
    assert server.stdout and "waiting" in server.stdout.readline()
    return server


def measure(provider: str, folder: str, *args: str) -> str:
    """What the client prints."""
    env = devices(provider, folder)
    server = listen(env[0])
    client = perf(env[1], "127.0.0.1", "--provider", provider, *args)
    out, err = client.communicate(timeout=60)
    served, complaint = server.communicate(timeout=60)
    assert client.returncode == 0 == server.returncode, f"{provider} {args}: {out}\n{err}\n{served}\n{complaint}"
    return out


def shape(table: str) -> str:
    """A table without its numbers, and without what its first line says of the provider."""
    return re.sub(r" *[0-9]+(\.[0-9]+)?", " N", table.split("\n", 1)[1])


def same_tables(folder: str) -> None:
    for op in OPS:
        sizes = "8" if op == "atomic" else "8,10000"
        shapes = {}
        for provider in ("weft", "tcp;ofi_rxm", "shm"):
            file = Path(folder) / "perf.json"
            tests = "latency,bandwidth,both-ways"
            out = measure(provider, folder, "--op", op, "--size", sizes, "--test", tests, "--iterations", "100", "--warmup", "5",
                          "--check", "--json", str(file), "--connections", "2")
            shapes[provider] = shape(out)
            run = json.loads(file.read_text())
            assert run["schema"] == "weft.perf/1" and run["op"] == op and run["connections"] == 2, run
            rows = [(row["test"], row["bytes"]) for row in run["rows"]]
            assert rows == [(test, int(size)) for test in tests.split(",") for size in sizes.split(",")], rows
            assert {row["iterations"] for row in run["rows"] if row["test"] != "both-ways"} == {200}, run
            for row in run["rows"]:
                if row["test"] == "latency":
                    assert 0 < row["min_us"] <= row["p50_us"] <= row["p99_us"] <= row["p999_us"] <= row["max_us"], row
                else:
                    assert row["bytes_per_second"] > 0 and row["messages_per_second"] > 0, row
        assert len(set(shapes.values())) == 1, shapes


def threads_and_time(folder: str) -> None:
    out = measure("weft", folder, "--connections", "3", "--threads", "2", "--size", "0,4096", "--duration", "50ms", "--check")
    assert "3 connections, 2 threads" in out, out
    out = measure("weft", folder, "--window", "3", "--all-sizes", "--op", "write", "--test", "bandwidth", "--iterations", "4",
                  "--warmup", "1", "--check")
    sizes = [int(size) for size in re.findall(r"^ *([0-9]+) ", out, re.MULTILINE)]
    assert "3 outstanding, every byte compared" in out and sizes == [1 << bit for bit in range(24)], out


def killed_server(folder: str) -> None:
    for victim in ("tcp;ofi_rxm", "weft"):
        env = devices(victim, folder)
        server = listen(env[0])
        client = perf(env[1], "127.0.0.1", "--provider", victim, "--size", "64", "--duration", "60s")
        assert client.stdout
        began = time.monotonic()
        while "#bytes" not in (line := client.stdout.readline()):
            assert line, client.communicate()[1]
        assert time.monotonic() - began < 30, "the table's head comes before the first row is measured"
        server.send_signal(signal.SIGKILL)
        _, err = client.communicate(timeout=60)
        server.communicate()
        assert client.returncode == 1 and "127.0.0.1" in err, err


def refusals(folder: str) -> None:
    for args, says in ((["--provider", "nonsense"], "no provider 'nonsense'"),
                       (["--provider", "shm", "--op", "atomic", "--size", "65536"], "shm has them up to")):
        server = listen({})
        client = perf({}, "127.0.0.1", *args)
        _, err = client.communicate(timeout=60)
        assert client.returncode == 1 and says in err, err
        server.communicate(timeout=60)
        assert server.returncode == 1
    for args, says in ((["--op", "sum"], "none of message, tagged"), (["--size", "99999999"], "more than"),
                       (["--threads", "2"], "no more than connections"), (["--op", "atomic", "--size", "7"], "multiples of 8"),
                       (["--test", "latency,speed"], "'speed' is none of latency")):
        bad = perf({}, "127.0.0.1", *args)
        _, err = bad.communicate(timeout=10)
        assert bad.returncode == 2 and says in err, err


def forward(source: socket.socket, sink: socket.socket, old: bytes = b"", new: bytes = b"") -> None:
    with contextlib.suppress(OSError):  # either side may end it
        while data := source.recv(65536):
            sink.sendall(data.replace(old, new) if old else data)
        sink.shutdown(socket.SHUT_WR)


def row_of_another_size() -> None:
    """The server has memory for the sizes of the job; a client that then asks for others is refused."""
    server = listen({})
    with socket.create_server(("127.0.0.1", 0)) as door:
        client = perf({}, "127.0.0.1", "--provider", "shm", "--test", "latency", "--size", "8", "--iterations", "10",
                      port=str(door.getsockname()[1]))
        near, _ = door.accept()
        with near, socket.create_connection(("127.0.0.1", int(PORT))) as far:
            back = threading.Thread(target=forward, args=(far, near))
            back.start()
            forward(near, far, b'"bytes":8,', b'"bytes":65536,')
            back.join()
    _, err = client.communicate(timeout=60)
    _, complaint = server.communicate(timeout=60)
    assert client.returncode == 1 and server.returncode == 1, (client.returncode, server.returncode, err, complaint)
    assert "a row out of range" in complaint, complaint


with tempfile.TemporaryDirectory(prefix="weft-perf-") as directory:
    same_tables(directory)
    threads_and_time(directory)
    killed_server(directory)
    refusals(directory)
    row_of_another_size()
