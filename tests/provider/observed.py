# SPDX-License-Identifier: BSD-3-Clause
"""Processes to look at: two peers with telemetry on a switch. They and their files are gone at the end of `scratch`."""
import contextlib
import os
import shutil
import subprocess
import tempfile
import time

LIMIT_S = 30
processes = []


def start(*args, **kwargs):
    processes.append(subprocess.Popen(*args, **kwargs))
    return processes[-1]


class Peer:
    """Does what it is told (peer_app.c)."""

    def __init__(self, app, scratch, number):
        env = dict(os.environ, FI_PROVIDER="weft", FI_WEFT_ADDR=f"10.0.0.{number + 1}", FI_WEFT_TELEMETRY="1",
                   FI_WEFT_DEVICE=f"net_virtio_user0,path={scratch}/port{number}")
        self.process = start([app], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self.name = self.ask("open").removeprefix("name ")

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().rstrip("\n")
        assert line and not line.startswith("failed"), f"a peer says: '{line}'"
        return line

    def send(self, other, tag, length):
        addr = self.ask(f"add {other.name}").removeprefix("addr ")
        assert self.ask(f"send {addr} {tag} {length}") == "posted"


def start_switch(weft, scratch, ports):
    switch = start([weft, "switch", "--vhost", f"{scratch}/port:{ports}"], stdout=subprocess.PIPE, text=True)
    assert "ports ready" in switch.stdout.readline()
    return switch


def until(condition, what):
    """The result of `condition` once it is true."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
    raise AssertionError(f"never: {what}")


@contextlib.contextmanager
def scratch():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        try:
            yield folder
        finally:
            for process in processes:
                process.kill()
                process.wait()
                shutil.rmtree(f"/var/run/dpdk/weft-{process.pid}", ignore_errors=True)  # root's is not in the folder
