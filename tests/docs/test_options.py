"""docs/cli.md has every command and every option, as the commands themselves know them."""

import importlib.util
import re

import click
import pytest
from executed_pages import ROOT

spec = importlib.util.spec_from_file_location("options", ROOT / "docs" / "options.py")
options = importlib.util.module_from_spec(spec)
spec.loader.exec_module(options)
PAGE = (ROOT / "docs" / "cli.md").read_text()
COMMANDS = dict(options.commands())


def test_the_page_says_what_the_commands_say():
    stale = "docs/cli.md is not what the commands are now; run: python docs/options.py"
    assert options.written(PAGE) == PAGE, stale


@pytest.mark.parametrize(("name", "command"), COMMANDS.items())
def test_every_option_is_in_the_section_of_its_command(name, command):
    section = PAGE.split(f"## `{name}`\n")[1].partition("\n## ")[0]
    shared = PAGE.split("## Common options\n")[1].partition("\n## ")[0]
    for option in (o for p in command.params for o in p.opts if o.startswith("--")):
        listed = re.search(rf"^\| .*`{option}[ `]", section, re.MULTILINE)
        assert listed or f"`{option}`" in shared, f"{option}: not described"


def test_the_table_of_commands_has_every_command():
    table = PAGE.partition("<!-- end -->")[0]
    assert [
        name for name in COMMANDS if f"| [{name.removeprefix('tasksim ')}](#" not in table
    ] == []


def test_no_option_is_without_help():
    found = [
        f"{name} {option.opts[0]}"
        for name, command in COMMANDS.items()
        for option in command.params
        if isinstance(option, click.Option) and not (option.help or "").split("[default")[0]
    ]
    assert found == []


def test_an_option_that_changed_changes_the_page():
    stale = PAGE.replace("| `--gantt PATH` | Gantt chart to draw", "| `--gantt PATH` | A chart")
    assert stale != PAGE
    assert options.written(stale) == PAGE


def test_a_command_without_a_section_is_told():
    with pytest.raises(ValueError, match="tasksim doctor: no such section"):
        options.written(PAGE.replace("## `tasksim doctor`", "## doctor"))


def test_a_section_without_a_place_for_options_is_told():
    before, _, after = PAGE.rpartition("<!-- options -->")
    with pytest.raises(ValueError, match="tasksim doctor: 0 places for its options"):
        options.written(before + after)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A file, .npz.", "A file, `.npz`."),
        ("Terms: 'm*n*k + m*n'.", "Terms: `m*n*k + m*n`."),
        ("SimGrid's, or others' files (--network).", "SimGrid's, or others' files (`--network`)."),
        ("A platform (see 'tasksim list').", "A platform (see `tasksim list`)."),
        ("Change platform.workers.cpu.count=24;", "Change `platform.workers.cpu.count=24`;"),
        ("dask[:ADDRESS], mpi", "`dask[:ADDRESS]`, mpi"),
    ],
)
def test_what_is_typed_is_code(text, expected):
    assert options.in_markdown(text) == expected


def test_limits_and_defaults_are_sentences():
    option = click.Option(
        ["--jobs"], type=click.IntRange(1, 8), default=2, help="Jobs.", show_default=True
    )
    flag = click.Option(["--pin/--no-pin"], default=True, help="Keep cores.")
    command = click.Command("work", params=[option, flag])
    rows = options._table_of_options(command).splitlines()[2:]
    assert rows[0] == "| `--jobs INTEGER RANGE` | Jobs. From 1 to 8. Default: 2. |"
    assert rows[1] == "| `--pin`, `--no-pin` | Keep cores. Default: `--pin`. |"
