#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_cli_scenario.py WEFT - scenarios as users meet them: tables, signals, full disks, killed workers."""
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

WEFT = sys.argv[1]

TWO = """title: two cases
topology: star:4
matrix: permutation:4:16KiB
cases:
  - {name: sprayed, lb: ops}
  - {name: hashed, lb: ecmp}
seeds: 2
"""

# Runs that end at once, then runs that would take minutes.
LONG = """topology: star:64
sweep:
  matrix: ["permutation:64:16KiB", "permutation:64:8KiB", "alltoall:64:64MiB", "alltoall:64:65MiB"]
"""


class Scenario(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.out = os.path.join(self.scratch.name, "out")
        self.file = os.path.join(self.scratch.name, "case.yaml")

    def tearDown(self):
        self.scratch.cleanup()

    def write(self, text):
        with open(self.file, "w") as file:
            file.write(text)

    def command(self, *args):
        return (WEFT, "sim", self.file, "--out", self.out, *args)

    def weft(self, *args, **more):
        return subprocess.run(self.command(*args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=60, **more)

    def start(self, *args):
        """Starts a sweep and waits until two results are there and a worker is busy with the next."""
        process = subprocess.Popen(self.command(*args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        runs = os.path.join(self.out, "runs")
        while not (os.path.isdir(runs) and {"0000", "0001", ".0002"} <= set(os.listdir(runs))):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        return process

    def sweep(self):
        with open(os.path.join(self.out, "sweep.json")) as file:
            return json.load(file)

    def workers(self, process):
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            return [int(pid) for pid in file.read().split()]

    def test_table_and_files(self):
        self.write(TWO)
        run = self.weft("--jobs", "2")
        self.assertEqual(run.returncode, 0, run.stderr)
        for word in ("two cases", "sprayed", "hashed", "tail FCT us", "±"):
            self.assertIn(word, run.stdout)
        with open(os.path.join(self.out, "table.txt")) as file:
            self.assertEqual(file.read(), run.stdout)
        self.assertIn("4/4", run.stderr)
        sweep = self.sweep()
        self.assertEqual(sweep["schema"], "weft.sweep/1")
        self.assertEqual(sweep["cases"], ["sprayed", "hashed"])
        self.assertEqual([r["status"] for r in sweep["runs"]], ["done"] * 4)
        for entry in sweep["runs"]:
            with open(os.path.join(self.out, entry["dir"], "run.json")) as file:
                result = json.load(file)
            self.assertEqual(result["schema"], "weft.run/1")
            for key in ("label", "case", "values", "seed"):
                self.assertEqual(result[key], entry[key])
            self.assertEqual(result["options"]["matrix"], "permutation:4:16KiB")

    def test_done_before(self):
        self.write(TWO)
        first = self.weft()
        again = self.weft()
        self.assertIn("4 of 4 runs were done before", again.stderr)
        self.assertEqual(again.stdout, first.stdout)
        self.assertNotIn("done before", self.weft("--fresh").stderr)

    def test_results_of_other_builds_only_when_asked_for(self):
        self.write(TWO)
        self.weft()
        for i in range(4):
            path = os.path.join(self.out, "runs", "%04d" % i, "run.json")
            with open(path) as file:
                run = json.load(file)
            run["identity"] = "0123456789abcdef" + run["identity"][16:]
            with open(path, "w") as file:
                json.dump(run, file)
        self.assertIn("4 of 4 runs were done before", self.weft("--any-build").stderr)
        self.assertNotIn("done before", self.weft().stderr)

    def test_nothing_in_a_file_is_no_scenario(self):
        for text in ("", "# a comment\n"):
            self.write(text)
            run = self.weft()
            self.assertEqual(run.returncode, 2)
            self.assertIn("case.yaml: empty; a scenario says at least one option", run.stderr)

    def test_series_need_a_directory(self):
        run = subprocess.run((WEFT, "sim", "--topology", "star:4", "--series", "1us"), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(run.returncode, 2)
        self.assertEqual(run.stderr, "weft sim: --series: needs a directory to write to, --out DIR\n")

    def test_command_line_wins(self):
        self.write(TWO)
        run = self.weft("--seed", "9", "--lb", "reps", "--set", "ack_every=2")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual([r["seed"] for r in self.sweep()["runs"]], [9, 9])
        with open(os.path.join(self.out, "runs/0001/run.json")) as file:
            result = json.load(file)
        self.assertEqual(result["lb"], "reps")
        self.assertEqual(result["options"]["set"], {"ack_every": 2})

    def test_one_run_shows_its_own_table(self):
        self.write("topology: star:4\nmatrix: permutation:4:16KiB\n")
        run = self.weft()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("flows          4, 4 completed", run.stdout)
        self.assertEqual(json.loads(self.weft("--json", "-").stdout)["flows"]["verified"], 4)

    def test_options_in_the_result_repeat_the_run(self):
        self.write(TWO + "set: {ack_every: 2}\n")
        self.weft()
        with open(os.path.join(self.out, "runs/0003/run.json")) as file:
            result = json.load(file)
        args = []
        for name, value in result["options"].items():
            if name == "set":
                args += [f"--set={key}={number}" for key, number in value.items()]
            else:
                args.append(f"--{name}={value}")
        run = subprocess.run((WEFT, "sim", *args, "--json", "-"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, timeout=60)
        self.assertEqual(json.loads(run.stdout)["run"]["digest"], result["run"]["digest"])

    def test_plain_runs_write_their_files(self):
        run = subprocess.run((WEFT, "sim", "--topology", "star:4", "--matrix", "permutation:4:16KiB", "--out", self.out),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(os.path.join(self.out, "flows.csv")) as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[0], "flow,src,dst,bytes,start_us,fct_us,delivered_us,ideal_us,verified,background,"
                         "reordered,dup_acks,reorder_dup_acks,ooo_max")
        self.assertEqual(len(lines), 5)
        for line in lines[1:]:
            fields = line.split(",")
            self.assertGreaterEqual(float(fields[5]), float(fields[7]))
            self.assertEqual(fields[8], "1")

    def refused(self, text, *words):
        self.write(text)
        run = self.weft()
        self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_nothing_starts_when_something_is_wrong(self):
        self.refused(TWO + "colour: red\n", f"{self.file}:8: colour: unknown key")
        self.refused(TWO + "sweep: {cc: [smartt, nonsense]}\n", f"{self.file}:8: cc: ", "sprayed cc=nonsense")
        self.refused(TWO + "sweep: {topology: ['star:4', 'star:2']}\n", f"{self.file}:3: matrix: ", "topology=star:2")

    def test_unwritable_output_is_found_at_once(self):
        self.write(LONG)
        with open(self.out, "w") as file:
            file.write("in the way")
        run = self.weft()
        self.assertEqual(run.returncode, 1)
        self.assertIn(self.out + ": ", run.stderr)

    def test_a_full_disk_names_the_file_and_keeps_what_is_done(self):
        self.write("topology: star:64\npcap: all.pcap\n"
                   "sweep: {matrix: ['permutation:64:4KiB', 'permutation:64:1MiB', 'permutation:64:8KiB']}\n")
        limit = 1200000  # more than the lab's payload pattern has, less than the second capture
        run = self.weft("--jobs", "1",
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("runs/.0001/all.pcap", run.stderr)
        self.assertIn("could not be written: File too large", run.stderr)
        self.assertEqual(os.listdir(os.path.join(self.out, "runs")), ["0000"])
        self.assertEqual([r["status"] for r in self.sweep()["runs"]], ["done", "waiting", "waiting"])
        run = self.weft()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("1 of 3 runs were done before", run.stderr)

    def test_ctrl_c_keeps_what_is_done(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.write(LONG)
            process = self.start("--jobs", "1")
            busy = self.workers(process)
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
            self.assertEqual(process.returncode, 130, err)
            self.assertIn("2 of 4 runs have results", err)
            self.assertIn("permutation:64:16KiB", out)
            self.assertEqual(sorted(os.listdir(os.path.join(self.out, "runs"))), ["0000", "0001"])
            self.assertEqual([r["status"] for r in self.sweep()["runs"]], ["done", "done", "waiting", "waiting"])
            for pid in busy:
                self.assertFalse(os.path.exists(f"/proc/{pid}"))
        run = self.weft("--end", "10us", "--jobs", "3")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual([r["status"] for r in self.sweep()["runs"]], ["done", "done", "failed", "failed"])

    def test_goes_on_after_ctrl_c(self):
        self.write(LONG)
        process = self.start()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        self.write(LONG.replace("MiB", "B"))
        run = self.weft()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("2 of 4 runs were done before", run.stderr)

    def test_a_killed_worker_is_its_runs_failure(self):
        self.write(LONG.replace("65MiB", "65B"))
        process = self.start("--jobs", "1")
        for pid in self.workers(process):
            os.kill(pid, signal.SIGKILL)
        out, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 1, err)
        runs = self.sweep()["runs"]
        self.assertEqual([r["status"] for r in runs], ["done", "done", "failed", "done"])
        self.assertIn("killed by signal 9", runs[2]["error"])
        self.assertIn("1 of 4 runs failed", err)
        self.assertIn("without result", out)

    def test_a_terminal_shows_a_bar(self):
        self.write(LONG)
        ours, theirs = pty.openpty()
        process = subprocess.Popen(self.command("--jobs", "1"), stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        seen = b""
        while b"] 2/4, 1 running  elapsed 0:" not in seen or b"  left " not in seen:
            seen += os.read(ours, 4096)
        self.assertIn(b"[###############...............] 2/4", seen)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), 130)
        os.close(ours)

    def test_workers_end_with_their_sweep(self):
        self.write(LONG)
        process = self.start("--jobs", "1")
        busy = self.workers(process)
        process.kill()
        process.communicate(timeout=20)
        while any(os.path.exists(f"/proc/{pid}") for pid in busy):
            time.sleep(0.01)


unittest.main(argv=sys.argv[:1])
