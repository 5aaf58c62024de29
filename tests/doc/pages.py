#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pages.py WEFT - what README.md, CONTRIBUTING.md and the pages in doc/ name exists: the target of every relative link,
every path of this tree in backticks, every function before the path of its file, every option and every --set key of the
commands they show, whichever of those that `weft --help` lists, and every page of doc/ that a source file names. The page of
algorithms describes all of them."""
import os
import re
import subprocess
import sys

from links import links

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
CODE = re.compile(r"```.*?```|`[^`\n]+(?:\n[^`\n]+)?`", re.S)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
KEY = re.compile(r"--set '?([a-z][a-z0-9_.-]*)=")
# Options of other programs, alone in backticks.
OTHERS = {"--in-memory": "EAL", "--no-shconf": "EAL", "--build-arg": "podman", "--no-install-recommends": "apt-get",
          "--allow-run-as-root": "mpirun", "--no-telemetry": "EAL", "--buildtype": "meson"}
ALGORITHMS = "doc/reference/algorithms.md"
PAGE = re.compile(r"\bdoc/[\w./-]*\.(?:md|lua|7|1|png)\b")


def tracked():
    out = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if out.returncode == 0:
        return {name for name in out.stdout.split() if os.path.exists(os.path.join(ROOT, name))}
    return {os.path.relpath(os.path.join(d, f), ROOT) for d, _, files in os.walk(ROOT) for f in files}


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as f:
        return f.read()


def paths(text, files):
    """Words of code that start with a folder of this tree: files, folders, tests, or files that the page tells to make."""
    tops = {f.split("/")[0] for f in files if "/" in f} - {"out"}
    dirs = {os.path.dirname(f) for f in files}
    files = files | set(re.findall(r"Create `([^`]+)`", text))
    dirs |= {"/".join(d.split("/")[:i]) for d in dirs for i in range(1, d.count("/") + 1)}
    tests = {t for f in files if f.endswith("meson.build") for t in re.findall(r"test\('([\w/]+)'", read(f))}
    text = re.sub(r"^.*meson test .*$", "", text, flags=re.M)
    blocks = [line for line in text.split("\n") if line.startswith("    ")]
    for span in CODE.findall(text) + blocks:
        for word in re.findall(r"(?<![\w./$%~-])[\w.-]+/[\w./{},*-]*", span):
            word = word.rstrip(".,:")
            if word.split("/")[0] not in tops or re.search(r"[*{]|[A-Z]{3}|_?NAME", word):
                continue
            if word not in files and word not in tests and word.rstrip("/") not in dirs:
                yield f"`{word}`: no such file"


def functions(text, files):
    """In blocks of code, a function before the path of a source file stands in that file."""
    for name, file in re.findall(r"^    [ ]*(\w+)(?:\(.*?\))? +([\w/]+\.c)\b", text, re.M):
        if file in files and not re.search(rf"\b{name}\(", read(file)):
            yield f"{file}: no {name}() there"


def joined(text):
    """The lines of a page, with continued lines of commands in one piece."""
    return re.sub(r" *\\\n\s*", " ", text).split("\n")


def commands(text, known):
    """(subcommand, the rest) of every command in backticks or in a block of code."""
    command = re.compile(rf"(?:^|[\s/])weft ({'|'.join(sorted(known))})\b(.*)")
    spans = [s.strip("`").replace("\n", " ") for s in CODE.findall(text) if not s.startswith("```")]
    in_block = False
    for line in joined(text):
        in_block ^= line.startswith("```")
        if in_block or line.startswith("    "):
            spans.append(line)
    for span in spans:
        for part in re.split(r"[;&|]+(?= |$)", span):
            found = command.search(part)
            if found:
                yield found.group(1), found.group(2)


def help_of(weft):
    subs = re.findall(r"^  (\w+) +\S", subprocess.run([weft, "--help"], capture_output=True, text=True).stdout, re.M)
    said = {s: subprocess.run([weft, s, "--help"], capture_output=True, text=True).stdout for s in subs}
    known = {s: set(re.findall(r"--[a-z][a-z-]*", text)) for s, text in said.items()}
    known["sweep"] |= known["sim"]  # they win over the file's
    return known


def keys_of(weft):
    said = subprocess.run([weft, "sim", "--help-params"], capture_output=True, text=True).stdout
    return set(re.findall(r"^\| `([^`]+)` \|", said, re.M))


def options(text, known, keys):
    for sub, rest in commands(text, known):
        rest = rest.split(" #")[0]
        for option in OPTION.findall(rest):
            if option not in known.get(sub, ()):
                yield f"weft {sub} {option}: no such option"
    for span in CODE.findall(text):
        alone = re.match(r"`(--[a-z][a-z-]*)[ `]", span)
        if alone and alone.group(1) not in OTHERS and not any(alone.group(1) in of for of in known.values()):
            yield f"`{alone.group(1)}`: no option of any command"
        for key in KEY.findall(span):
            if key not in keys | {"key"}:
                yield f"--set {key}: no such parameter"


def algorithms(weft, page):
    """Algorithms that the command lists have a section of the page, or a row of a table in it."""
    said = subprocess.run([weft, "sim", "--help"], capture_output=True, text=True).stdout
    listed = re.findall(r"^(?:congestion control|receiver-driven|load balancing)[^\n]*:\n((?:  .*\n)+)", said, re.M)
    names = {name for part in listed for name in re.findall(r"^  (\S+)", part, re.M)} - {"auto"}  # it chooses among the others
    assert len(listed) == 3 and len(names) > 15, "the command lists too few algorithms"
    heads = set(re.findall(r"[\w-]+", " ".join(re.findall(r"^## (.*)$", page, re.M))))
    rows = set(re.findall(r"^\| `([\w-]+)` \|", page, re.M))
    for name in sorted(names - heads - rows):
        yield f"no section or row of `{name}`"


def sources(files):
    """Pages that comments, messages and scripts name."""
    for name in sorted(files):
        if name.endswith((".png", ".pcap", ".bin")) or name == "tests/doc/pages.py":
            continue
        for page in set(PAGE.findall(read(name))):
            if page not in files:
                yield f"{name}: {page}: no such page"


def main(weft):
    files = tracked()
    known, keys = help_of(weft), keys_of(weft)
    assert len(known) > 12 and all(known.values()) and len(keys) > 100, f"the command says too little about itself: {known}"
    pages = sorted(f for f in files if f.endswith(".md") and (f.startswith("doc/") or "/" not in f))
    assert "README.md" in pages
    bad = [f"{p}: {what}" for p in pages for text in [read(p)]
           for check in (links(ROOT, p, text), paths(text, files), functions(text, files), options(text, known, keys))
           for what in check]
    bad += [f"{ALGORITHMS}: {what}" for what in algorithms(weft, read(ALGORITHMS))]
    bad += sources(files)
    print("\n".join(bad) or f"{len(pages)} pages name only what exists")
    return 1 if bad else 0


sys.exit(main(sys.argv[1]))
