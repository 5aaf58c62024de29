#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_cli.py WEFT CONFIGS - the command as users meet it: exit codes, messages, JSON, captures, bad input."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

WEFT, CONFIGS = sys.argv[1:3]
LS16 = ("--topology", CONFIGS + "/topologies/ls16_50g.topo")


def weft(*args):
    return subprocess.run((WEFT, *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)


class Main(unittest.TestCase):
    def test_help_names_the_commands(self):
        run = weft("--help")
        self.assertEqual(run.returncode, 0)
        for name in ("bench", "report", "reproduce", "sim", "switch"):
            self.assertIn(f"  {name} ", run.stdout)

    def test_help_of_files(self):
        self.assertIn("-o FILE", weft("trace", "--help").stdout)
        self.assertIn("usage: weft report DIR|FILE.json|TRACE.csv... ", weft("report", "--help").stdout)

    def test_version(self):
        run = weft("--version")
        self.assertEqual(run.returncode, 0)
        self.assertRegex(run.stdout, r"^weft \d+\.\d+\.\d+\n$")

    def test_wrong_usage(self):
        self.assertEqual(weft().returncode, 2)
        run = weft("simulate")
        self.assertEqual(run.returncode, 2)
        self.assertIn("unknown command 'simulate'", run.stderr)


class Sim(unittest.TestCase):
    def run_json(self, *args):
        run = weft("sim", *args, "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_json_on_standard_output_is_all_there_is(self):
        run = self.run_json(*LS16, "--matrix", "permutation:16:64KiB")
        self.assertEqual(run["schema"], "weft.run/1")
        self.assertEqual(run["mode"], "sim")
        self.assertEqual(run["flows"], {"count": 16, "completed": 16, "verified": 16})
        self.assertGreaterEqual(run["fct_us"]["max"], run["delivered_us"]["max"])

    def test_same_seed_same_digest(self):
        args = (*LS16, "--matrix", "incast:15:256KiB", "--seed", "5")
        self.assertEqual(self.run_json(*args)["run"]["digest"], self.run_json(*args)["run"]["digest"])

    def test_capture_holds_every_packet_at_both_ends(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "run.pcap")
            run = self.run_json(*LS16, "--matrix", "permutation:16:16KiB", "--pcap", path)
            with open(path, "rb") as file:
                data = file.read()
        blocks, at = [], 0
        while at < len(data):
            blocks.append(int.from_bytes(data[at:at + 4], sys.byteorder))
            at += int.from_bytes(data[at + 4:at + 8], sys.byteorder)
        packets = run["packets"]
        self.assertEqual(blocks[0], 0x0A0D0D0A)
        self.assertEqual(blocks.count(1), 16)
        self.assertEqual(blocks.count(6), 2 * (packets["data"] + packets["acks"]))

    def test_a_capture_may_lie_in_the_run_s_directory(self):
        with tempfile.TemporaryDirectory() as scratch:
            out = os.path.join(scratch, "run")
            self.run_json(*LS16, "--matrix", "incast:4:64KiB", "--out", out, "--series", "1us", "--pcap", out + "/a.pcapng")
            self.assertTrue({"a.pcapng", "ports.csv", "conns.csv", "links.csv"} <= set(os.listdir(out)))

    def test_the_end_comes_first(self):
        run = weft("sim", *LS16, "--matrix", "permutation:16:1MiB", "--end", "50us")
        self.assertEqual(run.returncode, 1)
        self.assertIn("16 of 16 flows had not ended", run.stderr)

    def refused(self, word, *args):
        run = weft("sim", *args)
        self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
        self.assertIn(word, run.stderr)
        self.assertEqual(run.stdout, "")

    def test_no_jobs_at_all(self):
        self.refused("jobs: '0' is not a number from 1", *LS16, "--jobs", "0")

    def test_options_without_what_they_are_about(self):
        self.refused("--jobs, --fresh and --any-build are for a scenario", *LS16, "--fresh")
        with tempfile.TemporaryDirectory() as place:
            run = weft("sim", *LS16, "--out", place, "--series-ports", "leaf*")
            self.assertIn("series-ports: needs the time between two samples", run.stderr)
            self.assertNotEqual(run.returncode, 0)

    def test_options_that_contradict_each_other(self):
        self.refused("conga chooses in trees of 2 tiers or more", "--topology", "star:4", "--route", "conga")
        self.refused("eqds grants credit at the rate of the link", *LS16, "--cc", "eqds", "--set", "probe_rate=2")
        self.refused("payload_bytes 64 is not 1024", *LS16, "--set", "payload_bytes=64", "--set", "profile=1")
        with tempfile.TemporaryDirectory() as place:
            self.refused("pcap-port: no port is called 'x*'", *LS16, "--pcap-port", "x*", "--pcap", place + "/a.pcapng")
            self.assertEqual(os.listdir(place), [])

    def test_a_plugin_without_a_slash_lies_here(self):
        self.refused("./absent.so: ", "--plugin", "absent.so")

    def test_unknown_names_list_the_valid_ones(self):
        self.refused("unknown cc 'x'; valid: auto, smartt, ", "--cc", "x")
        self.refused("unknown lb 'x'; valid: auto, reps, ", "--lb", "x")
        self.refused("unknown cc 'a; valid: b'; valid: auto, smartt, ", "--cc", "a; valid: b")
        self.refused("unknown lb 'a; valid: b'; valid: auto, reps, ", "--lb", "a; valid: b")
        self.refused("unknown lb 'x'; valid: same, auto, reps, ", "--background", "10%", "--background-lb", "x")
        self.refused("leafspine", "--topology", "x")
        self.refused("permutation", "--matrix", "x")
        self.refused("ack_every", "--set", "x=1")

    def test_bad_files_are_refused_with_their_line(self):
        broken = {
            ".topo": ("Nodes 16\nTiers 2\nPodsize 15\n", "--topology"),
            ".cm": ("Nodes 4\nConnections 1\n0->9 id 1 start 0 size 10\n", "--matrix"),
            ".yaml": ("seed: 1\nend: soon\n", "--config"),
        }
        with tempfile.TemporaryDirectory() as scratch:
            for suffix, (text, option) in broken.items():
                path = os.path.join(scratch, "bad" + suffix)
                with open(path, "w") as file:
                    file.write(text)
                self.refused(path + ":", option, path)

    def test_files_that_are_not_there(self):
        self.refused("/nonexistent.topo", "--topology", "/nonexistent.topo")
        run = weft("sim", *LS16, "--matrix", "permutation:16:4KiB", "--json", "/nonexistent/r.json")
        self.assertEqual(run.returncode, 1)
        self.assertIn("/nonexistent/r.json", run.stderr)
        run = weft("sim", *LS16, "--matrix", "permutation:16:4KiB", "--pcap", "/nonexistent/r.pcap")
        self.assertEqual(run.returncode, 1)
        self.assertIn("/nonexistent/r.pcap", run.stderr)


class Bench(unittest.TestCase):
    def test_options_of_the_lab_are_refused_by_name(self):
        told = weft("bench", "--help").stdout
        self.assertIn("  --matrix ", told)
        for name in ("background", "background-lb", "fault", "reconverge", "out", "series", "series-ports", "pcap", "pcap-port"):
            self.assertNotIn(f"  --{name} ", told)
            run = weft("bench", "--local", f"--{name}", "10%")
            self.assertEqual((run.returncode, run.stderr), (2, f"weft bench: {name}: only weft sim has that\n"))
        run = weft("bench", "--local", "--matrix", "incast:2:1KiB", "--set", "fault_loss_ppm=1")
        self.assertEqual((run.returncode, run.stderr), (2, "weft bench: --set: only weft sim has fault parameters\n"))

    def test_topology_has_a_host_for_each_rank(self):
        for size in (("--size", "3"), ("--size=3",)):
            run = weft("bench", "--rank", "0", *size, "--matrix", "permutation:4:1KiB")
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn("topology star:3 only 3 hosts", run.stderr)

    def test_defaults_are_those_of_the_form_wherever_it_is_named(self):
        forms = (("local: true", (), "leafspine:4:4:4 only 16"), ("local: true\nsize: 3", (), "leafspine:4:4:4 only 16"),
                 ("local: true", ("--local=off",), "star:16 only 16"), ("size: 3", (), "star:3 only 3"),
                 ("json: --local", ("--size", "3"), "star:3 only 3"), ("local: true\ntopology: star:5", (), "star:5 only 5"))
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "bench.yaml")
            for text, words, topology in forms:
                with open(path, "w") as file:
                    file.write(text + "\nmatrix: permutation:17:1KiB\n")
                run = weft("bench", "--config", path, *words)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn(f"topology {topology} hosts", run.stderr)


unittest.main(argv=sys.argv[:1])
