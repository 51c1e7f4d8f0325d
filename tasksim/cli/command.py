"""Commands and groups of commands, with examples first in their help and exit codes last.

A lazy group imports a command when it is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import nearest, on_command_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Command", "Group", "LazyGroup", "command"]

EXIT_CODES = """\
Exit codes: 0 ok, 1 failed, 2 usage or invalid file, 3 a check failed, 130 interrupted."""

DEBUG_HELP = "Show the traceback of an error."
LOG_HELP = (
    "Log files read, decisions and files written, with times: on stderr from LEVEL on (debug, info,"
    " warning), or all of them to the end of FILE."
)

_WORDS_KEY = "tasksim.cli.command.words"
"""Key of the context's ``meta`` with the words of the command line, for the log."""

CONTEXT_SETTINGS: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
    "show_default": True,
}


MANY_OPTIONS = 24
"""Number of options from which on a command's help has sections."""
OPTION_SECTIONS = {
    "Several nodes": ("network", "nodes", "grid", "owner"),
    "How sure": (
        "uncertainty", "replications", "until", "level", "now", "against", "plot",
    ),
    "Recorded runs": ("from_run", "trust"),
    "Results": ("output", "gantt", "force", "as_json"),
    "Checks": ("check", "decisions", "engine", "log", "debug", "help", "_click_default_help"),
}  # fmt: skip
"""Title -> names of the parameters of a section, after the other options. The option for help is
named ``help``, or ``_click_default_help`` from click 8.5 on."""

WORKERS_OF = {"ncpu": "cpu", "ncpus": "cpu", "ncuda": "cuda", "ngpus": "cuda", "gpus": "cuda"}
"""Architectures by the options of other programs for the number of their workers."""


class Command(click.Command):
    """A command whose help starts with examples.

    *renamed* maps earlier names of its options to the present one, the version that renamed it,
    and the version that removes the earlier name: ``{"--cores": ("--workers", "0.2", "0.4")}``.
    """

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = (),
        renamed: Mapping[str, tuple[str, str, str]] | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("context_settings", CONTEXT_SETTINGS)
        kwargs.setdefault("epilog", EXIT_CODES)
        super().__init__(*args, **kwargs)
        self.examples = list(examples)
        self.renamed = renamed or {}
        for param in self.params:
            # Click encloses a default that is a text in parentheses: [default: (5%)].
            if isinstance(param, click.Option) and isinstance(param.show_default, str):
                param.help = f"{param.help} [default: {param.show_default}]"
                param.show_default = False
        self.params.append(click.Option(["--log"], metavar="LEVEL|FILE", help=LOG_HELP))
        # tasksim.cli.main looks for it among the arguments.
        self.params.append(
            click.Option(["--debug"], is_flag=True, expose_value=False, help=DEBUG_HELP)
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse *args*, with the present names of options in the place of earlier ones."""
        ctx.meta[_WORDS_KEY] = tuple(args)
        for place, word in enumerate(args):
            if word == "--":
                break
            name, equals, value = word.partition("=")
            if name in self.renamed:
                from tasksim.base.deprecation import warn_deprecated

                new, since, until = self.renamed[name]
                warn_deprecated(name, new, since=since, until=until)
                args[place] = f"{new}{equals}{value}"
        given = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise self._explained(error, given) from None
        self._refuse_bare_options(ctx)
        return rest

    def _refuse_bare_options(self, ctx: click.Context) -> None:
        """Refuse options that are written like settings: ``workers=2``."""
        bare = [word.partition("=") for word in ctx.params.get("settings") or () if "=" in word]
        flags = {flag for param in self.params for flag in param.opts if flag.startswith("--")}
        meant = [(key, value) for key, _, value in bare if f"--{key}" in flags]
        graph = ctx.params.get("graph")
        if not meant or not isinstance(graph, str):
            return
        from tasksim.graph.apps.registry import GENERATORS

        # A generator may have a parameter of that name.
        known = [p.name for p in GENERATORS.find(graph).parameters] if graph in GENERATORS else None
        for key, value in meant:
            if known is not None and key not in known:
                ctx.fail(f"'{key}={value}' is no setting of {graph}; write --{key} {value}")

    def _explained(self, error: click.NoSuchOption, given: Sequence[str]) -> click.UsageError:
        """Return *error* with the option that other programs call so, or the form of settings."""
        from tasksim.base.synonyms import same_meaning

        flags = {flag.lstrip("-"): flag for param in self.params for flag in param.opts}
        flag = error.option_name
        if len(flag) == len("-s"):  # click takes -size for -s, -i, -z, -e
            flag = next((word for word in given if word.startswith(flag)), flag)
        name = flag.lstrip("-").partition("=")[0].replace("-", "_")
        if name in WORKERS_OF and "set" in flags:
            meant: str | None = f"--set platform.workers.{WORKERS_OF[name]}.count=N"
        else:
            meant = flags.get(same_meaning(name, flags) or "")
        if name == "platform" and "workers" in flags:
            return click.UsageError(
                f"No such option '{flag}': '{self.name}' executes on this machine; 'simulate' "
                "predicts others"
            )
        if meant is not None:
            return click.UsageError(f"No such option '{flag}'. Did you mean '{meant}'?")
        if flag != error.option_name and any("KEY=VALUE" in (p.metavar or "") for p in self.params):
            return click.UsageError(f"No such option '{flag}'; settings are KEY=VALUE: tiles=16")
        return error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, with its log if ``--log`` asks for one."""
        place = ctx.params.pop("log", None)
        if place is None:
            return super().invoke(ctx)
        from tasksim.cli.log import logged

        with logged(place, ctx.command_path, ctx.meta[_WORDS_KEY]):
            return super().invoke(ctx)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command; messages name options as the command line does."""
        with on_command_line():
            return super().main(*args, **kwargs)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, those of a command with many in sections."""
        # The description explains the arguments; click from 8.5 on has rows for them, too.
        options = (p for p in self.get_params(ctx) if isinstance(p, click.Option))
        rows = {p.name: row for p in options if (row := p.get_help_record(ctx))}
        sections = OPTION_SECTIONS if len(rows) >= MANY_OPTIONS else {}
        found = {
            title: [rows.pop(name) for name in names if name in rows]
            for title, names in sections.items()
        }
        for title, records in {"Options": [*rows.values()], **found}.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then the description."""
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{' ' * formatter.current_indent}{example}\n")
        super().format_help_text(ctx, formatter)


class Group(Command, click.Group):
    """A group whose error for an unknown command names its commands by *what*, such as formats."""

    command_class = Command

    def __init__(self, *args: Any, what: str = "command", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.what = what

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that *args* name; refuse an unknown one with the nearest match."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            if name == "help":
                ctx.fail(
                    f"'{ctx.command_path} --help' lists the {self.what}s; after one of them, "
                    "--help explains it"
                )
            parts = {part: self.get_command(ctx, part) for part in known}
            within = [
                f"'{ctx.command_path} {part} {name}'"
                for part, group in parts.items()
                if isinstance(group, click.Group) and name in group.list_commands(ctx)
            ]
            near = f", did you mean {' or '.join(within)}?" if within else nearest(name, known)
            ctx.fail(f"unknown {self.what} '{name}'{near} (known: {', '.join(known)})")
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """A group that imports a command when it is called.

    *parts* maps each name to the location of the command, ``MODULE:NAME``, and its summary.
    """

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


def command(
    name: str,
    *,
    examples: Sequence[str],
    renamed: Mapping[str, tuple[str, str, str]] | None = None,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make the decorated function the command *name*; its docstring is the help."""
    return click.command(name, cls=Command, examples=examples, renamed=renamed)
