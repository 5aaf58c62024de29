#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_launch.py WEFT WEFTLAB - commands in Python and programs beside weft: found wherever weft lies, and named when missing."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

WEFT, WEFTLAB = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])


class Launch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name
        self.python = os.path.join(self.dir, "python")  # shows what it is called with
        with open(self.python, "w") as file:
            file.write('#!/bin/sh\necho "$PYTHONPATH|$WEFT"\nshift 2\nfor word in "$@"; do echo "<$word>"; done\n')
        os.chmod(self.python, 0o755)

    def run_weft(self, weft, *args, **environment):
        return subprocess.run((weft, *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                              env={**os.environ, **environment})

    def moved(self):
        """The command in an installation of its own."""
        os.makedirs(os.path.join(self.dir, "usr", "bin"))
        return shutil.copy(WEFT, os.path.join(self.dir, "usr", "bin"))

    def test_arguments_arrive_as_they_are(self):
        for command in ("sweep", "report", "reproduce", "balls"):
            run = self.run_weft(WEFT, command, "a b", "--x=1", WEFT_PYTHON=self.python, PYTHONPATH="/first")
            place, *words = run.stdout.splitlines()
            self.assertEqual(words, [f"<{command}>", "<a b>", "<--x=1>"])
            paths, weft = place.split("|")
            self.assertEqual(weft, os.path.realpath(WEFT))
            self.assertTrue(paths.startswith("/first:"), paths)

    def test_the_package_is_found_where_it_was_installed(self):
        weft = self.moved()
        package = os.path.join(self.dir, "usr", "share", "weft", "python")
        os.makedirs(os.path.join(package, "weftlab"))
        with open(os.path.join(package, "weftlab", "__main__.py"), "w"):
            pass
        run = self.run_weft(weft, "sweep", WEFT_PYTHON=self.python, PYTHONPATH="")
        self.assertEqual(os.path.realpath(run.stdout.split("|")[0]), os.path.realpath(package))

    def test_modules_of_the_working_directory_are_not_run(self):
        for name in ("importlib.py", "argparse.py", "weftlab.py"):
            with open(os.path.join(self.dir, name), "w") as file:
                file.write("print('a stranger ran')\n")
        run = subprocess.run((WEFT, "balls", "--help"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                             cwd=self.dir)
        self.assertNotIn("a stranger ran", run.stdout)

    def test_no_interpreter(self):
        run = self.run_weft(WEFT, "report", "x", WEFT_PYTHON="/nonexistent")
        self.assertEqual(run.returncode, 3)
        self.assertEqual(run.stderr, "weft report: /nonexistent: No such file or directory; this command is written in Python: "
                         "apt install python3, or set WEFT_PYTHON to an interpreter\n")

    def test_no_interpreter_of_a_script(self):
        weft = self.moved()
        script = os.path.join(self.dir, "usr", "bin", "weft-metrics")
        with open(script, "w") as file:
            file.write("#!/nonexistent/python3\n")
        os.chmod(script, 0o755)
        run = self.run_weft(weft, "metrics")
        self.assertEqual(run.returncode, 3)
        self.assertRegex(run.stderr, r"^weft metrics: .*/weft-metrics: its interpreter is not installed: apt install python3\n$")

    def test_no_package(self):
        run = self.run_weft(self.moved(), "sweep", "x.yaml", WEFT_PYTHON=f"{sys.executable}", PYTHONPATH="", PYTHONSAFEPATH="1")
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn("weft sweep: Python has no package weftlab: pip install apps/weftlab", run.stderr)

    def test_help_needs_no_packages(self):
        for command in ("sweep", "report", "reproduce", "balls"):
            run = self.run_weft(WEFT, command, "--help", PYTHONNOUSERSITE="1", WEFT_PYTHON=sys.executable)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertTrue(run.stdout.startswith(f"usage: weft {command} "), run.stdout)

    def test_missing_packages_are_named_with_what_to_install(self):
        code = ("import importlib.util as u, sys\nold = u.find_spec\n"
                "u.find_spec = lambda name, *more: None if name in ('pandas', 'yaml') else old(name, *more)\n"
                f"sys.path.insert(0, {WEFTLAB!r})\nfrom weftlab.__main__ import main\n"
                "sys.exit(main(['sweep', 'x.yaml'], prog='weft'))\n")
        run = subprocess.run((sys.executable, "-c", code), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                             env={**os.environ, "WEFT_PYTHON": sys.executable, "WEFT": WEFT})
        self.assertEqual(run.returncode, 3, run.stderr)
        for words in ("weft sweep: ", "has no ", "yaml", "pandas", "apt install ", "python3-yaml", "python3-pandas",
                      "pip install ", "PyYAML"):
            self.assertIn(words, run.stderr)

    def test_bench_lies_beside_the_command(self):
        weft = self.moved()
        run = self.run_weft(weft, "bench", "--help")
        self.assertEqual(run.returncode, 3)
        self.assertRegex(run.stderr, r"^weft bench: weft-bench: No such file or directory; it belongs beside weft or into /")
        os.makedirs(os.path.join(self.dir, "usr", "libexec", "weft"))
        shutil.copy(os.path.join(os.path.dirname(os.path.realpath(WEFT)), "weft-bench"),
                    os.path.join(self.dir, "usr", "libexec", "weft"))
        self.assertEqual(self.run_weft(weft, "bench", "--help").returncode, 0)


unittest.main(argv=sys.argv[:1])
