#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""contributing.py [CONTRIBUTING.md] - follows the numbered steps of CONTRIBUTING.md in a copy of the tree, as a newcomer
would: it creates and edits the files as told, runs the commands and compares what they print. In the end the C files that
it touched are as clang-format writes them. The instructions are read from the page itself:

    Create `FILE`:                           and a block of code: the new file
    Append to `FILE`:                        and a block of code
    In `FILE`, insert after `TEXT`:          and a block of code, after the one line with TEXT
    In `FILE`, insert before `TEXT`:         the same before it
    In `FILE`, replace `OLD` by `NEW`        OLD stands there once
    a block ```sh                            commands, run in the root of the tree
    a block ```text                          lines that the commands before it print, in this order; ... is anything
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.M | re.S)
STEP = re.compile(r"Create `([^`]+)`:\s*$|Append to `([^`]+)`:\s*$|In `([^`]+)`,\s+insert (after|before)\s+`([^`]+)`:\s*$")
REPLACE = re.compile(r"In `([^`]+)`,\s+replace\s+`([^`]+)`\s+by\s+`([^`]+)`")


def copied(to):
    """The files of this tree, without what git ignores."""
    out = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if out.returncode:
        shutil.copytree(ROOT, to, ignore=shutil.ignore_patterns("build*", ".git"))
        return
    for name in out.stdout.split("\n"):
        if name and os.path.exists(os.path.join(ROOT, name)):
            os.makedirs(os.path.join(to, os.path.dirname(name)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), os.path.join(to, name))


def instructions(page):
    """(offset, kind, arguments) of all steps of the page, in order."""
    found, last = [], 0
    for block in FENCE.finditer(page):
        indent, language, text = block.groups()
        body = re.sub(rf"^{indent}", "", text, flags=re.M)
        before = page[last:block.start()]
        found += [(last + r.start(), "replace", r.groups()) for r in REPLACE.finditer(before)]
        step = STEP.search(before.rstrip() + "\n")
        if language in ("sh", "text"):
            found.append((block.start(), language, (body,)))
        elif step:
            create, append, file, where, anchor = step.groups()
            if create:
                found.append((block.start(), "create", (create, body)))
            elif append:
                found.append((block.start(), "append", (append, body)))
            else:
                found.append((block.start(), where, (file, anchor, body)))
        else:
            raise SystemExit(f"a block of code without an instruction:\n{body}")
        last = block.end()
    found += [(last + r.start(), "replace", r.groups()) for r in REPLACE.finditer(page[last:])]
    return found


class Tree:
    def __init__(self, root):
        self.root, self.said, self.touched = root, "", set()

    def read(self, file):
        with open(os.path.join(self.root, file), encoding="utf-8") as f:
            return f.read()

    def write(self, file, text):
        self.touched.add(file)
        with open(os.path.join(self.root, file), "w", encoding="utf-8") as f:
            f.write(text)

    def create(self, file, body):
        assert not os.path.exists(os.path.join(self.root, file)), f"{file} is there already"
        os.makedirs(os.path.dirname(os.path.join(self.root, file)), exist_ok=True)
        self.write(file, body)

    def append(self, file, body):
        self.write(file, self.read(file) + body)

    def insert(self, file, anchor, body, later):
        lines = self.read(file).splitlines(True)
        at = [i for i, line in enumerate(lines) if anchor in line]
        assert len(at) == 1, f"{file}: '{anchor}' is in {len(at)} lines"
        lines.insert(at[0] + later, body)
        self.write(file, "".join(lines))

    def after(self, file, anchor, body):
        self.insert(file, anchor, body, 1)

    def before(self, file, anchor, body):
        self.insert(file, anchor, body, 0)

    def replace(self, file, old, new):
        text = self.read(file)
        assert text.count(old) == 1, f"{file}: '{old}' stands there {text.count(old)} times"
        self.write(file, text.replace(old, new))

    def sh(self, commands):
        began = time.monotonic()
        ran = subprocess.run(["bash", "-ec", commands], cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True)
        self.said = ran.stdout
        print(f"{commands.strip()}   # {time.monotonic() - began:.1f} s", flush=True)
        assert ran.returncode == 0, f"exit code {ran.returncode}:\n{ran.stdout[-4000:]}"

    def text(self, expected):
        rest = re.sub(r"[ \t]+", " ", self.said)
        for line in expected.strip().split("\n"):
            words = re.sub(r"[ \t]+", " ", line.strip())
            pattern = r"[^\n]*".join(re.escape(part.strip()) for part in words.split("..."))
            found = re.search(pattern, rest)
            assert found, f"not printed: {line.strip()}\nbut:\n{self.said[-4000:]}"
            rest = rest[found.end():]

    def check_format(self):
        sources = sorted(f for f in self.touched if f.endswith((".c", ".h")))
        ran = subprocess.run(["clang-format", "--dry-run", "--Werror", *sources], cwd=self.root, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr


def main(page):
    began = time.monotonic()
    with open(page, encoding="utf-8") as f:
        text = f.read()
    done = {}
    with tempfile.TemporaryDirectory(prefix="weft-contributing-") as work:
        tree = Tree(os.path.join(work, "weft"))
        copied(tree.root)
        # The checks ask git for the files.
        subprocess.run(["git", "init", "-q", tree.root], check=True)
        for offset, kind, args in instructions(text):
            try:
                getattr(tree, kind)(*args)
            except (AssertionError, OSError) as e:
                print(f"{page}:{text.count(chr(10), 0, offset) + 1}: {kind}: {e}")
                return 1
            done[kind] = done.get(kind, 0) + 1
        try:
            tree.check_format()
        except AssertionError as e:
            print(f"{page}: the code is not as clang-format writes it:\n{e}")
            return 1
    print(f"{done} in {time.monotonic() - began:.0f} s")
    return 0 if done.get("create", 0) >= 3 and done.get("sh", 0) >= 5 else 1


sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "CONTRIBUTING.md")))
