# SPDX-License-Identifier: BSD-3-Clause
"""YAML with places: values stay the text that the file has, and every complaint names file, line and key."""
from __future__ import annotations

from typing import Iterator, NoReturn, TypeAlias

import yaml

from .errors import ScenarioError

Node: TypeAlias = yaml.Node
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one is ten times as fast

DEPTH_MAX = 100  # of lists and mappings in each other


class Document:
    """One file with one YAML document."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise ScenarioError(path, None, None, error.strerror or str(error)) from error
        except UnicodeDecodeError as error:
            raise ScenarioError(path, None, None, f"not UTF-8: {error.reason}") from error
        self.root: Node | None = self._only_document(text)

    def _only_document(self, text: str) -> Node | None:
        try:
            self._check_depth(text)
            documents: list[Node] = list(yaml.compose_all(text, LOADER))
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else None
            raise ScenarioError(self.path, line, None, error.problem or "not YAML") from error
        except yaml.YAMLError as error:
            raise ScenarioError(self.path, None, None, str(error)) from error
        if len(documents) > 1:
            self.refuse(documents[1], None, "a second document")
        return documents[0] if documents else None

    def _check_depth(self, text: str) -> None:
        """The composer calls itself for each level, and ends the process when there are too many."""
        depth = 0
        for event in yaml.parse(text, LOADER):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH_MAX:
                raise ScenarioError(self.path, event.start_mark.line + 1, None, f"more than {DEPTH_MAX} levels")

    def refuse(self, at: Node, key: str | None, reason: str) -> NoReturn:
        """Raises what is wrong with the value at this place."""
        raise ScenarioError(self.path, line_of(at), key, reason)

    def scalar(self, node: Node, key: str | None) -> str:
        """The text of a single value, as it stands in the file."""
        if not isinstance(node, yaml.ScalarNode):
            self.refuse(node, key, "a single value is expected here")
        text = str(node.value)
        if "\0" in text:
            self.refuse(node, key, "a zero byte")
        return text

    def pairs(self, node: Node, key: str | None) -> Iterator[tuple[str, Node]]:
        """Names and values of a mapping, in the file's order."""
        if not isinstance(node, yaml.MappingNode):
            self.refuse(node, key, "a mapping of names to values is expected here")
        seen: dict[str, int] = {}
        for left, value in node.value:
            if not isinstance(left, yaml.ScalarNode):
                self.refuse(left, key, "a name is expected here")
            name = self.scalar(left, key)
            if name in seen:
                self.refuse(left, name, f"given twice, first in line {seen[name]}")
            seen[name] = line_of(left)
            yield name, value

    def items(self, node: Node, key: str) -> list[Node]:
        """The entries of a list."""
        if not isinstance(node, yaml.SequenceNode):
            self.refuse(node, key, "a list is expected here")
        return list(node.value)


def line_of(node: Node) -> int:
    """Line of a node, counting from 1."""
    return int(node.start_mark.line) + 1
