"""The JSON Schemas of commands. Their outputs are validated wherever tests ask for ``--json``."""

import json

import click
import pytest
from json_schemas import check_json
from jsonschema import Draft202012Validator

from tasksim.cli.main import cli
from tasksim.cli.schema import SCHEMAS, schema_names


def commands(group=cli, path=()):
    """Yield the words and the command of each command."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def test_every_command_with_json_has_a_schema_and_no_other_has():
    with_json = {
        " ".join(words).removesuffix(" GRAPH")
        for words, command in commands()
        if any("--json" in option.opts for option in command.params)
    }
    assert sorted(with_json) == schema_names()


@pytest.mark.parametrize("name", schema_names())
def test_schemas_are_schemas_of_objects_with_a_version(name):
    schema = json.loads((SCHEMAS / f"{name.replace(' ', '-')}.json").read_text())
    Draft202012Validator.check_schema(schema)
    assert schema["title"] == f"tasksim {name} --json"
    assert schema["properties"]["schema_version"] == {"const": 2 if name == "demo" else 1}
    assert "schema_version" in schema["required"]


def test_the_command_prints_a_schema_and_lists_all(tasksim):
    assert tasksim("schema").out.splitlines() == schema_names()
    assert tasksim("schema study run").json["title"] == "tasksim study run --json"


def test_an_unknown_command_is_refused_with_the_nearest(tasksim):
    done = tasksim("schema simulat")
    assert done.code == 2
    assert "did you mean 'simulate'?" in done.err


@pytest.mark.parametrize("output", ['{"schema_version": 2}', '{"schema_version": 1, "wrong": 0}'])
def test_output_that_is_not_as_the_schema_says_fails(output):
    with pytest.raises(AssertionError, match="is not what tasksim/cli/schemas says"):
        check_json(["bounds", "--json"], output)
