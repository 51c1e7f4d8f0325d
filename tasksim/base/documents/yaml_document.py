"""YAML documents with the position of each value.

The data are those of :func:`yaml.safe_load`, with four differences: keys are always text (``on:``
is a word, not true), duplicate keys are problems, misleading numbers are, too (for YAML, ``010`` is
eight and ``1:30`` ninety), and an anchor cannot contain itself.

PyYAML has two readers: one in Python and, as a rule, one in C, which takes a tenth of the time.
The reader in C reads plain texts without problems. The reader in Python handles all other texts and
reports the positions, so that results do not depend on the installed reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from tasksim.base.documents import FileProblem, Place, line_and_column
from tasksim.base.errors import InputError, listed, printable
from tasksim.base.files import read_text
from tasksim.base.numerals import LEGAL_NUMERALS, decimal_number

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tasksim.base.documents import Location

__all__ = ["ProblemReport", "YamlDocument", "plain_value"]

_TEXT_TAG = "tag:yaml.org,2002:str"
_MERGE_TAG = "tag:yaml.org,2002:merge"
_NUMBER_TAGS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)|0x[0-9a-fA-F]+")
"""Pattern of numbers without decimal digits, which only YAML reads as numbers."""
_TOO_LARGE = re.compile(r"[-+]?[1-9][0-9]*(\.[0-9]*)?([eE][-+]?[0-9]+)?")
"""Pattern of numbers that may exceed the range of a float: the schema reports them."""
VERSIONED_MAPPING = "a mapping that begins `version: 1`"
"""Description of the legal form of most files, for messages."""
MAX_YAML_BYTES = 2**20
"""Maximum size of a file in bytes: four times that of a platform with a number per core of 32,767.
PyYAML needs up to 350 bytes of memory per byte (measured), and ten seconds for this size."""
_MAX_VALUES = 1_000_000
"""Maximum number of values in a document: a few lines of aliases of aliases would fill the memory,
while a platform file has some hundred values."""
_READ_OTHERWISE = frozenset("\t?!|>&*\ufeff")
"""Characters of texts that the readers in C and in Python may read differently."""
_LONGEST_LINE = 500
"""Maximum length of a line, and number of brackets, of a text for the reader in C. Each level of
YAML without brackets takes a column, so such a text is not deep enough to exhaust the stack of this
recursive reader."""
_MAX_NESTING = 50
"""Maximum nesting of lists and mappings: the format has five levels, and the notes of a calibration
some more; PyYAML and the functions that walk the values need several calls per level."""


@dataclass
class YamlDocument:
    """One YAML file, with its data and their positions."""

    path: Path
    data: dict[str, Any]
    text: str
    problems: list[FileProblem] = field(default_factory=list)
    """Problems of duplicate keys."""

    @classmethod
    def read(cls, path: Path, legal: str = VERSIONED_MAPPING) -> YamlDocument:
        """Read a file; raise :exc:`InputError` if it is missing or not YAML.

        *legal* describes the legal form, for messages.
        """
        return cls.parse(read_text(path, MAX_YAML_BYTES), path, legal)

    @classmethod
    def parse(cls, text: str, path: Path, legal: str = VERSIONED_MAPPING) -> YamlDocument:
        """Parse the *text* of the file *path*."""
        data = _read_quickly(text)
        if data is not None:
            return cls(path, data, text)
        try:
            return cls._load(text, path, legal)
        except InputError:
            raise
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = Place(path, mark.line + 1, mark.column + 1) if mark else Place(path, 1, 1)
            what = ", ".join(part for part in (error.context, error.problem) if part)
            raise InputError(f"{place}: not YAML: {what}") from None
        except yaml.reader.ReaderError as error:
            place = Place(path, *line_and_column(text, error.position))
            raise InputError(f"{place}: not YAML: {error.reason}") from None
        except RecursionError:
            raise InputError(f"{path}:1:1: not YAML: nested too deep") from None
        except ValueError as error:  # a date or a number that Python refuses ("2024-13-01")
            raise InputError(f"{path}:1:1: not YAML: {error}") from None

    @classmethod
    def _load(cls, text: str, path: Path, legal: str = VERSIONED_MAPPING) -> YamlDocument:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            kind = "list" if isinstance(node, yaml.SequenceNode) else "value"
            got = "nothing" if node is None else f"a {kind}"
            raise InputError(f"{path}:1:1: must be {legal} (got {got})")
        problems = list(_prepare(node, (), frozenset(), {}))
        document = cls(path, loader.construct_document(node), text, problems)
        document.node = node
        return document

    @cached_property
    def node(self) -> yaml.MappingNode:
        """The nodes of the text, which know their positions."""
        return self._load(self.text, self.path).node

    def place(self, location: Location, *, at_key: bool = False) -> Place | None:
        """Return the place of *location* in this file; None if it is not in it."""
        key: yaml.Node = self.node
        value: yaml.Node = self.node
        for step in location:
            found = _child(value, step)
            if found is None:
                return None
            key, value = found
        mark = (key if at_key else value).start_mark
        return Place(self.path, mark.line + 1, mark.column + 1)


def plain_value(text: str) -> Any:
    """Return the value of a YAML *text* outside a file: a number, a word, a list of them.

    Raises :exc:`InputError` for a misleading number, and PyYAML's errors for other texts than YAML.
    """
    loader = yaml.SafeLoader(text)
    node = loader.get_single_node()
    if node is None:
        return None
    for problem in _prepare(node, (), frozenset(), {}):
        raise InputError(problem.what)
    return loader.construct_document(node)


def _read_quickly(text: str) -> dict[str, Any] | None:
    """Return the data of PyYAML's reader in C; None if the reader in Python must read *text*."""
    reader = getattr(yaml, "CSafeLoader", None)
    if reader is None or not _READ_OTHERWISE.isdisjoint(text):
        return None
    # Short lines and few brackets cannot nest deeply.
    line = max(map(len, text.splitlines()), default=0)
    if line > _LONGEST_LINE or text.count("[") + text.count("{") > _LONGEST_LINE:
        return None
    loader = reader(text)
    try:
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode) or any(_prepare(node, (), frozenset(), {})):
            return None
        data: dict[str, Any] = loader.construct_document(node)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return data


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the key and value nodes of one entry of a mapping or a list."""
    if isinstance(node, yaml.MappingNode):
        # The last entry takes precedence: entries merged by `<<` come first.
        for key, value in reversed(node.value):
            if key.value == step:
                return key, value
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None


def _prepare(
    node: yaml.Node, location: Location, above: frozenset[int], sizes: dict[int, int]
) -> Generator[FileProblem, None, int]:
    """Make all keys text; yield duplicate keys; return the number of values in *node*.

    Raises an error for an anchor within itself, and for aliases with too many values.
    """
    if id(node) in above:
        raise yaml.MarkedYAMLError(
            problem="an anchor contains itself", problem_mark=node.start_mark
        )
    if id(node) in sizes:
        return sizes[id(node)]
    if len(location) > _MAX_NESTING:
        what = f"lists and mappings more than {_MAX_NESTING} deep"
        raise yaml.MarkedYAMLError(problem=what, problem_mark=node.start_mark)
    above = above | {id(node)}
    size = 1
    if isinstance(node, yaml.ScalarNode) and (what := _misread_number(node)):
        yield FileProblem(location, what)
    if isinstance(node, yaml.MappingNode):
        yield from _prepare_keys(node, location)
        for key, value in node.value:
            size += yield from _prepare(value, (*location, key.value), above, sizes)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            size += yield from _prepare(item, (*location, index), above, sizes)
    if size > _MAX_VALUES:
        raise yaml.MarkedYAMLError(
            problem=f"more than {_MAX_VALUES} values, with each alias counted in full",
            problem_mark=node.start_mark,
        )
    sizes[id(node)] = size
    return size


def _misread_number(node: yaml.ScalarNode) -> str:
    """Return the problem of a number that people read differently from YAML; ``""`` for others."""
    if node.style or node.tag not in _NUMBER_TAGS or _SPECIAL.fullmatch(node.value):
        return ""
    if decimal_number(node.value) is not None or _TOO_LARGE.fullmatch(node.value):
        return ""
    return f"not a plain number (got {node.value[:40]}, legal {LEGAL_NUMERALS})"


def _prepare_keys(node: yaml.MappingNode, location: Location) -> Iterator[FileProblem]:
    first: dict[Hashable, int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE_TAG:
            continue
        key.tag = _TEXT_TAG
        if key.value in first:
            what = f"given twice (first in line {first[key.value]})"
            yield FileProblem((*location, key.value), what, at_key=True)
        first.setdefault(key.value, key.start_mark.line + 1)


class _Error(NamedTuple):
    """A line of the report, with its sort key (file, line, column); settings come last."""

    rank: int
    line: int
    column: int
    text: str


@dataclass
class ProblemReport:
    """Report of all problems of some documents, as one error with a line per problem."""

    documents: Sequence[YamlDocument]
    """The documents; the first one that has a value gives its position."""
    errors: list[_Error] = field(default_factory=list)
    """Problems found so far."""
    settings: dict[Location, str] = field(default_factory=dict)
    """Text of the setting, for each value that a setting changed."""

    def add(self, problems: Iterable[FileProblem], documents: Sequence[YamlDocument] = ()) -> None:
        """Add problems at the places of their values in the *documents* (default: all).

        Equal problems of several values from one setting become one line.
        """
        alike: dict[tuple[Place | str, str], list[str]] = {}
        for problem in problems:
            field_name = ".".join(map(str, problem.location))
            where = self._where(problem, documents or self.documents)
            if isinstance(where, Place):
                self.note(where, f"{field_name}: {problem.what}" if field_name else problem.what)
            else:
                alike.setdefault((where, problem.what), []).append(field_name)
        for (where, what), names in alike.items():
            self.note(where, f"{listed(names, 1)}: {what}")

    def note(self, where: Place | str, what: str) -> None:
        """Add one error."""
        rank, line, column = len(self.documents), 0, 0
        if isinstance(where, Place):
            rank = [document.path for document in self.documents].index(where.path)
            line, column = where.line, where.column
        self.errors.append(_Error(rank, line, column, printable(f"{where}: {what}")))

    def _where(self, problem: FileProblem, documents: Sequence[YamlDocument]) -> Place | str:
        """Return the source of a value: a setting, or a place in a file."""
        location = problem.location
        prefixes = [location[:end] for end in range(len(location), -1, -1)]
        for prefix in prefixes:
            if prefix in self.settings:
                return f"--set {self.settings[prefix]}"
        for prefix in prefixes:
            # If a section lacks a field, the error points to the section's name.
            at_key = problem.at_key or prefix != location
            for document in documents:
                if (place := document.place(prefix, at_key=at_key)) is not None:
                    return place
        return Place(documents[0].path, 1, 1)

    def error(self) -> InputError:
        """Return the error with all lines, in the order of the files."""
        ordered = sorted(self.errors, key=lambda error: error[:3])
        return InputError("\n".join(error.text for error in ordered))
