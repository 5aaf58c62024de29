#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_report.py WEFT - pages about made-up results: every part is there, well-formed, escaped; bad results are named."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

from report_runs import run_json, write_csv, write_run, write_sweep

WEFT = os.path.abspath(sys.argv[1])
HOSTILE = """<b>&amp; 'q' "d" 100% `id` \\n"""


class Page:
    """A page, parsed: it is written as XML so that this can be checked."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        self.root = ET.fromstring(self.text.replace("<!DOCTYPE html>", ""))

    def texts(self, tag):
        return ["".join(e.itertext()) for e in self.root.iter(tag)]

    def figures(self):
        return self.texts("figcaption")

    def rows(self):
        return [["".join(c.itertext()) for c in row.findall("td")] for row in self.root.iter("tr") if row.findall("td")]

    def drawings(self):
        return [f.find("{http://www.w3.org/2000/svg}svg") for f in self.root.iter("figure")]


class Report(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def weft(self, *args):
        return subprocess.run((WEFT, "report", *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                              cwd=self.dir)

    def page(self, *args, output="page.html"):
        run = self.weft(*args, "-o", output)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"^" + re.escape(output) + r": \d+ KiB\n$")
        return Page(self.path(output))

    def refused(self, says, *args):
        run = self.weft(*args)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertEqual(run.stderr, f"weft report: {says}\n")

    def test_sweep_of_cases(self):
        write_sweep(self.path("s"), ["smartt", "swift"], {}, [1, 2, 3], series=50)
        page = self.page("s")
        self.assertEqual(page.texts("h1"), ["8:1 incast"])
        self.assertEqual(page.texts("h2"), ["Summary", "Comparison", "Flows", "Over time: smartt, seed 1",
                                            "Over time: swift, seed 1", "Definitions"])
        series = ["Queue depth, deepest ports", "Utilisation of these ports", "Utilisation of the uplinks",
                  "Congestion window", "Bytes in flight", "Round-trip time", "Cached entropies", "Connections frozen",
                  "Share of each uplink"]
        self.assertEqual(page.figures(), ["Tail FCT", "Mean FCT", "Distribution of FCT", "Median slowdown by flow size",
                                          "99th percentile of slowdown by flow size", *series, *series])
        self.assertIn("Eight senders, one receiver.", page.texts("p"))
        self.assertEqual([row[:3] for row in page.rows()], [["smartt", "3", "24 of 24"], ["swift", "3", "24 of 24"]])

    def test_options_that_all_runs_share(self):
        common = {"topology": "star:9", "no-trim": True, "set": {"trim": 2}, "faults": ["1us fail host:1"]}
        for name, more in (("a", {"link-gbps": 100}), ("b", {"link-gbps": 400})):
            write_run(self.path(name), run_json("smartt", options={**common, **more}))
        words = "--topology star:9 --no-trim --set trim=2 --fault '1us fail host:1'"
        self.assertIn("common options", self.page("a", "b").texts("dt"))
        self.assertIn(words, self.page("a", "b").texts("dd"))
        self.assertIn(words + " --link-gbps 100", self.page("a").texts("dd"))

    def test_means_and_intervals(self):
        write_sweep(self.path("s"), ["a"], {}, [1, 2, 3])
        for i, tail in enumerate((100, 110, 120)):
            run = run_json("a", "a", seed=i + 1)
            run["fct_us"]["max"] = tail
            with open(self.path("s", f"runs/{i:04d}/run.json"), "w", encoding="utf-8") as f:
                json.dump(run, f)
        # 4.3027 * 10 / sqrt(3)
        self.assertEqual(self.page("s").rows()[0][3], "110.0\n± 24.8")

    def test_default_output_and_title(self):
        write_run(self.path("one"), run_json("smartt"))
        with open(self.path("bare.json"), "w", encoding="utf-8") as f:
            json.dump(run_json(), f)
        for args, path in (("one", "one/report.html"), ("one/run.json", "one/report.html"), ("bare.json", "report.html")):
            run = self.weft(args, "--title", HOSTILE)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(path, run.stdout)
            self.assertEqual(Page(self.path(path)).texts("h1"), [HOSTILE])
            os.unlink(self.path(path))

    def test_standard_output(self):
        write_run(self.path("one"), run_json("smartt"))
        run = self.weft("one", "-o", "-")
        self.assertEqual(run.returncode, 0)
        ET.fromstring(run.stdout.replace("<!DOCTYPE html>", ""))

    def test_only_json(self):
        with open(self.path("bare.json"), "w", encoding="utf-8") as f:
            json.dump(run_json(), f)
        page = self.page("bare.json")
        self.assertEqual(page.figures(), [])
        self.assertEqual(page.rows()[0][:3], ["smartt + reps", "1", "8 of 8"])
        self.assertIn("1 run has no flows.csv and adds nothing here.", page.texts("p"))

    def test_one_numeric_axis_gives_lines(self):
        write_sweep(self.path("s"), ["a", "b"], {"link-gbps": [800, 100, 400]}, [1, 2])
        page = self.page("s")
        self.assertEqual(page.figures()[:2], ["Tail FCT", "Mean FCT"])
        tail = page.drawings()[0]
        self.assertIn("link-gbps", "".join(tail.itertext()))
        lines = re.findall(r"d='M([\d. L,]+?) *'/>\s*<use", page.text)
        for line in lines[:2]:
            xs = [float(p.split(",")[0]) for p in line.split(" L")]
            self.assertEqual(len(xs), 3)
            self.assertEqual(xs, sorted(xs))

    def test_other_axes_give_bars_by_the_first(self):
        write_sweep(self.path("s"), ["a", "b"], {"lb": ["reps", "ops"], "set.x": [1, 2]}, [1, 2])
        page = self.page("s")
        texts = "".join(page.drawings()[0].itertext())
        self.assertIn("reps", texts)
        self.assertIn("ops", texts)
        legend = ["".join(li.itertext()) for li in next(page.root.iter("ul")).iter("li")]
        self.assertEqual(legend, ["a, set.x=1", "a, set.x=2", "b, set.x=1", "b, set.x=2"])

    def test_hostile_names(self):
        write_sweep(self.path("s"), [HOSTILE, "b"], {}, [1, 2], series=20)
        page = self.page("s")
        self.assertEqual(page.rows()[0][0], HOSTILE)
        self.assertIn(HOSTILE, [t.strip() for t in page.drawings()[0].itertext()])
        self.assertIn(HOSTILE, [t.strip() for t in page.texts("li")])
        self.assertIn(f"Over time: {HOSTILE}, seed 1", page.texts("h2"))

    def test_self_contained_with_unique_names(self):
        write_sweep(self.path("s"), ["a", "b"], {}, [1, 2], series=20)
        page = self.page("s")
        links = re.findall(r"(?:href|src)=['\"]([^#'\"][^'\"]*)", page.text) + re.findall(r"url\(([^#)][^)]*)", page.text)
        self.assertEqual(links, [])
        names = [e.get("id") for e in page.root.iter() if e.get("id")]
        self.assertEqual(len(names), len(set(names)))
        for e in page.root.iter():
            for name, value in e.items():
                if name.endswith("href"):
                    self.assertIn(value[1:], names)

    def test_failed_runs_are_told(self):
        write_sweep(self.path("s"), ["a", "b"], {}, [1, 2], failed=1)
        page = self.page("s")
        self.assertIn("b, seed 2: failed: flow 3 (1->0): Connection timed out", page.texts("p"))
        self.assertEqual([row[1] for row in page.rows()], ["2", "1"])
        self.assertIn("3 of 4", page.texts("dd"))

    def test_flows_that_did_not_end_alarm(self):
        write_run(self.path("one"), run_json("a", flows={"count": 8, "completed": 7, "verified": 7}, inflation=0))
        page = self.page("one")
        self.assertEqual(page.rows()[0][2], "7 of 8")
        self.assertEqual(page.rows()[0][6], "–")
        self.assertIn('<td class="bad">7 of 8</td>', page.text)

    def test_several_paths(self):
        write_sweep(self.path("s"), ["a"], {}, [1, 2])
        write_sweep(self.path("t"), ["a"], {}, [1, 2])
        write_run(self.path("one"), run_json("lone"))
        rows = self.page("s", "t", "one").rows()
        self.assertEqual([row[0] for row in rows], ["s: a", "t: a", "lone"])

    def test_single_runs_of_other_seeds_are_pooled(self):
        for seed in (1, 2):
            write_run(self.path(f"seed{seed}"), run_json("a", seed=seed))
        write_run(self.path("again"), run_json("a", seed=2))
        rows = self.page("seed1", "seed2", "again").rows()
        self.assertEqual([row[:2] for row in rows], [["seed1: a", "2"], ["again: a", "1"]])

    def test_many_samples_make_a_small_page(self):
        write_sweep(self.path("s"), ["a"], {}, [1], series=5000)
        self.assertLess(len(self.page("s").text), 1000000)

    def test_many_combinations_are_bounded(self):
        write_sweep(self.path("s"), [f"c{i}" for i in range(12)], {}, [1], series=5)
        page = self.page("s")
        self.assertLess(len(page.figures()), 80)
        notes = [p for p in page.texts("p") if "more combinations have time series" in p]
        self.assertEqual(len(notes), 1)

    def test_rows_that_pauses_leave_out(self):
        """Idle ports have no rows, and the row at a pause's end comes after later ones of other ports."""
        write_run(self.path("one"), run_json("a"))
        write_csv(self.path("one", "ports.csv"), "time_us,port,queue_bytes,utilisation,tx_bytes,marked,trimmed,dropped",
                  [(1, "leaf0:up0", 0, 1, 1, 0, 0, 0), (2, "leaf0:up0", 0, 1, 1, 0, 0, 0),
                   (3, "leaf0:up0", 0, 1, 1, 0, 0, 0), (2, "leaf0:up1", 0, 0, 0, 0, 0, 0),
                   (3, "leaf0:up1", 0, 1, 1, 0, 0, 0)])
        write_csv(self.path("one", "conns.csv"),
                  "time_us,src,dst,cwnd_bytes,inflight_bytes,srtt_us,brtt_us,cached_evs,frozen,ev",
                  [(0, 1, 0, 9, 9, 0, 5, 0, 0, 7), (1, 1, 0, 9, 9, 6, 5, 0, 1, 7), (1, 2, 0, 9, 9, 6, 5, 0, 1, 7),
                   (3, 2, 0, 9, 9, 6, 5, 0, 0, 7), (4, 3, 0, 9, 9, 6, 5, 0, 0, 7)])
        page = self.page("one")
        names = page.figures()
        svg = {name: drawing for name, drawing in zip(names, page.drawings())}
        mean = self.curves(svg["Utilisation of the uplinks"])[-1]
        self.assertEqual([x for x, _ in mean], sorted(x for x, _ in mean))
        self.assertEqual([round((mean[0][1] - y) / (mean[0][1] - mean[2][1]), 2) for _, y in mean], [0, 0, 1])
        frozen = self.curves(svg["Connections frozen"])[0]
        floor, top = max(y for _, y in frozen), min(y for _, y in frozen)
        self.assertEqual([round(2 * (floor - y) / (floor - top)) for _, y in frozen], [0, 0, 1, 2, 2, 1, 1])

    @staticmethod
    def curves(svg):
        """Corners of the curves of a drawing."""
        paths = [e.get("d") for e in svg.iter() if e.tag.endswith("path") and (e.get("stroke") or "").startswith("rgb( 36")]
        return [[tuple(map(float, p.split(","))) for p in re.findall(r"[\d.]+,[\d.]+", d)] for d in paths]

    def test_ports_without_uplinks(self):
        write_run(self.path("one"), run_json("a"))
        write_csv(self.path("one", "ports.csv"), "time_us,port,queue_bytes,utilisation,tx_bytes,marked,trimmed,dropped",
                  [(t, "host0", 100 * t, 0.5, 1, 0, 0, 0) for t in range(5)])
        self.assertNotIn("Utilisation of the uplinks", self.page("one").figures())

    def test_bad_results_are_named(self):
        write_sweep(self.path("s"), ["a"], {}, [1], series=5)
        run = "s/runs/0000/"
        broken = (
            ("s/sweep.json", '{"schema": "weft.sweep/1",\n]', "s/sweep.json:2: "),
            ("s/sweep.json", '{"schema": "weft.sweep/2"}',
             "s/sweep.json:1: not a result: schema 'weft.sweep/1' is wanted, 'weft.sweep/2' found"),
            ("s/sweep.json", '{"schema": "weft.sweep/1"}', "s/sweep.json: runs is not there or not a list"),
            (run + "run.json", "", run + "run.json:1: "),
            (run + "run.json", '{"schema": "weft.run/1", "fct_us": {"max": "x"}}',
             run + "run.json: fct_us.max is not there or not a number"),
            (run + "flows.csv", "bytes,fct_us,ideal_us\n1,2,3\n1,x,3\n", run + "flows.csv:3: fct_us: 'x' is not a number"),
            (run + "ports.csv", "time_us,port\n", run + "ports.csv:1: no column 'queue_bytes'"),
            (run + "ports.csv", "time_us,port,queue_bytes,utilisation\n1,p,1\n",
             run + "ports.csv:2: 3 fields, the header has 4"),
            (run + "conns.csv", "", run + "conns.csv:1: empty, a line with the columns' names is missing"),
            (run + "links.csv", "port,share\nleaf0:up0,1,2\n", run + "links.csv:2: 3 fields, the header has 2"),
        )
        for name, text, says in broken:
            with open(self.path(name), encoding="utf-8") as f:
                good = f.read()
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(text)
            got = self.weft("s")
            self.assertEqual(got.returncode, 1, name)
            self.assertTrue(got.stderr.startswith("weft report: " + says), got.stderr)
            self.assertFalse(os.path.exists(self.path("s", "report.html")))
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(good)
        os.unlink(self.path(run, "run.json"))
        self.refused(f"s/{'runs/0000'}/run.json: No such file or directory", "s")

    def test_paths_without_results(self):
        os.mkdir(self.path("empty"))
        self.refused("empty: no results here: neither sweep.json nor run.json", "empty")
        self.refused("nothing: No such file or directory", "nothing")
        write_sweep(self.path("s"), ["a"], {}, [1], failed=1)
        self.refused("no run has results yet", "s")

    def test_output_that_cannot_be_written(self):
        write_run(self.path("one"), run_json("a"))
        self.refused("nowhere/r.html: No such file or directory", "one", "-o", "nowhere/r.html")

    def test_usage(self):
        self.assertEqual(self.weft().returncode, 2)
        self.assertEqual(self.weft("--nonsense").returncode, 2)
        run = self.weft("--help")
        self.assertEqual(run.returncode, 0)
        self.assertIn("usage: weft report PATH...", run.stdout)

    def test_without_gnuplot(self):
        write_run(self.path("one"), run_json("a"))
        run = subprocess.run((WEFT, "report", "one"), stderr=subprocess.PIPE, text=True, cwd=self.dir,
                             env={"PATH": "/nonexistent"}, timeout=60)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr,
                         "weft report: gnuplot is not there: install the Debian package gnuplot-nox\n")


unittest.main(argv=sys.argv[:1])
