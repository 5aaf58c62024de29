#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pingpong.py WEFT - Debian's fi_pingpong, data check on, between two processes through `weft switch`, unprivileged:
messages and tagged messages. Needs FI_PROVIDER_PATH."""
import os
import signal
import subprocess
import sys
import tempfile

WEFT = sys.argv[1]
SIZES = ["64", "4096", "100000", "1048576"]
PORT = str(20000 + os.getpid() % 20000)  # fi_pingpong's control connection


def pingpong(device, *args):
    env = dict(os.environ, FI_WEFT_DEVICE=device)
    return subprocess.Popen(["fi_pingpong", "-p", "weft", "-e", "rdm", "-c", *args], env=env, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(process, what):
    out, _ = process.communicate(timeout=60)
    if process.returncode != 0:
        sys.exit(f"{what}: exit {process.returncode}\n{out}")
    return out


def pair(devices, mode, size):
    """A server and its client; the table's line for this size must stand in both outputs."""
    server = pingpong(devices[0], "-m", mode, "-S", size, "-B", PORT)
    client = None
    # The client gives up when nobody listens yet.
    while client is None or (client.poll() is not None and client.returncode != 0 and server.poll() is None):
        client = pingpong(devices[1], "-m", mode, "-S", size, "-P", PORT, "127.0.0.1")
        try:
            client.wait(timeout=1)
        except subprocess.TimeoutExpired:
            break
    for process in (client, server):
        out = finish(process, f"{mode} {size} over {devices}")
        assert "bytes" in out and "MB/sec" in out, out


def through_switch(socket):
    devices = [f"net_virtio_user0,path={socket}{i}" for i in range(2)]
    switch = subprocess.Popen([WEFT, "switch", "--vhost", socket + ":2"], text=True, stdout=subprocess.PIPE)
    for mode in ("msg", "tagged"):
        for size in SIZES:
            pair(devices, mode, size)
    switch.send_signal(signal.SIGINT)
    out = finish(switch, "weft switch")
    assert "fabric: " in out and "fabric: 0 hops" not in out, out


with tempfile.TemporaryDirectory(prefix="weft-pp-") as folder:
    through_switch(folder + "/vhost")
