"""Places of values in files, and the report of all that is wrong there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tasksim.base.documents.yaml_document import YamlDocument

__all__ = ["FileProblem", "Location", "Place", "ProblemReport"]

Location = tuple[str | int, ...]
"""Path of a value in the data: ``("workers", "cpu", "count")``."""


class Place(NamedTuple):
    """Position of a value in a file; lines and columns count from 1."""

    path: Path
    line: int
    column: int

    def __str__(self) -> str:
        """Return ``file:line:column``."""
        return f"{self.path}:{self.line}:{self.column}"


class FileProblem(NamedTuple):
    """Something wrong at a location; *at_key* where the key is wrong and not its value."""

    location: Location
    what: str
    at_key: bool = False


class _Error(NamedTuple):
    """A line of the report, and where it comes: by file, line, column; settings last."""

    rank: int
    line: int
    column: int
    text: str


def _printable(text: str) -> str:
    """Return *text* on one line, control characters as escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


@dataclass
class ProblemReport:
    """All that is wrong with documents, each at its place: one error with a line per problem."""

    documents: Sequence[YamlDocument]
    """The documents, of which the first that has a value says where it stands."""
    errors: list[_Error] = field(default_factory=list)
    """Problems found so far."""
    settings: dict[Location, str] = field(default_factory=dict)
    """Per value that a setting changed, the text of the setting."""

    def add(self, problems: Iterable[FileProblem], documents: Sequence[YamlDocument] = ()) -> None:
        """Note problems, each where its value stands in the *documents* (default: all).

        What one setting has done to many values is one problem.
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
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            self.note(where, f"{names[0]}{more}: {what}")

    def note(self, where: Place | str, what: str) -> None:
        """Note one error."""
        rank, line, column = len(self.documents), 0, 0
        if isinstance(where, Place):
            rank = [document.path for document in self.documents].index(where.path)
            line, column = where.line, where.column
        self.errors.append(_Error(rank, line, column, _printable(f"{where}: {what}")))

    def _where(self, problem: FileProblem, documents: Sequence[YamlDocument]) -> Place | str:
        """Return what a value comes from: a setting or a place in a file."""
        location = problem.location
        prefixes = [location[:end] for end in range(len(location), -1, -1)]
        for prefix in prefixes:
            if prefix in self.settings:
                return f"--set {self.settings[prefix]}"
        for prefix in prefixes:
            # Of a section that lacks something, its name is shown.
            at_key = problem.at_key or prefix != location
            for document in documents:
                if (place := document.place(prefix, at_key=at_key)) is not None:
                    return place
        return Place(documents[0].path, 1, 1)

    def error(self) -> InputError:
        """Return the error with all that was noted, in the order of the files."""
        ordered = sorted(self.errors, key=lambda error: error[:3])
        return InputError("\n".join(error.text for error in ordered))
