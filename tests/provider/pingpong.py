#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pingpong.py WEFT [mtu | keys] - Debian's fi_pingpong, data check on, between two processes through `weft switch`, unprivileged:
messages and tagged messages, and under a hook of libfabric, by vhost-user and by shared buffers; with credits that are scheduled;
then without a switch. With `mtu` only where large packets get lost, with `keys` only encrypted. Needs FI_PROVIDER_PATH."""
import os
import signal
import subprocess
import sys
import tempfile

WEFT = sys.argv[1]
SIZES = ["64", "4096", "100000", "1048576"]
PORT = str(20000 + os.getpid() % 20000)  # fi_pingpong's control connection


def pingpong(device, hook, cc, tune, *args):
    if cc != "smartt":  # credit is granted at the rate of the link, which a vhost port does not know
        tune = ",".join(["link_bps=400000000000,pacing=off", *filter(None, [tune])])
    env = dict(os.environ, FI_WEFT_DEVICE=device, FI_WEFT_CC=cc, FI_WEFT_TUNE=tune, FI_HOOK=hook,
               FI_LOG_LEVEL="info" if hook else "", FI_LOG_PROV=f"hook_{hook},weft")
    return subprocess.Popen(["fi_pingpong", "-p", "weft", "-e", "rdm", "-c", *args], env=env, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def output(process):
    return process.communicate(timeout=60)[0]


def check(process, out, what):
    if process.returncode != 0:
        sys.exit(f"{what}: exit {process.returncode}\n{out}")
    return out


def pair(devices, mode, size, hook="", cc="smartt", tune=""):
    """A server and its client; the table's line for this size must stand in both outputs."""
    server = pingpong(devices[0], hook, cc, tune, "-m", mode, "-S", size, "-B", PORT)
    while True:
        client = pingpong(devices[1], hook, cc, tune, "-m", mode, "-S", size, "-P", PORT, "127.0.0.1")
        out = output(client)
        if client.returncode == 0 or "failed to connect" not in out or server.poll() is not None:
            break  # not merely because nobody listened yet
    for process, text in ((client, out), (server, output(server))):
        check(process, text, f"{mode} {size} over {devices}")
        assert "bytes" in text and "MB/sec" in text, text
    return out


def through_switch(socket, option="--vhost", device="net_virtio_user0,path="):
    devices = [f"{device}{socket}{i}" for i in range(2)]
    switch = subprocess.Popen([WEFT, "switch", option, socket + ":2"], text=True, stdout=subprocess.PIPE)
    for mode in ("msg", "tagged"):
        for size in SIZES:
            pair(devices, mode, size)
    # The debug hook refuses fi_pingpong's format of completion queues.
    for tune, chosen in (("", device == "shm:"), ("rto_ns=5000000", False)):
        log = pair(devices, "tagged", SIZES[1], "perf", tune=tune)
        assert ("shared buffers: retransmission timeout 20000000 ns" in log) == chosen, log
    switch.send_signal(signal.SIGINT)
    out = check(switch, output(switch), "weft switch")
    assert "fabric: " in out and "fabric: 0 hops" not in out, out


def with_credit(socket, cc):
    """The fabric limits credits and sends data where its credits have been."""
    devices = [f"net_virtio_user0,path={socket}{i}" for i in range(2)]
    switch = subprocess.Popen([WEFT, "switch", "--vhost", socket + ":2", "--credit-queue", "16", "--route", "symmetric"],
                              text=True, stdout=subprocess.PIPE)
    for size in SIZES:
        pair(devices, "msg", size, cc=cc)
    switch.send_signal(signal.SIGINT)
    out = check(switch, output(switch), "weft switch")
    assert "0 data" in out, out


def point_to_point(folder):
    """Both ends close their devices at the same moment, which must end neither of them."""
    for i in range(5):
        socket = f"{folder}/pair{i}"
        pair([f"net_vhost0,iface={socket}", f"net_virtio_user0,path={socket}"], "msg", SIZES[0])


def small_mtu(folder):
    """Nothing tells of the MTU in the middle, or that it falls during the run."""
    for tune, size in (("fault_mtu_bytes=1500", "100000"), ("fault_mtu_bytes=1500,fault_mtu_from_pkt=1500", "4194304")):
        socket = f"{folder}/mtu{size}"
        pair([f"net_vhost0,iface={socket}", f"net_virtio_user0,path={socket}"], "tagged", size, tune=tune)


def encrypted(folder):
    """Through a switch, and without one."""
    os.environ["FI_WEFT_KEY_FILE"] = folder + "/keys"
    with open(folder + "/keys", "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as keys:
        keys.write(f"key 5 {'5a' * 32}\ncurrent 5\n")
    through_switch(folder + "/vhost")
    through_switch(folder + "/shm", "--shm", "shm:")
    point_to_point(folder)


with tempfile.TemporaryDirectory(prefix="weft-pp-") as folder:
    if sys.argv[2:] == ["keys"]:
        encrypted(folder)
        sys.exit(0)
    if sys.argv[2:] == ["mtu"]:
        small_mtu(folder)
        sys.exit(0)
    through_switch(folder + "/vhost")
    through_switch(folder + "/shm", "--shm", "shm:")
    for scheduling in ("spraypass", "expresspass"):
        with_credit(folder + "/" + scheduling, scheduling)
    point_to_point(folder)
