#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""seed_engine.py DIR - conversations with the engine of fuzz_engine.c, and single packets of every type."""
import pathlib
import struct
import sys

out = pathlib.Path(sys.argv[1])
REPAIR, TO_TX, TO_RX, NEAR_PSN, LATER = 1, 2, 4, 8, 16
RETX, AR, SYN = 0x10, 0x08, 0x04
SEND, TSEND = 5, 9


def step(options, packet):
    return struct.pack(">H", options << 11 | len(packet)) + packet


def ip_udp(dscp=8, ecn=2):
    return bytes([0x45, dscp << 2 | ecn]) + bytes(18) + struct.pack(">HHHH", 1234, 4793, 0, 0)


def pds(kind, nxt, flags, second, psn, spdcid, last):
    word = kind << 27 | nxt << 23 | flags << 16 | second & 0xFFFF
    return struct.pack(">IIHH", word, psn & 0xFFFFFFFF, spdcid, last)


def ses(mid, offset, payload, total, opcode=TSEND, port=0x20):
    som = offset == 0
    flags = 0x08 | (1 if som else 0) | (2 if offset + payload == total else 0)
    word = opcode << 56 | flags << 48 | mid << 32
    tail = 0 if som else payload << 32 | offset
    return struct.pack(">QIQIQQI", word, port >> 4 << 16 | port & 15, 0, 0x30, 0, tail, total)


def data(psn, flags, last, mid, offset, payload, total, dscp=8, **kw):
    body = b"" if dscp != 8 else bytes(payload)
    return ip_udp(dscp) + pds(2, 3, flags, -1, psn, 5, last) + ses(mid, offset, payload, total, **kw) + body


def memory(psn, flags, last, mid, opcode, addr, length, payload=0, extension=b"", key=7, generation=0):
    """A request on the region, in one packet."""
    word = opcode << 56 | 0x0B << 48 | mid << 32 | generation << 24
    head = struct.pack(">QIQIQQI", word, 2 << 16, addr, 0x30, key, 0, length)
    return ip_udp() + pds(2, 3, flags, -1, psn, 5, last) + head + extension + bytes(range(payload))


def answer(psn, number, offset, payload):
    head = struct.pack(">HHIHHII", 2 << 8 | 1, 1, number, 0, payload, 0, offset)
    return ip_udp() + pds(2, 5, 0, -1, psn, 5, 0) + head + bytes(payload)


def ack(psn, flags=0, second=0, sack_offset=1, bitmap=0, rc=1):
    cc = struct.pack(">IQQ", 8 << 16 | sack_offset & 0xFFFF, bitmap, 3 << 48)
    return ip_udp(46, 0) + pds(8, 4, flags, second, psn, 9, 0) + cc + struct.pack(">QI", 1 << 56 | rc << 48, 0)


def credit_data(psn, last, mid, offset, payload, total, target):
    head = pds(13, 3, 0, -1, psn, 5, last) + struct.pack(">I", target)
    return ip_udp() + head + ses(mid, offset, payload, total) + bytes(payload)


def nack(code, psn=0, flags=0):
    return ip_udp(46, 0) + pds(10, 0, flags, code << 8, psn, 9, 0) + bytes(4)


def control(ctl, psn, payload=0):
    return ip_udp(46, 0) + pds(11, ctl, AR, 0, psn, 5, 0) + struct.pack(">I", payload)


syn = step(REPAIR, data(1000, SYN, 0, 1, 0, 800, 2000))
more = [step(REPAIR | TO_RX, data(1000 + i, 0, 0, 1, 800 * i, min(800, 2000 - 800 * i), 2000)) for i in (2, 1)]
rx, tx = REPAIR | TO_RX | NEAR_PSN, REPAIR | TO_TX | NEAR_PSN
RENDEZVOUS = struct.pack(">IIQQ", 0, 1 << 24 | 3 << 12, 0, 5)
RANGES = ((0, 8), (8, 64), (690, 20), (1390, 10), (1390, 11), (1 << 63, 200))
conversations = {
    "message": syn + b"".join(more),
    "unexpected": b"".join(step(REPAIR, data(1000 + i, SYN, i, 1 + i, 0, 100, 100)) for i in range(8)),
    "reordered": b"".join(step(REPAIR, data(1000 + i, SYN, i, 1 + i, 0, 9, 9)) for i in (5, 3, 70, 1, 0, 2, 4)),
    "nobody": b"".join(step(REPAIR, data(1000 + i, SYN, i, 1 + i, 0, 9, 9, port=0x990)) for i in (5, 3, 2, 1, 0, 4)),
    "halves": b"".join(step(REPAIR, data(1000 + i, SYN, i, 1 + i, 0, 80, 200, opcode=SEND)) for i in range(4)),
    "contradiction": b"".join(
        step(REPAIR, data(1000 + i, SYN, i, 1 + i // 2, i % 2 * 5000, 800, 2000 + i % 2 * 4000, opcode=SEND))
        for i in range(6)
    ),
    "trimmed": step(REPAIR, data(1000, SYN, 0, 1, 0, 800, 2000, dscp=16)) + syn,
    "closed": syn + b"".join(step(rx, control(c, 0)) for c in range(10)) + more[0],
    "acks": b"".join(step(tx, ack(i)) for i in range(9)),
    "sacks": b"".join(step(tx, ack(-1, bitmap=0xFFFF << i, sack_offset=i)) for i in range(9)),
    "refused": b"".join(step(tx, nack(c)) for c in range(1, 0x1B)),
    "errors": b"".join(step(tx, ack(i, second=1, rc=0x1F)) for i in range(4)),
    "credits": b"".join(step(tx, control(7, 0, p)) for p in (1, 100, 99, 100, 1 << 23, 1 << 24, 0xFFFFFFFF)),
    "demands": syn
    + b"".join(step(REPAIR | TO_RX, credit_data(1001 + i, 0, 1, 800 * (i + 1), 400, 9000, 40 << i)) for i in range(4))
    + b"".join(step(rx, control(8, 0, p)) for p in (1, 1 << 12, 1 << 22, 1 << 23, 0xFFFFFF, 1 << 24)),
    "written": b"".join(
        step(REPAIR, memory(1000 + i, SYN, i, 1 + i, 1, addr, n, n)) for i, (addr, n) in enumerate(RANGES)
    ),
    "read": b"".join(step(REPAIR, memory(1000 + i, SYN, i, 1 + i, 2, *r)) for i, r in enumerate(RANGES)),
    "summed": b"".join(
        step(REPAIR, memory(1000 + i, SYN, i, 1 + i, 3 + i % 2, 8 * i, 16, 16, bytes([2, 4 + i, 0, 0])))
        for i in range(12)
    ),
    "swapped": b"".join(
        step(REPAIR, memory(1000 + i, SYN, i, 1 + i, 4, 690 + i, 8, 0, bytes([0x0D + i, 7, 0, 0]) + bytes(32)))
        for i in range(7)
    ),
    "arrays": b"".join(
        step(REPAIR, memory(1000 + i, SYN, i, 1 + i, 4, 600 + i, 192, 192, bytes([0xE0 + i, 5, 0, 0])))
        for i in (3, 1, 0, 2)
    ),
    "announced": syn
    + b"".join(
        step(REPAIR, memory(1001 + i, SYN, 1 + i, 2 + i, 10 - i % 2 * 4, 0, 3000 * i, extension=RENDEZVOUS))
        for i in range(4)
    )
    + b"".join(step(rx, answer(i, 3 + i, 0, 400)) for i in range(4)),
    "fetched": b"".join(
        step(
            REPAIR | TO_RX if i else REPAIR,
            memory(1000 + i, 0 if i else SYN, 0, 1 + i, 2, addr, n, key=i + 1, generation=1),
        )
        for i, (addr, n) in enumerate(((0, 10), (0, 30000), (0, 30000), (1, 30000), (1 << 63, 9), (29999, 1), (0, 0)))
    ),
    "answers": syn + b"".join(step(rx, answer(i, 1 + i % 2, 0 if i % 2 else 32 * i, 64)) for i in range(6)),
    "late": step(tx, ack(0)) + step(tx | LATER, ack(1)) + step(REPAIR | LATER, data(1, SYN, 0, 1, 0, 9, 9)),
}
for name, steps in conversations.items():
    (out / name).write_bytes(steps)
    (out / (name + "-announced")).write_bytes(steps + bytes((2 - len(steps)) % 4))
ETHERNET, FILE_HEADER, RECORD_HEADER = 14, 24, 16
for pcap in sorted((pathlib.Path(__file__).parent.parent / "unit/wire/vectors").glob("*.pcap")):
    raw, at, number = pcap.read_bytes(), FILE_HEADER, 1
    while at < len(raw):
        size = struct.unpack_from("<I", raw, at + 8)[0]
        packet = raw[at + RECORD_HEADER + ETHERNET : at + RECORD_HEADER + size][:2047]
        for options in (REPAIR, tx, rx):
            (out / f"{pcap.stem}-{number}-{options}").write_bytes(step(options, packet) * 2)
        at, number = at + RECORD_HEADER + size, number + 1
