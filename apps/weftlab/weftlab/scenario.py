# SPDX-License-Identifier: BSD-3-Clause
"""Scenario files: options of `weft sim`, named alternatives (cases), axes to sweep, and seeds; and the runs that they
stand for. doc/guide/scenarios.md has the format."""
from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from typing import Mapping, Sequence

from .binary import Binary
from .document import Node

LABEL_BYTES_MAX = 159  # of a label in UTF-8
AXES_MAX = 16
SEEDS_MAX = 10000
RUNS_MAX = 20000  # cases x axis values x seeds

NUMBER = re.compile(r"\s*\+?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)\Z")
DIGITS_MAX = 23  # of a number below 2^64, which are octal ones
U64_MAX = 2**64 - 1

NOT_OF_A_RUN = ("out", "json", "help", "help-params", "jobs", "fresh", "any-build", "config", "dry-run",
                "metrics")


@dataclass(frozen=True)
class Item:
    """One option as a scenario gives it."""

    name: str  # without dashes; a parameter is option "set" with KEY=VALUE
    value: str  # as on the command line
    line: int  # in the file; 0: given by the caller

    @property
    def target(self) -> str:
        """What is set. Of two items with the same target the later counts, unless the option is repeatable."""
        name = self.value.partition("=")[0] if self.name == "set" else self.name
        return "payload_bytes" if name == "mtu" else name

    @property
    def argument(self) -> str:
        """The item on a command line."""
        return f"--{self.name}={self.value}"


@dataclass(frozen=True)
class Case:
    """A named alternative."""

    name: str  # empty: the scenario has no cases
    items: tuple[Item, ...]
    line: int


@dataclass(frozen=True)
class Axis:
    """One axis of the sweep."""

    name: str  # in labels and results: the option's name or the parameter's key
    is_parameter: bool  # set by option "set"
    values: tuple[str, ...]  # as on the command line, at least one
    line: int

    @property
    def target(self) -> str:
        """As Item.target."""
        return "payload_bytes" if self.name == "mtu" else self.name

    def item(self, value: str) -> Item:
        """The option that gives a run this value."""
        if self.is_parameter:
            return Item("set", f"{self.name}={value}", self.line)
        return Item(self.name, value, self.line)


@dataclass(frozen=True)
class Run:
    """One of a scenario's runs."""

    id: int  # counts from 0; also the name of its directory
    label: str  # case and axis values in a few words, without the seed
    case: str  # empty: the scenario has no cases
    values: Mapping[str, str]  # of the axes, as on the command line
    seed: int
    items: tuple[Item, ...]  # its options, each once; paths are as they are found from here

    @property
    def arguments(self) -> list[str]:
        """What stands behind `weft sim` for this run alone."""
        return [item.argument for item in self.items]


@dataclass(frozen=True)
class Scenario:
    """A scenario file as it was read."""

    path: str
    title: str  # the file's name without its ending when the file gives none
    about: str
    out: str  # directory of the results
    base: tuple[Item, ...]  # options of every run
    cases: tuple[Case, ...]  # at least one; without a name when the file has none
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]  # empty: what option `seed` says
    paths: frozenset[str]  # options whose values may name files
    repeatable: frozenset[str]  # options that add up, as faults do
    overrides: tuple[Item, ...] = ()  # given by the caller; they win over everything
    claims: tuple[Node, ...] = field(default=(), repr=False)  # entries of `claims`, which claim_reader.py reads
    bench: Node | None = field(default=None, repr=False)  # key `bench`, which claim_reader.py reads, too
    figure: Node | None = field(default=None, repr=False)  # what published.py reads
    weft: Binary | None = field(default=None, repr=False, compare=False)  # by which it was checked

    def override(self, given: Sequence[tuple[str, str]]) -> "Scenario":
        """The same with options (name, value) that win in every run: a seed replaces the seeds, an option that is an
        axis replaces its values. Options that add up do so here, too, behind the first."""
        scenario = self
        before: set[str] = set()
        for name, value in given:
            item = Item(name, value, 0)
            scenario = scenario._override(item, adds_up=name in self.repeatable and item.target in before)
            before.add(item.target)
        return scenario

    def _override(self, item: Item, adds_up: bool) -> "Scenario":
        if not adds_up and any(axis.target == item.target for axis in self.axes):
            value = item.value.partition("=")[2] if item.name == "set" else item.value
            axes = [replace(a, values=(value,)) if a.target == item.target else a for a in self.axes]
            return replace(self, axes=tuple(axes))
        seeds = () if item.name == "seed" else self.seeds
        return replace(self, seeds=seeds, overrides=(*self.overrides, item))

    def run_count(self) -> int:
        """How many runs there are: every case with every combination of values and every seed."""
        count = len(self.cases) * max(1, len(self.seeds))
        for axis in self.axes:
            count *= len(axis.values)
        return count

    def runs(self) -> list[Run]:
        """All runs: cases change slowest, then the axes in order, seeds fastest."""
        return [self._run(i) for i in range(self.run_count())]

    def _run(self, index: int) -> Run:
        rest, seed_index = divmod(index, max(1, len(self.seeds)))
        chosen: list[str] = []
        for axis in reversed(self.axes):
            rest, at = divmod(rest, len(axis.values))
            chosen.insert(0, axis.values[at])
        case = self.cases[rest]
        items = self._combine(case, chosen, seed_index)
        seed = next((whole_number(item.value) for item in items if item.name == "seed"), 1) or 0
        values = {axis.name: value for axis, value in zip(self.axes, chosen)}
        return Run(index, self._label(case, chosen), case.name, values, seed,
                   tuple(self.located(item) for item in items))

    def _combine(self, case: Case, chosen: Sequence[str], seed_index: int) -> list[Item]:
        """Options of one run. What is said nearer to the run wins and takes the later place."""
        said = [*self.base, *case.items, *(axis.item(value) for axis, value in zip(self.axes, chosen)), *self.overrides]
        if self.seeds:
            said.append(Item("seed", str(self.seeds[seed_index]), 0))
        items: list[Item] = []
        for item in said:
            items = [old for old in items if old.target != item.target or item.name in self.repeatable]
            items.append(item)
        return items

    def _label(self, case: Case, chosen: Sequence[str]) -> str:
        words = [case.name] if case.name else []
        words += [f"{axis.name}={value}" for axis, value in zip(self.axes, chosen)]
        return shorten(words or [self.title])

    def located(self, item: Item) -> Item:
        """The item with the paths of files that are only found beside the scenario as they are from here."""
        return located(item, self.path) if item.line and item.name in self.paths else item


def located(item: Item, scenario: str) -> Item:
    """The item with the paths of files that are only found beside the scenario file as they are from here."""
    return replace(item, value=":".join(_located_part(part, scenario) for part in item.value.split(":")))


def _located_part(part: str, scenario: str) -> str:
    beside = os.path.join(os.path.dirname(scenario), part)
    is_path = not part.startswith("/") and ("." in part or "/" in part)
    return beside if is_path and not os.path.exists(part) and os.path.exists(beside) else part


def shorten(words: Sequence[str]) -> str:
    """Words with spaces between them in at most LABEL_BYTES_MAX bytes, cut between characters."""
    text = b""
    for word in words:
        used = len(text)
        text += (b" " if text else b"") + word.encode()
        if len(text) > LABEL_BYTES_MAX:
            end = LABEL_BYTES_MAX
            while end > used and text[end - 1] & 0xC0 == 0x80:
                end -= 1
            text = text[:end - 1] if end > used and text[end - 1] >= 0xC0 else text[:end]
    return text.decode()


def whole_number(text: str) -> int | None:
    """A number as the command line takes it: decimal, 0x hexadecimal or 0 octal, below 2^64. None: it is none."""
    digits = text.strip().lstrip("+")
    if not NUMBER.match(text) or len(digits) > DIGITS_MAX:
        return None
    octal = digits.startswith("0") and digits[1:].isdigit()
    value = int(digits, 8) if octal else int(digits, 0)
    return value if value <= U64_MAX else None
