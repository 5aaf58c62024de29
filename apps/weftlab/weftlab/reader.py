# SPDX-License-Identifier: BSD-3-Clause
"""From a YAML file to a Scenario. Everything is checked here that can be without putting a run together."""
from __future__ import annotations

import os
from dataclasses import dataclass, field

import yaml

from .binary import Binary, find
from .document import Document, Node, line_of
from .errors import ScenarioError
from .plan import value_of
from .scenario import AXES_MAX, LABEL_BYTES_MAX, NOT_OF_A_RUN, RUNS_MAX, SEEDS_MAX
from .scenario import Axis, Case, Item, Scenario, located, whole_number


def load(path: str | os.PathLike[str], binary: Binary | None = None) -> Scenario:
    """Reads and checks a scenario file: names, kinds, and each value as far as it can be judged alone. ScenarioError
    says file, line and key."""
    document = Document(os.fspath(path))
    if document.root is None:
        raise ScenarioError(document.path, None, None, "empty; a scenario says at least one option")
    return _Reader(document, binary or find()).read()


@dataclass
class _Reader:
    """What has been read so far."""

    doc: Document
    binary: Binary
    title: str = ""
    about: str = ""
    out: str = ""
    base: list[Item] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    axes: list[Axis] = field(default_factory=list)
    seeds: tuple[int, ...] = ()
    seeds_at: Node | None = None  # key `seeds`
    seed_at: Node | None = None  # option `seed` of the whole file
    claims: list[Node] = field(default_factory=list)
    figure: Node | None = None
    bench: Node | None = None
    said: list[tuple[Item, Node]] = field(default_factory=list)  # every option and axis value, in the file's order

    def read(self) -> Scenario:
        assert self.doc.root is not None
        for name, node in self.doc.pairs(self.doc.root, None):
            self._pair(name, node)
        self._check_values()
        self._check_seeds()
        stem = os.path.splitext(os.path.basename(self.doc.path))[0]
        scenario = Scenario(path=self.doc.path, title=self.title or stem, about=self.about,
                            out=self.out or os.path.join("weft-out", stem), base=tuple(self.base),
                            cases=tuple(self.cases) or (Case("", (), 0),), axes=tuple(self.axes), seeds=self.seeds,
                            paths=self._paths(), repeatable=self.binary.repeatable, claims=tuple(self.claims),
                            figure=self.figure, bench=self.bench, weft=self.binary)
        if scenario.run_count() > RUNS_MAX:
            raise ScenarioError(self.doc.path, None, None, f"more than {RUNS_MAX} runs")
        return scenario

    def _pair(self, name: str, node: Node) -> None:
        if name in ("title", "about"):
            setattr(self, name, self.doc.scalar(node, name))
        elif name == "cases":
            self._cases(node)
        elif name == "sweep":
            for axis, values in self.doc.pairs(node, name):
                self._axis(axis, values)
        elif name == "seeds":
            self._seeds(node)
        elif name == "outputs":
            for key, value in self.doc.pairs(node, name):
                self._output(key, value)
        elif name == "claims":
            self._claims(node)
        elif name == "figure":
            self.figure = node
        elif name == "bench":
            if not isinstance(node, yaml.MappingNode):
                self.doc.refuse(node, name, "a mapping is expected here")
            self.bench = node
        else:
            self._options(self.base, name, node)
            self.seed_at = node if name == "seed" else self.seed_at

    def _options(self, items: list[Item], name: str, node: Node) -> None:
        """An option, the mapping `set` of parameters, the list `faults`, or a list of an option that adds up."""
        if name == "set":
            for key, value in self.doc.pairs(node, name):
                items.append(self._item("set", f"{key}={self.doc.scalar(value, key)}", value))
        elif name == "faults" or (name in self.binary.repeatable and isinstance(node, yaml.SequenceNode)):
            option = "fault" if name == "faults" else name
            for value in self.doc.items(node, name):
                items.append(self._item(option, self.doc.scalar(value, name), value))
        else:
            items.append(self._item(name, self.doc.scalar(node, name), node))

    def _item(self, name: str, value: str, at: Node) -> Item:
        if name in NOT_OF_A_RUN and name in self.binary.options:
            self.doc.refuse(at, name, "is for the command line only")
        if name not in self.binary.options:
            self.doc.refuse(at, name, "unknown key")
        item = Item(name, value, line_of(at))
        self.said.append((item, at))
        return item

    def _cases(self, node: Node) -> None:
        for entry in self.doc.items(node, "cases"):
            name = ""
            items: list[Item] = []
            for key, value in self.doc.pairs(entry, "cases"):
                if key == "name":
                    name = self.doc.scalar(value, key)
                else:
                    self._options(items, key, value)
            if not name:
                self.doc.refuse(entry, "cases", "a case needs a name")
            twin = next((case for case in self.cases if case.name == name), None)
            if twin:
                self.doc.refuse(entry, "cases", f"two are named '{name}', first in line {twin.line}")
            self.cases.append(Case(name, tuple(items), line_of(entry)))
        if not self.cases:
            self.doc.refuse(node, "cases", "there must be at least one, or leave the key out")

    def _axis(self, name: str, node: Node) -> None:
        if len(self.axes) == AXES_MAX:
            self.doc.refuse(node, name, f"more than {AXES_MAX} axes")
        is_parameter = name.startswith("set.")
        if not is_parameter and name not in self.binary.options:
            self.doc.refuse(node, name, f"is no option of weft sim (set.{name} if it is a parameter)")
        short = name[len("set."):] if is_parameter else name
        values: list[str] = []
        for entry in self.doc.items(node, name):
            text = self.doc.scalar(entry, short)
            if len(text.encode()) > LABEL_BYTES_MAX:
                self.doc.refuse(entry, short, "a value this long can be no axis")
            self._item("set" if is_parameter else name, f"{short}={text}" if is_parameter else text, entry)
            twin = next((value for value in values if value_of(value) == value_of(text)), None)
            if twin is not None:
                as_before = "" if twin == text else f", as '{twin}'"
                self.doc.refuse(entry, short, f"'{text}' is there twice{as_before}")
            values.append(text)
        if not values:
            self.doc.refuse(node, name, "an axis needs a value")
        self.axes.append(Axis(short, is_parameter, tuple(values), line_of(node)))

    def _seeds(self, node: Node) -> None:
        self.seeds_at = node
        if not isinstance(node, yaml.SequenceNode):
            self.seeds = self._count_seeds(node)
            return
        seeds: list[int] = []
        for entry in self.doc.items(node, "seeds"):
            text = self.doc.scalar(entry, "seeds")
            seed = whole_number(text)
            if seed is None:
                self.doc.refuse(entry, "seeds", f"'{text}' is not a number")
            if seed in seeds:
                self.doc.refuse(entry, "seeds", f"{text} is there twice")
            if len(seeds) == SEEDS_MAX:
                self.doc.refuse(entry, "seeds", f"more than {SEEDS_MAX}")
            seeds.append(seed)
        if not seeds:
            self.doc.refuse(node, "seeds", "an empty list")
        self.seeds = tuple(seeds)

    def _count_seeds(self, node: Node) -> tuple[int, ...]:
        """A number N stands for the seeds 1 to N."""
        text = self.doc.scalar(node, "seeds")
        count = whole_number(text)
        if count is None or not 1 <= count <= SEEDS_MAX:
            self.doc.refuse(node, "seeds", f"'{text}' is neither a list nor a number from 1 to {SEEDS_MAX}")
        return tuple(range(1, count + 1))

    def _output(self, name: str, node: Node) -> None:
        if name == "dir":
            self.out = self.doc.scalar(node, name)
        elif name == "series":
            self._options(self.base, name, node)
        else:
            self.doc.refuse(node, name, "unknown key; outputs has dir and series")

    def _claims(self, node: Node) -> None:
        for entry in self.doc.items(node, "claims"):
            if not isinstance(entry, yaml.MappingNode):
                self.doc.refuse(entry, "claims", "a mapping is expected here")
            self.claims.append(entry)

    def _check_values(self) -> None:
        """Lets `weft sim` judge every value: all of them at once, and one by one only to find the first wrong one."""
        paths = self._paths()
        said = [(located(item, self.doc.path) if item.name in paths else item, at) for item, at in self.said]
        if self.binary.refusal([item.argument for item, _ in said]) is None:
            return
        for item, at in said:
            reason = self.binary.refusal([item.argument])
            if reason:
                self.doc.refuse(at, None, reason)

    def _paths(self) -> frozenset[str]:
        """Options whose values may name files that a run reads."""
        return frozenset(name for name, placeholder in self.binary.options.items()
                         if name == "plugin" or placeholder.startswith("FILE|"))

    def _check_seeds(self) -> None:
        """Two ways to say the same would leave one without effect."""
        if self.seeds_at is None:
            return
        if self.seed_at is not None:
            self.doc.refuse(self.seed_at, "seed", "there is a key seeds, too")
        if any(axis.name == "seed" for axis in self.axes):
            self.doc.refuse(self.seeds_at, "seeds", "seed is an axis, too")
