"""Sections of a document, with named and typed fields and their defaults.

A :class:`Section` reads its part of the data at once and collects all problems. A kind defines
legal values, their meaning, and their JSON schema, with which editors complete and check YAML.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, NamedTuple, Protocol, Self, TypeAlias

from tasksim.base.documents import FileProblem, Location
from tasksim.base.errors import InputError, nearest
from tasksim.base.units import Dimension, parse_quantity, unit_names

__all__ = [
    "FLAG",
    "ILLEGAL",
    "NAME",
    "NAMES",
    "NAME_PATTERN",
    "REQUIRED",
    "TEXT",
    "Amount",
    "Field",
    "FileProblems",
    "Kind",
    "ListOf",
    "MappingOf",
    "Maybe",
    "PairsOf",
    "Plain",
    "Section",
    "SectionOf",
    "Text",
    "Whole",
    "fields_of",
    "given",
    "json_schema",
    "refused",
]


NAME_PATTERN: Final = r"^[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?$"
"""Form of the names of memories, architectures, groups and links."""

ILLEGAL: Final = object()
"""Marker of an illegal value."""

FileProblems: TypeAlias = list[FileProblem]
"""The problems so far."""


class Kind(Protocol):
    """A kind of value."""

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the meaning of *value*.

        If it is illegal, add it to *found* and return :data:`ILLEGAL`.
        """

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the kind."""


def refused(found: FileProblems, location: Location, what: str, value: object) -> object:
    """Add the problem *what* of *value* to *found*, and return :data:`ILLEGAL`."""
    found.append(FileProblem(location, f"{what} (got {_got(value)})"))
    return ILLEGAL


def _got(value: object) -> str:
    """Return *value* as messages show it, shortened."""
    if value is None:
        return "nothing"
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a number of {value.bit_length()} bits"
    return "a mapping" if isinstance(value, Mapping) else f"{value!r}"[:60]


class Text:
    """A text, or, with the pattern of names, a name."""

    def __init__(self, pattern: str | None = None) -> None:
        self.pattern = pattern

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the text."""
        if not isinstance(value, str):
            return refused(found, location, "must be text", value)
        if self.pattern is not None and not re.fullmatch(self.pattern, value):
            return refused(found, location, _NO_NAME, value)
        return value

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the kind."""
        kind = {} if self.pattern is None else {"pattern": self.pattern}
        return {**kind, "type": "string"}


_NO_NAME: Final = (
    "must be a name: letters, digits, '_' and '-', "
    "beginning with a letter, ending with a letter or a digit"
)


class _Flag:
    """True or false."""

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the truth value."""
        if isinstance(value, bool):
            return value
        return refused(found, location, "must be true or false", value)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the kind."""
        return {"type": "boolean"}


class Whole:
    """A whole number, within limits."""

    def __init__(self, least: int, most: int | None = None) -> None:
        self.least, self.most = least, most

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the number."""
        if isinstance(value, bool) or not isinstance(value, int):
            return refused(found, location, "must be a whole number", value)
        if value < self.least:
            return refused(found, location, f"must be at least {self.least:.10g}", value)
        if self.most is not None and value > self.most:
            return refused(found, location, f"must be at most {self.most:.10g}", value)
        return value

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the kind."""
        if self.least == self.most:
            return {"const": self.least, "type": "integer"}
        most = {} if self.most is None else {"maximum": self.most}
        return {**most, "minimum": self.least, "type": "integer"}


class Amount:
    """A quantity with its unit, or a factor without one, within limits."""

    def __init__(
        self,
        dimension: Dimension,
        least: float | None = None,
        above: float | None = None,
        most: float | None = None,
    ) -> None:
        self.dimension, self.least, self.above, self.most = dimension, least, above, most

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the number in tasksim's units, such as seconds or bytes."""
        try:
            number = self._parsed(value)
        except InputError as error:
            found.append(FileProblem(location, str(error)))
            return ILLEGAL
        if self.above is not None and not number > self.above:
            return refused(found, location, f"must be greater than {self.above:.10g}", value)
        if self.least is not None and not number >= self.least:
            return refused(found, location, f"must be at least {self.least:.10g}", value)
        if self.most is not None and not number <= self.most:
            return refused(found, location, f"must be at most {self.most:.10g}", value)
        return number

    def _parsed(self, value: Any) -> float:
        times = self.dimension == "factor" and isinstance(value, str)
        if times and value.strip().startswith(("x", "×")):
            raise InputError(f"{value!r} multiplies, which only --set can do; legal here: a number")
        return parse_quantity(value, self.dimension)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the kind."""
        if self.dimension == "factor":
            return {"type": "number"}
        units = "|".join(unit_names(self.dimension))
        text = {"pattern": rf"^\s*[0-9.][0-9.eE+-]*\s*({units})\s*$", "type": "string"}
        return {"anyOf": [text, {"const": 0}]}


class Maybe:
    """A value of a kind, or ``null``."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the meaning of the value; None for ``null``."""
        return None if value is None else self.kind.read(value, location, found)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the kind."""
        kind = self.kind.json_schema()
        return {"anyOf": [*kind.get("anyOf", [kind]), {"type": "null"}]}


class ListOf:
    """A list of values of one kind, with bounds on its length."""

    def __init__(self, kind: Kind, least: int = 0, most: int | None = None) -> None:
        self.kind, self.least, self.most = kind, least, most

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the meanings of its values, in a list."""
        if not isinstance(value, list):
            return refused(found, location, "must be a list", value)
        if self.most is not None and len(value) > self.most:
            return refused(found, location, f"must have {self.most} entries", value)
        before = len(found)
        items = [
            self.kind.read(item, (*location, index), found) for index, item in enumerate(value)
        ]
        if len(found) > before:
            return ILLEGAL
        if len(value) < self.least:
            what = "must not be empty" if self.least == 1 else f"must have {self.least} entries"
            return refused(found, location, what, value)
        return items

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the kind."""
        most = {} if self.most is None else {"maxItems": self.most}
        least = {"minItems": self.least} if self.least else {}
        return {"items": self.kind.json_schema(), **most, **least, "type": "array"}


class PairsOf:
    """One value for all pairs, or a matrix: a list of lists of values."""

    def __init__(self, kind: Kind, entry: Kind) -> None:
        self.kind, self.matrix = kind, ListOf(ListOf(entry), least=1)

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the value, or the lists of values."""
        return (self.matrix if isinstance(value, list) else self.kind).read(value, location, found)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the kind."""
        one = self.kind.json_schema()
        return {"anyOf": [*one.get("anyOf", [one]), self.matrix.json_schema()]}


class _Names:
    """One name for all workers of a group, or a list of them, one per worker."""

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the name, or the list of names."""
        return (_LIST if isinstance(value, list) else NAME).read(value, location, found)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the kind."""
        return {"oneOf": [NAME.json_schema(), _LIST.json_schema()]}


class MappingOf:
    """Values of one kind by name."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the meanings of the values, by name."""
        if not isinstance(value, dict):
            return refused(found, location, "must be a mapping", value)
        read = {}
        for name, item in value.items():
            if not re.fullmatch(NAME_PATTERN, name):
                what = f"{_NO_NAME} (got {name!r})"
                found.append(FileProblem((*location, name), what, at_key=True))
            read[name] = self.kind.read(item, (*location, name), found)
        return read

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the kind."""
        return {"patternProperties": {NAME_PATTERN: self.kind.json_schema()}, "type": "object"}


class Plain:
    """A mapping of plain values (mappings, lists, texts, finite numbers) without a schema."""

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the mapping, with dates as texts."""
        try:
            plain = _plain(value)
        except InputError as error:
            found.append(FileProblem(location, str(error)))
            return ILLEGAL
        if not isinstance(plain, dict):
            return refused(found, location, "must be a mapping", plain)
        return plain

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the kind."""
        return {"additionalProperties": True, "type": "object"}


def _plain(value: Any) -> Any:
    """Return *value* made of mappings, lists, text and finite numbers only."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise InputError("must be a plain value: text, a finite number, a list or a mapping of them")


TEXT: Final = Text()
NAME: Final = Text(NAME_PATTERN)
FLAG: Final = _Flag()
NAMES: Final = _Names()
_LIST: Final = ListOf(NAME, least=1)


REQUIRED: Final = object()
"""Default of a required field."""


class Field(NamedTuple):
    """A field of a section."""

    kind: Kind
    default: Any
    """Value if a file gives none; :data:`REQUIRED` for a required field."""
    description: str
    alias: str | None
    """Name in files, if it differs from the name in Python."""


def given(
    kind: Kind, default: Any = REQUIRED, description: str = "", *, alias: str | None = None
) -> Any:
    """Return a field, to be assigned in the class of its section."""
    return Field(kind, default, description, alias)


class Section:
    """A group of related values. Subclasses assign their fields with :func:`given`."""

    fields: ClassVar[dict[str, Field]] = {}
    """The fields by their names in Python, in order."""

    def __init_subclass__(cls) -> None:
        cls.fields = {name: it for name, it in vars(cls).items() if isinstance(it, Field)}

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in vars(self).items())})"

    def changed(self, **values: Any) -> Self:
        """Return a copy with other values of some fields."""
        return type(self)(**{**vars(self), **values})

    @classmethod
    def read(cls, data: Any, location: Location, found: FileProblems) -> Any:
        """Return the section in *data*; add illegal values to *found*.

        Returns :data:`ILLEGAL` if any value is illegal.
        """
        if not isinstance(data, dict):
            return refused(found, location, "must be a mapping", data)
        before = len(found)
        values: dict[str, Any] = {}
        for name, field in cls.fields.items():
            written = field.alias or name
            where = (*location, written)
            value = data.get(written, field.default)
            if value is REQUIRED:
                found.append(FileProblem(where, "missing"))
                values[name] = ILLEGAL
                continue
            read = field.kind.read(value, where, found)
            values[name] = read if read is ILLEGAL else cls.check(name, read, values, where, found)
        legal = fields_of(cls)
        for name in data:
            if name not in legal:
                what = f"unknown field (got {name!r}, legal {', '.join(legal)})"
                what += nearest(str(name), legal)
                found.append(FileProblem((*location, name), what, at_key=True))
        return ILLEGAL if len(found) > before else cls(**values)

    @classmethod
    def check(
        cls,
        name: str,  # noqa: ARG003
        value: Any,
        before: Mapping[str, Any],  # noqa: ARG003
        location: Location,  # noqa: ARG003
        found: FileProblems,  # noqa: ARG003
    ) -> Any:
        """Return *value* of the field *name*; :data:`ILLEGAL` if the fields *before* forbid it."""
        return value


class SectionOf(NamedTuple):
    """A nested section as a kind of value."""

    section: type[Section]

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the section."""
        return self.section.read(value, location, found)

    def json_schema(self) -> dict[str, Any]:
        """Return a JSON schema that refers to the section's own."""
        return {"$ref": f"#/$defs/{self.section.__name__}"}


def fields_of(section: type[Section]) -> list[str]:
    """Return the names of the fields of a *section*, as a file writes them."""
    return [field.alias or name for name, field in section.fields.items()]


def json_schema(root: type[Section], sections: Iterable[type[Section]]) -> dict[str, Any]:
    """Return the JSON schema of documents with the section *root*, which refer to *sections*."""
    ordered = sorted(sections, key=lambda section: section.__name__)
    return {"$defs": {each.__name__: _schema_of(each) for each in ordered}} | _schema_of(root)


def _schema_of(section: type[Section]) -> dict[str, Any]:
    fields = {field.alias or name: field for name, field in section.fields.items()}
    needed = [name for name, field in fields.items() if field.default is REQUIRED]
    return {
        "additionalProperties": False,
        "description": section.__doc__,
        "properties": {name: _schema_of_field(name, field) for name, field in fields.items()},
        **({"required": needed} if needed else {}),
        "title": section.__name__,
        "type": "object",
    }


def _schema_of_field(name: str, field: Field) -> dict[str, Any]:
    schema = field.kind.json_schema()
    if field.default is not REQUIRED:
        schema["default"] = _default_of(field)
    if field.description:
        schema["description"] = field.description
    if "$ref" not in schema:
        schema["title"] = name.replace("_", " ").title()
    return dict(sorted(schema.items()))


def _default_of(field: Field) -> Any:
    """Return the default of a field; for a section, the defaults of its fields."""
    if not isinstance(field.kind, SectionOf):
        return field.default
    section = field.kind.read(field.default, (), [])
    assert section is not ILLEGAL
    return {f.alias or name: getattr(section, name) for name, f in section.fields.items()}
