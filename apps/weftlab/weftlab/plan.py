# SPDX-License-Identifier: BSD-3-Clause
"""A scenario's runs with what makes a result theirs."""
from __future__ import annotations

import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Sequence

from .binary import Binary
from .errors import ScenarioError, WeftlabError
from .scenario import Item, Run, Scenario

NOWHERE = 1 << 30


@dataclass(frozen=True)
class Planned:
    """A run and its identity: 16 digits of the build, '-', 16 of the settings. Same text, same result."""

    run: Run
    identity: str

    @property
    def settings(self) -> str:
        """The part of the identity that is not the build's."""
        return self.identity.partition("-")[2]


def plan(scenario: Scenario, binary: Binary) -> list[Planned]:
    """All runs with their identities. ScenarioError when some combination of options is impossible, with the label of
    the first such run."""
    runs = scenario.runs()
    _check(scenario, runs, binary)
    return [Planned(run, f"{binary.digest}-{settings}") for run, settings in zip(runs, settings_of_all(runs))]


def settings_of_all(runs: Sequence[Run]) -> list[str]:
    """The part of their identities that is not the build's."""
    contents = _Contents()
    return [contents.settings_of(run) for run in runs]


def value_of(text: str) -> Any:
    """An option's value as JSON has it: a number when it is one."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    return text


class _Contents:
    """Digests of the files that options name, each read once."""

    def __init__(self) -> None:
        self.known: dict[str, bytes] = {}

    def settings_of(self, run: Run) -> str:
        """Digest of label, options in any order, and what stands in the files they name."""
        state = hashlib.sha256(run.label.encode())
        for item in sorted(run.items, key=lambda item: (item.name, item.value)):
            state.update(f"\0{item.name}\0{item.value}".encode())
            for part in item.value.split(":"):
                if os.path.isfile(part):
                    state.update(self._file(part))
        return state.hexdigest()[:16]

    def _file(self, path: str) -> bytes:
        if path not in self.known:
            with open(path, "rb") as file:
                self.known[path] = hashlib.sha256(file.read()).digest()
        return self.known[path]


def _check(scenario: Scenario, runs: Sequence[Run], binary: Binary) -> None:
    """Each combination by its first seed."""
    firsts = runs[::max(1, len(scenario.seeds))]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for run, reason in zip(firsts, pool.map(lambda run: binary.impossible(run.arguments), firsts)):
            if reason:
                pool.shutdown(cancel_futures=True)
                raise _refusal(scenario, run, reason)


def _refusal(scenario: Scenario, run: Run, reason: str) -> WeftlabError:
    """Says where the option stands that could not be used, and in which run."""
    item = _culprit(run, reason)
    reason = reason.removeprefix("--set: ")
    if item is None:
        return ScenarioError(scenario.path, None, "options", f"{reason} (in {run.label})")
    key = item.target if item.name == "set" else item.name
    where = f"{reason.removeprefix(f'{key}: ')} (in {run.label})"
    if not item.line:
        return WeftlabError(f"command line: {key}: {where}")
    return ScenarioError(scenario.path, item.line, key, where)


def _culprit(run: Run, reason: str) -> Item | None:
    """The option a complaint is about: the one whose name, parameter or value it mentions first."""
    found = [(_place(item, reason), -len(item.value), item) for item in run.items]
    place, _, item = min(found, key=lambda entry: entry[:2], default=(NOWHERE, 0, None))
    return item if place < NOWHERE else None


def _place(item: Item, reason: str) -> int:
    """Where a complaint mentions an option; NOWHERE: it does not. A name counts only before a colon or in quotes."""
    names = rf"(?:\A(?:--set: )?{re.escape(item.target)}: )|'{re.escape(item.target)}'"
    value = item.value.partition("=")[2] if item.name == "set" else item.value
    values = rf"(?<![\w.:]){re.escape(item.value)}(?![\w.])|'{re.escape(value)}'"
    mentioned = re.search(f"{names}|{values}", reason)
    return mentioned.start() if mentioned else NOWHERE
