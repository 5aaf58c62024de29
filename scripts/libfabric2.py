#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""libfabric2.py BUILD: compiles the provider, its tests and `weft bench` against the headers of libfabric 2.x, syntax and types
only. Debian 12 has 1.17; the headers come from Debian 13's package, once, into the user's cache."""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

SUITE = "trixie"
PACKAGE = "libfabric-dev"
ROOMS = ("provider/", "apps/bench/", "tests/provider/")
# What 2.x deprecates is tested still, for applications of 1.x.
WARNED = "tests/"


def cache() -> pathlib.Path:
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home) / "weft" / "libfabric2"


def run(command: list[str], cwd: pathlib.Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"libfabric 2.x headers: {shlex.join(command)}: {(done.stderr or done.stdout).strip()}")


def sources() -> str:
    """This machine's sources of Debian, for the other suite: no other host is asked."""
    found = [pathlib.Path("/etc/apt/sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("debian.sources"))]
    texts = [path.read_text().replace("bookworm", SUITE) for path in found if path.is_file()]
    if not texts:
        raise SystemExit("libfabric 2.x headers: neither /etc/apt/sources.list nor sources.list.d/debian.sources is there")
    return "\n".join(texts)


def download(folder: pathlib.Path) -> None:
    """Debian 13's package, unpacked in `folder`. apt keeps its lists in a place of their own, so the system's stay."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        work = pathlib.Path(name)
        for part in ("parts", "lists/partial", "cache/archives/partial"):
            (work / part).mkdir(parents=True)
        text = sources()
        (work / "parts" / ("s.sources" if "Types:" in text else "s.list")).write_text(text)
        apt = ["apt-get", "-q", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={work}/parts",
               "-o", f"Dir::State::lists={work}/lists", "-o", f"Dir::Cache={work}/cache", "-o", "APT::Sandbox::User="]
        run([*apt, "update"], work)
        run([*apt, "download", PACKAGE], work)
        (package,) = work.glob("*.deb")
        run(["dpkg-deb", "-x", str(package), "unpacked"], work)
        (work / "unpacked/usr/include").rename(folder)


def compiles(entry: dict[str, str], headers: pathlib.Path) -> bool:
    words = shlex.split(entry["command"])
    if words[0].endswith("ccache"):
        words = words[1:]
    out = words.index("-o")
    words = [words[0], "-isystem", str(headers), "-fsyntax-only", *words[1:out], *words[out + 2:]]
    if WARNED in entry["file"]:
        words.append("-w")
    return subprocess.run(words, cwd=entry["directory"], check=False).returncode == 0


def main() -> int:
    headers = cache()
    if not (headers / "rdma/fabric.h").is_file():
        download(headers)
    entries = json.loads((pathlib.Path(sys.argv[1]) / "compile_commands.json").read_text())
    chosen = [e for e in entries if e["file"].removeprefix("../").startswith(ROOMS)]
    bad = [e["file"] for e in chosen if not compiles(e, headers)]
    print(f"{len(chosen)} files, {len(bad)} do not compile with libfabric 2.x")
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
