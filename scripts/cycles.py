#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cycles.py BUILD_DIR [-v] - calls go one way: within a room and between rooms.

Reads the undefined and defined symbols of every product object file with nm. Fails if the graph of object files has a cycle,
or if a file uses a symbol of a room that its own room may not see. -v lists the symbols behind each edge of a cycle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict

# What each room may see beside itself and base; doc/reference/architecture.md has the same table. The rooms with one algorithm
# per file see only what is named here. The longest matching path is the room of a file.
PORTS = ["port/sim", "port/fault", "port/ethdev", "port/tss", "port/local"]
TRANSPORT = ["transport/engine", "transport/ses", "transport/pds"]
LAB = ["wire", "port/sim", "fabric", "workload"]
ROOMS: dict[str, list[str]] = {
    "base": [],
    "wire": [],
    "cc": [],
    "lb": [],
    "plugin": [],
    "transport/pds": ["wire"],
    "transport/ses": ["transport/pds", "wire"],
    "transport/engine": ["transport/pds", "transport/ses", "wire"],
    "port/sim": [],
    "port/fault": [],
    "port/ethdev": [],
    "port/tss": ["wire"],
    "port/local": ["wire"],
    "fabric": ["wire"],
    "workload": ["fabric/topo"],
    "lab": LAB,
    "results": [*LAB, "lab"],
    "provider": [],
    "apps": [*LAB, "lab", "results"],
}
# What include/weft declares: symbols that begin with weft_, of these rooms, for these rooms.
PUBLIC_PREFIX = "weft_"
PUBLIC_OF = [*TRANSPORT, "cc", "lb", "plugin", "port/fault", "port/ethdev", "port/tss", "port/local"]
PUBLIC_FOR = ["plugin", "lab", "results", "provider", "apps"]
# Rooms within rooms: in the order of their calls, the lowest first.
INNER: dict[str, list[str]] = {
    "fabric": ["topo", "route", "model"],
    "provider": ["core", "objects", "cm", "data", "coll"],
}

Graph = dict[str, dict[str, list[str]]]


def objects(build: str) -> dict[str, str]:
    """The object file of each product source, by the source's path in the tree."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        commands = json.load(f)
    with open(os.path.join(build, "meson-info", "meson-info.json"), encoding="utf-8") as f:
        root = json.load(f)["directories"]["source"]
    found: dict[str, str] = {}
    for command in commands:
        path = os.path.abspath(os.path.join(command["directory"], command["file"]))
        generated = path.startswith(command["directory"] + os.sep)
        source = os.path.relpath(path, command["directory"] if generated else root)
        output = os.path.join(command["directory"], command["output"])
        if source.endswith(".c") and not source.startswith(("tests/", "examples/")) and os.path.exists(output):
            found.setdefault(source, output)
    return found


def symbols(path: str) -> tuple[set[str], set[str]]:
    """The symbols an object file defines for others, and those it needs."""
    defined: set[str] = set()
    needed: set[str] = set()
    listing = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        *_, kind, name = line.split()
        if kind in "Uw":
            needed.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, needed


def graph_of(files: dict[str, str]) -> Graph:
    """Edges from each source to those whose symbols it uses, with these symbols."""
    tables = {source: symbols(path) for source, path in files.items()}
    owner = {name: source for source, (defined, _) in tables.items() for name in defined if name != "main"}
    graph: Graph = {source: defaultdict(list) for source in files}
    for source, (_, needed) in tables.items():
        for name in sorted(needed):
            if owner.get(name, source) != source:
                graph[source][owner[name]].append(name)
    return graph


def reachable(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    todo = list(graph[start])
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo.extend(graph[node])
    return seen


def cycles(graph: Graph) -> list[list[str]]:
    """The groups of files each of which reaches all others of its group."""
    reach = {node: reachable(graph, node) for node in graph}
    groups = {tuple(sorted(n for n in reach[node] if node in reach[n])) for node in graph if node in reach[node]}
    return [list(group) for group in sorted(groups)]


def room_of(source: str) -> str:
    matching = [room for room in ROOMS if source.startswith(room + "/")]
    return max(matching, key=len) if matching else ""


def may_see(source: str, other: str, names: list[str]) -> bool:
    """Whether a file may use these symbols that another file defines."""
    room = room_of(source)
    if room in PUBLIC_FOR and room_of(other) in PUBLIC_OF and all(name.startswith(PUBLIC_PREFIX) for name in names):
        return True
    if room == room_of(other):
        order = INNER.get(room, [])
        level = [order.index(path.split("/")[1]) if path.split("/")[1] in order else len(order) for path in (source, other)]
        return level[0] >= level[1]
    return any(other.startswith(seen + "/") for seen in ["base", *ROOMS[room]])


def trespasses(graph: Graph) -> list[str]:
    lost = [f"{source}: in no room" for source in graph if not room_of(source)]
    return lost + [
        f"{source} may not see {other}: {' '.join(names)}"
        for source in graph
        if room_of(source)
        for other, names in graph[source].items()
        if room_of(other) and not may_see(source, other, names)
    ]


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    graph = graph_of(objects(sys.argv[1]))
    found = cycles(graph)
    for group in found:
        print(f"cycle of {len(group)} files: {' '.join(group)}")
        for source in group if "-v" in sys.argv else []:
            for other in group:
                if graph[source].get(other):
                    print(f"    {source} -> {other}: {' '.join(graph[source][other])}")
    wrong = trespasses(graph)
    print("\n".join(wrong))
    print(f"{len(graph)} object files, {len(found)} cycles, {len(wrong)} calls against the order of the rooms")
    return 1 if found or wrong or not graph else 0


if __name__ == "__main__":
    sys.exit(main())
