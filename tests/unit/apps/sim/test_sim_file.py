#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_sim_file.py WEFT - scenario files of one run, and what `weft sim` tells without running. No Python package is needed."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

WEFT = os.path.abspath(sys.argv[1])
ONE = "topology: star:4\nmatrix: permutation:4:16KiB\n"


class SimFile(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name
        self.file = os.path.join(self.dir, "case.yaml")

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def weft(self, text, *args):
        with open(self.file, "w") as file:
            file.write(text)
        return subprocess.run((WEFT, "sim", self.file, *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=60, cwd=self.dir, env={**os.environ, "WEFT_PYTHON": "/nonexistent"})

    def record(self, text, *args):
        run = self.weft(text, *args)
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(self.path("weft-out", "case", "run.json")) as file:
            return json.load(file)

    def refused(self, text, *words, args=()):
        run = self.weft(text, *args)
        self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertEqual(run.stdout, "")

    def test_a_run_needs_no_python(self):
        run = self.weft("title: one\nabout: a run\n" + ONE)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("flows          4, 4 completed", run.stdout)
        self.assertIn("results in weft-out/case\n", run.stderr)
        self.assertEqual(sorted(os.listdir(self.path("weft-out", "case"))), ["flows.csv", "links.csv", "run.json", "table.txt"])

    def test_json_of_the_run(self):
        self.assertEqual(json.loads(self.weft(ONE, "--json", "-").stdout)["flows"]["verified"], 4)

    def test_json_that_cannot_be_written(self):
        failed = ONE + "end: 1us\n"
        for text, words in ((ONE, ()), (failed, ("weft sim: 4 of 4 flows had not ended",))):
            run = self.weft(text, "--json", "/nonexistent/r.json")
            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertIn("\nflows          4, ", run.stdout)
            for word in ("weft sim: /nonexistent/r.json: ", *words):
                self.assertIn(word, run.stderr)
        said = self.weft(failed).stderr.splitlines()
        self.assertEqual(len([line for line in said if line.startswith("weft sim: ")]), 1, said)

    def test_the_command_line_wins(self):
        record = self.record(ONE + "seed: 3\nset: {ack_every: 2}\nmtu: 1024\n", "--seed", "9", "--set", "ack_every=4")
        self.assertEqual(record["seed"], 9)
        self.assertEqual(record["options"], {"topology": "star:4", "matrix": "permutation:4:16KiB", "seed": 9, "mtu": 1024,
                                             "set": {"ack_every": 4}})
        config = json.loads(self.weft(ONE + "set: {ack_every: 2}\n", "--set", "ack_every=4", "--dry-run").stdout)
        self.assertEqual(config["set"]["ack_every"], 4)

    def test_outputs_and_captures_lie_together(self):
        run = self.weft(ONE + "outputs: {dir: there, series: 1us}\npcap: deep/all.pcap\n")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertLessEqual({"all.pcap", "ports.csv", "conns.csv", "arrivals.csv"}, set(os.listdir(self.path("there"))))
        run = self.weft(ONE + "outputs: {dir: there}\n", "--out", "here")
        self.assertTrue(os.path.exists(self.path("here", "run.json")))

    def test_options_that_are_repeatable_may_be_lists(self):
        """As `weft sweep` takes them, and beside those of the command line."""
        self.record(ONE + "outputs: {series: 1us}\nseries-ports: ['host0', 'host1']\n", "--series-ports", "host2")
        with open(self.path("weft-out", "case", "ports.csv")) as file:
            ports = {line.split(",")[1] for line in list(file)[1:]}
        self.assertEqual(ports, {"host0", "host1", "host2"})
        self.record(ONE + "fault: ['1us fail host:0 until 2us', '1us fail host:1 until 2us']\n")
        options = self.path("options.yaml")
        with open(options, "w") as file:
            file.write("pcap-port: [host0, host1]\n")
        self.record(ONE + "pcap: all.pcapng\n", "--config", options)
        self.refused(ONE + "lb: [ops]\n", f"{self.file}:3: lb: a single value is expected here")
        self.refused(ONE + "plugin:\n  - none.so\n", f"{self.file}:4: plugin: ./none.so: cannot open")
        self.refused(ONE + "plugin: [[a]]\n", f"{self.file}:3: plugin: a single value is expected here")

    def test_what_weftlab_reads_is_let_pass(self):
        self.record(ONE + "claims:\n  - {text: a, measure: failed, at_most: 0}\nbench: {runs: []}\nfigure: {x: lb}\n")

    def test_files_beside_the_scenario(self):
        os.mkdir(self.path("elsewhere"))
        for name in ("two.cm", "case.yaml"):
            with open(self.path("elsewhere", name), "w") as file:
                file.write("Nodes 4\nConnections 1\n0->1 id 1 start 0 size 10\n" if name == "two.cm" else
                           "topology: star:4\nmatrix: two.cm\n")
        run = subprocess.run((WEFT, "sim", "elsewhere/case.yaml"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             timeout=60, cwd=self.dir)
        self.assertIn("flows          1, 1 completed", run.stdout, run.stderr)
        with open(self.path("elsewhere", "case.yaml"), "a") as file:
            file.write("background: two.cm\n")
        run = subprocess.run((WEFT, "sim", "elsewhere/case.yaml"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             timeout=60, cwd=self.dir)
        self.assertIn("flows          2, 2 completed", run.stdout, run.stderr)

    def test_messages_name_file_line_and_key(self):
        self.refused("", "case.yaml: empty; a scenario says at least one option")
        self.refused("# nothing\n", "case.yaml: empty")
        self.refused(ONE + "colour: red\n", f"{self.file}:3: colour: unknown key")
        self.refused(ONE + "json: x\n", f"{self.file}:3: json: is for the command line only")
        self.refused(ONE + "end: soon\n", f"{self.file}:3: end: 'soon'")
        self.refused(ONE + "outputs: {colour: red}\n", f"{self.file}:3: colour: unknown key")
        self.refused("- 1\n", f"{self.file}:1: a mapping")
        self.refused("topology: star:2\nmatrix: permutation:4:16KiB\n", f"{self.file}:2: matrix: ")
        self.refused(ONE + "mtu: 99999999\n", f"{self.file}:3: payload_bytes: ")
        self.refused(ONE + "faults: ['10us fail cable:leaf:99:0']\n", f"{self.file}:3: fault: ")
        self.refused(ONE + "cc: nonsense\n", f"{self.file}:3: cc: ")
        self.refused(ONE + "set:\n  colour: 3\n", f"{self.file}:4: unknown parameter 'colour'")
        self.refused(ONE, "command line: matrix: ", args=("--matrix", "permutation:5:1KiB"))
        self.refused(ONE + "seed: 1\nseed: 2\n", f"{self.file}:4: seed: given twice")

    def test_what_is_no_scenario(self):
        for name, says in ((self.dir, f"{self.dir}: Is a directory"), ("a.topo", "a.topo is no scenario: --topology a.topo"),
                           ("x/b.cm", "x/b.cm is no scenario: --matrix x/b.cm")):
            run = subprocess.run((WEFT, "sim", name), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual((run.returncode, run.stderr), (2, f"weft sim: {says}\n"))

    def test_results_that_could_not_be_written_are_nowhere(self):
        run = self.weft(ONE, "--out", "/proc/nope")
        self.assertEqual(run.returncode, 1)
        self.assertNotIn("results in", run.stderr)

    def test_many_runs_need_python(self):
        for more in ("seeds: 2\n", "cases: [{name: a}]\n", "sweep: {mtu: [1024]}\n"):
            run = self.weft(ONE + more)
            self.assertEqual(run.returncode, 3, run.stderr)
            self.assertIn("weft sweep: /nonexistent: No such file or directory; this command is written in Python: "
                          "apt install python3", run.stderr)

    def test_a_dry_run_tells_the_configuration(self):
        run = self.weft(ONE, "--dry-run")
        config = json.loads(run.stdout)
        self.assertEqual((config["schema"], config["hosts"], config["flows"], config["bytes"]),
                         ("weft.config/1", 4, 4, 4 * 16384))
        self.assertEqual((config["cc"], config["lb"], config["route"], config["seed"]), ("smartt3", "reps2", "ecmp", 1))
        self.assertIn("small", config["cc_reason"])
        self.assertIn("unmarked", config["lb_reason"])
        named = json.loads(self.weft(ONE + "cc: smartt\nlb: reps\n", "--dry-run").stdout)
        self.assertEqual((named["cc"], named["cc_reason"], named["lb_reason"]), ("smartt", None, None))
        self.assertEqual((named["set"]["acks_per_window"], named["set"]["timeout_probes"]), (0, 0))
        self.assertFalse(os.path.exists(self.path("weft-out")))
        self.refused(ONE, "command line: matrix: ", args=("--matrix", "permutation:5:1KiB", "--dry-run"))

    def test_a_dry_run_refuses_what_there_is_no_fabric_of(self):
        for options, why in (("--set pfc=1 --set credit_queue=8", "credit queues with PFC"),
                             ("--topology vl2:4:4:2:4 --route symmetric", "symmetric hashing needs a tree"),
                             ("--topology leafspine:2:300:1 --matrix permutation:2:4KiB --route conga", "256 uplinks")):
            run = subprocess.run((WEFT, "sim", *options.split(), "--dry-run"), capture_output=True, text=True, timeout=60)
            self.assertEqual((run.returncode != 0, run.stdout), (True, ""), options)
            self.assertIn(why, run.stderr)

    def test_a_dry_run_that_cannot_tell_says_why(self):
        with open("/dev/full", "w") as full:
            run = subprocess.run((WEFT, "sim", *"--topology star:4 --matrix permutation:4:16KiB --dry-run".split()), stdout=full,
                                 stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((run.returncode, run.stderr),
                         (1, "weft sim: standard output: could not be written: No space left on device\n"))
        odd = os.path.join(os.fsencode(self.dir), b"odd\xff.cm")
        with open(odd, "w") as matrix:
            matrix.write("Nodes 2\nConnections 1\n0->1 id 1 start 0 size 1000\n")
        run = subprocess.run((WEFT, "sim", "--topology", "star:2", "--matrix", odd, "--dry-run"), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("not UTF-8", run.stderr)

    def test_metrics_are_where_they_say(self):
        record = self.record(ONE)
        listed = json.loads(subprocess.run((WEFT, "sim", "--metrics"), stdout=subprocess.PIPE, text=True).stdout)
        self.assertGreater(len(listed), 100)
        shutil.rmtree(self.path("weft-out"))
        self.assertEqual(json.loads(self.weft(ONE, "--metrics").stdout), listed)
        self.assertFalse(os.path.exists(self.path("weft-out")))
        for metric in listed:
            place = record
            for key in (metric["json"] or "").split(".") if metric["json"] else ():
                place = place.get(key, {}) if isinstance(place, dict) else {}
            if metric["name"] and metric["json"] and metric["name"].startswith("fct_"):
                self.assertIsInstance(place, float, metric)


unittest.main(argv=sys.argv[:1])
