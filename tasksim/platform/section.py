"""Section of a platform file: fields by name, of kinds, with defaults, read all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

from tasksim.base.errors import nearest
from tasksim.platform.kinds import BAD, Found, Kind, refused
from tasksim.platform.yaml_document import FileProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.platform.yaml_document import Location

__all__ = ["NEEDED", "Field", "Section", "SectionOf", "fields_of", "given"]

NEEDED: Final = object()
"""The default of a field that must be given."""


class Field(NamedTuple):
    """A field of a section."""

    kind: Kind
    default: Any
    """Value where a file gives none; :data:`NEEDED`: the file must give one."""
    description: str
    alias: str | None
    """Its name in files, where that is another than in Python."""


def given(
    kind: Kind, default: Any = NEEDED, description: str = "", *, alias: str | None = None
) -> Any:
    """Return a field, to be assigned in the class of its section."""
    return Field(kind, default, description, alias)


class Section:
    """Values that belong together. Subclasses assign their fields with :func:`given`."""

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
    def read(cls, data: Any, location: Location, found: Found) -> Any:
        """Return the section that *data* are; what is not legal is added to *found*.

        :data:`BAD` if anything is not.
        """
        if not isinstance(data, dict):
            return refused(found, location, "must be a mapping", data)
        before = len(found)
        values: dict[str, Any] = {}
        for name in cls.fields:
            values[name] = cls._value(data, name, values, location, found)
        legal = fields_of(cls)
        for name in data:
            if name not in legal:
                what = f"unknown field (got {name!r}, legal {', '.join(legal)})"
                what += nearest(str(name), legal)
                found.append(FileProblem((*location, name), what, at_key=True))
        return BAD if len(found) > before else cls(**values)

    @classmethod
    def _value(
        cls,
        data: Mapping[str, Any],
        name: str,
        before: Mapping[str, Any],
        location: Location,
        found: Found,
    ) -> Any:
        field = cls.fields[name]
        written = field.alias or name
        where = (*location, written)
        value = data.get(written, field.default)
        if value is NEEDED:
            found.append(FileProblem(where, "missing"))
            return BAD
        read = field.kind.read(value, where, found)
        return read if read is BAD else cls.check(name, read, before, where, found)

    @classmethod
    def check(
        cls,
        name: str,  # noqa: ARG003
        value: Any,
        before: Mapping[str, Any],  # noqa: ARG003
        location: Location,  # noqa: ARG003
        found: Found,  # noqa: ARG003
    ) -> Any:
        """Return *value* of the field *name*, or :data:`BAD` if the fields *before* forbid it."""
        return value


class SectionOf(NamedTuple):
    """The kind of value that is a section."""

    section: type[Section]

    def read(self, value: Any, location: Location, found: Found) -> Any:
        """Return the section."""
        return self.section.read(value, location, found)

    def json_schema(self) -> dict[str, Any]:
        """Return what a JSON schema says of it: where it is described."""
        return {"$ref": f"#/$defs/{self.section.__name__}"}


def fields_of(section: type[Section]) -> list[str]:
    """Return the names of the fields of a *section*, as a file writes them."""
    return [field.alias or name for name, field in section.fields.items()]
