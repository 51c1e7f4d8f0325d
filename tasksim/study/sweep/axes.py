"""Axes of a study, as a study file writes them.

An axis has a value, a list of values, or a range of whole numbers: ``8..20``, ``8..20:4`` in steps
of 4, ``64..512:log`` doubling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents import FileProblem
from tasksim.base.documents.sections import ILLEGAL, FileProblems, refused
from tasksim.base.numerals import values_of

if TYPE_CHECKING:
    from tasksim.base.documents import Location

__all__ = ["VALUES", "Axes", "SettingsOf", "number_or_text"]

Axes = Mapping[str, Sequence[Any]]
"""Values by path; the paths are those of :meth:`Scenario.vary`."""

_LEGAL: Final = "must be a value, a list of values, or a range such as 8..20, 8..20:4, 64..512:log"


def number_or_text(text: str) -> int | float | str:
    """Return *text* as a number if it is one, else as it is.

    >>> number_or_text("8"), number_or_text("0.5"), number_or_text("1e3x")
    (8, 0.5, '1e3x')
    """
    for kind in (int, float):
        try:
            # int and float also accept surrounding blanks and 1_000; here those are texts.
            if text.strip() == text and "_" not in text:
                return kind(text)
        except ValueError:
            continue
    return text


class _Values:
    """Type of an axis in a study file, with one or several numbers, texts or truth values."""

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return a sequence of the values."""
        if isinstance(value, list):
            if not value:
                return refused(found, location, "must not be empty", value)
            before = len(found)
            for index, item in enumerate(value):
                self._check(item, (*location, index), found)
            return ILLEGAL if len(found) > before else tuple(value)
        if isinstance(value, str):
            try:
                several = values_of(value)
            except ValueError as error:
                return refused(found, location, str(error), value)
            if several is not None:
                return several
        self._check(value, location, found)
        return (value,)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the values."""
        one = {"type": ["number", "string", "boolean"]}
        return {"anyOf": [one, {"items": one, "minItems": 1, "type": "array"}]}

    def _check(self, value: Any, location: Location, found: FileProblems) -> None:
        if not isinstance(value, str | int | float):
            refused(found, location, _LEGAL, value)


class SettingsOf:
    """Type of a mapping of axes in a study file; a path without *prefix* gets it."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the values by path."""
        if not isinstance(value, dict):
            return refused(found, location, "must be a mapping, path to values", value)
        before = len(found)
        read: dict[str, Any] = {}
        for name, item in value.items():
            path = name if name.startswith(self.prefix) else f"{self.prefix}{name}"
            if path in read or not name:
                found.append(FileProblem((*location, name), "is given twice", at_key=True))
            read[path] = VALUES.read(item, (*location, name), found)
        return ILLEGAL if len(found) > before else read

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the mapping."""
        return {"additionalProperties": VALUES.json_schema(), "type": "object"}


VALUES: Final = _Values()
