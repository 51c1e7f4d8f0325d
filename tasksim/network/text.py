"""Text of a network as a user writes it: what it names, and what it changes of that."""

from __future__ import annotations

import re
from typing import Any, Final

from tasksim.base.documents.yaml_document import plain_value
from tasksim.base.errors import InputError
from tasksim.network.topologies.registry import TOPOLOGIES

__all__ = ["split_text"]

_FILE: Final = re.compile(r"(.+\.(?:xml|ya?ml))(?::(.*))?", re.DOTALL)
_COMMA: Final = re.compile(r",(?![^\[]*\])")
"""A comma outside brackets."""


def split_text(text: str) -> tuple[str, dict[str, Any]]:
    """Return the topology or file that *text* names, and the fields that it gives or changes.

    Parameters
    ----------
    text : str
        ``TOPOLOGY:FIELD=VALUE,...``, ``FILE``, ``FILE:FIELD=VALUE,...`` or ``NAME``.

    Raises
    ------
    InputError
        If what follows the colon is no list of fields, each once.

    Examples
    --------
    >>> split_text("torus:dimensions=[4,4],bandwidth=1GB/s")
    ('torus', {'dimensions': [4, 4], 'bandwidth': '1GB/s'})
    >>> split_text("net.xml:model=lv08")
    ('net.xml', {'model': 'lv08'})
    """
    file = _FILE.fullmatch(text)
    head, colon, rest = text.partition(":")
    if file is not None and head not in TOPOLOGIES:
        head, rest = file[1], file[2] or ""
    elif colon and "=" not in rest and rest:
        raise InputError(f"network '{text}': expected FIELD=VALUE, got '{rest}'")
    return head, _fields(rest, text)


def _fields(rest: str, text: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for part in filter(None, _COMMA.split(rest)):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals:
            raise InputError(f"network '{text}': expected FIELD=VALUE, got '{part}'")
        if key in fields:
            raise InputError(f"network '{text}': {key} is given twice")
        fields[key] = _value(value, text)
    return fields


def _value(value: str, text: str) -> Any:
    import yaml

    try:
        return plain_value(value)
    except (InputError, yaml.YAMLError, ValueError, RecursionError) as error:
        said = str(error).splitlines()[0]
        raise InputError(f"network '{text}': '{value}' is no value: {said}") from None
