"""Strict JSON parser: only what the standard allows, and with a limit on nesting."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError
from tasksim.base.files import MOST_TEXT_BYTES, read_text

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MAX_NESTING", "parse_json", "read_json"]

MAX_NESTING: Final = 100
"""Largest nesting of lists and objects: tasksim's own files have 10, and functions that walk a
value recursively, with several calls per level, must stay below Python's limit of 1000 calls."""

MAX_KEY_CHARACTERS: Final = 40
"""Longest part of a key that a message shows, in characters: line and column say the rest."""
_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
"""A bracket, or a whole string, because brackets in a string do not count."""
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:]', re.DOTALL)
"""A bracket, the colon after a key, or a whole string."""
_SURROGATE: Final = re.compile(r"\\ud[89a-f]", re.IGNORECASE)


def read_json(path: Path, limit: int = MOST_TEXT_BYTES) -> Any:
    """Return the value of the JSON file at *path*.

    Parameters
    ----------
    path : Path
        A regular file.
    limit : int, default 256 MiB
        The largest legal size of the file, in bytes.

    Raises
    ------
    InputError
        If the file cannot be read, or is not JSON. The message begins with
        ``file:line:column:``.

    See Also
    --------
    parse_json : The value of a JSON text.
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
        NaN and infinities are refused, as in the standard. So are half characters (a lone
        surrogate such as ``"\ud800"``), because no file can hold them, and duplicate keys of an
        object, because nobody knows which of them the author meant.

    Raises
    ------
    json.JSONDecodeError
        If the text is not JSON, has lists or objects nested more than 100 deep, or an integer of
        thousands of digits. The error knows line and column.

    See Also
    --------
    read_json : The value of a JSON file; its errors name the file.

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
    except ValueError as error:  # an integer with more digits than Python converts
        raise json.JSONDecodeError(str(error).partition(";")[0], text, 0) from None
    # The count of brackets is fast and rules out deep nesting for most texts.
    if text.count("[") + text.count("{") > MAX_NESTING and _is_deep(value):
        raise _too_deep(text)
    _refuse_half_characters(text, value)
    return value


class _NoNumber(Exception):
    """The text contains NaN or an infinity."""


def _refuse_constant(name: str) -> Any:
    raise _NoNumber(name)


class _GivenTwice(Exception):
    """An object has a duplicate key."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object with these keys and values; refuse duplicate keys."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _GivenTwice
    return found


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_object)


def _given_twice(text: str) -> json.JSONDecodeError:
    """Return the error that points to the first duplicate key in *text*."""
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
    return json.JSONDecodeError(f"the key {key[:MAX_KEY_CHARACTERS]} is given twice", text, at)


def _is_deep(value: Any) -> bool:
    """Return whether lists and objects of *value* are nested deeper than :data:`MAX_NESTING`."""
    level = [value]
    for _ in range(MAX_NESTING + 1):
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
    """Return the error that points to the first bracket of *text* that is nested too deep."""
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > MAX_NESTING:
            break
    return json.JSONDecodeError(f"nested more than {MAX_NESTING} deep", text, found.start())


def _refuse_half_characters(text: str, value: Any) -> None:
    half = _SURROGATE.search(text)
    if half is None:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise json.JSONDecodeError("half a character", text, half.start()) from None
