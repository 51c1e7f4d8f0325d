"""Write what docs/cli.md says of commands and options: ``python docs/options.py``.

The page keeps prose, examples and JSON keys by hand. What the commands themselves know stands
between comments, and is written again: ``<!-- commands -->`` is the table of all commands,
``<!-- options -->`` the usage and the options of the command that the heading above names;
``<!-- end -->`` ends both.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tasksim.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

CLI_PAGE = Path(__file__).with_name("cli.md")
SECTION = re.compile(r"^## `(tasksim [^`]+)`$", re.MULTILINE)
OPTIONS = re.compile(r"^<!-- options -->\n.*?^<!-- end -->$", re.DOTALL | re.MULTILINE)
COMMAND_TABLE_PATTERN = re.compile(
    r"^<!-- commands -->\n.*?^<!-- end -->$", re.DOTALL | re.MULTILINE
)
COMMON_OPTIONS = ("--log", "--debug", "--help")
"""Options of every command: the page tells of them once."""
DEFAULT = re.compile(r"\s*\[default: (.*)\]$", re.DOTALL)
CODE = re.compile(
    r"(?<!\w)'(?P<quoted>[^']+)'(?!\w)"  # in quotes; or what looks like a word to type:
    r"|(?<!\S)(?P<open>\(?)(?P<bare>(?:--[a-z]|\.[a-z]|\S*[=_*{}|<>/]|\S+:\S|~)\S*)"
)


def commands(
    group: click.Group = cli, name: str = "tasksim"
) -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its full name, subcommands after one another."""
    context = _context(group)
    for word in group.list_commands(context):
        found = group.get_command(context, word)
        if isinstance(found, click.Group):
            yield from commands(found, f"{name} {word}")
        elif found is not None:
            yield f"{name} {word}", found


def written(text: str) -> str:
    """Return the page *text* with its tables as the commands are now.

    Raises
    ------
    ValueError
        If a command has no section, a section no command, or a section no place for options.
    """
    known = dict(commands())
    first, *parts = SECTION.split(text)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    for name in known.keys() ^ sections.keys():
        raise ValueError(f"{name}: no such {'section' if name in known else 'command'}")
    page = COMMAND_TABLE_PATTERN.sub(lambda _: _block("commands", _table_of_commands(known)), first)
    for name, section in sections.items():
        block = _block("options", _usage(name, known[name]) + _table_of_options(known[name]))
        section, places = OPTIONS.subn(lambda _, block=block: block, section)
        if places != 1:
            raise ValueError(f"{name}: {places} places for its options; legal: one")
        page += f"## `{name}`{section}"
    return page


def _context(command: click.Command) -> click.Context:
    # With its settings: a command keeps the help option that its first context asks for.
    return click.Context(command, **command.context_settings)


def _block(kind: str, text: str) -> str:
    return f"<!-- {kind} -->\n{text}<!-- end -->"


def _table_of_commands(known: dict[str, click.Command]) -> str:
    rows = [
        f"| [{name.removeprefix('tasksim ')}](#{_anchor(name)}) | {_summary(command)} |\n"
        for name, command in known.items()
    ]
    return "| command | what it does |\n|---|---|\n" + "".join(rows)


def _anchor(name: str) -> str:
    return re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")


def _summary(command: click.Command) -> str:
    paragraph = " ".join((command.help or "").partition("\n\n")[0].split())
    return in_markdown(paragraph)


def _usage(name: str, command: click.Command) -> str:
    arguments = command.collect_usage_pieces(_context(command))
    words = name.removesuffix(" GRAPH")  # of `tasksim tune GRAPH`, where GRAPH is an argument
    return f"```text\n{' '.join([words, *arguments])}\n```\n\n"


def _table_of_options(command: click.Command) -> str:
    context = _context(command)
    options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
    rows = [_row(option, context) for option in options if option.opts[0] not in COMMON_OPTIONS]
    return "| option | meaning |\n|---|---|\n" + "".join(rows)


def _row(option: click.Option, context: click.Context) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    if option.secondary_opts:
        names += "".join(f", `{name}`" for name in option.secondary_opts)
    elif not option.is_flag:
        metavar = option.make_metavar(context).replace("|", "\\|")
        names = f"{names.removesuffix('`')} {metavar}`"
    return f"| {names} | {_meaning(option, context)} |\n"


def _meaning(option: click.Option, context: click.Context) -> str:
    """Return the help of an option, then its limits and its default as sentences."""
    extra = option.get_help_extra(context)
    text = option.help or ""
    default = found[1] if (found := DEFAULT.search(text)) else extra.get("default", "")
    sentences = [in_markdown(DEFAULT.sub("", text))]
    if "required" in extra:
        sentences.append("Required.")
    if "range" in extra:
        sentences.append(_limits(extra["range"]))
    if default and (found or not option.is_flag):
        sentences.append(f"Default: {in_markdown(default)}.")
    elif option.secondary_opts:
        sentences.append(
            f"Default: `{(option.opts if option.default else option.secondary_opts)[0]}`."
        )
    return " ".join(sentence for sentence in sentences if sentence)


def _limits(text: str) -> str:
    """Return the limits of a number in words: ``1<=x<=8``, ``x>=1``, ``x>0``."""
    ends = re.fullmatch(r"(\d+)<=x<=(\d+)", text)
    words = f"From {ends[1]} to {ends[2]}." if ends else text
    return words.replace("x>=", "At least ").replace("x>", "More than ").rstrip(".") + "."


def in_markdown(text: str) -> str:
    """Return a help *text* as Markdown: what is typed or written in files as code."""
    return CODE.sub(_as_code, " ".join(text.split()))


def _as_code(match: re.Match[str]) -> str:
    if match["quoted"]:
        return _code(match["quoted"])
    word = match["bare"].rstrip(").,;:")
    return f"{match['open']}{_code(word)}{match['bare'].removeprefix(word)}"


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


if __name__ == "__main__":
    CLI_PAGE.write_text(written(CLI_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
