"""JSON texts: their values, strictly as the standard has them, and not deeper than is sensible."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError
from tasksim.base.files import MOST_TEXT_BYTES, read_text

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DEEPEST", "parse_json", "read_json"]

DEEPEST: Final = 100
"""Lists and objects within each other: tasksim's own files have 10, and what walks a value by
recursion must not meet Python's limit of 1000 calls, with some calls for each."""

MOST_OF_KEY: Final = 40
"""Characters of a key in a message: the place says the rest."""
_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
"""A bracket, or a whole string, as its brackets do not count."""
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:]', re.DOTALL)
"""A bracket, the colon behind a key, or a whole string."""
_SURROGATE: Final = re.compile(r"\\ud[89a-f]", re.IGNORECASE)


def read_json(path: Path, limit: int = MOST_TEXT_BYTES) -> Any:
    """Return the value of the JSON file at *path*.

    Parameters
    ----------
    path : Path
        A regular file.
    limit : int, default 256 MiB
        The most bytes that it may have.

    Raises
    ------
    InputError
        ``file:line:column: what is wrong``: if it cannot be read, or is not JSON.

    See Also
    --------
    parse_json : The same of a text.
    """
    text = read_text(path, limit)
    if not text.strip():
        raise InputError(f"{path}: the file is empty")
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None


def parse_json(text: str) -> Any:
    r"""Return the value of a JSON *text*.

    Parameters
    ----------
    text : str
        NaN and infinities are refused, as in the standard, and so are half characters (a lone
        surrogate such as ``"\ud800"``), which no file can hold, and a key that an object has
        twice: who wrote it meant one of them, and nobody knows which.

    Raises
    ------
    json.JSONDecodeError
        Which knows line and column. If the text is not JSON, has lists or objects nested more
        than 100 deep, or an integer of thousands of digits.

    See Also
    --------
    read_json : The same of a file, with the name of the file in its errors.

    Examples
    --------
    >>> parse_json('{"tiles": [1, 2]}')
    {'tiles': [1, 2]}
    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    json.decoder.JSONDecodeError: nested more than 100 deep: line 1 column 101 (char 100)
    """
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise _too_deep(text) from None
    except _GivenTwice:
        raise _given_twice(text) from None
    except _NoNumber as error:
        name = str(error)
        raise json.JSONDecodeError(f"{name} is not a JSON number", text, text.find(name)) from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # an integer that Python does not convert: too many digits
        raise json.JSONDecodeError(str(error).partition(";")[0], text, 0) from None
    if text.count("[") + text.count("{") > DEEPEST and _is_deep(value):
        raise _too_deep(text)
    _refuse_half_characters(text, value)
    return value


class _NoNumber(Exception):
    """NaN or an infinity."""


def _refuse_constant(name: str) -> Any:
    raise _NoNumber(name)


class _GivenTwice(Exception):
    """An object has a key twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object that has these keys and values."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _GivenTwice
    return found


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_object)


def _given_twice(text: str) -> json.JSONDecodeError:
    """Return the error that points to the first key of *text* that its object has already."""
    objects: list[set[str]] = []
    key, at = "", 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in "{[":
            objects.append(set())
        elif token in "}]":
            objects.pop()
        elif token != ":":
            key, at = token, found.start()
        elif (name := json.loads(key)) in objects[-1]:
            break
        else:
            objects[-1].add(name)
    return json.JSONDecodeError(f"the key {key[:MOST_OF_KEY]} is given twice", text, at)


def _is_deep(value: Any) -> bool:
    """Return whether *value* has more than :data:`DEEPEST` lists and objects within each other."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [each for each in level if isinstance(each, dict | list)]
        if not level:
            return False
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
    return True


def _too_deep(text: str) -> json.JSONDecodeError:
    """Return the error that points to where *text* gets too deep."""
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > DEEPEST:
            break
    return json.JSONDecodeError(f"nested more than {DEEPEST} deep", text, found.start())


def _refuse_half_characters(text: str, value: Any) -> None:
    half = _SURROGATE.search(text)
    if half is None:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise json.JSONDecodeError("half a character", text, half.start()) from None
