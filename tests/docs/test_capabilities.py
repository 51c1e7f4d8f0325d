"""The page of the papers' capabilities: its counts, and commands that can be typed as they are."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import click
import pytest

from tasksim.cli.main import cli

PAGE = (Path(__file__).parents[2] / "docs/papers/capabilities.md").read_text()
ROW = re.compile(r"^\| (?P<what>.+?) \| (?P<how>.+) \|$", re.MULTILINE)


def sections():
    """Return paper -> its rows, as (capability, command or reason)."""
    found = {}
    for part in PAGE.split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        rows = [(row["what"], row["how"]) for row in ROW.finditer(text)]
        found[title] = [row for row in rows if row[0] not in ("capability", "---", "point")]
    return found


def commands():
    rows = [how for rows in sections().values() for _, how in rows]
    return [how.strip("`") for how in rows if how.startswith("`")]


def test_the_counts_are_those_of_the_rows():
    rows = sections()
    lines = re.findall(r"^\| \[([a-z ]+)\]\(.+?\) \|(.+)\|$", PAGE, re.MULTILINE)
    counts = {name: [int(cell) for cell in cells.split("|")] for name, cells in lines}
    assert [name.capitalize() for name in counts] == list(rows)
    for name, (points, work, with_command, without) in counts.items():
        hows = [how for _, how in rows[name.capitalize()]]
        shown = sum(how.startswith("`") for how in hows)
        assert (with_command, without) == (shown, len(hows) - shown), name
        assert work <= points
    points, work, with_command, without = (
        sum(column) for column in zip(*counts.values(), strict=True)
    )
    assert points == 200
    assert f"{work} of the 200 points" in PAGE
    assert f"{with_command + without} rows" in PAGE
    assert f"{with_command} have a command" in PAGE


@pytest.mark.parametrize("command", sorted(set(commands())))
def test_a_command_has_known_words_and_options(command, tmp_path, monkeypatch):
    for folder in ("counted", "lib"):  # options that want a folder look for it
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)
    if words[0] == "mpiexec":
        words = words[3:]
    if words[0] == "python":
        if words[1] == "-m":
            assert import_module(f"{words[2]}.__main__")
        else:
            compile(words[2], "capabilities.md", "exec")
        return
    assert words.pop(0) == "tasksim"
    group, context = cli, click.Context(cli)
    while isinstance(group, click.Group):
        if group.name == "tune" and words[0] not in group.list_commands(context):
            words = ["GRAPH", *words]  # as it does itself
        name, group, words = group.resolve_command(context, words)
        context = click.Context(group, parent=context, info_name=name)
    group.make_context(name, words, parent=context.parent)
