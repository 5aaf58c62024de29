# SPDX-License-Identifier: BSD-3-Clause
"""A client of a vhost-user port that does what it should not: its own rings in its own memory, and messages as it likes.
Layouts: virtio 1.1 sec. 2.6 (split rings), QEMU's docs/interop/vhost-user.rst."""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import struct

GET_FEATURES, SET_FEATURES, SET_OWNER, SET_MEM_TABLE = 1, 2, 3, 5
SET_VRING_NUM, SET_VRING_ADDR, SET_VRING_BASE, SET_VRING_KICK, SET_VRING_CALL = 8, 9, 10, 12, 13
VERSION_1, INDIRECT = 1 << 32, 1 << 28
NEXT, WRITE, IS_INDIRECT = 1, 2, 4
SIZE = 256  # of a ring
MEMORY_BYTES = 4 << 20
RING_BYTES = 16384
FRAMES_AT = 4 * RING_BYTES
GUEST_AT = 1 << 32  # where the memory begins for who reads descriptors
RECEIVE, TRANSMIT = 0, 1


def eventfd(count: int = 0) -> int:
    """As the system call; os.eventfd is younger than the Python that these tests are checked for."""
    fd = int(ctypes.CDLL(None).eventfd(0, 0))
    if count:
        os.write(fd, struct.pack("=Q", count))
    return fd


class Client:
    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.file = os.memfd_create("rings")
        os.ftruncate(self.file, MEMORY_BYTES)
        self.memory = mmap.mmap(self.file, MEMORY_BYTES)
        self.events: list[int] = []

    def close(self) -> None:
        self.socket.close()
        self.memory.close()
        for fd in [self.file, *self.events]:
            os.close(fd)

    def say(self, request: int, payload: bytes = b"", fds: list[int] | None = None) -> None:
        message = struct.pack("<III", request, 1, len(payload)) + payload
        socket.send_fds(self.socket, [message], fds or [])

    def features(self) -> int:
        self.say(GET_FEATURES)
        answer = self.socket.recv(20)
        return int(struct.unpack("<IIIQ", answer)[3]) if len(answer) == 20 else 0

    def ring_at(self, ring: int) -> int:
        return ring * RING_BYTES

    def start(self, call: int | None = None) -> None:
        """All that makes a port of it. The user's addresses are those of the file."""
        wanted = self.features() & (VERSION_1 | INDIRECT)
        self.say(SET_OWNER)
        self.say(SET_FEATURES, struct.pack("<Q", wanted))
        self.say(SET_MEM_TABLE, struct.pack("<IIQQQQ", 1, 0, GUEST_AT, MEMORY_BYTES, 0, 0), [self.file])
        for ring in (RECEIVE, TRANSMIT):
            at = self.ring_at(ring)
            self.say(SET_VRING_NUM, struct.pack("<II", ring, SIZE))
            self.say(SET_VRING_BASE, struct.pack("<II", ring, 0))
            self.say(SET_VRING_ADDR, struct.pack("<IIQQQQ", ring, 0, at, at + 8192, at + 4096, 0))
            for request in (SET_VRING_CALL, SET_VRING_KICK):
                fd = eventfd() if call is None or request == SET_VRING_KICK else call
                if fd != call:
                    self.events.append(fd)
                self.say(request, struct.pack("<Q", ring), [fd])
        self.features()  # all before it was heard

    def describe(self, ring: int, i: int, addr: int, length: int, flags: int = 0, following: int = 0) -> None:
        struct.pack_into("<QIHH", self.memory, self.ring_at(ring) + 16 * i, addr, length, flags, following)

    def offer(self, ring: int, heads: list[int]) -> None:
        """Adds heads of chains to those that are offered."""
        at = self.ring_at(ring) + 4096
        index = struct.unpack_from("<H", self.memory, at + 2)[0]
        for head in heads:
            struct.pack_into("<H", self.memory, at + 4 + 2 * (index % SIZE), head)
            index = (index + 1) & 0xffff
        self.move(ring, index)

    def move(self, ring: int, index: int) -> None:
        struct.pack_into("<H", self.memory, self.ring_at(ring) + 4096 + 2, index & 0xffff)

    def used(self, ring: int) -> int:
        return int(struct.unpack_from("<H", self.memory, self.ring_at(ring) + 8192 + 2)[0])

    def frame(self, source: str, target: str, length: int = 1000) -> bytes:
        """UET's port, nothing that means anything behind it; in front what virtio wants."""
        def address(text: str) -> bytes:
            return bytes(int(part) for part in text.split("."))
        ip = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0, 64, 17, 0) + address(source) + address(target)
        total = sum(struct.unpack(">10H", ip))
        total = (total & 0xffff) + (total >> 16)
        ip = ip[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xffff) + ip[12:]
        udp = struct.pack(">HHHH", 50000, 4793, length - 20, 0)
        eth = b"\x02\x00" + address(target) + b"\x02\x00" + address(source) + b"\x08\x00"
        return bytes(12) + eth + (ip + udp).ljust(length, b"\xff")

    def put(self, i: int, data: bytes) -> int:
        """Where descriptors find it."""
        at = FRAMES_AT + 2048 * i
        self.memory[at:at + len(data)] = data
        return GUEST_AT + at
