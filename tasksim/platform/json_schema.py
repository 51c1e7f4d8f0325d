"""JSON schema of platform files, for editors that complete and check YAML."""

from __future__ import annotations

import json
from typing import Any

from tasksim.platform.kinds import BAD
from tasksim.platform.schema import SECTIONS, PlatformFile
from tasksim.platform.section import NEEDED, Field, Section, SectionOf

__all__ = ["schema_json"]


def schema_json() -> str:
    """Return the JSON schema of platform files."""
    sections = sorted(SECTIONS.values(), key=lambda section: section.__name__)
    schema = {"$defs": {section.__name__: _section(section) for section in sections}}
    return json.dumps(schema | _section(PlatformFile), indent=2, ensure_ascii=False) + "\n"


def _section(section: type[Section]) -> dict[str, Any]:
    fields = {field.alias or name: field for name, field in section.fields.items()}
    needed = [name for name, field in fields.items() if field.default is NEEDED]
    return {
        "additionalProperties": False,
        "description": section.__doc__,
        "properties": {name: _field(name, field) for name, field in fields.items()},
        **({"required": needed} if needed else {}),
        "title": section.__name__,
        "type": "object",
    }


def _field(name: str, field: Field) -> dict[str, Any]:
    schema = field.kind.json_schema()
    if field.default is not NEEDED:
        schema["default"] = _default(field)
    if field.description:
        schema["description"] = field.description
    if "$ref" not in schema:
        schema["title"] = name.replace("_", " ").title()
    return dict(sorted(schema.items()))


def _default(field: Field) -> Any:
    """Return the default of a field; of a section, what its fields mean by default."""
    if not isinstance(field.kind, SectionOf):
        return field.default
    section = field.kind.read(field.default, (), [])
    assert section is not BAD
    return {f.alias or name: getattr(section, name) for name, f in section.fields.items()}
