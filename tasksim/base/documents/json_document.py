"""Strict reader and readable writer of JSON documents.

The parser accepts only what the standard allows, with a limit on nesting. A :class:`JsonNode` reads
a document value by value.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from tasksim.base.documents import line_and_column
from tasksim.base.errors import InputError, nearest
from tasksim.base.files import MAX_TEXT_BYTES, read_text
from tasksim.base.progress import follow_text, is_watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tasksim.base.documents import Location

__all__ = [
    "INTEGER_LIMIT",
    "MAX_NESTING",
    "FormatError",
    "JsonNode",
    "format_json",
    "parse_json",
    "position",
    "read_document",
    "read_json",
    "to_data",
]

T = TypeVar("T")


MAX_CONTAINERS: Final = 16_000_000
"""Maximum number of lists and objects: in memory, an empty one takes thirty times as much as in a
file. A trace of a gibibyte has some ten million."""
MAX_NESTING: Final = 100
"""Largest nesting of lists and objects: tasksim's own files have 10, and functions that walk a
value recursively, with several calls per level, must stay below Python's limit of 1000 calls."""

MAX_KEY_CHARACTERS: Final = 40
"""Longest part of a key that a message shows, in characters: line and column say the rest."""
_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
"""Pattern of a bracket or a whole string, because brackets in a string do not count."""
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:]', re.DOTALL)
"""Pattern of a bracket, the colon after a key, or a whole string."""
_SURROGATE: Final = re.compile(r"\\ud[89a-f]", re.IGNORECASE)


def read_json(path: Path, limit: int = MAX_TEXT_BYTES) -> Any:
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
        If the text is not JSON, has lists or objects nested more than 100 deep or more than
        :data:`MAX_CONTAINERS` of them, or an integer of thousands of digits. The error knows line
        and column.

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
    # Each takes two characters at least. Those within strings count, too: only the largest files
    # have that many.
    if len(text) > 2 * MAX_CONTAINERS and text.count("{") + text.count("[") > MAX_CONTAINERS:
        what = f"more than {MAX_CONTAINERS} lists and objects"
        raise json.JSONDecodeError(what, text, 0)
    try:
        value = (_watched_decoder(text) if is_watched(len(text)) else _DECODER).decode(text)
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
    """Raised for NaN or an infinity in the text."""


def _refuse_constant(name: str) -> Any:
    raise _NoNumber(name)


class _GivenTwice(Exception):
    """Raised for a duplicate key in an object."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object with these keys and values; refuse duplicate keys."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _GivenTwice
    return found


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_object)


def _watched_decoder(text: str) -> json.JSONDecoder:
    """Return a decoder that counts the objects in *text*, for a command that shows how many."""
    done, size = 0, len(text)
    objects = max(1, text.count("{"))

    def counted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal done
        done += 1
        return _object(pairs)

    follow_text(lambda: done * size / objects, size)
    return json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=counted)


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


INTEGER_LIMIT: Final = 2**63
"""Upper bound (exclusive) of integers: arrays hold them as signed 64-bit numbers."""
LINE_WIDTH = 100
"""Line length of written files in characters: two files fit side by side in a diff."""


class FormatError(InputError):
    """Raised for an unexpected value in a JSON document; *path* leads to the value."""

    def __init__(self, path: Location, message: str) -> None:
        super().__init__(f"{path_text(path)}: {message}" if path else message)
        self.path = path


class JsonNode:
    """A value in a JSON document, and the path to it.

    Every getter raises :exc:`FormatError` if the value is of another type.
    """

    def __init__(self, value: Any, path: Location = ()) -> None:
        self.value = value
        self.path = path

    def __getitem__(self, key: str) -> JsonNode:
        """Return the value of *key*; raise an error if it is missing."""
        mapping = self.mapping()
        if key not in mapping:
            keys = ", ".join(mapping) or "none"
            raise self.error(f"'{key}' is missing{nearest(key, mapping)} (keys: {keys})")
        return JsonNode(mapping[key], (*self.path, key))

    def get(self, key: str, default: Any) -> JsonNode:
        """Return the value of *key*, or *default* if it is missing."""
        return self[key] if key in self.mapping() else JsonNode(default, self.path)

    def items(self) -> Iterator[tuple[str, JsonNode]]:
        """Yield the keys of an object and their values."""
        for key in self.mapping():
            yield key, self[key]

    def __iter__(self) -> Iterator[JsonNode]:
        """Yield the elements of a list."""
        if not isinstance(self.value, list):
            raise self.expected("a list")
        for index, value in enumerate(self.value):
            yield JsonNode(value, (*self.path, index))

    def mapping(self) -> dict[str, Any]:
        """Return the value, an object."""
        if not isinstance(self.value, dict):
            raise self.expected("an object")
        return self.value

    def text(self) -> str:
        """Return the value, a text that is not empty."""
        if not isinstance(self.value, str) or not self.value:
            raise self.expected("a text")
        return self.value

    def integer(self) -> int:
        """Return the value, an integer that is not negative."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < 0:
            raise self.expected("a whole number, not negative")
        if self.value >= INTEGER_LIMIT:
            raise self.expected("a whole number below 2^63")
        return self.value

    def number(self) -> float:
        """Return the value, a finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.expected("a number")
        try:
            number = float(self.value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.expected("a finite number")
        return number

    def positive(self) -> float:
        """Return the value, a finite number larger than 0."""
        number = self.number()
        if number <= 0:
            raise self.expected("a number larger than 0")
        return number

    def not_negative(self, what: str = "a number, not negative") -> float:
        """Return the value, a finite number of at least 0; messages expect *what*."""
        number = self.number()
        if number < 0:
            raise self.expected(what)
        return number

    def maybe(self, read: Callable[[JsonNode], T]) -> T | None:
        """Return the result of *read* for the value; None for ``null``."""
        return None if self.value is None else read(self)

    def optional(self) -> float:
        """Return the value, a finite number, or NaN for ``null``."""
        return math.nan if self.value is None else self.number()

    def texts(self) -> tuple[str, ...]:
        """Return the value, a list of distinct texts."""
        texts = tuple(node.text() for node in self)
        for node, text in zip(self, texts, strict=True):
            if texts.count(text) > 1:
                raise node.error(f"'{text}' is given twice")
        return texts

    def vector(self, length: int) -> NDArray[np.float64]:
        """Return the value, a list of exactly *length* finite numbers."""
        numbers = [node.number() for node in self]
        if len(numbers) != length:
            raise self.error(f"expected {length} numbers, got {len(numbers)}")
        return np.array(numbers, dtype=np.float64)

    def list_of(self, count: int) -> list[JsonNode]:
        """Return the elements of the value, a list of exactly *count*."""
        found = list(self)
        if len(found) != count:
            raise self.expected(f"a list of {count}")
        return found

    def matrix(self, columns: int, rows: int | None = None) -> NDArray[np.float64]:
        """Return the value, a list of *rows* (any number by default) of *columns* numbers each."""
        found = list(self) if rows is None else self.list_of(rows)
        return np.array([row.vector(columns) for row in found]).reshape(len(found), columns)

    def one_of(self, known: Sequence[str]) -> str:
        """Return the value, one of the texts *known*."""
        if self.value not in known:
            raise self.expected(" or ".join(f"'{name}'" for name in known))
        return self.text()

    def exactly(self, value: Any) -> None:
        """Raise an error if the value is not *value*."""
        if self.value != value:
            raise self.expected(json.dumps(value))

    def error(self, message: str) -> FormatError:
        """Return an error with *message* about this value."""
        return FormatError(self.path, message)

    def expected(self, what: str) -> FormatError:
        """Return an error saying that *what* was expected."""
        # A value passed from Python may not be JSON.
        got = json.dumps(self.value, ensure_ascii=False, default=repr)
        short = got if len(got) <= 40 else f"{got[:37]}..."
        return self.error(f"expected {what}, got {short}")


def read_document(text: str, where: str, read: Callable[[JsonNode], T]) -> T:
    """Return the result of *read* for a JSON *text*, which messages call *where*.

    Raises
    ------
    InputError
        ``where:line:column: what is wrong, what was got, what is legal``.
    """
    try:
        return read(JsonNode(parse_json(text)))
    except json.JSONDecodeError as error:
        raise InputError(f"{where}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except FormatError as error:
        line, column = position(text, error.path)
        raise InputError(f"{where}:{line}:{column}: {error}") from None


def path_text(path: Location) -> str:
    """Return a path as text.

    >>> path_text(("architectures", "cpu", "terms", 2))
    'architectures.cpu.terms[2]'
    """
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")


def position(text: str, path: Location) -> tuple[int, int]:
    """Return line and column, from 1, of the value at *path* in a JSON *text*."""
    at = _skip_space(text, 0)
    for part in path:
        found = _step(text, at, part)
        if found is None:
            break
        at = found
    return line_and_column(text, at)


def format_json(value: Any) -> str:
    """Return *value* as JSON text; values that fit on one line are not broken.

    Floats are written with ``repr``, which preserves every bit.
    """
    return f"{_formatted(value, 0, 0)}\n"


def to_data(value: Any) -> Any:
    """Return *value* as plain data: NumPy numbers and arrays as Python's, NaN as None."""
    if isinstance(value, np.ndarray | np.generic):
        return to_data(value.tolist())
    if isinstance(value, dict):
        return {str(key): to_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_data(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _step(text: str, at: int, part: str | int) -> int | None:
    """Return the offset of the value of key or index *part* in the object or list at *at*."""
    decoder = json.JSONDecoder()
    keyed = text[at] == "{"
    at = _skip_space(text, at + 1)
    index = 0
    while text[at] not in "]}":
        key: str | int = index
        if keyed:
            key, at = decoder.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)
        if key == part:
            return at
        at = _skip_space(text, decoder.raw_decode(text, at)[1])
        at = _skip_space(text, at + 1) if text[at] == "," else at
        index += 1
    return None


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _formatted(value: Any, indent: int, column: int) -> str:
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not isinstance(value, dict | list) or not value:
        return line
    items = value.values() if isinstance(value, dict) else value
    nested = any(isinstance(item, dict) and item for item in items)
    if not nested and column + len(line) < LINE_WIDTH:
        return line
    if isinstance(value, list) and not any(isinstance(v, dict | list) for v in value):
        return _filled(value, indent)
    return _broken(value, indent)


def _broken(value: dict[str, Any] | list[Any], indent: int) -> str:
    """Return an object or a list with one item per line."""
    inner = " " * (indent + 2)
    if isinstance(value, list):
        items = [_formatted(v, indent + 2, indent + 2) for v in value]
    else:
        heads = [f"{json.dumps(key, ensure_ascii=False)}: " for key in value]
        items = [
            head + _formatted(v, indent + 2, indent + 2 + len(head))
            for head, v in zip(heads, value.values(), strict=True)
        ]
    begin, end = "[]" if isinstance(value, list) else "{}"
    body = ",\n".join(inner + item for item in items)
    return f"{begin}\n{body}\n{' ' * indent}{end}"


def _filled(values: Sequence[Any], indent: int) -> str:
    """Return a list of plain values, as many per line as fit."""
    inner = " " * (indent + 2)
    lines, line = [], inner
    for index, value in enumerate(values):
        item = json.dumps(value, ensure_ascii=False) + ("," if index + 1 < len(values) else "")
        if len(line) > len(inner) and len(line) + 1 + len(item) > LINE_WIDTH:
            lines.append(line)
            line = inner
        line += item if line == inner else f" {item}"
    body = "\n".join([*lines, line])
    return f"[\n{body}\n{' ' * indent}]"
