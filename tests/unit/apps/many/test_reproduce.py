#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_reproduce.py WEFT PAPERS - claims of small scenarios, judged; and every published one can be planned."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

WEFT, PAPERS = sys.argv[1:3]
SMALL = """\
title: two incasts
topology: leafspine:2:2:2
cases:
  - {name: three, matrix: "incast:3:64KiB"}
  - {name: one, matrix: "incast:1:64KiB"}
sweep:
  lb: [reps, ops]
seeds: 2
outputs:
  series: 5us
claims:
"""
BENCH = "bench: {link-gbps: 1, runs: [{case: one, lb: ops}]}"


class Reproduce(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.dir = os.path.join(self.scratch.name, "paper")
        self.out = os.path.join(self.scratch.name, "out")
        os.mkdir(self.dir)

    def tearDown(self):
        self.scratch.cleanup()

    def write(self, *claims, name="fig1"):
        with open(os.path.join(self.dir, name + ".yaml"), "w") as f:
            f.write(SMALL)
            for claim in claims:
                f.write("  - " + claim + "\n")

    def weft(self, *args):
        return subprocess.run((WEFT, "reproduce", self.dir, "--out", self.out, *args), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120)

    def judged(self, *claims):
        self.write(*claims)
        run = self.weft()
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def refused(self, claim):
        self.write(claim)
        run = self.weft()
        self.assertEqual(run.returncode, 1)
        return run.stderr

    def test_ratio_over_each_counterpart(self):
        text = self.judged(
            "{text: slower, measure: fct_max_us, of: {case: three}, over: {case: one}, at_least: 2, paper: thrice}",
            "{text: faster, measure: fct_max_us, of: {case: three}, over: {case: one}, at_most: 1, note: it is not}")
        self.assertRegex(text, r"holds +slower\n +ours [2-4]\.\d+ ±\S+ \(three lb=\w+: .*one lb=\w+: .*paper: thrice")
        self.assertRegex(text, r"BREAKS +faster\n.*\n +why: it is not")
        self.assertIn("1 of 2 claims hold", text)
        with open(os.path.join(self.out, "claims.txt")) as f:
            self.assertEqual(text.split(self.out)[0], f.read())
        with open(os.path.join(self.out, "report.html")) as f:
            page = f.read()
        for expected in ("slower", "breaks", "it is not", "two incasts", "Throughput of flows", "<svg"):
            self.assertIn(expected, page)

    def test_a_bound_within_the_interval(self):
        ratio = "measure: fct_max_us, of: {case: three, lb: reps}, over: {case: one}"
        text = self.judged("{text: thrice, %s, at_least: 3}" % ratio, "{text: twice, %s, at_least: 2}" % ratio,
                           "{text: ever, %s, at_least: 0.1}" % ratio)
        self.assertRegex(text, r"\n  BREAKS, within the interval: thrice\n +ours (\S+ ±\S+) .*\n"
                               r"  holds, within the interval: twice\n +ours \1 .*\n  holds   ever\n +ours \1 ")
        self.assertIn("2 of 3 claims hold", text)
        with open(os.path.join(self.out, "report.html")) as f:
            page = f.read()
        for verdict in ("breaks, within the interval", "holds, within the interval", "2.67 ±1.1 ("):
            self.assertIn(verdict, page)

    def test_one_seed_has_no_interval(self):
        self.write("{text: thrice, measure: fct_max_us, of: {case: three}, over: {case: one}, at_least: 3}")
        with open(os.path.join(self.dir, "fig1.yaml")) as f:
            text = f.read()
        with open(os.path.join(self.dir, "fig1.yaml"), "w") as f:
            f.write(text.replace("seeds: 2", "seeds: 1"))
        self.assertRegex(self.weft().stdout, r"BREAKS  thrice\n +ours \S+ \(three")

    def test_the_axis_that_over_leaves_out_must_agree(self):
        text = self.judged("{text: a, measure: fct_mean_us, of: {case: one, lb: ops}, over: {case: three}, at_most: 1}")
        self.assertIn("one lb=ops", text)
        self.assertIn("three lb=ops", text)
        self.assertNotIn("lb=reps:", text)

    def test_less_subtracts(self):
        text = self.judged(
            "{text: a, measure: failed, of: {case: three}, less: {case: one}, at_least: 0, at_most: 0}",
            "{text: b, measure: fct_max_us, of: {case: one, lb: ops}, less: {case: three}, at_most: -10}",
            "{text: c, measure: fct_max_us, of: {case: three, lb: ops}, less: {case: one}, at_least: 10}")
        self.assertIn("3 of 3 claims hold", text)

    def test_bounds_of_one_run(self):
        text = self.judged("{text: a, measure: failed, of: {}, at_most: 0}",
                           "{text: b, measure: inflation, of: {case: one}, at_least: 0.99, at_most: 1.01}",
                           "{text: c, measure: inflation, of: {case: one}, at_least: 1.5}",
                           "{text: d, measure: slowest_over_fastest, of: {case: one}, at_least: 1, at_most: 1}",
                           "{text: e, measure: slowest_over_fastest, of: {case: three}, at_least: 1.001}")
        self.assertIn("4 of 5 claims hold", text)

    def test_measures_of_files(self):
        last_hop = "ports: 'leaf0:host0', of: {case: three}"
        text = self.judged(
            "{text: a, measure: port_utilisation_mean, from: 10us, to: 20us, %s, at_least: 0.95}" % last_hop,
            "{text: b, measure: port_queue_max_bytes, ports: 'spine*', of: {case: one}, at_most: 0}",
            "{text: c, measure: flow_fct_max_us, flows: 0-1, of: {case: three}, over: {case: one}, at_least: 1}",
            "{text: f, measure: port_utilisation_min, from: 10us, to: 20us, %s, at_least: 0.9}" % last_hop,
            "{text: g, measure: port_utilisation_max, %s, over: {case: one}, at_least: 1}" % last_hop,
            "{text: h, measure: port_bytes, %s, at_least: 196608}" % last_hop,
            "{text: i, measure: port_marked, %s, at_most: 60}" % last_hop,
            "{text: d, measure: link_share_max, %s, at_least: 0.9}" % last_hop,
            "{text: e, measure: cwnd_min_bytes, of: {case: three}, at_least: 4000}")
        self.assertIn("9 of 9 claims hold", text)

    def test_rates_of_flows(self):
        three = "from: 10us, to: 30us, of: {case: three}"
        text = self.judged(
            "{text: a, measure: flow_gbps_mean, %s, at_least: 14, at_most: 16.7}" % three,
            "{text: b, measure: flow_gbps_min, %s, over: {case: one}, at_most: 1}" % "of: {case: three}",
            "{text: c, measure: flow_gbps_max, flows: 0-0, from: 5us, of: {case: one}, at_least: 45, at_most: 50}",
            "{text: d, measure: flow_jain, flows: 0, of: {case: three}, at_least: 1, at_most: 1}",
            "{text: e, measure: flow_jain, %s, at_least: 0.6, at_most: 1}" % three,
            "{text: f, measure: flow_unsteadiness, from: 5us, of: {case: one}, at_most: 0.1}",
            "{text: g, measure: flow_unsteadiness, %s, at_least: 0.001}" % three,
            "{text: h, measure: flow_settle_us, of: {case: one}, at_least: 5, at_most: 5}",
            "{text: i, measure: flow_settle_us, within: 0.0001, to: 30us, of: {case: three}, at_least: 30}",
            "{text: j, measure: flow_settle_us, within: 9, of: {case: three}, at_most: 0}",
            "{text: m, measure: flow_reach_us, of: {case: one}, at_least: 10, at_most: 10}",
            "{text: n, measure: flow_reach_us, within: 9, of: {case: three}, at_most: 5}",
            "{text: o, measure: flow_reach_us, within: 0.0001, to: 30us, of: {case: three}, at_least: 30}",
            "{text: k, measure: data_lost, of: {case: one}, at_most: 0}",
            "{text: l, measure: data_lost, of: {case: three}, over: {case: one}, at_least: 1}")
        self.assertIn("15 of 15 claims hold", text)
        self.assertIn("there is no flow 7", self.refused("{text: a, measure: flow_jain, flows: 7, of: {}, at_most: 1}"))

    def test_order_of_arrival(self):
        text = self.judged(
            "{text: a, measure: reordered_share, of: {case: three}, at_least: 0.01, at_most: 0.9}",
            "{text: b, measure: dup_ack_flows, of: {case: three}, at_least: 0.3}",
            "{text: c, measure: dup_ack3_flows, of: {case: three}, at_least: 0, at_most: 1}",
            "{text: d, measure: reorder_ack_flows, of: {case: three}, at_least: 0.3}",
            "{text: e, measure: reorder_ack3_flows, of: {case: three}, at_least: 0, at_most: 1}",
            "{text: f, measure: reorder_extent_p99, of: {case: three}, at_least: 1}",
            "{text: g, measure: reorder_extent_max, of: {case: three}, at_least: 1}",
            "{text: h, measure: ooo_max, of: {case: three}, at_least: 1}",
            "{text: i, measure: dup_acks_max, of: {case: three}, at_least: 1}",
            "{text: j, measure: flow_dup_acks_max, flows: 0-2, of: {case: three}, at_least: 1}",
            "{text: k, measure: flow_reordered_mean, flows: 0-2, of: {case: three}, at_least: 0.1}")
        self.assertIn("11 of 11 claims hold", text)

    def test_waiting_by_hop(self):
        three = "of: {case: three}"
        text = self.judged(
            "{text: a, measure: wait_leaf_host_mean_us, %s, at_least: 1}" % three,
            "{text: b, measure: wait_leaf_host_max_us, %s, at_least: 2}" % three,
            "{text: c, measure: wait_leaf_up_max_us, %s, at_most: 30}" % three,
            "{text: d, measure: wait_spine_down_mean_us, of: {case: one}, at_most: 5}",
            "{text: e, measure: wait_core_down_max_us, of: {}, at_most: 0}",
            "{text: f, measure: lost_leaf_host, of: {case: one}, at_most: 0}",
            "{text: g, measure: wait_leaf_host_share, %s, at_least: 0.5, at_most: 0.999}" % three,
            "{text: h, measure: wait_leaf_up_share, %s, at_least: 0.001, at_most: 0.5}" % three)
        self.assertIn("8 of 8 claims hold", text)

    def test_spread_of_queues(self):
        self.write("{text: a, measure: queue_up_sd, of: {case: three}, at_least: 0.001, at_most: 20}",
                   "{text: b, measure: queue_down_sd, of: {}, at_least: 0, at_most: 20}",
                   "{text: c, measure: queue_up_mean, of: {case: three}, at_least: 0.001}",
                   "{text: d, measure: queue_up_p99999, of: {case: three}, at_least: 0.25}")
        with open(os.path.join(self.dir, "fig1.yaml")) as f:
            text = f.read()
        with open(os.path.join(self.dir, "fig1.yaml"), "w") as f:
            f.write(text.replace("seeds: 2", "set: {queue_sample_ns: 500}\nseeds: 2"))
        run = self.weft()
        self.assertIn("4 of 4 claims hold", run.stdout, run.stderr)

    def test_a_port_that_is_not_there_proves_nothing(self):
        message = self.refused("{text: a, measure: port_queue_max_bytes, ports: 'leaf9:*', of: {}, at_most: 0}")
        self.assertIn("links.csv: no port is called 'leaf9:*'", message)

    def test_goes_on_where_it_stopped(self):
        self.judged("{text: a, measure: failed, of: {}, at_most: 0}")
        with open(os.path.join(self.out, "fig1", "runs", "0003", "run.json")) as f:
            first = f.read()
        run = self.weft()
        self.assertEqual(run.returncode, 0)
        with open(os.path.join(self.out, "fig1", "runs", "0003", "run.json")) as f:
            self.assertEqual(first, f.read())

    def test_only_some_figures(self):
        self.write("{text: a, measure: failed, of: {}, at_most: 0}", name="fig1")
        self.write("{text: b, measure: failed, of: {}, at_most: 0}", name="fig12")
        self.write("{text: c, measure: failed, of: {}, at_most: 0}", name="fig2")
        run = self.weft("--list", "--only", "fig12,fig2")
        self.assertEqual(run.returncode, 0)
        self.assertNotIn("fig1:", run.stdout)
        self.assertIn("fig12: two incasts (8 runs)\n  b\n", run.stdout)
        self.assertIn("fig2: two incasts (8 runs)\n  c\n", run.stdout)
        self.assertFalse(os.path.exists(self.out))
        self.assertIn("no scenario begins with fig3", self.weft("--only", "fig3").stderr)

    def test_a_wrong_claim_is_named_with_its_line(self):
        cases = {
            "{measure: failed, of: {}, at_most: 0}": "12: text: a claim says something",
            "{text: a, of: {}, at_most: 0}": "12: measure: is missing",
            "{text: a, measure: beauty, of: {}, at_most: 0}": "12: measure: unknown 'beauty'",
            "{text: a, measure: failed, of: {}}": "12: at_most: a claim needs",
            "{text: a, measure: failed, of: {}, at_most: few}": "12: at_most: 'few' is not a number",
            "{text: a, measure: failed, of: {case: two}, at_most: 1}": "12: case: no run has 'two'",
            "{text: a, measure: failed, of: {cc: swift}, at_most: 1}": "12: cc: no run has 'swift'",
            "{text: a, measure: failed, of: {}, over: {}, at_most: 1}": "12: over: names nothing",
            "{text: a, measure: failed, of: {}, less: {}, at_most: 1}": "12: less: names nothing",
            "{text: a, measure: failed, of: {}, over: {lb: ops}, less: {lb: ops}, at_most: 1}": "12: less: a claim has",
            "{text: a, measure: failed, of: {}, most: 1}": "12: most: unknown key",
            "{text: a, measure: failed, of: {}, flows: 3-1, at_most: 1}": "12: flows: '3-1' is neither",
        }
        for claim, message in cases.items():
            self.assertIn("fig1.yaml:" + message, self.refused(claim), claim)

    def test_flows_without_an_end_prove_nothing(self):
        text = self.judged("{text: fast, measure: fct_max_us, of: {}, at_most: 1000000}",
                           "{text: straight, measure: inflation, of: {lb: reps}, at_most: 9, over: {lb: ops}}",
                           "{text: not all came, measure: failed, of: {case: three}, at_least: 1}\nend: 25us")
        self.assertRegex(text, r"\? +fast\n +ours a run it needs has no result, or flows without an end")
        self.assertRegex(text, r"\? +straight\n")
        self.assertRegex(text, r"holds +not all came\n")

    def test_real_time_stands_beside_the_lab(self):
        claims = ("{text: whole, measure: failed, real: lab, of: {case: one, lb: ops}, at_most: 1}",
                  "{text: slower, measure: inflation, real: lab, of: {case: one, lb: ops}, note: by turns}")
        text = self.judged(*claims, "{text: not run, measure: jain, real: lab, of: {case: three}, at_least: 0}\n" + BENCH)
        self.assertRegex(text, r"holds +whole\n +ours 1 \(one lb=ops: in real time 0, in the lab 0\)")
        self.assertRegex(text, r"told +slower\n +ours \S+ \(one lb=ops: in real time \S+, in the lab \S+\)\n +note: by turns")
        self.assertRegex(text, r"\? +not run\n")
        self.assertIn("1 of 2 claims hold", text)
        real = os.path.join(self.out, "fig1", "real")
        self.assertEqual(os.listdir(real), ["0006"])
        with open(os.path.join(real, "0006", "run.json")) as f:
            first = f.read()
        self.assertEqual(json.loads(first)["mode"], "bench")
        with open(os.path.join(real, "0006", "command.txt")) as f:
            self.assertRegex(f.read(), r"bench --local .*--lb ops --seed 1 --link-gbps 1 --json=")
        self.assertEqual(self.weft().returncode, 0)
        with open(os.path.join(real, "0006", "run.json")) as f:
            self.assertEqual(first, f.read())
        self.assertEqual(self.weft("--fresh").returncode, 0)
        with open(os.path.join(real, "0006", "run.json")) as f:
            self.assertNotEqual(first, f.read())

    def test_a_run_that_fails_in_real_time_is_not_known(self):
        text = self.judged("{text: a, measure: inflation, real: lab, of: {case: one, lb: ops}, at_least: 0}\n" +
                           BENCH.replace("link-gbps: 1", "threads: 99"))
        self.assertRegex(text, r"\? +a\n")
        with open(os.path.join(self.out, "fig1", "real", "0006", "bench.log")) as f:
            self.assertIn("--threads 99", f.read())

    def test_real_time_needs_runs(self):
        claim = "{text: a, measure: %s, real: %s, of: {case: one}, at_most: 1}\n"
        cases = {
            claim % ("inflation", "lab"): "12: real: the scenario has no bench",
            claim % ("inflation", "time") + BENCH: "12: real: 'time' is not lab",
            claim % ("port_bytes", "lab") + BENCH: "12: real: takes a number of the result",
            claim % ("failed", "lab") + "bench: {link-gbps: 1}": "13: bench: names no runs",
            claim % ("failed", "lab") + "bench: []": "13: bench: a mapping is expected here",
            claim % ("failed", "lab") + "bench: {runs: [{case: two}]}": "13: case: no run has 'two'",
        }
        for text, message in cases.items():
            self.assertIn("fig1.yaml:" + message, self.refused(text), text)

    def test_a_paper_nobody_knows(self):
        run = subprocess.run((WEFT, "reproduce", "nothing"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("no scenarios for 'nothing'", run.stderr)

    def test_measures_are_listed(self):
        self.assertRegex(self.weft("--measures").stdout, r"(?m)^fct_max_us +slowest")

    def test_every_published_figure_can_be_planned(self):
        for paper in sorted(os.listdir(PAPERS)) if os.path.isdir(PAPERS) else []:
            run = subprocess.run((WEFT, "reproduce", os.path.join(PAPERS, paper), "--list"), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, timeout=120)
            self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
