#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""supervised.py WEFT - `weft switch` tells a service manager that it is ready, that it lives and that it stops."""
import os
import socket
import subprocess
import sys
import tempfile

WEFT = sys.argv[1]
LIMIT_S = 60


def switch(port, name, **watchdog):
    env = {key: value for key, value in os.environ.items() if not key.startswith("WATCHDOG_")}
    return subprocess.Popen([WEFT, "switch", "--vhost", f"{port}:1"], env=dict(env, NOTIFY_SOCKET=name, **watchdog),
                            stdout=subprocess.DEVNULL)


def messages_until_stopped(manager, process):
    """What comes between its end being asked for and its end."""
    process.terminate()
    assert process.wait(LIMIT_S) == 0, process.returncode
    manager.setblocking(False)
    found = []
    try:
        while True:
            found.append(manager.recv(64))
    except BlockingIOError:
        return found


def check(scratch, case, name, signs, **watchdog):
    port = f"{scratch}/{case}/port"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name.replace("@", "\0"))
        manager.settimeout(LIMIT_S)
        process = switch(port, name, **watchdog)
        try:
            assert manager.recv(64) == b"READY=1"
            assert os.path.exists(port + "0"), "ready before its port was there"
            assert [manager.recv(64) for _ in range(signs)] == [b"WATCHDOG=1"] * signs
            rest = messages_until_stopped(manager, process)
        finally:
            process.kill()
            process.wait()
    assert rest[-1:] == [b"STOPPING=1"], rest
    assert signs or rest == [b"STOPPING=1"], rest


with tempfile.TemporaryDirectory() as directory:
    check(directory, "path", f"{directory}/notify", 3, WATCHDOG_USEC="20000")
    check(directory, "abstract", f"@weft-supervised-{os.getpid()}", 0)
    check(directory, "other", f"{directory}/notify2", 0, WATCHDOG_USEC="20000", WATCHDOG_PID="1")
    check(directory, "wild", f"{directory}/notify3", 0, WATCHDOG_USEC="-1")
print("ready, alive and stopping are told")
