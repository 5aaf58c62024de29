# SPDX-License-Identifier: BSD-3-Clause
"""Help in the form that all commands of weft have; the manual page and the shell's completion read it."""
from __future__ import annotations

import argparse
from typing import Any, Callable, NoReturn, Sequence

from .errors import UsageError

LEFT = 28  # columns of an option and its value


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose --help looks like that of `weft sim`."""

    def format_help(self) -> str:
        positionals = [action for action in self._actions if not action.option_strings]
        words = [self.prog, *(_placeholder(action) for action in positionals), "[OPTION]..."]
        lines = [f"usage: {' '.join(words)}", *(self.description or "").splitlines(), ""]
        for action in positionals:
            if isinstance(action, argparse._SubParsersAction):
                lines += [f"  {choice.dest:<9} {choice.help}" for choice in action._choices_actions]
        for action in self._actions:
            if action.option_strings and action.help != argparse.SUPPRESS:
                lines.append(_line(action))
        return "\n".join(lines) + "\n"

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see --help)\n")


def new_command(commands: Any, name: str, perform: Callable[[argparse.Namespace, Sequence[str]], int],
                summary: str, description: str) -> argparse.ArgumentParser:
    """A command among `commands`: `summary` is its line in the list of commands, `description` the text above its
    options, and `perform` does it."""
    command: argparse.ArgumentParser = commands.add_parser(name, allow_abbrev=False, help=summary,
                                                           description=description)
    command.set_defaults(command=perform)
    return command


def nothing_more(rest: Sequence[str]) -> None:
    """UsageError when there are arguments left."""
    if rest:
        raise not_taken(rest[0], "--help")


def not_taken(word: str, described: str) -> UsageError:
    """What is wrong with an argument that nothing takes; `described`: the help that has those that are taken."""
    return UsageError(f"unknown option '{word}' (see {described})" if word[:1] == "-" and word != "-" else
                      f"unexpected argument '{word}'")


def _placeholder(action: argparse.Action) -> str:
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return {"+": f"{name}...", "?": f"[{name}]"}.get(str(action.nargs), name)


def _line(action: argparse.Action) -> str:
    name = next(text for text in action.option_strings if text.startswith("--"))
    value = f"{name} {_placeholder(action)}" if action.nargs != 0 else name
    text = "this text" if name == "--help" else (action.help or "").replace("%%", "%")
    return f"  {value:<{LEFT}} {text}"
