#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""seed_wire.py DIR - one file per sample packet and option byte of fuzz_wire.c."""
import pathlib
import struct
import sys

ETHERNET, FILE_HEADER, RECORD_HEADER = 14, 24, 16
out = pathlib.Path(sys.argv[1])
for pcap in sorted((pathlib.Path(__file__).parent.parent / "unit/wire/vectors").glob("*.pcap")):
    data, at, number = pcap.read_bytes(), FILE_HEADER, 1
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        packet = data[at + RECORD_HEADER + ETHERNET : at + RECORD_HEADER + size]
        for options in (1, 4, 6):
            (out / f"{pcap.stem}-{number}-{options}").write_bytes(bytes([options]) + packet)
        at, number = at + RECORD_HEADER + size, number + 1
