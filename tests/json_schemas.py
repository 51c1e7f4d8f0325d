"""Checks of the output of --json against the published schemas."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from jsonschema import Draft202012Validator

from tasksim.cli.schema import SCHEMAS, schema_names

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_json(words: Sequence[str], output: str) -> None:
    """Fail unless the JSON *output* of the command line *words* is what its schema says.

    Keys that the schema does not know fail, too: programs may ignore them, tests may not. Other
    output is not looked at, such as that of a command that failed before it had any.
    """
    if "--json" not in words or not output.startswith("{"):
        return
    known = schema_names()
    name = next((n for n in (" ".join(words[:2]), words[0]) if n in known), None)
    assert name is not None, f"{words[0]}: no schema in {SCHEMAS}"
    errors = [
        f"{error.json_path}: {error.message[:200]}"
        for error in validator(name).iter_errors(json.loads(output))
    ]
    assert errors == [], f"tasksim {name} --json is not what tasksim/cli/schemas says"


@cache
def validator(name: str) -> Draft202012Validator:
    """Return the validator of a command's output that refuses unknown keys of the object."""
    path = SCHEMAS / f"{name.replace(' ', '-')}.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    return Draft202012Validator({**schema, "additionalProperties": False})
