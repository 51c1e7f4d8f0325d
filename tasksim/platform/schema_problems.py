"""Problems with the schema of a platform file, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from tasksim.base.errors import nearest
from tasksim.platform.schema import ONE, SECTIONS, SEVERAL, PlatformFile, fields_of
from tasksim.platform.yaml_document import FileProblem, Location

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["problems"]


def problems(data: Mapping[str, Any]) -> Iterator[FileProblem]:
    """Yield everything in *data* that is not in the format."""
    try:
        PlatformFile.model_validate(data)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            yield _problem(details)


def _problem(details: ErrorDetails) -> FileProblem:
    """Return the problem that pydantic describes by *details*."""
    location = tuple(step for step in details["loc"] if step not in (ONE, SEVERAL))
    if location and location[-1] == "[key]":
        got = f"got {location[-2]!r}"
        return FileProblem(
            location[:-1], f"{_TEXTS['string_pattern_mismatch']} ({got})", at_key=True
        )
    if details["type"] == "extra_forbidden":
        return _unknown_field(location)
    if details["type"] == "value_error":
        return FileProblem(location, str(details["ctx"]["error"]))
    if details["type"] == "missing":
        return FileProblem(location, "missing")
    context = details.get("ctx", {})
    kind = "empty" if context.get("min_length") == 1 else details["type"]
    what = _TEXTS.get(kind, details["msg"]).format(**context)
    return FileProblem(location, f"{what} (got {_got(details['input'])})")


def _unknown_field(location: Location) -> FileProblem:
    name = str(location[-1])
    legal = _fields(location[:-1])
    what = f"unknown field (got {name!r}, legal {', '.join(legal)}){nearest(name, legal)}"
    return FileProblem(location, what, at_key=True)


def _fields(location: Location) -> list[str]:
    """Return the names of the fields of the section at *location*."""
    section = SECTIONS[str(location[0])] if location else PlatformFile
    return fields_of(section)


def _got(value: object) -> str:
    """Return what was got, short."""
    if value is None:
        return "nothing"
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a number of {value.bit_length()} bits"
    return "a mapping" if isinstance(value, Mapping) else f"{value!r}"[:60]


_TEXTS: Final = {
    "bool_type": "must be true or false",
    "dict_type": "must be a mapping",
    "empty": "must not be empty",
    "float_type": "must be a number",
    "greater_than": "must be greater than {gt:.10g}",
    "greater_than_equal": "must be at least {ge:.10g}",
    "int_type": "must be a whole number",
    "less_than_equal": "must be at most {le:.10g}",
    "list_type": "must be a list",
    "model_type": "must be a mapping",
    "string_pattern_mismatch": "must be a name: letters, digits, '_' and '-', "
    "beginning with a letter, ending with a letter or a digit",
    "string_type": "must be text",
    "too_long": "must have {max_length} entries",
    "too_short": "must have {min_length} entries",
}
