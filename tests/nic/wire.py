# SPDX-License-Identifier: BSD-3-Clause
"""A wire between two NICs of a guest (QEMU's -netdev dgram over unix sockets) that loses frames and flips bits on demand.
Runs as a thread of the test; the two shares may change at any time."""
from __future__ import annotations

import contextlib
import os
import random
import selectors
import socket
import threading

BURST = 64          # frames of one side before the other has its turn
MAX_FRAME = 1 << 16
VLAN_TYPE = b"\x81\x00"
HEADERS = 42        # Ethernet, IPv4 and UDP: a flipped bit there makes a packet of somebody else's


class Wire:
    def __init__(self, folder: str) -> None:
        self.reset()
        self.ports: list[tuple[str, str]] = []  # of QEMU, of this wire
        self._sockets: list[socket.socket] = []
        self._random = random.Random(1)
        self._over = False
        for side in "ab":
            near, far = f"{folder}/wire-{side}.sock", f"{folder}/nic-{side}.sock"
            for path in (near, far):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            sock.bind(near)
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 21)
            self._sockets.append(sock)
            self.ports.append((far, near))
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def reset(self) -> None:
        """No faults; counts start again."""
        self.loss = 0.0         # share of the frames
        self.corruption = 0.0
        self.frames = 0
        self.lost = 0
        self.corrupted = 0
        self.longest = 0        # bytes, without the frame check sequence
        self.vlans: dict[str, int] = {}  # frames by VLAN

    def close(self) -> None:
        self._over = True
        self._thread.join()
        for sock in self._sockets:
            sock.close()

    def _carry(self) -> None:
        poll = selectors.DefaultSelector()
        for side, sock in enumerate(self._sockets):
            poll.register(sock, selectors.EVENT_READ, side)
        while not self._over:
            for key, _ in poll.select(0.2):
                self._burst(key.data)
        poll.close()

    def _burst(self, side: int) -> None:
        for _ in range(BURST):
            try:
                frame = self._sockets[side].recv(MAX_FRAME)
            except OSError:
                return
            self._count(frame)
            if self._random.random() < self.loss:
                self.lost += 1
                continue
            if self._random.random() < self.corruption and len(frame) > HEADERS:
                frame = self._flip(frame)
            with contextlib.suppress(OSError):  # a NIC that takes no more, or is gone, loses it
                self._sockets[1 - side].sendto(frame, self.ports[1 - side][0])

    def _count(self, frame: bytes) -> None:
        self.frames += 1
        self.longest = max(self.longest, len(frame))
        if frame[12:14] == VLAN_TYPE:
            tag = str(int.from_bytes(frame[14:16], "big") & 0xfff)
            self.vlans[tag] = self.vlans.get(tag, 0) + 1

    def _flip(self, frame: bytes) -> bytes:
        self.corrupted += 1
        at = self._random.randrange(HEADERS, len(frame))
        return frame[:at] + bytes([frame[at] ^ 1 << self._random.randrange(8)]) + frame[at + 1:]
