"""Class LazyGroup: a group whose commands are imported when they are called."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tasksim.cli.command import Group

if TYPE_CHECKING:
    from collections.abc import Mapping

    import click

__all__ = ["LazyGroup"]


class LazyGroup(Group):
    """The commands of *parts*: name -> where the command is, ``MODULE:NAME``, and what it does."""

    def __init__(self, *args: Any, parts: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parts = parts

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands, in the order of their use."""
        return list(self.parts)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return a command."""
        if cmd_name not in self.parts:
            return None
        module, _, attribute = self.parts[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(module), attribute)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.parts.items()])
