#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_dissector.py WEFT SCRIPT DECODE_FIELDS VECTORS CAPTURES - the Wireshark dissector against our decoder, field by field."""
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest

WEFT, SCRIPT, DECODE, VECTORS, CAPTURES = sys.argv[1:6]
SAMPLES = [f"{VECTORS}/{name}.pcap" for name in ("uet_derived_udp_v4", "uet_derived_udp_v6", "uet_derived_ip_v4",
                                                 "uet_derived_ip_v6", "uet_pds", "uet_ses")]
# Everything the dissector shows of headers, but for `pdcid`, which repeats two others.
with open(SCRIPT) as source:
    FIELDS = [name for name in re.findall(r'^field\("\w+", "([\w.]+)"', source.read(), re.M)
              if name not in ("payload", "crc", "pdcid")]


def tshark(path, *args):
    """Standard output; a warning about root and the like on standard error is no error, one of Lua is."""
    run = subprocess.run(["tshark", "-X", f"lua_script:{SCRIPT}", "-r", path, *args], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, timeout=100, errors="replace")
    if run.returncode or "lua:" in run.stderr.lower() or "Lua Error" in run.stdout:
        raise AssertionError(run.stderr + "\n".join(line for line in run.stdout.split("\n") if "Lua Error" in line))
    return run.stdout


def shown(path, names, *args):
    """A dictionary of the fields that are there for each packet."""
    columns = [word for name in names for word in ("-e", name)]
    rows = [line.split("\t") for line in tshark(path, "-T", "fields", *columns, *args).split("\n")[:-1]]
    return [{name: cell for name, cell in zip(names, row) if cell} for row in rows]


def decoded(path, *args):
    run = subprocess.run([DECODE, path, *args], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    return [json.loads(line) for line in run.stdout.split("\n")[:-1]]


def value(text, like):
    if isinstance(like, str):
        return text.replace(":", "")
    return {"True": 1, "False": 0}.get(text) if text in ("True", "False") else int(text, 0)


def records(path):
    """Packets of a pcap file in our byte order: (captured bytes, original length)."""
    with open(path, "rb") as file:
        data = file.read()
    at = 24
    while at < len(data):
        captured, length = struct.unpack_from("=II", data, at + 8)
        yield data[at + 16:at + 16 + captured], length
        at += 16 + captured


def write_pcap(path, packets):
    with open(path, "wb") as file:
        file.write(struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for data, length in packets:
            file.write(struct.pack("=IIII", 0, 0, len(data), length) + data)


class Case(unittest.TestCase):
    def compare(self, path, seen, crc=False):
        """Every field of every packet that decodes; notes in `seen` which had a value other than zero."""
        names = ["weft." + name for name in FIELDS]
        packets = shown(path, names, *(("-o", "weft.trailer:TRUE") if crc else ()))
        expected = decoded(path, *(("crc",) if crc else ()))
        self.assertEqual(len(packets), len(expected))
        good = 0
        for number, (packet, expect) in enumerate(zip(packets, expected), 1):
            if expect.pop("error") != "ok":
                continue
            good += 1
            for name in FIELDS:
                like = expect.get(name, 0)
                got = value(packet.get("weft." + name, "" if isinstance(like, str) else "0"), like)
                self.assertEqual(got, like, f"{path} packet {number}: {name}")
                if got:
                    seen.add(name)
        return good

    def sim(self, scratch, *args):
        path = os.path.join(scratch, "run.pcapng")
        run = subprocess.run([WEFT, "sim", *args, "--pcap", path, "--json", "-"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, check=True, timeout=60)
        return path, json.loads(run.stdout)["packets"]


class Vectors(Case):
    def test_every_field_of_every_sample(self):
        seen = set()
        for path in SAMPLES:
            self.assertGreater(self.compare(path, seen), 10, path)
        for path in SAMPLES[:4]:
            self.assertGreater(self.compare(path, seen, crc=True), 35, path)
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "random.pcap")
            generator = random.Random(1)
            packets = [self.scrambled(generator, data) for source in SAMPLES[:2] for data, _ in records(source)
                       for _ in range(20)]
            write_pcap(path, [(data, len(data)) for data in packets])
            self.compare(path, seen)
        self.assertEqual(set(FIELDS) - seen, {"trimmed"})  # that is for the incast

    @staticmethod
    def scrambled(generator, frame):
        """Other contents in the same kind of headers, without a trailer, which would not fit: types and forms stay, flags
        and what follows are random."""
        ip = 20 if frame[12:14] == b"\x08\x00" else 40
        at = 14 + ip + 8
        frame = bytearray(frame[:-4])
        struct.pack_into("!H", frame, 14 + (2 if ip == 20 else 4), len(frame) - 14 - (0 if ip == 20 else 40))
        struct.pack_into("!H", frame, at - 4, len(frame) - 14 - ip)
        pds = (frame[at] << 8 | frame[at + 1]) & 0xFF80 | generator.getrandbits(7)
        return frame[:at] + struct.pack("!H", pds) + bytes(generator.getrandbits(8) for _ in frame[at + 2:])

    def test_trailer_is_shown(self):
        trailers = {}
        with open(f"{VECTORS}/derived.txt") as file:
            for number, line in enumerate(file):
                trailers[number] = line.rstrip("\n").split("\t")[6].split()[1:2]
        rows = shown(SAMPLES[0], ["weft.crc", "weft.payload_bytes"], "-o", "weft.trailer:TRUE")
        checked = 0
        for number, row in enumerate(rows):
            if trailers[number] and trailers[number] != ["-"]:
                self.assertEqual(int(row["weft.crc"], 0).to_bytes(4, "big").hex(), trailers[number][0])
                checked += 1
        self.assertEqual(checked, 39)


class Encrypted(unittest.TestCase):
    HEADER = struct.pack("!BBHHHI", 1 << 3 | 1, 0x12, 0x3456, 0x1893, 0x1234, 0x56789ABC)  # type 1, AN 1; SDI, epoch, TSC
    SEALED, TAG = bytes(range(40)), bytes(range(100, 116))

    @staticmethod
    def frame(behind, dscp=8, native=False):
        below = struct.pack("!HH", 50001, 0) if native else struct.pack("!HHHH", 50001, 4793, 8 + len(behind), 0)
        ip = struct.pack("!BBHHHBBH", 0x45, dscp << 2, 20 + len(below + behind), 0, 0, 64, 253 if native else 17, 0)
        return bytes(12) + b"\x08\x00" + ip + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + below + behind

    def test_header_and_tag(self):
        whole = self.HEADER + self.SEALED + self.TAG
        frames = [self.frame(whole), self.frame(whole, native=True), self.frame(self.HEADER + self.SEALED, dscp=16),
                  self.frame(self.HEADER + self.TAG), self.frame(self.HEADER[:-1]), self.frame(self.HEADER + self.TAG[1:])]
        names = ["sp", "an", "sdi", "epoch", "tsc", "sealed", "tag"]
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "tss.pcap")
            write_pcap(path, [(data, len(data)) for data in frames])
            rows = shown(path, ["weft.tss." + name for name in names] + ["weft.ev", "weft.psn", "_ws.col.Info"])
            self.assertEqual(len(tshark(path, "-Y", "weft.short").splitlines()), 2)
        for row in rows[:4] + rows[5:]:
            self.assertEqual([int(row["weft.tss." + name], 0) for name in ("an", "sdi", "epoch", "tsc")],
                             [1, 0x123456, 0x1893, 0x123456789ABC])
            self.assertIn("TSS", row["_ws.col.Info"])
        self.assertNotIn("weft.tss.an", rows[4])
        for row, sealed, tag in zip(rows, (self.SEALED, self.SEALED, self.SEALED, b""), (self.TAG, self.TAG, b"", self.TAG)):
            self.assertEqual(row.get("weft.tss.sealed", "").replace(":", ""), sealed.hex())
            self.assertEqual(row.get("weft.tss.tag", "").replace(":", ""), tag.hex())
            self.assertEqual(row["weft.ev"], "50001")
            self.assertNotIn("weft.psn", row)


class Captures(Case):
    def test_every_packet_of_another_implementation(self):
        """Each is decoded to its end, as our decoder does, with a name for everything."""
        paths = sorted(f"{CAPTURES}/{name}" for name in os.listdir(CAPTURES) if name.endswith(".pcap"))
        self.assertEqual(len(paths), 14)
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "all.pcap")
            write_pcap(path, [record for source in paths for record in records(source)])
            rows = shown(path, ["weft.type", "weft.crc", "_ws.col.Info"], "-o", "weft.trailer:TRUE", "-Y", "!icmp")
            self.assertEqual(len(rows), 372)
            self.assertEqual(self.compare(path, set(), crc=True), len(rows))
            bad = tshark(path, "-o", "weft.trailer:TRUE", "-Y", "!icmp && (weft.unknown || weft.short || _ws.malformed)")
        for row in rows:
            self.assertIn("weft.type", row)
            self.assertIn("weft.crc", row)
            self.assertNotRegex(row["_ws.col.Info"], r"unknown|too short|0x[0-9a-f]{2}\b")
        self.assertEqual(bad, "")

    def test_read_data_is_named(self):
        infos = tshark(f"{CAPTURES}/read1000.pcap", "-o", "weft.trailer:TRUE", "-Y", "weft.type == 2 && weft.rsp.opcode == 2")
        self.assertIn("RESPONSE_W_DATA message 1 0/1000", infos)

    def test_older_udp_port(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "older.pcap")
            packets = [(data[:36] + struct.pack("!H", 49150) + data[38:], length) for data, length in records(SAMPLES[0])]
            write_pcap(path, packets)
            self.assertEqual(len(shown(path, ["weft.type"], "-Y", "weft")), len(packets))


class Malformed(Case):
    def test_cut_packets_raise_no_errors(self):
        packets = []
        for path in (SAMPLES[0], SAMPLES[3]):
            for data, length in records(path):
                packets += [(data[:n], n) for n in range(14, min(len(data), 140))]
                packets += [(data[:n], length) for n in range(14, min(len(data), 140), 3)]
        self.check(packets, "Ends before its headers do")

    def test_random_bytes_raise_no_errors(self):
        generator = random.Random(2)
        packets = []
        for path in SAMPLES:
            for data, length in records(path):
                for _ in range(12):
                    other = bytearray(data)
                    for _ in range(8):
                        other[generator.randrange(34, len(other))] = generator.getrandbits(8)
                    packets.append((bytes(other), length))
        self.check(packets, "Not a header of UET")

    def check(self, packets, complaint):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "bad.pcap")
            write_pcap(path, packets)
            text = tshark(path, "-V", "-O", "weft")
        self.assertTrue("Ultra Ethernet" in text)
        self.assertTrue(complaint in text, complaint)


class Lab(Case):
    def test_incast(self):
        with tempfile.TemporaryDirectory() as scratch:
            path, packets = self.sim(scratch, "--topology", "star:9", "--matrix", "incast:8:64KiB")
            seen = set()
            good = self.compare(path, seen)
            self.assertTrue({"trimmed", "nack.code", "sack", "cack", "flags.m", "flags.retx"} <= seen)
            rows = shown(path, ["frame.interface_name", "frame.packet_flags_direction", "weft.type", "frame.time_epoch",
                                "_ws.col.Info"])
            self.assertEqual(len(rows), good)
            sent = [row for row in rows if int(row["frame.packet_flags_direction"], 0) == 2]
            self.assertEqual(sum(row["weft.type"] in ("7", "8") for row in sent), packets["acks"])
            self.assertEqual(sum(row["weft.type"] == "10" for row in sent), packets["nacks"])
            self.assertEqual(sum(row["weft.type"] == "2" for row in sent), packets["data"] + packets["retransmitted"])
            self.assertGreater(packets["nacks"], 0)
            self.assertEqual({row["frame.interface_name"] for row in rows}, {f"host{i}" for i in range(9)})
            infos = "\n".join(row["_ws.col.Info"] for row in rows)
            for pattern in (r"EV \d+ RUD_REQ AR SYN PSN \d+ PDC \d+>new TAGGED_SEND message 1 0/65536",
                            r"EV \d+ NACK TRIMMED_LASTHOP PSN \d+ PDC \d+>\d+",
                            r"EV \d+ ACK_CC .*CACK \d+ for PSN \d+ PDC \d+>\d+ SACK \d+:0x[0-9a-f]{16}",
                            r"\[trimmed\]"):
                self.assertRegex(infos, pattern)

    def test_any_port(self):
        with tempfile.TemporaryDirectory() as scratch:
            path, packets = self.sim(scratch, "--topology", "leafspine:2:2:8", "--matrix", "incast:12:64KiB", "--no-trim",
                                     "--pcap-port", "leaf0:host0", "--pcap-port", "leaf*:up*,spine1:down0")
            rows = shown(path, ["frame.interface_name", "frame.comment", "frame.packet_flags_direction", "weft.type"])
        names = ["leaf0:host0", "leaf0:up0", "leaf0:up1", "leaf1:up0", "leaf1:up1", "spine1:down0"]
        self.assertEqual(sorted({row["frame.interface_name"] for row in rows}), names)
        self.assertEqual({int(row["frame.packet_flags_direction"], 0) for row in rows}, {2})
        last_hop = [row for row in rows if row["frame.interface_name"] == names[0] and row["weft.type"] == "2"]
        dropped = [row for row in last_hop if row.get("frame.comment") == "dropped here"]
        self.assertGreater(len(dropped), 0)
        self.assertEqual(len(dropped), packets["dropped"])
        self.assertEqual(len(last_hop), packets["data"] + packets["retransmitted"])

    def test_ports_that_are_not_there(self):
        for args in (["--pcap", "/dev/null", "--pcap-port", "spine9:*"], ["--pcap-port", "host0"]):
            run = subprocess.run([WEFT, "sim", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn("pcap-port", run.stderr)

    def test_filters(self):
        with tempfile.TemporaryDirectory() as scratch:
            path, _ = self.sim(scratch, "--topology", "star:9", "--matrix", "incast:8:64KiB")
            trimmed = shown(path, ["weft.psn", "weft.ev", "ip.src"], "-Y", "weft.trimmed == 1")
            self.assertGreater(len(trimmed), 0)
            one = trimmed[0]
            answers = shown(path, ["weft.psn", "weft.ev"],
                            "-Y", f"weft.nack.code == 2 && weft.psn == {one['weft.psn']} && ip.dst == {one['ip.src']}")
            self.assertEqual(answers[0]["weft.ev"], one["weft.ev"])
            for text in ("weft.pdcid == 1", "weft.sack", "weft.flags.retx == 1", "weft.refused"):
                self.assertTrue(tshark(path, "-Y", text), text)


unittest.main(argv=sys.argv[:1], verbosity=1)
