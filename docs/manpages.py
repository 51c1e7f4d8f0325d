"""Write a man page for each command: ``python docs/manpages.py FOLDER``.

Wheels have them in ``share/man/man1``, where ``man tasksim-simulate`` finds them once the
environment's ``bin`` is on the ``PATH``. All they say is what the commands' help says.
"""

from __future__ import annotations

import re
import sys
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING

import click

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tasksim.cli.command import EXIT_CODES
from tasksim.cli.main import COMMANDS, cli

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PARAGRAPH = re.compile(r"\n\s*\n")


def write_pages(folder: Path, version: str) -> list[Path]:
    """Write the pages into *folder*, which need not exist; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, command in commands(cli, "tasksim"):
        path = folder / f"{name.replace(' ', '-')}.1"
        path.write_text(page(name, command, version), encoding="utf-8")
        written.append(path)
    return written


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and all below it, with their full names."""
    yield name, command
    for part, below in subcommands(command).items():
        yield from commands(below, f"{name} {part}")


def subcommands(command: click.Command) -> dict[str, click.Command]:
    """Return the commands of a group by name; none for another command."""
    if not isinstance(command, click.Group):
        return {}
    ctx = click.Context(command)
    found = {part: command.get_command(ctx, part) for part in command.list_commands(ctx)}
    return {part: below for part, below in found.items() if below is not None}


def page(name: str, command: click.Command, version: str) -> str:
    """Return the page of a command in troff, with the macros of man(7)."""
    # With its settings: a command keeps the help option that its first context asks for.
    ctx = click.Context(command, info_name=name, **command.context_settings)
    summary, _, rest = cleandoc(command.help or "").partition("\n\n")
    title = name.replace(" ", "-")
    lines = [
        f'.TH "{title.upper()}" "1" "" "tasksim {version}" "tasksim"',
        *section("NAME", [f"{text(title)} \\- {text(one_line(summary).rstrip('.'))}"]),
        *section("SYNOPSIS", [f"\\fB{text(name)}\\fR {text(usage(command, ctx))}"]),
        *section("DESCRIPTION", description(f"{summary}\n\n{rest}")),
        *section("OPTIONS", options(command, ctx)),
        *section("COMMANDS", parts(command)),
        *section("EXAMPLES", examples(getattr(command, "examples", ()))),
        *section("EXIT STATUS", [text(one_line(EXIT_CODES).removeprefix("Exit codes: "))]),
        *section("SEE ALSO", see_also(name, command)),
    ]
    return "\n".join(lines) + "\n"


def section(title: str, lines: Sequence[str]) -> list[str]:
    """Return a section; nothing if it has no lines."""
    return [f'.SH "{title}"', *lines] if lines else []


def usage(command: click.Command, ctx: click.Context) -> str:
    """Return the options and arguments of a command as its usage line has them."""
    return " ".join(command.collect_usage_pieces(ctx))


def description(help_text: str) -> list[str]:
    """Return the paragraphs of a help text; those that click keeps as they are, verbatim."""
    lines: list[str] = []
    for paragraph in PARAGRAPH.split(help_text.strip()):
        if paragraph.startswith("\b"):
            lines += [".PP", ".nf", *map(text, paragraph.splitlines()[1:]), ".fi"]
        elif paragraph:
            lines += [".PP", text(one_line(paragraph))]
    return lines[1:]


def options(command: click.Command, ctx: click.Context) -> list[str]:
    """Return the options with their help."""
    records = [param.get_help_record(ctx) for param in command.get_params(ctx)]
    return tagged([record for record in records if record is not None])


def parts(command: click.Command) -> list[str]:
    """Return the commands of a group with their summaries."""
    if command is cli:
        return tagged([(name, summary) for name, (_, summary) in COMMANDS.items()])
    below = subcommands(command).items()
    return tagged([(name, part.get_short_help_str(limit=100)) for name, part in below])


def tagged(records: Sequence[tuple[str, str]]) -> list[str]:
    """Return paragraphs with a tag each, as man(7) calls them."""
    lines = []
    for tag, told in records:
        lines += [".TP", f"\\fB{text(tag)}\\fR", text(one_line(told))]
    return lines


def examples(lines: Sequence[str]) -> list[str]:
    """Return examples, one a line."""
    return [".nf", *map(text, lines), ".fi"] if lines else []


def see_also(name: str, command: click.Command) -> list[str]:
    """Return the pages above and below this one."""
    above = [name.rpartition(" ")[0]] if " " in name else []
    near = [*above, *(f"{name} {part}" for part in subcommands(command))]
    return [", ".join(f"\\fB{text(one.replace(' ', '-'))}\\fR(1)" for one in near)] if near else []


def one_line(paragraph: str) -> str:
    """Return a paragraph without its line breaks."""
    return " ".join(paragraph.split())


def text(words: str) -> str:
    """Return *words* as troff prints them: no character is a command."""
    escaped = words.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


if __name__ == "__main__":
    from tasksim import __version__

    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} FOLDER")
    print(f"Wrote {len(write_pages(Path(sys.argv[1]), __version__))} pages to {sys.argv[1]}")
