# SPDX-License-Identifier: BSD-3-Clause
"""Packet captures (pcapng, as `--pcap` writes them) as a table."""
from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from typing import Any, Iterator

import pandas as pd

from .errors import WeftlabError

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6  # types of blocks
OPTION_END, OPTION_COMMENT, OPTION_NAME, OPTION_SPEED, OPTION_RESOLUTION, OPTION_FLAGS = 0, 1, 2, 8, 9, 2
DIRECTIONS = {1: "in", 2: "out"}
RAW_LINKS = (101, 228)  # link types whose packets begin with the IPv4 header
UDP = 17
COLUMNS = ["time_us", "port", "direction", "src", "dst", "protocol", "sport", "dport", "ecn", "dscp", "bytes",
           "captured_bytes", "comment"]


def pcap(path: str | os.PathLike[str]) -> pd.DataFrame:
    """A row per packet: time, port of the fabric, direction there, addresses, UDP ports (the source port is the entropy
    that load balancers choose), ECN and DSCP bits, bytes on the wire from the IP header on, and what the capture says
    of it ("dropped here")."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise WeftlabError(f"{name}: {error.strerror}") from error
    try:
        return pd.DataFrame(list(_packets(data)), columns=COLUMNS)
    except (struct.error, IndexError, ValueError) as error:
        raise WeftlabError(f"{name}: not a pcapng capture: {error}") from error


@dataclass
class _Section:
    """What a section's blocks are read with."""

    order: str = "<"  # of bytes
    ports: list[str] = field(default_factory=list)  # names of the interfaces
    ticks_per_us: list[float] = field(default_factory=list)  # of their times


def _packets(data: bytes) -> Iterator[list[Any]]:
    section = _Section()
    at = 0
    if data[:4] != struct.pack("<I", SECTION):
        raise ValueError("no section header")
    while at + 12 <= len(data):
        if struct.unpack_from("<I", data, at)[0] == SECTION:
            section = _Section("<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">")
        kind, length = struct.unpack_from(section.order + "II", data, at)
        if length < 12 or at + length > len(data):
            raise ValueError("a block is cut off")
        body = data[at + 8:at + length - 4]
        if kind == INTERFACE:
            _add_interface(section, body)
        elif kind == PACKET:
            yield _packet(section, body)
        at += length


def _add_interface(section: _Section, body: bytes) -> None:
    link, = struct.unpack_from(section.order + "H", body)
    if link not in RAW_LINKS:
        raise ValueError(f"link type {link}: only raw IP is read")
    options = _options(section, body[8:])
    resolution = options.get(OPTION_RESOLUTION, b"\x06")[0]
    ticks = 2.0 ** (resolution & 0x7F) if resolution & 0x80 else 10.0 ** resolution
    section.ports.append(options.get(OPTION_NAME, b"").decode(errors="replace"))
    section.ticks_per_us.append(ticks / 1e6)


def _packet(section: _Section, body: bytes) -> list[Any]:
    interface, high, low, captured, length = struct.unpack_from(section.order + "IIIII", body)
    options = _options(section, body[20 + (captured + 3) // 4 * 4:])
    flags = struct.unpack(section.order + "I", options[OPTION_FLAGS])[0] if OPTION_FLAGS in options else 0
    time_us = ((high << 32) | low) / section.ticks_per_us[interface]
    comment = options.get(OPTION_COMMENT, b"").decode(errors="replace")
    return [time_us, section.ports[interface], DIRECTIONS.get(flags & 3, ""), *_addresses(body[20:20 + captured]),
            length, captured, comment]


def _addresses(packet: bytes) -> list[Any]:
    """src, dst, protocol, sport, dport, ecn, dscp of an IPv4 packet."""
    if len(packet) < 20 or packet[0] >> 4 != 4:
        return ["", "", 0, 0, 0, 0, 0]
    start = (packet[0] & 15) * 4
    src, dst = (".".join(str(byte) for byte in packet[i:i + 4]) for i in (12, 16))
    has_ports = packet[9] == UDP and len(packet) >= start + 4
    sport, dport = struct.unpack_from(">HH", packet, start) if has_ports else (0, 0)
    return [src, dst, packet[9], sport, dport, packet[1] & 3, packet[1] >> 2]


def _options(section: _Section, data: bytes) -> dict[int, bytes]:
    options: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from(section.order + "HH", data, at)
        if code == OPTION_END:
            break
        options[code] = data[at + 4:at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return options
